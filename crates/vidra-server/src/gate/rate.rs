//! Rate limits of callers: a [`LeakyBucket`] with one number per caller.
//!
//! A meter holds the time at which the full burst is available again. Each request moves it forward by one
//! interval. A request over the limit does not move it.
//!
//! The limit is for work. Handshakes and lists of MCP, the end of a session, and answers that did not change
//! (304) are free, up to [`FREE_SHARE`] times the rate. Beyond that they count as the others do, so that
//! nobody can flood the service with them.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use vidra::{Error, LeakyBucket};

use super::network::ClientNetwork;
use super::rejection::rate_limited;
use super::shared_rate::SharedRates;

/// The maximum number of meters of addresses. The least used are evicted, and begin anew with the next
/// request.
pub(super) const MAX_ADDRESSES: usize = 65_536;

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

/// Whether machines share a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    None,
    /// A request counts this many times.
    Weight(u32),
}

impl Rate {
    fn bucket(self) -> LeakyBucket {
        LeakyBucket::new(self.count, self.per.duration() / self.count)
    }

    /// The rate of free requests.
    fn of_free(self) -> Self {
        Self { count: self.count.saturating_mul(FREE_SHARE), ..self }
    }

    /// The time by which one request moves a meter.
    pub(super) fn interval(self) -> Duration {
        self.bucket().interval()
    }

    fn capacity(self) -> Duration {
        self.bucket().capacity()
    }

    /// The highest value of a meter that machines share. They can admit more than the limit until they know of each other,
    /// and admit less afterwards.
    pub(super) fn highest_shared(self) -> Duration {
        self.capacity() * 2
    }

    /// The new value of a meter at `full_at`, after a step at `now`, both in nanoseconds.
    fn decide(self, step: Step, sharing: Sharing, full_at: u64, now: u64) -> (u64, RateStatus) {
        let bucket = self.bucket();
        let (weight, highest) = match sharing {
            Sharing::None => (1, self.capacity()),
            Sharing::Weight(weight) => (weight, self.highest_shared()),
        };
        // A meter is further ahead only after a stricter limit or a change of the clock.
        let ahead = Duration::from_nanos(full_at.saturating_sub(now)).min(highest);
        let wait = if step == Step::Count { bucket.wait(ahead) } else { Duration::ZERO };
        let ahead = match step {
            Step::Count if wait.is_zero() => (ahead + bucket.interval() * weight).min(highest),
            Step::GiveBack => ahead.saturating_sub(bucket.interval() * weight),
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
    fn step(&self, step: Step, rate: Rate, sharing: Sharing, now: u64) -> RateStatus {
        let mut full_at = self.0.load(Ordering::Relaxed);
        loop {
            let (next, status) = rate.decide(step, sharing, full_at, now);
            match self.0.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return status,
                Err(moved) => full_at = moved,
            }
        }
    }
}

/// The meters of one caller.
#[derive(Debug)]
pub(super) struct Meters {
    /// The name or the network of the caller.
    pub(super) caller: String,
    work: Meter,
    free: Meter,
    /// The part of `work` that other machines do not know, in nanoseconds.
    unsent: AtomicI64,
    /// Whether that part waits for the next exchange.
    is_queued: AtomicBool,
}

impl Meters {
    pub(super) fn new(caller: String) -> Arc<Self> {
        let (work, free) = (Meter::default(), Meter::default());
        let (unsent, is_queued) = (AtomicI64::new(0), AtomicBool::new(false));
        Arc::new(Self { caller, work, free, unsent, is_queued })
    }

    /// Takes the part that other machines do not know out of the queue.
    pub(super) fn take_unsent(&self) -> i64 {
        // Before the count, so that a request in between is queued again.
        self.is_queued.store(false, Ordering::SeqCst);
        self.unsent.swap(0, Ordering::SeqCst)
    }

    /// Adds to the part that other machines do not know. `true` if it has to be queued.
    pub(super) fn add_unsent(&self, nanoseconds: i64) -> bool {
        self.unsent.fetch_add(nanoseconds, Ordering::SeqCst);
        !self.is_queued.load(Ordering::SeqCst) && !self.is_queued.swap(true, Ordering::SeqCst)
    }

    /// Sets the meter of work to the value of all machines, plus what they do not know yet.
    pub(super) fn set_work(&self, ahead: Duration, now: u64) {
        let unsent = u64::try_from(self.unsent.load(Ordering::Relaxed)).unwrap_or(0);
        let ahead = u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX);
        self.work.0.store(now.saturating_add(ahead).saturating_add(unsent), Ordering::Relaxed);
    }
}

/// The rate limit of a caller.
#[derive(Clone)]
pub(crate) struct CallerRate {
    pub(super) meters: Arc<Meters>,
    pub(super) rate: Rate,
    /// The zero of the meters.
    pub(super) opened: Instant,
    /// `None` if each machine limits its own callers.
    pub(super) shared: Option<Arc<SharedRates>>,
}

impl CallerRate {
    /// Counts a request.
    pub(super) fn count(&self) -> RateStatus {
        let status = self.step(Step::Count);
        if status.wait.is_none() {
            self.share(1);
        }
        status
    }

    /// Counts a request that is free, unless the caller sends too many of them.
    pub(super) fn count_free(&self) -> RateStatus {
        if self.may_be_free() { self.status() } else { self.count() }
    }

    /// Makes a request free that was counted, unless the caller sends too many of them.
    pub(super) fn give_back(&self) -> RateStatus {
        if !self.may_be_free() {
            return self.status();
        }
        self.share(-1);
        self.step(Step::GiveBack)
    }

    /// The state of the limit.
    pub(super) fn status(&self) -> RateStatus {
        self.step(Step::Look)
    }

    /// Admits work that the gate took for a free request.
    ///
    /// # Errors
    ///
    /// The error of a request over the limit.
    pub(crate) fn admit_work(&self) -> Result<(), Error> {
        self.count().wait.map_or(Ok(()), |wait| Err(rate_limited(wait)))
    }

    fn step(&self, step: Step) -> RateStatus {
        let weight = |shared: &Arc<SharedRates>| Sharing::Weight(shared.weight());
        let sharing = self.shared.as_ref().map_or(Sharing::None, weight);
        self.meters.work.step(step, self.rate, sharing, nanoseconds(self.opened))
    }

    /// Queues requests for the next exchange.
    fn share(&self, requests: i64) {
        if let Some(shared) = &self.shared {
            shared.add(&self.meters, self.rate, requests, self.opened);
        }
    }

    fn may_be_free(&self) -> bool {
        let now = nanoseconds(self.opened);
        self.meters.free.step(Step::Count, self.rate.of_free(), Sharing::None, now).wait.is_none()
    }
}

/// The time since `opened` in nanoseconds.
pub(super) fn nanoseconds(opened: Instant) -> u64 {
    u64::try_from(opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The meters of callers without a key.
pub(super) struct AddressMeters(Cache<ClientNetwork, Arc<Meters>>);

impl AddressMeters {
    pub(super) fn new() -> Self {
        Self(Cache::new(MAX_ADDRESSES))
    }

    pub(super) fn get(&self, address: IpAddr) -> Arc<Meters> {
        let network = ClientNetwork::from_address(address);
        let new = || Meters::new(network.to_string());
        self.0.get_or_insert_with(&network, || Ok::<_, ()>(new())).unwrap_or_else(|()| new())
    }
}
