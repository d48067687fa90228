//! `get_channel`, `get_channel_videos`, `get_channel_playlists`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{Channel, ChannelVideo, FoundPlaylist, PlaylistInfo, format};

use super::list::ListPage;
use super::playlist::playlist_url;
use super::video::{SHORT, day, hidden, text_of, video_url, withheld};
use super::{Call, ToolInput, ToolResult};
use crate::page::{clip, one_line};
use crate::params::{ChannelArg, Cursor, MaxChars, Whole};
use crate::reply::ToolOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannel {
    /// The channel: its id (UC and 22 characters), its @handle or its YouTube URL.
    channel: ChannelArg,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OneChannel {
    channel: ChannelFacts,
}

/// A channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelFacts {
    id: String,
    url: String,
    name: String,
    /// The handle, with its @.
    username: String,
    /// As rounded by YouTube.
    subscribers: u64,
    total_views: u64,
    video_count: u64,
    /// A two-letter code.
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    /// The playlist of all its uploads, for the tools that take a playlist.
    uploads_playlist_id: String,
    /// The counts that YouTube hides, whose values are 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
}

impl From<Channel> for ChannelFacts {
    fn from(channel: Channel) -> Self {
        Self {
            url: format!("https://www.youtube.com/channel/{}", channel.id),
            id: channel.id,
            name: channel.name,
            username: channel.username,
            subscribers: channel.subscribers,
            total_views: channel.total_views,
            video_count: channel.video_count,
            country: channel.country,
            uploads_playlist_id: text_of(channel.uploads_playlist_id),
            hidden: hidden(&channel.hidden),
        }
    }
}

impl ToolInput for GetChannel {
    const NAME: &'static str = "get_channel";
    const TITLE: &'static str = "Get a channel";
    const DESCRIPTION: &'static str = "Name, handle, country and counts of subscribers, views and videos of a \
        YouTube channel, and the id of the playlist of all its uploads. Costs 1 quota unit, more by a \
        custom name.";
    type Output = OneChannel;

    async fn run(self, call: &Call<'_>) -> ToolResult<OneChannel> {
        let channel = ChannelFacts::from(call.vidra.channel(&self.channel.0).await?);
        let ChannelFacts { url, subscribers, total_views, video_count, .. } = &channel;
        let (name, username) = (one_line(&channel.name), one_line(&channel.username));
        let country = channel.country.as_ref().map(|code| format!(" · {code}")).unwrap_or_default();
        let body = format!(
            "{name} ({username}) {url}{country}\n{subscribers} subscribers · {total_views} views · {video_count} videos{}\nuploads: {}",
            withheld(&channel.hidden),
            channel.uploads_playlist_id,
        );
        Ok(ToolOutput::complete("One channel.", body, OneChannel { channel }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannelVideos {
    /// The channel: its id (UC and 22 characters), its @handle or its YouTube URL.
    channel: ChannelArg,
    /// The number of uploads.
    #[serde(default)]
    limit: Whole<1, 50, 5>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Uploads {
    /// Newest first.
    videos: Vec<Upload>,
}

/// A recent upload.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upload {
    id: String,
    url: String,
    title: String,
    views: u64,
    likes: u64,
    /// The length in seconds.
    duration: u64,
    /// How long ago it was published.
    upload_age: String,
    /// When it was published, ISO 8601.
    published_at: String,
    /// The counts that YouTube hides, whose values are 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
}

impl From<ChannelVideo> for Upload {
    fn from(video: ChannelVideo) -> Self {
        Self {
            id: video.id.to_string(),
            url: video_url(video.id),
            title: video.title,
            views: video.views,
            likes: video.likes,
            duration: video.duration,
            upload_age: video.upload_age,
            published_at: video.published_at.to_string(),
            hidden: hidden(&video.hidden),
        }
    }
}

impl Upload {
    fn line(&self) -> String {
        let Self { url, title, views, likes, duration, upload_age, .. } = self;
        let (title, length) = (one_line(title), format::clock(*duration));
        let withheld = withheld(&self.hidden);
        format!(
            "- {title}\n  {url} · {length} · {upload_age} · {views} views · {likes} likes{withheld}"
        )
    }
}

impl ToolInput for GetChannelVideos {
    const NAME: &'static str = "get_channel_videos";
    const TITLE: &'static str = "Get a channel's newest videos";
    const DESCRIPTION: &'static str = "The newest uploads of a YouTube channel, at most 50, newest first. For \
        older ones give the channel's uploadsPlaylistId (get_channel) to get_playlist_videos. Costs 2 \
        to 3 quota units.";
    type Output = Uploads;

    async fn run(self, call: &Call<'_>) -> ToolResult<Uploads> {
        let videos = call.vidra.channel_videos(&self.channel.0, self.limit.count()).await?;
        let videos: Vec<Upload> = videos.into_iter().map(Upload::from).collect();
        let head = format!("The newest {} uploads.", videos.len());
        let lines: Vec<String> = videos.iter().map(Upload::line).collect();
        Ok(ToolOutput::complete(head, lines.join("\n"), Uploads { videos }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannelPlaylists {
    /// The channel: its id (UC and 22 characters), its @handle or its YouTube URL.
    channel: ChannelArg,
    /// The maximum number of playlists.
    #[serde(default)]
    limit: Whole<1, 500, 50>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelPlaylists {
    playlists: Vec<PlaylistFacts>,
    /// Why there are fewer playlists than requested, and what to do. Absent if nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
}

/// A playlist in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaylistFacts {
    id: String,
    url: String,
    title: String,
    channel: String,
    /// The number of its entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    video_count: Option<u64>,
    /// When it was created, ISO 8601.
    published_at: String,
    /// The beginning of the description.
    description: String,
}

impl From<PlaylistInfo> for PlaylistFacts {
    fn from(playlist: PlaylistInfo) -> Self {
        Self {
            url: playlist_url(&playlist.id),
            id: playlist.id.to_string(),
            title: playlist.title,
            channel: playlist.channel,
            video_count: playlist.item_count,
            published_at: playlist.published_at.to_string(),
            description: clip(&playlist.description, SHORT).0,
        }
    }
}

impl From<FoundPlaylist> for PlaylistFacts {
    fn from(playlist: FoundPlaylist) -> Self {
        Self {
            url: playlist_url(&playlist.id),
            id: playlist.id.to_string(),
            title: playlist.title,
            channel: playlist.channel,
            video_count: None,
            published_at: playlist.published_at.to_string(),
            description: clip(&playlist.description, SHORT).0,
        }
    }
}

impl PlaylistFacts {
    pub(super) fn line(&self) -> String {
        let Self { url, title, channel, published_at, .. } = self;
        let (title, channel) = (one_line(title), one_line(channel));
        let count = self.video_count.map(|count| format!(" · {count} videos")).unwrap_or_default();
        format!("- {title}\n  {url} · by {channel}{count} · {}", day(published_at))
    }
}

impl ToolInput for GetChannelPlaylists {
    const NAME: &'static str = "get_channel_playlists";
    const TITLE: &'static str = "Get a channel's playlists";
    const DESCRIPTION: &'static str = "The public playlists of a YouTube channel, with title, number of videos and \
        date. Costs 1 quota unit for each 50 playlists, and 1 more by @handle.";
    type Output = ChannelPlaylists;

    async fn run(self, call: &Call<'_>) -> ToolResult<ChannelPlaylists> {
        let playlists = call.vidra.channel_playlists(&self.channel.0);
        let range = (self.cursor, self.max_chars);
        let write = |playlist| {
            let playlist = PlaylistFacts::from(playlist);
            let line = playlist.line();
            [(playlist, line)]
        };
        let list = ListPage::read(call, playlists, self.limit.count(), range, write).await?;
        Ok(ToolOutput {
            head: list.head("playlists"),
            body: list.page.body(),
            next: list.page.next,
            found: ChannelPlaylists { playlists: list.page.items, broken_off: list.broken_off },
        })
    }
}
