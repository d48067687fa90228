//! The endpoints and their paths.

use serde::{Deserialize, Serialize};

/// A method of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Endpoint {
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
    /// `search.list`, the only method with its own quota bucket
    Search,
    /// `videoCategories.list`
    VideoCategories,
    /// `i18nRegions.list`
    I18nRegions,
    /// `i18nLanguages.list`
    I18nLanguages,
    /// `GET /watch?v=ID`: the page of a video. This and all that follow need neither key nor quota
    Watch,
    /// `POST /youtubei/v1/player`
    Player,
    /// `GET /api/timedtext`
    TimedText,
    /// `GET /feeds/videos.xml`: the Atom feed of a channel or a playlist
    Feed,
    /// `/m` and `/s` of `consent.youtube.com`
    Consent,
    /// `/sorry/index` of `www.google.com`
    Sorry,
    /// `POST /get_pot` and `GET /ping` of a provider of PO tokens
    PotProvider,
    /// A path that the simulator does not know.
    Unknown,
}

/// The whole URL table.
pub(crate) const ROUTES: &[(&str, Endpoint)] = &[
    ("/youtube/v3/videos", Endpoint::Videos),
    ("/youtube/v3/channels", Endpoint::Channels),
    ("/youtube/v3/playlists", Endpoint::Playlists),
    ("/youtube/v3/playlistItems", Endpoint::PlaylistItems),
    ("/youtube/v3/commentThreads", Endpoint::CommentThreads),
    ("/youtube/v3/comments", Endpoint::Comments),
    ("/youtube/v3/search", Endpoint::Search),
    ("/youtube/v3/videoCategories", Endpoint::VideoCategories),
    ("/youtube/v3/i18nRegions", Endpoint::I18nRegions),
    ("/youtube/v3/i18nLanguages", Endpoint::I18nLanguages),
    ("/watch", Endpoint::Watch),
    ("/youtubei/v1/player", Endpoint::Player),
    ("/api/timedtext", Endpoint::TimedText),
    ("/feeds/videos.xml", Endpoint::Feed),
    ("/m", Endpoint::Consent),
    ("/s", Endpoint::Consent),
    ("/sorry/index", Endpoint::Sorry),
    ("/get_pot", Endpoint::PotProvider),
    ("/ping", Endpoint::PotProvider),
];

impl Endpoint {
    /// The endpoint at a path.
    pub(crate) fn at(path: &str) -> Self {
        ROUTES
            .iter()
            .find(|(route, _)| *route == path)
            .map_or(Self::Unknown, |(_, endpoint)| *endpoint)
    }

    /// Whether it needs neither key nor quota.
    pub fn is_keyless(self) -> bool {
        matches!(
            self,
            Self::Watch
                | Self::Player
                | Self::TimedText
                | Self::Feed
                | Self::Consent
                | Self::Sorry
                | Self::PotProvider
        )
    }
}
