//! Large answers, in memory and in files.

use serde_json::{Value, json};

use super::*;

const DOCUMENT: fn() -> Value = || json!({ "title": "\"list\":[] a", "list": [], "total": 7 });

fn spool(memory: u64, disk: u64) -> Spool {
    Spool::new(memory, disk, std::env::temp_dir())
}

/// An answer with `count` elements of a kilobyte, in reverse order.
async fn built(spool: &Spool, count: usize) -> Result<Body> {
    let mut list = spool.list();
    for number in 0..count {
        let element = list.push(&(number, "x".repeat(1000)))?;
        assert_eq!(element, number);
    }
    list.finish(&DOCUMENT(), "list", &(0..count).rev().collect::<Vec<_>>()).await
}

async fn text(body: Body) -> String {
    String::from_utf8(body.into_bytes().await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn an_answer_is_the_same_in_memory_and_in_a_file() {
    for count in [0, 1, 2, 700, 3000] {
        let in_memory = built(&spool(u64::MAX, 0), count).await.unwrap();
        assert!(matches!(in_memory, Body::Memory(..)));
        let in_memory = text(in_memory).await;
        let expected: Vec<Value> =
            (0..count).rev().map(|number| json!([number, "x".repeat(1000)])).collect();
        let mut document = DOCUMENT();
        document["list"] = expected.into();
        assert_eq!(serde_json::from_str::<Value>(&in_memory).unwrap(), document);
        // From the first byte on, and in the middle.
        for memory in [0, 100_000] {
            let spooled = built(&spool(memory, u64::MAX), count).await.unwrap();
            assert_eq!(text(spooled).await, in_memory, "{count} elements, {memory} bytes");
        }
    }
}

#[test]
fn pieces_hold_what_was_written_and_count_their_capacity() {
    for size in [1, 700, 100_000, PIECE_BYTES, 3 * PIECE_BYTES + 1] {
        let budget = Budget::new(3_500_000);
        let mut pieces = Pieces::new(&budget);
        let mut written = vec![];
        let mut left = 0;
        for number in 0_u8..200 {
            let bytes = vec![number; size];
            left = pieces.write(&bytes).len();
            written.extend_from_slice(&bytes[..size - left]);
            if left > 0 {
                break;
            }
        }
        assert_eq!(pieces.length(), written.len() as u64, "{size}");
        // A write stops only if less than a piece is left in the budget.
        assert_eq!(left == 0, 200 * size < 3_000_000, "{size}");
        assert!(left == 0 || budget.max - budget.used() < PIECE_BYTES as u64, "{size}");
        for (at, length) in [(0, written.len()), (written.len() / 3, written.len() / 2)] {
            let mut copy = vec![];
            pieces.copy(at as u64, length, &mut copy);
            assert_eq!(copy, written[at..at + length], "{size}");
        }
        let used = budget.used();
        let pieces = pieces.into_pieces();
        let capacity: usize = pieces.iter().map(|(piece, _)| piece.capacity()).sum();
        assert_eq!(used, capacity as u64, "{size}");
        let bytes: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.clone()).collect();
        assert_eq!(bytes, written, "{size}");
        drop(pieces);
        assert_eq!(budget.used(), 0, "{size}");
    }
}

#[tokio::test]
async fn review_s4_all_answers_share_one_budget_and_return_it() {
    let spool = spool(20 << 20, 3 << 20);
    // Three megabytes are six while the answer is completed.
    let mut held = vec![];
    for _ in 0..3 {
        held.push(built(&spool, 3000).await.unwrap());
    }
    assert!(held.iter().all(|body| matches!(body, Body::Memory(..))));
    let in_memory: u64 = spool.usage().0;
    assert!((9_000_000..10_000_000).contains(&in_memory), "{in_memory}");
    let mut more = vec![];
    for _ in 0..6 {
        more.push(built(&spool, 2800).await);
    }
    let in_files = more.iter().filter(|body| matches!(body, Ok(Body::File(_)))).count();
    assert_eq!(in_files, 1, "the disk has its budget too");
    let refused: Vec<_> = more.iter().filter_map(|body| body.as_ref().err()).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|error| error.reason() == Reason::Overloaded));
    drop((held, more));
    assert_eq!(spool.usage(), (0, 0));
}

#[tokio::test]
async fn small_answers_leave_the_budget() {
    let spool = spool(4 << 20, 0);
    let mut small = vec![];
    for _ in 0..50 {
        small.push(built(&spool, 500).await.unwrap());
    }
    assert_eq!((small.len(), spool.usage()), (50, (0, 0)));
}

/// A runtime with one thread that may block, and work that occupies it until the sender is dropped.
fn on_one_thread<T>(work: impl AsyncFnOnce(std::sync::mpsc::Sender<()>) -> T) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.max_blocking_threads(1).enable_time().build().unwrap().block_on(async {
        let (release, released) = std::sync::mpsc::channel();
        tokio::task::spawn_blocking(move || _ = released.recv());
        work(release).await
    })
}

#[test]
fn answers_that_wait_for_their_builders_hold_no_thread() {
    on_one_thread(async |release| {
        drop(release);
        let spool = spool(0, u64::MAX);
        let mut lists = [spool.list(), spool.list()];
        for list in &mut lists {
            list.push(&"x".repeat(2 * PIECE_BYTES)).unwrap();
        }
        let other = tokio::task::spawn_blocking(|| ());
        let limit = Duration::from_secs(60);
        tokio::time::timeout(limit, other).await.expect("the thread is free").unwrap();
        for list in lists {
            list.finish(&DOCUMENT(), "list", &[0]).await.unwrap();
        }
    });
}

#[test]
fn a_builder_does_not_wait_for_pieces_that_count_for_the_budget() {
    on_one_thread(async |release| {
        let spool = spool(4 << 20, u64::MAX);
        let mut list = spool.list();
        while spool.usage().1 == 0 {
            list.push(&"x".repeat(1000)).unwrap();
        }
        // Sixteen pieces wait for the disk, and all count.
        let limit = Duration::from_secs(60);
        tokio::time::timeout(limit, list.has_room()).await.expect("it does not wait");
        drop(release);
        list.finish(&DOCUMENT(), "list", &[0]).await.unwrap();
    });
}

#[test]
fn memory_counts_until_it_is_written() {
    on_one_thread(async |release| {
        let spool = spool(1 << 20, u64::MAX);
        let mut list = spool.list();
        for number in 0..1500 {
            list.push(&(number, "x".repeat(1000))).unwrap();
        }
        let (memory, disk) = spool.usage();
        assert!(memory >= 500_000 && disk >= 1_500_000, "{memory} {disk}");
        drop(release);
        let body = list.finish(&DOCUMENT(), "list", &[0]).await.unwrap();
        assert!(matches!(body, Body::File(_)));
        assert_eq!(spool.usage().0, 0);
    });
}

#[tokio::test]
async fn a_missing_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later");
    let spool = Spool::new(0, u64::MAX, path.clone());
    assert_eq!(built(&spool, 1).await.unwrap_err().reason(), Reason::Overloaded);
    assert_eq!((spool.usage(), spool.is_failing()), ((0, 0), true));
    std::fs::create_dir(path).unwrap();
    assert!(built(&spool, 1).await.is_ok() && !spool.is_failing());
}

#[tokio::test]
async fn a_text_is_the_same_in_memory_and_in_a_file() {
    for count in [0, 1, 3000] {
        for memory in [0, 100_000, u64::MAX] {
            let mut list = spool(memory, u64::MAX).list();
            list.push_text(b"head\r\n").unwrap();
            (0..count).for_each(|_| list.push_text("x".repeat(1000).as_bytes()).unwrap());
            let expected = format!("head\r\n{}", "x".repeat(1000 * count));
            assert_eq!(text(list.finish_text().await.unwrap()).await, expected);
        }
    }
}
