use super::*;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn takes_that_wait_for_another_machine_leave_connections_for_the_quota() {
    use futures_util::future::join_all;
    use tokio::sync::Notify;

    use crate::database::testing::TestDatabase;
    use crate::quota::{Bucket, PostgresPool, QuotaPool, WantedGrant};
    use crate::web::egress::postgres::PostgresEgress;

    let Some(database) = TestDatabase::new() else { return };
    let wanted = WantedPermit {
        address: "direct".to_owned(),
        is_translation: false,
        interval: HOUR,
        capacity: 100 * HOUR,
    };
    let (one, other) = (database.connect().await, database.connect().await);
    let egress = Arc::new(SharedEgress::new(Arc::new(PostgresEgress::new(one.clone()))));
    egress.take(wanted.clone()).await.unwrap();
    let (locked, unlock) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let signals = (Arc::clone(&locked), Arc::clone(&unlock));
    let lock = other.transaction(move |transaction| {
        Box::pin(async move {
            transaction.query("SELECT FROM vidra.egress_paces FOR UPDATE", &[]).await?;
            signals.0.notify_one();
            signals.1.notified().await;
            Ok(())
        })
    });
    let work = async {
        locked.notified().await;
        let take = |_| {
            let (egress, wanted) = (Arc::clone(&egress), wanted.clone());
            tokio::spawn(async move { egress.take(wanted).await })
        };
        let takes: Vec<_> = (0..20).map(take).collect();
        let waiting = || {
            other.transaction(|transaction| {
                Box::pin(async {
                    let sql = "SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'";
                    Ok(transaction.query_one(sql, &[]).await?.get::<_, i64>(0))
                })
            })
        };
        while waiting().await.unwrap() < i64::try_from(CALLS).unwrap() {}
        let (key, date) = (String::new(), "2026-11-16".to_owned());
        let grant = WantedGrant { id: 1, key, date, bucket: Bucket::Default, units: 1, limit: 100 };
        let granted = PostgresPool(one.clone()).take(&grant).await;
        unlock.notify_one();
        join_all(takes).await;
        granted
    };
    let (granted, _) = tokio::join!(work, lock);
    granted.unwrap();
    assert!(!one.is_failing());
}
