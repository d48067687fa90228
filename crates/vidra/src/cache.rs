//! Asks as little as possible: what is known is given out, what is being asked for is waited for,
//! and only the rest is asked for.
//!
//! `Cache::get_or_fetch` is the one way through. What an entry is good for at its age is decided in
//! `freshness`, who asks and who waits in `asking`, and where entries are kept in [`store`].

pub(crate) mod answer;
mod asking;
pub(crate) mod audience;
mod clock;
mod flight;
pub(crate) mod freshness;
pub(crate) mod gather;
mod many;
mod refusal;
mod renewal;
pub mod store;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::ask::Ask;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::held::Held;
use crate::upstream::Scope;
use crate::upstream::breaker::Pauses;
use crate::upstream::transport::BoxFuture;
use crate::upstream::web::Place;
use answer::Tally;
use audience::Seats;
use clock::CacheClock;
use flight::Flights;
use freshness::{Life, Lifetimes, Resource, State};
use renewal::Renewals;
use store::{Record, Tiers, Usage};

pub(crate) use answer::{CacheReport, Cached, Outcome};

/// What is asked for, in its canonical form: however it was asked for, it is the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) resource: Resource,
    pub(crate) text: String,
}

/// What a caller will do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Whatever is good enough.
    Usual,
    /// Only fresh records: the result becomes part of a new record.
    Fresh,
    /// What the platform says now.
    Newest,
}

/// How long one who has something stale at hand waits for something better.
const STALE_PATIENCE: Duration = Duration::from_millis(250);

/// How far ahead of our clock a record may have been stored, in milliseconds: the clocks of two machines
/// differ by a little. A record from further ahead would be fresh until then, so it counts as gone.
const MOST_AHEAD: u64 = 3_600_000;

/// What is kept, what is being asked for, and how long it is good for.
pub(crate) struct Cache {
    pub(crate) tiers: Tiers,
    flights: Arc<Flights>,
    /// Of what comes from the Data API, and of what comes without a key: one may fail without the other.
    renewals: [Renewals; 2],
    /// The places of those who ask for what is not known.
    misses: Arc<Semaphore>,
    most_misses: usize,
    lifetimes: Lifetimes,
    clock: CacheClock,
    tally: Tally,
}

/// How the platform, and the service itself, is spared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Whoever asks within that time after a failure is told of it.
    pub(crate) failures_last: Duration,
    /// How long nothing is renewed after refusals to all that we ask.
    pub(crate) refusals_last: Pauses,
    /// How many may ask for what is not known together. Whoever joins one of them is not counted.
    pub(crate) most_misses: usize,
}

/// What is known about a key.
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

/// Something known that is good to use without asking.
pub(crate) enum Known {
    Body(Cached),
    /// It is known that there is none, and why.
    Nothing(Error),
}

impl Cache {
    pub(crate) fn new(
        tiers: Tiers,
        lifetimes: Lifetimes,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let Limits { failures_last, refusals_last, most_misses } = limits;
        let now = Instant::now();
        Self {
            tiers,
            flights: Arc::new(Flights::new(failures_last)),
            renewals: ["transcripts", "data"].map(|what| Renewals::new(what, refusals_last, now)),
            misses: Arc::new(Semaphore::new(most_misses)),
            most_misses,
            lifetimes,
            clock: CacheClock::new(clock),
            tally: Tally::default(),
        }
    }

    /// The one way through: fresh, stale and renewed, joined or led.
    ///
    /// `fetch` is run as a task of its own, because a caller who leaves must not end it for the others
    /// who wait, and is told for whom it asks. It ends in time by itself, or where it would cost
    /// something more and nobody waits any longer.
    pub(crate) async fn get_or_fetch(
        self: &Arc<Self>,
        key: Key,
        asker: &Scope,
        fetch: impl Fn(Scope) -> BoxFuture<'static, Result<Bytes>>,
    ) -> Result<Cached> {
        let found = self.find(&key).await;
        let asked = match (&found, asker.want) {
            (Some(found), Want::Usual) => match found.state() {
                State::Fresh => return self.serve(&key, found, Outcome::Hit),
                State::Grace => {
                    self.renew(&key, asker, &fetch);
                    return self.serve(&key, found, Outcome::Stale);
                }
                _ => {
                    let renewal = self.begin_waited_for(&key, asker);
                    if renewal.is_none() {
                        return self.serve(&key, found, Outcome::Stale);
                    }
                    let flying = self.fly(&key, asker, &fetch, renewal);
                    timeout(STALE_PATIENCE, flying).await.unwrap_or_else(|_| Err(too_late()))
                }
            },
            _ => self.fly(&key, asker, &fetch, None).await,
        };
        self.unless_trouble(&key, asked, found)
    }

    /// Adds the resources that are held at this moment.
    pub(crate) fn held(&self, held: &mut Held) {
        (held.flights, held.waiters) = self.flights.held();
        held.misses = self.most_misses - self.misses.available_permits();
        held.renewals = self.renewals.iter().map(Renewals::under_way).sum();
        held.writes = self.tiers.writes_under_way();
    }

    /// The same where the caller asks itself and takes its time about it. If it leaves, the next of
    /// those who wait asks. Who waits gives its place back meanwhile: the one who asks may need it.
    pub(crate) async fn get_or_do<F>(
        &self,
        key: Key,
        want: Want,
        deadline: Instant,
        place: &Place,
        work: impl Fn(Seats) -> F,
    ) -> Result<Cached>
    where
        F: Future<Output = Result<Bytes>>,
    {
        let found = self.find(&key).await;
        if let Some(found) = &found
            && want == Want::Usual
            && matches!(found.state(), State::Fresh | State::Grace)
        {
            return self.serve(&key, found, Outcome::Hit);
        }
        let asked = self.do_once(&key, want, deadline, place, work).await;
        self.unless_trouble(&key, asked, found)
    }

    /// What came; or what was known before, where what came says nothing about it.
    fn unless_trouble(
        &self,
        key: &Key,
        asked: Result<Cached>,
        found: Option<Found>,
    ) -> Result<Cached> {
        match (asked, found) {
            (Err(error), Some(found)) if is_trouble(&error) && !found.record.is_refusal => {
                self.serve(key, &found, Outcome::Stale)
            }
            (asked, _) => asked,
        }
    }

    async fn find(&self, key: &Key) -> Option<Found> {
        let record = self.tiers.get(&key.text, self.clock.now()).await?;
        Some(self.judged(key, record)).filter(|found| found.state() != State::Gone)
    }

    async fn find_all(&self, keys: &[Key]) -> Vec<Option<Found>> {
        let texts: Vec<String> = keys.iter().map(|key| key.text.clone()).collect();
        let records = self.tiers.get_many(&texts, self.clock.now()).await;
        let judged = |(key, record): (&Key, Option<Record>)| {
            Some(self.judged(key, record?)).filter(|found| found.state() != State::Gone)
        };
        keys.iter().zip(records).map(judged).collect()
    }

    fn renewals(&self, resource: Resource) -> &Renewals {
        &self.renewals[usize::from(resource.is_from_data_api())]
    }

    fn judged(&self, key: &Key, record: Record) -> Found {
        let mut hasher = DefaultHasher::new();
        (&key.text, record.stored_at).hash(&mut hasher);
        let life = self.lifetimes.of(key.resource, record.is_refusal, hasher.finish());
        let now = self.clock.now();
        let age = if record.stored_at > now.saturating_add(MOST_AHEAD) {
            Duration::MAX
        } else {
            // A clock that was set back makes nothing younger than new.
            Duration::from_millis(now.saturating_sub(record.stored_at))
        };
        Found { record, age, life }
    }

    /// An empty list, with the outcome and age of the lookups behind it.
    pub(crate) fn nothing(&self, resource: Resource, outcome: Outcome, age: Duration) -> Cached {
        let life = self.lifetimes.of(resource, true, 0);
        Cached { body: Bytes::from_static(b"[]"), outcome, age, life }
    }

    /// What was known, however old it is.
    pub(crate) async fn remembered(&self, key: &Key) -> Option<Cached> {
        let Found { record, age, life } = self.find(key).await?;
        let cached = Cached { body: record.body, outcome: Outcome::Stale, age, life };
        (!record.is_refusal).then_some(cached)
    }

    /// Which of these are known, fresh enough to need no asking.
    pub(crate) async fn known(&self, keys: &[Key]) -> Vec<Option<Known>> {
        let known = |found: Option<Found>| {
            let Found { record, age, life } = found?;
            (life.state(age) == State::Fresh).then_some(match record.is_refusal {
                true => Known::Nothing(refusal::decode(&record.body)),
                false => {
                    Known::Body(Cached { body: record.body, outcome: Outcome::Hit, age, life })
                }
            })
        };
        self.find_all(keys).await.into_iter().map(known).collect()
    }

    /// Keeps what came, and also that there is nothing. What went wrong is not kept: it must not
    /// take the place of something good.
    pub(crate) fn keep(&self, key: &Key, outcome: Result<Bytes>) -> Result<Record> {
        let body = match &outcome {
            Ok(body) => body.clone(),
            Err(error) => match refusal::encode(error) {
                Some(body) => body,
                None => return Err(error.clone()),
            },
        };
        let stored_at = self.clock.now();
        let is_refusal = outcome.is_err();
        let record = Record { stored_at, keep_until: u64::MAX, is_refusal, body };
        let whole = self.judged(key, record.clone()).life.whole();
        let whole = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        let record = Record { keep_until: stored_at.saturating_add(whole), ..record };
        self.tiers.put(&key.text, record.clone());
        outcome.map(|_| record)
    }

    fn landed(&self, key: &Key, outcome: Result<Record>, how: Outcome) -> Result<Cached> {
        match outcome {
            Ok(record) => self.serve(key, &self.judged(key, record), how),
            Err(error) => {
                self.tally.add(key.resource, how);
                Err(error)
            }
        }
    }

    fn serve(&self, key: &Key, found: &Found, outcome: Outcome) -> Result<Cached> {
        self.tally.add(key.resource, outcome);
        let Found { record, age, life } = found;
        if outcome == Outcome::Stale {
            self.tally.note_stale(*age, self.clock.now());
        }
        if record.is_refusal {
            return Err(refusal::decode(&record.body));
        }
        Ok(Cached { body: record.body.clone(), outcome, age: *age, life: *life })
    }

    /// Notes an answer that was given without asking here.
    pub(crate) fn count(&self, resource: Resource, outcome: Outcome) {
        self.tally.add(resource, outcome);
    }

    pub(crate) async fn report(&self) -> CacheReport {
        let mut held = [Usage::default(); Resource::ALL.len()];
        self.tiers.each_in_memory(|key, weight| {
            if let Some(resource) = Ask::resource_of(key) {
                let usage = &mut held[resource as usize];
                *usage = Usage { entries: usage.entries + 1, bytes: usage.bytes + weight };
            }
        });
        let usage = self.tiers.usage().await;
        let by_kind = |resource| (resource, self.tally.of(resource), held[resource as usize]);
        CacheReport {
            resources: Resource::ALL.map(by_kind).to_vec(),
            memory: usage.memory,
            memory_limit: self.tiers.memory_limit(),
            far: usage.far,
            is_far_failing: self.tiers.is_far_left_alone(),
            far_failures: self.tiers.failures(),
            oldest_stale: self.tally.oldest_stale(self.clock.now()),
            renewal_failures: self.renewals.iter().map(Renewals::failures).max().unwrap_or(0),
        }
    }
}

/// Whether an error says nothing about what was asked for, so that what is known may still be true.
fn is_trouble(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden | ErrorKind::InvalidInput)
}

fn too_late() -> Error {
    Error::new(ErrorKind::Timeout, "YouTube did not answer in time").of_the_asker()
}
