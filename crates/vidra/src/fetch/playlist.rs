//! Playlists: the walk through all entries, with details under way beside it.

mod entries;

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures_channel::mpsc;
use futures_util::{TryStreamExt, future};

use super::video;
use crate::ask::{self, Ask};
use crate::cache::gather::MOST_IDS;
use crate::cache::{Cached, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{PlaylistId, VideoId};
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, the_one, wire};
use crate::video::Video;

pub(crate) use entries::{Entry, Standing, all_entries, entries, pages};

impl PlaylistInfo {
    pub(crate) fn from_wire(id: PlaylistId, playlist: wire::Playlist) -> Self {
        let snippet = playlist.snippet.unwrap_or_default();
        Self {
            id,
            title: snippet.title.unwrap_or_default(),
            description: snippet.description.unwrap_or_default(),
            thumbnails: snippet.thumbnails.unwrap_or_default(),
        }
    }
}

/// Title, description and pictures: one unit.
pub(crate) async fn info(scope: &Scope, id: &PlaylistId) -> Result<PlaylistInfo> {
    let call = Call::new(Endpoint::Playlists, "Playlist", id)
        .with("part", "snippet")
        .with("id", id.as_str());
    let items: Vec<wire::Playlist> = scope.list(&call).await?;
    let playlist = the_one(items, "playlist", id.as_str(), |item| item.id.as_deref())?;
    let playlist = playlist.ok_or_else(|| Error::not_found("Playlist", id))?;
    Ok(PlaylistInfo::from_wire(id.clone(), playlist))
}

impl PlaylistIds {
    /// The ids of entries as [`Ask::PlaylistEntries`] gives them.
    pub fn from_entries(id: PlaylistId, entries: &Cached) -> Result<Self> {
        let entries: Vec<Entry> = entries.decode()?;
        let video_ids: Vec<VideoId> = entries.into_iter().filter_map(|entry| entry.video).collect();
        Ok(Self { id, count: video_ids.len(), video_ids })
    }
}

/// The whole playlist. A playlist that is not there costs one unit: everything else starts when the
/// first page is in. From then on pages, details and the playlist's own data are asked for side by
/// side, so that the time is that of the pages, which can only be had one after the other.
pub(crate) async fn complete(scope: &Scope, id: &PlaylistId) -> Result<Playlist> {
    let mut pages = pin!(entries(scope, id));
    let first = pages.try_next().await?.unwrap_or_default();
    let has_entries = !first.is_empty();

    let (chunks, queue) = mpsc::unbounded();
    let walk = async move {
        let mut wanted = Wanted::to(chunks);
        let mut order: Vec<Option<VideoId>> = vec![];
        let mut next = Some(first);
        while let Some(page) = next {
            let page: Vec<_> = page.into_iter().map(|entry| entry.video).collect();
            wanted.add(scope, &page).await;
            order.extend(page);
            next = pages.try_next().await?;
        }
        wanted.flush();
        Ok::<_, Error>((order, wanted.known))
    };
    let head = async {
        match known_info(scope, id).await {
            // Some lists have entries and no data of their own; the entries are what was asked for.
            Err(error) if error.kind() == ErrorKind::NotFound && has_entries => {
                Ok(PlaylistInfo::from_wire(id.clone(), wire::Playlist::default()))
            }
            head => head,
        }
    };
    let details = video::gather(scope, queue);
    let ((order, mut known), details, head) = future::try_join3(walk, details, head).await?;
    known.extend(details);
    Ok(in_order(head, &order, known))
}

/// The playlist's own data, from memory where it is there.
async fn known_info(scope: &Scope, id: &PlaylistId) -> Result<PlaylistInfo> {
    let key = Ask::PlaylistInfo(id.clone()).key();
    match scope.known_one(&key).await {
        Some(Known::Nothing(error)) => return Err(error),
        Some(Known::Body(info)) => return info.decode(),
        None => {}
    }
    let found = info(scope, id).await;
    // Kept or not: this is for others.
    let _ = scope.cache.keep(&key, found.as_ref().map_err(Error::clone).and_then(ask::json));
    found
}

/// Lists the videos as the playlist has them; what has no details is private or deleted.
fn in_order(
    info: PlaylistInfo,
    order: &[Option<VideoId>],
    mut details: HashMap<VideoId, Video>,
) -> Playlist {
    let mut still_to_come: HashMap<VideoId, usize> = HashMap::with_capacity(details.len());
    for id in order.iter().flatten() {
        *still_to_come.entry(*id).or_default() += 1;
    }
    let mut videos = Vec::with_capacity(order.len());
    for id in order.iter().flatten() {
        let left = still_to_come.get_mut(id).expect("every entry was counted");
        *left -= 1;
        // Moved out at its last place, so that only real duplicates are copied.
        let video = if *left == 0 { details.remove(id) } else { details.get(id).cloned() };
        videos.extend(video.map(PlaylistVideo::from));
    }
    let unavailable = order.len() - videos.len();
    Playlist::new(info, videos, unavailable)
}

/// Gathers ids over page borders into calls of fifty: pages come short, calls should not. What is
/// known is not asked for.
struct Wanted {
    chunks: mpsc::UnboundedSender<Vec<VideoId>>,
    known: HashMap<VideoId, Video>,
    /// What has been asked for already, so that a video that stands twice is asked for once.
    asked: HashSet<VideoId>,
    waiting: Vec<VideoId>,
}

impl Wanted {
    fn to(chunks: mpsc::UnboundedSender<Vec<VideoId>>) -> Self {
        Self { chunks, known: HashMap::new(), asked: HashSet::new(), waiting: vec![] }
    }

    async fn add(&mut self, scope: &Scope, page: &[Option<VideoId>]) {
        let ids = page.iter().flatten().copied();
        let new: Vec<VideoId> = ids.filter(|id| self.asked.insert(*id)).collect();
        let (known, unknown) = video::known(scope, &new).await;
        self.known.extend(known);
        for id in unknown {
            self.waiting.push(id);
            if self.waiting.len() == MOST_IDS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            // The receiver lives as long as the walk; if it is gone, so is the caller.
            let _ = self.chunks.unbounded_send(std::mem::take(&mut self.waiting));
        }
    }
}
