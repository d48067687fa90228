//! The entries of playlists and uploads, page by page.

use super::Vidra;
use crate::error::Result;
use crate::list::{EntryPage, EntrySource};
use crate::resource::playlist::listing;

impl Vidra {
    /// Reads one page of up to 50 entries of a playlist, or of the uploads of a channel: from a cursor on, or from the
    /// beginning. Unlike [`Vidra::playlist_videos_page`] it also returns the entries of private and deleted videos, and
    /// fetches no videos.
    ///
    /// It costs 1 unit, or nothing if the page is cached. The first page of a channel costs 1 more by handle, and 1 more
    /// if YouTube does not have its uploads under the usual id. A cursor remembers the channel and needs neither.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, or if YouTube no
    /// longer accepts it. [`Reason::PlaylistNotFound`](crate::Reason::PlaylistNotFound) and
    /// [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if YouTube has no such list.
    /// [`Reason::UpstreamFailed`](crate::Reason::UpstreamFailed) if the list does not end after 50,000 entries.
    ///
    /// ```
    /// use vidra::{EntrySource, PlaylistId};
    ///
    #[doc = include_str!("../example.txt")]
    /// let request = vidra.metered();
    /// let source = EntrySource::Playlist(PlaylistId::parse("PLsize120")?);
    /// let (mut entries, mut cursor) = (vec![], None);
    /// loop {
    ///     let page = request.entries_page(&source, cursor.as_deref()).await?;
    ///     entries.extend(page.entries);
    ///     cursor = page.next_cursor;
    ///     if cursor.is_none() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!((entries.len(), entries[119].position), (120, 120));
    /// assert_eq!(request.cost().units(), 3);
    /// # Ok(()) }
    /// ```
    pub async fn entries_page(
        &self,
        source: &EntrySource,
        cursor: Option<&str>,
    ) -> Result<EntryPage> {
        listing::entries_page(&self.services, &self.context(), source, cursor).await
    }
}
