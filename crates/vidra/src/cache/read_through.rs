//! The entry point of the cache. It serves a fresh record, serves and renews a stale one, joins a
//! running fetch, or leads a new one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, timeout_at};

use super::fetch::{Delivered, Fetch, Leads, Led};
use super::flight::{self, Joined, LeaderGone, Role};
use super::freshness::State;
use super::renewal::Renewal;
use super::{Cache, CacheOutcome, Cached, Found, Key};
use crate::context::{CacheMode, Context, no_waiters};
use crate::error::{Error, ErrorKind, Result};

/// How long a caller with a stale record waits for a new one.
const STALE_WAIT: Duration = Duration::from_millis(250);

/// The result for one of many keys, with its cache outcome and age. Refusals have both too.
pub(crate) struct Answered {
    pub(crate) result: Result<Cached>,
    pub(crate) outcome: CacheOutcome,
    /// The time since the fetch.
    pub(crate) age: Duration,
}

impl Answered {
    fn new(result: Result<Cached>, outcome: CacheOutcome, age: Duration) -> Self {
        match &result {
            // A stale record may have replaced a failed fetch.
            Ok(Cached { outcome, age, .. }) => Self { outcome: *outcome, age: *age, result },
            Err(_) => Self { result, outcome, age },
        }
    }

    /// The error that fails the whole read. "Not found" is a result like any other.
    fn failure(&self) -> Option<Error> {
        let error = self.result.as_ref().err();
        error.filter(|error| error.kind() != ErrorKind::NotFound).cloned()
    }
}

/// One key on its way to a result.
struct Read<'k> {
    index: usize,
    key: &'k Key,
    /// A record to serve if nothing better comes in time.
    old: Option<Found>,
    /// How long to wait for something better.
    limit: Instant,
    /// An overdue leader, which may still return first.
    overdue: Option<Joined<Delivered>>,
    /// Whether this caller may replace a leader that is overdue or panicked. It may do so once.
    may_replace: bool,
}

/// A key after its first step.
enum Started<'k> {
    Waits(Read<'k>, Joined<Delivered>, CacheOutcome),
    /// The result is available without a wait.
    Ended(Answered),
}

impl Cache {
    /// Reads one record. It fetches on a miss.
    pub(crate) async fn read_one(
        self: &Arc<Self>,
        key: &Key,
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) -> Result<Cached> {
        let found = self.find(key, ctx).await;
        if let Some(found) = &found
            && ctx.mode != CacheMode::Refresh
            && found.state() == State::Fresh
        {
            return self.serve(key, found, CacheOutcome::Hit, ctx);
        }
        let read = Read::new(0, key, found, ctx);
        self.read(vec![read], ctx, fetch).await?.remove(0).result
    }

    /// Reads many records, and fetches the missing ones together.
    ///
    /// # Errors
    ///
    /// The first error other than "not found", at once: a caller that joined later must not wait
    /// for a failure that is already certain.
    pub(crate) async fn read_through(
        self: &Arc<Self>,
        keys: &[Key],
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) -> Result<Vec<Answered>> {
        let found = self.find_all(keys, ctx).await;
        let reads = keys.iter().zip(found).enumerate();
        let reads = reads.map(|(index, (key, found))| Read::new(index, key, found, ctx));
        self.read(reads.collect(), ctx, fetch).await
    }

    async fn read(
        self: &Arc<Self>,
        mut open: Vec<Read<'_>>,
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) -> Result<Vec<Answered>> {
        // A part of an abandoned fetch must not even renew a stale record.
        if ctx.waiters.is_gone() {
            return Err(no_waiters());
        }
        let mut answers: Vec<Option<Answered>> = open.iter().map(|_| None).collect();
        let mut waiting = FuturesUnordered::new();
        let (mut renewal, mut may_renew) = self.begin_renewal(&open, ctx, fetch);
        loop {
            let mut leads = Leads { renewal: renewal.take(), ..Leads::default() };
            let mut failure = None;
            for read in open.drain(..) {
                let index = read.index;
                match self.start(read, ctx, fetch, may_renew, &mut leads) {
                    Started::Waits(read, joined, outcome) => {
                        waiting.push(self.wait(read, joined, outcome, ctx));
                    }
                    Started::Ended(answered) => {
                        failure = failure.or_else(|| answered.failure());
                        answers[index] = Some(answered);
                    }
                }
            }
            if failure.is_some() {
                // Nobody waits for them.
                leads.paid.clear();
            }
            self.spawn_fetches(leads, ctx, fetch);
            if let Some(error) = failure {
                return Err(error);
            }
            may_renew = true;
            let Some(first) = waiting.next().await else { break };
            // Takes all results that are ready, so that the keys of one failed call are retried
            // together.
            let mut ended = vec![first];
            while let Some(Some(next)) = waiting.next().now_or_never() {
                ended.push(next);
            }
            for (read, result) in ended {
                match result.map(|answered| (answered.failure(), answered)) {
                    Ok((Some(error), _)) => return Err(error),
                    Ok((None, answered)) => answers[read.index] = Some(answered),
                    Err(()) => open.push(read),
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Begins the renewal of stale records, if there are any. The flag is false if the cache should
    /// not renew now.
    fn begin_renewal(
        &self,
        reads: &[Read<'_>],
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) -> (Option<Renewal>, bool) {
        let stale = |state| reads.iter().find(|read| read.state(ctx) == Some(state));
        let (expired, grace) = (stale(State::StaleIfError), stale(State::Grace));
        let Some(read) = expired.or(grace) else { return (None, true) };
        if (fetch.is_failing)() {
            return (None, false);
        }
        let renewals = &self.renewals[self.policy(read.key).renewals as usize];
        let renewal = match expired {
            Some(_) => renewals.begin_waited_for(Instant::now()),
            None => renewals.begin(Instant::now()),
        };
        let may_renew = renewal.is_some();
        (renewal, may_renew)
    }

    /// Joins or leads the fetch of a key.
    fn start<'k>(
        &self,
        mut read: Read<'k>,
        ctx: &Context,
        fetch: &Fetch<'_>,
        may_renew: bool,
        leads: &mut Leads,
    ) -> Started<'k> {
        let (key, state) = (read.key, read.state(ctx));
        match (&read.old, state) {
            (Some(old), Some(State::Fresh)) => {
                return Started::Ended(self.served(key, old, CacheOutcome::Hit, ctx));
            }
            (Some(old), Some(_)) if !may_renew => {
                return Started::Ended(self.served(key, old, CacheOutcome::Stale, ctx));
            }
            _ => {}
        }
        let role = match self.join_or_lead(key, ctx, fetch) {
            Ok(role) => role,
            Err(found) => return Started::Ended(self.served(key, &found, CacheOutcome::Hit, ctx)),
        };
        if let (Some(old), Some(State::Grace)) = (&read.old, state) {
            if let Role::Lead(lead, _) = role {
                let led = Led { index: read.index, key: key.clone(), lead, renews: true };
                leads.unpaid.push(led);
            }
            return Started::Ended(self.served(key, old, CacheOutcome::Stale, ctx));
        }
        match role {
            Role::Failed(error) => {
                let outcome = CacheOutcome::Miss;
                Started::Ended(self.failed(key, error, read.old, outcome, ctx))
            }
            Role::Join(joined) => Started::Waits(read, joined, CacheOutcome::Coalesced),
            Role::Lead(lead, joined) => {
                if self.take_slot(ctx).is_err() {
                    // Also for followers that joined meanwhile: they would find no slot either.
                    lead.complete(Err(Error::overloaded()));
                    return match read.overdue.take() {
                        Some(overdue) => Started::Waits(read, overdue, CacheOutcome::Coalesced),
                        None => {
                            let (error, outcome) = (Error::overloaded(), CacheOutcome::Miss);
                            Started::Ended(self.failed(key, error, read.old, outcome, ctx))
                        }
                    };
                }
                let renews = state.is_some();
                leads.paid.push(Led { index: read.index, key: key.clone(), lead, renews });
                Started::Waits(read, joined, CacheOutcome::Miss)
            }
        }
    }

    /// Takes a slot for the uncached fetches of an operation, unless it has one.
    ///
    /// # Errors
    ///
    /// [`Reason::Overloaded`](crate::Reason::Overloaded) if all slots are taken.
    pub(crate) fn take_slot(&self, ctx: &Context) -> Result<()> {
        if ctx.slot.take(&self.misses) { Ok(()) } else { Err(Error::overloaded()) }
    }

    /// Waits for the result of a fetch. `Err` means that the key has to start again.
    async fn wait<'k>(
        &self,
        mut read: Read<'k>,
        joined: Joined<Delivered>,
        outcome: CacheOutcome,
        ctx: &Context,
    ) -> (Read<'k>, Result<Answered, ()>) {
        let ended = async {
            match read.overdue.take() {
                Some(overdue) => flight::first(overdue, joined).await,
                None if outcome == CacheOutcome::Coalesced && read.may_replace => {
                    joined.wait_until_overdue().await
                }
                None => joined.wait().await,
            }
        };
        let key = read.key;
        let ended = tokio::select! {
            biased;
            ended = timeout_at(read.limit, ended) => ended,
            // A part without waiters keeps no other fetch alive.
            () = ctx.waiters.gone() => Ok(Ok(Err(no_waiters()))),
        };
        let error = match ended {
            Ok(Ok(Ok(Delivered { record, is_from_another_machine }))) => {
                let outcome =
                    if is_from_another_machine { CacheOutcome::Coalesced } else { outcome };
                let result = self.serve(key, &self.with_age(key, record), outcome, ctx);
                return (read, Ok(Answered::new(result, outcome, Duration::ZERO)));
            }
            Ok(Ok(Err(error))) => error,
            // The runtime dropped our own task at shutdown.
            Ok(Err(LeaderGone::Left)) if outcome == CacheOutcome::Miss => Error::overloaded(),
            Ok(Err(LeaderGone::ForItself | LeaderGone::Left)) => return (read, Err(())),
            Ok(Err(LeaderGone::Panicked)) if read.may_replace => {
                read.may_replace = false;
                return (read, Err(()));
            }
            Ok(Err(LeaderGone::Panicked)) => Error::internal("two leaders panicked"),
            Ok(Err(LeaderGone::Overdue(joined))) => {
                (read.overdue, read.may_replace) = (Some(joined), false);
                return (read, Err(()));
            }
            Err(_elapsed) => Error::past_deadline(),
        };
        let failed = self.failed(key, error, read.old.take(), outcome, ctx);
        (read, Ok(failed))
    }

    fn join_or_lead(
        &self,
        key: &Key,
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) -> Result<Role<Delivered>, Found> {
        let recheck = || {
            let record = self.tiers.peek(&key.text, self.clock.now())?;
            let found = self.usable(key, record)?;
            (ctx.mode != CacheMode::Refresh && found.state() == State::Fresh).then_some(found)
        };
        let text = match ctx.mode {
            CacheMode::Refresh if fetch.follows_walk => super::refresh_text(key),
            _ => key.text.clone(),
        };
        self.flights.join_or_lead(&text, self.policy(key).replace_after, ctx.urgency, recheck)
    }

    fn served(&self, key: &Key, found: &Found, outcome: CacheOutcome, ctx: &Context) -> Answered {
        Answered::new(self.serve(key, found, outcome, ctx), outcome, found.age)
    }

    /// Serves the stale record instead of an error that says nothing about the requested object.
    fn failed(
        &self,
        key: &Key,
        error: Error,
        old: Option<Found>,
        outcome: CacheOutcome,
        ctx: &Context,
    ) -> Answered {
        let result = match old {
            Some(old) if super::allows_stale(&error) && !old.record.is_refusal => {
                self.serve(key, &old, CacheOutcome::Stale, ctx)
            }
            _ => {
                self.note(key, outcome, ctx);
                Err(error)
            }
        };
        Answered::new(result, outcome, Duration::ZERO)
    }
}

impl<'k> Read<'k> {
    fn new(index: usize, key: &'k Key, found: Option<Found>, ctx: &Context) -> Self {
        let old = found;
        let may_serve_stale = ctx.mode == CacheMode::Normal
            && old.as_ref().is_some_and(|old| old.state() == State::StaleIfError);
        let limit = match may_serve_stale {
            true => ctx.deadline.min(Instant::now() + STALE_WAIT),
            false => ctx.deadline,
        };
        Self { index, key, old, limit, overdue: None, may_replace: true }
    }

    /// The state of the stored record in this operation. `None` on a refresh.
    fn state(&self, ctx: &Context) -> Option<State> {
        self.old.as_ref().filter(|_| ctx.mode != CacheMode::Refresh).map(Found::state)
    }
}
