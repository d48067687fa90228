//! Searches, feeds, charts, playlists of a channel and comment threads.

use axum::body::Body;
use axum::http::Request;
use fastrand::Rng;
use serde::Serialize;
use vidra::{
    Cached, ChannelRef, ChartQuery, CommentQuery, Lookup, Page, PlaylistId, SearchQuery, VideoId,
    Vidra,
};

use super::{UNKNOWN_CHANNEL, UNKNOWN_PLAYLIST};
use crate::facts::facts;
use crate::plan::pick;
use crate::platform::Kind;

/// A list that has an operation of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listing {
    Search { words: &'static str, limit: usize },
    ChannelFeed(&'static str),
    PlaylistFeed(&'static str),
    Chart { region: &'static str, limit: usize },
    Playlists { channel: &'static str, limit: usize },
    Threads { video: &'static str, search: Option<&'static str>, replies: bool, limit: usize },
}

pub(crate) const SEARCHES: [&str; 2] = ["session", "lights"];
pub(crate) const REGIONS: [&str; 2] = ["DE", "US"];
/// Channels, of which the feed of the last one is never served.
pub(crate) const CHANNELS: [&str; 4] =
    ["@fermata", "@nighttrains", "UCB-2_pXPtFYDifLXZF-S8PA", "UCquirkFeedMissing000000"];
/// Playlists, of which the feed of the last one is never served.
pub(crate) const PLAYLISTS: [&str; 3] = ["PLsize49", "PLsize51", "PLquirkFeedMissing"];
/// Videos with threads: a few, short pages of many, and a thread with many replies.
pub(crate) const COMMENTED: [&str; 3] = ["quirkHtmlCm", "quirkShortC", "quirkManyRp"];
/// The comments of this video are disabled.
const UNCOMMENTED: &str = "quirkNoComm";
/// A word of some comments.
const WORD: &str = "the";

impl Listing {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let channel = |rng: &mut Rng| match rng.u8(..10) {
            0 => UNKNOWN_CHANNEL,
            _ => pick(rng, &CHANNELS),
        };
        let limit = pick(rng, &[1, 20, 50, 60]);
        match rng.u8(..8) {
            0 | 1 => Self::Search { words: pick(rng, &SEARCHES), limit: limit.min(50) },
            2 => Self::ChannelFeed(channel(rng)),
            3 => match rng.u8(..10) {
                0 => Self::PlaylistFeed(UNKNOWN_PLAYLIST),
                1 => Self::PlaylistFeed("PLquirkPrivate"),
                _ => Self::PlaylistFeed(pick(rng, &PLAYLISTS)),
            },
            4 => Self::Chart { region: pick(rng, &REGIONS), limit },
            5 => Self::Playlists { channel: channel(rng), limit },
            _ => {
                let video = match rng.u8(..10) {
                    0 => UNCOMMENTED,
                    _ => pick(rng, &COMMENTED),
                };
                let (search, replies) =
                    pick(rng, &[(None, false), (None, true), (Some(WORD), false)]);
                Self::Threads { video, search, replies, limit }
            }
        }
    }

    /// Its name in the counts of a run.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Search { .. } => "search",
            Self::ChannelFeed(_) => "channel feed",
            Self::PlaylistFeed(_) => "playlist feed",
            Self::Chart { .. } => "chart",
            Self::Playlists { .. } => "channel playlists",
            Self::Threads { .. } => "comment threads",
        }
    }

    /// Whether its answer can have more than one record: pages, a channel behind a handle, replies, or videos.
    pub(crate) fn has_parts(&self) -> bool {
        match self {
            Self::Search { .. } => true,
            Self::ChannelFeed(channel) => channel.starts_with('@'),
            Self::PlaylistFeed(_) => false,
            Self::Chart { limit, .. } => *limit > 50,
            Self::Playlists { channel, limit } => channel.starts_with('@') || *limit > 50,
            Self::Threads { .. } => true,
        }
    }

    /// Whether the platform may answer that there is no such list, or does not show it.
    pub(crate) fn may_be_missing(&self) -> bool {
        match self {
            Self::Search { .. } | Self::Chart { .. } => false,
            Self::ChannelFeed(channel) | Self::Playlists { channel, .. } => {
                *channel == UNKNOWN_CHANNEL
            }
            Self::PlaylistFeed(id) => !PLAYLISTS.contains(id),
            Self::Threads { video, .. } => *video == UNCOMMENTED,
        }
    }

    /// Whether an exchange of this kind about `subject` may be for it.
    pub(crate) fn may_send(&self, kind: Kind, subject: &str) -> bool {
        let has = |name: &str, value: &str| {
            let pair = format!("{name}={value}");
            subject.split('&').any(|it| it == pair)
        };
        let of_channel = |name: &str, prefix: &str, channel: &str| {
            let id = facts().channel_id(channel);
            id.is_some_and(|id| has(name, &id.replacen("UC", prefix, 1)))
        };
        match (self, kind) {
            (Self::Search { words, .. }, Kind::Search) => has("q", words),
            (Self::Search { words, .. }, Kind::Videos) => facts().listings.finds(words, subject),
            (Self::ChannelFeed(channel), Kind::Feed) => of_channel("channel_id", "UC", channel),
            (Self::ChannelFeed(channel), Kind::PlaylistItems) => {
                of_channel("playlistId", "UU", channel)
            }
            (Self::ChannelFeed(_) | Self::Playlists { .. }, Kind::Channels) => true,
            (Self::PlaylistFeed(id), Kind::Feed) => has("playlist_id", id),
            (Self::PlaylistFeed(id), Kind::PlaylistItems) => has("playlistId", id),
            (Self::ChannelFeed(_) | Self::PlaylistFeed(_), Kind::Videos) => true,
            (Self::Chart { region, .. }, Kind::Chart) => has("regionCode", region),
            (Self::Playlists { channel, .. }, Kind::Playlists) => {
                of_channel("channelId", "UC", channel)
            }
            (Self::Threads { video, .. }, Kind::CommentThreads) => has("videoId", video),
            (Self::Threads { video, replies, .. }, Kind::Comments) => {
                *replies && facts().listings.has_thread(video, subject)
            }
            _ => false,
        }
    }

    pub(crate) fn request(&self) -> Request<Body> {
        let path = match self {
            Self::Search { words, limit } => format!("/api/search?q={words}&limit={limit}"),
            Self::ChannelFeed(channel) => format!("/api/channel/{channel}/feed"),
            Self::PlaylistFeed(id) => format!("/api/playlist/{id}/feed"),
            Self::Chart { region, limit } => {
                format!("/api/charts/popular?region={region}&limit={limit}")
            }
            Self::Playlists { channel, limit } => {
                format!("/api/channel/{channel}/playlists?limit={limit}")
            }
            Self::Threads { video, search, replies, limit } => {
                let search = search.map(|word| format!("&search={word}")).unwrap_or_default();
                let replies = if *replies { "&replies=all" } else { "" };
                format!("/api/comments/{video}/threads?limit={limit}{search}{replies}")
            }
        };
        Request::get(path).body(Body::empty()).unwrap()
    }

    /// Reads it through the library, as the JSON that the service sends.
    pub(crate) async fn read(&self, vidra: &Vidra) -> vidra::Result<Cached> {
        match self {
            Self::Search { words, limit } => {
                let query = SearchQuery::parse(words).unwrap();
                vidra.search(&query, None, *limit).await.map(json)
            }
            Self::ChannelFeed(channel) => {
                let channel = ChannelRef::parse(channel).unwrap();
                vidra.lookup(&Lookup::ChannelFeed(channel)).await
            }
            Self::PlaylistFeed(id) => {
                vidra.lookup(&Lookup::PlaylistFeed(PlaylistId::parse(id).unwrap())).await
            }
            Self::Chart { region, limit } => {
                let query = ChartQuery::default().with_region((*region).to_owned());
                vidra.popular_videos_page(&query, None, *limit).await.map(json)
            }
            Self::Playlists { channel, limit } => {
                let channel = ChannelRef::parse(channel).unwrap();
                vidra.channel_playlists_page(&channel, None, *limit).await.map(json)
            }
            Self::Threads { video, search, replies, limit } => {
                let query = CommentQuery::default()
                    .with_search(search.map(str::to_owned))
                    .with_all_replies(*replies);
                let video = VideoId::parse(video).unwrap();
                vidra.comment_threads_page(video, &query, None, *limit).await.map(json)
            }
        }
    }
}

/// A page as the JSON that the service sends.
pub(crate) fn json<T: Serialize>(page: Cached<Page<T>>) -> Cached {
    let body = serde_json::to_vec(&page.body).unwrap();
    page.with_body(body.into())
}
