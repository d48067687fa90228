//! Rate limits of callers: a [`LeakyBucket`] with one number per caller.
//!
//! A meter holds the time at which the full burst is available again. Each request moves it forward by one
//! interval. A request over the limit does not move it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use vidra::LeakyBucket;

/// The maximum number of meters of addresses. The least used are evicted, and begin anew with the next
/// request.
const MAX_ADDRESSES: usize = 65_536;

/// The highest count. A higher one would be no limit in practice.
const MAX_COUNT: u32 = 1_000_000;

/// A rate limit: a burst of `count` requests, and as many again per second, minute or hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    count: u32,
    per: Per,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Per {
    Second,
    Minute,
    Hour,
}

impl Per {
    fn duration(self) -> Duration {
        let seconds = match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
        };
        Duration::from_secs(seconds)
    }
}

impl FromStr for Rate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "expected a rate such as 100/s, 600/m or 10000/h, at most a million";
        let (count, per) = text.split_once('/').ok_or(wrong)?;
        let per = match per {
            "s" => Per::Second,
            "m" => Per::Minute,
            "h" => Per::Hour,
            _ => return Err(wrong),
        };
        let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
        match count.parse() {
            Ok(count @ 1..=MAX_COUNT) if is_number => Ok(Self { count, per }),
            _ => Err(wrong),
        }
    }
}

impl TryFrom<String> for Rate {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match self.per {
            Per::Second => 's',
            Per::Minute => 'm',
            Per::Hour => 'h',
        };
        write!(f, "{}/{per}", self.count)
    }
}

/// The state of a limit after a request. Times are whole seconds, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateStatus {
    pub(super) limit: u32,
    pub(super) remaining: u32,
    /// Until the full burst is available again.
    pub(super) reset: u64,
    /// Until the next request is allowed; `None` if this one was.
    pub(super) wait: Option<u64>,
}

impl Rate {
    fn bucket(self) -> LeakyBucket {
        LeakyBucket::new(self.count, self.per.duration() / self.count)
    }

    /// The new value of a meter at `full_at`, for a request at `now`, both in nanoseconds.
    fn decide(self, full_at: u64, now: u64) -> (u64, RateStatus) {
        let bucket = self.bucket();
        // A meter is further ahead only after a stricter limit or a change of the clock.
        let ahead = Duration::from_nanos(full_at.saturating_sub(now)).min(bucket.capacity());
        let wait = bucket.wait(ahead);
        let ahead = if wait.is_zero() { ahead + bucket.interval() } else { ahead };
        let seconds = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
        let status = RateStatus {
            limit: self.count,
            remaining: bucket.remaining(ahead),
            reset: seconds(ahead),
            wait: (!wait.is_zero()).then(|| seconds(wait)),
        };
        (now + ahead.as_nanos() as u64, status)
    }
}

/// The meter of one caller.
#[derive(Debug, Default)]
pub(super) struct Meter(AtomicU64);

impl Meter {
    /// Counts a request at `now`, in nanoseconds.
    pub(super) fn count(&self, rate: Rate, now: u64) -> RateStatus {
        let mut full_at = self.0.load(Ordering::Relaxed);
        loop {
            let (next, status) = rate.decide(full_at, now);
            match self.0.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return status,
                Err(moved) => full_at = moved,
            }
        }
    }
}

/// The meters of callers without a key.
pub(super) struct AddressMeters(Cache<ClientNetwork, Arc<Meter>>);

/// The unit of limits by address: an IPv4 address, or an IPv6 /64, which is what one customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientNetwork {
    V4(u32),
    V6(u64),
}

impl ClientNetwork {
    pub(crate) fn from_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(address) => Self::V4(address),
                None => Self::V6((address.to_bits() >> 64) as u64),
            },
        }
    }
}

/// The IPv4 address behind a 6to4 (RFC 3056), Teredo (RFC 4380) or NAT64 (RFC 6052) address. One IPv4 address
/// has very many of them.
fn embedded_v4(address: Ipv6Addr) -> Option<u32> {
    let bits = address.to_bits();
    match address.segments() {
        [0x2002, ..] => Some((bits >> 80) as u32),
        [0x2001, 0, ..] => Some(!(bits as u32)),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(bits as u32),
        _ => None,
    }
}

impl AddressMeters {
    pub(super) fn new() -> Self {
        Self(Cache::new(MAX_ADDRESSES))
    }

    pub(super) fn count(&self, address: IpAddr, rate: Rate, now: u64) -> RateStatus {
        let meter = self.0.get_or_insert_with(&ClientNetwork::from_address(address), || {
            Ok::<_, ()>(Arc::default())
        });
        meter.unwrap_or_default().count(rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn rates_parse_and_display() {
        for text in ["100/s", "600/m", "10000/h", "1/s", "1000000/s"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "off",
            "5",
            "/s",
            "0/s",
            "-1/s",
            "+1/s",
            "1.5/s",
            "1/d",
            "1/S",
            "1 /s",
            "1000001/s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let rate: Rate = "3/m".parse().unwrap();
        let meter = Meter::default();
        // Time of the request in seconds, remaining, reset, wait.
        let table = [
            (1000, 2, 20, None),
            (1000, 1, 40, None),
            (1000, 0, 60, None),
            (1000, 0, 60, Some(20)),
            (1019, 0, 41, Some(1)),
            (1020, 0, 60, None),
            (1021, 0, 59, Some(19)),
            (1060, 1, 40, None),
            (9000, 2, 20, None),
        ];
        for (at, remaining, reset, wait) in table {
            let status = meter.count(rate, at * SECOND);
            assert_eq!(status, RateStatus { limit: 3, remaining, reset, wait }, "at {at}");
        }
    }

    #[test]
    fn a_clock_going_back_or_a_changed_limit_does_not_lock_out_a_caller() {
        let (meter, strict, lax) =
            (Meter::default(), "1/h".parse().unwrap(), "1/s".parse().unwrap());
        assert_eq!(meter.count(strict, 10 * SECOND).wait, None);
        assert_eq!(meter.count(lax, 10 * SECOND).wait, Some(1));
        assert_eq!(meter.count(lax, 11 * SECOND).wait, None);
        assert_eq!(meter.count(lax, 2 * SECOND).wait, Some(1));
        assert_eq!(meter.count(lax, 3 * SECOND).wait, None);
    }

    #[test]
    fn concurrent_threads_stay_within_the_limit() {
        let (meter, rate) = (Meter::default(), "1000/h".parse().unwrap());
        let allowed = || (0..1000).filter(|_| meter.count(rate, SECOND).wait.is_none()).count();
        let all: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(allowed)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(all, 1000);
    }

    #[test]
    fn ipv6_addresses_of_one_prefix_share_a_network() {
        let table = [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("::192.0.2.1", "192.0.2.1", false),
            // 6to4, Teredo (which inverts the address) and NAT64.
            ("2002:c000:201:1::1", "192.0.2.1", true),
            ("2002:c000:201:1::1", "2002:c000:201:ffff::9", true),
            ("2002:c000:201::1", "2002:c000:202::1", false),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45", true),
            ("64:ff9b::192.0.2.1", "192.0.2.1", true),
        ];
        for (one, other, alike) in table {
            let [a, b] =
                [one, other].map(|text| ClientNetwork::from_address(text.parse().unwrap()));
            assert_eq!(a == b, alike, "{one} and {other}");
        }
    }

    #[test]
    fn address_meters_are_independent_and_bounded() {
        let (addresses, rate) = (AddressMeters::new(), "1/h".parse().unwrap());
        let count = |text: &str| addresses.count(text.parse().unwrap(), rate, SECOND).wait;
        assert_eq!(count("192.0.2.1"), None);
        assert_eq!(count("192.0.2.2"), None);
        assert!(count("192.0.2.1").is_some());
        for number in 0..2 * MAX_ADDRESSES as u32 {
            addresses.count(IpAddr::V4(number.into()), rate, SECOND);
        }
        assert!(addresses.0.len() <= MAX_ADDRESSES);
    }
}
