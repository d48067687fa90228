//! The operations on playlists.

use serde::Serialize;
use tokio::task::spawn_blocking;

use super::Vidra;
use crate::error::{Error, Result};
use crate::ident::PlaylistId;
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
use crate::resource::lookup::Lookup;
use crate::resource::playlist;
use crate::selection::{Selected, Selection};
use crate::spool::{AnswerMemory, Body, ELEMENTS_AT_ONCE, SMALL_BYTES};

impl Vidra {
    /// Fetches a playlist with all its videos. It costs 1 unit, 1 for each page of 50 entries and 1
    /// for each 50 distinct uncached videos.
    ///
    /// The whole list is in memory: up to about 100 MB for 20,000 videos. It counts as a large answer
    /// ([`Builder::max_answer_memory`](crate::Builder)) while it is decoded, but no longer when it is
    /// returned. A service with many callers should use [`Vidra::lookup_body`], or
    /// [`Vidra::query_playlist_with`].
    ///
    /// # Errors
    ///
    /// [`Reason::PlaylistNotFound`](crate::Reason::PlaylistNotFound) if YouTube has no such
    /// playlist, [`Reason::NotAccessible`](crate::Reason::NotAccessible) if it is private, and
    /// [`Reason::Overloaded`](crate::Reason::Overloaded) if other large answers use the memory.
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
        self.query_playlist_with(id, &Selection::default(), |selected| selected.playlist).await
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
    /// The list counts as a large answer while it is decoded, but no longer when it is returned, as with
    /// [`Vidra::playlist`].
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::playlist`].
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
        self.query_playlist_with(id, selection, |selected| selected).await
    }

    /// Selects videos as [`Vidra::query_playlist`] does, and passes them to `read`. The memory of the
    /// list counts as that of a large answer ([`Builder::max_answer_memory`](crate::Builder)) until
    /// `read` returns, so a service that needs only a small part of the list should take it here.
    /// `read` runs in one piece, so it should be short.
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::query_playlist`].
    ///
    /// ```
    /// use vidra::{PlaylistId, Selection};
    ///
    #[doc = include_str!("../example.txt")]
    /// let id = PlaylistId::parse("PLsize500")?;
    /// let all = Selection::default();
    /// let titles = vidra.query_playlist_with(&id, &all, |selected| {
    ///     let videos = selected.playlist.videos.into_iter().take(3);
    ///     videos.map(|video| video.title).collect::<Vec<_>>()
    /// });
    /// assert_eq!(titles.await?.len(), 3);
    /// # Ok(()) }
    /// ```
    pub async fn query_playlist_with<T>(
        &self,
        id: &PlaylistId,
        selection: &Selection,
        read: impl FnOnce(Selected) -> T,
    ) -> Result<T> {
        let (selected, _memory) = self.select(id, selection).await?;
        Ok(read(selected))
    }

    /// Selects videos, and returns them with the memory that they count as.
    async fn select(
        &self,
        id: &PlaylistId,
        selection: &Selection,
    ) -> Result<(Selected, AnswerMemory)> {
        // The filter and the sort may need members that the caller did not request.
        let needing = self.including(selection.include());
        let (body, entries) = match selection.needed() {
            Some(needed) => {
                let ctx = needing.context();
                let part = playlist::first_videos(&self.services, &ctx, id, needed).await?;
                (part.0, Some(part.1))
            }
            None => (needing.lookup_body(&Lookup::Playlist(id.clone())).await?.body, None),
        };
        let memory = self.services.spool.reserve_to_decode(&body)?;
        let json = body.into_bytes().await?;
        let is_small = json.len() <= SMALL_BYTES;
        let (selection, has_details) = (selection.clone(), self.include.details);
        // The thread holds the memory, because it continues if the caller leaves.
        let apply = move || decode(&json, &selection, has_details).map(|found| (found, memory));
        // A long list would keep a thread of the runtime for tenths of a second.
        let (mut selected, memory) = match is_small {
            true => apply()?,
            false => spawn_blocking(apply).await.map_err(Error::internal)??,
        };
        selected.original_count = entries.unwrap_or(selected.original_count);
        Ok((selected, memory))
    }

    /// Selects videos as [`Vidra::query_playlist`] does, and returns the [`Selected`] as JSON. `item`
    /// converts each video to the value that is written to `videos`. A long list may be in a temporary
    /// file, as with [`Vidra::lookup_body`].
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::query_playlist`].
    pub async fn query_playlist_body<T: Serialize>(
        &self,
        id: &PlaylistId,
        selection: &Selection,
        mut item: impl FnMut(PlaylistVideo) -> T,
    ) -> Result<Body> {
        let (mut selected, _memory) = self.select(id, selection).await?;
        let (mut list, mut order) = (self.services.spool.list(), vec![]);
        for (index, video) in std::mem::take(&mut selected.playlist.videos).into_iter().enumerate()
        {
            order.push(list.push(&item(video))?);
            if index % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1 {
                list.give_way().await;
            }
        }
        list.finish(&selected, "videos", &order).await
    }

    /// Selects videos as [`Vidra::query_playlist`] does, and returns a text: `head`, then one `row`
    /// for each video. A long text may be in a temporary file, as with [`Vidra::lookup_body`].
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::query_playlist`].
    pub async fn query_playlist_text(
        &self,
        id: &PlaylistId,
        selection: &Selection,
        head: &[u8],
        mut row: impl FnMut(PlaylistVideo) -> Vec<u8>,
    ) -> Result<Body> {
        let (selected, _memory) = self.select(id, selection).await?;
        let mut text = self.services.spool.list();
        text.push_text(head)?;
        for (index, video) in selected.playlist.videos.into_iter().enumerate() {
            text.push_text(&row(video))?;
            if index % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1 {
                text.give_way().await;
            }
        }
        text.finish_text().await
    }
}

/// The selected videos of a list, without members that the caller did not request.
fn decode(json: &[u8], selection: &Selection, has_details: bool) -> Result<Selected> {
    let playlist: Playlist = serde_json::from_slice(json).map_err(Error::internal)?;
    let mut selected = selection.apply(playlist);
    for video in &mut selected.playlist.videos {
        video.comments = None;
        video.details = video.details.take().filter(|_| has_details);
    }
    Ok(selected)
}
