use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, advance};
use vidra::store::{Memory, Record, Store as _, Tiers, Usage};

use super::{Faulty, NOW, Trouble, record};

fn tiers(trouble: Trouble) -> (Arc<Faulty>, Tiers) {
    let far = Arc::new(Faulty::new(trouble));
    let memory = Memory::new(1024 * 1024);
    (Arc::clone(&far), Tiers::new(memory, Some(far)))
}

fn keys<const N: usize>(keys: [&str; N]) -> [String; N] {
    keys.map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn what_the_far_store_gives_is_in_memory_from_then_on() {
    let (far, tiers) = tiers(Trouble::None);
    far.memory.insert("a", record("1"));
    far.memory.insert("b", record("2"));
    assert_eq!(tiers.peek("a", NOW), None);
    assert_eq!(tiers.get("a", NOW).await, Some(record("1")));
    assert_eq!(tiers.peek("a", NOW), Some(record("1")));
    let found = tiers.get_many(&keys(["c", "b", "a"]), NOW).await;
    assert_eq!(found, [None, Some(record("2")), Some(record("1"))]);
    assert_eq!(far.calls(), 2);
    tiers.get_many(&keys(["b", "a"]), NOW).await;
    assert_eq!(far.calls(), 2, "memory has them all");
}

#[tokio::test(start_paused = true)]
async fn what_is_put_is_here_at_once_and_far_away_soon() {
    let (far, tiers) = tiers(Trouble::None);
    tiers.put("key", record("1"));
    assert_eq!(tiers.peek("key", NOW), Some(record("1")));
    assert_eq!(far.calls(), 0);
    tiers.settled().await;
    assert_eq!(far.memory.peek("key"), Some(record("1")));
    let usage = tiers.usage().await;
    assert_eq!((usage.memory.entries, usage.far.map(|far| far.entries)), (1, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_is_a_miss_in_both() {
    let (far, tiers) = tiers(Trouble::None);
    tiers.put("near", record("1"));
    far.memory.insert("far", record("2"));
    for (now, is_kept) in [(NOW, true), (NOW + 59_999, true), (NOW + 60_000, false), (0, true)] {
        assert_eq!(tiers.peek("near", now).is_some(), is_kept, "{now}");
        assert_eq!(tiers.get("far", now).await.is_some(), is_kept, "{now}");
        let found = tiers.get_many(&keys(["near", "far"]), now).await;
        assert!(found.iter().all(|record| record.is_some() == is_kept), "{now}");
    }
    // Another process may have put a newer one.
    let newer = Record { stored_at: NOW + 60_000, keep_until: NOW + 90_000, ..record("3") };
    far.memory.insert("near", newer.clone());
    assert_eq!(tiers.get("near", NOW + 60_000).await, Some(newer));
}

#[tokio::test(start_paused = true)]
async fn the_last_of_several_puts_stays_and_what_is_removed_stays_away() {
    let (far, tiers) = tiers(Trouble::None);
    for round in 0..50 {
        tiers.put("key", record(&format!("{round}")));
        tiers.put("removed", record("1"));
        if round % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(tiers.remove("removed").await, Ok(()));
    tiers.settled().await;
    assert_eq!(far.memory.peek("key"), Some(record("49")));
    assert_eq!(far.memory.peek("removed"), None);
    assert_eq!(tiers.get("removed", NOW).await, None);

    for index in 0..500 {
        tiers.put(&format!("{index}"), record("1"));
    }
    assert_eq!(tiers.clear().await, Ok(()));
    tiers.settled().await;
    assert_eq!(far.memory.held(), Usage::default());
    assert_eq!(tiers.usage().await.memory, Usage::default());
}

#[tokio::test(start_paused = true)]
async fn a_slow_read_does_not_bring_back_what_was_removed() {
    let (far, tiers) = tiers(Trouble::Hangs);
    far.memory.insert("key", record("old"));
    let mut slow = Box::pin(tiers.get("key", NOW));
    assert!((&mut slow).now_or_never().is_none());
    far.suffer(Trouble::None);
    tiers.remove("key").await.unwrap();
    slow.await;
    assert_eq!(tiers.peek("key", NOW), None);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_delays_a_read_once_and_a_put_never() {
    let (far, tiers) = tiers(Trouble::Hangs);
    let begun = Instant::now();
    assert_eq!(tiers.get("key", NOW).await, None);
    assert_eq!(begun.elapsed(), Duration::from_millis(50));
    let many: Vec<String> = (0..1000).map(|index| format!("{index}")).collect();
    assert!(tiers.get_many(&many, NOW).await.iter().all(Option::is_none));
    assert_eq!(begun.elapsed(), Duration::from_millis(50));
    for index in 0..20_000 {
        tiers.put(&format!("{index}"), record("1"));
    }
    assert_eq!(begun.elapsed(), Duration::from_millis(50));
    assert_eq!(tiers.dropped(), 20_000 - 8192, "so many wait and not more");
    tiers.settled().await;
    assert_eq!(begun.elapsed(), Duration::from_millis(550), "then those are let go");
    assert!(tiers.peek("19999", NOW).is_some());
    assert!(tiers.remove("19999").await.is_err(), "who removes is told that it may be there still");
    assert!(tiers.is_far_failing());

    far.suffer(Trouble::None);
    advance(Duration::from_secs(2)).await;
    tiers.put("key", record("1"));
    tiers.settled().await;
    assert_eq!(far.memory.peek("key"), Some(record("1")));
    assert_eq!(tiers.get("absent", NOW).await, None);
    assert!(!tiers.is_far_failing());
}

#[tokio::test(start_paused = true)]
async fn large_bodies_that_wait_are_bounded_too() {
    let (far, tiers) = tiers(Trouble::Hangs);
    let large = Record { body: vec![0; 10 << 20].into(), ..record("") };
    for index in 0..10 {
        tiers.put(&format!("{index}"), large.clone());
    }
    assert_eq!(tiers.dropped(), 4, "six of ten megabytes wait");
    tiers.settled().await;
    far.suffer(Trouble::None);
    advance(Duration::from_secs(2)).await;
    let huge = Record { body: vec![0; 70 << 20].into(), ..record("") };
    tiers.put("huge", huge);
    assert_eq!(tiers.dropped(), 4, "alone it may be larger");
    tiers.settled().await;
}

#[tokio::test(start_paused = true)]
async fn the_newest_of_a_key_that_waits_takes_the_place_of_the_older() {
    let (far, tiers) = tiers(Trouble::None);
    let megabytes = |count: usize| Record { body: vec![0; count << 20].into(), ..record("") };
    for index in 0..6 {
        tiers.put(&format!("{index}"), megabytes(10));
    }
    let newest = Record { body: vec![1; 9 << 20].into(), ..record("") };
    tiers.put("3", newest.clone());
    tiers.put("new", megabytes(10));
    assert_eq!(tiers.dropped(), 1, "there is no room for one more");
    // Larger than there is room for: then none is kept rather than the older one.
    tiers.put("4", megabytes(20));
    assert_eq!(tiers.dropped(), 2);
    tiers.settled().await;
    assert!(far.memory.peek("3") == Some(newest), "the newest is written");
    assert!(far.memory.peek("4").is_none() && far.memory.peek("5").is_some());
}

/// Two threads on the same keys, one that brings old records near and one that puts new ones.
#[test]
fn a_read_does_not_replace_what_was_put_meanwhile() {
    const KEYS: usize = 20_000;
    let far = Arc::new(Faulty::new(Trouble::None));
    let tiers = Arc::new(Tiers::new(Memory::new(64 << 20), Some(Arc::clone(&far) as _)));
    let keys: Vec<String> = (0..KEYS).map(|index| format!("{index}")).collect();
    for key in &keys {
        far.memory.insert(key, record("old"));
    }
    let new = || Record { stored_at: NOW + 1, ..record("new") };
    let at = AtomicUsize::new(0);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let runtime = runtime();
            for (index, key) in keys.iter().enumerate() {
                at.store(index, Ordering::Release);
                runtime.block_on(tiers.get(key, NOW));
            }
            at.store(KEYS, Ordering::Release);
        });
        let runtime = runtime();
        let _inside = runtime.enter();
        for (index, key) in keys.iter().enumerate() {
            while at.load(Ordering::Acquire) < index {
                std::hint::spin_loop();
            }
            tiers.put(key, new());
        }
    });
    let wrong = keys.iter().filter(|key| tiers.peek(key, NOW) != Some(new())).count();
    assert_eq!(wrong, 0, "of {KEYS} are old again");
}

#[tokio::test]
async fn memory_alone_will_do() {
    let tiers = Tiers::new(Memory::new(1024 * 1024), None);
    tiers.put("key", record("1"));
    assert_eq!(tiers.get("key", NOW).await, Some(record("1")));
    assert_eq!(tiers.get_many(&keys(["a", "key"]), NOW).await, [None, Some(record("1"))]);
    assert_eq!(tiers.remove("key").await, Ok(()));
    assert_eq!(tiers.get("key", NOW).await, None);
    assert_eq!(tiers.clear().await, Ok(()));
    assert_eq!((tiers.usage().await.far, tiers.failures(), tiers.dropped()), (None, None, 0));
    tiers.settled().await;
}

#[tokio::test(start_paused = true)]
async fn the_suites_own_faulty_store_conforms() {
    let store = Faulty::new(Trouble::None);
    vidra::store::conformance::check(&store).await;
    assert!(store.usage().await.is_ok());
}
