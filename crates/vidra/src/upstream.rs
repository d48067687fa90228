//! Asks the platform: charges the ledger, attempts, retries, decides what an answer means.
//!
//! Everything above this module says *what* to ask for as a [`Call`]; this module decides when and
//! how often, and is the only place where errors of the platform are made.

pub mod call;
mod classify;
pub mod quota;
pub mod retry;
pub mod transport;
pub(crate) mod wire;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderValue, Request, header};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use crate::error::{Error, ErrorKind, Result};
use call::Call;
use classify::Fault;
use quota::{Bucket, Ledger, Quota, Spent};
use retry::{RetryBudget, RetryPolicy};
use transport::{Failure, Transport};
use wire::List;

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
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: RetryBudget,
    /// How long one attempt may take; never more than what is left of the request's deadline.
    pub(crate) attempt_timeout: Duration,
}

/// The upstream units that something has cost so far. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Cost(Arc<AtomicU32>);

impl Cost {
    /// The units so far.
    pub fn units(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, units: u32) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }
}

/// One request of a caller on its way through: all its calls share a deadline and a bill.
pub(crate) struct Scope {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) deadline: Instant,
    pub(crate) cost: Cost,
}

impl Scope {
    /// Sends one call, retrying what is worth it, and decodes its answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: &Call) -> Result<T> {
        let upstream = &*self.upstream;
        upstream.budget.earn();
        let mut failed = 0;
        loop {
            let fault = match self.attempt(call).await {
                Ok(decoded) => return Ok(decoded),
                Err(fault) => fault,
            };
            failed += 1;
            let left = self.deadline.saturating_duration_since(Instant::now());
            let wait = upstream.retry.wait(failed, fault.asked_wait, left, fastrand::f64());
            match wait.filter(|_| fault.transient && upstream.budget.spend(Instant::now())) {
                Some(wait) => sleep(wait).await,
                None => return Err(fault.error),
            }
        }
    }

    /// One charged attempt.
    async fn attempt<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Fault> {
        let request = self.request(call)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::timeout(call));
        }
        let bucket = call.endpoint.bucket();
        self.cost.add(self.charge(bucket).await?);

        let upstream = &*self.upstream;
        let exchange = upstream.transport.exchange(request);
        let answer = match timeout(upstream.attempt_timeout.min(left), exchange).await {
            Err(_elapsed) => return Err(Fault::timeout(call)),
            Ok(Err(failure)) => return Err(Fault::no_answer(&failure, call)),
            Ok(Ok(answer)) => answer,
        };
        if answer.status.is_success() {
            return serde_json::from_slice(&answer.body).map_err(|error| Fault::unreadable(&error));
        }
        let verdict = classify::refusal(&answer, call);
        if verdict.bucket_is_empty {
            let spent = self.with_ledger(move |ledger, now| ledger.exhaust(bucket, now)).await?;
            return Err(Fault::spent(spent));
        }
        Err(verdict.fault)
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

    async fn charge(&self, bucket: Bucket) -> Result<u32, Fault> {
        self.with_ledger(move |ledger, now| ledger.charge(bucket, now)).await?.map_err(Fault::spent)
    }

    /// What is left of the day.
    pub(crate) async fn quota(&self) -> Result<Quota> {
        self.with_ledger(Ledger::quota).await.map_err(|fault| fault.error)
    }

    /// A ledger with a file works on a blocking thread, so that a slow disk stops no other request.
    async fn with_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Ledger, Timestamp) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let ledger = Arc::clone(&self.upstream.ledger);
        if !ledger.is_kept() {
            return Ok(work(&ledger, Timestamp::now()));
        }
        tokio::task::spawn_blocking(move || work(&ledger, Timestamp::now()))
            .await
            .map_err(|error| Fault::bug(&error))
    }

    /// Walks a list page by page. `nextPageToken` alone says whether there is more: short pages are
    /// not last pages, counts announce items that never come. A token seen before ends the walk.
    pub(crate) fn pages<T>(&self, call: Call) -> impl Stream<Item = Result<Vec<T>>>
    where
        T: DeserializeOwned,
    {
        let walk = Walk { call, next: Some(String::new()), seen: HashSet::new() };
        stream::try_unfold(walk, |mut walk| async {
            let Some(token) = walk.next.take() else { return Ok(None) };
            let call = walk.call.clone();
            let call = if token.is_empty() { call } else { call.with("pageToken", token) };
            let page: List<T> = self.fetch(&call).await?;
            walk.next = page
                .next_page_token
                .filter(|token| !token.is_empty() && walk.seen.insert(token.clone()));
            Ok(Some((page.items.unwrap_or_default(), walk)))
        })
    }

    /// One page of a list.
    pub(crate) async fn list<T: DeserializeOwned>(&self, call: &Call) -> Result<Vec<T>> {
        let page: List<T> = self.fetch(call).await?;
        Ok(page.items.unwrap_or_default())
    }
}

/// Where a walk through pages stands.
struct Walk {
    call: Call,
    /// The token of the page to ask for: empty for the first, `None` past the last.
    next: Option<String>,
    seen: HashSet<String>,
}

impl Fault {
    fn no_key() -> Self {
        let error = Error::new(ErrorKind::UpstreamKey, "No YouTube API key is configured");
        let hint = "set YOUTUBE_API_KEY or --api-key-file and start the service again";
        Self::lasting(error.hint(hint))
    }

    fn spent(Spent { bucket, resets_in }: Spent) -> Self {
        let what = match bucket {
            Bucket::Default => "quota",
            Bucket::Search => "search quota",
        };
        let message =
            format!("The day's YouTube {what} is used up; it is renewed at midnight Pacific time");
        let error = Error::new(ErrorKind::QuotaExhausted, message);
        Self::lasting(error.retry_in(Some(resets_in)))
    }

    fn timeout(call: &Call) -> Self {
        let message = format!("YouTube did not answer in time ({})", call.endpoint.path());
        Self::passing(Error::new(ErrorKind::Timeout, message))
    }

    fn no_answer(failure: &Failure, call: &Call) -> Self {
        let upstream =
            |message| Error::new(ErrorKind::Upstream, message).because(failure.to_string());
        match failure {
            Failure::Broken(_) => Self::passing(upstream("YouTube could not be reached")),
            Failure::TimedOut => Self::timeout(call),
            Failure::TooLarge => {
                Self::lasting(upstream("YouTube's answer was too large to be one"))
            }
        }
    }

    fn unreadable(error: &serde_json::Error) -> Self {
        let message = "YouTube's answer could not be read";
        Self::passing(Error::new(ErrorKind::Upstream, message).because(error.to_string()))
    }

    fn bug(error: &impl fmt::Display) -> Self {
        let message = "Something went wrong inside the service";
        Self::lasting(Error::new(ErrorKind::Internal, message).because(error.to_string()))
    }
}
