//! Who asks: joining a flight, leading one, renewing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::audience::{Audience, Seats, Urgency};
use super::flight::{self, Boarding, Deserted, Joined, Lead};
use super::freshness::{Resource, State};
use super::renewal::Renewal;
use super::{Cache, Cached, Found, Key, Outcome, Want, too_late};
use crate::client::FOREVER;
use crate::error::{Error, ErrorKind, Result};
use crate::transcript::Reason;
use crate::upstream::transport::BoxFuture;
use crate::upstream::web::Place;
use crate::upstream::{Bill, Scope, nobody_waits};

/// How long one who asks may take before another asks in its place, where a single exchange will do.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(10);

impl Cache {
    /// Asks, unless somebody does already; in that one's place where it leaves or runs out of time.
    pub(super) async fn do_once<F>(
        &self,
        key: &Key,
        want: Want,
        deadline: Instant,
        place: &Place,
        work: impl Fn(Seats) -> F,
    ) -> Result<Cached>
    where
        F: Future<Output = Result<Bytes>>,
    {
        loop {
            match self.board(key, want, FOREVER, Urgency::Batch) {
                Err(found) => return self.serve(key, &found, Outcome::Hit),
                Ok(Boarding::Failed(error)) => return Err(error),
                Ok(Boarding::Lead(lead, _)) => {
                    let outcome = self.keep(key, work(lead.seats.clone()).await);
                    if !outcome.as_ref().is_err_and(is_out_of_time) {
                        lead.land(outcome.clone());
                    }
                    return self.landed(key, outcome, Outcome::Miss);
                }
                Ok(Boarding::Join(joined)) => match place.aside(deadline, joined.landed()).await {
                    Some(Ok(outcome)) => {
                        return self.landed(key, outcome, Outcome::Coalesced);
                    }
                    Some(Err(_)) => {}
                    None => return Err(too_late()),
                },
            }
        }
    }

    /// Joins the flight for `key` or leads one. Retries when the leader left or failed for reasons of its own,
    /// and once when it panicked. A flight that is overdue may still land first.
    pub(super) async fn fly(
        self: &Arc<Self>,
        key: &Key,
        asker: &Scope,
        fetch: &impl Fn(Scope) -> BoxFuture<'static, Result<Bytes>>,
        mut renewal: Option<Renewal>,
    ) -> Result<Cached> {
        let (mut late, mut may_replace) = (None, true);
        loop {
            // Shared work has the service's deadline, not the leader's.
            let patience = asker.deadline;
            let fetching =
                |audience| fetch(Scope { audience, patience, has_slot: true, ..asker.clone() });
            let (joined, how) = match self.take_part(key, asker, renewal.take(), fetching) {
                Ok(part) => part,
                Err(settled) => match (late.take(), &settled) {
                    // Who has waited so far waits on, where there is no place for another to ask.
                    (Some(late), Err(error)) if error.kind() == ErrorKind::Unavailable => {
                        (late, Outcome::Coalesced)
                    }
                    _ => return settled,
                },
            };
            let ended = async {
                match late.take() {
                    Some(late) => flight::first(late, joined).await,
                    None if how == Outcome::Coalesced && may_replace => {
                        joined.landed_in_time().await
                    }
                    None => joined.landed().await,
                }
            };
            // Also for the leader: its fetch may be part of a call that others have more time for.
            let ended = tokio::select! {
                biased;
                ended = timeout_at(asker.patience, ended) => ended.map_err(|_| too_late())?,
                // A part that nobody waits for keeps no other fetch alive.
                () = asker.audience.gone() => return Err(nobody_waits()),
            };
            match ended {
                Ok(outcome) => return self.landed(key, outcome, how),
                // Our own task was dropped, which only the end of the runtime does.
                Err(Deserted::Left) if how == Outcome::Miss => return Err(Error::busy()),
                Err(Deserted::ForItself | Deserted::Left) => {}
                Err(Deserted::Panicked) if may_replace => may_replace = false,
                Err(Deserted::Overdue(joined)) => (late, may_replace) = (Some(joined), false),
                Err(Deserted::Panicked) => return Err(Error::bug("two leaders panicked")),
            }
        }
    }

    /// Has it asked for, or waits for whoever has. `Err` where neither is needed.
    fn take_part(
        self: &Arc<Self>,
        key: &Key,
        asker: &Scope,
        renewal: Option<Renewal>,
        fetch: impl FnOnce(Audience) -> BoxFuture<'static, Result<Bytes>>,
    ) -> Result<(Joined, Outcome), Result<Cached>> {
        match self.board(key, asker.want, patience(key.resource), Urgency::Interactive) {
            Err(found) => Err(self.serve(key, &found, Outcome::Hit)),
            Ok(Boarding::Failed(error)) => Err(Err(error)),
            Ok(Boarding::Join(joined)) => Ok((joined, Outcome::Coalesced)),
            Ok(Boarding::Lead(lead, joined)) => {
                let Some(place) = self.place(asker) else {
                    // Told to those who joined meanwhile too: they would find no place either.
                    lead.land(Err(Error::busy()));
                    return Err(Err(Error::busy()));
                };
                // What is known already is renewed to the end, whoever waits for that.
                let audience = match renewal {
                    Some(_) => Audience::of_lasting([lead.seats.clone()]),
                    None => Audience::of([lead.seats.clone()]).part_of(&asker.audience),
                };
                self.depart(lead, key, renewal, place, fetch(audience));
                Ok((joined, Outcome::Miss))
            }
        }
    }

    /// Renews what is good for a while yet, unless somebody does already.
    pub(super) fn renew(
        self: &Arc<Self>,
        key: &Key,
        asker: &Scope,
        fetch: impl Fn(Scope) -> BoxFuture<'static, Result<Bytes>>,
    ) {
        if asker.is_down(key.resource) {
            return;
        }
        let Some(renewal) = self.renewals(key.resource).begin(Instant::now()) else { return };
        let boarding = self.board(key, Want::Usual, patience(key.resource), Urgency::Interactive);
        if let Ok(Boarding::Lead(lead, _)) = boarding {
            let on_the_house = Scope {
                bill: Bill::default(),
                audience: Audience::of_lasting([lead.seats.clone()]),
                patience: asker.deadline,
                has_slot: true,
                ..asker.clone()
            };
            self.depart(lead, key, Some(renewal), None, fetch(on_the_house));
        }
    }

    /// A slot for an uncached fetch; `None` if all are taken. A nested fetch needs no slot of its own: it could
    /// never finish once the outer fetch holds the last one.
    pub(super) fn place(&self, asker: &Scope) -> Option<Option<OwnedSemaphorePermit>> {
        match asker.has_slot {
            true => Some(None),
            false => Arc::clone(&self.misses).try_acquire_owned().ok().map(Some),
        }
    }

    /// Begins to renew what somebody waits for. `None` where the platform is better left alone.
    pub(super) fn begin_waited_for(&self, key: &Key, asker: &Scope) -> Option<Renewal> {
        if asker.is_down(key.resource) {
            return None;
        }
        self.renewals(key.resource).begin_waited_for(Instant::now())
    }

    fn depart(
        self: &Arc<Self>,
        lead: Lead,
        key: &Key,
        renewal: Option<Renewal>,
        place: Option<OwnedSemaphorePermit>,
        fetching: BoxFuture<'static, Result<Bytes>>,
    ) {
        let (cache, key) = (Arc::clone(self), key.clone());
        crate::upstream::traced::spawn(async move {
            let outcome = cache.keep(&key, fetching.await);
            if let Some(renewal) = renewal {
                renewal.end(&outcome);
            }
            drop(place);
            lead.land(outcome);
        });
    }

    pub(super) fn board(
        &self,
        key: &Key,
        want: Want,
        patience: Duration,
        urgency: Urgency,
    ) -> Result<Boarding, Found> {
        let came_meanwhile = || {
            let record = self.tiers.peek(&key.text, self.clock.now())?;
            let found = self.judged(key, record);
            (want != Want::Newest && found.state() == State::Fresh).then_some(found)
        };
        self.flights.board(&key.text, patience, urgency, came_meanwhile)
    }
}

/// How long those who wait for one who asks do so. Where many exchanges follow each other, it has a
/// deadline of its own and is left to it.
pub(super) fn patience(resource: Resource) -> Duration {
    match resource {
        Resource::Video | Resource::Channel | Resource::Regions => FLIGHT_PATIENCE,
        Resource::Uploads
        | Resource::Playlist
        | Resource::Comments
        | Resource::Tracks
        | Resource::Transcript => FOREVER,
    }
}

/// Whether it failed for want of the asker's own time, of which others may have more.
fn is_out_of_time(error: &Error) -> bool {
    error.kind() == ErrorKind::Timeout || error.reason() == Some(Reason::Paced)
}
