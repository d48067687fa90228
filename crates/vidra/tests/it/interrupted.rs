//! Batches that a block or an exhausted quota interrupts, and batches after it.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use tokio::time::Instant;
use vidra::{
    BatchEvent, BatchQuery, Error, InProcess, Pace, Pacing, PlaylistId, QuotaLimits, Reason,
    TranscriptQuery, VideoId, VideoTranscript, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::builder;

const PAUSE: Duration = Duration::from_secs(900);
const LATENCY: Duration = Duration::from_millis(100);

async fn results(vidra: &Vidra, id: &str, query: &BatchQuery) -> Vec<VideoTranscript> {
    let id = PlaylistId::parse(id).unwrap();
    let events: Vec<BatchEvent> =
        vidra.playlist_transcripts(&id, query).try_collect().await.unwrap();
    let result = |event| match event {
        BatchEvent::Result(result) => Some(result),
        _ => None,
    };
    events.into_iter().filter_map(result).collect()
}

fn failure(result: &VideoTranscript) -> Option<&Error> {
    result.transcript.as_ref().err()
}

fn succeeded(results: &[VideoTranscript]) -> usize {
    results.iter().filter(|result| result.transcript.is_ok()).count()
}

/// Whether the platform refused the address. Captions report a block as a rate limit.
fn is_block(reason: Option<Reason>) -> bool {
    matches!(reason, Some(Reason::Blocked | Reason::UpstreamRateLimited))
}

/// A client whose batch met a block, and whose pause is over. Returns the calls so far.
async fn after_a_block(sim: &Simulator, vidra: &Vidra, query: &BatchQuery) -> u64 {
    sim.block_after(3);
    let blocked = results(vidra, "PLsize50", query).await;
    assert!(succeeded(&blocked) <= 3, "{}", succeeded(&blocked));
    let last = blocked.last().unwrap();
    let error = failure(last).unwrap();
    assert!(is_block(Some(error.reason())), "{last:?}");
    assert_eq!(error.retry_after_seconds(), Some(PAUSE.as_secs()));
    tokio::time::advance(PAUSE).await;
    sim.record().calls_to(Endpoint::Player)
}

#[tokio::test(start_paused = true)]
async fn users_5_the_first_batch_after_a_block_waits_for_the_probe() {
    // A burst smaller than the concurrency, and one larger than the playlist.
    for (concurrency, burst) in [(1, 100), (3, 100), (20, 100), (20, 5)] {
        let sim = Simulator::builder().latency(LATENCY).build();
        let pacing = Pacing::At(Pace { burst, per_hour: 3_600 });
        let vidra = builder(&sim).block_pause(PAUSE).pacing(pacing).build().unwrap();
        let query = BatchQuery::default().with_concurrency(concurrency);
        after_a_block(&sim, &vidra, &query).await;
        sim.unblock();
        let resumed = results(&vidra, "PLsize50", &query).await;
        assert_eq!((resumed.len(), succeeded(&resumed)), (50, 50), "{concurrency}, {burst}");
    }
}

/// A failure is cached for a second, but only as long as its cause lasts.
#[tokio::test(start_paused = true)]
async fn users_5_a_cached_failure_does_not_outlive_the_block() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let vidra = builder(&sim).cache_bytes(64 << 20).block_pause(PAUSE).build().unwrap();
    let query = BatchQuery::default();
    sim.block_after(0);
    results(&vidra, "PLsize50", &query).await;
    sim.unblock();
    // Shortly before the pause is over, all entries fail again.
    tokio::time::advance(PAUSE - LATENCY).await;
    assert_eq!(succeeded(&results(&vidra, "PLsize50", &query).await), 0);
    tokio::time::advance(LATENCY).await;
    let resumed = results(&vidra, "PLsize50", &query).await;
    assert_eq!((resumed.len(), succeeded(&resumed)), (50, 50));
}

#[tokio::test(start_paused = true)]
async fn users_5_a_probe_that_fails_answers_all_that_wait_for_it() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let vidra = builder(&sim).block_pause(PAUSE).build().unwrap();
    let query = BatchQuery::default().with_concurrency(20);
    let calls = after_a_block(&sim, &vidra, &query).await;
    let began = Instant::now();
    let again = results(&vidra, "PLsize50", &query).await;
    assert_eq!(sim.record().calls_to(Endpoint::Player), calls + 1, "one probe");
    assert!(again.iter().all(|result| is_block(failure(result).map(Error::reason))), "{again:?}");
    // The second consecutive block lasts twice as long.
    let longest = again.iter().filter_map(|result| failure(result)?.retry_after_seconds()).max();
    assert_eq!(longest, Some(2 * PAUSE.as_secs()));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn users_5_a_probe_without_a_result_is_repeated_by_an_entry_that_waits() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let vidra = builder(&sim).block_pause(PAUSE).build().unwrap();
    let query = BatchQuery::default().with_concurrency(5);
    after_a_block(&sim, &vidra, &query).await;
    sim.unblock();
    // The probe fails three times for another reason, which says nothing about the block.
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)).times(3));
    let resumed = results(&vidra, "PLsize50", &query).await;
    assert_eq!((resumed.len(), succeeded(&resumed)), (50, 49));
}

#[tokio::test(start_paused = true)]
async fn users_5_a_single_request_waits_for_the_probe_of_a_batch() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let vidra = builder(&sim).block_pause(PAUSE).build().unwrap();
    let query = BatchQuery::default().with_concurrency(1);
    after_a_block(&sim, &vidra, &query).await;
    sim.unblock();
    let playlist = PlaylistId::parse("PLsize50").unwrap();
    let mut events = Box::pin(vidra.playlist_transcripts(&playlist, &query));
    events.next().await.unwrap().unwrap();
    // The player of the first entry has been called and has not answered.
    tokio::time::advance(LATENCY / 2).await;
    let transcript = |patience| {
        let vidra = vidra.within(patience);
        let id = VideoId::parse("txManualAsr").unwrap();
        async move { vidra.transcript(id, &TranscriptQuery::default()).await }
    };
    let rest = async { while events.next().await.is_some() {} };
    let (hurried, patient, ()) =
        tokio::join!(transcript(LATENCY / 4), transcript(Duration::from_secs(9)), rest);
    assert_eq!(hurried.unwrap_err().reason(), Reason::TimedOut, "never `blocked`");
    patient.unwrap();
}

#[tokio::test(start_paused = true)]
async fn users_5_a_probe_at_one_of_two_addresses_is_enough() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let proxies = vec![InProcess(sim.clone()), InProcess(sim.clone())];
    let vidra = builder(&sim).proxies(proxies).block_pause(PAUSE).build().unwrap();
    let query = BatchQuery::default().with_concurrency(8);
    sim.block_after(0);
    results(&vidra, "PLsize50", &query).await;
    assert_eq!(vidra.addresses().blocked, 2);
    tokio::time::advance(PAUSE).await;
    sim.unblock();
    let resumed = results(&vidra, "PLsize50", &query).await;
    assert_eq!((resumed.len(), succeeded(&resumed)), (50, 50));
    assert_eq!(vidra.addresses().blocked, 0);
}

#[tokio::test(start_paused = true)]
async fn users_6_results_come_before_the_error_when_the_quota_runs_out() {
    let sim = Simulator::builder().latency(LATENCY).build();
    let limits = QuotaLimits::default().with_default(5);
    let vidra = builder(&sim).quota(limits).build().unwrap();
    let query = BatchQuery::default().with_concurrency(20);
    let playlist = PlaylistId::parse("PLsize500").unwrap();
    let mut events: Vec<_> = vidra.playlist_transcripts(&playlist, &query).collect().await;
    let last = events.pop().unwrap().unwrap_err();
    assert_eq!(last.reason(), Reason::QuotaExhausted);
    assert!(last.retry_after_seconds().is_some(), "the time of the reset");
    let is_success = |event: &vidra::Result<BatchEvent>| matches!(event, Ok(BatchEvent::Result(result)) if result.transcript.is_ok());
    assert_eq!(events.iter().filter(|event| is_success(event)).count(), 250);
}
