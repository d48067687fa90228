//! The reports of a client: its cache, its calls to YouTube, and the failing interfaces.

use tokio::time::Instant;

use super::Vidra;
use crate::batch::BatchReport;
use crate::cache::{CacheReport, FetchSharing};
use crate::data_api::DataApi;
use crate::error::Reason;
use crate::held::Held;
use crate::quota::{LedgerHealth, SharedQuotaReport};
use crate::resilience::breaker::Breaker;
use crate::resilience::circuit::BreakerState;
use crate::resilience::traffic::Calls;
use crate::resource::Services;
use crate::web::egress::pool::Addresses;
use crate::web::{Web, WebRequestKind};

/// The calls of a client to YouTube since it was built, and the state of its circuit breakers.
///
/// The report contains no ids. It identifies egress addresses by number, because the URL of a proxy
/// can contain a password.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamReport {
    /// Calls per endpoint. Endpoints without calls are included.
    pub calls: Vec<Calls>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// The state of each circuit breaker, by name: `data-api`, `search`, `feed`, and for each address, here
    /// the first, `egress-1-player` and `egress-1-timedtext`.
    pub breakers: Vec<(String, BreakerState)>,
    /// One item for each egress address, in order: the reason if YouTube or the proxy rejects the
    /// address.
    pub addresses: Vec<Option<Reason>>,
    /// The slots of the service: `fetch` for uncached answers, and `batch`.
    pub slots: Vec<SlotUse>,
    /// How many callers wait, by what they wait for: `fetch` for a fetch in progress, `pace` for the
    /// pace of an egress address.
    pub waiting: Vec<(&'static str, usize)>,
    /// Playlist batches.
    pub batches: BatchReport,
}

/// The slots of one kind of work. Without a free slot, more of that work is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotUse {
    /// `fetch` or `batch`.
    pub name: &'static str,
    /// The number of taken slots.
    pub taken: usize,
    /// The number of all slots.
    pub limit: usize,
}

impl Vidra {
    /// Reports the size of the cache, and its hits and misses per resource.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let report = vidra.cache_report().await;
    /// let (_, videos, _) = report.resources.iter().find(|(name, ..)| *name == "video").unwrap();
    /// assert_eq!((videos.misses, videos.hits), (1, 1));
    /// # Ok(()) }
    /// ```
    pub async fn cache_report(&self) -> CacheReport {
        self.services.cache.report().await
    }

    /// Reports the calls to YouTube, their outcomes, and the state of the circuit breakers.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let report = vidra.upstream_report();
    /// let videos = report.calls.iter().find(|calls| calls.endpoint == "videos").unwrap();
    /// assert_eq!(videos.outcomes.iter().map(|(_, count)| count).sum::<u64>(), 1);
    /// # Ok(()) }
    /// ```
    pub fn upstream_report(&self) -> UpstreamReport {
        let now = Instant::now();
        let (sender, egresses) = (&self.services.data_api.sender, &self.services.web.egresses);
        let (held, batches) = (self.held(), self.batches.report());
        UpstreamReport {
            calls: sender.traffic.report(),
            retries: sender.traffic.retries(),
            breakers: self.breakers().map(|it| (it.name.clone(), it.state(now))).collect(),
            addresses: egresses.unusable_reasons(now).collect(),
            slots: vec![
                SlotUse {
                    name: "fetch",
                    taken: held.misses,
                    limit: self.services.cache.max_misses(),
                },
                SlotUse { name: "batch", taken: batches.running, limit: self.batches.max() },
            ],
            waiting: vec![("fetch", held.waiters), ("pace", held.permits)],
            batches,
        }
    }

    /// Whether the last attempt to write a large answer to a temporary file failed. It stays so until
    /// the next such answer is written.
    pub fn is_spool_failing(&self) -> bool {
        self.services.spool.is_failing()
    }

    /// Whether a circuit breaker of the store behind memory is not closed.
    pub fn is_store_failing(&self) -> bool {
        self.services.cache.tiers.is_store_failing()
    }

    /// The units that this client took from a shared quota. `None` if it does not share its quota.
    pub fn shared_quota(&self) -> Option<SharedQuotaReport> {
        self.services.data_api.account.get().ledger.shared_report()
    }

    /// How this client shared its fetches with other machines. `None` if it does not share them.
    pub fn fetch_sharing(&self) -> Option<FetchSharing> {
        self.services.cache.fetch_sharing()
    }

    /// Whether the file of the quota ledger works. Without a file it always does. The report does
    /// not wait for the file.
    pub fn ledger_health(&self) -> LedgerHealth {
        let data_api = &self.services.data_api;
        data_api.account.get().ledger.health(data_api.clock.now())
    }

    /// Reports the egress addresses for transcripts, and whether YouTube accepts them.
    pub fn addresses(&self) -> Addresses {
        self.services.web.egresses.report(Instant::now())
    }

    /// Whether YouTube fails: the circuit breaker of the Data API is not closed, or captions fail
    /// on all egress addresses. The client then serves stale answers without a fetch.
    pub fn is_platform_failing(&self) -> bool {
        let now = Instant::now();
        self.services.data_api.breaker.state(now) != BreakerState::Closed
            || self.services.web.egresses.are_failing(WebRequestKind::Captions, now)
    }

    /// The resources that the client holds at this moment.
    #[doc(hidden)]
    pub fn held(&self) -> Held {
        let mut held = Held::default();
        self.services.cache.held(&mut held);
        let Services { videos, channels, walks, .. } = &*self.services;
        held.gathered = videos.held() + channels.held() + walks.held();
        held.batches = self.batches.report().running;
        held.probes = self.breakers().filter(|breaker| breaker.is_probed()).count();
        self.services.web.egresses.held(&mut held);
        held
    }

    /// All circuit breakers of calls to YouTube.
    fn breakers(&self) -> impl Iterator<Item = &Breaker> {
        let DataApi { breaker, search_breaker, .. } = &*self.services.data_api;
        let Web { egresses, feeds, .. } = &*self.services.web;
        let shared = [&**breaker, &**search_breaker, &*feeds.breaker].into_iter();
        shared.chain(egresses.breakers())
    }
}
