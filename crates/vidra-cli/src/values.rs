//! Values of flags: times, counts, words, addresses.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use vidra::{DateRange, Seconds};

/// A value, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrOff<T> {
    Off,
    At(T),
}

impl<T: Copy> OrOff<T> {
    /// The value. `None` if it is off.
    pub(crate) fn value(&self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::At(value) => Some(*value),
        }
    }
}

impl<T: FromStr> FromStr for OrOff<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        if text == "off" { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

/// A text that is never shown, such as a password. Its debug output hides it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A time whose plain number means milliseconds.
pub(crate) fn millis(text: &str) -> Result<Duration, String> {
    within_a_day(time(text, "ms")?)
}

/// A time whose plain number means seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match time(text, "s")? {
        Duration::ZERO => Err("must not be 0".to_owned()),
        time => within_a_day(time),
    }
}

/// The drain delay, which is a part of the time that shutdown may take.
pub(crate) fn drain_delay(text: &str) -> Result<Duration, String> {
    let time = time(text, "s")?;
    if time <= Duration::from_secs(15) { Ok(time) } else { Err("at most 15 seconds".to_owned()) }
}

/// A time in a video, as the service accepts it: `90`, `1:30`, `1:02:03.5`, `90s`, `1h2m3s`.
pub(crate) fn moment(text: &str) -> Result<Seconds, String> {
    text.parse().map_err(|_| "expected a time such as 90, 1:30, 1:02:03 or 90s".to_owned())
}

/// A length of a video: `90`, `1:30`, `1:02:03.5`, `90s`, `2m`.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a length such as 90, 1:30, 1:02:03 or 5m".to_owned();
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !text.contains([':', '.']) {
        return time(text, "s").map_err(|_| wrong());
    }
    let number = |part: &str| {
        let is_number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| is_number)
    };
    let parts: Option<Vec<u64>> = clock.split(':').map(number).collect();
    let seconds = match parts.as_deref() {
        Some([seconds]) => *seconds,
        Some([minutes, seconds @ ..=59]) => minutes * 60 + seconds,
        Some([hours, minutes @ ..=59, seconds @ ..=59]) => hours * 3600 + minutes * 60 + seconds,
        _ => return Err(wrong()),
    };
    let millis = number(&format!("{fraction:0<3}"));
    let millis = millis.filter(|millis| *millis < 1_000 && !fraction.is_empty());
    Ok(Duration::from_millis(seconds * 1_000 + millis.ok_or_else(wrong)?))
}

/// A whole number: `500`, `1k`, `1.5M`. It must be whole after the multiplication: `1.5` is not.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a whole number such as 500, 1k or 1.5M".to_owned();
    let (number, factor) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        None => (text, 1),
        Some(number) => match text.as_bytes()[number.len()].to_ascii_lowercase() {
            b'k' => (number, 1_000),
            b'm' => (number, 1_000_000),
            _ => (number, 1_000_000_000),
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !whole.is_empty()
        && (fraction.is_empty() != number.contains('.'))
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let scale = u32::try_from(fraction.len()).ok().and_then(|places| 10_u128.checked_pow(places));
    let value =
        digits.parse::<u128>().ok().filter(|_| is_number).and_then(|it| it.checked_mul(factor));
    let (value, scale) = value.zip(scale).ok_or_else(wrong)?;
    match value % scale {
        0 => u64::try_from(value / scale).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// A day or a time, as the service accepts it. It depends on the end of the range which moment a day means.
pub(crate) fn date(text: &str) -> Result<String, String> {
    match DateRange::parse_since(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => {
            Err("expected a day or a time, such as 2026-03-26 or 2026-03-26T18:30:00Z".to_owned())
        }
    }
}

/// A parser of the words of the service.
pub(crate) fn words_of<T>(all: &'static [(&'static str, T)]) -> PossibleValuesParser {
    PossibleValuesParser::new(all.iter().map(|(word, _)| *word))
}

/// A parser of [counts](count) in a range.
pub(crate) fn count_in<T>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + 'static,
{
    move |text| {
        let number = Some(count(text)?).filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match *range.end() {
            u64::MAX => format!("expected at least {}", range.start()),
            end => format!("expected {} to {end}", range.start()),
        })
    }
}

/// A [count] from 1.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    count_in(1..=u64::MAX)(text)
}

/// A [count] of 32 bits.
pub(crate) fn units(text: &str) -> Result<u32, String> {
    count_in(0..=u32::MAX.into())(text)
}

/// An address to listen on: `127.0.0.1:3000`, `[::1]:3000`, or a port of loopback: `localhost:3000`, `:3000`,
/// `3000`. It looks up no names.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let is_bare = port.len() == text.len();
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok(),
        None if is_bare => port.parse().ok(),
        None => None,
    };
    let loopback = port.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    loopback.or_else(|| text.parse().ok()).ok_or_else(|| {
        "expected an address such as 127.0.0.1:3000 or [::]:3000, or a port of this machine such as :3000"
            .to_owned()
    })
}

fn within_a_day(time: Duration) -> Result<Duration, String> {
    if time <= LONGEST { Ok(time) } else { Err("at most a day".to_owned()) }
}

/// `300ms`, `10s`, `2m`, `1h`, `7d`, or a plain number of `unit`.
pub(crate) fn time(text: &str, unit: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 300ms, 10s, 2m or 1h".to_owned();
    let (number, given) = with_unit(text).ok_or_else(wrong)?;
    let seconds = match if given.is_empty() { unit } else { given } {
        "ms" => return Ok(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wrong()),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// `64MB`, `1GB`, or a plain number of bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 64MB or 1GB".to_owned();
    let (number, unit) = with_unit(text).ok_or_else(wrong)?;
    let unit: u64 = match unit.trim() {
        "" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(unit).ok_or_else(wrong)
}

/// A whole number and the text after it.
fn with_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit))
}

/// The longest timeout.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn http_url(text: &str) -> Result<String, String> {
    let url = text.parse::<http::Uri>().ok().filter(|url| {
        let scheme = matches!(url.scheme_str(), Some("http" | "https"));
        let authority = url.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        scheme && authority && url.query().is_none() && !text.contains('#')
    });
    match url {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected an http or https URL without query or user".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_clock_times_or_durations() {
        let table = [
            ("90", 90_000),
            ("1:30", 90_000),
            ("01:02:03.25", 3_723_250),
            ("90.5", 90_500),
            ("90s", 90_000),
            ("5m", 300_000),
            ("0", 0),
        ];
        for (text, millis) in table {
            assert_eq!(length(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", ":", "1:", "1:60", "1:2:3:4", "-1:30", "1.", "1.2345", "1:+5", "99999:00", "1.5s"]
        {
            assert!(length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn users_14_counts_have_suffixes() {
        let table = [
            ("0", 0),
            ("500", 500),
            ("1k", 1_000),
            ("1K", 1_000),
            ("1.5M", 1_500_000),
            ("0.25k", 250),
            ("2g", 2_000_000_000),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, number) in table {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in [
            "",
            "k",
            ".5k",
            "1.",
            "1.k",
            "1.5",
            "1.0005k",
            "-1",
            "+1",
            "1kk",
            "1e3",
            "1 k",
            "1,000",
            "1..5k",
            "18446744073709551616",
            "99999999999999999999999999999999999999999G",
            "١k",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
        let limited = count_in::<u32>(1..=50);
        assert_eq!(limited("50"), Ok(50));
        assert_eq!(limited("51"), Err("expected 1 to 50".to_owned()));
        assert_eq!(at_least_one("0"), Err("expected at least 1".to_owned()));
        assert_eq!(units("5000M"), Err("expected 0 to 4294967295".to_owned()));
    }

    #[test]
    fn users_14_a_port_is_an_address_of_loopback() {
        for text in ["3000", ":3000", "localhost:3000", "127.0.0.1:3000"] {
            assert_eq!(listen_address(text), Ok(([127, 0, 0, 1], 3000).into()), "{text}");
        }
        assert_eq!(listen_address("[::]:80"), Ok("[::]:80".parse().unwrap()));
        assert_eq!(listen_address("0"), Ok(([127, 0, 0, 1], 0).into()));
        for text in ["", ":", "localhost", "localhost3000", "host:3000", "70000", "::1", "1.2.3.4"]
        {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_parsed_with_units() {
        let table = [("300ms", 300), ("10s", 10_000), ("2m", 120_000), ("7", 7_000)];
        for (text, millis) in table {
            assert_eq!(seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(millis("300"), Ok(Duration::from_millis(300)));
        for text in
            ["", "s", "1h30", "-1s", "1.5s", "ten", "0s", "0", "1441m", "18446744073709551615"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
