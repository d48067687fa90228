//! Tests of rate limits.

use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn rates_parse_and_display() {
    for text in ["100/s", "600/m", "10000/h", "1/s", "1000000/s"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for text in
        ["", "off", "5", "/s", "0/s", "-1/s", "+1/s", "1.5/s", "1/d", "1/S", "1 /s", "1000001/s"]
    {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

#[test]
fn a_burst_is_allowed_and_then_the_rate() {
    let rate: Rate = "3/m".parse().unwrap();
    let meter = Meter::default();
    // Time of the request in seconds, remaining, reset, wait.
    let table = [
        (1000, 2, 20, None),
        (1000, 1, 40, None),
        (1000, 0, 60, None),
        (1000, 0, 60, Some(20)),
        (1019, 0, 41, Some(1)),
        (1020, 0, 60, None),
        (1021, 0, 59, Some(19)),
        (1060, 1, 40, None),
        (9000, 2, 20, None),
    ];
    for (at, remaining, reset, wait) in table {
        let status = meter.step(Step::Count, rate, Sharing::None, at * SECOND);
        assert_eq!(status, RateStatus { limit: 3, remaining, reset, wait }, "at {at}");
    }
}

#[test]
fn a_clock_going_back_or_a_changed_limit_does_not_lock_out_a_caller() {
    let (meter, strict, lax) = (Meter::default(), "1/h".parse().unwrap(), "1/s".parse().unwrap());
    let count = |rate, at| meter.step(Step::Count, rate, Sharing::None, at * SECOND).wait;
    assert_eq!(count(strict, 10), None);
    assert_eq!(count(lax, 10), Some(1));
    assert_eq!(count(lax, 11), None);
    assert_eq!(count(lax, 2), Some(1));
    assert_eq!(count(lax, 3), None);
}

#[test]
fn concurrent_threads_stay_within_the_limit() {
    let (meter, rate) = (Meter::default(), "1000/h".parse().unwrap());
    let is_allowed = |_: &i32| meter.step(Step::Count, rate, Sharing::None, SECOND).wait.is_none();
    let allowed = || (0..1000).filter(is_allowed).count();
    let all: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(allowed)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(all, 1000);
}

#[test]
fn a_given_back_permit_is_available_again() {
    let (meter, rate): (_, Rate) = (Meter::default(), "2/m".parse().unwrap());
    let step = |step, at| {
        let RateStatus { remaining, wait, .. } = meter.step(step, rate, Sharing::None, at * SECOND);
        (remaining, wait)
    };
    assert_eq!(step(Step::Count, 1000), (1, None));
    assert_eq!(step(Step::Count, 1000), (0, None));
    assert_eq!(step(Step::Look, 1000), (0, None));
    assert_eq!(step(Step::Count, 1000), (0, Some(30)));
    assert_eq!(step(Step::GiveBack, 1000), (1, None));
    assert_eq!(step(Step::Count, 1000), (0, None));
    // Nobody gets more than the burst.
    for _ in 0..3 {
        step(Step::GiveBack, 9000);
    }
    assert_eq!(step(Step::Look, 9000), (2, None));
}

#[tokio::test(start_paused = true)]
async fn free_requests_count_beyond_ten_times_the_rate() {
    let (meters, rate) = (Meters::new("alice".to_owned()), "2/m".parse().unwrap());
    let caller = CallerRate { meters, rate, opened: Instant::now(), shared: None };
    for _ in 0..10 {
        assert_eq!(caller.count_free().remaining, 2);
        caller.count();
        assert_eq!(caller.give_back().remaining, 2);
    }
    assert_eq!(caller.count_free().remaining, 1);
    assert_eq!(caller.count_free().remaining, 0);
    assert_eq!(caller.count_free().wait, Some(30));
    assert_eq!(caller.give_back().remaining, 0);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(caller.count_free().remaining, 2);
}

#[test]
fn address_meters_are_independent_and_bounded() {
    let (addresses, rate) = (AddressMeters::new(), "1/h".parse().unwrap());
    let count = |text: &str| {
        let meters = addresses.get(text.parse().unwrap());
        meters.work.step(Step::Count, rate, Sharing::None, SECOND).wait
    };
    assert_eq!(count("192.0.2.1"), None);
    assert_eq!(count("192.0.2.2"), None);
    assert!(count("192.0.2.1").is_some());
    for number in 0..2 * MAX_ADDRESSES as u32 {
        addresses.get(IpAddr::V4(number.into()));
    }
    assert!(addresses.0.len() <= MAX_ADDRESSES);
}
