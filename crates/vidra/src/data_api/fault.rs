//! The errors of calls to the Data API.

use std::error::Error as StdError;
use std::time::Duration;

use super::call::Call;
use crate::error::{Error, Reason};
use crate::quota::{Bucket, Spent};
use crate::resilience::send::Fault;

impl Fault {
    pub(super) fn no_key() -> Self {
        let message = "The service has no key for the YouTube Data API";
        Self::permanent(Error::new(Reason::UpstreamKeyMissing, message))
    }

    pub(super) fn spent(spent: Spent) -> Self {
        let (reason, what) = match spent.bucket {
            Bucket::Default => (Reason::QuotaExhausted, "daily YouTube quota of this service"),
            Bucket::Search => (Reason::SearchQuotaExhausted, "daily search quota of this service"),
        };
        Self::permanent(used_up(reason, what, spent))
    }

    /// The rest of the quota is reserved for interactive requests, which can still pay.
    pub(super) fn reserved(spent: Spent) -> Self {
        let message = "The rest of the daily YouTube quota of this service is reserved for interactive requests; it \
            is renewed at midnight Pacific time";
        let error = Error::new(Reason::QuotaExhausted, message);
        Self::permanent(error.with_retry_after(Some(spent.resets_in)).for_one_caller())
    }

    /// The budget of one caller is exhausted. Other callers have their own.
    pub(super) fn budget_spent(spent: Spent) -> Self {
        let what = match spent.bucket {
            Bucket::Default => "daily budget of YouTube quota",
            Bucket::Search => "daily budget of searches",
        };
        let what = format!("{what} of this caller");
        Self::permanent(used_up(Reason::CallerBudgetExhausted, &what, spent).for_one_caller())
    }

    pub(super) fn failing(wait: Duration) -> Self {
        let message = "YouTube fails; the service retries in a moment";
        Self::permanent(Error::new(Reason::Failing, message).with_retry_after(Some(wait)))
    }

    pub(super) fn timeout(call: &Call) -> Self {
        let message = format!("YouTube did not answer in time ({})", call.endpoint.path());
        Self::transient(Error::new(Reason::TimedOut, message))
    }

    /// The operation's own deadline has passed. Followers of the same fetch may have more time.
    pub(super) fn out_of_time(call: &Call) -> Self {
        let Self { error, .. } = Self::timeout(call);
        Self::permanent(error.for_one_caller())
    }

    /// YouTube requested a pause that is longer than the caller can wait.
    pub(super) fn held(wait: Duration) -> Self {
        Self::permanent(slow_down().with_retry_after(Some(wait)))
    }

    pub(super) fn unreadable(cause: String) -> Self {
        let message = "YouTube's answer could not be read";
        Self::transient(Error::new(Reason::UpstreamFailed, message).with_source(cause))
    }

    pub(super) fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::permanent(Error::internal(source))
    }
}

fn used_up(reason: Reason, what: &str, Spent { resets_in, .. }: Spent) -> Error {
    let message = format!("The {what} is used up; it is renewed at midnight Pacific time");
    Error::new(reason, message).with_retry_after(Some(resets_in))
}

pub(super) fn slow_down() -> Error {
    Error::new(Reason::UpstreamRateLimited, "YouTube limits the requests of this service")
}
