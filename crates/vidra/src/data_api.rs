//! The Data API. It admits a call, charges the ledger, sends attempts, retries, and classifies the
//! response.

pub(crate) mod account;
pub(crate) mod call;
pub(crate) mod classify;
mod fault;
mod hold;
pub(crate) mod pages;
pub(crate) mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use crate::clock::Clock;
use crate::context::{Charged, Context, Refused, no_waiters};
use crate::error::{Error, Reason, Result};
use crate::quota::{Ledger, NoGrant, Quota};
use crate::resilience::breaker::Breaker;
use crate::resilience::outcome::CallOutcome;
use crate::resilience::send::{Fault, Sender, Unanswered};
use crate::transport::{Failure, Transport};
use account::{Account, ApiKey, CurrentAccount};
use call::{Call, Endpoint};

/// The client of the Data API, shared by all operations.
pub(crate) struct DataApi {
    /// The base URL, without a trailing slash.
    pub(crate) base: String,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) account: CurrentAccount,
    pub(crate) sender: Sender,
    /// The breaker of all calls except searches, which can fail on their own.
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) search_breaker: Arc<Breaker>,
}

impl DataApi {
    fn breaker(&self, endpoint: Endpoint) -> &Arc<Breaker> {
        match endpoint {
            Endpoint::Search => &self.search_breaker,
            _ => &self.breaker,
        }
    }

    /// Replaces the key, and ends the pauses that YouTube requested. Returns `false` if it is the key in use.
    pub(crate) fn replace_key(&self, key: ApiKey) -> bool {
        self.account.replace(key)
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
            if let Some(wait) = self.breaker(call.endpoint).refuses(Instant::now()) {
                return Err(Fault::failing(wait));
            }
            self.wait_for_hold(ctx, call).await.map_err(Fault::permanent)?;
            self.attempt(ctx, call, is_retry).await
        };
        self.sender.with_retries(ctx, self.breaker(call.endpoint), attempt).await
    }

    /// Waits for the end of a pause that YouTube requested, or fails if the pause is too long.
    async fn wait_for_hold(&self, ctx: &Context, call: &Call) -> Result<()> {
        let bucket = call.endpoint.bucket();
        while let Some(hold) = self.account.get().holds.left(bucket, Instant::now()) {
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
        let account = self.account.get();
        let request = self.request(&account, call)?;
        let (endpoint, breaker) = (call.endpoint.path(), self.breaker(call.endpoint));
        let charged = self.charge(&account, ctx, call).await?;
        // The charge may have been slow. Dropping the guard refunds it.
        if ctx.left().is_zero() {
            return Err(Fault::out_of_time(call));
        }
        if ctx.waiters.is_gone() {
            return Err(Fault::permanent(no_waiters()));
        }
        // After the charge, because an attempt can be the only probe of a half-open breaker, and must not wait then.
        let attempt = self.sender.begin(endpoint, breaker, is_retry).map_err(Fault::failing)?;
        let charge = charged.sent();
        tracing::debug!(endpoint, "sending request");
        match attempt.exchange(&*self.transport, request, ctx).await {
            Err(Unanswered::Failed(failure)) => {
                if let Failure::NotSent(_) = failure {
                    let (bill, now) = (ctx.bill.clone(), self.clock.now());
                    // Before the next attempt is charged. The refund completes even if the caller
                    // leaves.
                    let refund = move |ledger: &Arc<Ledger>| bill.refund(ledger, &charge, now);
                    let _ = with_ledger(&account, ctx, call, refund).await;
                }
                Err(fault_of(&account, &failure, call))
            }
            Err(Unanswered::DeadlinePassed) => Err(Fault::out_of_time(call)),
            Ok((answer, attempt)) if answer.status.is_success() => {
                let read = serde_json::from_slice(&answer.body);
                match &read {
                    Ok(_) => {
                        account.set_rejected(false);
                        attempt.end(CallOutcome::Ok);
                    }
                    // One unexpected response says nothing about other calls.
                    Err(error) if error.is_data() => attempt.end_uncounted(CallOutcome::Unreadable),
                    Err(_) => attempt.end(CallOutcome::Unreadable),
                }
                read.map_err(|error| Fault::unreadable(account.redacted(&error.to_string())))
            }
            Ok((answer, attempt)) => {
                let now = self.clock.now();
                let refusal = classify::refusal(&answer, call, now, |text| account.redacted(text));
                attempt.end(refusal.outcome);
                if refusal.outcome == CallOutcome::KeyRejected {
                    account.set_rejected(true);
                }
                if let Some(pause) = refusal.pause {
                    account.holds.hold(call.endpoint.bucket(), pause, Instant::now());
                }
                let Some(empty) = refusal.empty else { return Err(refusal.fault) };
                let named = empty.named;
                let exhaust = move |ledger: &Arc<Ledger>| ledger.exhaust(&charge, named, now);
                Err(Fault::spent(with_ledger(&account, ctx, call, exhaust).await?))
            }
        }
    }

    fn request(&self, account: &Account, call: &Call) -> Result<Request<Bytes>, Fault> {
        let key = account.key.as_ref().ok_or_else(Fault::no_key)?;
        Request::get(format!("{}/{}", self.base, call.target()))
            // In a header and never in the URL, because URLs end up in logs.
            .header("x-goog-api-key", key.0.clone())
            .header(header::ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(Fault::internal)
    }

    async fn charge(
        &self,
        account: &Account,
        ctx: &Context,
        call: &Call,
    ) -> Result<Charged, Fault> {
        let bucket = call.endpoint.bucket();
        loop {
            let (bill, clock) = (ctx.bill.clone(), Arc::clone(&self.clock));
            let charge = move |ledger: &Arc<Ledger>| bill.charge_guarded(ledger, &clock, bucket);
            let needed = match with_ledger(account, ctx, call, charge).await? {
                Ok(charged) => return Ok(charged),
                Err(Refused::QuotaExhausted(spent)) => return Err(Fault::spent(spent)),
                Err(Refused::QuotaReserved(spent)) => return Err(Fault::reserved(spent)),
                Err(Refused::BudgetExhausted(spent)) => return Err(Fault::budget_spent(spent)),
                Err(Refused::NeedsGrant(needed)) => needed,
            };
            let taken = account.ledger.take_grant(&needed, self.clock.now());
            match timeout_at(ctx.deadline, taken).await {
                Ok(Ok(())) => {}
                Ok(Err(NoGrant::Spent(spent))) => return Err(Fault::spent(spent)),
                Ok(Err(NoGrant::Unavailable(error))) => return Err(Fault::permanent(error)),
                Err(_elapsed) => return Err(Fault::out_of_time(call)),
            }
        }
    }

    /// Reports the state of the daily quota.
    pub(crate) async fn quota(&self, ctx: &Context) -> Result<Quota> {
        let now = self.clock.now();
        let account = self.account.get();
        account.ledger.refresh().await;
        let quota = account.ledger.run(move |ledger| ledger.quota(now));
        match timeout_at(ctx.deadline, quota).await {
            Ok(quota) => quota.map_err(Error::internal),
            Err(_elapsed) => Err(Error::new(Reason::TimedOut, "The quota ledger is too slow")),
        }
    }
}

fn fault_of(account: &Account, failure: &Failure, call: &Call) -> Fault {
    let source = account.redacted(&failure.to_string());
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

/// Runs `work` on the ledger, within the deadline.
async fn with_ledger<T: Send + 'static>(
    account: &Account,
    ctx: &Context,
    call: &Call,
    work: impl FnOnce(&Arc<Ledger>) -> T + Send + 'static,
) -> Result<T, Fault> {
    match timeout_at(ctx.deadline, account.ledger.run(work)).await {
        Ok(done) => done.map_err(Fault::internal),
        Err(_elapsed) => Err(Fault::out_of_time(call)),
    }
}
