//! The source of a batch, and how its entries are listed.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::{Batch, BatchEvent, Events, NumberedEntry};
use crate::context::{Context, Slot};
use crate::error::{ErrorKind, Result};
use crate::ident::{ChannelId, ChannelRef, PlaylistId, VideoId};
use crate::list::{Availability, SourceId};
use crate::resource::channel;
use crate::resource::playlist::{Entries, Entry, Needed};

/// The videos of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchSource {
    /// These videos.
    Videos(Vec<VideoId>),
    /// The videos of a playlist.
    Playlist(PlaylistId),
    /// The uploads of a channel, newest first.
    Channel(ChannelRef),
}

/// The id and the size of the source, known after listing.
pub(super) struct Listed {
    pub(super) source: SourceId,
    pub(super) total_videos: u64,
}

/// Sends the requested entries to the workers. It reads no page after the last requested entry, because every page
/// costs a unit.
pub(super) async fn list(
    batch: &Batch,
    entries: mpsc::Sender<NumberedEntry>,
    events: &Events,
) -> Result<Listed> {
    let mut listing = Listing { batch, entries, events, position: 0 };
    // The batch already holds a batch slot.
    let ctx = Context { slot: Slot::not_needed(), ..batch.ctx.for_parts() };
    match &batch.source {
        BatchSource::Videos(ids) => {
            let total_videos = ids.len() as u64;
            listing.start(Some(total_videos)).await;
            let entry = |id: &VideoId| {
                let (video, availability) = (Some(*id), Availability::Public);
                Entry { video, title: String::new(), availability, published: None }
            };
            listing.send(&ids.iter().map(entry).collect::<Vec<_>>()).await;
            Ok(Listed { source: SourceId::Videos, total_videos })
        }
        BatchSource::Playlist(id) => {
            let pages = open(batch, &ctx, id).await?;
            let total_videos = listing.pages(&ctx, id, pages, None).await?;
            Ok(Listed { source: SourceId::Playlist(id.clone()), total_videos })
        }
        BatchSource::Channel(channel) => {
            let (id, _) = channel::id_of(&batch.services, &ctx, channel).await?;
            let total_videos = listing.uploads(&ctx, &id).await?;
            Ok(Listed { source: SourceId::Channel(id), total_videos })
        }
    }
}

/// Opens the entries of a playlist, of which the batch may need only the first ones.
async fn open(batch: &Batch, ctx: &Context, id: &PlaylistId) -> Result<Entries> {
    let (to, since) = (batch.query.to, batch.last_since());
    if to.is_none() && since.is_none() {
        return Entries::new(&batch.services, ctx, id, Needed::Part).await;
    }
    let is_enough = |start: &[Entry]| {
        let last_page = &start[start.len().saturating_sub(PAGE)..];
        to.is_some_and(|to| start.len() as u64 >= to)
            || since.is_some_and(|since| are_older(last_page, since))
    };
    Entries::for_part(&batch.services, ctx, id, is_enough).await
}

/// The number of entries on a full page.
const PAGE: usize = 50;

impl Batch {
    /// The date after which the list ends: uploads are in the order of time, and other playlists are not.
    fn last_since(&self) -> Option<Timestamp> {
        self.query.since.filter(|_| matches!(self.source, BatchSource::Channel(_)))
    }
}

struct Listing<'a> {
    batch: &'a Batch,
    entries: mpsc::Sender<NumberedEntry>,
    events: &'a Events,
    /// The number of entries so far.
    position: u64,
}

impl Listing<'_> {
    async fn start(&self, total_videos: Option<u64>) {
        let _ = self.events.send(Ok(BatchEvent::Started { total_videos })).await;
    }

    /// Sends the entries of a page that are requested.
    async fn send(&mut self, page: &[Entry]) {
        let query = &self.batch.query;
        for entry in page {
            self.position += 1;
            let is_requested = query.from.is_none_or(|from| self.position >= from)
                && query.to.is_none_or(|to| self.position <= to)
                && query.since.is_none_or(|since| entry.published() >= Some(since))
                && !entry.video.is_some_and(|video| query.skip.contains(&video));
            if is_requested {
                self.batch.tally.note_listed();
                // Cannot fail: the receiver outlives this sender.
                let _ = self.entries.send((self.position, entry.clone())).await;
            }
        }
    }

    /// Sends the entries of a playlist, and returns the number of all its entries. `first` is its first page if it was
    /// already read.
    async fn pages(
        &mut self,
        ctx: &Context,
        id: &PlaylistId,
        mut pages: Entries,
        first: Option<Arc<Vec<Entry>>>,
    ) -> Result<u64> {
        let mut next = match first {
            Some(first) => Some(first),
            None => pages.next().await?,
        };
        self.start(pages.known_total().map(|total| total as u64)).await;
        while let Some(page) = next {
            self.send(&page).await;
            let is_done = self.batch.query.to.is_some_and(|to| self.position >= to)
                || self.batch.last_since().is_some_and(|since| are_older(&page, since));
            next = if is_done { None } else { pages.next().await? };
        }
        pages.store_start(&self.batch.services, ctx, id).await;
        Ok(pages.total() as u64)
    }

    /// Sends the uploads of a channel, and returns their number. The playlist of uploads usually has the id of the
    /// channel. If there is no such playlist, the channel names another one, or it has no uploads.
    async fn uploads(&mut self, ctx: &Context, channel: &ChannelId) -> Result<u64> {
        let (batch, likely) = (self.batch, channel::likely_uploads(channel));
        let opened = match open(batch, ctx, &likely).await {
            Ok(mut pages) => pages.next().await.map(|first| (pages, first)),
            Err(error) => Err(error),
        };
        let error = match opened {
            Ok((pages, first)) => return self.pages(ctx, &likely, pages, first).await,
            Err(error) => error,
        };
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        let channel = ChannelRef::Id(channel.clone());
        let named = channel::named_uploads(&batch.services, ctx, &channel).await?.body;
        match named.filter(|named| *named != likely) {
            Some(named) => {
                let pages = open(batch, ctx, &named).await?;
                self.pages(ctx, &named, pages, None).await
            }
            None => {
                self.start(Some(0)).await;
                Ok(0)
            }
        }
    }
}

/// Whether all dated entries of a page are older. Uploads are in the order of their dates only roughly.
fn are_older(page: &[Entry], since: Timestamp) -> bool {
    let mut dates = page.iter().filter_map(Entry::published).peekable();
    dates.peek().is_some() && dates.all(|published| published < since)
}
