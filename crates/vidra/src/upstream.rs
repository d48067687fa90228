//! Asks the platform: charges the ledger, attempts, retries, decides what an answer means.
//!
//! Everything above this module says *what* to ask for as a `Call`; this module decides when and
//! how often, and is the only place where errors of the platform are made.

mod bill;
pub(crate) mod breaker;
pub(crate) mod call;
mod classify;
pub(crate) mod egress;
pub(crate) mod ending;
mod fault;
mod hold;
pub(crate) mod pace;
mod pages;
pub mod quota;
pub(crate) mod resolver;
pub(crate) mod retry;
pub(crate) mod traced;
pub(crate) mod traffic;
pub mod transport;
pub(crate) mod web;
pub(crate) mod wire;

use std::fmt;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::cache::audience::Audience;
use crate::cache::freshness::Resource;
use crate::cache::gather::Gather;
use crate::cache::{Cache, Key, Known, Want};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{channel, video};
use crate::ident::VideoId;
use crate::transcript::Reason;
use crate::video::Video;
use bill::{Charged, Refused};
use breaker::Breaker;
use call::{Call, Endpoint};
use ending::Ending;
use fault::Fault;
use quota::{Ledger, Quota};
use retry::{RetryBudget, RetryPolicy};
use traffic::{Traffic, Whom};
use transport::{Answer, Failure, Transport};
use web::{Load, Web};

pub(crate) use bill::Bill;
pub use bill::Cost;
pub(crate) use fault::nobody_waits;
pub(crate) use hold::Holds;

/// The server's own key to the Data API. Printing it in any way gives `***`.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Takes a key as it was configured; `None` where it is empty or could not be sent in a header.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        let mut value = HeaderValue::from_str(key).ok().filter(|_| !key.is_empty())?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The way to the platform, shared by all requests.
pub(crate) struct Upstream {
    /// The Data API's address, without a slash at its end.
    pub(crate) base: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) holds: Holds,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: RetryBudget,
    /// Of everything but searches, which may fail by themselves.
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) search_breaker: Arc<Breaker>,
    pub(crate) traffic: Arc<Traffic>,
    /// Whether the platform's last word on the key was no.
    pub(crate) key_rejected: AtomicBool,
    /// How long one attempt may take; never more than what is left of the request's deadline.
    pub(crate) attempt_timeout: Duration,
}

impl Upstream {
    fn breaker(&self, endpoint: Endpoint) -> &Arc<Breaker> {
        match endpoint {
            Endpoint::Search => &self.search_breaker,
            _ => &self.breaker,
        }
    }

    /// Text from outside, without the key: the platform has been seen to quote it.
    fn redacted(&self, text: &str) -> String {
        let key = self.key.as_ref().and_then(|ApiKey(key)| key.to_str().ok());
        key.map_or_else(|| text.to_owned(), |key| text.replace(key, "***"))
    }
}

/// Why an exchange ended without an answer.
enum Unanswered {
    /// Nothing has left this machine, so nothing is billed.
    NotSent(Failure),
    /// It may have been received and billed.
    Sent(Failure),
    /// It took longer than it was given.
    TooLate(Duration),
}

/// One request of a caller on its way through: all its calls share a deadline and a bill.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) web: Arc<Web>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) gathers: Arc<Gathers>,
    pub(crate) want: Want,
    /// When the work has to be done.
    pub(crate) deadline: Instant,
    /// Until when the caller waits, which may be less: others may wait for the same work.
    pub(crate) patience: Instant,
    pub(crate) bill: Bill,
    pub(crate) audience: Audience,
    /// Whether this is a part of a fetch that has a slot.
    pub(crate) has_slot: bool,
}

/// Single lookups that are gathered into calls of fifty.
pub(crate) struct Gathers {
    pub(crate) videos: Arc<Gather<VideoId, Video>>,
    pub(crate) channels: Arc<Gather<String, wire::Channel>>,
}

impl Scope {
    /// What is known of these and need not be asked for; for one who wants the newest that is nothing.
    pub(crate) async fn known(&self, keys: &[Key]) -> Vec<Option<Known>> {
        match self.want {
            Want::Usual | Want::Fresh => self.cache.known(keys).await,
            Want::Newest => keys.iter().map(|_| None).collect(),
        }
    }

    /// This scope for the parts of a new record: a new record must not contain stale parts.
    pub(crate) fn for_parts(&self) -> Self {
        let want = if self.want == Want::Usual { Want::Fresh } else { self.want };
        Self { want, ..self.clone() }
    }

    /// The same for one.
    pub(crate) async fn known_one(&self, key: &Key) -> Option<Known> {
        self.known(slice::from_ref(key)).await.remove(0)
    }

    /// Whether the platform fails, as far as what is of this kind is concerned: what is known is then
    /// better than asking.
    pub(crate) fn is_down(&self, resource: Resource) -> bool {
        let now = Instant::now();
        match resource.is_from_data_api() {
            true => self.upstream.breaker.refuses(now).is_some(),
            // Which tracks there are is the player's to say; what is in them is not.
            false if resource == Resource::Tracks => {
                self.web.egresses.are_failing(Load::Player, now)
            }
            false => self.web.egresses.are_failing(Load::Captions, now),
        }
    }

    /// Sends one call, retrying what is worth it, and decodes its answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: &Call) -> Result<T> {
        let upstream = &*self.upstream;
        let mut failed = 0;
        loop {
            self.wait_for_hold(call).await?;
            let fault = match self.attempt(call, failed > 0).await {
                Ok(decoded) => {
                    upstream.key_rejected.store(false, Ordering::Relaxed);
                    return Ok(decoded);
                }
                Err(fault) => fault,
            };
            if fault.error.kind() == ErrorKind::UpstreamKey {
                upstream.key_rejected.store(true, Ordering::Relaxed);
            }
            failed += 1;
            let left = self.deadline.saturating_duration_since(Instant::now());
            let wait =
                upstream.retry.wait(failed, fault.asked_wait, Duration::MAX, fastrand::f64());
            // A platform that has just been given up is not asked again.
            let is_open = || upstream.breaker(call.endpoint).refuses(Instant::now()).is_some();
            let wait = wait.filter(|_| fault.transient && !is_open());
            // A follower may have the time for a retry that the leader lacks.
            if wait.is_some_and(|wait| wait >= left) {
                return Err(fault.error.of_the_asker());
            }
            match wait.filter(|_| upstream.budget.spend()) {
                Some(wait) => {
                    upstream.traffic.note_retry();
                    sleep(wait).await;
                }
                None => return Err(fault.error),
            }
        }
    }

    /// Waits for the end of a pause that the platform requested, or fails if the pause is too long.
    async fn wait_for_hold(&self, call: &Call) -> Result<()> {
        let bucket = call.endpoint.bucket();
        while let Some(hold) = self.upstream.holds.left(bucket, Instant::now()) {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let wait = self.upstream.retry.after_hold(hold, left, fastrand::f64());
            let Some(wait) = wait else {
                let error = Fault::held(hold).error;
                // A follower may have the time to wait that the leader lacks.
                let is_short = self.upstream.retry.after_hold(hold, Duration::MAX, 0.0).is_some();
                return Err(if is_short { error.of_the_asker() } else { error });
            };
            tokio::select! {
                biased;
                () = self.audience.gone() => return Err(nobody_waits()),
                () = sleep(wait) => {}
            }
        }
        Ok(())
    }

    /// One charged attempt.
    async fn attempt<T: DeserializeOwned>(&self, call: &Call, is_retry: bool) -> Result<T, Fault> {
        if self.audience.is_gone() {
            return Err(Fault::lasting(nobody_waits()));
        }
        let request = self.request(call)?;
        let breaker = self.upstream.breaker(call.endpoint);
        let pass = breaker.admit(Instant::now()).map_err(Fault::failing)?;
        if !is_retry {
            self.upstream.budget.earn();
        }
        let charged = self.charge(call).await?;
        // The charge may have been slow. Dropping the guard refunds it.
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::out_of_time(call));
        }
        if self.audience.is_gone() {
            return Err(Fault::lasting(nobody_waits()));
        }
        let limit = self.upstream.attempt_timeout.min(left);
        let charge = charged.sent();
        let started = Instant::now();
        let note = |ending| {
            let whom = Whom::DataApi(call.endpoint);
            self.upstream.traffic.note(whom, ending, started.elapsed());
        };
        let end = |ending| {
            note(ending);
            pass.end(ending, is_retry);
        };
        match self.exchange(request, call, limit).await {
            Err(Unanswered::NotSent(failure)) => {
                end(Ending::of_failure(&failure));
                let (bill, now) = (self.bill.clone(), self.upstream.clock.now());
                // Before the next attempt is charged. The work goes on if the caller leaves now.
                let refund = move |ledger: &Arc<Ledger>| bill.refund(ledger, &charge, now);
                let _ = self.with_ledger(call, refund).await;
                Err(self.fault_of(&failure, call))
            }
            Err(Unanswered::Sent(failure)) => {
                end(Ending::of_failure(&failure));
                Err(self.fault_of(&failure, call))
            }
            Err(Unanswered::TooLate(limit)) => {
                end(Ending::out_of_time(limit, self.upstream.attempt_timeout));
                Err(if limit < self.upstream.attempt_timeout {
                    Fault::out_of_time(call)
                } else {
                    Fault::timeout(call)
                })
            }
            Ok(answer) if answer.status.is_success() => {
                let read = serde_json::from_slice(&answer.body);
                match &read {
                    Ok(_) => end(Ending::Ok),
                    // One answer of another shape says nothing about the others.
                    Err(error) if error.is_data() => note(Ending::Unreadable),
                    Err(_) => end(Ending::Unreadable),
                }
                read.map_err(|error| Fault::unreadable(self.upstream.redacted(&error.to_string())))
            }
            Ok(answer) => {
                end(Ending::of_answer(&answer));
                let now = self.upstream.clock.now();
                let verdict =
                    classify::refusal(&answer, call, now, |text| self.upstream.redacted(text));
                if let Some(pause) = verdict.pause {
                    self.upstream.holds.hold(call.endpoint.bucket(), pause, Instant::now());
                }
                let Some(empty) = verdict.empty else { return Err(verdict.fault) };
                let named = empty.named;
                let spent =
                    self.with_ledger(call, move |ledger| ledger.exhaust(&charge, named, now));
                Err(Fault::spent(spent.await?))
            }
        }
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        call: &Call,
        limit: Duration,
    ) -> Result<Answer, Unanswered> {
        let (transport, endpoint) = (&*self.upstream.transport, call.endpoint.path());
        tracing::debug!(endpoint, "asking");
        match timeout(limit, traced::exchange(transport, endpoint, request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure @ Failure::NotSent(_))) => Err(Unanswered::NotSent(failure)),
            Ok(Err(failure)) => Err(Unanswered::Sent(failure)),
            Err(_elapsed) => Err(Unanswered::TooLate(limit)),
        }
    }

    fn fault_of(&self, failure: &Failure, call: &Call) -> Fault {
        let cause = self.upstream.redacted(&failure.to_string());
        let upstream = |message| Error::new(ErrorKind::Upstream, message).because(cause);
        match failure {
            Failure::NotSent(_) | Failure::Broken(_) => {
                // In the words of transcripts, which have more of them.
                let reason = format!("reason: {}", Reason::Unreachable.code());
                Fault::passing(upstream("YouTube could not be reached").hint(&reason))
            }
            Failure::TimedOut => Fault::timeout(call),
            Failure::TooLarge => {
                Fault::lasting(upstream("YouTube's answer was too large to be one"))
            }
        }
    }

    fn request(&self, call: &Call) -> Result<Request<Bytes>, Fault> {
        let key = self.upstream.key.as_ref().ok_or_else(Fault::no_key)?;
        Request::get(format!("{}/{}", self.upstream.base, call.target()))
            // In a header and never in the URL: URLs end up in logs.
            .header("x-goog-api-key", key.0.clone())
            .header(header::ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(|error| Fault::bug(&error))
    }

    async fn charge(&self, call: &Call) -> Result<Charged, Fault> {
        let (bucket, bill) = (call.endpoint.bucket(), self.bill.clone());
        let clock = Arc::clone(&self.upstream.clock);
        let charge = move |ledger: &Arc<Ledger>| bill.charge_guarded(ledger, &clock, bucket);
        self.with_ledger(call, charge).await?.map_err(|refused| match refused {
            Refused::ByTheLedger(spent) => Fault::spent(spent),
            Refused::ByTheAllowance(spent) => Fault::share_spent(spent),
        })
    }

    /// What is left of the day.
    pub(crate) async fn quota(&self) -> Result<Quota> {
        let now = self.upstream.clock.now();
        let quota = self.upstream.ledger.run(move |ledger| ledger.quota(now));
        match timeout_at(self.patience, quota).await {
            Ok(quota) => quota.map_err(Error::bug),
            Err(_elapsed) => Err(Error::new(ErrorKind::Timeout, "The quota ledger is too slow")),
        }
    }

    /// Works on the ledger, within the deadline.
    async fn with_ledger<T: Send + 'static>(
        &self,
        call: &Call,
        work: impl FnOnce(&Arc<Ledger>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        match timeout_at(self.deadline, self.upstream.ledger.run(work)).await {
            Ok(done) => done.map_err(|error| Fault::bug(&error)),
            Err(_elapsed) => Err(Fault::out_of_time(call)),
        }
    }
}

/// The item that was asked for by `id`, or else one that does not tell its id. `None` where nothing
/// came; an error where only others did, because another's data must not pass for this one's.
pub(crate) fn the_one<T>(
    items: Vec<T>,
    what: &str,
    id: &str,
    id_of: impl Fn(&T) -> Option<&str>,
) -> Result<Option<T>> {
    let place = |wanted: Option<&str>| items.iter().position(|item| id_of(item) == wanted);
    match place(Some(id)).or_else(|| place(None)) {
        Some(index) => Ok(items.into_iter().nth(index)),
        None if items.is_empty() => Ok(None),
        None => Err(another(what)),
    }
}

pub(crate) fn another(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("YouTube answered with another {what}"))
}

impl Default for Gathers {
    fn default() -> Self {
        Self {
            videos: Arc::new(Gather::new("video", |scope, ids| {
                Box::pin(async move { video::list(&scope, &ids).await })
            })),
            channels: Arc::new(Gather::new("channel", |scope, ids| {
                Box::pin(async move { channel::list_by_id(&scope, &ids).await })
            })),
        }
    }
}
