//! Every call there is: its path, its parameters and the bucket it is charged to.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::quota::Bucket;

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

    /// The bucket that the platform charges.
    pub(crate) fn bucket(self) -> Bucket {
        match self {
            Self::Search => Bucket::Search,
            _ => Bucket::Default,
        }
    }
}

/// One request to the Data API, before it is sent: the endpoint and its parameters, and the subject
/// by which an error will name it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) endpoint: Endpoint,
    pub(crate) subject: Subject,
    params: Vec<(&'static str, String)>,
}

/// What has to be escaped in a query: all but what RFC 3986 leaves alone everywhere, and the comma,
/// which the platform's lists are written with.
pub(crate) const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b',');

/// What was asked for, in the caller's words: `Video`, `dQw4w9WgXcQ`.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) what: &'static str,
    pub(crate) id: String,
}

impl Call {
    pub(crate) fn new(endpoint: Endpoint, what: &'static str, id: &impl ToString) -> Self {
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
