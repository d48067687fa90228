//! The operations of a client, one method for each.

use super::Vidra;
use crate::cache::Cached;
use crate::channel::{Channel, ChannelVideo};
use crate::comment::{Comment, CommentQuery, CommentThread};
use crate::error::Result;
use crate::feed::FeedAnswer;
use crate::ident::{ChannelRef, CommentId, PlaylistId, VideoId};
use crate::quota::Quota;
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::resource::lookup::Lookup;
use crate::resource::{transcript, video};
use crate::transcript::{CaptionTrack, FullTranscript, Transcript, TranscriptQuery};
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

    /// Fetches the newest videos of a channel, about 15, from its public feed. It needs no key and costs nothing. Only
    /// a handle or a name has to be looked up first, which costs as much as [`Vidra::channel`].
    ///
    /// If YouTube does not serve the feed, the videos come from the Data API, for 2 units.
    ///
    /// # Errors
    ///
    /// [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if YouTube has no such channel. If YouTube serves
    /// no feed, the errors are those of the Data API, also without a key or a quota.
    ///
    /// ```
    /// use vidra::{ChannelRef, FeedSource};
    ///
    #[doc = include_str!("../example.txt")]
    /// let channel = ChannelRef::parse("UCB-2_pXPtFYDifLXZF-S8PA")?;
    /// let feed = vidra.channel_feed(&channel).await?;
    /// assert_eq!((feed.source, vidra.cost().units()), (FeedSource::Feed, 0));
    /// println!("{}: {}", feed.items[0].channel, feed.items[0].title);
    /// # Ok(()) }
    /// ```
    pub async fn channel_feed(&self, channel: &ChannelRef) -> Result<FeedAnswer> {
        self.lookup(&Lookup::ChannelFeed(channel.clone())).await?.decode()
    }

    /// Fetches the first videos of a playlist, about 15, from its public feed. It needs no key and costs nothing. If
    /// YouTube does not serve the feed, the videos come from the Data API, for 2 units.
    ///
    /// # Errors
    ///
    /// [`Reason::PlaylistNotFound`](crate::Reason::PlaylistNotFound) if YouTube has no such playlist. If YouTube serves
    /// no feed, the errors are those of the Data API, also without a key or a quota.
    ///
    /// ```
    /// use vidra::{FeedSource, PlaylistId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let feed = vidra.playlist_feed(&PlaylistId::parse("PLsize50")?).await?;
    /// assert_eq!((feed.source, feed.items.len()), (FeedSource::Feed, 15));
    /// # Ok(()) }
    /// ```
    pub async fn playlist_feed(&self, id: &PlaylistId) -> Result<FeedAnswer> {
        self.lookup(&Lookup::PlaylistFeed(id.clone())).await?.decode()
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
    /// [`Reason::LanguageUnavailable`](crate::Reason::LanguageUnavailable) if it has none in a
    /// requested language, and
    /// [`Reason::CaptionsKindUnavailable`](crate::Reason::CaptionsKindUnavailable) if these are of another kind.
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

    /// Fetches the transcript of a video with all its data: the title and the channel of the video, its chapters, the
    /// track, the line breaks of captions and the times of words. All forms of a transcript are made of it. It costs
    /// as much as [`Vidra::transcript`], and both share one record in the cache.
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::transcript`].
    ///
    /// ```
    /// use vidra::{ChunkQuery, TimeRange, TranscriptQuery, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let id = VideoId::parse("txManualAsr")?;
    /// let full = vidra.full_transcript(id, &TranscriptQuery::default()).await?.body;
    /// let first_minute = full.cut(TimeRange::new(None, Some("1:00".parse()?))?);
    /// assert_eq!(first_minute.info.track.language_name, "English");
    /// let chunks = first_minute.chunked(&ChunkQuery::default()).chunks;
    /// assert_eq!(chunks[0].url, "https://www.youtube.com/watch?v=txManualAsr&t=0s");
    /// # Ok(()) }
    /// ```
    pub async fn full_transcript(
        &self,
        id: VideoId,
        query: &TranscriptQuery,
    ) -> Result<Cached<FullTranscript>> {
        transcript::full(&self.services, &self.context(), id, query).await
    }

    /// Fetches the record of a transcript, which [`FullTranscript::from_record`](crate::FullTranscript::from_record)
    /// reads, for a program that stores transcripts: nothing is decoded and encoded again.
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::transcript`].
    ///
    /// ```
    /// use vidra::{FullTranscript, TranscriptQuery, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let id = VideoId::parse("txManualAsr")?;
    /// let record = vidra.transcript_record(id, &TranscriptQuery::default()).await?.body;
    /// assert_eq!(FullTranscript::info_of_record(&record)?.track.language_name, "English");
    /// # Ok(()) }
    /// ```
    pub async fn transcript_record(&self, id: VideoId, query: &TranscriptQuery) -> Result<Cached> {
        self.services.read_record(&self.context(), &Lookup::Transcript(id, query.clone())).await
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
