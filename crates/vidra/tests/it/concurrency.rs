//! Interactions between callers: one leaves, one has a short deadline, one follows another. Each test reproduces
//! a former bug; the simulation of the service plays thousands of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};
use vidra::clock::Clock;
use vidra::store::Memory;
use vidra::{
    BatchEvent, BatchQuery, Builder, CacheOutcome, ChannelRef, Error, ErrorKind, LedgerDouble,
    Lookup, Pace, Pacing, PlaylistId, QuotaLimits, SearchBilling, TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn slow(latency: Duration) -> Simulator {
    Simulator::builder().latency(latency).build()
}

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim).cache_bytes(64 << 20)
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn batch_of(concurrency: usize) -> BatchQuery {
    BatchQuery::default().with_concurrency(concurrency)
}

/// Runs a batch to its end: how many entries succeeded.
async fn succeeded(vidra: &Vidra, id: &str, query: &BatchQuery) -> Result<u64, Error> {
    let events = vidra.playlist_transcripts(&playlist(id), query);
    let last = events.try_fold(None, async |_, event| Ok(Some(event))).await?;
    match last {
        Some(BatchEvent::Done(summary)) => Ok(summary.succeeded),
        other => panic!("a batch ends with a summary: {other:?}"),
    }
}

async fn transcript(vidra: &Vidra, id: &str) -> Result<usize, Error> {
    vidra.transcript(video(id), &TranscriptQuery::default()).await.map(|lines| lines.len())
}

/// A clock that tests set.
#[derive(Clone, Default)]
struct TestClock {
    ahead: Arc<AtomicU64>,
    suspended: Arc<AtomicU64>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
            + Duration::from_secs(self.ahead.load(Ordering::Relaxed))
    }

    fn suspended(&self) -> Duration {
        Duration::from_secs(self.suspended.load(Ordering::Relaxed))
    }
}

#[tokio::test(start_paused = true)]
async fn c1_dropped_batches_use_up_no_pace() {
    let sim = slow(50 * MS);
    let pace = Pace { burst: 300, per_hour: 1_000 };
    let vidra = builder(&sim).pacing(Pacing::At(pace)).build().unwrap();
    let query = batch_of(20);
    for _ in 0..40 {
        let batches = (0..8).map(|_| succeeded(&vidra, "PLsize500", &query).boxed());
        let _ = timeout(120 * MS, join_all(batches)).await;
    }
    let started = Instant::now();
    transcript(&vidra, "txManualAsr").await.unwrap();
    // A turn at the steady pace, and two exchanges.
    assert!(started.elapsed() < 4 * SECOND, "{:?}", started.elapsed());
    assert_eq!(vidra.held(), Default::default());
}

#[tokio::test(start_paused = true)]
async fn c2_an_entry_that_waits_for_the_watch_page_does_not_stop_its_batch() {
    let sim = slow(50 * MS);
    sim.inject(Fault::on(Endpoint::Player, Action::status(400)).times(6));
    sim.inject(Fault::on(Endpoint::Watch, Action::status(503)).once());
    let vidra = builder(&sim).build().unwrap();
    let query = batch_of(1).with_to(6);
    let batch = timeout(60 * SECOND, succeeded(&vidra, "PLsize50", &query));
    let single = async {
        sleep(500 * MS).await;
        timeout(60 * SECOND, transcript(&vidra, "txManualAsr")).await
    };
    let (batch, single) = tokio::join!(batch, single);
    batch.expect("the batch ends").unwrap();
    single.expect("others are answered").unwrap();
}

#[tokio::test(start_paused = true)]
async fn c3_single_transcripts_come_before_those_of_batches() {
    let sim = slow(50 * MS);
    let pace = Pace { burst: 10, per_hour: 1_000 };
    let vidra = builder(&sim).pacing(Pacing::At(pace)).build().unwrap();
    let mut batches: Vec<_> = ["PLsize500", "PLsize200"]
        .map(|id| Box::pin(vidra.playlist_transcripts(&playlist(id), &batch_of(20))))
        .into();
    for batch in &mut batches {
        batch.next().await.unwrap().unwrap();
    }
    let _ = timeout(10 * SECOND, async {
        for batch in &mut batches {
            while batch.next().await.is_some() {}
        }
    })
    .await;
    let started = Instant::now();
    transcript(&vidra, "txManualAsr").await.unwrap();
    assert!(started.elapsed() < 4 * SECOND, "the next turn: {:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn c4_followers_of_a_list_take_no_slots() {
    let sim = slow(SECOND);
    let vidra = builder(&sim).max_misses(5).build().unwrap();
    let list = [video("quirkNoLike"), video("fda4eREcaTQ")];
    let lists = join_all((0..6).map(|_| vidra.videos(&list)));
    let other = async {
        sleep(100 * MS).await;
        assert_eq!(vidra.held().misses, 1, "one call is in flight");
        transcript(&vidra, "txManualAsr").await
    };
    let (lists, other) = tokio::join!(lists, other);
    assert!(lists.iter().all(|list| list.as_ref().is_ok_and(|list| list.len() == 2)));
    other.unwrap();
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 1);
}

#[tokio::test(start_paused = true)]
async fn c5_a_short_deadline_ends_no_other_request() {
    let sim = slow(200 * MS);
    let vidra = builder(&sim).build().unwrap();
    let channel = ChannelRef::parse("@fermata").unwrap();
    let hurried = vidra.within(300 * MS);
    let patient = async {
        sleep(MS).await;
        vidra.channel_videos(&channel, 5).await
    };
    let (hurried, patient) = tokio::join!(hurried.channel_videos(&channel, 5), patient);
    assert_eq!(hurried.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(patient.unwrap().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn c5_a_renewal_has_more_time_than_the_caller_that_started_it() {
    let sim = slow(200 * MS);
    let vidra = builder(&sim).build().unwrap();
    // Three pages.
    let entries = Lookup::PlaylistEntries(PlaylistId::parse("PLsize120").unwrap());
    vidra.lookup(&entries).await.unwrap();
    sleep(1_000 * SECOND).await;
    let stale = vidra.within(50 * MS).lookup(&entries).await.unwrap();
    assert_eq!(stale.outcome, CacheOutcome::Stale);
    sleep(2 * SECOND).await;
    assert_eq!(vidra.lookup(&entries).await.unwrap().outcome, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_ends_at_its_own_deadline_in_a_call_with_later_ones() {
    let sim = slow(60 * SECOND);
    let vidra = builder(&sim).deadline(2 * SECOND).attempt_timeout(60 * SECOND).build().unwrap();
    // The second and the third wait for the first call, and are sent together.
    let at = async |delay, id| {
        sleep(delay).await;
        let started = Instant::now();
        let error = vidra.video(video(id)).await.unwrap_err();
        (error.kind(), started.elapsed())
    };
    let ended = tokio::join!(
        at(Duration::ZERO, "fda4eREcaTQ"),
        at(10 * MS, "quirkNoLike"),
        at(30 * MS, "quirkHtmlCm"),
    );
    let in_time = (ErrorKind::Timeout, 2 * SECOND);
    assert_eq!(ended, (in_time, in_time, in_time));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_first_caller_does_not_end_a_list_for_the_second() {
    // Three exchanges take longer than a request may, and two do not.
    let sim = slow(1_500 * MS);
    let vidra = builder(&sim).deadline(4 * SECOND).build().unwrap();
    let channel = ChannelRef::parse("@fermata").unwrap();
    let first = vidra.channel_videos(&channel, 10);
    let second = async {
        sleep(3_500 * MS).await;
        vidra.channel_videos(&channel, 10).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Timeout);
    second.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c6_an_entry_does_not_fail_with_the_single_request_that_it_joined() {
    let sim = slow(50 * MS);
    let first = batch_video(&sim).await;
    // The player of that video hangs once.
    sim.inject(Fault::on(Endpoint::Player, Action::Hang).once());
    let vidra = builder(&sim).deadline(5 * SECOND).build().unwrap();
    let single = transcript(&vidra, &first);
    let batch = async {
        sleep(MS).await;
        succeeded(&vidra, "PLsize50", &batch_of(3).with_to(1)).await
    };
    let (single, batch) = tokio::join!(single, batch);
    assert_eq!(single.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(batch.unwrap(), 1);
}

/// The first video of the playlist that these tests transcribe.
async fn batch_video(sim: &Simulator) -> String {
    let ids = sim::client(sim).playlist_ids(&playlist("PLsize50")).await.unwrap();
    ids.video_ids[0].to_string()
}

#[tokio::test(start_paused = true)]
async fn c7_followers_get_no_internal_error_when_batches_are_dropped() {
    let sim = slow(SECOND);
    let first = batch_video(&sim).await;
    let vidra = builder(&sim).build().unwrap();
    let query = batch_of(1).with_to(1);
    // Batch after batch fetches that video and is dropped while the fetch is in flight.
    let batches = join_all((0..6).map(|index| {
        let (vidra, query) = (&vidra, &query);
        timeout(SECOND * 3 / 2 + 500 * MS * index, succeeded(vidra, "PLsize50", query).boxed())
    }));
    let bystanders = join_all((0..4).map(|_| async {
        sleep(1_100 * MS).await;
        transcript(&vidra, &first).await
    }));
    let (_, bystanders) = tokio::join!(batches, bystanders);
    for bystander in bystanders {
        bystander.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn c8_retry_after_of_the_platform_holds_for_all() {
    let sim = Simulator::new();
    let limited = Action::error("rateLimitExceeded").retry_after("60");
    sim.inject(Fault::on(Endpoint::Videos, limited).once());
    let vidra = sim::client(&sim);
    let ids: Vec<VideoId> = (0..40).map(|n| video(&format!("video{n:06}"))).collect();
    for id in &ids {
        let error = vidra.video(*id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert_eq!(error.retry_after(), Some(60 * SECOND));
    }
    assert_eq!((sim.record().calls, vidra.cost().units()), (1, 1));
    // Searches have a bucket of their own.
    let error = vidra.channel(&ChannelRef::parse("youtube.com/c/nobody").unwrap()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::RateLimited);
    sleep(60 * SECOND).await;
    assert_eq!(vidra.video(ids[0]).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn c8_a_short_pause_is_waited_for_without_a_charge() {
    let sim = Simulator::new();
    let limited = Action::error("rateLimitExceeded").retry_after("7");
    sim.inject(Fault::on(Endpoint::Videos, limited).once());
    let vidra = sim::client(&sim);
    let started = Instant::now();
    let first = vidra.video(video("quirkNoLike"));
    let later = async {
        sleep(SECOND).await;
        vidra.video(video("fda4eREcaTQ")).await
    };
    let (first, later) = tokio::join!(first, later);
    first.unwrap();
    later.unwrap();
    assert!((7 * SECOND..8 * SECOND).contains(&started.elapsed()));
    assert!(sim.record().calls <= 3, "the rejected one, and each once more");
}

#[tokio::test(start_paused = true)]
async fn c10_records_age_while_the_machine_is_suspended() {
    let (sim, clock) = (Simulator::new(), TestClock::default());
    let vidra = builder(&sim).clock(clock.clone()).build().unwrap();
    let video = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&video).await.unwrap();
    assert_eq!(vidra.lookup(&video).await.unwrap().outcome, CacheOutcome::Hit);
    clock.suspended.store(1_800, Ordering::Relaxed);
    let stale = vidra.lookup(&video).await.unwrap();
    assert_eq!((stale.outcome, stale.age), (CacheOutcome::Stale, 1_800 * SECOND));
    // Setting the wall clock ages no record.
    sleep(SECOND).await;
    clock.ahead.store(1_800, Ordering::Relaxed);
    assert_eq!(vidra.lookup(&video).await.unwrap().outcome, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn c11_a_record_from_the_future_is_a_miss() {
    let (sim, store) = (Simulator::new(), Arc::new(Memory::new(1 << 20)));
    let video = Lookup::Video(video("quirkNoLike"));
    for (ahead, outcome) in [(3_000, CacheOutcome::Hit), (4_000, CacheOutcome::Miss)] {
        let clock = TestClock::default();
        clock.ahead.store(ahead, Ordering::Relaxed);
        let client = |clock| builder(&sim).clock(clock).store(store.clone()).build().unwrap();
        let before = client(clock);
        before.refreshing().lookup(&video).await.unwrap();
        before.settled().await;
        let found = client(TestClock::default()).lookup(&video).await.unwrap();
        assert_eq!(found.outcome, outcome, "{ahead} s ahead");
    }
}

#[tokio::test(start_paused = true)]
async fn c13_an_exhausted_search_quota_closes_only_searches() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Search, Action::error("searchQuota")));
    let limits =
        QuotaLimits::default().with_default(10_000).with_search(SearchBilling::Shared(100));
    let vidra = sim::builder(&sim).quota(limits).build().unwrap();
    let name = ChannelRef::parse("youtube.com/c/nobodyknowsit").unwrap();
    assert_eq!(vidra.channel(&name).await.unwrap_err().kind(), ErrorKind::QuotaExhausted);
    vidra.video(video("quirkNoLike")).await.unwrap();
    assert!(vidra.quota().await.unwrap().buckets[0].remaining > 0);
    // No other search is sent, or paid for.
    let searches = sim.record().calls_to(Endpoint::Search);
    let other = ChannelRef::parse("youtube.com/c/somebodyelse").unwrap();
    assert_eq!(vidra.channel(&other).await.unwrap_err().kind(), ErrorKind::QuotaExhausted);
    assert_eq!(sim.record().calls_to(Endpoint::Search), searches);
}

#[tokio::test(start_paused = true)]
async fn c15_a_charge_without_waiters_is_refunded() {
    for (before, after) in [(2 * SECOND, Duration::ZERO), (Duration::ZERO, 2 * SECOND)] {
        let sim = Simulator::new();
        let double = LedgerDouble::new(move || (before, after));
        let vidra =
            sim::builder(&sim).ledger_double(double.clone()).deadline(SECOND).build().unwrap();
        let metered = vidra.metered();
        let error = metered.video(video("quirkNoLike")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        // The refund takes as long as the charge.
        sleep(10 * SECOND).await;
        assert_eq!((sim.record().calls, metered.cost().units()), (0, 0));
        assert_eq!(vidra.quota().await.unwrap_err().kind(), ErrorKind::Timeout, "it is too slow");
        let patient = sim::builder(&sim).ledger_double(double).build().unwrap();
        assert_eq!(patient.quota().await.unwrap().buckets[0].used, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn c16_the_renewal_of_a_list_is_on_no_bill() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let list = [video("quirkNoLike"), video("fda4eREcaTQ")];
    vidra.videos(&list).await.unwrap();
    sleep(1_800 * SECOND).await;
    let caller = vidra.metered();
    assert_eq!(caller.videos_json(&list).await.unwrap().outcome, CacheOutcome::Stale);
    sleep(SECOND).await;
    assert_eq!((caller.cost().units(), sim.record().units.default), (0, 2));
    assert_eq!(vidra.videos_json(&list).await.unwrap().outcome, CacheOutcome::Hit);
    // The caller pays for the missing video, and its call has room for the renewals.
    sleep(1_800 * SECOND).await;
    let longer = [list[0], list[1], video("quirkNoComm")];
    caller.videos_json(&longer).await.unwrap();
    sleep(SECOND).await;
    assert_eq!((caller.cost().units(), sim.record().units.default), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn c17_nothing_is_sent_for_callers_that_left_before_their_turn() {
    let sim = Simulator::new();
    let vidra = builder(&sim).pacing(Pacing::At(Pace { burst: 1, per_hour: 60 })).build().unwrap();
    transcript(&vidra, "txManualAsr").await.unwrap();
    let sent = sim.record().calls;
    assert!(timeout(5 * SECOND, transcript(&vidra, "txAsrOnly__")).await.is_err());
    sleep(120 * SECOND).await;
    assert_eq!(sim.record().calls, sent);
    let started = Instant::now();
    transcript(&vidra, "txForeign1_").await.unwrap();
    assert!(started.elapsed() < SECOND, "the turn was left for others");
}

#[tokio::test(start_paused = true)]
async fn an_address_whose_pause_is_over_is_used_when_its_turn_comes() {
    let pace = Pace { burst: 1, per_hour: 360 };
    for (deadline, expected) in [(30 * SECOND, None), (5 * SECOND, Some("paced"))] {
        let sim = Simulator::new();
        let builder = builder(&sim).pacing(Pacing::At(pace)).block_pause(SECOND);
        let vidra = builder.deadline(deadline).build().unwrap();
        sim.inject(Fault::on(Endpoint::Player, Action::status(429)).once());
        let blocked = transcript(&vidra, "txManualAsr").await.unwrap_err();
        assert_eq!(blocked.kind(), ErrorKind::RateLimited);
        // The pause is over, and the next turn is eight seconds away.
        sleep(2 * SECOND).await;
        let error = transcript(&vidra, "txManualAsr").await.err();
        assert_eq!(error.map(|error| error.reason().code()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn every_transcript_that_times_out_has_that_reason() {
    let sim = slow(60 * SECOND);
    let vidra = builder(&sim).deadline(5 * SECOND).attempt_timeout(60 * SECOND).build().unwrap();
    let hurried = vidra.within(SECOND);
    let (first, second, hurried) = tokio::join!(
        transcript(&vidra, "txManualAsr"),
        transcript(&vidra, "txManualAsr"),
        transcript(&hurried, "txManualAsr"),
    );
    for ended in [first, second, hurried] {
        let error = ended.unwrap_err();
        assert_eq!(error.reason(), vidra::Reason::TimedOut, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_without_waiters_keeps_no_other_fetch_alive() {
    let sim = slow(SECOND);
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)).once());
    let vidra = builder(&sim).build().unwrap();
    let channel = ChannelRef::parse("UCB-2_pXPtFYDifLXZF-S8PA").unwrap();
    let list = [video("fda4eREcaTQ")];
    // The uploads contain the video of the list, so their second call joins the call of the list.
    let uploads = timeout(1_500 * MS, vidra.channel_videos(&channel, 50));
    let list = async {
        sleep(900 * MS).await;
        timeout(600 * MS, vidra.videos(&list)).await
    };
    let (uploads, list) = tokio::join!(uploads, list);
    assert!(uploads.is_err() && list.is_err(), "both have left");
    sleep(10 * SECOND).await;
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 2, "nothing is retried without waiters");
    assert_eq!(vidra.held(), Default::default());
}
