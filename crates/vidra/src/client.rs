//! `Vidra`, the client: what a handle is, whom it bills and what it tells of itself.

mod builder;
mod operations;
pub(crate) mod report;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

pub use builder::{Builder, Pacing};

use crate::batch::Batches;
use crate::cache::freshness::{FOREVER, Resource};
use crate::cache::{CacheReport, Cached, Outcome};
use crate::clock::Clock;
use crate::context::waiters::{Urgency, Waiters};
use crate::context::{Bill, CacheMode, Context, Cost, Slot};
use crate::data_api::DataApi;
use crate::error::Result;
use crate::held::Held;
use crate::quota::Allowance;
use crate::resilience::breaker::Standing;
use crate::resource::Services;
use crate::resource::ask::Ask;
use crate::web::Load;
use crate::web::egress::Addresses;
use report::UpstreamReport;

/// A client of the platform. Cheap to clone; clones share connections, cache, ledger and retry budget.
#[derive(Clone)]
pub struct Vidra {
    services: Arc<Services>,
    batches: Arc<Batches>,
    mode: CacheMode,
    /// How long an operation may take in all.
    deadline: Duration,
    /// How long a caller of this handle waits for it.
    patience: Duration,
    /// How long the transcripts of a playlist may take in all.
    batch_deadline: Duration,
    /// Who pays for the operations of this handle, and what they have cost together.
    bill: Bill,
}

impl Vidra {
    /// Settings, to be changed where the defaults do not fit.
    ///
    /// ```
    /// use vidra::{ApiKey, ErrorKind, VideoId, Vidra};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> vidra::Result<()> {
    /// // Without a key transcripts still work; all else says that one is missing.
    /// let vidra = Vidra::builder().key(ApiKey::new("")).build()?;
    /// let error = vidra.video(VideoId::parse("dQw4w9WgXcQ")?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UpstreamKey);
    /// # Ok(()) }
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A handle whose bill starts at zero: what is asked through it is counted in [`Vidra::cost`].
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

    /// A handle whose operations are paid from `allowance`. Once that is used up, they fail with
    /// [`ErrorKind::QuotaExhausted`](crate::ErrorKind::QuotaExhausted) where they would have to ask; what
    /// is known is still given, however stale. What others asked for costs nothing.
    ///
    /// ```
    /// use vidra::{Allowance, ErrorKind, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let caller = vidra.on_allowance(Allowance::new(Some(1), Some(0)));
    /// caller.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let error = caller.video(VideoId::parse("quirkNoLike")?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::QuotaExhausted);
    /// // What is known is free.
    /// caller.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// # Ok(()) }
    /// ```
    pub fn on_allowance(&self, allowance: Allowance) -> Self {
        let bill = Bill { allowance: Some(allowance), ..self.bill.clone() };
        Self { bill, ..self.clone() }
    }

    /// What the operations of this handle and its clones have cost so far.
    pub fn cost(&self) -> &Cost {
        &self.bill.cost
    }

    /// Whether there is a key to the Data API. It may still be rejected.
    pub fn has_key(&self) -> bool {
        self.services.data_api.key.is_some()
    }

    /// Whether the platform's last word on the key was that it is not valid.
    pub fn key_was_rejected(&self) -> bool {
        self.has_key() && self.services.data_api.key_rejected.load(Ordering::Relaxed)
    }

    /// A handle through which the platform is asked even where the answer is known.
    ///
    /// ```
    /// use vidra::{Ask, Outcome, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let video = Ask::Video(VideoId::parse("fda4eREcaTQ")?);
    /// vidra.ask(&video).await?;
    /// assert_eq!(vidra.ask(&video).await?.outcome, Outcome::Hit);
    /// assert_eq!(vidra.refreshing().ask(&video).await?.outcome, Outcome::Miss);
    /// # Ok(()) }
    /// ```
    pub fn refreshing(&self) -> Self {
        Self { mode: CacheMode::Refresh, ..self.clone() }
    }

    /// A handle whose operations take `limit` at most, and never longer than they would without it. What
    /// others wait for too goes on without the one who has no time left; what nobody waits for any more
    /// ends before it costs anything more.
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
        Self { patience: self.patience.min(limit), ..self.clone() }
    }

    /// The answer to `ask` as JSON, from the cache or from the platform.
    ///
    /// ```
    /// use vidra::{Ask, Outcome, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// let answer = vidra.ask(&Ask::Video(VideoId::parse("fda4eREcaTQ")?)).await?;
    /// assert_eq!(answer.outcome, Outcome::Miss);
    /// // Bytes that can be sent as they are.
    /// assert!(answer.body.starts_with(br#"{"id":"fda4eREcaTQ","title":"Saudade em"#));
    /// # Ok(()) }
    /// ```
    pub async fn ask(&self, ask: &Ask) -> Result<Cached> {
        self.services.read(&self.context(), ask).await
    }

    /// What the cache holds, and what it was good for.
    ///
    /// ```
    /// use vidra::{Resource, VideoId};
    ///
    #[doc = include_str!("example.txt")]
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let report = vidra.cache_report().await;
    /// let (_, videos, _) = report.resources.iter().find(|(kind, ..)| *kind == Resource::Video).unwrap();
    /// assert_eq!((videos.misses, videos.hits), (1, 1));
    /// # Ok(()) }
    /// ```
    pub async fn cache_report(&self) -> CacheReport {
        self.services.cache.report().await
    }

    /// What was asked of the platform, what came of it, and what is left alone now.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("example.txt")]
    /// vidra.video(VideoId::parse("fda4eREcaTQ")?).await?;
    /// let report = vidra.upstream_report();
    /// let videos = report.calls.iter().find(|calls| calls.endpoint == "videos").unwrap();
    /// assert_eq!(videos.endings.iter().map(|(_, count)| count).sum::<u64>(), 1);
    /// # Ok(()) }
    /// ```
    pub fn upstream_report(&self) -> UpstreamReport {
        let now = Instant::now();
        let DataApi { breaker, search_breaker, traffic, .. } = &*self.services.data_api;
        let egresses = &self.services.web.egresses;
        let breakers = [&**breaker, &**search_breaker].into_iter();
        let breakers = breakers.chain(egresses.breakers());
        UpstreamReport {
            calls: traffic.report(),
            retries: traffic.retries(),
            breakers: breakers.map(|it| (it.name.clone(), it.standing(now))).collect(),
            addresses: egresses.troubles(now).collect(),
            batches: self.batches.report(),
        }
    }

    /// Whether the store behind memory failed when last tried.
    pub fn is_store_failing(&self) -> bool {
        self.services.cache.tiers.is_far_left_alone()
    }

    /// The addresses that transcripts are asked for from, and how the platform treats them.
    pub fn addresses(&self) -> Addresses {
        self.services.web.egresses.report(Instant::now())
    }

    /// Whether the platform has failed so often in a row that answers which are not fresh any more are
    /// sent without asking.
    pub fn is_platform_failing(&self) -> bool {
        let now = Instant::now();
        self.services.data_api.breaker.standing(now) != Standing::Closed
            || self.services.web.egresses.are_failing(Load::Captions, now)
    }

    /// The wall clock of this client.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.services.data_api.clock
    }

    /// The resources that are held at this moment.
    #[doc(hidden)]
    pub fn held(&self) -> Held {
        let mut held = Held::default();
        self.services.cache.held(&mut held);
        let Services { videos, channels, walks, .. } = &*self.services;
        held.gathered = videos.held() + channels.held() + walks.held();
        held.batches = self.batches.report().under_way;
        let DataApi { breaker, search_breaker, .. } = &*self.services.data_api;
        let breakers = [&**breaker, &**search_breaker].into_iter();
        let breakers = breakers.chain(self.services.web.egresses.breakers());
        held.probes = breakers.filter(|breaker| breaker.is_probed()).count();
        self.services.web.egresses.held(&mut held);
        held
    }

    /// Notes in the report that an answer was given again by whoever kept it in front of this client.
    pub fn note_hit(&self, resource: Resource) {
        self.services.cache.count(resource, Outcome::Hit);
    }

    /// Waits until what was fetched has been kept: before a process ends.
    pub async fn settled(&self) {
        self.services.cache.tiers.settled().await;
    }

    fn context(&self) -> Context {
        let time = self.patience.min(self.deadline).min(FOREVER);
        Context {
            mode: self.mode,
            is_part: false,
            deadline: Instant::now() + time,
            bill: self.bill.clone(),
            waiters: Waiters::default(),
            urgency: Urgency::Interactive,
            slot: Slot::not_taken(),
            on_wait: None,
        }
    }
}
