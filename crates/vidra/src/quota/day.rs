//! The platform's day: when it ends, and what was spent in it.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::Bucket;

/// The count of one day, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Day {
    /// The date in Los Angeles, as ISO 8601, which compares as text.
    pub(super) date: String,
    pub(super) default: Count,
    pub(super) search: Count,
}

/// The count of one bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) used: u32,
    /// The platform said so, whatever we counted: others may use the same project.
    #[serde(default)]
    pub(super) exhausted: bool,
}

impl Day {
    pub(super) fn at(now: Timestamp) -> Self {
        Self::of(los_angeles(now).date())
    }

    fn of(date: Date) -> Self {
        Self { date: date.to_string(), default: Count::default(), search: Count::default() }
    }

    pub(super) fn count(&mut self, bucket: Bucket) -> &mut Count {
        match bucket {
            Bucket::Default => &mut self.default,
            Bucket::Search => &mut self.search,
        }
    }

    /// Begins today's count if this is an earlier day's. At midnight a thread may come with a clock
    /// that it read just before, so a day that is one ahead stays; one further ahead is the work of
    /// a clock that was wrong.
    pub(super) fn begin_if_over(&mut self, now: Timestamp) {
        let today = los_angeles(now).date();
        let is_over = self.date < today.to_string();
        let is_absurd = today.tomorrow().is_ok_and(|tomorrow| self.date > tomorrow.to_string());
        if is_over || is_absurd {
            *self = Self::of(today);
        }
    }

    /// What this day has beyond `kept`.
    pub(super) fn beyond(&self, kept: &Self) -> Self {
        let beyond = |ours: Count, kept: Count| Count {
            used: ours.used.saturating_sub(kept.used),
            exhausted: ours.exhausted,
        };
        let (default, search) =
            (beyond(self.default, kept.default), beyond(self.search, kept.search));
        Self { date: self.date.clone(), default, search }
    }

    /// Adds what another count of the same day has beyond this one.
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

/// The next midnight in Los Angeles; days there have 23, 24 or 25 hours.
pub(super) fn next_reset(now: Timestamp) -> Timestamp {
    los_angeles(now)
        .tomorrow()
        .and_then(|tomorrow| tomorrow.start_of_day())
        .map_or(Timestamp::MAX, |midnight| midnight.timestamp())
}

pub(super) fn until_reset(now: Timestamp) -> Duration {
    now.duration_until(next_reset(now)).unsigned_abs()
}
