//! The entries of playlists and of the uploads of channels: also those whose videos are private or deleted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ident::{ChannelId, ChannelRef, PlaylistId, VideoId};

/// A list whose entries are read page by page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntrySource {
    /// A playlist.
    Playlist(PlaylistId),
    /// The uploads of a channel, newest first.
    Uploads(ChannelRef),
}

/// The kind and the id of a source of videos.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", content = "id", rename_all = "lowercase")]
#[non_exhaustive]
pub enum SourceId {
    /// A list of videos.
    Videos,
    /// A playlist.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    Playlist(PlaylistId),
    /// A channel.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    Channel(ChannelId),
}

/// A page of entries, as YouTube sends it: up to 50.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPage {
    /// The list. For the uploads of a channel it has the id of the channel, whatever reference was used.
    pub source: SourceId,
    /// The entries. They can be fewer than 50, or none, before the end of the list.
    pub entries: Vec<PlaylistEntry>,
    /// The cursor of the next page. `None` on the last one.
    ///
    /// It is opaque and valid for the same list only. A later process can use it.
    pub next_cursor: Option<String>,
}

/// An entry of a playlist, or of the uploads of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaylistEntry {
    /// The position in the whole list, counted from 1.
    pub position: u64,
    /// The video. `None` if YouTube does not reveal it.
    pub video: Option<VideoId>,
    /// The title of the video. Empty if it is private or deleted.
    pub title: String,
    /// Whether the video is available, as far as the list reveals it.
    pub availability: Availability,
    /// The publication time of the video. `None` if YouTube does not send it.
    pub published: Option<Timestamp>,
}

/// Whether the video of an entry is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    /// The list shows the video.
    Public,
    /// The video is private.
    Private,
    /// The video was deleted.
    Deleted,
}
