//! Lists that are read page by page: their pages, cursors and dates.

#[cfg(feature = "client")]
mod cursor;
mod entry;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::error::{Error, Reason, Result};
use crate::playlist::PlaylistVideo;

#[cfg(feature = "client")]
pub(crate) use cursor::{MAX_ENTRIES, Position, invalid_cursor};
pub use entry::{Availability, EntryPage, EntrySource, PlaylistEntry, SourceId};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The cursor of the next page. Absent on the last one.
    ///
    /// It is opaque, safe in a URL, and valid for the same list only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// YouTube's estimate of all results of a search, up to 1,000,000. It is often wrong. Absent on other lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_estimate: Option<u64>,
}

/// A video of a playlist with its position.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedVideo {
    /// The video.
    #[serde(flatten)]
    pub video: PlaylistVideo,
    /// The position in the whole playlist, counted from 1. Private and deleted videos have positions too, but are
    /// not listed.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, example = 1))]
    pub position: usize,
}

/// A range of publication times. Both ends are included, and both are optional.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DateRange {
    /// The earliest time: a date (UTC) or a time.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2020-01-31"))]
    pub since: Option<Timestamp>,
    /// The latest time: a date, to its end, or a time.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2030-01-31T18:30:00Z"))]
    pub until: Option<Timestamp>,
}

fn as_text<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(|at| at.to_string()).serialize(serializer)
}

impl DateRange {
    /// Parses the beginning of a range: a date (`2026-01-31`, from its first moment in UTC) or a time
    /// (`2026-01-31T18:30:00Z`).
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] for other text.
    ///
    /// ```
    /// use vidra::DateRange;
    /// assert_eq!(DateRange::parse_since("2026-01-31")?.to_string(), "2026-01-31T00:00:00Z");
    /// assert_eq!(DateRange::parse_until("2026-01-31")?.to_string(), "2026-01-31T23:59:59.999999999Z");
    /// assert!(DateRange::parse_since("last week").is_err());
    /// # Ok::<(), vidra::Error>(())
    /// ```
    pub fn parse_since(text: &str) -> Result<Timestamp> {
        parse(text, SignedDuration::ZERO)
    }

    /// Parses the end of a range: a date, to its last moment in UTC, or a time.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] for other text.
    pub fn parse_until(text: &str) -> Result<Timestamp> {
        parse(text, SignedDuration::from_hours(24) - SignedDuration::from_nanos(1))
    }

    /// A range with these ends.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if `since` is later than `until`.
    pub fn new(since: Option<Timestamp>, until: Option<Timestamp>) -> Result<Self> {
        if since.zip(until).is_some_and(|(since, until)| since > until) {
            let fault = "since: is later than until".to_owned();
            return Err(Error::invalid("The dates are not valid", vec![fault]));
        }
        Ok(Self { since, until })
    }

    /// Whether it has no ends.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a video that was published at this time is in the range. An unknown time is only in a range without
    /// ends.
    pub(crate) fn contains(&self, published: Option<Timestamp>) -> bool {
        let is_after = self.since.is_none_or(|since| published.is_some_and(|at| at >= since));
        is_after && self.until.is_none_or(|until| published.is_some_and(|at| at <= until))
    }
}

/// `offset` is added to the beginning of a day.
fn parse(text: &str, offset: SignedDuration) -> Result<Timestamp> {
    // 9999-12-31, which some programs write for "no end", begins after the latest timestamp.
    let whole_day = |date: Date| {
        let start = date.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |start| start.timestamp());
        start.checked_add(offset).unwrap_or(Timestamp::MAX)
    };
    let is_date = text.len() == "2026-01-31".len();
    let parsed = match is_date {
        true => text.parse().ok().map(whole_day),
        false => text.parse().ok(),
    };
    let what = "must be a date (2026-01-31) or a time (2026-01-31T18:30:00Z)";
    parsed.ok_or_else(|| Error::new(Reason::InvalidInput, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_whole_days() {
        let table = [
            ("2026-01-31", Some(("2026-01-31T00:00:00Z", "2026-01-31T23:59:59.999999999Z"))),
            ("2026-01-31T18:30:00Z", Some(("2026-01-31T18:30:00Z", "2026-01-31T18:30:00Z"))),
            ("2026-01-31T18:30:00+02:00", Some(("2026-01-31T16:30:00Z", "2026-01-31T16:30:00Z"))),
            ("9999-12-30", Some(("9999-12-30T00:00:00Z", "9999-12-30T22:00:00.999999999Z"))),
            (
                "9999-12-31",
                Some(("9999-12-30T22:00:00.999999999Z", "9999-12-30T22:00:00.999999999Z")),
            ),
            ("0001-01-01", Some(("0001-01-01T00:00:00Z", "0001-01-01T23:59:59.999999999Z"))),
            ("2026-02-30", None),
            ("2026-1-1", None),
            ("31.01.2026", None),
            ("2026-01-31T18:30:00", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, expected) in table {
            let read = (DateRange::parse_since(text), DateRange::parse_until(text));
            let read = match read {
                (Ok(since), Ok(until)) => Some((since.to_string(), until.to_string())),
                _ => None,
            };
            let expected = expected.map(|(since, until)| (since.to_owned(), until.to_owned()));
            assert_eq!(read, expected, "{text}");
        }
    }
}
