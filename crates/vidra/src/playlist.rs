//! Playlists: the models, and the walk through all entries with details under way beside it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::pin;

use futures_channel::mpsc;
use futures_util::{Stream, TryStreamExt, future};
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Moment};
use crate::ident::{PlaylistId, VideoId};
use crate::thumbnail::Thumbnails;
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, the_one, wire};
use crate::video::{self, Video, Withheld, without_comments};

/// A playlist with all its videos.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unavailable_count: usize,
}

/// A video as a playlist lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
}

/// A playlist without its videos.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// All entries, without details.
pub(crate) async fn ids(scope: &Scope, id: &PlaylistId) -> Result<PlaylistIds> {
    let entries = entries(scope, id, "Playlist", id).try_concat().await?;
    let video_ids: Vec<VideoId> = entries.into_iter().flatten().collect();
    Ok(PlaylistIds { id: id.clone(), count: video_ids.len(), video_ids })
}

/// The whole playlist. A playlist that is not there costs one unit: everything else starts when the
/// first page is in. From then on pages, details and the playlist's own data are asked for side by
/// side, so that the time is that of the pages, which can only be had one after the other.
pub(crate) async fn complete(scope: &Scope, id: &PlaylistId) -> Result<Playlist> {
    let mut pages = pin!(entries(scope, id, "Playlist", id));
    let first = pages.try_next().await?.unwrap_or_default();
    let has_entries = !first.is_empty();

    let (chunks, queue) = mpsc::unbounded();
    let walk = async move {
        let mut wanted = Wanted { chunks, asked: HashSet::new(), waiting: vec![] };
        let mut order = first;
        wanted.add(&order);
        while let Some(page) = pages.try_next().await? {
            wanted.add(&page);
            order.extend(page);
        }
        wanted.flush();
        Ok::<Vec<Entry>, Error>(order)
    };
    let head = async {
        match info(scope, id).await {
            // Some lists have entries and no data of their own; the entries are what was asked for.
            Err(error) if error.kind() == ErrorKind::NotFound && has_entries => {
                Ok(PlaylistInfo::from_wire(id.clone(), wire::Playlist::default()))
            }
            head => head,
        }
    };
    let details = video::gather(scope, queue);
    let (order, details, head) = future::try_join3(walk, details, head).await?;
    Ok(in_order(head, &order, details))
}

/// Lists the videos as the playlist has them; what has no details is private or deleted.
fn in_order(info: PlaylistInfo, order: &[Entry], mut details: HashMap<VideoId, Video>) -> Playlist {
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

/// Gathers ids over page borders into calls of fifty: pages come short, calls should not.
struct Wanted {
    chunks: mpsc::UnboundedSender<Vec<VideoId>>,
    /// What has been asked for already, so that a video that stands twice is asked for once.
    asked: HashSet<VideoId>,
    waiting: Vec<VideoId>,
}

impl Wanted {
    fn add(&mut self, page: &[Entry]) {
        for id in page.iter().flatten() {
            if self.asked.insert(*id) {
                self.waiting.push(*id);
            }
            if self.waiting.len() == video::MOST_IDS {
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

/// An entry as it is listed.
pub(crate) struct Listed {
    /// `None` where the platform does not tell which video it is.
    pub(crate) video: Entry,
    /// Empty where the video is private or deleted.
    pub(crate) title: String,
    pub(crate) is_available: bool,
}

impl Listed {
    /// Private and deleted videos are listed under a title of the platform's, without an owner and
    /// without a date. In old answers no entry has those, so all three have to agree.
    fn from_wire(item: wire::PlaylistItem) -> Self {
        let dated = item
            .content_details
            .as_ref()
            .is_some_and(|content| content.video_published_at.is_some());
        let snippet = item.snippet.as_ref();
        let owned = snippet.is_some_and(|snippet| snippet.video_owner_channel_id.is_some());
        let title = snippet.and_then(|snippet| snippet.title.clone()).unwrap_or_default();
        let is_available =
            dated || owned || !matches!(title.as_str(), "Private video" | "Deleted video");
        let title = if is_available { title } else { String::new() };
        Self { video: item.video_id(), title, is_available }
    }
}

/// The entries of a playlist with their titles, page by page.
pub(crate) fn listing(scope: &Scope, id: &PlaylistId) -> impl Stream<Item = Result<Vec<Listed>>> {
    let call = Call::new(Endpoint::PlaylistItems, "Playlist", id)
        .with("part", "snippet,contentDetails")
        .with("playlistId", id.as_str())
        .with("maxResults", "50");
    scope
        .pages(call)
        .map_ok(|page: Vec<wire::PlaylistItem>| page.into_iter().map(Listed::from_wire).collect())
}

/// An entry of a playlist; `None` where the platform does not tell which video it is.
pub(crate) type Entry = Option<VideoId>;

/// The entries of a playlist, page by page. `what` and `subject` name it in errors: a channel's
/// uploads are a playlist that the caller never heard of.
pub(crate) fn entries(
    scope: &Scope,
    id: &PlaylistId,
    what: &'static str,
    subject: &impl fmt::Display,
) -> impl Stream<Item = Result<Vec<Entry>>> {
    let call = Call::new(Endpoint::PlaylistItems, what, subject)
        .with("part", "contentDetails")
        .with("playlistId", id.as_str())
        .with("maxResults", "50");
    scope.pages(call).map_ok(|page: Vec<wire::PlaylistItem>| {
        page.into_iter().map(wire::PlaylistItem::video_id).collect()
    })
}
