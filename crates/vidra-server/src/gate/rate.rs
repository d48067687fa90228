//! Rate limits of callers: a [`LeakyBucket`] with one number per caller.
//!
//! A meter holds the time at which the full burst is available again. Each request moves it forward by one
//! interval. A request over the limit does not move it.
//!
//! The limit is for work. Handshakes and lists of MCP, the end of a session, and answers that did not change
//! (304) are free, up to [`FREE_SHARE`] times the rate. Beyond that they count as the others do, so that
//! nobody can flood the service with them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use vidra::LeakyBucket;

use super::network::ClientNetwork;
use super::rejection::rate_limited;
use crate::error_body::ApiError;

/// The maximum number of meters of addresses. The least used are evicted, and begin anew with the next
/// request.
const MAX_ADDRESSES: usize = 65_536;

/// How many free requests a caller may send for each request that counts. A client of MCP that opens a session for
/// each call sends four.
const FREE_SHARE: u32 = 10;

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

/// The state of a limit after a request or before one. Times are whole seconds, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateStatus {
    pub(super) limit: u32,
    pub(super) remaining: u32,
    /// Until the full burst is available again.
    pub(super) reset: u64,
    /// Until the next request is allowed; `None` if this one was.
    pub(super) wait: Option<u64>,
}

/// What happens to a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A request is counted, unless it is over the limit.
    Count,
    /// A counted request turns out to be free.
    GiveBack,
    /// Nothing.
    Look,
}

impl Rate {
    fn bucket(self) -> LeakyBucket {
        LeakyBucket::new(self.count, self.per.duration() / self.count)
    }

    /// The rate of free requests.
    fn of_free(self) -> Self {
        Self { count: self.count.saturating_mul(FREE_SHARE), ..self }
    }

    /// The new value of a meter at `full_at`, after a step at `now`, both in nanoseconds.
    fn decide(self, step: Step, full_at: u64, now: u64) -> (u64, RateStatus) {
        let bucket = self.bucket();
        // A meter is further ahead only after a stricter limit or a change of the clock.
        let ahead = Duration::from_nanos(full_at.saturating_sub(now)).min(bucket.capacity());
        let wait = if step == Step::Count { bucket.wait(ahead) } else { Duration::ZERO };
        let ahead = match step {
            Step::Count if wait.is_zero() => ahead + bucket.interval(),
            Step::GiveBack => ahead.saturating_sub(bucket.interval()),
            Step::Count | Step::Look => ahead,
        };
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

#[derive(Debug, Default)]
struct Meter(AtomicU64);

impl Meter {
    /// Takes a step at `now`, in nanoseconds.
    fn step(&self, step: Step, rate: Rate, now: u64) -> RateStatus {
        let mut full_at = self.0.load(Ordering::Relaxed);
        loop {
            let (next, status) = rate.decide(step, full_at, now);
            match self.0.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return status,
                Err(moved) => full_at = moved,
            }
        }
    }
}

/// The meters of one caller.
#[derive(Debug, Default)]
pub(super) struct Meters {
    work: Meter,
    free: Meter,
}

/// The rate limit of a caller.
#[derive(Clone)]
pub(crate) struct CallerRate {
    pub(super) meters: Arc<Meters>,
    pub(super) rate: Rate,
    /// The zero of the meters.
    pub(super) opened: Instant,
}

impl CallerRate {
    /// Counts a request.
    pub(super) fn count(&self) -> RateStatus {
        self.meters.work.step(Step::Count, self.rate, self.now())
    }

    /// Counts a request that is free, unless the caller sends too many of them.
    pub(super) fn count_free(&self) -> RateStatus {
        if self.may_be_free() { self.status() } else { self.count() }
    }

    /// Makes a request free that was counted, unless the caller sends too many of them.
    pub(super) fn give_back(&self) -> RateStatus {
        let step = if self.may_be_free() { Step::GiveBack } else { Step::Look };
        self.meters.work.step(step, self.rate, self.now())
    }

    /// The state of the limit.
    pub(super) fn status(&self) -> RateStatus {
        self.meters.work.step(Step::Look, self.rate, self.now())
    }

    /// Admits work that the gate took for a free request.
    ///
    /// # Errors
    ///
    /// The response to a request over the limit.
    pub(crate) fn admit_work(&self) -> Result<(), ApiError> {
        self.count().wait.map_or(Ok(()), |wait| Err(rate_limited(wait)))
    }

    fn may_be_free(&self) -> bool {
        self.meters.free.step(Step::Count, self.rate.of_free(), self.now()).wait.is_none()
    }

    /// The time in nanoseconds.
    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The meters of callers without a key.
pub(super) struct AddressMeters(Cache<ClientNetwork, Arc<Meters>>);

impl AddressMeters {
    pub(super) fn new() -> Self {
        Self(Cache::new(MAX_ADDRESSES))
    }

    pub(super) fn get(&self, address: IpAddr) -> Arc<Meters> {
        let meters = self.0.get_or_insert_with(&ClientNetwork::from_address(address), || {
            Ok::<_, ()>(Arc::default())
        });
        meters.unwrap_or_default()
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
            let status = meter.step(Step::Count, rate, at * SECOND);
            assert_eq!(status, RateStatus { limit: 3, remaining, reset, wait }, "at {at}");
        }
    }

    #[test]
    fn a_clock_going_back_or_a_changed_limit_does_not_lock_out_a_caller() {
        let (meter, strict, lax) =
            (Meter::default(), "1/h".parse().unwrap(), "1/s".parse().unwrap());
        let count = |rate, at| meter.step(Step::Count, rate, at * SECOND).wait;
        assert_eq!(count(strict, 10), None);
        assert_eq!(count(lax, 10), Some(1));
        assert_eq!(count(lax, 11), None);
        assert_eq!(count(lax, 2), Some(1));
        assert_eq!(count(lax, 3), None);
    }

    #[test]
    fn concurrent_threads_stay_within_the_limit() {
        let (meter, rate) = (Meter::default(), "1000/h".parse().unwrap());
        let is_allowed = |_: &i32| meter.step(Step::Count, rate, SECOND).wait.is_none();
        let allowed = || (0..1000).filter(is_allowed).count();
        let all: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(allowed)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(all, 1000);
    }

    #[test]
    fn a_given_back_permit_is_available_again() {
        let (meter, rate): (_, Rate) = (Meter::default(), "2/m".parse().unwrap());
        let step = |step, at| {
            let RateStatus { remaining, wait, .. } = meter.step(step, rate, at * SECOND);
            (remaining, wait)
        };
        assert_eq!(step(Step::Count, 1000), (1, None));
        assert_eq!(step(Step::Count, 1000), (0, None));
        assert_eq!(step(Step::Look, 1000), (0, None));
        assert_eq!(step(Step::Count, 1000), (0, Some(30)));
        assert_eq!(step(Step::GiveBack, 1000), (1, None));
        assert_eq!(step(Step::Count, 1000), (0, None));
        // Nobody gets more than the burst.
        for _ in 0..3 {
            step(Step::GiveBack, 9000);
        }
        assert_eq!(step(Step::Look, 9000), (2, None));
    }

    #[tokio::test(start_paused = true)]
    async fn free_requests_count_beyond_ten_times_the_rate() {
        let (meters, rate) = (Arc::default(), "2/m".parse().unwrap());
        let caller = CallerRate { meters, rate, opened: Instant::now() };
        for _ in 0..10 {
            assert_eq!(caller.count_free().remaining, 2);
            caller.count();
            assert_eq!(caller.give_back().remaining, 2);
        }
        assert_eq!(caller.count_free().remaining, 1);
        assert_eq!(caller.count_free().remaining, 0);
        assert_eq!(caller.count_free().wait, Some(30));
        assert_eq!(caller.give_back().remaining, 0);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(caller.count_free().remaining, 2);
    }

    #[test]
    fn address_meters_are_independent_and_bounded() {
        let (addresses, rate) = (AddressMeters::new(), "1/h".parse().unwrap());
        let count = |text: &str| {
            let meters = addresses.get(text.parse().unwrap());
            meters.work.step(Step::Count, rate, SECOND).wait
        };
        assert_eq!(count("192.0.2.1"), None);
        assert_eq!(count("192.0.2.2"), None);
        assert!(count("192.0.2.1").is_some());
        for number in 0..2 * MAX_ADDRESSES as u32 {
            addresses.get(IpAddr::V4(number.into()));
        }
        assert!(addresses.0.len() <= MAX_ADDRESSES);
    }
}
