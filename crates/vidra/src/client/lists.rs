//! Lists of videos that are read page by page, or as a stream.

use futures_util::{Stream, TryStreamExt};

use super::Vidra;
use crate::cache::Cached;
use crate::error::Result;
use crate::ident::{ChannelRef, PlaylistId};
use crate::list::{DateRange, ListedVideo, Page};
use crate::resource::list::{Item, VideoList};
use crate::video::Video;

impl Vidra {
    /// Streams the available videos of a playlist in its order. Pages that are not read are not fetched. It costs 1
    /// unit for each page of 50 entries, and 1 for each 50 uncached videos.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::PlaylistNotFound`](crate::Reason::PlaylistNotFound) if YouTube has
    /// no such playlist.
    ///
    /// ```
    /// use futures_util::{TryStreamExt, pin_mut};
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let request = vidra.metered();
    /// let videos = request.playlist_videos(&PlaylistId::parse("PLsize500")?);
    /// pin_mut!(videos);
    /// while let Some(video) = videos.try_next().await? {
    ///     println!("{}: {}", video.position, video.video.title);
    ///     if video.position == 3 {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(request.cost().units(), 2);
    /// # Ok(()) }
    /// ```
    pub fn playlist_videos(
        &self,
        id: &PlaylistId,
    ) -> impl Stream<Item = Result<ListedVideo>> + Send + use<> {
        self.playlist_videos_from(id, None)
    }

    /// Streams the available videos of a playlist from a cursor of [`Vidra::playlist_videos_page`] on.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::playlist_videos`].
    pub fn playlist_videos_from(
        &self,
        id: &PlaylistId,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<ListedVideo>> + Send + use<> {
        self.list_stream(VideoList::Playlist(id.clone()), cursor).map_ok(listed)
    }

    /// Fetches up to `limit` available videos of a playlist from a cursor on, or from its beginning. A page of 50 costs
    /// 2 units.
    ///
    /// The page has fewer videos than `limit` before the end of the list if many entries are private or deleted, or if
    /// a later part of the list cannot be fetched: the next request gets the error then.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::playlist_videos`].
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let id = PlaylistId::parse("PLsize500")?;
    /// let first = vidra.playlist_videos_page(&id, None, 20).await?.body;
    /// let second = vidra.playlist_videos_page(&id, first.next_cursor.as_deref(), 20).await?.body;
    /// assert_eq!((second.items.len(), second.items[0].position), (20, 21));
    /// # Ok(()) }
    /// ```
    pub async fn playlist_videos_page(
        &self,
        id: &PlaylistId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<ListedVideo>>> {
        self.list_page(&VideoList::Playlist(id.clone()), cursor, limit, listed).await
    }

    /// Streams the uploads of a channel that were published in a range of dates, newest first. It ends after a whole
    /// page that is older than the range. It costs as much as [`Vidra::playlist_videos`], and 1 unit more by handle.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if YouTube has no
    /// such channel.
    ///
    /// ```
    /// use futures_util::{StreamExt, TryStreamExt};
    /// use vidra::{ChannelRef, DateRange};
    ///
    #[doc = include_str!("../example.txt")]
    /// let channel = ChannelRef::parse("@fermata")?;
    /// let newest: Vec<_> = vidra.uploads(&channel, DateRange::default()).take(3).try_collect().await?;
    /// assert!(newest.is_sorted_by_key(|video| std::cmp::Reverse(video.published_at)));
    /// # Ok(()) }
    /// ```
    pub fn uploads(
        &self,
        channel: &ChannelRef,
        range: DateRange,
    ) -> impl Stream<Item = Result<Video>> + Send + use<> {
        self.uploads_from(channel, range, None)
    }

    /// Streams the uploads of a channel from a cursor of [`Vidra::uploads_page`] on.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::uploads`].
    pub fn uploads_from(
        &self,
        channel: &ChannelRef,
        range: DateRange,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<Video>> + Send + use<> {
        self.list_stream(VideoList::Uploads(channel.clone(), range), cursor)
            .map_ok(|item| item.video)
    }

    /// Fetches up to `limit` uploads of a channel from a cursor on, or from the newest.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, and the errors of
    /// [`Vidra::uploads`].
    pub async fn uploads_page(
        &self,
        channel: &ChannelRef,
        range: DateRange,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<Video>>> {
        let list = VideoList::Uploads(channel.clone(), range);
        self.list_page(&list, cursor, limit, |item| item.video).await
    }
}

fn listed(Item { video, position }: Item) -> ListedVideo {
    ListedVideo { video: video.into(), position }
}
