//! [`Vidra`], the client: its handles and their cost.

mod batches;
mod builder;
mod egress;
mod entries;
mod lists;
mod operations;
mod paging;
mod playlists;
mod record_lists;
pub(crate) mod report;
mod search;
mod several;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

pub use builder::{Builder, Pacing};

use crate::batch::Batches;
use crate::cache::freshness::{FOREVER, RenewalGroup};
use crate::cache::{CacheOutcome, Cached};
use crate::clock::Clock;
use crate::context::waiters::{Urgency, Waiters};
use crate::context::{Bill, CacheMode, Context, Cost, Slot};
use crate::data_api::account::ApiKey;
use crate::error::Result;
use crate::quota::Allowance;
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::Lookup;
use crate::spool::Body;
use crate::video::Include;

/// The message for a caller that polls an operation outside tokio.
const NEEDS_RUNTIME: &str = "vidra needs a tokio runtime: await this in a task of tokio, with time and I/O enabled, \
    or use vidra::blocking";

/// A client of YouTube. It is cheap to clone. Clones share connections, cache, quota ledger and
/// retry budget.
///
/// Every operation returns [`Error`](crate::Error) on failure and is safe to cancel by dropping its
/// future. A shared fetch continues while another caller waits for it. The units of requests that
/// were already sent stay charged.
///
/// Operations need a tokio runtime with time and I/O enabled. They panic with "vidra needs a tokio runtime" if they
/// are polled outside one. A program without a runtime can use `vidra::blocking` (feature `blocking`).
#[derive(Clone)]
pub struct Vidra {
    services: Arc<Services>,
    batches: Arc<Batches>,
    mode: CacheMode,
    /// The members of videos that are requested.
    include: Include,
    /// The time limit of a fetch, retries and pages included.
    deadline: Duration,
    /// The time limit of a caller of this handle.
    caller_limit: Duration,
    /// The time limit of a playlist batch.
    batch_deadline: Duration,
    /// The payer of this handle's operations, and their total cost.
    bill: Bill,
    urgency: Urgency,
}

impl Vidra {
    /// Returns a builder with default settings.
    ///
    /// ```
    /// use vidra::{ApiKey, ErrorKind, VideoId, Vidra};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> vidra::Result<()> {
    /// // Transcripts need no key. All other operations fail without one.
    /// let vidra = Vidra::builder().key(ApiKey::new("")).build()?;
    /// let error = vidra.video(VideoId::parse("dQw4w9WgXcQ")?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UpstreamKey);
    /// # Ok(()) }
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns a handle with its own cost counter, which starts at zero. [`Vidra::cost`] reads the
    /// counter.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("example.txt")]
    /// let request = vidra.metered();
    /// request.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// assert_eq!(request.cost().units(), 1);
    /// # Ok(()) }
    /// ```
    pub fn metered(&self) -> Self {
        let bill = Bill { cost: Cost::default(), ..self.bill.clone() };
        Self { bill, ..self.clone() }
    }

    /// Returns a handle that pays its operations from `allowance`.
    ///
    /// After the allowance is used up, a cache miss fails with
    /// [`ErrorKind::QuotaExhausted`](crate::ErrorKind::QuotaExhausted). The client still serves
    /// cached answers, even stale ones. Joining another caller's fetch costs nothing.
    ///
    /// ```
    /// use vidra::{Allowance, ErrorKind, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let caller = vidra.on_allowance(Allowance::new(Some(1), Some(0)));
    /// caller.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let error = caller.video(VideoId::parse("quirkNoLike")?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
    /// // Cached answers are free.
    /// caller.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// # Ok(()) }
    /// ```
    pub fn on_allowance(&self, allowance: Allowance) -> Self {
        let bill = Bill { allowance: Some(allowance), ..self.bill.clone() };
        Self { bill, ..self.clone() }
    }

    /// Returns a handle for background jobs. Its operations come after interactive requests and after batches:
    ///
    /// - Its transcript requests leave a fifth of the burst of each egress address ([`Pace`](crate::Pace)), so that
    ///   interactive requests find a part of it at any time.
    /// - Its calls to the Data API leave `reserve_units` units of the default bucket. If a call would leave fewer, it
    ///   fails with [`Reason::QuotaExhausted`](crate::Reason::QuotaExhausted) until the daily reset
    ///   ([`Error::retry_after`](crate::Error::retry_after)). The quota of searches has no reserve.
    /// - Its uncached fetches take no slot of [`Builder::max_misses`]. The caller limits its own jobs.
    ///
    /// A fetch that it shares with an interactive request is as urgent as that request, and the reserve fails no caller
    /// but its own. Renewals of stale answers that it begins leave the reserve too. It never lowers the reserve of the
    /// handle.
    ///
    /// ```
    /// use vidra::{Reason, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let id = VideoId::parse("fda4eREcaTQ")?;
    /// let job = vidra.in_background(10_000);
    /// assert_eq!(job.video(id).await.unwrap_err().reason(), Reason::QuotaExhausted);
    /// // An interactive request still pays, and cached answers are free.
    /// vidra.video(id).await?;
    /// job.video(id).await?;
    /// # Ok(()) }
    /// ```
    pub fn in_background(&self, reserve_units: u32) -> Self {
        let bill = Bill { reserve: self.bill.reserve.max(reserve_units), ..self.bill.clone() };
        Self { bill, urgency: Urgency::Background, ..self.clone() }
    }

    /// The cost of this handle's operations so far. Clones share the counter.
    pub fn cost(&self) -> &Cost {
        &self.bill.cost
    }

    /// Whether the client has a key for the Data API. YouTube can still reject it.
    pub fn has_key(&self) -> bool {
        self.services.data_api.account.has_key()
    }

    /// Whether YouTube rejected the key in its last answer about it.
    pub fn key_was_rejected(&self) -> bool {
        self.services.data_api.account.is_rejected()
    }

    /// Replaces the key for the Data API, for all clones of this client. Calls in flight end with the
    /// old key. Returns `false` if `key` is the one in use.
    ///
    /// Each key has its own quota ledger, because quota belongs to the project of a key. A rejection of
    /// the key and a pause that YouTube requested with `Retry-After` end here, even if `key` is the one in
    /// use: the operator may have corrected its restrictions.
    ///
    /// It reads the ledger file of the new key, so call it on a thread that may block.
    ///
    /// ```
    /// use vidra::{ApiKey, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// vidra.replace_key(ApiKey::new("revoked").unwrap());
    /// assert!(vidra.video(VideoId::parse("fda4eREcaTQ")?).await.is_err());
    /// assert!(vidra.key_was_rejected());
    /// vidra.replace_key(ApiKey::new("demo-key").unwrap());
    /// assert!(!vidra.key_was_rejected());
    /// # Ok(()) }
    /// ```
    pub fn replace_key(&self, key: ApiKey) -> bool {
        let is_new = self.services.data_api.replace_key(key);
        for group in [RenewalGroup::Data, RenewalGroup::Feeds, RenewalGroup::Searches] {
            self.services.cache.resume(group);
        }
        is_new
    }

    /// Returns a handle that bypasses cached answers. Each operation fetches, or joins a running
    /// fetch, and costs its full quota units. If the fetch fails, the client still falls back to a
    /// stale answer.
    ///
    /// ```
    /// use vidra::{Lookup, CacheOutcome, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let video = Lookup::Video(VideoId::parse("fda4eREcaTQ")?);
    /// vidra.lookup(&video).await?;
    /// assert_eq!(vidra.lookup(&video).await?.outcome, CacheOutcome::Hit);
    /// assert_eq!(vidra.refreshing().lookup(&video).await?.outcome, CacheOutcome::Miss);
    /// # Ok(()) }
    /// ```
    pub fn refreshing(&self) -> Self {
        Self { mode: CacheMode::Refresh, ..self.clone() }
    }

    /// Returns a handle whose videos have more members. They cost nothing more.
    ///
    /// ```
    /// use vidra::{Include, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let request = vidra.including(Include::DETAILS);
    /// let video = request.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// assert_eq!(video.details.unwrap().definition.as_deref(), Some("hd"));
    /// # Ok(()) }
    /// ```
    pub fn including(&self, include: Include) -> Self {
        Self { include: self.include.and(include), ..self.clone() }
    }

    /// Returns a handle whose operations take at most `limit`. It never extends a shorter limit.
    ///
    /// An operation that exceeds the limit fails with
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout). A shared fetch continues while other
    /// callers wait for it. It stops when the last waiter leaves, before it charges more units.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vidra::{ErrorKind, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// # let simulator = vidra_sim::Simulator::builder().latency(Duration::from_secs(60)).build();
    /// # let transport = vidra::InProcess(simulator);
    /// # let vidra = vidra::Vidra::builder().key(vidra::ApiKey::new("demo-key")).transport(transport).build()?;
    /// let hurried = vidra.within(Duration::from_millis(20));
    /// let error = hurried.video(VideoId::parse("fda4eREcaTQ")?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Timeout);
    /// # Ok(()) }
    /// ```
    pub fn within(&self, limit: Duration) -> Self {
        Self { caller_limit: self.caller_limit.min(limit), ..self.clone() }
    }

    /// Returns the answer to `lookup` as JSON, from the cache or from YouTube. A cache hit costs no
    /// units. The JSON is in memory, and outside of [`Builder::max_answer_memory`]: tens of
    /// megabytes for a playlist of 20,000 videos. [`Vidra::lookup_body`] has a limit for all of them.
    ///
    /// # Errors
    ///
    /// Any [`Reason`](crate::Reason) of the operation. After a failed fetch the client serves a
    /// stale answer if it has one.
    ///
    /// ```
    /// use vidra::{Lookup, CacheOutcome, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let answer = vidra.lookup(&Lookup::Video(VideoId::parse("fda4eREcaTQ")?)).await?;
    /// assert_eq!(answer.outcome, CacheOutcome::Miss);
    /// // Bytes that can be sent as they are.
    /// assert!(answer.body.starts_with(br#"{"id":"fda4eREcaTQ","title":"Saudade em"#));
    /// # Ok(()) }
    /// ```
    pub async fn lookup(&self, lookup: &Lookup) -> Result<Cached> {
        let answer = self.lookup_body(lookup).await?;
        let body = answer.body.clone().into_bytes().await?;
        Ok(answer.with_body(body))
    }

    /// Returns the answer to `lookup` as [`Vidra::lookup`] does. The JSON of a long playlist may be in a temporary
    /// file, so that many of them fit into memory at once ([`Builder::max_answer_memory`]).
    ///
    /// # Errors
    ///
    /// Those of [`Vidra::lookup`].
    pub async fn lookup_body(&self, lookup: &Lookup) -> Result<Cached<Body>> {
        self.services.read(&self.context(), lookup).await
    }

    /// Bytes of memory and of temporary files that large answers use.
    pub fn answer_bytes(&self) -> (u64, u64) {
        self.services.spool.usage()
    }

    /// The wall clock of this client.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.services.data_api.clock
    }

    /// Counts a cache hit that a cache in front of this client served.
    pub fn note_hit(&self, resource: Resource) {
        self.services.cache.count(resource.kind(), CacheOutcome::Hit);
    }

    /// Waits until all pending writes to the store have finished, and returns unspent units to a shared quota. Call it
    /// before the process exits.
    pub async fn settled(&self) {
        let ledger = Arc::clone(&self.services.data_api.account.get().ledger);
        tokio::join!(self.services.cache.tiers.settled(), ledger.return_grants());
    }

    /// # Panics
    ///
    /// Panics outside a tokio runtime. Timers and spawned tasks would panic later, without a hint.
    #[track_caller]
    fn context(&self) -> Context {
        if Handle::try_current().is_err() {
            panic!("{NEEDS_RUNTIME}");
        }
        let time = self.caller_limit.min(self.deadline).min(FOREVER);
        Context {
            mode: self.mode,
            include: self.include,
            is_part: false,
            deadline: Instant::now() + time,
            bill: self.bill.clone(),
            waiters: Waiters::default(),
            urgency: self.urgency,
            slot: match self.urgency {
                // The caller limits its own jobs. They must not take the slots of interactive requests.
                Urgency::Background => Slot::not_needed(),
                Urgency::Batch | Urgency::Interactive => Slot::not_taken(),
            },
            on_wait: None,
        }
    }
}
