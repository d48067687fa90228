//! Fixed times between 2009 and 2026, and the formats of times.

use jiff::Timestamp;

/// Seconds since 1970.
pub(crate) type Seconds = i64;

/// 2009-03-01.
pub(crate) const FIRST: Seconds = 1_235_865_600;
/// 2026-06-01: later than everything in the world.
pub(crate) const LAST: Seconds = 1_780_272_000;
/// A day.
pub(crate) const DAY: Seconds = 86_400;

/// The time at which the clock starts by default: [`LAST`].
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(LAST).unwrap_or_default()
}

/// A time in the platform's current format, in whole seconds.
pub(crate) fn iso(at: Seconds) -> String {
    iso_with(at, "")
}

/// A time with a fraction, as in older formats: `.000`, `.1344`, `.776363`.
pub(crate) fn iso_with(at: Seconds, fraction: &str) -> String {
    let whole = Timestamp::from_second(at).map(|t| t.to_string()).unwrap_or_default();
    format!("{}{fraction}Z", whole.trim_end_matches('Z'))
}

/// An ISO 8601 duration in the platform's format, without zero parts.
pub(crate) fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    let part = |n: u64, unit: char| if n == 0 { String::new() } else { format!("{n}{unit}") };
    let time = [part(hours, 'H'), part(minutes, 'M'), part(rest, 'S')].concat();
    match (days, time.is_empty()) {
        (0, true) => "P0D".to_owned(),
        (0, false) => format!("PT{time}"),
        (_, true) => format!("P{days}D"),
        (_, false) => format!("P{days}DT{time}"),
    }
}

/// Parses such a duration into seconds; 0 if it is invalid.
pub(crate) fn seconds(duration: &str) -> u64 {
    let (mut total, mut number) = (0, 0);
    for c in duration.chars() {
        let unit = match c {
            '0'..='9' => {
                number = number * 10 + u64::from(c as u32 - u32::from(b'0'));
                continue;
            }
            'W' => 604_800,
            'D' => 86_400,
            'H' => 3600,
            'M' => 60,
            'S' => 1,
            _ => 0,
        };
        total += unit * number;
        number = 0;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_use_the_platform_format() {
        assert_eq!(iso(FIRST), "2009-03-01T00:00:00Z");
        assert_eq!(iso(LAST), "2026-06-01T00:00:00Z");
        assert_eq!(iso_with(LAST + 5, ".776363"), "2026-06-01T00:00:05.776363Z");
        let cases = [
            (0, "P0D"),
            (12, "PT12S"),
            (2040, "PT34M"),
            (3677, "PT1H1M17S"),
            (86_400, "P1D"),
            (93_784, "P1DT2H3M4S"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
            assert_eq!(super::seconds(text), seconds);
        }
        assert_eq!((super::seconds("P1W"), super::seconds("PT0S")), (604_800, 0));
    }
}
