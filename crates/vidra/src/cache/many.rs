//! Many keys at once: what has to be asked for is asked for together, in full calls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::asking::patience;
use super::audience::{Audience, Urgency};
use super::flight::{Boarding, Deserted, Joined, Lead};
use super::freshness::State;
use super::gather::MOST_IDS;
use super::renewal::Renewal;
use super::{Cache, Cached, Found, Key, Outcome, STALE_PATIENCE, Want, too_late};
use crate::error::{Error, Result};
use crate::upstream::transport::BoxFuture;
use crate::upstream::{Bill, Scope, nobody_waits};

/// The answer for one of many keys, and its cache outcome, even if there is nothing under the key.
pub(crate) struct Answered {
    pub(crate) result: Result<Cached>,
    pub(crate) outcome: Outcome,
    /// How long ago it was fetched.
    pub(crate) age: Duration,
}

impl Answered {
    fn new(result: Result<Cached>, outcome: Outcome, age: Duration) -> Self {
        match &result {
            // A stale record may have replaced a failed fetch.
            Ok(Cached { outcome, age, .. }) => Self { outcome: *outcome, age: *age, result },
            Err(_) => Self { result, outcome, age },
        }
    }
}

/// What becomes of one of many.
enum Part {
    Settled(Answered),
    /// Somebody is asking; until then there may be something old.
    Waiting {
        joined: Joined,
        how: Outcome,
        old: Option<Found>,
    },
}

/// One that this call asks for.
struct Led {
    /// Where it stands among the keys.
    index: usize,
    key: Key,
    lead: Lead,
    /// Whether something old is known.
    renews: bool,
}

/// What came of one, or that it has to be asked for anew, and something old until then.
type Ended = (Result<Answered, Deserted>, Option<Found>);

impl Cache {
    /// [`get_or_fetch`](Cache::get_or_fetch) for many. `fetch` is told which of them to ask for, and
    /// gives an outcome for each.
    pub(crate) async fn get_or_fetch_all(
        self: &Arc<Self>,
        keys: &[Key],
        asker: &Scope,
        fetch: impl Fn(Scope, Vec<usize>) -> BoxFuture<'static, Vec<Result<Bytes>>>,
    ) -> Vec<Answered> {
        let mut answers: Vec<Option<Answered>> = keys.iter().map(|_| None).collect();
        // Those whose leader has panicked once already.
        let mut panicked = vec![false; keys.len()];
        loop {
            let open: Vec<usize> = (0..keys.len()).filter(|at| answers[*at].is_none()).collect();
            if open.is_empty() {
                return answers.into_iter().flatten().collect();
            }
            let asked = self.take_part_in_all(keys, &open, asker, &fetch).await;
            for (index, (ended, old)) in open.into_iter().zip(asked) {
                answers[index] = match ended {
                    Ok(answer) => Some(answer),
                    Err(Deserted::Panicked) if std::mem::replace(&mut panicked[index], true) => {
                        let bug = Err(Error::bug("two leaders panicked"));
                        let result = self.unless_trouble(&keys[index], bug, old);
                        Some(Answered::new(result, Outcome::Miss, Duration::ZERO))
                    }
                    Err(_) => None,
                };
            }
        }
    }

    /// Those of `keys` that are `open`.
    async fn take_part_in_all(
        self: &Arc<Self>,
        keys: &[Key],
        open: &[usize],
        asker: &Scope,
        fetch: &impl Fn(Scope, Vec<usize>) -> BoxFuture<'static, Vec<Result<Bytes>>>,
    ) -> Vec<Ended> {
        let wanted: Vec<Key> = open.iter().map(|index| keys[*index].clone()).collect();
        let mut found = self.find_all(&wanted).await;
        if asker.want == Want::Fresh {
            let is_fresh = |found: &mut Found| found.state() == State::Fresh;
            found.iter_mut().for_each(|found| *found = found.take_if(is_fresh));
        }
        let state = |found: &Option<Found>| {
            found.as_ref().filter(|_| asker.want != Want::Newest).map(Found::state)
        };
        let is_old =
            |found: &Option<Found>| state(found).is_some_and(|state| state != State::Fresh);
        // Of what is old one renewal for all, and of what is not fresh one place.
        let renewal = wanted.first().filter(|_| found.iter().any(is_old));
        let renewal = renewal.and_then(|key| self.begin_waited_for(key, asker));
        let is_fresh = |found: &Option<Found>| state(found) == Some(State::Fresh);
        let place = if found.iter().all(is_fresh) { None } else { self.place(asker) };
        let (mut paid, mut unpaid) = (vec![], vec![]);
        let mut parts = Vec::with_capacity(wanted.len());
        for ((index, key), found) in open.iter().zip(&wanted).zip(found) {
            let renews = is_old(&found);
            // The caller gets the stale record at once, so it does not pay for the renewal.
            let is_unpaid = state(&found) == Some(State::Grace);
            let (part, lead) =
                self.part(key, asker.want, found, renewal.is_some(), place.is_some());
            if let Some(lead) = lead {
                let led = Led { index: *index, key: key.clone(), lead, renews };
                if is_unpaid { unpaid.push(led) } else { paid.push(led) }
            }
            parts.push(part);
        }
        // Renewals fill up the last call that the caller pays for, at no extra cost.
        let room = paid.len().next_multiple_of(MOST_IDS) - paid.len();
        paid.extend(unpaid.drain(..room.min(unpaid.len())));
        // Released before the wait if nothing is led here.
        let (mut renewal, mut place) = (renewal, place.flatten());
        for (leads, bill) in [(paid, asker.bill.clone()), (unpaid, Bill::default())] {
            if leads.is_empty() {
                continue;
            }
            let missing = leads.iter().filter(|led| !led.renews).map(|led| led.lead.seats.clone());
            let audience = match leads.iter().all(|led| led.renews) {
                // What is known already is renewed to the end, whoever waits for that.
                true => Audience::of_lasting(leads.iter().map(|led| led.lead.seats.clone())),
                false => Audience::of(missing).part_of(&asker.audience),
            };
            // Shared work has the service's deadline, not the leader's.
            let patience = asker.deadline;
            let scope = Scope { audience, bill, patience, has_slot: true, ..asker.clone() };
            let indices = leads.iter().map(|led| led.index).collect();
            let renewal = renewal.take_if(|_| leads.iter().any(|led| led.renews));
            self.depart_together(leads, fetch(scope, indices), renewal, place.take());
        }
        drop((renewal, place));
        let settled = |(key, part)| self.settled(key, part, asker);
        join_all(wanted.iter().zip(parts).map(settled)).await
    }

    fn part(
        &self,
        key: &Key,
        want: Want,
        found: Option<Found>,
        may_renew: bool,
        may_ask: bool,
    ) -> (Part, Option<Lead>) {
        let state = found.as_ref().filter(|_| want != Want::Newest).map(Found::state);
        let served = |found: &Found, outcome| {
            Part::Settled(Answered::new(self.serve(key, found, outcome), outcome, found.age))
        };
        let failed = |error, found| {
            let result = self.unless_trouble(key, Err(error), found);
            Part::Settled(Answered::new(result, Outcome::Miss, Duration::ZERO))
        };
        match (&found, state) {
            (Some(found), Some(State::Fresh)) => return (served(found, Outcome::Hit), None),
            (Some(found), Some(_)) if !may_renew => return (served(found, Outcome::Stale), None),
            _ => {}
        }
        let (joined, lead) =
            match self.board(key, want, patience(key.resource), Urgency::Interactive) {
                Err(found) => return (served(&found, Outcome::Hit), None),
                Ok(Boarding::Failed(error)) => return (failed(error, found), None),
                Ok(Boarding::Join(joined)) => (joined, None),
                Ok(Boarding::Lead(lead, joined)) if may_ask => (joined, Some(lead)),
                Ok(Boarding::Lead(lead, _)) => {
                    // Told to those who joined meanwhile too: they would find no place either.
                    lead.land(Err(Error::busy()));
                    return (failed(Error::busy(), found), None);
                }
            };
        if let (Some(found), Some(State::Grace)) = (&found, state) {
            return (served(found, Outcome::Stale), lead);
        }
        let how = if lead.is_some() { Outcome::Miss } else { Outcome::Coalesced };
        // Who wants the newest waits for it.
        let old = found.filter(|_| want != Want::Newest);
        (Part::Waiting { joined, how, old }, lead)
    }

    /// As a task of its own, because a caller who leaves must not end it for others.
    fn depart_together(
        self: &Arc<Self>,
        leads: Vec<Led>,
        fetching: BoxFuture<'static, Vec<Result<Bytes>>>,
        renewal: Option<Renewal>,
        place: Option<OwnedSemaphorePermit>,
    ) {
        let cache = Arc::clone(self);
        crate::upstream::traced::spawn(async move {
            let outcomes = fetching.await;
            if let Some(renewal) = renewal {
                // Of those that are renewed: what was not known cannot fail to be.
                let renewed = leads.iter().zip(&outcomes).filter(|(led, _)| led.renews);
                let renewed: Vec<_> = renewed.map(|(_, outcome)| outcome).collect();
                let failed = renewed.iter().find(|outcome| outcome.is_err());
                if let Some(outcome) = failed.or(renewed.first()) {
                    renewal.end(outcome);
                }
            }
            drop(place);
            for (Led { key, lead, .. }, outcome) in leads.into_iter().zip(outcomes) {
                lead.land(cache.keep(&key, outcome));
            }
        });
    }

    async fn settled(&self, key: &Key, part: Part, asker: &Scope) -> Ended {
        let (joined, how, old) = match part {
            Part::Settled(settled) => return (Ok(settled), None),
            Part::Waiting { joined, how, old } => (joined, how, old),
        };
        let patience = old.as_ref().map_or(asker.patience, |_| Instant::now() + STALE_PATIENCE);
        let landed = tokio::select! {
            biased;
            landed = timeout_at(patience, joined.landed()) => landed,
            // A part that nobody waits for keeps no other fetch alive.
            () = asker.audience.gone() => Ok(Ok(Err(nobody_waits()))),
        };
        let asked = match landed {
            Ok(Ok(outcome)) => self.landed(key, outcome, how),
            // Our own task was dropped, which only the end of the runtime does.
            Ok(Err(Deserted::Left)) if how == Outcome::Miss => Err(Error::busy()),
            Ok(Err(deserted)) => return (Err(deserted), old),
            Err(_) => Err(too_late()),
        };
        let result = self.unless_trouble(key, asked, old);
        (Ok(Answered::new(result, how, Duration::ZERO)), None)
    }
}
