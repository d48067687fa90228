//! Sends the requests of one interface: circuit breaker, timeout, counters, and retries within a
//! budget.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::time::{Instant, sleep, timeout};

use super::breaker::{Breaker, Pass};
use super::outcome::CallOutcome;
use super::retry::{RetryBudget, RetryPolicy};
use super::traffic::Traffic;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::transport::{Answer, Failure, Transport, traced};

/// The sender of one interface, shared by all operations.
pub(crate) struct Sender {
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: RetryBudget,
    pub(crate) traffic: Arc<Traffic>,
    /// The timeout of one attempt. The deadline of the operation can shorten it.
    pub(crate) attempt_timeout: Duration,
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: Error,
    /// Whether a retry can succeed.
    pub(crate) is_transient: bool,
    /// The `Retry-After` header, if YouTube sent one.
    pub(crate) retry_after: Option<Duration>,
}

impl Fault {
    /// A temporary fault: a retry can succeed.
    pub(crate) fn transient(error: Error) -> Self {
        Self { error, is_transient: true, retry_after: None }
    }

    /// A permanent fault: a retry would fail too.
    pub(crate) fn permanent(error: Error) -> Self {
        Self { error, is_transient: false, retry_after: None }
    }
}

/// An attempt that its circuit breaker has admitted. If it is dropped without an outcome, it says
/// nothing about YouTube.
pub(crate) struct Attempt<'a> {
    sender: &'a Sender,
    endpoint: &'static str,
    is_retry: bool,
    pass: Pass,
    started: Instant,
}

/// Why an exchange ended without a response.
pub(crate) enum Unanswered {
    Failed(Failure),
    /// The deadline of the operation came before the timeout of the attempt.
    DeadlinePassed,
}

impl Sender {
    /// Repeats `attempt` until it succeeds or a retry is useless. `attempt` gets whether it is a
    /// retry. No retry starts after `breaker` has opened, or beyond the retry budget.
    ///
    /// # Errors
    ///
    /// The error of the last attempt. If only the deadline prevents a retry, the error concerns
    /// one caller, because a follower may have more time.
    pub(crate) async fn with_retries<T, F>(
        &self,
        ctx: &Context,
        breaker: &Breaker,
        attempt: impl Fn(bool) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let mut failed = 0;
        loop {
            let Fault { error, is_transient, retry_after } = match attempt(failed > 0).await {
                Ok(done) => return Ok(done),
                Err(fault) => fault,
            };
            failed += 1;
            let wait = self.retry.wait(failed, retry_after, Duration::MAX, fastrand::f64());
            let is_open = || breaker.refuses(Instant::now()).is_some();
            let Some(wait) = wait.filter(|_| is_transient && !is_open()) else {
                return Err(error);
            };
            if wait >= ctx.left() {
                return Err(error.for_one_caller());
            }
            if !self.budget.spend() {
                return Err(error);
            }
            self.traffic.note_retry();
            // Even a timer of zero takes a millisecond.
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }

    /// Begins an attempt, or returns the remaining pause of the circuit breaker.
    pub(crate) fn begin(
        &self,
        endpoint: &'static str,
        breaker: &Arc<Breaker>,
        is_retry: bool,
    ) -> Result<Attempt<'_>, Duration> {
        let pass = breaker.admit(Instant::now())?;
        if !is_retry {
            self.budget.earn();
        }
        Ok(Attempt { sender: self, endpoint, is_retry, pass, started: Instant::now() })
    }
}

impl Attempt<'_> {
    /// Sends the request. The caller records the outcome of a response; a missing response is
    /// recorded here.
    pub(crate) async fn exchange(
        mut self,
        transport: &dyn Transport,
        request: Request<Bytes>,
        ctx: &Context,
    ) -> Result<(Answer, Self), Unanswered> {
        let usual = self.sender.attempt_timeout;
        let limit = usual.min(ctx.left());
        self.started = Instant::now();
        ctx.bill.cost.note_call();
        let exchanged = timeout(limit, traced::exchange(transport, self.endpoint, request)).await;
        ctx.bill.cost.note_time(self.started.elapsed());
        match exchanged {
            Ok(Ok(answer)) => Ok((answer, self)),
            Ok(Err(failure)) => {
                self.end(CallOutcome::of_failure(&failure));
                Err(Unanswered::Failed(failure))
            }
            Err(_elapsed) => {
                self.end(CallOutcome::out_of_time(limit, usual));
                Err(match limit < usual {
                    true => Unanswered::DeadlinePassed,
                    false => Unanswered::Failed(Failure::TimedOut),
                })
            }
        }
    }

    /// Records the outcome of the response.
    pub(crate) fn end(self, outcome: CallOutcome) {
        self.count(outcome);
        self.pass.end(outcome, self.is_retry);
    }

    /// Records an outcome that says nothing about other requests.
    pub(crate) fn end_uncounted(self, outcome: CallOutcome) {
        self.count(outcome);
    }

    fn count(&self, outcome: CallOutcome) {
        self.sender.traffic.note(self.endpoint, outcome, self.started.elapsed());
    }
}
