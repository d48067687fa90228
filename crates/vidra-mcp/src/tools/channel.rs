//! `get_channel`, `get_channel_videos`, `get_channel_playlists`.

use futures_util::future::try_join;
use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{Channel, ChannelVideo, FoundPlaylist, PlaylistInfo, Video, format};

use super::list::ListPage;
use super::video::{SHORT, VIDEO_LINKS, day, hidden, text_of, withheld};
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{clip, one_line};
use crate::params::{ChannelArg, Cursor, MaxChars, SinceArg, UntilArg, Whole, date_range};
use crate::reply::ToolOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannel {
    /// Id, @handle or URL
    channel: ChannelArg,
    /// How many of the newest uploads, 0 to 500; 10 if not given
    #[serde(default)]
    uploads: Whole<0, 500, 10>,
    /// Only uploads of this date or later
    since: Option<SinceArg>,
    /// An old date costs units: all newer uploads are read
    until: Option<UntilArg>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelPage {
    channel: ChannelFacts,
    /// Newest first.
    uploads: Vec<Upload>,
    /// Why there are fewer uploads than requested, and what to do. Absent if nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
}

/// A channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelFacts {
    id: String,
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

impl ChannelFacts {
    fn text(&self) -> String {
        let Self { id, subscribers, total_views, video_count, .. } = self;
        let (name, username) = (one_line(&self.name), one_line(&self.username));
        let country = self.country.as_ref().map(|code| format!(" · {code}")).unwrap_or_default();
        format!(
            "{id} {name} ({username}){country} · {subscribers} subscribers · {total_views} views · {video_count} videos{} · playlist of all uploads: {}",
            withheld(&self.hidden),
            self.uploads_playlist_id,
        )
    }
}

impl ToolInput for GetChannel {
    const NAME: &'static str = "get_channel";
    const TITLE: &'static str = "Get a channel and its uploads";
    const DESCRIPTION: &'static str = "A YouTube channel with its counts and its newest uploads.";
    const OFFER: Offer = Offer::Always;
    type Output = ChannelPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<ChannelPage> {
        let dates = date_range(self.since, self.until)?;
        let limit = self.uploads.count();
        let uploads = match limit {
            0 => stream::empty().left_stream(),
            _ => call.vidra.uploads(&self.channel.0, dates).right_stream(),
        };
        let write = |video| {
            let upload = Upload::from(video);
            let line = upload.line();
            [(upload, line)]
        };
        let range = (self.cursor, self.max_chars);
        // At once, so that one does not wait for the other. The lookup of the channel is shared.
        let channel = async { Ok(ChannelFacts::from(call.vidra.channel(&self.channel.0).await?)) };
        let list = async {
            let list = ListPage::read(call, uploads, limit, range, write).await;
            match list {
                // The channel is there without them.
                Err(CallError::Failed(error)) if self.cursor.is_none() => {
                    Ok(ListPage::without_items(&error))
                }
                list => list,
            }
        };
        let (channel, list) = try_join(channel, list).await?;
        let head = match limit {
            0 => "One channel.".to_owned(),
            _ => format!("One channel, and {} {VIDEO_LINKS}", list.head("uploads")),
        };
        let body = format!("{}\n\n{}", channel.text(), list.page.body());
        let next = list.page.next;
        let (uploads, broken_off) = (list.page.items, list.broken_off);
        let found = ChannelPage { channel, uploads, broken_off };
        Ok(ToolOutput { head, body: body.trim_end().to_owned(), next, found })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannelVideos {
    /// Id, @handle or URL
    channel: ChannelArg,
    /// Number of uploads
    #[serde(default)]
    limit: Whole<1, 50, 5>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Uploads {
    /// Newest first.
    videos: Vec<Upload>,
}

/// An upload of a channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upload {
    id: String,
    title: String,
    views: u64,
    likes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<u64>,
    /// The length in seconds.
    duration: u64,
    /// When it was published, ISO 8601.
    published_at: String,
    /// The counts that YouTube hides, whose values are 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
}

impl From<Video> for Upload {
    fn from(video: Video) -> Self {
        Self {
            id: video.id.to_string(),
            title: video.title,
            views: video.views,
            likes: video.likes,
            comments: Some(video.comments),
            duration: video.duration,
            published_at: video.published_at.to_string(),
            hidden: hidden(&video.hidden),
        }
    }
}

impl From<ChannelVideo> for Upload {
    fn from(video: ChannelVideo) -> Self {
        Self {
            id: video.id.to_string(),
            title: video.title,
            views: video.views,
            likes: video.likes,
            comments: None,
            duration: video.duration,
            published_at: video.published_at.to_string(),
            hidden: hidden(&video.hidden),
        }
    }
}

impl Upload {
    fn line(&self) -> String {
        let Self { id, title, views, likes, duration, published_at, .. } = self;
        let (title, length) = (one_line(title), format::clock(*duration));
        let comments =
            self.comments.map(|count| format!(" · {count} comments")).unwrap_or_default();
        let (day, withheld) = (day(published_at), withheld(&self.hidden));
        format!(
            "{id} {title} · {length} · {day} · {views} views · {likes} likes{comments}{withheld}"
        )
    }
}

impl ToolInput for GetChannelVideos {
    const NAME: &'static str = "get_channel_videos";
    const TITLE: &'static str = "Get a channel's newest videos";
    const DESCRIPTION: &'static str =
        "The newest uploads of a YouTube channel, at most 50, newest first.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Uploads;

    async fn run(self, call: &Call<'_>) -> ToolResult<Uploads> {
        let videos = call.vidra.channel_videos(&self.channel.0, self.limit.count()).await?;
        let videos: Vec<Upload> = videos.into_iter().map(Upload::from).collect();
        let head = format!("The newest {} uploads. {VIDEO_LINKS}", videos.len());
        let lines: Vec<String> = videos.iter().map(Upload::line).collect();
        Ok(ToolOutput::complete(head, lines.join("\n"), Uploads { videos }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetChannelPlaylists {
    /// Id, @handle or URL
    channel: ChannelArg,
    /// Most playlists
    #[serde(default)]
    limit: Whole<1, 500, 50>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
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
        let Self { id, title, channel, published_at, .. } = self;
        let (title, channel) = (one_line(title), one_line(channel));
        let count = self.video_count.map(|count| format!(" · {count} videos")).unwrap_or_default();
        format!("{id} {title} · by {channel}{count} · {}", day(published_at))
    }
}

impl ToolInput for GetChannelPlaylists {
    const NAME: &'static str = "get_channel_playlists";
    const TITLE: &'static str = "Get a channel's playlists";
    const DESCRIPTION: &'static str = "The public playlists of a YouTube channel, with title, number of videos and \
        date.";
    const OFFER: Offer = Offer::OnRequest;
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
