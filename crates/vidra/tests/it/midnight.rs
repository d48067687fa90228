//! The day of a quota ends at midnight in Los Angeles, by the wall clock. A test that counts units across it would
//! fail once a day.

use std::time::{Duration, SystemTime};

/// The last minute before 7:00 and 8:00 UTC, which are midnight in Los Angeles in summer and winter: no test takes
/// longer than that.
fn is_near(second_of_day: u64) -> bool {
    matches!(second_of_day / 60, 419 | 479)
}

/// Waits if the day is about to end. Blocks the thread, for a minute at most.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing could wake it, and it waits for at most a minute a day"
)]
pub(crate) fn wait_out() {
    let second_of_day = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        since.as_secs() % 86_400
    };
    while is_near(second_of_day()) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_minute_before_midnight_is_waited_out() {
    let at = |hour: u64, minute: u64, second: u64| (hour * 60 + minute) * 60 + second;
    for near in [at(6, 59, 0), at(6, 59, 59), at(7, 59, 0), at(7, 59, 59)] {
        assert!(is_near(near), "{near}");
    }
    for far in [at(6, 58, 59), at(7, 0, 0), at(7, 58, 59), at(8, 0, 0), at(0, 0, 0), at(8, 59, 30)]
    {
        assert!(!is_near(far), "{far}");
    }
}
