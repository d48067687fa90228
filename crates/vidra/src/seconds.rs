//! A time that serialises as seconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Reason};

/// A time in milliseconds that serialises as seconds: `3.36`, `43`, `0`.
///
/// ```
/// use vidra::{Cue, TranscriptLine};
/// let cue = Cue::new(0, 3_360, "Hello");
/// let line = TranscriptLine::new(cue, &"en".into());
/// let json = serde_json::to_string(&line)?;
/// assert_eq!(json, r#"{"text":"Hello","duration":3.36,"offset":0,"lang":"en"}"#);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(u64);

impl Seconds {
    /// Converts from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Converts to milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, millis) = (self.0 / 1_000, self.0 % 1_000);
        match millis {
            0 => write!(f, "{whole}"),
            _ => f.write_str(format!("{whole}.{millis:03}").trim_end_matches('0')),
        }
    }
}

/// Parses seconds (`90`, `90.5`), hours, minutes and seconds (`1:02:03`, `1:30`), or the form of YouTube's URLs
/// (`1h2m3s`, `90s`).
///
/// ```
/// use vidra::Seconds;
/// assert_eq!("1:02:03.5".parse::<Seconds>()?.as_millis(), 3_723_500);
/// assert!("1:75".parse::<Seconds>().is_err());
/// # Ok::<_, vidra::Error>(())
/// ```
impl FromStr for Seconds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let what = "must be a time: seconds (90.5) or hours, minutes and seconds (1:02:03)";
        let millis = clock(text).or_else(|| units(text));
        millis.map(Self).ok_or_else(|| Error::new(Reason::InvalidInput, what))
    }
}

/// The milliseconds of `1:02:03.5`, `1:30` or `90.5`. In all but the first part, 59 is the most.
fn clock(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').map_or((text, "0"), |(whole, rest)| (whole, rest));
    let parts: Vec<&str> = whole.split(':').collect();
    if parts.len() > 3 || !is_digits(fraction) {
        return None;
    }
    let mut seconds = 0_u64;
    for (index, part) in parts.into_iter().enumerate() {
        let number = number(part).filter(|number| index == 0 || *number < 60)?;
        seconds = seconds.checked_mul(60)?.checked_add(number)?;
    }
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    seconds.checked_mul(1_000)?.checked_add(number(&millis)?)
}

/// The milliseconds of `1h2m3s`. Each unit is optional, but one is necessary.
fn units(text: &str) -> Option<u64> {
    let (mut rest, mut seconds) = (text, 0_u64);
    for (unit, length) in [('h', 3_600), ('m', 60), ('s', 1)] {
        if let Some((count, after)) = rest.split_once(unit) {
            seconds = seconds.checked_add(number(count)?.checked_mul(length)?)?;
            rest = after;
        }
    }
    let is_time = rest.is_empty() && !text.is_empty();
    is_time.then(|| seconds.checked_mul(1_000)).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|_| is_digits(digits))
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % 1_000 {
            // An integer, so that zero is `0` and not `0.0`.
            0 => serializer.serialize_u64(self.0 / 1_000),
            // The nearest double prints as the same three digits for the first 30,000 years.
            _ => serializer.serialize_f64(self.0 as f64 / 1_000.0),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Saturates at both ends.
        f64::deserialize(deserializer).map(|seconds| Self((seconds * 1_000.0).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_requests() {
        let table = [
            ("0", Some(0)),
            ("90", Some(90_000)),
            ("90.5", Some(90_500)),
            ("0.0009", Some(0)),
            ("1.2345", Some(1_234)),
            ("1:30", Some(90_000)),
            ("75:00", Some(4_500_000)),
            ("1:02:03", Some(3_723_000)),
            ("100:00:00", Some(360_000_000)),
            ("0:00:01.25", Some(1_250)),
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("1h2m3s", Some(3_723_000)),
            ("2h", Some(7_200_000)),
            ("", None),
            (":", None),
            ("1:", None),
            (":30", None),
            ("1:60", None),
            ("1:2:3:4", None),
            ("-1", None),
            ("+1", None),
            ("1.", None),
            (".5", None),
            ("1e3", None),
            ("1s2m", None),
            ("1h 2m", None),
            ("m", None),
            ("ninety", None),
            ("18446744073709551615", None),
            ("99999999999999999999", None),
        ];
        for (text, millis) in table {
            let read = text.parse::<Seconds>().ok().map(Seconds::as_millis);
            assert_eq!(read, millis, "{text:?}");
        }
    }
}
