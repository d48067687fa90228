//! Quota days by the simulator's clock.

use crate::fetch::fetch;
use crate::keyless_client::{ANDROID, base_url, get, player, tracks};
use jiff::Timestamp;
use std::time::Duration;
use vidra_sim::{Simulator, Units};

const CALL: &str = "videos?part=id&id=quirkNoLike";
const HOUR: Duration = Duration::from_secs(3600);

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// Calls until the quota refuses a call. Returns the calls that were answered.
async fn spend(platform: &Simulator, call: &str) -> u64 {
    for n in 0..100 {
        if fetch(platform, call).await.status != 200 {
            return n;
        }
    }
    panic!("no limit");
}

#[tokio::test(start_paused = true)]
async fn quota_begins_again_at_midnight_in_los_angeles() {
    let platform = Simulator::builder().limits(3, 2).build();
    platform.set_time(time("2026-11-01T06:59:59Z"));
    assert_eq!(spend(&platform, CALL).await, 3);
    assert_eq!(spend(&platform, "search?part=snippet&q=x").await, 2);
    assert_eq!(platform.quota_day(), "2026-10-31");
    platform.advance(Duration::from_secs(1));
    assert_eq!(platform.quota_day(), "2026-11-01");
    assert_eq!(spend(&platform, CALL).await, 3);
    let record = platform.record();
    assert_eq!(record.units, Units { default: 6, search: 2 });
    let days: Vec<_> = record.units_by_day.into_iter().collect();
    assert_eq!(
        days,
        [
            ("2026-10-31".to_owned(), Units { default: 3, search: 2 }),
            ("2026-11-01".to_owned(), Units { default: 3, search: 0 }),
        ]
    );
    assert_eq!(record.refused_for_quota, 3);
}

#[tokio::test(start_paused = true)]
async fn days_with_a_clock_change_have_23_and_25_hours() {
    for (start, hours) in [
        ("2026-11-01T07:00:00Z", 25),
        ("2026-11-02T08:00:00Z", 24),
        ("2027-03-14T08:00:00Z", 23),
        ("2027-03-15T07:00:00Z", 24),
    ] {
        let platform = Simulator::builder().limits(1, 0).start_at(time(start)).build();
        assert_eq!(spend(&platform, CALL).await, 1, "{start}");
        platform.advance(HOUR * hours - Duration::from_millis(1));
        assert_eq!(spend(&platform, CALL).await, 0, "{start}");
        platform.advance(Duration::from_millis(1));
        assert_eq!(spend(&platform, CALL).await, 1, "{start}");
        assert_eq!(platform.record().units_by_day.len(), 2, "{start}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_runs_with_tokios_clock_from_a_fixed_start() {
    let platform = Simulator::builder().limits(1, 0).build();
    assert_eq!(platform.time(), time("2026-06-01T00:00:00Z"));
    assert_eq!(platform.next_quota_day(), time("2026-06-01T07:00:00Z"));
    assert_eq!(spend(&platform, CALL).await, 1);
    tokio::time::advance(HOUR * 7).await;
    assert_eq!(platform.time(), time("2026-06-01T07:00:00Z"));
    assert_eq!(spend(&platform, CALL).await, 1);
    platform.set_time(time("2030-01-01T00:00:00Z"));
    tokio::time::advance(HOUR).await;
    assert_eq!(platform.time(), time("2030-01-01T01:00:00Z"));
    // Backwards, too: the day that was spent is still spent.
    platform.set_time(time("2026-06-01T08:00:00Z"));
    assert_eq!(spend(&platform, CALL).await, 0);
}

#[tokio::test(start_paused = true)]
async fn recorded_requests_have_the_time_of_their_arrival() {
    let platform = Simulator::new();
    fetch(&platform, CALL).await;
    platform.advance(HOUR * 30);
    fetch(&platform, CALL).await;
    let record = platform.record();
    let times: Vec<_> = record.requests.iter().map(|request| request.time.to_string()).collect();
    assert_eq!(times, ["2026-06-01T00:00:00Z", "2026-06-02T06:00:00Z"]);
    let json = serde_json::to_value(&record).expect("JSON");
    assert_eq!(json["requests"][1]["time"], "2026-06-02T06:00:00Z");
    assert_eq!(json["unitsByDay"]["2026-06-01"]["default"], 1);
}

#[tokio::test(start_paused = true)]
async fn reset_restores_the_quota_of_the_day() {
    let platform = Simulator::builder().limits(1, 0).build();
    assert_eq!(spend(&platform, CALL).await, 1);
    platform.reset_record();
    assert!(platform.record().units_by_day.is_empty());
    assert_eq!(spend(&platform, CALL).await, 1);
}

#[tokio::test(start_paused = true)]
async fn caption_urls_expire_by_the_simulators_clock() {
    let platform = Simulator::builder().start_at(time("2026-11-17T14:52:31Z")).build();
    let url = base_url(&tracks(&player(&platform, "txManualAsr", ANDROID).await)[0]);
    let length = async || get(&platform, &url, "").await.map_or(0, |reply| reply.body.len());
    assert!(length().await > 0);
    platform.advance(HOUR * 6);
    assert!(length().await > 0);
    platform.advance(HOUR);
    assert_eq!(length().await, 0);
}

#[tokio::test(start_paused = true)]
async fn system_time_is_only_the_start() {
    let platform = Simulator::builder().system_time().build();
    let start = platform.time();
    assert!(start > time("2026-01-01T00:00:00Z"));
    assert_eq!(platform.time(), start, "a paused clock stands still");
}
