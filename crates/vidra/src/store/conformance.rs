//! A conformance test for implementations of [`Store`].

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{join, join_all};

use super::{BoxFuture, Leases, Record, Store};

/// Keys that have broken stores.
const ODD_KEYS: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "/",
    "../../../../etc/passwd",
    "/etc/passwd",
    "C:\\windows\\system32",
    "CON",
    "nul\0in/it",
    "line\r\nbreak",
    "*",
    "vidra:1:*",
    "[a-z]?",
    "%2e%2e%2f",
    "video/dQw4w9WgXcQ",
    "video/DQW4W9WGXCQ",
    "video/dQw4w9WgXcQ/",
    "é",
    "e\u{301}",
    "漢字\u{202e}",
    "-rf",
    "new-0123456789abcdef",
];

/// Tests whether `store` follows the rules of [`Store`]. The store must be empty and have room for
/// 4 MB. The test can leave records behind.
///
/// # Panics
///
/// Panics if the store violates a rule.
pub async fn check(store: &dyn Store) {
    an_empty_store_has_no_records(store).await;
    a_stored_record_is_returned(store).await;
    keys_are_independent(store).await;
    many_keys_at_once(store).await;
    concurrent_writes_keep_records_whole(store).await;
    usage_and_clearing(store).await;
    an_empty_store_has_no_records(store).await;
    a_call_can_be_cancelled(store).await;
}

/// Tests whether `leases` follows the rules of [`Leases`]. `pause` lets some time pass.
///
/// # Panics
///
/// Panics if it violates a rule.
#[doc(hidden)] // Only for the tests of this crate.
pub async fn check_leases(leases: &dyn Leases, pause: impl Fn() -> BoxFuture<'static, ()>) {
    let (long, short) = (Duration::from_secs(60), Duration::from_millis(20));
    for key in ODD_KEYS {
        let first = leases.take(key, long).await.unwrap().expect("it is free");
        assert_eq!(leases.take(key, long).await, Ok(None), "{key:?} is taken");
        assert_eq!(leases.renew(key, first, long).await, Ok(true), "{key:?}");
        leases.release(key, first).await.unwrap();
        assert_eq!(leases.renew(key, first, long).await, Ok(false), "{key:?} was released");
        let second = leases.take(key, long).await.unwrap().expect("it is free again");
        assert!(second > first, "{key:?}: {first:?}, then {second:?}");
        // The first holder has no power over the second lease.
        leases.release(key, first).await.unwrap();
        assert_eq!(leases.renew(key, first, long).await, Ok(false), "{key:?}");
        assert_eq!(leases.take(key, long).await, Ok(None), "{key:?}");
        // A lease expires, and a renewal can also shorten it.
        assert_eq!(leases.renew(key, second, short).await, Ok(true), "{key:?}");
        let mut attempts = 0;
        let third = loop {
            attempts += 1;
            assert!(attempts < 2_000, "{key:?} does not expire");
            pause().await;
            if let Some(third) = leases.take(key, short).await.unwrap() {
                break third;
            }
        };
        assert!(third > second, "{key:?}: {second:?}, then {third:?}");
        leases.release(key, third).await.unwrap();
    }
    let keys = ["a", "b\n\"c"].map(str::to_owned);
    let listening = leases.listen(&keys);
    // The subscription may begin later. Until then announcements are lost.
    let heard = listening.heard();
    let mut heard = std::pin::pin!(heard);
    let mut attempts = 0;
    while (&mut heard).now_or_never().is_none() {
        attempts += 1;
        assert!(attempts < 2_000, "no announcement is heard");
        leases.announce(&keys[1..]).await.unwrap();
        pause().await;
    }
}

fn record(body: impl Into<Bytes>) -> Record {
    let stored_at = 1_795_000_000_000;
    let keep_until = stored_at + 86_400_000;
    Record {
        stored_at,
        keep_until,
        is_refusal: false,
        is_cheap: false,
        schema: 1,
        body: body.into(),
    }
}

async fn put(store: &dyn Store, key: &str, record: &Record) {
    store.put(key, record).await.expect("a record can be put");
}

async fn get(store: &dyn Store, key: &str) -> Option<Record> {
    store.get(key).await.expect("`get` failed")
}

async fn an_empty_store_has_no_records(store: &dyn Store) {
    assert_eq!(get(store, "absent").await, None);
    let absent = ["absent".to_owned(), "gone".to_owned()];
    assert_eq!(store.get_many(&absent).await, Ok(vec![None, None]));
    assert_eq!(store.get_many(&[]).await, Ok(vec![]));
    assert_eq!(store.remove("absent").await, Ok(()), "removing nothing is no error");
    assert_eq!(store.usage().await.expect("usage").entries, 0);
}

async fn a_stored_record_is_returned(store: &dyn Store) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    let records = [
        record("{}"),
        record(""),
        record(every_byte),
        record(large),
        Record { is_refusal: true, ..record("private") },
        Record { is_cheap: true, schema: u16::MAX, ..record("cheap") },
        Record { stored_at: 0, keep_until: u64::MAX, ..record("for ever") },
        Record {
            stored_at: u64::MAX - 86_400_000,
            keep_until: u64::MAX,
            ..record("the last moment")
        },
    ];
    for record in records {
        put(store, "key", &record).await;
        assert_eq!(get(store, "key").await, Some(record), "what was last put is given");
    }
    store.remove("key").await.expect("a record can be removed");
    assert_eq!(get(store, "key").await, None, "what was removed is gone");
}

async fn keys_are_independent(store: &dyn Store) {
    let long = "x".repeat(100_000);
    let longer = format!("{long}x");
    let keys: Vec<&str> = ODD_KEYS.iter().copied().chain([&long[..], &longer[..]]).collect();
    for (index, key) in keys.iter().enumerate() {
        put(store, key, &record(format!("{index}"))).await;
    }
    for (index, key) in keys.iter().enumerate() {
        let index = format!("{index}");
        assert_eq!(get(store, key).await, Some(record(index)), "the record of key {key:.40?}");
    }
    for (index, key) in keys.iter().enumerate() {
        store.remove(key).await.expect("a record can be removed");
        assert_eq!(get(store, key).await, None, "what was removed is gone: key {key:.40?}");
        if let Some(next) = keys.get(index + 1) {
            assert!(get(store, next).await.is_some(), "only what was removed is gone: {next:.40?}");
        }
    }
}

async fn many_keys_at_once(store: &dyn Store) {
    for index in [3, 1, 2] {
        put(store, &format!("many/{index}"), &record(format!("{index}"))).await;
    }
    let wanted = [2, 9, 1, 2, 3].map(|index| format!("many/{index}"));
    let found = store.get_many(&wanted).await.expect("`get_many` failed");
    let expected = [Some("2"), None, Some("1"), Some("2"), Some("3")];
    assert_eq!(found, expected.map(|body| body.map(record)), "in the order of the keys");
    for index in 1..=3 {
        store.remove(&format!("many/{index}")).await.expect("a record can be removed");
    }
}

async fn concurrent_writes_keep_records_whole(store: &dyn Store) {
    let bodies: Vec<Record> = (0..40_u8).map(|n| record(vec![n; 2000 + usize::from(n)])).collect();
    let writes = bodies.iter().map(|record| put(store, "contended", record));
    let reads = bodies.iter().map(|_| get(store, "contended"));
    let (_, read) = join(join_all(writes), join_all(reads)).await;
    for found in read.into_iter().flatten() {
        assert!(bodies.contains(&found), "a record is never put together from two");
    }
    let last = get(store, "contended").await.expect("one of them is there");
    assert!(bodies.contains(&last), "a record is never put together from two");
    store.remove("contended").await.expect("a record can be removed");
}

async fn a_call_can_be_cancelled(store: &dyn Store) {
    let half = record(vec![7; 100_000]);
    for polls in 0..4 {
        let mut call = store.put("given up", &half);
        let _ = (0..polls).find_map(|_| (&mut call).now_or_never());
        drop(call);
        let found = get(store, "given up").await;
        assert!(found.is_none() || found.as_ref() == Some(&half), "whole or not there");
    }
    put(store, "given up", &half).await;
    assert_eq!(get(store, "given up").await, Some(half), "the store works as before");
}

async fn usage_and_clearing(store: &dyn Store) {
    store.clear().await.expect("a store can be cleared");
    for index in 0..100 {
        put(store, &format!("used/{index}"), &record(vec![b'x'; 1000])).await;
        put(store, &format!("used/{index}"), &record(vec![b'y'; 500])).await;
    }
    let usage = store.usage().await.expect("usage");
    assert_eq!(usage.entries, 100, "a replaced record is not counted");
    assert!(usage.bytes >= 100 * 500, "bodies are counted: {}", usage.bytes);
    assert!(usage.bytes <= 100 * 10_000, "replaced bodies are not counted: {}", usage.bytes);
    store.remove("used/7").await.expect("a record can be removed");
    assert_eq!(store.usage().await.expect("usage").entries, 99);
    store.clear().await.expect("a store can be cleared");
    assert_eq!(get(store, "used/8").await, None, "what was cleared is gone");
}
