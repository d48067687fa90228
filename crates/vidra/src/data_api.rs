//! The Data API. It admits a call, charges the ledger, sends attempts, retries, and classifies the
//! response.

pub(crate) mod call;
pub(crate) mod classify;
mod fault;
mod hold;
pub(crate) mod pages;
pub(crate) mod wire;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use crate::clock::Clock;
use crate::context::{Charged, Context, Refused, no_waiters};
use crate::error::{Error, ErrorKind, Reason, Result};
use crate::quota::{Ledger, Quota};
use crate::resilience::breaker::Breaker;
use crate::resilience::outcome::CallOutcome;
use crate::resilience::send::{Fault, Sender, Unanswered};
use crate::transport::{Failure, Transport};
use call::{Call, Endpoint};

pub(crate) use hold::Holds;

/// The service's key for the Data API. Its `Debug` output is `***`.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Creates a key from its configured text. `None` if it is empty or not valid in a header.
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

/// The client of the Data API, shared by all operations.
pub(crate) struct DataApi {
    /// The base URL, without a trailing slash.
    pub(crate) base: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) holds: Holds,
    pub(crate) sender: Sender,
    /// The breaker of all calls except searches, which can fail on their own.
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) search_breaker: Arc<Breaker>,
    /// Whether YouTube rejected the key in its last answer about it.
    pub(crate) key_rejected: AtomicBool,
}

impl DataApi {
    fn breaker(&self, endpoint: Endpoint) -> &Arc<Breaker> {
        match endpoint {
            Endpoint::Search => &self.search_breaker,
            _ => &self.breaker,
        }
    }

    /// Removes the key from external text, because YouTube has been seen to quote it.
    fn redacted(&self, text: &str) -> String {
        let key = self.key.as_ref().and_then(|ApiKey(key)| key.to_str().ok());
        key.map_or_else(|| text.to_owned(), |key| text.replace(key, "***"))
    }
}

impl DataApi {
    /// Sends one call with retries, and decodes its response. Each attempt that is sent costs the
    /// call's units.
    ///
    /// # Errors
    ///
    /// The error of the last attempt. An error that concerns one caller is marked as such, so that
    /// a follower retries.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, ctx: &Context, call: &Call) -> Result<T> {
        let attempt = |is_retry| async move {
            self.wait_for_hold(ctx, call).await.map_err(Fault::permanent)?;
            self.attempt(ctx, call, is_retry).await
        };
        let fetched = self.sender.with_retries(ctx, self.breaker(call.endpoint), attempt).await;
        match &fetched {
            Ok(_) => self.key_rejected.store(false, Ordering::Relaxed),
            Err(error) if error.kind() == ErrorKind::UpstreamKey => {
                self.key_rejected.store(true, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        fetched
    }

    /// Waits for the end of a pause that YouTube requested, or fails if the pause is too long.
    async fn wait_for_hold(&self, ctx: &Context, call: &Call) -> Result<()> {
        let bucket = call.endpoint.bucket();
        while let Some(hold) = self.holds.left(bucket, Instant::now()) {
            let left = ctx.left();
            let wait = self.sender.retry.after_hold(hold, left, fastrand::f64());
            let Some(wait) = wait else {
                let error = Fault::held(hold).error;
                // A follower may have time for a wait that exceeds the leader's deadline.
                let is_short = self.sender.retry.after_hold(hold, Duration::MAX, 0.0).is_some();
                return Err(if is_short { error.for_one_caller() } else { error });
            };
            tokio::select! {
                biased;
                () = ctx.waiters.gone() => return Err(no_waiters()),
                () = sleep(wait) => {}
            }
        }
        Ok(())
    }

    /// Charges and sends one attempt.
    async fn attempt<T: DeserializeOwned>(
        &self,
        ctx: &Context,
        call: &Call,
        is_retry: bool,
    ) -> Result<T, Fault> {
        if ctx.waiters.is_gone() {
            return Err(Fault::permanent(no_waiters()));
        }
        let request = self.request(call)?;
        let (endpoint, breaker) = (call.endpoint.path(), self.breaker(call.endpoint));
        let attempt = self.sender.begin(endpoint, breaker, is_retry).map_err(Fault::failing)?;
        let charged = self.charge(ctx, call).await?;
        // The charge may have been slow. Dropping the guard refunds it.
        if ctx.left().is_zero() {
            return Err(Fault::out_of_time(call));
        }
        if ctx.waiters.is_gone() {
            return Err(Fault::permanent(no_waiters()));
        }
        let charge = charged.sent();
        tracing::debug!(endpoint, "sending request");
        match attempt.exchange(&*self.transport, request, ctx).await {
            Err(Unanswered::Failed(failure)) => {
                if let Failure::NotSent(_) = failure {
                    let (bill, now) = (ctx.bill.clone(), self.clock.now());
                    // Before the next attempt is charged. The refund completes even if the caller
                    // leaves.
                    let refund = move |ledger: &Arc<Ledger>| bill.refund(ledger, &charge, now);
                    let _ = self.with_ledger(ctx, call, refund).await;
                }
                Err(self.fault_of(&failure, call))
            }
            Err(Unanswered::DeadlinePassed) => Err(Fault::out_of_time(call)),
            Ok((answer, attempt)) if answer.status.is_success() => {
                let read = serde_json::from_slice(&answer.body);
                match &read {
                    Ok(_) => attempt.end(CallOutcome::Ok),
                    // One unexpected response says nothing about other calls.
                    Err(error) if error.is_data() => attempt.end_uncounted(CallOutcome::Unreadable),
                    Err(_) => attempt.end(CallOutcome::Unreadable),
                }
                read.map_err(|error| Fault::unreadable(self.redacted(&error.to_string())))
            }
            Ok((answer, attempt)) => {
                attempt.end(CallOutcome::of_answer(&answer));
                let now = self.clock.now();
                let verdict = classify::refusal(&answer, call, now, |text| self.redacted(text));
                if let Some(pause) = verdict.pause {
                    self.holds.hold(call.endpoint.bucket(), pause, Instant::now());
                }
                let Some(empty) = verdict.empty else { return Err(verdict.fault) };
                let named = empty.named;
                let spent =
                    self.with_ledger(ctx, call, move |ledger| ledger.exhaust(&charge, named, now));
                Err(Fault::spent(spent.await?))
            }
        }
    }

    fn fault_of(&self, failure: &Failure, call: &Call) -> Fault {
        let source = self.redacted(&failure.to_string());
        let error = |reason, message| Error::new(reason, message).with_source(source);
        match failure {
            Failure::NotSent(_) => {
                Fault::transient(error(Reason::Unreachable, "YouTube could not be reached"))
            }
            Failure::Broken(_) => {
                Fault::transient(error(Reason::UpstreamFailed, "The connection to YouTube broke"))
            }
            Failure::TimedOut => Fault::timeout(call),
            Failure::TooLarge => {
                Fault::permanent(error(Reason::UpstreamFailed, "YouTube's answer is too large"))
            }
        }
    }

    fn request(&self, call: &Call) -> Result<Request<Bytes>, Fault> {
        let key = self.key.as_ref().ok_or_else(Fault::no_key)?;
        Request::get(format!("{}/{}", self.base, call.target()))
            // In a header and never in the URL, because URLs end up in logs.
            .header("x-goog-api-key", key.0.clone())
            .header(header::ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(Fault::internal)
    }

    async fn charge(&self, ctx: &Context, call: &Call) -> Result<Charged, Fault> {
        let (bucket, bill) = (call.endpoint.bucket(), ctx.bill.clone());
        let clock = Arc::clone(&self.clock);
        let charge = move |ledger: &Arc<Ledger>| bill.charge_guarded(ledger, &clock, bucket);
        self.with_ledger(ctx, call, charge).await?.map_err(|refused| match refused {
            Refused::QuotaExhausted(spent) => Fault::spent(spent),
            Refused::BudgetExhausted(spent) => Fault::budget_spent(spent),
        })
    }

    /// Reports the state of the daily quota.
    pub(crate) async fn quota(&self, ctx: &Context) -> Result<Quota> {
        let now = self.clock.now();
        let quota = self.ledger.run(move |ledger| ledger.quota(now));
        match timeout_at(ctx.deadline, quota).await {
            Ok(quota) => quota.map_err(Error::internal),
            Err(_elapsed) => Err(Error::new(Reason::TimedOut, "The quota ledger is too slow")),
        }
    }

    /// Runs `work` on the ledger, within the deadline.
    async fn with_ledger<T: Send + 'static>(
        &self,
        ctx: &Context,
        call: &Call,
        work: impl FnOnce(&Arc<Ledger>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        match timeout_at(ctx.deadline, self.ledger.run(work)).await {
            Ok(done) => done.map_err(Fault::internal),
            Err(_elapsed) => Err(Fault::out_of_time(call)),
        }
    }
}
