//! Transactions on a server.

use std::time::Duration;

use vidra::Reason;

use crate::store::Database;
use crate::store::index::tsvector;
use crate::store::sql::Connection;

/// A library on a server. `None` if PostgreSQL is not installed.
async fn database() -> Option<Database> {
    let server = vidra_engines::shared_postgres()?;
    let shared = vidra::Database::connect(&server.url(&server.database())).await.unwrap();
    Some(Database::in_postgres(&shared, None).await.unwrap())
}

/// A search that is late ends its transaction, so that its connection works for the next one.
#[tokio::test(flavor = "multi_thread")]
async fn late_searches_leave_no_open_transaction() {
    let Some(database) = database().await else { return };
    let slow = |it: &Connection| {
        it.query_row("SELECT 1 FROM pg_sleep(0.2)", (), |_| Ok(()))?;
        it.query_row("SELECT 1 FROM pg_sleep(10)", (), |_| Ok(()))
    };
    for limit in [300, 600, 300, 600] {
        let error = database.search(Duration::from_millis(limit), slow).await.unwrap_err();
        assert_eq!(error.reason(), Reason::SearchTimedOut);
    }
    let open = "SELECT count(*) FROM pg_stat_activity
        WHERE state LIKE 'idle in transaction%' AND datname = current_database()";
    let count = |it: &Connection| it.query_row(open, (), |row| row.get::<_, i64>(0));
    let quiet = async {
        while database.read(count).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), quiet).await.unwrap();
    let one = |it: &Connection| it.query_row("SELECT 1", (), |row| row.get::<_, i64>(0));
    for _ in 0..8 {
        assert_eq!(database.search(Duration::from_secs(10), one).await.unwrap(), 1);
        assert_eq!(database.write(one).await.unwrap(), 1);
    }
}

/// An error that the work ignores undoes the transaction, and is reported.
#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_error_is_reported() {
    let Some(database) = database().await else { return };
    let work = |it: &Connection| {
        it.execute("INSERT INTO counters (name, value) VALUES ('x', 1)", ())?;
        let _ = it.execute("INSERT INTO counters (name, value) VALUES ('x', 1)", ());
        Ok(())
    };
    assert_eq!(database.write(work).await.unwrap_err().reason(), Reason::Internal);
    let count = "SELECT count(*) FROM counters WHERE name = 'x'";
    let count = |it: &Connection| it.query_row(count, (), |row| row.get::<_, i64>(0));
    assert_eq!(database.read(count).await.unwrap(), 0);
}

/// A library at its size limit stores nothing, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_library_stores_nothing() {
    let Some(database) = database().await else { return };
    database.limit_bytes(Some(1)).await.unwrap();
    let error = database.write_shared(|_| Ok(())).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LibraryUnavailable);
    assert!(database.health().is_failing && database.write(|_| Ok(())).await.is_ok());
    database.limit_bytes(None).await.unwrap();
    database.write_shared(|_| Ok(())).await.unwrap();
}

/// A transcript with very many different words is stored, and filters find it.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_never_too_long() {
    let Some(database) = database().await else { return };
    let words: Vec<String> = (0..120_000).map(|number| format!("word{number}x")).collect();
    let tokens = format!("first {}", words.join(" "));
    let add = move |it: &Connection| {
        tsvector::add(it, "search_words_1", &[(1, &tokens)])?;
        let found = "SELECT count(*) FROM search_words_1 WHERE tokens @@ CAST(? AS tsquery)";
        it.query_row(found, ["'first' & 'word9x'"], |row| row.get::<_, i64>(0))
    };
    assert_eq!(database.write(add).await.unwrap(), 1);
}
