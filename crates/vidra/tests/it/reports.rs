//! Reports of the client: calls by outcome, breakers, addresses, batches and the age of stale answers.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{advance, sleep};
use vidra::{
    BatchQuery, BreakerState, CacheOutcome, CallOutcome, LanguageCode, Lookup, Network, PlaylistId,
    Reason, RetryPolicy, TranscriptQuery, UpstreamReport, VideoId,
};
use vidra_sim::{Action, Endpoint, Fault, Junk, Simulator};

use crate::sim;

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

/// The calls to an endpoint by outcome, without outcomes that never happened.
fn calls(report: &UpstreamReport, endpoint: &str) -> Vec<(CallOutcome, u64)> {
    let calls = report.calls.iter().find(|calls| calls.endpoint == endpoint).unwrap();
    calls.outcomes.iter().copied().filter(|(_, count)| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn review_o1_every_exchange_is_counted_by_endpoint_and_outcome() {
    let table = [
        (Action::delay(Duration::ZERO), CallOutcome::Ok),
        (Action::error("videoNotFound"), CallOutcome::Refused),
        (Action::error("keyInvalid"), CallOutcome::KeyRejected),
        (Action::error("ipRefererBlocked"), CallOutcome::KeyRejected),
        (Action::quota_exceeded(), CallOutcome::QuotaExhausted),
        (Action::error("rateLimitExceeded"), CallOutcome::RateLimited),
        (Action::status(503), CallOutcome::Failed),
        (Action::Reset, CallOutcome::Failed),
        (Action::Junk { kind: Junk::Html }, CallOutcome::Unreadable),
        (Action::Hang, CallOutcome::TimedOut),
    ];
    for (action, outcome) in table {
        let sim = Simulator::builder().latency(Duration::from_millis(200)).build();
        sim.inject(Fault::any(action));
        let retry = RetryPolicy { retries: 1, delay: Duration::ZERO };
        let vidra = sim::builder(&sim).retry(retry).build().unwrap();
        let _ = vidra.video(video("quirkNoLike")).await;
        let report = vidra.upstream_report();
        let attempts = sim.record().calls;
        assert_eq!(calls(&report, "videos"), [(outcome, attempts)]);
        assert_eq!(report.retries, attempts - 1, "{outcome:?}");
        let time = &report.calls.iter().find(|calls| calls.endpoint == "videos").unwrap().time;
        assert_eq!(time.count(), attempts);
        assert!(time.seconds >= 0.2 * attempts as f64, "{outcome:?}");
        assert!(report.calls.iter().all(|it| it.endpoint == "videos" || it.time.count() == 0));
    }
}

#[tokio::test(start_paused = true)]
async fn keyless_requests_are_counted_too() {
    let sim = Simulator::new();
    let vidra = sim::client(&sim);
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    vidra.transcript(video("txManualAsr"), &german).await.unwrap();
    sim.inject(Fault::on(Endpoint::Player, Action::status(400)).once());
    vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap();
    sim.block_after(0);
    vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap_err();
    let report = vidra.upstream_report();
    assert_eq!(calls(&report, "watch"), [(CallOutcome::Ok, 1)]);
    assert_eq!(calls(&report, "timedtext"), [(CallOutcome::Ok, 1)]);
    assert_eq!(calls(&report, "translation"), [(CallOutcome::Ok, 1)]);
    assert_eq!(report.addresses, [Some(Reason::Blocked)]);
    let counted: u64 = report.calls.iter().map(|calls| calls.time.count()).sum();
    assert_eq!(counted, sim.record().calls);
}

#[tokio::test(start_paused = true)]
async fn breakers_are_reported_by_name_and_addresses_by_number() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    let retry = RetryPolicy { retries: 0, delay: Duration::ZERO };
    let proxies = ["http://user:secret@127.0.0.1:9", "http://127.0.0.1:9"];
    let proxies = proxies.map(|url| Network::through(url).unwrap()).to_vec();
    let vidra = sim::builder(&sim).retry(retry).proxies(proxies).build().unwrap();
    let state_of = |of: &str| {
        let report = vidra.upstream_report();
        let names: Vec<&str> = report.breakers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "data-api",
                "search",
                "feed",
                "egress-1-player",
                "egress-1-timedtext",
                "egress-2-player",
                "egress-2-timedtext"
            ]
        );
        assert_eq!(report.addresses, [None, None]);
        assert!(!format!("{report:?}").contains("secret"));
        report.breakers.into_iter().find(|(name, _)| name == of).unwrap().1
    };
    assert_eq!(state_of("data-api"), BreakerState::Closed);
    for _ in 0..5 {
        vidra.video(video("quirkNoLike")).await.unwrap_err();
    }
    assert_eq!(state_of("data-api"), BreakerState::Open);
    assert_eq!(state_of("egress-1-player"), BreakerState::Closed);
    advance(Duration::from_secs(2)).await;
    assert_eq!(state_of("data-api"), BreakerState::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn batches_report_their_progress() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = sim::client(&sim);
    let id = PlaylistId::parse("PLsize50").unwrap();
    let mut batch = Box::pin(vidra.playlist_transcripts(&id, &BatchQuery::default()));
    for _ in 0..10 {
        batch.next().await;
    }
    let UpstreamReport { slots, batches: report, .. } = vidra.upstream_report();
    assert_eq!((report.running, report.entries), (1, 50));
    assert_eq!((slots[1].name, slots[1].taken, slots[1].limit), ("batch", 1, 32));
    assert!((9..50).contains(&(report.succeeded + report.failed)), "{report:?}");
    while batch.next().await.is_some() {}
    sleep(Duration::from_millis(1)).await;
    let report = vidra.upstream_report().batches;
    assert_eq!((report.running, report.succeeded + report.failed), (0, 50));
}

#[tokio::test(start_paused = true)]
async fn stale_answers_and_failed_renewals_are_reported() {
    let sim = Simulator::new();
    let vidra = sim::builder(&sim).cache_bytes(1 << 20).build().unwrap();
    let lookup = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&lookup).await.unwrap();
    sim.inject(Fault::any(Action::error("API_KEY_INVALID")));
    let age = Duration::from_secs(20 * 60);
    advance(age).await;
    for failures in 1..=3 {
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
        sleep(Duration::from_millis(1_001)).await;
        let report = vidra.cache_report().await;
        assert_eq!(report.renewal_failures, failures);
        assert!((age..age + Duration::from_secs(5)).contains(&report.oldest_stale));
    }
    sim.clear_faults();
    vidra.lookup(&lookup).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    advance(Duration::from_secs(121)).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit);
    let report = vidra.cache_report().await;
    assert_eq!((report.renewal_failures, report.oldest_stale), (0, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_once_also_when_its_fetch_fails() {
    let sim = Simulator::new();
    let retry = RetryPolicy { retries: 0, ..RetryPolicy::default() };
    let vidra = sim::builder(&sim).cache_bytes(1 << 20).retry(retry).build().unwrap();
    let lookup = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&lookup).await.unwrap();
    sim.inject(Fault::any(Action::status(503)));
    advance(Duration::from_secs(3 * 3600)).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
    vidra.lookup(&Lookup::Video(video("quirkDurDay"))).await.unwrap_err();
    let report = vidra.cache_report().await;
    let (_, counts, _) = report.resources.into_iter().find(|it| it.0 == "video").unwrap();
    assert_eq!((counts.hits, counts.stale, counts.misses), (0, 1, 2));
}
