//! Many keys at once: what has to be asked for is asked for together, in full calls.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::asking::patience;
use super::flight::{Boarding, Joined, Lead};
use super::freshness::State;
use super::renewal::Renewal;
use super::{Cache, Cached, Found, Key, Outcome, STALE_PATIENCE, Want, is_trouble, too_late};
use crate::error::{Error, Result};
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
        want: Want,
        deadline: Instant,
        fetch: impl FnOnce(Vec<usize>) -> BoxFuture<'static, Vec<Result<Bytes>>>,
    ) -> Vec<Result<Cached>> {
        let found = self.find_all(keys).await;
        let renewal = keys
            .first()
            .and_then(|key| self.renewals(key.resource).begin_waited_for(Instant::now()));
        let mut leads = vec![];
        let mut parts = Vec::with_capacity(keys.len());
        for (index, (key, found)) in keys.iter().zip(found).enumerate() {
            let (part, lead) = self.part(key, want, found, renewal.is_some());
            leads.extend(lead.map(|lead| (index, lead)));
            parts.push(part);
        }
        if !leads.is_empty() {
            let indices = leads.iter().map(|(index, _)| *index).collect();
            let leads =
                leads.into_iter().map(|(index, lead)| (keys[index].clone(), lead)).collect();
            self.depart_together(leads, fetch(indices), renewal);
        }
        let parts = keys.iter().zip(parts).map(|(key, part)| self.settled(key, part, deadline));
        join_all(parts).await
    }

    fn part(
        &self,
        key: &Key,
        want: Want,
        found: Option<Found>,
        may_renew: bool,
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
            Ok(Boarding::Lead(lead, joined)) => (joined, Some(lead)),
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
    ) {
        let cache = Arc::clone(self);
        tokio::spawn(async move {
            let outcomes = fetching.await;
            if let Some(renewal) = renewal {
                let is_trouble = |outcome: &Result<Bytes>| outcome.as_ref().is_err_and(is_trouble);
                renewal.end(outcomes.iter().any(is_trouble));
            }
            for ((key, lead), outcome) in leads.into_iter().zip(outcomes) {
                lead.land(cache.keep(&key, outcome));
            }
        });
    }

    async fn settled(&self, key: &Key, part: Part, deadline: Instant) -> Result<Cached> {
        let (joined, how, old) = match part {
            Part::Settled(settled) => return settled,
            Part::Waiting { joined, how, old } => (joined, how, old),
        };
        let patience = old.as_ref().map_or(deadline, |_| Instant::now() + STALE_PATIENCE);
        let asked = match timeout_at(patience, joined.landed()).await {
            Ok(Ok(outcome)) => self.landed(key, outcome, how),
            Ok(Err(_)) => Err(Error::bug("whoever asked ended without a word")),
            Err(_) => Err(too_late()),
        };
        self.unless_trouble(key, asked, old)
    }
}
