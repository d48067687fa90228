//! The operations of a client, one method for each.

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
use crate::resource::lookup::Lookup;
use crate::resource::{playlist, video};
use crate::selection::{Selected, Selection};
use crate::spool::Body;
use crate::transcript::{CaptionTrack, Transcript, TranscriptQuery};
use crate::video::{Video, VideoTitle};

impl Vidra {
    /// Fetches one video. A cache miss costs 1 unit, which up to 49 other concurrent lookups share.
    ///
    /// # Errors
    ///
    /// [`Reason::VideoNotFound`](crate::Reason::VideoNotFound) if YouTube has no such video.
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
        self.lookup(&Lookup::Video(id)).await?.decode()
    }

    /// Fetches several videos, in the order of `ids`. It omits videos that YouTube does not have.
    /// It costs 1 unit for each 50 distinct uncached ids.
    ///
    /// ```
    /// use vidra::{HiddenCount, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let ids = ["quirkNoLike", "fda4eREcaTQ", "notAVideo__"].map(VideoId::parse);
    /// let ids: Vec<VideoId> = ids.into_iter().collect::<Result<_, _>>()?;
    /// let videos = vidra.videos(&ids).await?;
    /// assert_eq!(videos.len(), 2);
    /// assert_eq!(videos[0].hidden, [HiddenCount::Likes]);
    /// # Ok(()) }
    /// ```
    pub async fn videos(&self, ids: &[VideoId]) -> Result<Vec<Video>> {
        self.videos_json(ids).await?.decode()
    }

    /// Fetches several videos as a JSON array, with the order and cost of [`Vidra::videos`].
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
        let (list, _) = video::list_json(&self.services, &self.context(), ids).await?;
        Ok(list)
    }

    /// Fetches the title of a video. It costs as much as [`Vidra::video`].
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

    /// Fetches a channel. A lookup by id, handle or user name costs 1 unit. A lookup by custom name
    /// costs up to 3 units and one search.
    ///
    /// # Errors
    ///
    /// [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if YouTube has no such channel.
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
        self.lookup(&Lookup::Channel(channel.clone())).await?.decode()
    }

    /// Fetches the newest uploads of a channel, at most 50. It costs 2 units by id and 3 by handle.
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
        let uploads = self.lookup(&Lookup::Uploads(channel.clone())).await?;
        Ok(ChannelVideo::newest(&uploads, limit, self.clock().now())?.0)
    }

    /// Fetches a playlist with all its videos. It costs 1 unit, 1 for each page of 50 entries and 1
    /// for each 50 distinct uncached videos.
    ///
    /// # Errors
    ///
    /// [`Reason::PlaylistNotFound`](crate::Reason::PlaylistNotFound) if YouTube has no such
    /// playlist, and [`Reason::NotAccessible`](crate::Reason::NotAccessible) if it is private.
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
        self.lookup(&Lookup::Playlist(id.clone())).await?.decode()
    }

    /// Fetches a playlist without its videos: its title, its owner and its number of entries. It costs
    /// 1 unit.
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let info = vidra.playlist_info(&PlaylistId::parse("PLsize500")?).await?;
    /// assert_eq!((&*info.title, info.item_count), ("Documented: PLsize500", Some(500)));
    /// # Ok(()) }
    /// ```
    pub async fn playlist_info(&self, id: &PlaylistId) -> Result<PlaylistInfo> {
        self.lookup(&Lookup::PlaylistInfo(id.clone())).await?.decode()
    }

    /// Fetches the ids of all entries of a playlist. It costs 1 unit for each page of 50 entries.
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
        let entries = self.lookup(&Lookup::PlaylistEntries(id.clone())).await?;
        PlaylistIds::from_entries(id.clone(), &entries)
    }

    /// Fetches a playlist, then filters, sorts and slices it. With a filter, a sort or an open end it
    /// costs as much as [`Vidra::playlist`]. Otherwise it costs only the pages up to the end of the
    /// range and their videos. `original_count` is then YouTube's own count of the entries, and
    /// `unavailable_count` is 0.
    ///
    /// ```
    /// use vidra::selection::{Bounds, Filter, PositionRange, Sort, SortField, SortOrder};
    /// use vidra::{PlaylistId, Selection};
    ///
    #[doc = include_str!("../example.txt")]
    /// // The ten most watched videos that are longer than a minute.
    /// let selection = Selection {
    ///     filter: Filter::default().with_duration(Bounds { min: Some(60), max: None }),
    ///     sort: Some(Sort { field: SortField::Views, order: SortOrder::Desc }),
    ///     range: PositionRange { start: Some(1), end: Some(10) },
    /// };
    /// let selected = vidra.query_playlist(&PlaylistId::parse("PLsize500")?, &selection).await?;
    /// assert_eq!((selected.playlist.video_count, selected.original_count), (10, 500));
    /// # Ok(()) }
    /// ```
    pub async fn query_playlist(&self, id: &PlaylistId, selection: &Selection) -> Result<Selected> {
        let Some(needed) = selection.needed() else {
            let playlist = self.lookup_body(&Lookup::Playlist(id.clone())).await?;
            let _memory = self.services.spool.reserve_to_decode(&playlist.body)?;
            let body = playlist.body.clone().into_bytes().await?;
            return Ok(selection.apply(playlist.with_body(body).decode()?));
        };
        let (first, entries) =
            playlist::first_videos(&self.services, &self.context(), id, needed).await?;
        Ok(Selected { original_count: entries, ..selection.apply(first) })
    }

    /// Fetches comment threads of a video. It costs 1 unit for each page. With all replies, each
    /// further page of replies costs 1 more.
    ///
    /// # Errors
    ///
    /// [`Reason::CommentsDisabled`](crate::Reason::CommentsDisabled) if the video has comments
    /// disabled.
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
        self.lookup(&Lookup::Comments(video, query.clone())).await?.decode()
    }

    /// Fetches all replies to a comment. It costs 1 unit for each page of 100.
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
        self.lookup(&Lookup::Replies(id.clone())).await?.decode()
    }

    /// Fetches the regions that YouTube serves, with names in the language `hl`. It costs 1 unit.
    ///
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let regions = vidra.regions(Some("de")).await?;
    /// assert!(regions.iter().any(|region| region.gl == "DE" && region.name == "Deutschland"));
    /// # Ok(()) }
    /// ```
    pub async fn regions(&self, hl: Option<&str>) -> Result<Vec<Region>> {
        self.lookup(&Lookup::Regions(hl.map(str::to_owned))).await?.decode()
    }

    /// Fetches the languages of YouTube's interface, with names in the language `hl`. It costs 1
    /// unit.
    ///
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let languages = vidra.languages(None).await?;
    /// assert_eq!((&*languages[0].hl, &*languages[0].name), ("af", "Afrikaans"));
    /// # Ok(()) }
    /// ```
    pub async fn languages(&self, hl: Option<&str>) -> Result<Vec<Language>> {
        self.lookup(&Lookup::Languages(hl.map(str::to_owned))).await?.decode()
    }

    /// Fetches video categories, with titles in the language `hl`. It costs 1 unit.
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
        self.lookup(&Lookup::Categories(query.clone(), hl.map(str::to_owned))).await?.decode()
    }

    /// Fetches the transcript of a video. It needs no key and costs no units. A cache miss usually
    /// takes two requests.
    ///
    /// # Errors
    ///
    /// [`Reason::CaptionsDisabled`](crate::Reason::CaptionsDisabled) if the video has no captions,
    /// and [`Reason::LanguageUnavailable`](crate::Reason::LanguageUnavailable) if it has none in a
    /// requested language.
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
        self.lookup(&Lookup::Transcript(id, query.clone())).await?.decode()
    }

    /// Lists the caption tracks of a video. It needs no key and costs no units.
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
        self.lookup(&Lookup::Tracks(id)).await?.decode()
    }

    /// Streams the transcripts of a playlist in the order of completion. A video without a
    /// transcript fails alone. The batch costs 1 unit for each page of 50 entries up to `to`.
    ///
    /// Dropping the stream cancels the batch.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::Overloaded`](crate::Reason::Overloaded) means
    /// that too many batches are running. Any other error means that the client could not list the
    /// playlist to its end. Results of the entries that were already listed come before it.
    ///
    /// ```
    /// use futures_util::{StreamExt, pin_mut};
    /// use vidra::{BatchEvent, BatchQuery, PlaylistId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let first_three = BatchQuery::default().with_to(3);
    /// let events = vidra.playlist_transcripts(&PlaylistId::parse("PLquirkMixed")?, &first_three);
    /// pin_mut!(events);
    /// while let Some(event) = events.next().await {
    ///     match event? {
    ///         BatchEvent::Result(video) => match video.transcript {
    ///             Ok(lines) => println!("{}: {} lines", video.title, lines.len()),
    ///             Err(error) => println!("{}: {error} ({})", video.title, error.reason()),
    ///         },
    ///         BatchEvent::Done(summary) => assert_eq!((summary.succeeded, summary.failed), (2, 1)),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime, because the batch runs in its own task.
    pub fn playlist_transcripts(
        &self,
        id: &PlaylistId,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        let Some(slot) = self.batches.take_slot() else {
            return stream::once(future::ready(Err(Error::overloaded()))).left_stream();
        };
        let deadline = Instant::now() + self.batch_deadline.min(self.patience).min(FOREVER);
        let ctx = Context { deadline, ..self.context() };
        let (services, id, query) = (Arc::clone(&self.services), id.clone(), query.clone());
        let tally = Arc::clone(&self.batches);
        batch::run(Batch { services, ctx, id, query, _slot: slot, tally }).right_stream()
    }

    /// Waits for the end of a batch, and returns its summary and its results in playlist order as one JSON
    /// document. Many results may be in a temporary file, as with [`Vidra::lookup_body`].
    ///
    /// # Errors
    ///
    /// The error of the batch, or [`Reason::Overloaded`](crate::Reason::Overloaded) if there is no room for its
    /// results.
    pub async fn batch_body(&self, events: impl Stream<Item = Result<BatchEvent>>) -> Result<Body> {
        batch::body::collect(&self.services.spool, events).await
    }

    /// Reports the state of the daily quota. It sends nothing and costs nothing.
    ///
    /// # Errors
    ///
    /// [`Reason::TimedOut`](crate::Reason::TimedOut) if the ledger does not respond before the
    /// deadline.
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
