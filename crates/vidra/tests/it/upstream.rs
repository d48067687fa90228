//! Failures of the platform: what is retried, how often, how long, and the error for the caller.

use std::time::Duration;

use tokio::time::Instant;
use vidra::{ApiKey, ErrorKind, PlaylistId, QuotaLimits, Reason, RetryPolicy, VideoId};
use vidra_sim::{Action, Endpoint, Fault, Junk, Simulator};

use crate::sim::{builder, client};

fn video() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_and_every_attempt_is_charged() {
    let actions = [
        Action::status(500),
        Action::status(503),
        Action::error("rateLimitExceeded"),
        Action::Reset,
        Action::Cut,
        Action::Hang,
        Action::Junk { kind: Junk::Html },
        Action::Junk { kind: Junk::Truncated },
        Action::Junk { kind: Junk::Empty },
    ];
    for action in actions {
        let name = format!("{action:?}");
        let sim = Simulator::new();
        sim.inject(Fault::any(action).times(2));
        let vidra = client(&sim);
        let found = vidra.video(video()).await;
        assert!(found.is_ok(), "{name}: {found:?}");
        assert_eq!(sim.record().calls, 3, "{name}");
        assert_eq!(vidra.cost().units(), 3, "{name}");
        assert_eq!(vidra.quota().await.unwrap().buckets[0].used, 3, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_failures_end_after_two_retries_with_their_own_kind() {
    let table = [
        (Action::status(503), ErrorKind::Upstream),
        (Action::Junk { kind: Junk::Html }, ErrorKind::Upstream),
        (Action::Junk { kind: Junk::OtherShape }, ErrorKind::Upstream),
        (Action::Reset, ErrorKind::Upstream),
        (Action::Cut, ErrorKind::Upstream),
        (Action::Hang, ErrorKind::Timeout),
        (Action::error("rateLimitExceeded"), ErrorKind::RateLimited),
    ];
    for (action, kind) in table {
        let name = format!("{action:?}");
        let sim = Simulator::new();
        sim.inject(Fault::any(action));
        let error = client(&sim).video(video()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        assert_eq!(sim.record().calls, 3, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_are_not_retried() {
    let table = [
        (Action::error("API_KEY_INVALID"), ErrorKind::UpstreamKey),
        (Action::error("accessNotConfigured"), ErrorKind::UpstreamKey),
        (Action::error("keyMissing"), ErrorKind::UpstreamKey),
        (Action::error("quotaExceeded"), ErrorKind::QuotaExhausted),
        (Action::error("dailyLimitExceeded"), ErrorKind::QuotaExhausted),
        (Action::error("playlistForbidden"), ErrorKind::Forbidden),
        (Action::error("videoNotFound"), ErrorKind::NotFound),
        (Action::error("processingFailure"), ErrorKind::Upstream),
        (Action::error("SERVICE_UNAVAILABLE"), ErrorKind::Upstream),
        (Action::error("userRateLimitExceeded"), ErrorKind::RateLimited),
        (Action::Redirect { location: "http://127.0.0.1/steal".to_owned() }, ErrorKind::Upstream),
    ];
    for (action, kind) in table {
        let name = format!("{action:?}");
        let sim = Simulator::new();
        sim.inject(Fault::any(action));
        let error = client(&sim).video(video()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        assert_eq!(sim.record().calls, 1, "{name}");
        assert!(!error.message().contains('<'), "upstream's HTML is not for callers: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn waits_are_jittered_below_the_doubling_delay_and_retry_after_is_obeyed() {
    let mut waits = vec![];
    for _ in 0..50 {
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::status(503)));
        let started = Instant::now();
        client(&sim).video(video()).await.unwrap_err();
        waits.push(started.elapsed());
    }
    assert!(waits.iter().all(|wait| *wait <= Duration::from_millis(300 + 600)), "{waits:?}");
    // With full jitter about half are above 450 ms; all fifty below is practically impossible.
    assert!(waits.iter().any(|wait| *wait > Duration::from_millis(450)), "{waits:?}");
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503).retry_after("7")).once());
    let started = Instant::now();
    client(&sim).video(video()).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_too_long_to_wait_fails_at_once_and_is_passed_on() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::error("rateLimitExceeded").retry_after("86400")));
    let started = Instant::now();
    let error = client(&sim).video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(86_400)));
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_attempts_waits_and_pages_together() {
    let sim = Simulator::builder().latency(Duration::from_secs(1)).build();
    let limit = Duration::from_millis(3500);
    let vidra = builder(&sim).deadline(limit).build().unwrap();
    let started = Instant::now();
    let long = PlaylistId::parse("PLsize5000").unwrap();
    let error = vidra.playlist(&long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(started.elapsed(), limit);

    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Hang));
    let vidra = builder(&sim).deadline(Duration::from_secs(15)).build().unwrap();
    let started = Instant::now();
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(started.elapsed() <= Duration::from_secs(15), "10 s, then the rest");
    assert_eq!(sim.record().calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_lasting_outage_does_not_triple_the_calls() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 2, delay: Duration::ZERO };
    // Without a breaker: this test is about the retry budget.
    let vidra = builder(&sim).retry(retry).breaker_pause(Duration::ZERO).build().unwrap();
    for _ in 0..300 {
        vidra.video(video()).await.unwrap_err();
    }
    let calls = sim.record().calls;
    assert!((300..=360).contains(&calls), "{calls} attempts for 300 calls");
}

#[tokio::test]
async fn an_oversized_answer_is_cut_off() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Huge { bytes: 40 * 1024 * 1024 }));
    let error = client(&sim).video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(sim.record().calls, 1, "not retried: it would be as large again");
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_bucket_sends_nothing_before_the_reset() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::quota_exceeded()).once());
    let vidra = client(&sim);
    for _ in 0..5 {
        let error = vidra.video(video()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
        assert!(error.retry_after().is_some_and(|wait| wait <= Duration::from_secs(25 * 3600)));
    }
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test]
async fn requests_stop_at_our_own_limit() {
    let sim = Simulator::new();
    let limits = QuotaLimits::default().with_default(3);
    let vidra = builder(&sim).quota(limits).build().unwrap();
    for _ in 0..3 {
        vidra.video(video()).await.unwrap();
    }
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
    assert_eq!(sim.record().calls, 3);
}

#[tokio::test]
async fn the_key_is_sent_in_a_header_and_appears_nowhere_else() {
    let canary = "AIzaCanary-0123456789";
    let sim = Simulator::builder().key(canary).build();
    let key = ApiKey::new(canary);
    assert_eq!(format!("{key:?}"), "Some(***)");
    let vidra = builder(&sim).key(key).build().unwrap();
    vidra.video(video()).await.unwrap();
    let record = sim.record();
    assert_eq!(record.key_in_url, 0);
    assert_eq!(record.requests[0].header("x-goog-api-key"), Some(canary));

    for action in [Action::error("API_KEY_INVALID"), Action::Reset, Action::status(500)] {
        sim.inject(Fault::any(action));
        let error = vidra.video(video()).await.unwrap_err();
        assert!(!format!("{error:?}").contains(canary), "{error:?}");
        sim.clear_faults();
    }
}

#[tokio::test]
async fn a_suspended_key_is_a_key_error_and_is_not_quoted() {
    let canary = "AIzaCanary-0123456789";
    let sim = Simulator::builder().key(canary).build();
    let vidra = builder(&sim).key(ApiKey::new(canary)).build().unwrap();
    let message = format!("Permission denied: Consumer 'api_key:{canary}' has been suspended.");
    let body = serde_json::json!({"error": {"code": 403, "message": message, "details": [{"reason": "CONSUMER_SUSPENDED"}]}});
    for (status, body) in [(403, body.to_string()), (200, format!("not JSON: {canary}"))] {
        sim.clear_faults();
        let action = Action::Status { status, body, retry_after: None };
        sim.inject(Fault::any(action));
        let error = vidra.video(video()).await.unwrap_err();
        assert!(!format!("{error:?}").contains(canary), "{error:?}");
        if status == 403 {
            assert_eq!(error.kind(), ErrorKind::UpstreamKey, "{error:?}");
        }
    }
}

#[tokio::test]
async fn the_ledger_is_never_below_the_platforms_bill() {
    let folder = tempfile::tempdir().unwrap();
    let sim = Simulator::new();
    let open = || {
        let retry = RetryPolicy { retries: 2, delay: Duration::ZERO };
        builder(&sim).retry(retry).state_dir(folder.path()).build().unwrap()
    };
    let actions = [
        Action::status(500),
        Action::Cut,
        Action::Reset,
        Action::Junk { kind: Junk::Html },
        Action::error("videoNotFound"),
        Action::error("rateLimitExceeded"),
    ];
    for (round, action) in actions.into_iter().cycle().take(60).enumerate() {
        sim.inject(Fault::any(action).times(round as u64 % 3));
        let vidra = open();
        let _ = vidra.video(video()).await;
        let _ = vidra.playlist(&PlaylistId::parse("PLsize51").unwrap()).await;
        sim.clear_faults();
        let used = vidra.quota().await.unwrap().buckets[0].used;
        assert_eq!(u64::from(used), sim.record().units.default, "after round {round}");
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_sent_or_charged() {
    let sim = Simulator::new();
    let vidra = builder(&sim).key(None).build().unwrap();
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.reason()),
        (ErrorKind::UpstreamKey, Reason::UpstreamKeyMissing)
    );
    assert_eq!((sim.record().calls, vidra.cost().units()), (0, 0));
    for unusable in ["", "  ", "line\nbreak"] {
        assert!(ApiKey::new(unusable).is_none());
    }
}

#[tokio::test]
async fn data_of_another_video_is_an_error() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Videos, Action::WrongId { id: "quirkDurDay".to_owned() }));
    let error = client(&sim).video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
}
