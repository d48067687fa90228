//! Who asks: joining a flight, leading one, renewing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use super::flight::{self, Boarding, Deserted, Joined, Lead};
use super::freshness::{Resource, State};
use super::renewal::Renewal;
use super::{Cache, Cached, Found, Key, Outcome, Want, is_trouble, too_late};
use crate::client::FOREVER;
use crate::error::{Error, ErrorKind, Result};
use crate::transcript::reason::Reason;
use crate::upstream::Cost;
use crate::upstream::transport::BoxFuture;
use crate::upstream::web::Place;

/// How long one who asks may take before another asks in its place, where a single exchange will do.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(10);

impl Cache {
    /// Asks, unless somebody does already; in that one's place where it leaves.
    pub(super) async fn do_once<F>(
        &self,
        key: &Key,
        want: Want,
        deadline: Instant,
        place: &Place,
        work: impl Fn() -> F,
    ) -> Result<Cached>
    where
        F: Future<Output = Result<Bytes>>,
    {
        loop {
            match self.board(key, want, FOREVER) {
                Err(found) => return self.serve(key, &found, Outcome::Hit),
                Ok(Boarding::Failed(error)) => return Err(error),
                Ok(Boarding::Lead(lead, _)) => {
                    let outcome = self.keep(key, work().await);
                    if !outcome.as_ref().is_err_and(is_out_of_time) {
                        lead.land(outcome.clone());
                    }
                    return self.landed(key, outcome, Outcome::Miss);
                }
                Ok(Boarding::Join(joined)) => {
                    match timeout_at(deadline, place.aside(joined.landed())).await {
                        Ok(Ok(outcome)) => return self.landed(key, outcome, Outcome::Coalesced),
                        Ok(Err(_)) => {}
                        Err(_) => return Err(too_late()),
                    }
                }
            }
        }
    }

    /// Joins the flight for `key` or leads one, and once more where it was deserted. A flight that is
    /// overdue may still land first.
    pub(super) async fn fly(
        self: &Arc<Self>,
        key: &Key,
        want: Want,
        deadline: Instant,
        cost: &Cost,
        fetch: &impl Fn(Cost) -> BoxFuture<'static, Result<Bytes>>,
        renewal: Option<Renewal>,
    ) -> Result<Cached> {
        let take_part = |renewal| self.take_part(key, want, renewal, || fetch(cost.clone()));
        let (joined, how) = match take_part(renewal) {
            Ok(part) => part,
            Err(settled) => return settled,
        };
        let ended = match how {
            Outcome::Miss => joined.landed().await,
            _ => match timeout_at(deadline, joined.landed_in_time()).await {
                Ok(ended) => ended,
                Err(_) => return Err(too_late()),
            },
        };
        let late = match ended {
            Ok(outcome) => return self.landed(key, outcome, how),
            Err(Deserted::WithoutAWord) => None,
            Err(Deserted::Overdue(joined)) => Some(joined),
        };
        let (joined, how) = match take_part(None) {
            Ok(part) => part,
            Err(settled) => return settled,
        };
        let ended = async {
            match late {
                Some(late) => flight::first(late, joined).await,
                None => joined.landed().await,
            }
        };
        match timeout_at(deadline, ended).await {
            Ok(Ok(outcome)) => self.landed(key, outcome, how),
            Ok(Err(_)) => Err(Error::bug("those who asked ended without a word")),
            Err(_) => Err(too_late()),
        }
    }

    /// Has it asked for, or waits for whoever has. `Err` where neither is needed.
    fn take_part(
        self: &Arc<Self>,
        key: &Key,
        want: Want,
        renewal: Option<Renewal>,
        fetch: impl FnOnce() -> BoxFuture<'static, Result<Bytes>>,
    ) -> Result<(Joined, Outcome), Result<Cached>> {
        match self.board(key, want, patience(key.resource)) {
            Err(found) => Err(self.serve(key, &found, Outcome::Hit)),
            Ok(Boarding::Failed(error)) => Err(Err(error)),
            Ok(Boarding::Join(joined)) => Ok((joined, Outcome::Coalesced)),
            Ok(Boarding::Lead(lead, joined)) => {
                self.depart(lead, key, renewal, fetch());
                Ok((joined, Outcome::Miss))
            }
        }
    }

    /// Renews what is good for a while yet, unless somebody does already.
    pub(super) fn renew(
        self: &Arc<Self>,
        key: &Key,
        fetch: impl Fn(Cost) -> BoxFuture<'static, Result<Bytes>>,
    ) {
        let Some(renewal) = self.renewals(key.resource).begin(Instant::now()) else { return };
        if let Ok(Boarding::Lead(lead, _)) = self.board(key, Want::Usual, patience(key.resource)) {
            self.depart(lead, key, Some(renewal), fetch(Cost::default()));
        }
    }

    fn depart(
        self: &Arc<Self>,
        lead: Lead,
        key: &Key,
        renewal: Option<Renewal>,
        fetching: BoxFuture<'static, Result<Bytes>>,
    ) {
        let (cache, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            let outcome = cache.keep(&key, fetching.await);
            if let Some(renewal) = renewal {
                renewal.end(outcome.as_ref().is_err_and(is_trouble));
            }
            lead.land(outcome);
        });
    }

    pub(super) fn board(
        &self,
        key: &Key,
        want: Want,
        patience: Duration,
    ) -> Result<Boarding, Found> {
        let came_meanwhile = || {
            let record = self.tiers.peek(&key.text, self.clock.now())?;
            let found = self.judged(key, record);
            (want == Want::Usual && found.state() == State::Fresh).then_some(found)
        };
        self.flights.board(&key.text, patience, came_meanwhile)
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
