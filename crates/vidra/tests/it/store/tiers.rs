use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, advance};
use vidra::store::{Memory, Record, Store as _, Tiers, Usage};

use super::{Faulty, NOW, StoreFault, record};

fn tiers(fault: StoreFault) -> (Arc<Faulty>, Tiers) {
    let far = Arc::new(Faulty::new(fault));
    let memory = Memory::new(1024 * 1024);
    (Arc::clone(&far), Tiers::new(memory, Some(far)))
}

fn keys<const N: usize>(keys: [&str; N]) -> [String; N] {
    keys.map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn records_of_the_far_store_are_cached_in_memory() {
    let (far, tiers) = tiers(StoreFault::None);
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
async fn a_put_is_in_memory_at_once_and_in_the_far_store_soon() {
    let (far, tiers) = tiers(StoreFault::None);
    tiers.put("key", record("1"));
    assert_eq!(tiers.peek("key", NOW), Some(record("1")));
    assert_eq!(far.calls(), 0);
    tiers.settled().await;
    assert_eq!(far.memory.peek("key"), Some(record("1")));
    let usage = tiers.usage().await;
    assert_eq!((usage.memory.entries, usage.far.map(|far| far.entries)), (1, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn an_expired_record_is_a_miss_in_both_tiers() {
    let (far, tiers) = tiers(StoreFault::None);
    tiers.put("near", record("1"));
    far.memory.insert("far", record("2"));
    for (now, is_valid) in [(NOW, true), (NOW + 59_999, true), (NOW + 60_000, false), (0, true)] {
        assert_eq!(tiers.peek("near", now).is_some(), is_valid, "{now}");
        assert_eq!(tiers.get("far", now).await.is_some(), is_valid, "{now}");
        let found = tiers.get_many(&keys(["near", "far"]), now).await;
        assert!(found.iter().all(|record| record.is_some() == is_valid), "{now}");
    }
    // Another process may have put a newer one.
    let newer = Record { stored_at: NOW + 60_000, keep_until: NOW + 90_000, ..record("3") };
    far.memory.insert("near", newer.clone());
    assert_eq!(tiers.get("near", NOW + 60_000).await, Some(newer));
}

#[tokio::test(start_paused = true)]
async fn the_last_put_wins_and_removed_records_stay_removed() {
    let (far, tiers) = tiers(StoreFault::None);
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
async fn a_slow_read_does_not_restore_a_removed_record() {
    let (far, tiers) = tiers(StoreFault::Hangs);
    far.memory.insert("key", record("old"));
    let mut slow = Box::pin(tiers.get("key", NOW));
    assert!((&mut slow).now_or_never().is_none());
    far.set_fault(StoreFault::None);
    tiers.remove("key").await.unwrap();
    slow.await;
    assert_eq!(tiers.peek("key", NOW), None);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_store_delays_one_read_and_no_put() {
    let (far, tiers) = tiers(StoreFault::Hangs);
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
    assert_eq!(tiers.dropped(), 20_000 - 8192, "the queue holds 8192 writes");
    tiers.settled().await;
    assert_eq!(begun.elapsed(), Duration::from_millis(550), "then the queued writes are dropped");
    assert!(tiers.peek("19999", NOW).is_some());
    assert!(tiers.remove("19999").await.is_err(), "it may still be in the far store");
    assert!(tiers.is_store_failing());

    far.set_fault(StoreFault::None);
    advance(Duration::from_secs(2)).await;
    tiers.put("key", record("1"));
    tiers.settled().await;
    assert_eq!(far.memory.peek("key"), Some(record("1")));
    assert_eq!(tiers.get("absent", NOW).await, None);
    assert!(!tiers.is_store_failing());
}

#[tokio::test(start_paused = true)]
async fn queued_writes_are_bounded_by_size_too() {
    let (far, tiers) = tiers(StoreFault::Hangs);
    let large = Record { body: vec![0; 10 << 20].into(), ..record("") };
    for index in 0..10 {
        tiers.put(&format!("{index}"), large.clone());
    }
    assert_eq!(tiers.dropped(), 4, "six writes of 10 MB are queued");
    tiers.settled().await;
    far.set_fault(StoreFault::None);
    advance(Duration::from_secs(2)).await;
    let huge = Record { body: vec![0; 70 << 20].into(), ..record("") };
    tiers.put("huge", huge);
    assert_eq!(tiers.dropped(), 4, "a single write may be larger");
    tiers.settled().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_put_replaces_the_queued_one_of_its_key() {
    let (far, tiers) = tiers(StoreFault::None);
    let megabytes = |count: usize| Record { body: vec![0; count << 20].into(), ..record("") };
    for index in 0..6 {
        tiers.put(&format!("{index}"), megabytes(10));
    }
    let newest = Record { body: vec![1; 9 << 20].into(), ..record("") };
    tiers.put("3", newest.clone());
    tiers.put("new", megabytes(10));
    assert_eq!(tiers.dropped(), 1, "there is no room for one more");
    // Too large for the queue: then neither this nor the older record is written.
    tiers.put("4", megabytes(20));
    assert_eq!(tiers.dropped(), 2);
    tiers.settled().await;
    assert!(far.memory.peek("3") == Some(newest), "the newest is written");
    assert!(far.memory.peek("4").is_none() && far.memory.peek("5").is_some());
}

/// Two threads with the same keys: one loads old records into memory, the other puts new ones.
#[test]
fn a_read_does_not_replace_a_concurrent_put() {
    const KEYS: usize = 20_000;
    let far = Arc::new(Faulty::new(StoreFault::None));
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
async fn tiers_work_with_memory_alone() {
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
async fn the_faulty_store_of_these_tests_conforms() {
    let store = Faulty::new(StoreFault::None);
    vidra::store::conformance::check(&store).await;
    assert!(store.usage().await.is_ok());
}

/// An alert must not fire forever because nobody uses the service.
#[tokio::test(start_paused = true)]
async fn a_store_that_works_again_is_noticed_without_requests() {
    for fault in [StoreFault::Fails, StoreFault::Hangs, StoreFault::FailsToWrite] {
        let (far, tiers) = tiers(fault);
        tiers.get("key", NOW).await;
        tiers.put("key", record("1"));
        tiers.settled().await;
        let failures = tiers.failures();
        for _ in 0..20 {
            assert!(tiers.is_store_failing(), "{fault:?}");
            advance(Duration::from_secs(5)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(tiers.failures(), failures, "a probe is no failure of a request");
        far.set_fault(StoreFault::None);
        for _ in 0..20 {
            tiers.is_store_failing();
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        assert!(!tiers.is_store_failing(), "{fault:?}");
        assert_eq!(tiers.usage().await.far.map(|far| far.entries), Some(0));
    }
}
