//! Lists that are read page by page: their pages, cursors and dates.

use std::fmt;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::error::{Error, Reason, Result};
use crate::playlist::PlaylistVideo;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DateRange {
    /// The earliest time.
    pub since: Option<Timestamp>,
    /// The latest time.
    pub until: Option<Timestamp>,
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

    /// Whether a video that was published at this time is in the range. An unknown time is only in a range without
    /// ends.
    #[cfg(feature = "client")]
    pub(crate) fn contains(&self, published: Option<Timestamp>) -> bool {
        let is_after = self.since.is_none_or(|since| published.is_some_and(|at| at >= since));
        is_after && self.until.is_none_or(|until| published.is_some_and(|at| at <= until))
    }
}

/// `offset` is added to the beginning of a day.
fn parse(text: &str, offset: SignedDuration) -> Result<Timestamp> {
    let whole_day =
        |date: Date| date.to_zoned(TimeZone::UTC).ok()?.timestamp().checked_add(offset).ok();
    let is_date = text.len() == "2026-01-31".len();
    let parsed = match is_date {
        true => text.parse().ok().and_then(whole_day),
        false => text.parse().ok(),
    };
    let what = "must be a date (2026-01-31) or a time (2026-01-31T18:30:00Z)";
    parsed.ok_or_else(|| Error::new(Reason::InvalidInput, what))
}

/// A position in a list of upstream pages, which a cursor encodes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg(feature = "client")]
pub(crate) struct Position {
    /// The token of the upstream page. Empty for the first one.
    pub(crate) token: String,
    /// The number of entries before that page.
    pub(crate) start: usize,
    /// The number of items of that page that were already returned.
    pub(crate) skip: usize,
}

/// The maximum number of entries of a list. YouTube shows at most 20,000.
#[cfg(feature = "client")]
pub(crate) const MAX_ENTRIES: usize = 50_000;

/// The maximum number of entries on an upstream page. A page has 50 of them.
#[cfg(feature = "client")]
const MAX_PAGE_ENTRIES: usize = 1_000;

/// The longest cursor. Tokens of YouTube have up to a few hundred characters.
#[cfg(feature = "client")]
const MAX_CURSOR_LENGTH: usize = 2_000;

#[cfg(feature = "client")]
impl Position {
    pub(crate) const FIRST: Self = Self { token: String::new(), start: 0, skip: 0 };

    /// The cursor of this position in the list that `question` names. It carries a checksum of both, so that a
    /// damaged cursor and one of another list are noticed.
    pub(crate) fn encode(&self, question: &str) -> String {
        let position = self.to_string();
        format!("{:08x}.{position}", checksum(question, &position))
    }

    /// Reads a cursor.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`] if the cursor is damaged or belongs to another list.
    pub(crate) fn decode(cursor: &str, question: &str) -> Result<Self> {
        Self::read(cursor, question).ok_or_else(invalid_cursor)
    }

    fn read(cursor: &str, question: &str) -> Option<Self> {
        if cursor.len() > MAX_CURSOR_LENGTH {
            return None;
        }
        let (sum, position) = cursor.split_once('.')?;
        let mut parts = position.splitn(3, '.');
        let number = |text: &str| text.parse().ok();
        let (start, skip) = (parts.next().and_then(number)?, parts.next().and_then(number)?);
        let token = percent_encoding::percent_decode_str(&parts.next()?.replace('~', "%"))
            .decode_utf8()
            .ok()?
            .into_owned();
        if start > MAX_ENTRIES || skip > MAX_PAGE_ENTRIES {
            return None;
        }
        let read = Self { token, start, skip };
        // Only the one spelling that `encode` writes is accepted.
        let is_ours =
            sum == format!("{:08x}", checksum(question, position)) && read.to_string() == position;
        is_ours.then_some(read)
    }
}

#[cfg(feature = "client")]
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PLAIN: percent_encoding::AsciiSet =
            percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_');
        let token = percent_encoding::utf8_percent_encode(&self.token, &PLAIN).to_string();
        write!(f, "{}.{}.{}", self.start, self.skip, token.replace('%', "~"))
    }
}

#[cfg(feature = "client")]
fn checksum(question: &str, position: &str) -> u32 {
    crc32fast::hash(format!("{question}\n{position}").as_bytes())
}

/// The error of a cursor that cannot be used.
#[cfg(feature = "client")]
pub(crate) fn invalid_cursor() -> Error {
    let message = "The cursor is not valid";
    Error::new(Reason::InvalidCursor, message)
        .with_detail("cursor: is damaged, has expired, or belongs to another list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "client")]
    fn a_cursor_is_read_back_for_its_own_list_only() {
        for token in ["", "EAAaBlBUOkNESQ", "Q2dnPQ==", "a.b~c%2F/é +&#"] {
            let position = Position { token: token.to_owned(), start: 19_950, skip: 7 };
            let cursor = position.encode("playlist/PLa");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
            assert!(cursor.chars().all(is_plain), "{cursor}");
            assert_eq!(Position::decode(&cursor, "playlist/PLa").unwrap(), position);
            assert_eq!(
                Position::decode(&cursor, "playlist/PLb").unwrap_err().reason(),
                Reason::InvalidCursor
            );
        }
    }

    #[test]
    #[cfg(feature = "client")]
    fn a_damaged_cursor_is_refused() {
        let cursor =
            Position { token: "EAAaBlBUOkNESQ".to_owned(), start: 50, skip: 3 }.encode("q");
        for index in 0..cursor.len() {
            let mut damaged = cursor.clone().into_bytes();
            damaged[index] = if damaged[index] == b'x' { b'y' } else { b'x' };
            let damaged = String::from_utf8(damaged).unwrap();
            assert!(Position::decode(&damaged, "q").is_err(), "{damaged}");
        }
        // A checksum is no secret: whoever computes it gets no further than the bounds.
        for (start, skip) in [(usize::MAX, 0), (50_001, 0), (0, 1_001)] {
            let forged = Position { token: String::new(), start, skip }.encode("q");
            assert!(Position::decode(&forged, "q").is_err(), "{forged}");
        }
        let long = "a".repeat(5_000);
        for text in
            ["", ".", "..", "1.2.3.4", "é", &cursor[1..], &cursor[..cursor.len() - 1], &long]
        {
            assert!(Position::decode(text, "q").is_err(), "{text}");
        }
    }

    #[test]
    fn dates_are_whole_days() {
        let table = [
            ("2026-01-31", Some(("2026-01-31T00:00:00Z", "2026-01-31T23:59:59.999999999Z"))),
            ("2026-01-31T18:30:00Z", Some(("2026-01-31T18:30:00Z", "2026-01-31T18:30:00Z"))),
            ("2026-01-31T18:30:00+02:00", Some(("2026-01-31T16:30:00Z", "2026-01-31T16:30:00Z"))),
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
