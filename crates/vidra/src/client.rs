//! `Vidra`, the client: what a handle is, whom it bills and what it tells of itself.

mod builder;
mod operations;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

pub use builder::{Builder, Pacing};

use crate::ask::{Ask, Means};
use crate::batch::Batches;
use crate::cache::audience::Audience;
use crate::cache::freshness::Resource;
use crate::cache::{Cache, CacheReport, Cached, Outcome, Want};
use crate::clock::Clock;
use crate::error::{ErrorKind, Result};
use crate::held::Held;
use crate::transcript::Reason;
use crate::upstream::breaker::Standing;
use crate::upstream::egress::Addresses;
use crate::upstream::quota::Allowance;
use crate::upstream::traffic::UpstreamReport;
use crate::upstream::transport::BoxFuture;
use crate::upstream::web::Load;
use crate::upstream::web::Web;
use crate::upstream::{Bill, Cost, Gathers, Scope, Upstream};

/// A client of the platform. Cheap to clone; clones share connections, cache, ledger and retry budget.
#[derive(Clone)]
pub struct Vidra {
    upstream: Arc<Upstream>,
    web: Arc<Web>,
    cache: Arc<Cache>,
    gathers: Arc<Gathers>,
    batches: Arc<Batches>,
    want: Want,
    /// How long an operation may take in all.
    deadline: Duration,
    /// How long a caller of this handle waits for it.
    patience: Duration,
    /// How long the transcripts of a playlist may take in all.
    batch_deadline: Duration,
    /// Whether the small search bucket may be used where nothing cheaper finds a channel.
    search: bool,
    /// Who pays for the operations of this handle, and what they have cost together.
    bill: Bill,
}

/// A deadline further off than this cannot be told from none, and could not be computed.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Vidra {
    /// Settings, to be changed where the defaults do not fit.
    ///
    /// ```
    /// use vidra::{ApiKey, ErrorKind, VideoId, Vidra};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> vidra::Result<()> {
    /// // Without a key transcripts still work; all else says that one is missing.
    /// let vidra = Vidra::builder().key(ApiKey::new("")).build();
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
        self.upstream.key.is_some()
    }

    /// Whether the platform's last word on the key was that it is not valid.
    pub fn key_was_rejected(&self) -> bool {
        self.has_key() && self.upstream.key_rejected.load(Ordering::Relaxed)
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
        Self { want: Want::Newest, ..self.clone() }
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
    /// # let vidra = vidra::Vidra::builder().key(vidra::ApiKey::new("demo-key")).transport(transport).build();
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
        let scope = self.scope();
        let fetch = |scope| -> BoxFuture<'static, Result<Bytes>> {
            Box::pin(ask.clone().fetch(Means { scope, search: self.search }))
        };
        let answer = self.cache.get_or_fetch(ask.key(), &scope, fetch).await;
        answer.map_err(|error| match (ask, error.kind(), error.reason()) {
            // Every failure of a transcript has a reason, and the cache knows none.
            (Ask::Tracks(id) | Ask::Transcript(id, _), ErrorKind::Timeout, None) => {
                Reason::TimedOut.error(*id)
            }
            _ => error,
        })
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
        self.cache.report().await
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
        let Upstream { breaker, search_breaker, traffic, .. } = &*self.upstream;
        let egresses = &self.web.egresses;
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
        self.cache.tiers.is_far_left_alone()
    }

    /// The addresses that transcripts are asked for from, and how the platform treats them.
    pub fn addresses(&self) -> Addresses {
        self.web.egresses.report(Instant::now())
    }

    /// Whether the platform has failed so often in a row that answers which are not fresh any more are
    /// sent without asking.
    pub fn is_platform_failing(&self) -> bool {
        let now = Instant::now();
        self.upstream.breaker.standing(now) != Standing::Closed
            || self.web.egresses.are_failing(Load::Captions, now)
    }

    /// The wall clock of this client.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.upstream.clock
    }

    /// The resources that are held at this moment.
    #[doc(hidden)]
    pub fn held(&self) -> Held {
        let mut held = Held::default();
        self.cache.held(&mut held);
        held.gathered = self.gathers.videos.held() + self.gathers.channels.held();
        held.batches = self.batches.report().under_way;
        let Upstream { breaker, search_breaker, .. } = &*self.upstream;
        let breakers = [&**breaker, &**search_breaker].into_iter();
        let breakers = breakers.chain(self.web.egresses.breakers());
        held.probes = breakers.filter(|breaker| breaker.is_probed()).count();
        self.web.egresses.held(&mut held);
        held
    }

    /// Notes in the report that an answer was given again by whoever kept it in front of this client.
    pub fn note_hit(&self, resource: Resource) {
        self.cache.count(resource, Outcome::Hit);
    }

    /// Waits until what was fetched has been kept: before a process ends.
    pub async fn settled(&self) {
        self.cache.tiers.settled().await;
    }

    fn scope(&self) -> Scope {
        let now = Instant::now();
        Scope {
            upstream: Arc::clone(&self.upstream),
            web: Arc::clone(&self.web),
            cache: Arc::clone(&self.cache),
            gathers: Arc::clone(&self.gathers),
            want: self.want,
            deadline: now + self.deadline.min(FOREVER),
            patience: now + self.patience.min(self.deadline).min(FOREVER),
            bill: self.bill.clone(),
            audience: Audience::default(),
            has_slot: false,
        }
    }
}
