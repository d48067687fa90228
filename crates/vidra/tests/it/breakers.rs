//! Circuit breakers: when they open, what they reject, what is still served, and how they close.

mod counted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, advance, sleep, timeout};
use vidra::{
    BatchEvent, BatchQuery, BreakerState, Builder, CacheOutcome, ChannelRef, Error, ErrorKind,
    LedgerDouble, Lookup, PlaylistId, Reason, RetryPolicy, TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Junk, Simulator};

use crate::sim;

const SECOND: Duration = Duration::from_secs(1);
/// Longer than any breaker pause for a simulated platform.
const PAUSE: Duration = Duration::from_secs(7);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .cache_bytes(64 << 20)
        .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() })
}

/// Different videos that do not exist.
fn videos() -> impl Iterator<Item = VideoId> {
    (0..).map(|number| VideoId::parse(&format!("unknown{number:04}")).unwrap())
}

fn existing() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

/// Five videos whose captions can be read.
const WITH_CAPTIONS: [&str; 5] =
    ["txOneCue___", "txAsrOnly__", "txManualOnl", "txAsrFirst_", "txForced___"];

/// Opens the breaker of the Data API with five requests that fail.
async fn trip(vidra: &Vidra) {
    for id in videos().take(5) {
        vidra.video(id).await.unwrap_err();
    }
}

#[track_caller]
fn assert_breaker_open(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.message(), "YouTube fails; the service retries in a moment");
    assert!(error.retry_after().is_some_and(|wait| !wait.is_zero() && wait <= PAUSE), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_open_the_breaker_and_nothing_is_charged() {
    let actions = [
        Action::status(503),
        Action::status(500),
        Action::Reset,
        Action::Cut,
        Action::Hang,
        Action::Junk { kind: Junk::Html },
    ];
    for action in actions {
        let name = format!("{action:?}");
        let sim = Simulator::new();
        sim.inject(Fault::any(action));
        let vidra = builder(&sim).build().unwrap();
        trip(&vidra).await;
        let started = Instant::now();
        for id in videos().skip(5).take(100) {
            assert_breaker_open(&vidra.video(id).await.unwrap_err());
        }
        assert!(started.elapsed() < Duration::from_millis(10), "{name}: at once");
        assert_eq!((sim.record().calls, vidra.cost().units()), (5, 5), "{name}");
        assert!(vidra.is_platform_failing(), "{name}");
        // The probe succeeds and closes the breaker.
        sim.clear_faults();
        advance(PAUSE).await;
        vidra.video(existing()).await.unwrap();
        assert!(!vidra.is_platform_failing(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn error_answers_do_not_open_the_breaker() {
    let answers = ["videoNotFound", "playlistForbidden", "API_KEY_INVALID", "rateLimitExceeded"];
    for reason in answers {
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::error(reason)));
        let vidra = builder(&sim).build().unwrap();
        for id in videos().take(30) {
            let error = vidra.video(id).await.unwrap_err();
            assert_ne!(error.kind(), ErrorKind::Unavailable, "{reason}");
        }
        assert_eq!(sim.record().calls, 30, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn failing_searches_open_only_the_breaker_of_searches() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Search, Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    let search = async |number: u32| {
        let name = format!("youtube.com/c/NobodyHasThisName{number}");
        vidra.channel(&ChannelRef::parse(&name).unwrap()).await.unwrap_err()
    };
    for number in 0..5 {
        assert_eq!(search(number).await.kind(), ErrorKind::Upstream);
    }
    assert_breaker_open(&search(5).await);
    assert_eq!(sim.record().calls_to(Endpoint::Search), 5);
    vidra.video(existing()).await.unwrap();
    // Failing videos open the breaker of all other calls.
    sim.clear_faults();
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    trip(&vidra).await;
    let refused = vidra.channel(&ChannelRef::parse("@fermata").unwrap()).await.unwrap_err();
    assert_breaker_open(&refused);
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_closes_only_its_bucket() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Search, Action::quota_exceeded()).once());
    let vidra = builder(&sim).build().unwrap();
    for number in 0..10 {
        let name = format!("youtube.com/c/NobodyHasThisName{number}");
        let error = vidra.channel(&ChannelRef::parse(&name).unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
    }
    assert_eq!(sim.record().calls_to(Endpoint::Search), 1);
    vidra.video(existing()).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn cached_records_are_served_at_once_while_the_breaker_is_open() {
    let (hour, query) = (Duration::from_secs(3600), TranscriptQuery::default());
    let transcript = Lookup::Transcript(VideoId::parse("txManualAsr").unwrap(), query.clone());
    // In grace, and past it, when a lookup would wait for an answer if the breaker were closed.
    let table = [
        (Lookup::Video(existing()), hour / 3),
        (Lookup::Video(existing()), 2 * hour),
        (transcript.clone(), 8 * 24 * hour),
        (transcript, 20 * 24 * hour),
    ];
    for (lookup, age) in table {
        let sim = Simulator::new();
        let vidra = builder(&sim).build().unwrap();
        vidra.lookup(&lookup).await.unwrap();
        advance(age).await;
        sim.inject(Fault::any(Action::status(503)));
        trip(&vidra).await;
        for id in videos().take(5) {
            vidra.transcript(id, &query).await.unwrap_err();
        }
        sim.reset_record();
        let started = Instant::now();
        for _ in 0..100 {
            let stale = vidra.lookup(&lookup).await.unwrap();
            assert_eq!(stale.outcome, CacheOutcome::Stale, "{lookup:?} {age:?}");
        }
        assert_eq!(started.elapsed(), Duration::ZERO, "{lookup:?} {age:?}");
        assert_eq!(sim.record().calls, 0, "{lookup:?} {age:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_fail_at_once_while_a_probe_is_in_flight() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    trip(&vidra).await;
    advance(PAUSE).await;
    sim.clear_faults();
    sim.inject(Fault::any(Action::Hang));
    // The caller of the probe leaves; the probe goes on until its timeout.
    assert!(timeout(Duration::from_millis(10), vidra.video(existing())).await.is_err());
    let started = Instant::now();
    assert_breaker_open(&vidra.playlist(&PlaylistId::parse("PLsize1").unwrap()).await.unwrap_err());
    assert_eq!(started.elapsed(), Duration::ZERO);
    sleep(11 * SECOND).await;
    assert!(vidra.is_platform_failing(), "the probe failed");
    sim.clear_faults();
    advance(PAUSE).await;
    vidra.video(existing()).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

/// F1, the part of the library: recovery.
#[tokio::test(start_paused = true)]
async fn hot_records_are_fresh_a_second_after_the_first_good_answer() {
    let sim = Simulator::new();
    let ids = sim::client(&sim).playlist_ids(&PlaylistId::parse("PLsize5000").unwrap()).await;
    let mut ids = ids.unwrap().video_ids;
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(500);
    let vidra = builder(&sim).build().unwrap();
    vidra.videos(&ids).await.unwrap();
    advance(Duration::from_secs(20 * 60)).await;
    sim.reset_record();
    sim.inject(Fault::any(Action::status(503)));
    sim.set_latency(Duration::from_millis(20));
    // 2,000 requests a second for 30 seconds.
    let round = async |vidra: &Vidra| {
        let mut stale = 0;
        for pair in ids.chunks(2) {
            for id in pair {
                let answer = vidra.lookup(&Lookup::Video(*id)).await.unwrap();
                stale += usize::from(answer.outcome == CacheOutcome::Stale);
            }
            sleep(Duration::from_millis(1)).await;
        }
        stale
    };
    for _ in 0..120 {
        assert_eq!(round(&vidra).await, 500, "all are stale, and none is an error");
    }
    let attempts = sim.record().calls;
    println!("attempts in 30 s of outage: {attempts}");
    assert!(attempts <= 50, "{attempts} attempts");
    sim.clear_faults();
    let healthy_since = Instant::now();
    let first_good = loop {
        round(&vidra).await;
        if !vidra.is_platform_failing() {
            break Instant::now();
        }
        assert!(healthy_since.elapsed() <= PAUSE, "no probe succeeded");
    };
    let mut all_fresh = Instant::now();
    while round(&vidra).await > 0 {
        all_fresh = Instant::now();
    }
    let recovery = all_fresh.duration_since(first_good);
    println!("all fresh after {recovery:?}");
    assert!(recovery <= SECOND, "{recovery:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_address_opens_its_breaker_and_is_not_blocked() {
    for action in [Action::status(503), Action::Reset, Action::Hang] {
        let name = format!("{action:?}");
        let sim = Simulator::new();
        sim.inject(Fault::on(Endpoint::Player, action));
        let vidra = builder(&sim).build().unwrap();
        let lookup = async |id: VideoId| vidra.transcript(id, &TranscriptQuery::default()).await;
        for id in videos().take(5) {
            assert_ne!(lookup(id).await.unwrap_err().kind(), ErrorKind::Unavailable, "{name}");
        }
        let error = lookup(existing()).await.unwrap_err();
        assert_breaker_open(&error);
        assert_eq!(error.reason(), Reason::Failing, "{name}");
        assert_eq!(sim.record().calls, 5, "{name}");
        assert_eq!(vidra.addresses().blocked, 0, "{name}");
        vidra.video(existing()).await.unwrap();
        sim.clear_faults();
        advance(PAUSE).await;
        lookup(VideoId::parse("txManualAsr").unwrap()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn failing_captions_open_their_own_breaker_while_players_answer() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::TimedText, Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    let lookup = async |id: VideoId| vidra.transcript(id, &TranscriptQuery::default()).await;
    for id in WITH_CAPTIONS {
        let error = lookup(VideoId::parse(id).unwrap()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::UpstreamFailed, "{id}");
    }
    let id = VideoId::parse("txManualAsr").unwrap();
    let error = lookup(id).await.unwrap_err();
    assert_breaker_open(&error);
    assert_eq!(error.reason(), Reason::Failing);
    let calls = |endpoint| sim.record().calls_to(endpoint);
    assert_eq!(calls(Endpoint::TimedText), 5);
    assert_eq!(calls(Endpoint::Player), 5, "no player request whose answer has no use");
    let open: Vec<String> = vidra
        .upstream_report()
        .breakers
        .into_iter()
        .filter_map(|(name, state)| (state == BreakerState::Open).then_some(name))
        .collect();
    assert_eq!(open, ["egress-1-timedtext"]);
    // The player has the list of tracks.
    vidra.tracks(id).await.unwrap();
    sim.clear_faults();
    advance(PAUSE).await;
    lookup(id).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_batch_does_not_delay_single_requests() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let playlist = PlaylistId::parse("PLquirkMixed").unwrap();
    let query = BatchQuery::default().with_to(1);
    let id = vidra.playlist_ids(&playlist).await.unwrap().video_ids[0];
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)));
    for id in videos().take(5) {
        vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err();
    }
    let batch = async {
        let events: Vec<_> = vidra.playlist_transcripts(&playlist, &query).collect().await;
        (events, Instant::now())
    };
    let other = async {
        sleep(Duration::from_millis(100)).await;
        let started = Instant::now();
        assert_breaker_open(&vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err());
        assert_eq!(started.elapsed(), Duration::ZERO, "at once");
        sim.clear_faults();
        started
    };
    let ((events, ended), refused) = tokio::join!(batch, other);
    assert!(ended > refused, "the batch waited");
    let is_done = |event: &vidra::Result<BatchEvent>| matches!(event, Ok(BatchEvent::Result(entry)) if entry.transcript.is_ok());
    assert!(events.iter().any(is_done), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_out_an_outage() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let playlist = PlaylistId::parse("PLsize50").unwrap();
    let query = BatchQuery::default().with_concurrency(5);
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)).from_call(11).times(6));
    let events: Vec<_> = vidra.playlist_transcripts(&playlist, &query).collect().await;
    let events: Vec<BatchEvent> = events.into_iter().collect::<vidra::Result<_>>().unwrap();
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            BatchEvent::Result(entry) => Some(entry),
            _ => None,
        })
        .collect();
    let mut positions: Vec<_> = results.iter().map(|entry| entry.position).collect();
    positions.sort_unstable();
    assert!(positions.into_iter().eq(1..=50), "every entry has one result");
    let failed: Vec<Reason> = results
        .iter()
        .filter_map(|entry| Some(entry.transcript.as_ref().err()?.reason()))
        .collect();
    // Five fail and open the breaker; the sixth is the probe, and its entry waits for the next one.
    assert!((5..=6).contains(&failed.len()), "an outage of six requests: {failed:?}");
    for reason in &failed {
        assert_eq!(*reason, Reason::UpstreamFailed, "later entries wait");
    }
    let failed = failed.len() as u64;
    let Some(BatchEvent::Done(summary)) = events.last() else { panic!("no summary: {events:?}") };
    assert_eq!((summary.succeeded, summary.failed), (50 - failed, failed));
    assert_eq!(sim.record().calls_to(Endpoint::Player), 50 + 6 - failed);
}

/// The default pauses of docs/guide/operate.md: 30 s for the platform's own address and 1 s for others, with a
/// jitter of a fifth. Each further opening in a row adds the same time again.
#[tokio::test(start_paused = true)]
async fn breaker_pauses_match_the_guide() {
    let platform = ["https://www.googleapis.com/youtube/v3", "https://www.youtube.com"];
    let elsewhere = ["http://sim.invalid/youtube/v3", "http://sim.invalid"];
    // Addresses, the configured pause, and the expected pauses of consecutive openings, in seconds.
    let table = [
        (platform, None, [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]),
        (elsewhere, None, [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5]),
        (platform, Some(7), [7, 14, 21, 28, 35, 42, 49, 56, 63, 70, 70, 70]),
    ];
    for ([data_api, web], pause, expected) in table {
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::status(503)));
        let mut builder = builder(&sim).cache_bytes(0).data_api_url(data_api).web_url(web);
        if let Some(pause) = pause {
            builder = builder.breaker_pause(pause * SECOND);
        }
        let vidra = builder.pacing(vidra::Pacing::Off).build().unwrap();
        trip(&vidra).await;
        for id in videos().take(5) {
            vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err();
        }
        let mut calls = sim.record().calls;
        assert_eq!(calls, 10, "{data_api}: none of them is refused");
        for (opening, seconds) in (1..).zip(expected) {
            let case = format!("{data_api}, {pause:?}, opening {opening}");
            let api = vidra.video(existing()).await.unwrap_err();
            let captions = vidra.transcript(existing(), &TranscriptQuery::default()).await;
            let mut waits = vec![];
            for error in [api, captions.unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{case}: {error:?}");
                let wait = error.retry_after().unwrap();
                let (least, most) = (f64::from(seconds) * 0.8, f64::from(seconds) * 1.2);
                assert!((least..=most).contains(&wait.as_secs_f64()), "{case}: {wait:?}");
                waits.push(wait);
            }
            assert_eq!(sim.record().calls, calls, "{case}: nothing is sent");
            advance(waits[0].max(waits[1])).await;
            vidra.video(existing()).await.unwrap_err();
            vidra.transcript(existing(), &TranscriptQuery::default()).await.unwrap_err();
            calls += 2;
            assert_eq!(sim.record().calls, calls, "{case}: one probe each");
        }
    }
}

/// The jitter is a fifth in both directions, and the whole range is used.
#[tokio::test(start_paused = true)]
async fn breaker_pauses_are_jittered_by_a_fifth() {
    let mut waits = vec![];
    for seed in 0..200 {
        fastrand::seed(seed);
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::status(503)));
        let url = "https://www.googleapis.com/youtube/v3";
        let vidra = builder(&sim).cache_bytes(0).data_api_url(url).build().unwrap();
        trip(&vidra).await;
        let error = vidra.video(existing()).await.unwrap_err();
        waits.push(error.retry_after().unwrap().as_secs_f64());
    }
    waits.sort_by(f64::total_cmp);
    assert!((24.0..25.0).contains(&waits[0]) && (35.0..=36.0).contains(&waits[199]), "{waits:?}");
    let mean = waits.iter().sum::<f64>() / 200.0;
    assert!((29.0..31.0).contains(&mean), "{mean}");
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_refuses_at_once_also_while_youtube_requests_a_pause() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    trip(&vidra).await;
    let limited = Action::error("rateLimitExceeded").retry_after("5");
    sim.inject(Fault::on(Endpoint::Channels, limited));
    vidra.channel(&ChannelRef::parse("@fermata").unwrap()).await.unwrap_err();
    let started = Instant::now();
    assert_breaker_open(&vidra.video(existing()).await.unwrap_err());
    assert!(started.elapsed() < Duration::from_millis(10), "{:?}", started.elapsed());
}

/// The outage would last as long as the wait, for all callers.
#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_the_ledger_is_not_the_probe() {
    let sim = Simulator::new();
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = Arc::clone(&is_slow);
    let ledger = LedgerDouble::new(move || {
        let charge = if slow.load(Ordering::Relaxed) { 5 * SECOND } else { Duration::ZERO };
        (charge, Duration::ZERO)
    });
    let vidra = builder(&sim).ledger_double(ledger).build().unwrap();
    sim.inject(Fault::any(Action::status(503)));
    trip(&vidra).await;
    sim.clear_faults();
    advance(PAUSE).await;
    is_slow.store(true, Ordering::Relaxed);
    let waiting = tokio::spawn({
        let vidra = vidra.clone();
        async move { vidra.video(existing()).await }
    });
    sleep(SECOND).await;
    is_slow.store(false, Ordering::Relaxed);
    let channel = ChannelRef::parse("@fermata").unwrap();
    let started = Instant::now();
    vidra.channel(&channel).await.unwrap();
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
    waiting.await.unwrap().unwrap();
}
