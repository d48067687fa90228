//! Playlists: the models, and the walk through all entries with details under way beside it.

mod entries;

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures_channel::mpsc;
use futures_util::{TryStreamExt, future};
use serde::{Deserialize, Serialize};

use crate::ask::{self, Ask};
use crate::cache::gather::MOST_IDS;
use crate::cache::{Cached, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Moment};
use crate::ident::{PlaylistId, VideoId};
use crate::thumbnail::Thumbnails;
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, the_one, wire};
use crate::video::{self, Video, Withheld, without_comments};

pub(crate) use entries::{Entry, Standing, all_entries, entries, pages};

/// A playlist with all its videos.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Playlist {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// How many videos are listed here.
    pub video_count: usize,
    /// Their length together, in whole seconds.
    pub total_duration: u64,
    /// `totalDuration` in words.
    #[cfg_attr(feature = "openapi", schema(example = "2d 5h 32m 10s"))]
    pub total_duration_fmt: String,
    /// The videos in playlist order; one that stands twice is listed twice.
    pub videos: Vec<PlaylistVideo>,
    /// How many entries are private or deleted and therefore not listed; absent when none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unavailable_count: usize,
}

/// A video as a playlist lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlaylistVideo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The title of the channel that published the video.
    pub channel_title: String,
    /// When the video was published (not when it was added to the playlist).
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The length in whole seconds.
    pub duration: u64,
    /// `duration` as a clock.
    pub duration_fmt: String,
    /// How often it was watched.
    pub views: u64,
    /// `views` for people.
    pub views_fmt: String,
    /// How many liked it.
    pub likes: u64,
    /// `likes` for people.
    pub likes_fmt: String,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// The counts that the platform withholds; absent when it withholds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
}

/// A playlist without its videos.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlaylistInfo {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
}

/// The ids of a playlist's entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlaylistIds {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// All entries in order, private and deleted ones included as long as their id is told.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub video_ids: Vec<VideoId>,
    /// How many they are.
    pub count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Playlist {
    pub(crate) fn new(info: PlaylistInfo, videos: Vec<PlaylistVideo>, unavailable: usize) -> Self {
        let total_duration = videos.iter().map(|video| video.duration).sum();
        Self {
            id: info.id,
            title: info.title,
            description: info.description,
            thumbnails: info.thumbnails,
            video_count: videos.len(),
            total_duration,
            total_duration_fmt: format::span(total_duration),
            videos,
            unavailable_count: unavailable,
        }
    }
}

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

impl From<Video> for PlaylistVideo {
    fn from(video: Video) -> Self {
        Self {
            id: video.id,
            title: video.title,
            description: video.description,
            channel_title: video.channel,
            published_at: video.published_at,
            duration: video.duration,
            duration_fmt: video.duration_fmt,
            views: video.views,
            views_fmt: video.views_fmt,
            likes: video.likes,
            likes_fmt: video.likes_fmt,
            thumbnails: video.thumbnails,
            hidden: without_comments(video.hidden),
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
