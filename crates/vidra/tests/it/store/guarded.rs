use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, advance};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use vidra::store::{Failures, Guarded, StoreError};

use super::{Faulty, StoreFault, record};

const MS: Duration = Duration::from_millis(1);

/// The first pause of one second, with its jitter.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_millis(1_200);

fn guarded(fault: StoreFault) -> (Arc<Faulty>, Guarded) {
    let store = Arc::new(Faulty::new(fault));
    (Arc::clone(&store), Guarded::new(store))
}

#[tokio::test(start_paused = true)]
async fn review_s5_a_slow_read_of_an_expensive_record_is_not_a_miss() {
    let (store, guarded) = guarded(StoreFault::Slow);
    store.memory.insert("key", record("here"));
    assert_eq!(guarded.get("key").await, None, "fetching a cheap record is faster");
    assert!(guarded.is_failing());
    let left = 60_000 * MS;
    assert_eq!(guarded.get_expensive("key", left).await, Some(record("here")), "in the pause too");
    store.set_fault(StoreFault::Hangs);
    let begun = Instant::now();
    assert_eq!(guarded.get_expensive("key", left).await, None);
    assert_eq!(begun.elapsed(), 1_000 * MS);
    let failures = guarded.failures();
    assert_eq!((failures.reads, failures.skipped), (2, 0), "reads in the pause count as any other");
    assert_eq!(guarded.get_expensive("key", MS).await, None);
    assert!(begun.elapsed() <= 1_050 * MS, "a caller without time does not wait that long");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_store_is_a_miss_after_50_ms_and_its_pauses_grow() {
    let (store, guarded) = guarded(StoreFault::Hangs);
    for round in 0..32 {
        let begun = Instant::now();
        assert_eq!(guarded.get("key").await, None);
        assert_eq!(begun.elapsed(), 50 * MS);
        assert_eq!(store.calls(), round + 1);
        assert!(guarded.is_failing());

        // The pauses have a jitter of a fifth.
        let pause = Duration::from_secs(round as u64 + 1).min(Duration::from_secs(30));
        advance(pause * 4 / 5 - MS).await;
        let begun = Instant::now();
        assert_eq!(guarded.get("key").await, None);
        assert_eq!(guarded.get_many(&["key".to_owned()]).await, [None]);
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(store.calls(), round + 1, "not called during the pause");
        advance(pause * 2 / 5 + MS).await;
    }
    assert_eq!(guarded.failures(), Failures { reads: 32, skipped: 64, ..Failures::default() });

    store.set_fault(StoreFault::None);
    store.memory.insert("key", record("here"));
    assert_eq!(guarded.get("key").await, Some(record("here")));
    assert!(!guarded.is_failing());
    store.set_fault(StoreFault::Fails);
    assert_eq!(guarded.get("key").await, None);
    advance(LONGEST_FIRST_PAUSE).await;
    store.set_fault(StoreFault::None);
    assert!(guarded.get("key").await.is_some(), "after a success pauses are short again");
}

#[tokio::test(start_paused = true)]
async fn one_call_probes_and_the_others_do_not_wait_for_it() {
    let (store, guarded) = guarded(StoreFault::Fails);
    // All were admitted before the first failed: one failure, one pause.
    let all = futures_util::future::join_all((0..100).map(|_| guarded.get("key"))).await;
    assert!(all.iter().all(Option::is_none));
    let calls = store.calls();
    advance(LONGEST_FIRST_PAUSE).await;
    store.set_fault(StoreFault::Hangs);
    let begun = Instant::now();
    futures_util::future::join_all((0..100).map(|_| guarded.get("key"))).await;
    assert_eq!(begun.elapsed(), 50 * MS);
    assert_eq!(store.calls(), calls + 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_does_not_close_the_store_forever() {
    let (store, guarded) = guarded(StoreFault::Fails);
    guarded.get("key").await;
    advance(LONGEST_FIRST_PAUSE).await;
    store.set_fault(StoreFault::Hangs);
    let dropped = tokio::time::timeout(MS, guarded.get("key")).await;
    assert!(dropped.is_err());
    store.set_fault(StoreFault::None);
    store.memory.insert("key", record("here"));
    assert!(guarded.get("key").await.is_some(), "the next call probes");
}

#[tokio::test(start_paused = true)]
async fn background_writes_may_take_longer_than_reads() {
    let (store, guarded) = guarded(StoreFault::Slow);
    for key in ["one", "other"] {
        guarded.put(key, &record("here")).await;
        assert_eq!(store.memory.peek(key), Some(record("here")), "{key}");
    }
    assert_eq!(guarded.failures(), Failures::default());
    assert_eq!(guarded.get("one").await, None);
    assert_eq!(guarded.failures(), Failures { reads: 1, ..Failures::default() });
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_can_still_be_read() {
    let (store, guarded) = guarded(StoreFault::FailsToWrite);
    store.memory.insert("key", record("here"));
    guarded.put("other", &record("")).await;
    guarded.put("other", &record("")).await;
    assert_eq!(guarded.get("key").await, Some(record("here")));
    assert_eq!(guarded.remove("key").await, Err(StoreError::BreakerOpen));
    assert_eq!(guarded.failures(), Failures { writes: 1, skipped: 2, ..Failures::default() });
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_store_is_a_failure() {
    let (store, guarded) = guarded(StoreFault::Panics);
    assert_eq!(guarded.get("key").await, None);
    guarded.put("key", &record("")).await;
    assert!(guarded.clear().await.is_err());
    assert_eq!(guarded.usage().await, None);
    assert_eq!((guarded.failures().reads, guarded.failures().writes), (1, 1));
    assert_eq!(store.calls(), 3, "its usage is not requested during the pause");
}

#[tokio::test(start_paused = true)]
async fn usage_is_counted_once_in_five_seconds() {
    let (store, guarded) = guarded(StoreFault::None);
    store.memory.insert("key", record("here"));
    let entries = async || guarded.usage().await.map(|usage| usage.entries);
    let all = futures_util::future::join_all((0..50).map(|_| entries())).await;
    assert!(all.iter().all(|&entries| entries == Some(1)), "{all:?}");
    store.memory.insert("other", record("here"));
    advance(Duration::from_secs(5) - MS).await;
    assert_eq!((entries().await, store.calls()), (Some(1), 1));
    advance(MS).await;
    assert_eq!((entries().await, store.calls()), (Some(2), 2));
    guarded.clear().await.unwrap();
    assert_eq!(entries().await, Some(0), "clearing resets the count");
}

/// A caller that leaves or times out does not end the count, so the next caller does not start another.
#[tokio::test(start_paused = true)]
async fn callers_wait_a_second_for_a_slow_count_that_starts_once() {
    let (store, guarded) = guarded(StoreFault::Hangs);
    assert!(tokio::time::timeout(MS, guarded.usage()).await.is_err(), "the caller leaves");
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(guarded.usage().await, None);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }
    assert_eq!(store.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_record_is_removed_and_the_store_stays_in_use() {
    let (store, guarded) = guarded(StoreFault::Corrupt);
    store.memory.insert("key", record("here"));
    assert_eq!(guarded.get("key").await, None);
    assert!(store.memory.peek("key").is_none());
    assert!(!guarded.is_failing());
    assert_eq!(guarded.failures(), Failures { corrupt: 1, ..Failures::default() });

    store.set_fault(StoreFault::CorruptAndHangsToWrite);
    let begun = Instant::now();
    assert_eq!(guarded.get("key").await, None);
    assert_eq!(begun.elapsed(), 50 * MS, "the removal has no time of its own");
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_once_a_minute_and_without_keys() {
    let log = LogLines::default();
    let lines = Arc::clone(&log.0);
    let _here = tracing::subscriber::set_default(log);
    let (_, guarded) = guarded(StoreFault::Fails);
    let warnings = |of: &str| {
        let lines = lines.lock().unwrap();
        let is_of = |line: &&String| line.contains("WARN") && line.contains(of);
        lines.iter().filter(is_of).cloned().collect::<Vec<String>>()
    };
    for second in 1..=180 {
        guarded.get("video/of-a-user").await;
        guarded.put("video/of-a-user", &record("")).await;
        let failures = warnings("cache store failed");
        assert!(failures.len() <= 1 + second / 60, "{second}: {failures:?}");
        advance(Duration::from_secs(1)).await;
    }
    let failures = warnings("cache store failed");
    assert_eq!(failures.len(), 3, "{failures:?}");
    assert!(failures[0].contains("no space left"), "{failures:?}");
    assert_eq!(warnings("").len(), 3, "nothing else");
    let lines = lines.lock().unwrap();
    assert!(!lines.concat().contains("of-a-user"), "{lines:?}");
}

/// The logged events, one line each.
#[derive(Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for LogLines {
    fn enabled(&self, about: &tracing::Metadata<'_>) -> bool {
        about.target().starts_with("vidra")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}
