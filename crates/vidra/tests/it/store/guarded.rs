use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, advance};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use vidra::store::{Failures, Guarded, StoreError};

use super::{Faulty, Trouble, record};

const MS: Duration = Duration::from_millis(1);

/// The first pause of one second, with its jitter.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_millis(1_200);

fn guarded(trouble: Trouble) -> (Arc<Faulty>, Guarded) {
    let store = Arc::new(Faulty::new(trouble));
    (Arc::clone(&store), Guarded::new(store))
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_a_miss_after_50_ms_and_is_left_alone_for_longer_and_longer() {
    let (store, guarded) = guarded(Trouble::Hangs);
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
        assert_eq!(store.calls(), round + 1, "not asked while it is left alone");
        advance(pause * 2 / 5 + MS).await;
    }
    assert_eq!(guarded.failures(), Failures { reads: 32, skipped: 64, ..Failures::default() });

    store.suffer(Trouble::None);
    store.memory.insert("key", record("here"));
    assert_eq!(guarded.get("key").await, Some(record("here")));
    assert!(!guarded.is_failing());
    store.suffer(Trouble::Fails);
    assert_eq!(guarded.get("key").await, None);
    advance(LONGEST_FIRST_PAUSE).await;
    store.suffer(Trouble::None);
    assert!(guarded.get("key").await.is_some(), "after it worked, pauses are short again");
}

#[tokio::test(start_paused = true)]
async fn one_call_tries_again_and_the_others_do_not_wait_for_it() {
    let (store, guarded) = guarded(Trouble::Fails);
    // All were let in before the first failed: one failure, one pause.
    let all = futures_util::future::join_all((0..100).map(|_| guarded.get("key"))).await;
    assert!(all.iter().all(Option::is_none));
    let asked = store.calls();
    advance(LONGEST_FIRST_PAUSE).await;
    store.suffer(Trouble::Hangs);
    let begun = Instant::now();
    futures_util::future::join_all((0..100).map(|_| guarded.get("key"))).await;
    assert_eq!(begun.elapsed(), 50 * MS);
    assert_eq!(store.calls(), asked + 1);
}

#[tokio::test(start_paused = true)]
async fn a_try_that_is_given_up_does_not_shut_the_store_for_ever() {
    let (store, guarded) = guarded(Trouble::Fails);
    guarded.get("key").await;
    advance(LONGEST_FIRST_PAUSE).await;
    store.suffer(Trouble::Hangs);
    let given_up = tokio::time::timeout(MS, guarded.get("key")).await;
    assert!(given_up.is_err());
    store.suffer(Trouble::None);
    store.memory.insert("key", record("here"));
    assert!(guarded.get("key").await.is_some(), "the next call probes");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_may_take_longer() {
    let (store, guarded) = guarded(Trouble::Slow);
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
    let (store, guarded) = guarded(Trouble::FailsToWrite);
    store.memory.insert("key", record("here"));
    guarded.put("other", &record("")).await;
    guarded.put("other", &record("")).await;
    assert_eq!(guarded.get("key").await, Some(record("here")));
    assert_eq!(guarded.remove("key").await, Err(StoreError::BreakerOpen));
    assert_eq!(guarded.failures(), Failures { writes: 1, skipped: 2, ..Failures::default() });
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_is_one_that_fails() {
    let (store, guarded) = guarded(Trouble::Panics);
    assert_eq!(guarded.get("key").await, None);
    guarded.put("key", &record("")).await;
    assert!(guarded.clear().await.is_err());
    assert_eq!(guarded.usage().await, None);
    assert_eq!((guarded.failures().reads, guarded.failures().writes), (1, 1));
    assert_eq!(store.calls(), 3, "not asked for its usage while it is left alone");
}

#[tokio::test(start_paused = true)]
async fn it_is_counted_once_in_five_seconds_however_many_ask() {
    let (store, guarded) = guarded(Trouble::None);
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
    assert_eq!(entries().await, Some(0), "who has cleared wants to see it");
}

/// Who leaves or has no more patience does not end the count, so that the next does not begin another.
#[tokio::test(start_paused = true)]
async fn a_slow_count_is_waited_for_a_second_and_not_begun_twice() {
    let (store, guarded) = guarded(Trouble::Hangs);
    assert!(tokio::time::timeout(MS, guarded.usage()).await.is_err(), "it leaves");
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(guarded.usage().await, None);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }
    assert_eq!(store.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_record_is_removed_and_the_store_goes_on() {
    let (store, guarded) = guarded(Trouble::Corrupt);
    store.memory.insert("key", record("here"));
    assert_eq!(guarded.get("key").await, None);
    assert!(store.memory.peek("key").is_none());
    assert!(!guarded.is_failing());
    assert_eq!(guarded.failures(), Failures { corrupt: 1, ..Failures::default() });

    store.suffer(Trouble::CorruptAndHangsToWrite);
    let begun = Instant::now();
    assert_eq!(guarded.get("key").await, None);
    assert_eq!(begun.elapsed(), 50 * MS, "removing it takes no more time than there is");
}

#[tokio::test(start_paused = true)]
async fn trouble_is_told_once_a_minute_and_without_keys() {
    let told = Told::default();
    let lines = Arc::clone(&told.0);
    let _here = tracing::subscriber::set_default(told);
    let (_, guarded) = guarded(Trouble::Fails);
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
    assert_eq!(warnings("circuit breaker opened").len(), 2, "one of reads, one of writes");
    assert_eq!(warnings("").len(), 5, "nothing else");
    let lines = lines.lock().unwrap();
    assert!(!lines.concat().contains("of-a-user"), "{lines:?}");
}

/// What was logged, a line an event.
#[derive(Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Told {
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
