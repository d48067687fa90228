//! The key of the Data API: its rejection, and its replacement while the client runs.

use std::time::Duration;

use tokio::time::{advance, sleep};
use vidra::{ApiKey, CacheOutcome, Lookup, Reason, VideoId, Vidra};
use vidra_sim::{Action, Fault, Simulator};

use crate::sim;

const MS: Duration = Duration::from_millis(1);

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap()
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

async fn used(vidra: &Vidra) -> u32 {
    vidra.quota().await.unwrap().buckets[0].used
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_used_at_once_and_has_its_own_ledger() {
    let (sim, folder) = (Simulator::new(), tempfile::tempdir().unwrap());
    let vidra = sim::builder(&sim).key(Some(key("revoked"))).state_dir(folder.path());
    let vidra = vidra.build().unwrap();
    let error = vidra.video(video("quirkNoLike")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamKeyRejected);
    assert!(vidra.key_was_rejected());
    assert_eq!(used(&vidra).await, 1);

    let other_handle = vidra.metered();
    assert!(vidra.replace_key(key("demo-key")));
    assert!(!vidra.key_was_rejected());
    assert_eq!(used(&vidra).await, 0, "another project");
    other_handle.video(video("quirkNoLike")).await.unwrap();
    assert_eq!(used(&vidra).await, 1);

    assert!(!vidra.replace_key(key(" demo-key\n")), "the same key");
    assert_eq!(used(&vidra).await, 1);
    assert!(vidra.replace_key(key("revoked")));
    assert_eq!(used(&vidra).await, 1, "the ledger of the first key is in its file");
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_tried_again_after_a_reload() {
    let sim = Simulator::new();
    let vidra = sim::client(&sim);
    sim.inject(Fault::any(Action::error("ipRefererBlocked")).once());
    vidra.video(video("quirkNoLike")).await.unwrap_err();
    assert!(vidra.key_was_rejected());
    assert!(!vidra.replace_key(key("demo-key")));
    assert!(!vidra.key_was_rejected());
}

/// An answer to a call with the old key may arrive after the new key.
#[tokio::test(start_paused = true)]
async fn a_late_rejection_of_the_old_key_says_nothing_about_the_new_one() {
    let sim = Simulator::builder().latency(100 * MS).build();
    let vidra = sim::builder(&sim).key(Some(key("revoked"))).build().unwrap();
    let replaced = async {
        sleep(50 * MS).await;
        vidra.replace_key(key("demo-key"));
    };
    let (failed, ()) = tokio::join!(vidra.video(video("quirkNoLike")), replaced);
    assert_eq!(failed.unwrap_err().reason(), Reason::UpstreamKeyRejected);
    assert!(!vidra.key_was_rejected());
}

/// A pause belongs to the project of the key that was used.
#[tokio::test(start_paused = true)]
async fn a_late_pause_of_the_old_key_does_not_hold_up_the_new_one() {
    let sim = Simulator::builder().latency(100 * MS).build();
    let vidra = sim::client(&sim);
    sim.inject(Fault::any(Action::error("rateLimitExceeded").retry_after("3000")).once());
    let replaced = async {
        sleep(50 * MS).await;
        vidra.replace_key(key("revoked"));
    };
    let (failed, ()) = tokio::join!(vidra.video(video("quirkNoLike")), replaced);
    assert_eq!(failed.unwrap_err().reason(), Reason::UpstreamRateLimited);
    let error = vidra.video(video("fda4eREcaTQ")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamKeyRejected, "the new key was sent");
}

#[tokio::test(start_paused = true)]
async fn a_new_key_ends_the_pauses_of_the_old_one() {
    let sim = Simulator::new();
    let minute = Duration::from_secs(60);
    let vidra = sim::builder(&sim).cache_bytes(1 << 20).breaker_pause(minute).build().unwrap();
    let lookup = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&lookup).await.unwrap();
    vidra.replace_key(key("revoked"));
    advance(Duration::from_secs(20 * 60)).await;
    // Each rejected renewal is a stale answer; five of them pause renewals.
    for _ in 0..6 {
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
        sleep(1_001 * MS).await;
    }
    let calls = sim.record().calls;
    vidra.lookup(&lookup).await.unwrap();
    sleep(MS).await;
    assert_eq!(sim.record().calls, calls, "renewals are paused");

    vidra.replace_key(key("demo-key"));
    vidra.lookup(&lookup).await.unwrap();
    sleep(MS).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit);

    // A pause that YouTube requests belongs to the project of a key.
    sim.inject(Fault::any(Action::error("rateLimitExceeded").retry_after("3000")).once());
    for _ in 0..2 {
        sleep(1_001 * MS).await;
        let error = vidra.video(video("fda4eREcaTQ")).await.unwrap_err();
        assert_eq!(error.reason(), Reason::UpstreamRateLimited);
    }
    // The failure of this second is forgotten too.
    vidra.replace_key(key("demo-key"));
    vidra.video(video("fda4eREcaTQ")).await.unwrap();
}
