//! The wall clock of the platform, and its days of quota.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::time::Duration;
use tokio::time::Instant;

/// A wall clock that runs with tokio's clock from a given time on. It reads no system time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The time at `since`.
    base: Timestamp,
    since: Instant,
}

impl Clock {
    pub(super) fn starting_at(base: Timestamp) -> Self {
        Self { base, since: Instant::now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.base.checked_add(self.since.elapsed()).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.base = self.base.checked_add(by).unwrap_or(Timestamp::MAX);
    }
}

/// Quota days begin at midnight in Los Angeles.
fn pacific() -> TimeZone {
    static PACIFIC: TimeZone = jiff::tz::get!("America/Los_Angeles");
    PACIFIC.clone()
}

/// The quota day of a time.
pub(crate) fn quota_day(at: Timestamp) -> Date {
    at.to_zoned(pacific()).date()
}

/// The start of the next quota day.
pub(crate) fn next_quota_day(at: Timestamp) -> Timestamp {
    let tomorrow = quota_day(at).checked_add(1.day());
    let midnight = tomorrow.and_then(|date| date.to_zoned(pacific()));
    midnight.map_or(Timestamp::MAX, |midnight| midnight.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn days_begin_at_midnight_in_los_angeles() {
        for (at, day, next) in [
            ("2026-06-01T06:59:59.999Z", "2026-05-31", "2026-06-01T07:00:00Z"),
            ("2026-06-01T07:00:00Z", "2026-06-01", "2026-06-02T07:00:00Z"),
            // A day of 25 hours, and one of 23.
            ("2026-11-01T07:00:00Z", "2026-11-01", "2026-11-02T08:00:00Z"),
            ("2026-11-02T07:59:59Z", "2026-11-01", "2026-11-02T08:00:00Z"),
            ("2027-03-14T08:00:00Z", "2027-03-14", "2027-03-15T07:00:00Z"),
            ("2027-03-15T07:00:00Z", "2027-03-15", "2027-03-16T07:00:00Z"),
        ] {
            assert_eq!(quota_day(time(at)).to_string(), day, "{at}");
            assert_eq!(next_quota_day(time(at)), time(next), "{at}");
        }
        assert_eq!(next_quota_day(Timestamp::MAX), Timestamp::MAX);
    }
}
