//! `Vidra`, the client: one short method per operation.

mod builder;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, future, stream};
use jiff::Timestamp;
use tokio::time::Instant;

pub use builder::{Builder, Pacing};

use crate::ask::{Ask, Means};
use crate::batch::{self, Batch, BatchEvent, BatchQuery, Batches};
use crate::cache::audience::Audience;
use crate::cache::freshness::Resource;
use crate::cache::{Cache, CacheReport, Cached, Outcome, Want};
use crate::channel::{Channel, ChannelVideo};
use crate::comment::{Comment, CommentQuery, CommentThread};
use crate::error::{Error, Result};
use crate::fetch::video;
use crate::ident::{ChannelRef, CommentId, PlaylistId, VideoId};
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo};
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::selection::{Selected, Selection};
use crate::transcript::{CaptionTrack, Transcript, TranscriptQuery};
use crate::upstream::breaker::Standing;
use crate::upstream::egress::Addresses;
use crate::upstream::quota::{Allowance, Quota};
use crate::upstream::traffic::UpstreamReport;
use crate::upstream::transport::BoxFuture;
use crate::upstream::web::Load;
use crate::upstream::web::Web;
use crate::upstream::{Bill, Cost, Gathers, Scope, Upstream};
use crate::video::{Video, VideoTitle};

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
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A handle whose bill starts at zero: what is asked through it is counted in [`Vidra::cost`].
    pub fn metered(&self) -> Self {
        let bill = Bill { cost: Cost::default(), ..self.bill.clone() };
        Self { bill, ..self.clone() }
    }

    /// A handle whose operations are paid from `allowance`. Once that is used up, they fail with
    /// [`ErrorKind::QuotaExhausted`](crate::ErrorKind::QuotaExhausted) where they would have to ask; what
    /// is known is still given, however stale. What others asked for costs nothing.
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
    pub fn refreshing(&self) -> Self {
        Self { want: Want::Newest, ..self.clone() }
    }

    /// A handle whose operations take `limit` at most, and never longer than they would without it. What
    /// others wait for too goes on without the one who has no time left; what nobody waits for any more
    /// ends before it costs anything more.
    pub fn within(&self, limit: Duration) -> Self {
        Self { patience: self.patience.min(limit), ..self.clone() }
    }

    /// The answer to `ask` as JSON, from the cache or from the platform.
    pub async fn ask(&self, ask: &Ask) -> Result<Cached> {
        let scope = self.scope();
        let fetch = |scope| -> BoxFuture<'static, Result<Bytes>> {
            Box::pin(ask.clone().fetch(Means { scope, search: self.search }))
        };
        self.cache.get_or_fetch(ask.key(), &scope, fetch).await
    }

    /// What the cache holds, and what it was good for.
    pub async fn cache_report(&self) -> CacheReport {
        self.cache.report().await
    }

    /// What was asked of the platform, what came of it, and what is left alone now.
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

    /// Notes in the report that an answer was given again by whoever kept it in front of this client.
    pub fn note_hit(&self, resource: Resource) {
        self.cache.count(resource, Outcome::Hit);
    }

    /// Waits until what was fetched has been kept: before a process ends.
    pub async fn settled(&self) {
        self.cache.tiers.settled().await;
    }

    /// One video. Costs 1 unit, together with up to 49 others that are asked for at the same time.
    pub async fn video(&self, id: VideoId) -> Result<Video> {
        self.ask(&Ask::Video(id)).await?.decode()
    }

    /// Several videos in the order asked; those the platform does not know are left out. Costs 1
    /// unit for each 50 distinct ids that are not known.
    pub async fn videos(&self, ids: &[VideoId]) -> Result<Vec<Video>> {
        self.videos_json(ids).await?.decode()
    }

    /// The same as JSON.
    pub async fn videos_json(&self, ids: &[VideoId]) -> Result<Cached> {
        video::list_json(&self.scope(), ids).await
    }

    /// A video's title. Costs what the video costs.
    pub async fn video_title(&self, id: VideoId) -> Result<VideoTitle> {
        let Video { id, title, .. } = self.video(id).await?;
        Ok(VideoTitle { id, title })
    }

    /// A channel. Costs 1 unit by id, handle or user name; up to 3 and one search by a custom name.
    pub async fn channel(&self, channel: &ChannelRef) -> Result<Channel> {
        self.ask(&Ask::Channel(channel.clone())).await?.decode()
    }

    /// The newest uploads of a channel, at most 50. Costs 2 units by id, 3 by handle.
    pub async fn channel_videos(
        &self,
        channel: &ChannelRef,
        limit: usize,
    ) -> Result<Vec<ChannelVideo>> {
        let uploads = self.ask(&Ask::Uploads(channel.clone())).await?;
        Ok(ChannelVideo::newest(&uploads, limit, Timestamp::now())?.0)
    }

    /// A playlist with all its videos. Costs 1 unit, 1 for each page of 50 entries and 1 for each
    /// 50 distinct videos that are not known.
    pub async fn playlist(&self, id: &PlaylistId) -> Result<Playlist> {
        self.ask(&Ask::Playlist(id.clone())).await?.decode()
    }

    /// A playlist without its videos. Costs 1 unit.
    pub async fn playlist_info(&self, id: &PlaylistId) -> Result<PlaylistInfo> {
        self.ask(&Ask::PlaylistInfo(id.clone())).await?.decode()
    }

    /// The ids of all entries. Costs 1 unit for each page of 50.
    pub async fn playlist_ids(&self, id: &PlaylistId) -> Result<PlaylistIds> {
        let entries = self.ask(&Ask::PlaylistEntries(id.clone())).await?;
        PlaylistIds::from_entries(id.clone(), &entries)
    }

    /// A playlist, filtered, sorted and sliced. Costs what [`Vidra::playlist`] costs.
    pub async fn query_playlist(&self, id: &PlaylistId, selection: &Selection) -> Result<Selected> {
        Ok(selection.apply(self.playlist(id).await?))
    }

    /// Comment threads of a video. Costs 1 unit a page, and with all replies 1 more for each page
    /// of replies that the platform did not send along.
    pub async fn comments(
        &self,
        video: VideoId,
        query: &CommentQuery,
    ) -> Result<Vec<CommentThread>> {
        self.ask(&Ask::Comments(video, query.clone())).await?.decode()
    }

    /// All replies to a comment. Costs 1 unit for each page of 100.
    pub async fn comment_replies(&self, id: &CommentId) -> Result<Vec<Comment>> {
        self.ask(&Ask::Replies(id.clone())).await?.decode()
    }

    /// The regions that the platform serves, named in `hl`. Costs 1 unit.
    pub async fn regions(&self, hl: Option<&str>) -> Result<Vec<Region>> {
        self.ask(&Ask::Regions(hl.map(str::to_owned))).await?.decode()
    }

    /// The languages of the platform's interface, named in `hl`. Costs 1 unit.
    pub async fn languages(&self, hl: Option<&str>) -> Result<Vec<Language>> {
        self.ask(&Ask::Languages(hl.map(str::to_owned))).await?.decode()
    }

    /// Video categories, named in `hl`. Costs 1 unit.
    pub async fn video_categories(
        &self,
        query: &CategoryQuery,
        hl: Option<&str>,
    ) -> Result<Vec<VideoCategory>> {
        self.ask(&Ask::Categories(query.clone(), hl.map(str::to_owned))).await?.decode()
    }

    /// The transcript of a video. Needs no key and costs no units: two requests as a rule.
    pub async fn transcript(&self, id: VideoId, query: &TranscriptQuery) -> Result<Transcript> {
        self.ask(&Ask::Transcript(id, query.clone())).await?.decode()
    }

    /// The caption tracks of a video. Needs no key and costs no units.
    pub async fn tracks(&self, id: VideoId) -> Result<Vec<CaptionTrack>> {
        self.ask(&Ask::Tracks(id)).await?.decode()
    }

    /// The transcripts of a playlist, told as they come; a video that has none fails alone. Costs 1
    /// unit for each page of 50 entries. Dropping the stream ends the work. An `Err` is the last
    /// item: the playlist itself could not be read, or not to its end; what was listed until then
    /// comes before it.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the work is a task of its own.
    pub fn playlist_transcripts(
        &self,
        id: &PlaylistId,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        let Some(place) = self.batches.place() else {
            return stream::once(future::ready(Err(Error::busy()))).left_stream();
        };
        let mut scope = self.scope();
        let deadline = Instant::now() + self.batch_deadline.min(self.patience).min(FOREVER);
        (scope.deadline, scope.patience) = (deadline, deadline);
        let (id, query) = (id.clone(), query.clone());
        let tally = Arc::clone(&self.batches);
        batch::run(Batch { scope, deadline, id, query, _place: place, tally }).right_stream()
    }

    /// What is left of the day. Costs nothing.
    pub async fn quota(&self) -> Result<Quota> {
        self.scope().quota().await
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
        }
    }
}
