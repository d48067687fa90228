//! The calls of the Data API: path, parameters and quota bucket.

use std::fmt;

use percent_encoding::utf8_percent_encode;

use crate::error::{Error, Reason};
use crate::quota::Bucket;
use crate::transport::ESCAPED;

/// A list endpoint of the Data API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    /// `videos.list`
    Videos,
    /// `channels.list`
    Channels,
    /// `playlists.list`
    Playlists,
    /// `playlistItems.list`
    PlaylistItems,
    /// `commentThreads.list`
    CommentThreads,
    /// `comments.list`
    Comments,
    /// `i18nRegions.list`
    Regions,
    /// `i18nLanguages.list`
    Languages,
    /// `videoCategories.list`
    VideoCategories,
    /// `search.list`
    Search,
}

impl Endpoint {
    pub(crate) const ALL: [Self; 10] = [
        Self::Videos,
        Self::Channels,
        Self::Playlists,
        Self::PlaylistItems,
        Self::CommentThreads,
        Self::Comments,
        Self::Regions,
        Self::Languages,
        Self::VideoCategories,
        Self::Search,
    ];

    /// The path below the Data API's base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Videos => "videos",
            Self::Channels => "channels",
            Self::Playlists => "playlists",
            Self::PlaylistItems => "playlistItems",
            Self::CommentThreads => "commentThreads",
            Self::Comments => "comments",
            Self::Regions => "i18nRegions",
            Self::Languages => "i18nLanguages",
            Self::VideoCategories => "videoCategories",
            Self::Search => "search",
        }
    }

    /// The quota bucket of the endpoint.
    pub(crate) fn bucket(self) -> Bucket {
        match self {
            Self::Search => Bucket::Search,
            _ => Bucket::Default,
        }
    }
}

/// A request to the Data API: the endpoint, its parameters, and the subject for error messages.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) endpoint: Endpoint,
    pub(crate) subject: Subject,
    params: Vec<(&'static str, String)>,
}

/// The subject of a call, for error messages: `Video`, `dQw4w9WgXcQ`.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) what: What,
    pub(crate) id: String,
}

/// The kinds of subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Video,
    Channel,
    Playlist,
    Comment,
    Category,
    Search,
    Chart,
    Regions,
    Languages,
}

impl What {
    /// The error for a subject that YouTube does not have.
    pub(crate) fn not_found(self, id: impl fmt::Display) -> Error {
        let reason = match self {
            Self::Video => Reason::VideoNotFound,
            Self::Channel => Reason::ChannelNotFound,
            Self::Playlist => Reason::PlaylistNotFound,
            Self::Comment => Reason::CommentNotFound,
            Self::Category => Reason::CategoryNotFound,
            Self::Chart => Reason::ChartNotFound,
            Self::Search | Self::Regions | Self::Languages => Reason::NotFound,
        };
        Error::new(reason, format!("{self} not found: {id}"))
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Video => "Video",
            Self::Channel => "Channel",
            Self::Playlist => "Playlist",
            Self::Comment => "Comment",
            Self::Category => "Video category",
            Self::Search => "Search results",
            Self::Chart => "Chart",
            Self::Regions => "Regions",
            Self::Languages => "Languages",
        })
    }
}

impl Call {
    pub(crate) fn new(endpoint: Endpoint, what: What, id: &impl ToString) -> Self {
        Self { endpoint, subject: Subject { what, id: id.to_string() }, params: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.params.push((name, value.into()));
        self
    }

    pub(crate) fn with_some(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Path and query below the base URL.
    pub(crate) fn target(&self) -> String {
        let mut target = String::from(self.endpoint.path());
        for (index, (name, value)) in self.params.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(value, ESCAPED));
        }
        target
    }
}
