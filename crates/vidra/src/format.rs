//! Text for people, such as `1.8B`, `3:34`, `2d 5h`, `October 25, 2009` and `3 weeks ago`, and
//! YouTube's two time formats. No function reads a clock: the current time is always an argument.

use std::borrow::Cow;

use jiff::fmt::temporal::SpanParser;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, SpanRelativeTo, Timestamp, Unit};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Formats a number like JavaScript's `Intl.NumberFormat("en-US", {notation: "compact"})`.
///
/// ```
/// use vidra::format::compact;
/// assert_eq!(compact(999), "999");
/// assert_eq!(compact(1_763_613_349), "1.8B");
/// assert_eq!(compact(999_500), "1M");
/// ```
pub fn compact(number: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")];
    if number < 1_000 {
        return number.to_string();
    }
    // Starts with the largest unit, including numbers that round up to it.
    for (index, (unit, suffix)) in UNITS.iter().enumerate() {
        let rounds_up_to_unit = *unit - unit / 2_000;
        let from = if index + 1 == UNITS.len() { *unit } else { rounds_up_to_unit };
        if number < from {
            continue;
        }
        // Two significant digits below ten, whole units above. Halves round up.
        let tenths = (number.saturating_add(unit / 20)) / (unit / 10);
        return match (tenths / 10, tenths % 10) {
            (whole @ 0..10, 1..) => format!("{whole}.{}{suffix}", tenths % 10),
            (whole @ 0..10, 0) => format!("{whole}{suffix}"),
            _ => format!("{}{suffix}", grouped(number.saturating_add(unit / 2) / unit)),
        };
    }
    unreachable!("every number from 1,000 on has a unit")
}

/// Beyond the largest unit, numbers of five or more digits get separators: `9999`, `10,000`. No
/// `u64` needs more than two separators there.
fn grouped(number: u64) -> String {
    match number {
        ..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{},{:03}", number / 1_000, number % 1_000),
        _ => format!("{},{:03},{:03}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000),
    }
}

/// Makes free text harmless in a cell of CSV. Spreadsheets take a text that begins like a formula for one, so it gets
/// an apostrophe in front.
///
/// ```
/// use vidra::format::csv_text;
/// assert_eq!(csv_text("=HYPERLINK(1)"), "'=HYPERLINK(1)");
/// assert_eq!(csv_text("1 = 1"), "1 = 1");
/// ```
pub fn csv_text(text: &str) -> Cow<'_, str> {
    // The last four are the full-width forms, which spreadsheets read alike.
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Formats seconds as a clock.
///
/// ```
/// use vidra::format::{clock, parse_duration, span};
/// assert_eq!([7, 214, 4_086].map(clock), ["0:07", "3:34", "1:08:06"]);
/// assert_eq!(clock(parse_duration("P1DT2H3M4S")), "26:03:04");
/// assert_eq!(span(192_730), "2d 5h 32m 10s");
/// ```
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Formats seconds as `2d 5h 32m 10s`, without zero parts. Zero is `0s`.
pub fn span(seconds: u64) -> String {
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let words: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if words.is_empty() { "0s".to_owned() } else { words.join(" ") }
}

/// Formats the date in UTC: `October 25, 2009`.
pub fn long_date(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%B %-d, %Y").to_string()
}

/// Formats as ISO 8601 in UTC with milliseconds: `2009-10-25T06:57:33.000Z`.
pub fn iso_millis(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Formats the age in YouTube's wording. A time in the future is `just now`.
///
/// ```
/// use vidra::format::{Moment, age};
/// let at = |text| Moment::parse(Some(text)).timestamp().unwrap();
/// assert_eq!(age(at("2009-10-25T06:57:33Z"), at("2009-11-15T07:00:00Z")), "3 weeks ago");
/// ```
pub fn age(at: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.duration_since(at).as_secs();
    let (count, unit) = match seconds {
        ..MINUTE => return "just now".to_owned(),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ => match seconds / DAY {
            days @ ..14 => (days, "day"),
            days @ 14..30 => (days / 7, "week"),
            days @ 30..365 => ((days / 30).min(11), "month"),
            days => (days / 365, "year"),
        },
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

/// The time after `now` at which the wording of [`age`] changes next.
pub fn age_changes(at: Timestamp, now: Timestamp) -> Timestamp {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.duration_since(at).as_secs();
    let after = |unit: i64| (seconds / unit + 1) * unit;
    let changes_at = match seconds {
        ..MINUTE => MINUTE,
        MINUTE..HOUR => after(MINUTE),
        HOUR..DAY => after(HOUR),
        _ => match seconds / DAY {
            ..14 => after(DAY),
            14..30 => after(7 * DAY).min(30 * DAY),
            30..330 => after(30 * DAY),
            330..365 => 365 * DAY,
            _ => after(365 * DAY),
        },
    };
    at.checked_add(SignedDuration::from_secs(changes_at)).unwrap_or(Timestamp::MAX)
}

/// Parses an ISO 8601 duration to whole seconds: `PT3M34S`, `P1DT2H3M4S`, `P0D`. Any other text is
/// 0, because an unknown length must not fail the whole response.
pub fn parse_duration(text: &str) -> u64 {
    // `str::parse` would also accept "3 minutes".
    let seconds = SpanParser::new()
        .parse_span(text)
        .and_then(|span| span.total((Unit::Second, SpanRelativeTo::days_are_24_hours())))
        .unwrap_or(0.0);
    // Saturates: a negative length is 0.
    seconds as u64
}

/// A time that YouTube may have omitted. As text it is ISO 8601 in UTC with milliseconds, or empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Option<Timestamp>);

impl Moment {
    /// Parses YouTube's timestamps, which have zero, three or up to six fractional digits. Any
    /// other text gives an empty moment.
    pub fn parse(text: Option<&str>) -> Self {
        Self(text.and_then(|text| text.parse().ok()))
    }

    /// The timestamp, if there is one.
    pub fn timestamp(self) -> Option<Timestamp> {
        self.0
    }

    /// The date in UTC: `October 25, 2009`. Empty without a timestamp.
    pub fn long_date(self) -> String {
        self.0.map_or_else(String::new, long_date)
    }

    /// The age in the wording of [`age`]. Empty without a timestamp.
    pub fn age(self, now: Timestamp) -> String {
        self.0.map_or_else(String::new, |at| age(at, now))
    }

    /// The time at which [`Moment::age`] changes next.
    pub fn age_changes(self, now: Timestamp) -> Option<Timestamp> {
        self.0.map(|at| age_changes(at, now))
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |at| f.write_str(&iso_millis(at)))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: std::borrow::Cow<'_, str> = Deserialize::deserialize(deserializer)?;
        Ok(Self::parse(Some(&text)))
    }
}
