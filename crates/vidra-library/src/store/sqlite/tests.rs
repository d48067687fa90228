//! Transactions on a file.

use std::time::Duration;

use vidra::Reason;

use crate::store::Database;
use crate::store::sql::{Connection, params};

/// A statement that finds no room can roll back the whole transaction, with all savepoints.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_room_leaves_the_others_whole() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("library.db"), None).unwrap();
    let create = |it: &Connection| it.run_batch("CREATE TABLE t (n INTEGER, x BLOB)");
    database.write(create).await.unwrap();
    database.limit_bytes(Some(1)).await.unwrap();
    let insert = |n: i64, size: i64| {
        let work = move |it: &Connection| {
            it.execute("INSERT INTO t VALUES (?, zeroblob(?))", params![n, size]).map(drop)
        };
        database.write(work)
    };
    for round in 0..20 {
        let n = round * 10;
        let (one, large, other) =
            tokio::join!(insert(n, 1), insert(n + 1, 1 << 20), insert(n + 2, 1));
        assert_eq!(large.unwrap_err().reason(), Reason::LibraryUnavailable);
        for (number, result) in [(n, one), (n + 2, other)] {
            let query = "SELECT count(*) FROM t WHERE n = ?";
            let count: i64 = database
                .read(move |it| it.query_row(query, [number], |row| row.get(0)))
                .await
                .unwrap();
            assert_eq!(count, i64::from(result.is_ok()), "{number}: {result:?}");
        }
    }
    // Alone, so that no other write follows it.
    insert(999, 1 << 20).await.unwrap_err();
    assert!(database.health().is_failing);
    database.limit_bytes(None).await.unwrap();
    insert(1_000, 1 << 20).await.unwrap();
    assert!(!database.health().is_failing);
}

/// A caller that leaves does not free the connection that its read still uses.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_reads_keep_their_connections() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("library.db"), None).unwrap();
    let slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
        SELECT count(*) FROM n";
    for _ in 0..50 {
        let read = database.read(move |it| it.query_row(slow, (), |row| row.get::<_, i64>(0)));
        let _ = tokio::time::timeout(Duration::from_millis(1), read).await;
    }
    let read = database.read(|it| it.query_row("SELECT 1", (), |row| row.get::<_, i64>(0)));
    assert_eq!(read.await.unwrap(), 1);
}

/// A disk that hangs holds nobody for ever, and a write that was given up is made when the disk works again.
#[tokio::test]
async fn a_disk_that_hangs_ends_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("library.db"), None).unwrap();
    let create = |it: &Connection| it.run_batch("CREATE TABLE t (n INTEGER)");
    database.write(create).await.unwrap();
    let (release, hangs) = std::sync::mpsc::channel::<()>();
    let stuck = database.write(move |it| {
        let _ = hangs.recv();
        it.execute("INSERT INTO t VALUES (1)", ()).map(drop)
    });
    let other = database.write(|it| it.execute("INSERT INTO t VALUES (2)", ()).map(drop));
    // A clock that is paused jumps to the end of the wait.
    tokio::time::pause();
    let (stuck, other) = tokio::join!(stuck, other);
    for error in [stuck.unwrap_err(), other.unwrap_err()] {
        assert_eq!(error.reason(), Reason::LibraryUnavailable);
    }
    assert!(database.health().is_failing);
    drop(release);
    tokio::time::resume();
    let count =
        |it: &Connection| it.query_row("SELECT count(*) FROM t", (), |row| row.get::<_, i64>(0));
    assert_eq!(database.write(count).await.unwrap(), 2);
    assert!(!database.health().is_failing);
}

/// A search ends at its limit, and the connection works for the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_ends_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("library.db"), None).unwrap();
    let endless = |it: &Connection| {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        it.query_row(endless, (), |row| row.get::<_, i64>(0))
    };
    for _ in 0..20 {
        let error = database.search(Duration::from_millis(5), endless).await.unwrap_err();
        assert_eq!(error.reason(), Reason::SearchTimedOut);
    }
    let one = |it: &Connection| it.query_row("SELECT 1", (), |row| row.get::<_, i64>(0));
    let one = database.search(Duration::from_secs(60), move |it| one(it));
    assert_eq!(one.await.unwrap(), 1);
}
