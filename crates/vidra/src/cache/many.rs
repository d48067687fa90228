//! Many keys at once: what has to be asked for is asked for together, in full calls.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::asking::patience;
use super::audience::Audience;
use super::flight::{Boarding, Deserted, Joined, Lead};
use super::freshness::State;
use super::renewal::Renewal;
use super::{Cache, Cached, Found, Key, Outcome, STALE_PATIENCE, Want, too_late};
use crate::error::{Error, Result};
use crate::upstream::Scope;
use crate::upstream::transport::BoxFuture;

/// What becomes of one of many.
enum Part {
    Settled(Result<Cached>),
    /// Somebody is asking; until then there may be something old.
    Waiting {
        joined: Joined,
        how: Outcome,
        old: Option<Found>,
    },
}

impl Cache {
    /// [`get_or_fetch`](Cache::get_or_fetch) for many. `fetch` is told which of them to ask for, and
    /// gives an outcome for each.
    pub(crate) async fn get_or_fetch_all(
        self: &Arc<Self>,
        keys: &[Key],
        asker: &Scope,
        fetch: impl Fn(Scope, Vec<usize>) -> BoxFuture<'static, Vec<Result<Bytes>>>,
    ) -> Vec<Result<Cached>> {
        let mut answers: Vec<Option<Result<Cached>>> = keys.iter().map(|_| None).collect();
        loop {
            let open: Vec<usize> = (0..keys.len()).filter(|at| answers[*at].is_none()).collect();
            if open.is_empty() {
                return answers.into_iter().flatten().collect();
            }
            let asked = self.take_part_in_all(keys, &open, asker, &fetch).await;
            for (index, answer) in open.into_iter().zip(asked) {
                answers[index] = answer;
            }
        }
    }

    /// Those of `keys` that are `open`. `None` where whoever asked failed for reasons of its own.
    async fn take_part_in_all(
        self: &Arc<Self>,
        keys: &[Key],
        open: &[usize],
        asker: &Scope,
        fetch: &impl Fn(Scope, Vec<usize>) -> BoxFuture<'static, Vec<Result<Bytes>>>,
    ) -> Vec<Option<Result<Cached>>> {
        let wanted: Vec<Key> = open.iter().map(|index| keys[*index].clone()).collect();
        let found = self.find_all(&wanted).await;
        let renewal = wanted.first().and_then(|key| self.begin_waited_for(key, asker));
        // One for all of them, if any may have to be asked for.
        let is_fresh = |found: &Option<Found>| {
            asker.want == Want::Usual
                && found.as_ref().is_some_and(|found| found.state() == State::Fresh)
        };
        let place = if found.iter().all(is_fresh) { None } else { self.place() };
        let is_renewal = found.iter().any(Option::is_some) && asker.want == Want::Usual;
        let (mut leads, mut led) = (vec![], vec![]);
        let mut parts = Vec::with_capacity(wanted.len());
        for ((index, key), found) in open.iter().zip(&wanted).zip(found) {
            let (part, lead) =
                self.part(key, asker.want, found, renewal.is_some(), place.is_some());
            if let Some(lead) = lead {
                leads.push((key.clone(), lead));
                led.push(*index);
            }
            parts.push(part);
        }
        if !leads.is_empty() {
            // What is known already is renewed to the end, whoever waits for that.
            let seats = leads.iter().filter(|_| !is_renewal).map(|(_, lead)| lead.seats.clone());
            let scope = Scope { audience: Audience::of(seats), ..asker.clone() };
            self.depart_together(leads, fetch(scope, led), renewal, place);
        }
        let settled = |(key, part)| self.settled(key, part, asker.patience);
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
        let state = found.as_ref().filter(|_| want == Want::Usual).map(Found::state);
        match (&found, state) {
            (Some(found), Some(State::Fresh)) => {
                return (Part::Settled(self.serve(key, found, Outcome::Hit)), None);
            }
            (Some(found), Some(_)) if !may_renew => {
                return (Part::Settled(self.serve(key, found, Outcome::Stale)), None);
            }
            _ => {}
        }
        let (joined, lead) = match self.board(key, want, patience(key.resource)) {
            Err(found) => return (Part::Settled(self.serve(key, &found, Outcome::Hit)), None),
            Ok(Boarding::Failed(error)) => {
                return (Part::Settled(self.unless_trouble(key, Err(error), found)), None);
            }
            Ok(Boarding::Join(joined)) => (joined, None),
            Ok(Boarding::Lead(lead, joined)) if may_ask => (joined, Some(lead)),
            Ok(Boarding::Lead(..)) => {
                return (Part::Settled(self.unless_trouble(key, Err(Error::busy()), found)), None);
            }
        };
        if let (Some(found), Some(State::Grace)) = (&found, state) {
            return (Part::Settled(self.serve(key, found, Outcome::Stale)), lead);
        }
        let how = if lead.is_some() { Outcome::Miss } else { Outcome::Coalesced };
        // Who wants the newest waits for it.
        let old = found.filter(|_| want == Want::Usual);
        (Part::Waiting { joined, how, old }, lead)
    }

    /// As a task of its own, because a caller who leaves must not end it for others.
    fn depart_together(
        self: &Arc<Self>,
        leads: Vec<(Key, Lead)>,
        fetching: BoxFuture<'static, Vec<Result<Bytes>>>,
        renewal: Option<Renewal>,
        place: Option<OwnedSemaphorePermit>,
    ) {
        let cache = Arc::clone(self);
        crate::upstream::traced::spawn(async move {
            let outcomes = fetching.await;
            if let Some(renewal) = renewal {
                let one = outcomes.iter().find(|outcome| outcome.is_err()).or(outcomes.first());
                renewal.end(one.unwrap_or(&Ok(Bytes::new())));
            }
            drop(place);
            for ((key, lead), outcome) in leads.into_iter().zip(outcomes) {
                lead.land(cache.keep(&key, outcome));
            }
        });
    }

    async fn settled(&self, key: &Key, part: Part, deadline: Instant) -> Option<Result<Cached>> {
        let (joined, how, old) = match part {
            Part::Settled(settled) => return Some(settled),
            Part::Waiting { joined, how, old } => (joined, how, old),
        };
        let patience = old.as_ref().map_or(deadline, |_| Instant::now() + STALE_PATIENCE);
        let asked = match timeout_at(patience, joined.landed()).await {
            Ok(Ok(outcome)) => self.landed(key, outcome, how),
            Ok(Err(Deserted::ForItself)) => return None,
            Ok(Err(_)) => Err(Error::bug("whoever asked ended without a word")),
            Err(_) => Err(too_late()),
        };
        Some(self.unless_trouble(key, asked, old))
    }
}
