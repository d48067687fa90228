//! F12, F13: an exhausted quota, and a ledger that is never below the platform's bill.

use std::time::Duration;

use tokio::time::{Instant, advance};
use vidra::{CacheOutcome, ChannelRef, ErrorKind, Lookup, PlaylistId, RetryPolicy, VideoId};
use vidra_sim::{Action, Endpoint, Fault, Junk, Simulator};

use crate::sim;

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn f12_an_exhausted_quota_closes_its_bucket_and_cached_records_are_served() {
    let sim = Simulator::new();
    let vidra = sim::builder(&sim).cache_bytes(1 << 20).build().unwrap();
    let known = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&known).await.unwrap();
    sim.inject(Fault::on(Endpoint::Channels, Action::quota_exceeded()));
    let handle = ChannelRef::parse("@fermata").unwrap();
    vidra.channel(&handle).await.unwrap_err();
    sim.reset_record();
    let started = Instant::now();
    for id in ["quirkNoComm", "quirkDurDay", "quirkHtmlCm"] {
        let error = vidra.video(video(id)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
        let wait = error.retry_after().unwrap();
        assert!(!wait.is_zero() && wait <= Duration::from_secs(25 * 3600), "{wait:?}");
    }
    assert_eq!(vidra.lookup(&known).await.unwrap().outcome, CacheOutcome::Hit);
    advance(Duration::from_secs(2 * 3600)).await;
    assert_eq!(vidra.lookup(&known).await.unwrap().outcome, CacheOutcome::Stale, "past its grace");
    assert_eq!(started.elapsed(), Duration::from_secs(2 * 3600), "no lookup waited");
    assert_eq!(sim.record().calls, 0, "no further call");
    let quota = vidra.quota().await.unwrap();
    let left: Vec<u32> = quota.buckets.iter().map(|bucket| bucket.remaining).collect();
    assert_eq!(left, [0, 100], "the other bucket is unchanged");
    // Transcripts cost nothing.
    vidra.tracks(video("txManualAsr")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f13_the_ledger_is_never_below_the_bill() {
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let sim = Simulator::new();
        let open = || {
            let retry = RetryPolicy { retries: 2, delay: Duration::ZERO };
            sim::builder(&sim).retry(retry).state_dir(folder.path()).build().unwrap()
        };
        let mut vidra = open();
        let mut has_hung = false;
        for step in 0..30 {
            let action = match random.u8(..9) {
                0 => Action::status(500),
                1 => Action::status(304),
                2 => Action::error("videoNotFound"),
                3 => Action::error("rateLimitExceeded"),
                4 => Action::Reset,
                5 => Action::Cut,
                6 => Action::Junk { kind: Junk::Truncated },
                7 => Action::Hang,
                _ => Action::delay(Duration::from_millis(1)),
            };
            has_hung |= action == Action::Hang;
            sim.clear_faults();
            sim.inject(Fault::any(action).times(random.u64(..4)));
            match random.u8(..4) {
                0 => drop(vidra.video(video("quirkNoLike")).await),
                1 => drop(vidra.playlist(&PlaylistId::parse("PLsize51").unwrap()).await),
                2 => drop(vidra.videos(&[video("quirkNoLike"), video("quirkDurDay")]).await),
                // Dropped while in flight, as in a process that is killed.
                _ => {
                    let id = PlaylistId::parse("PLsize500").unwrap();
                    let some_time = Duration::from_millis(random.u64(..5));
                    let _ = tokio::time::timeout(some_time, vidra.playlist(&id)).await;
                    vidra = open();
                }
            }
            let used = u64::from(vidra.quota().await.unwrap().buckets[0].used);
            let billed = sim.record().units.default;
            assert!(used >= billed, "seed {seed}, step {step}: {used} of {billed}");
        }
        println!("seed {seed}: hung {has_hung}");
    }
}
