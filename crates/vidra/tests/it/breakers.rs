//! What fails again and again is left alone: what that costs, what it spares, and how it ends.

mod counted;

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, advance, sleep, timeout};
use vidra::{
    BatchEvent, BatchQuery, BatchStatus, BreakerState, Builder, CacheOutcome, ChannelRef, Error,
    ErrorKind, Lookup, PlaylistId, Reason, RetryPolicy, TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Junk, Simulator};

use crate::sim;

const SECOND: Duration = Duration::from_secs(1);
/// Past any pause that a stand-in for the platform gets.
const PAUSE: Duration = Duration::from_secs(7);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .cache_bytes(64 << 20)
        .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() })
}

/// Different videos, none of which is known.
fn videos() -> impl Iterator<Item = VideoId> {
    (0..).map(|number| VideoId::parse(&format!("unknown{number:04}")).unwrap())
}

fn known() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

/// Five videos whose captions can be read.
const WITH_CAPTIONS: [&str; 5] =
    ["txOneCue___", "txAsrOnly__", "txManualOnl", "txAsrFirst_", "txForced___"];

/// Asks for five, which fail.
async fn trip(vidra: &Vidra) {
    for id in videos().take(5) {
        vidra.video(id).await.unwrap_err();
    }
}

#[track_caller]
fn is_left_alone(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.message(), "YouTube fails; the service retries in a moment");
    assert!(error.retry_after().is_some_and(|wait| !wait.is_zero() && wait <= PAUSE), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_end_the_asking_and_nothing_is_charged_any_more() {
    let troubles = [
        Action::status(503),
        Action::status(500),
        Action::Reset,
        Action::Cut,
        Action::Hang,
        Action::Junk { kind: Junk::Html },
    ];
    for trouble in troubles {
        let name = format!("{trouble:?}");
        let sim = Simulator::new();
        sim.inject(Fault::any(trouble));
        let vidra = builder(&sim).build().unwrap();
        trip(&vidra).await;
        let started = Instant::now();
        for id in videos().skip(5).take(100) {
            is_left_alone(&vidra.video(id).await.unwrap_err());
        }
        assert!(started.elapsed() < Duration::from_millis(10), "{name}: at once");
        assert_eq!((sim.record().calls, vidra.cost().units()), (5, 5), "{name}");
        assert!(vidra.is_platform_failing(), "{name}");
        // One finds out, and then all is well.
        sim.clear_faults();
        advance(PAUSE).await;
        vidra.video(known()).await.unwrap();
        assert!(!vidra.is_platform_failing(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_answers_is_asked_on_whatever_it_answers() {
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
async fn a_search_that_fails_closes_nothing_but_searches() {
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
    is_left_alone(&search(5).await);
    assert_eq!(sim.record().calls_to(Endpoint::Search), 5);
    vidra.video(known()).await.unwrap();
    // And the other way round.
    sim.clear_faults();
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    trip(&vidra).await;
    let left_alone = vidra.channel(&ChannelRef::parse("@fermata").unwrap()).await.unwrap_err();
    is_left_alone(&left_alone);
}

#[tokio::test(start_paused = true)]
async fn a_spent_day_closes_its_bucket_and_nothing_else() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Search, Action::quota_exceeded()).once());
    let vidra = builder(&sim).build().unwrap();
    for number in 0..10 {
        let name = format!("youtube.com/c/NobodyHasThisName{number}");
        let error = vidra.channel(&ChannelRef::parse(&name).unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
    }
    assert_eq!(sim.record().calls_to(Endpoint::Search), 1);
    vidra.video(known()).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn what_is_known_is_sent_at_once_while_it_is_open() {
    let (hour, query) = (Duration::from_secs(3600), TranscriptQuery::default());
    let transcript = Lookup::Transcript(VideoId::parse("txManualAsr").unwrap(), query.clone());
    // In grace, and past it, where an answer would be waited for.
    let table = [
        (Lookup::Video(known()), hour / 3),
        (Lookup::Video(known()), 2 * hour),
        (transcript.clone(), 8 * 24 * hour),
        (transcript, 20 * 24 * hour),
    ];
    for (ask, age) in table {
        let sim = Simulator::new();
        let vidra = builder(&sim).build().unwrap();
        vidra.lookup(&ask).await.unwrap();
        advance(age).await;
        sim.inject(Fault::any(Action::status(503)));
        trip(&vidra).await;
        for id in videos().take(5) {
            vidra.transcript(id, &query).await.unwrap_err();
        }
        sim.reset_record();
        let started = Instant::now();
        for _ in 0..100 {
            let stale = vidra.lookup(&ask).await.unwrap();
            assert_eq!(stale.outcome, CacheOutcome::Stale, "{ask:?} {age:?}");
        }
        assert_eq!(started.elapsed(), Duration::ZERO, "{ask:?} {age:?}");
        assert_eq!(sim.record().calls, 0, "{ask:?} {age:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_one_finds_out_the_others_are_not_kept_waiting() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    trip(&vidra).await;
    advance(PAUSE).await;
    sim.clear_faults();
    sim.inject(Fault::any(Action::Hang));
    // Its caller leaves; it goes on until its time is up.
    assert!(timeout(Duration::from_millis(10), vidra.video(known())).await.is_err());
    let started = Instant::now();
    is_left_alone(&vidra.playlist(&PlaylistId::parse("PLsize1").unwrap()).await.unwrap_err());
    assert_eq!(started.elapsed(), Duration::ZERO);
    sleep(11 * SECOND).await;
    assert!(vidra.is_platform_failing(), "it found out that nothing has changed");
    sim.clear_faults();
    advance(PAUSE).await;
    vidra.video(known()).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

/// F1, as far as the library goes: recovery.
#[tokio::test(start_paused = true)]
async fn everything_hot_is_fresh_a_second_after_the_first_good_answer() {
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
        assert_eq!(round(&vidra).await, 500, "all of them, and no error");
    }
    let attempts = sim.record().calls;
    println!("attempts in 30 s of outage: {attempts}");
    assert!(attempts <= 50, "{attempts} attempts");
    sim.clear_faults();
    let well_since = Instant::now();
    let first_good = loop {
        round(&vidra).await;
        if !vidra.is_platform_failing() {
            break Instant::now();
        }
        assert!(well_since.elapsed() <= PAUSE, "nobody finds out");
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
async fn an_address_that_leads_nowhere_is_left_alone_and_blamed_for_nothing() {
    for trouble in [Action::status(503), Action::Reset, Action::Hang] {
        let name = format!("{trouble:?}");
        let sim = Simulator::new();
        sim.inject(Fault::on(Endpoint::Player, trouble));
        let vidra = builder(&sim).build().unwrap();
        let ask = async |id: VideoId| vidra.transcript(id, &TranscriptQuery::default()).await;
        for id in videos().take(5) {
            assert_ne!(ask(id).await.unwrap_err().kind(), ErrorKind::Unavailable, "{name}");
        }
        let error = ask(known()).await.unwrap_err();
        is_left_alone(&error);
        assert_eq!(error.reason(), Reason::Failing, "{name}");
        assert_eq!(sim.record().calls, 5, "{name}");
        assert_eq!(vidra.addresses().blocked, 0, "{name}");
        vidra.video(known()).await.unwrap();
        sim.clear_faults();
        advance(PAUSE).await;
        ask(VideoId::parse("txManualAsr").unwrap()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn captions_that_fail_are_left_alone_though_players_answer() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::TimedText, Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    let ask = async |id: VideoId| vidra.transcript(id, &TranscriptQuery::default()).await;
    for id in WITH_CAPTIONS {
        let error = ask(VideoId::parse(id).unwrap()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::UpstreamFailed, "{id}");
    }
    let id = VideoId::parse("txManualAsr").unwrap();
    let error = ask(id).await.unwrap_err();
    is_left_alone(&error);
    assert_eq!(error.reason(), Reason::Failing);
    let asked = |endpoint| sim.record().calls_to(endpoint);
    assert_eq!(asked(Endpoint::TimedText), 5);
    assert_eq!(asked(Endpoint::Player), 5, "nor is a player asked whose answer is of no use");
    let open: Vec<String> = vidra
        .upstream_report()
        .breakers
        .into_iter()
        .filter_map(|(name, state)| (state == BreakerState::Open).then_some(name))
        .collect();
    assert_eq!(open, ["egress-1-timedtext"]);
    // Which tracks there are is the player's to say.
    vidra.tracks(id).await.unwrap();
    sim.clear_faults();
    advance(PAUSE).await;
    ask(id).await.unwrap();
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_waits_keeps_nobody_else_waiting() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let playlist = PlaylistId::parse("PLquirkMixed").unwrap();
    let query = BatchQuery { to: Some(1), ..BatchQuery::default() };
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
        is_left_alone(&vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err());
        assert_eq!(started.elapsed(), Duration::ZERO, "at once");
        sim.clear_faults();
        started
    };
    let ((events, ended), asked) = tokio::join!(batch, other);
    assert!(ended > asked, "the batch waited");
    let is_done = |event: &vidra::Result<BatchEvent>| matches!(event, Ok(BatchEvent::Result(entry)) if entry.status == BatchStatus::Success);
    assert!(events.iter().any(is_done), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_out_an_outage() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let playlist = PlaylistId::parse("PLsize50").unwrap();
    let query = BatchQuery { concurrency: 5, ..BatchQuery::default() };
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
    let failed: Vec<Reason> = results.iter().filter_map(|entry| entry.reason).collect();
    // Five fail and open the breaker; the sixth is the probe, and its entry waits for the next one.
    assert!((5..=6).contains(&failed.len()), "an outage of six requests: {failed:?}");
    for reason in &failed {
        assert_eq!(*reason, Reason::UpstreamFailed, "entries after it wait");
    }
    let failed = failed.len() as u64;
    let Some(BatchEvent::Done(summary)) = events.last() else { panic!("no summary: {events:?}") };
    assert_eq!((summary.succeeded, summary.failed), (50 - failed, failed));
    assert_eq!(sim.record().calls_to(Endpoint::Player), 50 + 6 - failed);
}

/// The pauses of docs/guide/operate.md, which nothing else sets: 30 s at the platform's own address and a second
/// elsewhere, a fifth shorter or longer, and as much longer with each opening in a row.
#[tokio::test(start_paused = true)]
async fn pauses_are_what_the_guide_says() {
    let platform = ["https://www.googleapis.com/youtube/v3", "https://www.youtube.com"];
    let elsewhere = ["http://sim.invalid/youtube/v3", "http://sim.invalid"];
    // Addresses, the pause of the first opening and of those that follow, in seconds.
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
            let api = vidra.video(known()).await.unwrap_err();
            let captions = vidra.transcript(known(), &TranscriptQuery::default()).await;
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
            vidra.video(known()).await.unwrap_err();
            vidra.transcript(known(), &TranscriptQuery::default()).await.unwrap_err();
            calls += 2;
            assert_eq!(sim.record().calls, calls, "{case}: one probe each");
        }
    }
}

/// How far a pause may differ is a fifth to both sides, and all of that is used.
#[tokio::test(start_paused = true)]
async fn pauses_differ_between_services() {
    let mut waits = vec![];
    for seed in 0..200 {
        fastrand::seed(seed);
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::status(503)));
        let url = "https://www.googleapis.com/youtube/v3";
        let vidra = builder(&sim).cache_bytes(0).data_api_url(url).build().unwrap();
        trip(&vidra).await;
        let error = vidra.video(known()).await.unwrap_err();
        waits.push(error.retry_after().unwrap().as_secs_f64());
    }
    waits.sort_by(f64::total_cmp);
    assert!((24.0..25.0).contains(&waits[0]) && (35.0..=36.0).contains(&waits[199]), "{waits:?}");
    let mean = waits.iter().sum::<f64>() / 200.0;
    assert!((29.0..31.0).contains(&mean), "{mean}");
}
