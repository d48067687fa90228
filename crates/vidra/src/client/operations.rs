//! One short method per operation.

use std::sync::Arc;

use futures_util::{Stream, StreamExt, future, stream};
use tokio::time::Instant;

use super::Vidra;
use crate::batch::{self, Batch, BatchEvent, BatchQuery};
use crate::cache::Cached;
use crate::cache::freshness::FOREVER;
use crate::channel::{Channel, ChannelVideo};
use crate::comment::{Comment, CommentQuery, CommentThread};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ident::{ChannelRef, CommentId, PlaylistId, VideoId};
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo};
use crate::quota::Quota;
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::resource::ask::Ask;
use crate::resource::video;
use crate::selection::{Selected, Selection};
use crate::transcript::{CaptionTrack, Transcript, TranscriptQuery};
use crate::video::{Video, VideoTitle};

impl Vidra {
    /// One video. Costs 1 unit, together with up to 49 others that are asked for at the same time.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let video = vidra.video(VideoId::parse("https://youtu.be/fda4eREcaTQ")?).await?;
    /// assert_eq!((&*video.channel, &*video.duration_fmt), ("Fermata Sessions", "19:57"));
    /// # Ok(()) }
    /// ```
    pub async fn video(&self, id: VideoId) -> Result<Video> {
        self.ask(&Ask::Video(id)).await?.decode()
    }

    /// Several videos in the order asked; those the platform does not know are left out. Costs 1
    /// unit for each 50 distinct ids that are not known.
    ///
    /// ```
    /// use vidra::{VideoId, Withheld};
    ///
    #[doc = include_str!("../example.txt")]
    /// let ids = ["quirkNoLike", "fda4eREcaTQ", "notAVideo__"].map(VideoId::parse);
    /// let ids: Vec<VideoId> = ids.into_iter().collect::<Result<_, _>>()?;
    /// let videos = vidra.videos(&ids).await?;
    /// assert_eq!(videos.len(), 2);
    /// assert_eq!(videos[0].hidden, [Withheld::Likes]);
    /// # Ok(()) }
    /// ```
    pub async fn videos(&self, ids: &[VideoId]) -> Result<Vec<Video>> {
        self.videos_json(ids).await?.decode()
    }

    /// The same as JSON.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let list = vidra.videos_json(&[VideoId::parse("fda4eREcaTQ")?]).await?;
    /// assert!(list.body.starts_with(br#"[{"id":"fda4eREcaTQ""#));
    /// # Ok(()) }
    /// ```
    pub async fn videos_json(&self, ids: &[VideoId]) -> Result<Cached> {
        video::list_json(&self.services, &self.context(), ids).await
    }

    /// A video's title. Costs what the video costs.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let video = vidra.video_title(VideoId::parse("fda4eREcaTQ")?).await?;
    /// assert_eq!(video.title, "Saudade em Três – full session");
    /// # Ok(()) }
    /// ```
    pub async fn video_title(&self, id: VideoId) -> Result<VideoTitle> {
        let Video { id, title, .. } = self.video(id).await?;
        Ok(VideoTitle { id, title })
    }

    /// A channel. Costs 1 unit by id, handle or user name; up to 3 and one search by a custom name.
    ///
    /// ```
    /// use vidra::ChannelRef;
    ///
    #[doc = include_str!("../example.txt")]
    /// let channel = vidra.channel(&ChannelRef::parse("https://www.youtube.com/@fermata")?).await?;
    /// assert_eq!((&*channel.name, &*channel.subscribers_fmt), ("Fermata Sessions", "106K"));
    /// # Ok(()) }
    /// ```
    pub async fn channel(&self, channel: &ChannelRef) -> Result<Channel> {
        self.ask(&Ask::Channel(channel.clone())).await?.decode()
    }

    /// The newest uploads of a channel, at most 50. Costs 2 units by id, 3 by handle.
    ///
    /// ```
    /// use vidra::ChannelRef;
    ///
    #[doc = include_str!("../example.txt")]
    /// let newest = vidra.channel_videos(&ChannelRef::parse("@fermata")?, 3).await?;
    /// assert_eq!(newest.len(), 3);
    /// println!("{}: {}", newest[0].title, newest[0].upload_age);
    /// # assert!(newest.is_sorted_by_key(|video| std::cmp::Reverse(video.published_at)));
    /// # Ok(()) }
    /// ```
    pub async fn channel_videos(
        &self,
        channel: &ChannelRef,
        limit: usize,
    ) -> Result<Vec<ChannelVideo>> {
        let uploads = self.ask(&Ask::Uploads(channel.clone())).await?;
        Ok(ChannelVideo::newest(&uploads, limit, self.clock().now())?.0)
    }

    /// A playlist with all its videos. Costs 1 unit, 1 for each page of 50 entries and 1 for each
    /// 50 distinct videos that are not known.
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let playlist = vidra.playlist(&PlaylistId::parse("PLquirkUnavailable")?).await?;
    /// assert_eq!((playlist.video_count, playlist.unavailable_count), (20, 10));
    /// # Ok(()) }
    /// ```
    pub async fn playlist(&self, id: &PlaylistId) -> Result<Playlist> {
        self.ask(&Ask::Playlist(id.clone())).await?.decode()
    }

    /// A playlist without its videos. Costs 1 unit.
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let info = vidra.playlist_info(&PlaylistId::parse("PLsize500")?).await?;
    /// assert_eq!(info.title, "Documented: PLsize500");
    /// # Ok(()) }
    /// ```
    pub async fn playlist_info(&self, id: &PlaylistId) -> Result<PlaylistInfo> {
        self.ask(&Ask::PlaylistInfo(id.clone())).await?.decode()
    }

    /// The ids of all entries. Costs 1 unit for each page of 50.
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let all = vidra.playlist_ids(&PlaylistId::parse("PLsize500")?).await?;
    /// assert_eq!((all.count, all.video_ids[0].as_str()), (500, "rskSlyTUdug"));
    /// # Ok(()) }
    /// ```
    pub async fn playlist_ids(&self, id: &PlaylistId) -> Result<PlaylistIds> {
        let entries = self.ask(&Ask::PlaylistEntries(id.clone())).await?;
        PlaylistIds::from_entries(id.clone(), &entries)
    }

    /// A playlist, filtered, sorted and sliced. Costs what [`Vidra::playlist`] costs.
    ///
    /// ```
    /// use vidra::selection::{Bounds, Filter, Places, Sort, SortField, SortOrder};
    /// use vidra::{PlaylistId, Selection};
    ///
    #[doc = include_str!("../example.txt")]
    /// // The ten most watched that are longer than a minute.
    /// let selection = Selection {
    ///     filter: Filter { duration: Bounds { min: Some(60), max: None }, ..Filter::default() },
    ///     sort: Some(Sort { field: SortField::Views, order: SortOrder::Desc }),
    ///     range: Places { start: Some(1), end: Some(10) },
    /// };
    /// let selected = vidra.query_playlist(&PlaylistId::parse("PLsize500")?, &selection).await?;
    /// assert_eq!((selected.playlist.video_count, selected.original_count), (10, 500));
    /// # Ok(()) }
    /// ```
    pub async fn query_playlist(&self, id: &PlaylistId, selection: &Selection) -> Result<Selected> {
        Ok(selection.apply(self.playlist(id).await?))
    }

    /// Comment threads of a video. Costs 1 unit a page, and with all replies 1 more for each page
    /// of replies that the platform did not send along.
    ///
    /// ```
    /// use vidra::{CommentQuery, ErrorKind, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let top = vidra.comments(VideoId::parse("quirkHtmlCm")?, &CommentQuery::top(2)).await?;
    /// assert_eq!((top.len(), &*top[0].top_level_comment.text), (2, "First!"));
    ///
    /// let disabled = vidra.comments(VideoId::parse("quirkNoComm")?, &CommentQuery::default()).await;
    /// assert_eq!(disabled.unwrap_err().kind(), ErrorKind::Forbidden);
    /// # Ok(()) }
    /// ```
    pub async fn comments(
        &self,
        video: VideoId,
        query: &CommentQuery,
    ) -> Result<Vec<CommentThread>> {
        self.ask(&Ask::Comments(video, query.clone())).await?.decode()
    }

    /// All replies to a comment. Costs 1 unit for each page of 100.
    ///
    /// ```
    /// use vidra::CommentId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let replies = vidra.comment_replies(&CommentId::parse("UgquirkManyReplies04AaABAg")?).await?;
    /// assert_eq!(replies.len(), 250);
    /// # Ok(()) }
    /// ```
    pub async fn comment_replies(&self, id: &CommentId) -> Result<Vec<Comment>> {
        self.ask(&Ask::Replies(id.clone())).await?.decode()
    }

    /// The regions that the platform serves, named in `hl`. Costs 1 unit.
    ///
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let regions = vidra.regions(Some("de")).await?;
    /// assert!(regions.iter().any(|region| region.gl == "DE" && region.name == "Deutschland"));
    /// # Ok(()) }
    /// ```
    pub async fn regions(&self, hl: Option<&str>) -> Result<Vec<Region>> {
        self.ask(&Ask::Regions(hl.map(str::to_owned))).await?.decode()
    }

    /// The languages of the platform's interface, named in `hl`. Costs 1 unit.
    ///
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let languages = vidra.languages(None).await?;
    /// assert_eq!((&*languages[0].hl, &*languages[0].name), ("af", "Afrikaans"));
    /// # Ok(()) }
    /// ```
    pub async fn languages(&self, hl: Option<&str>) -> Result<Vec<Language>> {
        self.ask(&Ask::Languages(hl.map(str::to_owned))).await?.decode()
    }

    /// Video categories, named in `hl`. Costs 1 unit.
    ///
    /// ```
    /// use vidra::CategoryQuery;
    ///
    #[doc = include_str!("../example.txt")]
    /// let music = CategoryQuery::Ids(vec!["10".to_owned()]);
    /// assert_eq!(vidra.video_categories(&music, None).await?[0].title, "Music");
    /// # Ok(()) }
    /// ```
    pub async fn video_categories(
        &self,
        query: &CategoryQuery,
        hl: Option<&str>,
    ) -> Result<Vec<VideoCategory>> {
        self.ask(&Ask::Categories(query.clone(), hl.map(str::to_owned))).await?.decode()
    }

    /// The transcript of a video. Needs no key and costs no units: two requests as a rule.
    ///
    /// ```
    /// use vidra::{TranscriptQuery, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let lines = vidra.transcript(VideoId::parse("txManualAsr")?, &TranscriptQuery::default()).await?;
    /// assert_eq!((&*lines[1].text, lines[1].offset.as_millis(), &*lines[1].lang), ("live.", 4683, "en"));
    /// # Ok(()) }
    /// ```
    pub async fn transcript(&self, id: VideoId, query: &TranscriptQuery) -> Result<Transcript> {
        self.ask(&Ask::Transcript(id, query.clone())).await?.decode()
    }

    /// The caption tracks of a video. Needs no key and costs no units.
    ///
    /// ```
    /// use vidra::VideoId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let tracks = vidra.tracks(VideoId::parse("txManualAsr")?).await?;
    /// assert_eq!(tracks.len(), 2);
    /// assert_eq!((&*tracks[0].language_code, tracks[0].is_auto_generated), ("en", false));
    /// # Ok(()) }
    /// ```
    pub async fn tracks(&self, id: VideoId) -> Result<Vec<CaptionTrack>> {
        self.ask(&Ask::Tracks(id)).await?.decode()
    }

    /// The transcripts of a playlist, told as they come; a video that has none fails alone. Costs 1
    /// unit for each page of 50 entries. Dropping the stream ends the work. An `Err` is the last
    /// item: the playlist itself could not be read, or not to its end; what was listed until then
    /// comes before it.
    ///
    /// ```
    /// use futures_util::{StreamExt, pin_mut};
    /// use vidra::{BatchEvent, BatchQuery, PlaylistId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let first_three = BatchQuery { to: Some(3), ..BatchQuery::default() };
    /// let events = vidra.playlist_transcripts(&PlaylistId::parse("PLquirkMixed")?, &first_three);
    /// pin_mut!(events);
    /// while let Some(event) = events.next().await {
    ///     match event? {
    ///         BatchEvent::Result(video) => println!("{}: {:?}", video.title, video.status),
    ///         BatchEvent::Done(summary) => assert_eq!((summary.succeeded, summary.failed), (2, 1)),
    ///         BatchEvent::Started | BatchEvent::Waiting(_) => {}
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
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
            return stream::once(future::ready(Err(Error::overloaded()))).left_stream();
        };
        let deadline = Instant::now() + self.batch_deadline.min(self.patience).min(FOREVER);
        let ctx = Context { deadline, ..self.context() };
        let (services, id, query) = (Arc::clone(&self.services), id.clone(), query.clone());
        let tally = Arc::clone(&self.batches);
        batch::run(Batch { services, ctx, id, query, _place: place, tally }).right_stream()
    }

    /// What is left of the day. Costs nothing.
    ///
    /// ```
    #[doc = include_str!("../example.txt")]
    /// vidra.regions(None).await?;
    /// let quota = vidra.quota().await?;
    /// assert_eq!((quota.buckets[0].name, quota.buckets[0].remaining), ("default", 9_999));
    /// # Ok(()) }
    /// ```
    pub async fn quota(&self) -> Result<Quota> {
        self.services.data_api.quota(&self.context()).await
    }
}
