//! A read-through cache. It serves stored records, joins running fetches, and fetches only the
//! rest.
//!
//! `read_through` reads and fetches records, `fetch` runs the fetches that it leads, and `share`
//! coalesces the assembly of composites. `turns` shares fetches with other machines.
//! `freshness` maps the age of a record to its state, `flight` coalesces fetches, and
//! [`store`](crate::store) holds the records.

pub(crate) mod answer;
mod clock;
mod fetch;
mod flight;
pub(crate) mod freshness;
mod read_through;
mod refusal;
mod renewal;
mod share;
mod turns;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::held::Held;
use crate::resilience::breaker::BreakerPolicy;
use crate::spool::Body;
use crate::store::{Record, Tiers, Usage};
use answer::Tally;
use clock::CacheClock;
use fetch::Delivered;
use flight::Flights;
use freshness::{Kind, Life, Policy, RenewalGroup, State};
use renewal::Renewals;

pub(crate) use answer::{CacheOutcome, CacheReport, Cached, Parts};
pub(crate) use fetch::{Fetch, Fetched, Runner};
pub(crate) use read_through::Answered;
pub(crate) use refusal::is_refusal_body;
pub use turns::FetchSharing;
pub(crate) use turns::{SharedFetches, Turn, TurnOutcome};

/// A cache key in canonical form: equal requests have equal keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// The maximum clock skew of a record in milliseconds, because the clocks of two machines differ. A
/// record from further ahead would stay fresh for too long, so it counts as expired.
const MAX_CLOCK_SKEW: u64 = 3_600_000;

/// The cache: its records, its running fetches and their lifetimes.
pub(crate) struct Cache {
    pub(crate) tiers: Tiers,
    flights: Arc<Flights<Delivered>>,
    /// Composites that are being assembled.
    composites: Arc<Flights<Cached<Body>>>,
    /// One for each `RenewalGroup`.
    renewals: [Renewals; 4],
    /// `None` if this machine shares no fetches with others.
    shared_fetches: Option<Arc<SharedFetches>>,
    /// The slots of fetches for uncached answers.
    misses: Arc<Semaphore>,
    max_misses: usize,
    /// The time limit of a shared fetch.
    pub(crate) fetch_time: Duration,
    /// The policies by kind.
    policies: Vec<Policy>,
    /// Maps a key to the kind of its record.
    kind_of: fn(&str) -> Option<Kind>,
    /// The format of the records that this release writes.
    schema: u16,
    clock: CacheClock,
    tally: Tally,
}

/// Limits that protect YouTube and this service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long a failure is cached.
    pub(crate) failures_last: Duration,
    /// How long renewals pause after YouTube refuses all our requests.
    pub(crate) refusals_last: BreakerPolicy,
    /// The maximum number of concurrent fetches of uncached answers. Followers do not count.
    pub(crate) max_misses: usize,
    /// The time limit of a shared fetch.
    pub(crate) fetch_time: Duration,
}

/// A record with its age and lifetime.
struct Found {
    record: Record,
    age: Duration,
    life: Life,
}

impl Found {
    fn state(&self) -> State {
        self.life.state(self.age)
    }
}

impl Cache {
    pub(crate) fn new(
        tiers: Tiers,
        policies: Vec<Policy>,
        limits: Limits,
        kind_of: fn(&str) -> Option<Kind>,
        schema: u16,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let Limits { failures_last, refusals_last, max_misses, fetch_time } = limits;
        let now = Instant::now();
        Self {
            tiers,
            flights: Arc::new(Flights::new(failures_last)),
            composites: Arc::new(Flights::new(Duration::ZERO)),
            renewals: ["transcripts", "data", "feeds", "searches"]
                .map(|what| Renewals::new(what, refusals_last, now)),
            shared_fetches: None,
            misses: Arc::new(Semaphore::new(max_misses)),
            max_misses,
            fetch_time,
            kind_of,
            schema,
            clock: CacheClock::new(clock),
            tally: Tally::new(policies.len()),
            policies,
        }
    }

    /// Shares fetches with other machines.
    pub(crate) fn sharing(self, shared_fetches: Option<SharedFetches>) -> Self {
        Self { shared_fetches: shared_fetches.map(Arc::new), ..self }
    }

    /// How this machine shared its fetches with others. `None` if it does not.
    pub(crate) fn fetch_sharing(&self) -> Option<FetchSharing> {
        self.shared_fetches.as_ref().map(|shared| shared.report())
    }

    /// Allows fetches and renewals of these records at once, although YouTube refused the last ones.
    pub(crate) fn resume(&self, group: RenewalGroup) {
        self.renewals[group as usize].resume(Instant::now());
        self.flights.forget_failures();
    }

    /// The maximum number of concurrent fetches of uncached answers.
    pub(crate) fn max_misses(&self) -> usize {
        self.max_misses
    }

    /// Adds the resources that the cache holds at this moment.
    pub(crate) fn held(&self, held: &mut Held) {
        let (flights, waiters) = self.flights.held();
        let (composites, their_waiters) = self.composites.held();
        held.flights = flights + composites;
        held.waiters = waiters + their_waiters;
        held.misses = self.max_misses - self.misses.available_permits();
        held.renewals = self.renewals.iter().map(Renewals::under_way).sum();
        held.writes = self.tiers.writes_under_way();
    }

    /// The record under this key. The read of an expensive one may take long, but not longer than the caller has.
    async fn find(&self, key: &Key, ctx: &Context) -> Option<Found> {
        let expensive_for = (!self.policy(key).is_cheap).then(|| ctx.left());
        let record = self.tiers.read(&key.text, self.clock.now(), expensive_for).await?;
        self.usable(key, record)
    }

    /// `None` for a record that is expired or has another format.
    fn usable(&self, key: &Key, record: Record) -> Option<Found> {
        let found = (record.schema == self.schema).then(|| self.with_age(key, record))?;
        (found.state() != State::Gone).then_some(found)
    }

    async fn find_all(&self, keys: &[Key], ctx: &Context) -> Vec<Option<Found>> {
        let texts: Vec<String> = keys.iter().map(|key| key.text.clone()).collect();
        let expensive_for = ctx.is_part.then(|| ctx.left());
        let records = self.tiers.read_many(&texts, self.clock.now(), expensive_for).await;
        let usable = |(key, record): (&Key, Option<Record>)| self.usable(key, record?);
        keys.iter().zip(records).map(usable).collect()
    }

    fn policy(&self, key: &Key) -> &Policy {
        &self.policies[key.kind]
    }

    fn with_age(&self, key: &Key, record: Record) -> Found {
        let mut hasher = DefaultHasher::new();
        (&key.text, record.stored_at).hash(&mut hasher);
        let life = self.policy(key).life(record.is_refusal, hasher.finish());
        let now = self.clock.now();
        let age = if record.stored_at > now.saturating_add(MAX_CLOCK_SKEW) {
            Duration::MAX
        } else {
            // After the clock was set back, the age is zero and not negative.
            Duration::from_millis(now.saturating_sub(record.stored_at))
        };
        Found { record, age, life }
    }

    /// An empty list, with the outcome and age of the lookups behind it.
    pub(crate) fn empty_list(&self, kind: Kind, outcome: CacheOutcome, age: Duration) -> Cached {
        let life = self.policies[kind].life(true, 0);
        Cached { body: Bytes::from_static(b"[]"), outcome, age, life }
    }

    /// Returns a stored answer, fresh or stale. It never fetches.
    pub(crate) async fn get_any_age(&self, key: &Key, ctx: &Context) -> Option<Cached> {
        let Found { record, age, life } = self.find(key, ctx).await?;
        let cached = Cached { body: record.body, outcome: CacheOutcome::Stale, age, life };
        (!record.is_refusal).then_some(cached)
    }

    /// Whether the cache has a usable record, fresh or stale.
    pub(crate) async fn has(&self, key: &Key, ctx: &Context) -> bool {
        self.find(key, ctx).await.is_some()
    }

    /// The lifetime of an answer that was assembled from new data for `key`.
    pub(crate) fn life_of_new(&self, key: &Key) -> Life {
        self.policy(key).life(false, 0)
    }

    /// Whether each of these keys has a fresh record.
    pub(crate) async fn are_fresh(&self, keys: &[Key], ctx: &Context) -> Vec<bool> {
        let found = self.find_all(keys, ctx).await.into_iter();
        found.map(|found| found.is_some_and(|found| found.state() == State::Fresh)).collect()
    }

    /// Stores data of this age, or a refusal. It does not store other errors, because they must not
    /// replace a good record.
    pub(crate) fn store(&self, key: &Key, outcome: Result<Bytes>, age: Duration) -> Result<Record> {
        let body = match &outcome {
            Ok(body) => body.clone(),
            Err(error) => match refusal::encode(error) {
                Some(body) => body,
                None => return Err(error.clone()),
            },
        };
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let stored_at = self.clock.now().saturating_sub(age);
        let record = Record {
            stored_at,
            keep_until: u64::MAX,
            is_refusal: outcome.is_err(),
            is_cheap: self.policy(key).is_cheap,
            schema: self.schema,
            body,
        };
        let whole = self.with_age(key, record.clone()).life.whole();
        let whole = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        let record = Record { keep_until: stored_at.saturating_add(whole), ..record };
        self.tiers.put(&key.text, record.clone());
        outcome.map(|_| record)
    }

    /// Counts an answer. Parts of a composite do not count separately.
    fn note(&self, key: &Key, outcome: CacheOutcome, ctx: &Context) {
        if !ctx.is_part {
            self.tally.add(key.kind, outcome);
        }
    }

    fn serve(
        &self,
        key: &Key,
        found: &Found,
        outcome: CacheOutcome,
        ctx: &Context,
    ) -> Result<Cached> {
        self.note(key, outcome, ctx);
        let Found { record, age, life } = found;
        if outcome == CacheOutcome::Stale {
            self.tally.note_stale(*age, self.clock.now());
        }
        if record.is_refusal {
            return Err(refusal::decode(&record.body));
        }
        Ok(Cached { body: record.body.clone(), outcome, age: *age, life: *life })
    }

    /// Counts an answer that another cache served.
    pub(crate) fn count(&self, kind: Kind, outcome: CacheOutcome) {
        self.tally.add(kind, outcome);
    }

    pub(crate) async fn report(&self) -> CacheReport {
        let mut held = vec![Usage::default(); self.policies.len()];
        self.tiers.each_in_memory(|key, weight| {
            if let Some(kind) = (self.kind_of)(key) {
                let usage = &mut held[kind];
                *usage = Usage { entries: usage.entries + 1, bytes: usage.bytes + weight };
            }
        });
        let usage = self.tiers.usage().await;
        let by_kind = |(kind, usage): (Kind, Usage)| {
            (self.policies[kind].name, self.tally.counts(kind), usage)
        };
        CacheReport {
            resources: held.into_iter().enumerate().map(by_kind).collect(),
            memory: usage.memory,
            memory_limit: self.tiers.memory_limit(),
            store: usage.far,
            is_store_failing: self.tiers.is_store_failing(),
            store_failures: self.tiers.failures(),
            oldest_stale: self.tally.oldest_stale(self.clock.now()),
            renewal_failures: self.renewals.iter().map(Renewals::failures).max().unwrap_or(0),
        }
    }
}

/// The flight of refreshes that must not join other fetches of `key`.
fn refresh_text(key: &Key) -> String {
    format!("{}/refresh", key.text)
}

/// Whether an error says nothing about the requested object, so that a stale record may still be
/// correct.
pub(crate) fn allows_stale(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden | ErrorKind::InvalidInput)
}
