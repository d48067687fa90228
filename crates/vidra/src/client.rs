//! `Vidra`, the client: one short method per operation.

mod builder;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::Stream;
use tokio::time::Instant;

pub use builder::{Builder, Pacing};

use crate::batch::{self, Batch, BatchEvent, BatchQuery};
use crate::channel::{self, Channel, ChannelVideo};
use crate::comment::{self, Comment, CommentQuery, CommentThread};
use crate::error::Result;
use crate::ident::{ChannelRef, CommentId, PlaylistId, VideoId};
use crate::playlist::{self, Playlist, PlaylistIds, PlaylistInfo};
use crate::region::{self, CategoryQuery, Language, Region, VideoCategory};
use crate::selection::{Selected, Selection};
use crate::transcript::{self, CaptionTrack, Transcript, TranscriptQuery};
use crate::upstream::quota::Quota;
use crate::upstream::web::{Errand, Place, Web};
use crate::upstream::{Cost, Scope, Upstream};
use crate::video::{self, Video, VideoTitle};

/// A client of the platform. Cheap to clone; clones share connections, ledger and retry budget.
#[derive(Clone)]
pub struct Vidra {
    upstream: Arc<Upstream>,
    web: Arc<Web>,
    /// How long an operation may take in all.
    deadline: Duration,
    /// How long the transcripts of a playlist may take in all.
    batch_deadline: Duration,
    /// Whether the small search bucket may be used where nothing cheaper finds a channel.
    search: bool,
    /// What the operations of this handle have cost together.
    cost: Cost,
}

/// A deadline further off than this cannot be told from none, and could not be computed.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Vidra {
    /// Settings, to be changed where the defaults do not fit.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A handle whose bill starts at zero: what is asked through it is counted in [`Vidra::cost`].
    pub fn metered(&self) -> Self {
        Self { cost: Cost::default(), ..self.clone() }
    }

    /// What the operations of this handle and its clones have cost so far.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Whether there is a key to the Data API. It may still be rejected.
    pub fn has_key(&self) -> bool {
        self.upstream.key.is_some()
    }

    /// Whether the platform's last word on the key was that it is not valid.
    pub fn key_was_rejected(&self) -> bool {
        self.has_key() && self.upstream.key_rejected.load(Ordering::Relaxed)
    }

    /// One video. Costs 1 unit.
    pub async fn video(&self, id: VideoId) -> Result<Video> {
        video::one(&self.scope(), id).await
    }

    /// Several videos in the order asked; those the platform does not know are left out. Costs 1
    /// unit for each 50 distinct ids.
    pub async fn videos(&self, ids: &[VideoId]) -> Result<Vec<Video>> {
        video::many(&self.scope(), ids).await
    }

    /// A video's title. Costs 1 unit.
    pub async fn video_title(&self, id: VideoId) -> Result<VideoTitle> {
        video::title(&self.scope(), id).await
    }

    /// A channel. Costs 1 unit by id, handle or user name; up to 3 and one search by a custom name.
    pub async fn channel(&self, channel: &ChannelRef) -> Result<Channel> {
        channel::one(&self.scope(), channel, self.search).await
    }

    /// The newest uploads of a channel, at most 50. Costs 2 units by id, 3 by handle.
    pub async fn channel_videos(
        &self,
        channel: &ChannelRef,
        limit: usize,
    ) -> Result<Vec<ChannelVideo>> {
        channel::uploads(&self.scope(), channel, limit, self.search).await
    }

    /// A playlist with all its videos. Costs 1 unit, 1 for each page of 50 entries and 1 for each
    /// 50 distinct videos.
    pub async fn playlist(&self, id: &PlaylistId) -> Result<Playlist> {
        playlist::complete(&self.scope(), id).await
    }

    /// A playlist without its videos. Costs 1 unit.
    pub async fn playlist_info(&self, id: &PlaylistId) -> Result<PlaylistInfo> {
        playlist::info(&self.scope(), id).await
    }

    /// The ids of all entries. Costs 1 unit for each page of 50.
    pub async fn playlist_ids(&self, id: &PlaylistId) -> Result<PlaylistIds> {
        playlist::ids(&self.scope(), id).await
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
        comment::threads(&self.scope(), video, query).await
    }

    /// All replies to a comment. Costs 1 unit for each page of 100.
    pub async fn comment_replies(&self, id: &CommentId) -> Result<Vec<Comment>> {
        comment::replies(&self.scope(), id).await
    }

    /// The regions that the platform serves, named in `hl`. Costs 1 unit.
    pub async fn regions(&self, hl: Option<&str>) -> Result<Vec<Region>> {
        region::regions(&self.scope(), hl).await
    }

    /// The languages of the platform's interface, named in `hl`. Costs 1 unit.
    pub async fn languages(&self, hl: Option<&str>) -> Result<Vec<Language>> {
        region::languages(&self.scope(), hl).await
    }

    /// Video categories, named in `hl`. Costs 1 unit.
    pub async fn video_categories(
        &self,
        query: &CategoryQuery,
        hl: Option<&str>,
    ) -> Result<Vec<VideoCategory>> {
        region::categories(&self.scope(), query, hl).await
    }

    /// The transcript of a video. Needs no key and costs no units: two requests as a rule.
    pub async fn transcript(&self, id: VideoId, query: &TranscriptQuery) -> Result<Transcript> {
        transcript::one(&self.errand(id, &Place::default()), query).await
    }

    /// The caption tracks of a video. Needs no key and costs no units.
    pub async fn tracks(&self, id: VideoId) -> Result<Vec<CaptionTrack>> {
        transcript::tracks(&self.errand(id, &Place::default())).await
    }

    /// The transcripts of a playlist, told as they come; a video that has none fails alone. Costs 1
    /// unit for each page of 50 entries. Dropping the stream ends the work. An `Err` is the last
    /// item: the playlist itself could not be read.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the work is a task of its own.
    pub fn playlist_transcripts(
        &self,
        id: &PlaylistId,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        let mut scope = self.scope();
        let deadline = Instant::now() + self.batch_deadline.min(FOREVER);
        scope.deadline = deadline;
        let web = Arc::clone(&self.web);
        batch::run(Batch { scope, web, deadline, id: id.clone(), query: query.clone() })
    }

    /// What is left of the day. Costs nothing.
    pub async fn quota(&self) -> Result<Quota> {
        self.scope().quota().await
    }

    fn errand<'a>(&'a self, id: VideoId, place: &'a Place) -> Errand<'a> {
        Errand { web: &self.web, id, deadline: Instant::now() + self.deadline.min(FOREVER), place }
    }

    fn scope(&self) -> Scope {
        Scope {
            upstream: Arc::clone(&self.upstream),
            deadline: Instant::now() + self.deadline.min(FOREVER),
            cost: self.cost.clone(),
        }
    }
}
