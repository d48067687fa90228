use super::testing::TestDatabase;
use super::*;

fn message(error: &Error) -> String {
    let text = format!("{error} {error:?}");
    assert!(!text.contains("wrong") && !text.contains("right"), "no password: {text}");
    error.message().to_owned()
}

#[tokio::test]
async fn a_database_that_cannot_be_used_says_why_and_never_the_password() {
    let Some(database) = TestDatabase::new() else { return };
    let url = database.url();
    let server = format!("127.0.0.1:{}", database.server.port());
    let closed = vidra_engines::free_port();
    let other = url.replace(&server, &format!("127.0.0.1:{closed}"));
    let table = [
        (
            url.replace(":right@", ":wrong@"),
            format!("PostgreSQL at {server} rejects the user vidra"),
        ),
        (
            url.replace("vidra:", "nobody:"),
            format!("PostgreSQL at {server} rejects the user nobody"),
        ),
        (
            url.replace(&database.name, "missing"),
            format!("PostgreSQL at {server} has no database missing"),
        ),
        (other, format!("PostgreSQL at 127.0.0.1:{closed} cannot be reached")),
        (format!("{url}?sslmode=require"), format!("PostgreSQL at {server} cannot be reached")),
    ];
    for (url, expected) in table {
        let error = Database::connect(&url).await.unwrap_err();
        assert_eq!(error.reason(), Reason::DatabaseUnavailable, "{error:?}");
        assert!(message(&error).starts_with(&expected), "{expected}: {}", message(&error));
    }
}

#[tokio::test]
async fn machines_that_start_together_migrate_once_and_refuse_newer_tables() {
    let Some(database) = TestDatabase::new() else { return };
    let url = database.url();
    let started = (0..4).map(|_| Database::connect(&url));
    for started in futures_util::future::join_all(started).await {
        started.unwrap();
    }
    assert_eq!(database.sql("SELECT count(*) FROM vidra.migrations"), "2");
    database.sql("INSERT INTO vidra.migrations (number) VALUES (99)");
    let error = Database::connect(&url).await.unwrap_err();
    let expected = "its tables belong to a newer release of vidra (version 99; this one knows 2)";
    assert!(message(&error).ends_with(expected), "{error}");
}

#[tokio::test]
async fn a_user_without_rights_is_named() {
    let Some(database) = TestDatabase::new() else { return };
    database.sql(&format!("ALTER DATABASE {} OWNER TO postgres", database.name));
    let error = Database::connect(&database.url()).await.unwrap_err();
    assert!(message(&error).starts_with("the user vidra may not create tables"), "{error}");
}

#[tokio::test]
async fn a_lost_connection_is_replaced_and_an_outage_ends_by_itself() {
    let Some(database) = TestDatabase::new() else { return };
    let proxy = vidra_engines::Proxy::start(([127, 0, 0, 1], database.server.port()).into());
    let url = database.url();
    let port = |port: u16| format!("127.0.0.1:{port}");
    let url = url.replace(&port(database.server.port()), &port(proxy.address().port()));
    let shared = Database::connect(&url).await.unwrap();
    let one = || {
        shared.transaction(|transaction| {
            Box::pin(async { Ok(transaction.query_one("SELECT 1", &[]).await?.get::<_, i32>(0)) })
        })
    };
    assert_eq!(one().await.unwrap(), 1);
    for traffic in [vidra_engines::Traffic::Cut, vidra_engines::Traffic::Hold] {
        proxy.set(traffic);
        let error = one().await.unwrap_err();
        assert_eq!(error.reason(), Reason::DatabaseUnavailable);
        assert!(error.retry_after().is_some() && shared.is_failing());
        let before = tokio::time::Instant::now();
        one().await.unwrap_err();
        assert!(before.elapsed() < TRANSACTION_TIMEOUT / 2, "the next one does not wait");
        proxy.set(vidra_engines::Traffic::Pass);
        let until = tokio::time::Instant::now() + Duration::from_secs(30);
        while one().await.is_err() {
            assert!(tokio::time::Instant::now() < until);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!shared.is_failing());
    }
}

#[tokio::test]
async fn a_full_pool_is_no_outage() {
    let Some(database) = TestDatabase::new() else { return };
    let shared = database.connect().await;
    let sessions = shared.sessions("public", &[], 1, 2_000).await.unwrap();
    let mut used = vec![sessions.connection().await.unwrap()];
    for _ in 0..CONNECTIONS {
        used.push(shared.0.pool.get().await.unwrap());
    }
    // The waits end at once.
    tokio::time::pause();
    let transaction = shared.transaction(|_| Box::pin(async { Ok(()) }));
    let session = sessions.connection();
    let failed = [transaction.await.unwrap_err(), session.await.unwrap_err()];
    tokio::time::resume();
    for error in failed {
        assert_eq!(error.reason(), Reason::DatabaseUnavailable, "{error:?}");
    }
    assert!(!shared.is_failing());
    drop(used);
    shared.transaction(|_| Box::pin(async { Ok(()) })).await.unwrap();
    drop(sessions.connection().await.unwrap());
}
