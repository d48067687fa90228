//! The quota day: its end and its count.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::Bucket;

/// The count of one day, in the format of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Day {
    /// The Pacific date as ISO 8601, which sorts as text.
    pub(super) date: String,
    pub(super) default: Count,
    pub(super) search: Count,
}

/// The count of one bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) used: u32,
    /// YouTube reported the exhaustion, whatever the count says: other services can use the same
    /// project.
    #[serde(default)]
    pub(super) exhausted: bool,
}

impl Day {
    pub(super) fn at(now: Timestamp) -> Self {
        Self::new(los_angeles(now).date())
    }

    fn new(date: Date) -> Self {
        Self { date: date.to_string(), default: Count::default(), search: Count::default() }
    }

    pub(super) fn count(&mut self, bucket: Bucket) -> &mut Count {
        match bucket {
            Bucket::Default => &mut self.default,
            Bucket::Search => &mut self.search,
        }
    }

    /// Begins a new count if the day is over. A thread can arrive with a time read just before
    /// midnight, so a day that is one ahead stays. A day further ahead comes from a wrong clock.
    pub(super) fn begin_if_over(&mut self, now: Timestamp) {
        let today = los_angeles(now).date();
        let is_over = self.date < today.to_string();
        let is_absurd = today.tomorrow().is_ok_and(|tomorrow| self.date > tomorrow.to_string());
        if is_over || is_absurd {
            *self = Self::new(today);
        }
    }

    /// The part of this count that `stored` does not have.
    pub(super) fn beyond(&self, stored: &Self) -> Self {
        let beyond = |ours: Count, stored: Count| Count {
            used: ours.used.saturating_sub(stored.used),
            exhausted: ours.exhausted,
        };
        let (default, search) =
            (beyond(self.default, stored.default), beyond(self.search, stored.search));
        Self { date: self.date.clone(), default, search }
    }

    /// Adds another count of the same day.
    pub(super) fn add(&mut self, more: &Self) {
        if self.date == more.date {
            for (count, more) in
                [(&mut self.default, more.default), (&mut self.search, more.search)]
            {
                count.used = count.used.saturating_add(more.used);
                count.exhausted |= more.exhausted;
            }
        }
    }
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
