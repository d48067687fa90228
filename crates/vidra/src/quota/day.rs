//! The quota day: its date and its end.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// A day of YouTube's quota, from midnight to midnight Pacific time.
///
/// ```
/// let day = vidra::QuotaDay::of("2026-11-18T07:59:00Z".parse().unwrap());
/// assert_eq!((&*day.date, &*day.end.to_string()), ("2026-11-17", "2026-11-18T08:00:00Z"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaDay {
    /// The Pacific date, as ISO 8601.
    pub date: String,
    /// The end of the day, which is the beginning of the next one.
    pub end: Timestamp,
}

impl QuotaDay {
    /// The day that a time belongs to.
    pub fn of(at: Timestamp) -> Self {
        Self { date: date(at), end: next_reset(at) }
    }
}

/// The Pacific date, as ISO 8601.
pub(super) fn date(now: Timestamp) -> String {
    los_angeles(now).date().to_string()
}

/// The Pacific date so many days before `now`, as ISO 8601.
pub(super) fn date_before(now: Timestamp, days: i64) -> String {
    let today = los_angeles(now).date();
    today.saturating_sub(Span::new().days(days)).to_string()
}

fn los_angeles(at: Timestamp) -> Zoned {
    static PACIFIC: TimeZone = jiff::tz::get!("America/Los_Angeles");
    at.to_zoned(PACIFIC.clone())
}

/// The next midnight Pacific time. Days there have 23, 24 or 25 hours.
pub(super) fn next_reset(now: Timestamp) -> Timestamp {
    los_angeles(now)
        .tomorrow()
        .and_then(|tomorrow| tomorrow.start_of_day())
        .map_or(Timestamp::MAX, |midnight| midnight.timestamp())
}

pub(super) fn until_reset(now: Timestamp) -> Duration {
    now.duration_until(next_reset(now)).unsigned_abs()
}
