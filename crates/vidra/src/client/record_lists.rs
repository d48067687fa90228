//! Playlists of a channel, comment threads and charts, page by page or as a stream.

use futures_util::Stream;

use super::Vidra;
use crate::cache::Cached;
use crate::chart::ChartQuery;
use crate::comment::{CommentQuery, CommentThread};
use crate::error::Result;
use crate::ident::{ChannelRef, VideoId};
use crate::list::Page;
use crate::playlist::PlaylistInfo;
use crate::resource::chart::Chart;
use crate::resource::comment::threads::Threads;
use crate::resource::playlist::of_channel::ChannelPlaylists;
use crate::video::Video;

impl Vidra {
    /// Streams the public playlists of a channel. Pages that are not read are not fetched. It costs 1 unit for each
    /// page of 50 playlists, and 1 unit more by handle.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if YouTube has no
    /// such channel, and [`Reason::NotAccessible`](crate::Reason::NotAccessible) if it does not show its playlists.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use vidra::{ChannelRef, PlaylistInfo};
    ///
    #[doc = include_str!("../example.txt")]
    /// let channel = ChannelRef::parse("@fermata")?;
    /// let playlists: Vec<PlaylistInfo> = vidra.channel_playlists(&channel).try_collect().await?;
    /// assert!(playlists.iter().all(|playlist| playlist.channel == "Fermata Sessions"));
    /// # Ok(()) }
    /// ```
    pub fn channel_playlists(
        &self,
        channel: &ChannelRef,
    ) -> impl Stream<Item = Result<PlaylistInfo>> + Send + use<> {
        self.channel_playlists_from(channel, None)
    }

    /// Streams the playlists of a channel from a cursor of [`Vidra::channel_playlists_page`] on.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::channel_playlists`].
    pub fn channel_playlists_from(
        &self,
        channel: &ChannelRef,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<PlaylistInfo>> + Send + use<> {
        self.list_stream(ChannelPlaylists(channel.clone()), cursor)
    }

    /// Fetches up to `limit` playlists of a channel from a cursor on, or from the first.
    ///
    /// The page has fewer playlists than `limit` before the end of the list if a later part of the list cannot be
    /// fetched: the next request gets the error then.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::channel_playlists`].
    pub async fn channel_playlists_page(
        &self,
        channel: &ChannelRef,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<PlaylistInfo>>> {
        self.list_page(&ChannelPlaylists(channel.clone()), cursor, limit, |item| item).await
    }

    /// Streams the comment threads of a video without an upper bound: the `limit` of the query does not apply. Pages
    /// that are not read are not fetched. It costs 1 unit for each page of 100 threads. With all replies, each page of
    /// replies that YouTube did not send with a thread costs 1 more.
    ///
    /// A search reads all pages, and yields the threads in which the comment or a reply contains all words.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::CommentsDisabled`](crate::Reason::CommentsDisabled) if the video has
    /// comments disabled.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use vidra::{CommentQuery, CommentThread, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let video = VideoId::parse("quirkHtmlCm")?;
    /// let query = CommentQuery::default().with_search("first".to_owned());
    /// let found: Vec<CommentThread> = vidra.comment_threads(video, &query).try_collect().await?;
    /// assert_eq!(found[0].top_level_comment.text, "First!");
    /// # Ok(()) }
    /// ```
    pub fn comment_threads(
        &self,
        video: VideoId,
        query: &CommentQuery,
    ) -> impl Stream<Item = Result<CommentThread>> + Send + use<> {
        self.comment_threads_from(video, query, None)
    }

    /// Streams the comment threads of a video from a cursor of [`Vidra::comment_threads_page`] on.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::comment_threads`].
    pub fn comment_threads_from(
        &self,
        video: VideoId,
        query: &CommentQuery,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<CommentThread>> + Send + use<> {
        self.list_stream(Threads::new(video, query), cursor)
    }

    /// Fetches up to `limit` comment threads of a video from a cursor on, or from the first. The `limit` of the query
    /// does not apply.
    ///
    /// A search reads at most 20 consecutive pages without a match, and with all replies those of about 100 threads.
    /// The page then has fewer threads than `limit`, perhaps none, and the cursor continues the search. The page is
    /// also short if a later part of the list cannot be fetched: the next request gets the error then.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::comment_threads`].
    pub async fn comment_threads_page(
        &self,
        video: VideoId,
        query: &CommentQuery,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<CommentThread>>> {
        self.list_page(&Threads::new(video, query), cursor, limit, |item| item).await
    }

    /// Streams the videos of a chart of popular videos. YouTube lists at most 200. It costs 1 unit for each page of 50
    /// videos, with all their data.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::UpstreamRejected`](crate::Reason::UpstreamRejected) for an unknown
    /// region, and [`Reason::ChartNotFound`](crate::Reason::ChartNotFound) for a category without a chart.
    ///
    /// ```
    /// use futures_util::{StreamExt, TryStreamExt};
    /// use vidra::{ChartQuery, Video};
    ///
    #[doc = include_str!("../example.txt")]
    /// let chart = ChartQuery::default().with_region("DE".to_owned());
    /// let top: Vec<Video> = vidra.popular_videos(&chart).take(3).try_collect().await?;
    /// assert_eq!((top.len(), vidra.cost().units()), (3, 1));
    /// # Ok(()) }
    /// ```
    pub fn popular_videos(
        &self,
        chart: &ChartQuery,
    ) -> impl Stream<Item = Result<Video>> + Send + use<> {
        self.popular_videos_from(chart, None)
    }

    /// Streams the videos of a chart from a cursor of [`Vidra::popular_videos_page`] on.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this chart, and the errors of
    /// [`Vidra::popular_videos`].
    pub fn popular_videos_from(
        &self,
        chart: &ChartQuery,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<Video>> + Send + use<> {
        self.list_stream(Chart(chart.clone()), cursor)
    }

    /// Fetches up to `limit` videos of a chart from a cursor on, or from the first.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this chart, and the errors of
    /// [`Vidra::popular_videos`].
    pub async fn popular_videos_page(
        &self,
        chart: &ChartQuery,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<Video>>> {
        self.list_page(&Chart(chart.clone()), cursor, limit, |item| item).await
    }
}
