//! `get_feed`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{FeedItem, FeedSource};

use super::video::{VIDEO_LINKS, day, text_of};
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::one_line;
use crate::params::{ChannelArg, PlaylistArg};
use crate::reply::ToolOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFeed {
    /// Id, @handle or URL
    channel: Option<ChannelArg>,
    /// Id or URL
    playlist: Option<PlaylistArg>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct FeedFacts {
    /// feed, or data_api if YouTube did not serve the feed.
    source: &'static str,
    videos: Vec<FeedVideo>,
}

/// A video of a feed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FeedVideo {
    id: String,
    title: String,
    channel: String,
    channel_id: String,
    /// When it was published, ISO 8601.
    published_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    views: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    likes: Option<u64>,
}

impl From<FeedItem> for FeedVideo {
    fn from(video: FeedItem) -> Self {
        Self {
            id: video.id.to_string(),
            title: video.title,
            channel: video.channel,
            channel_id: text_of(video.channel_id),
            published_at: video.published_at.to_string(),
            views: video.views,
            likes: video.likes,
        }
    }
}

impl FeedVideo {
    fn line(&self) -> String {
        let Self { id, title, channel, published_at, views, .. } = self;
        let (title, channel) = (one_line(title), one_line(channel));
        let views = views.map(|views| format!(" · {views} views")).unwrap_or_default();
        format!("{id} {title} · {channel} · {}{views}", day(published_at))
    }
}

impl ToolInput for GetFeed {
    const NAME: &'static str = "get_feed";
    const TITLE: &'static str = "Get the public feed";
    const DESCRIPTION: &'static str = "The newest videos of a YouTube channel, or the first ones of a playlist, \
        about 15, without their lengths, from the public feed. Give a channel or a playlist. Needs no quota, but \
        an @handle does.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = FeedFacts;

    async fn run(self, call: &Call<'_>) -> ToolResult<FeedFacts> {
        let feed = match (self.channel, self.playlist) {
            (Some(ChannelArg(channel)), None) => call.vidra.channel_feed(&channel).await?,
            (None, Some(PlaylistArg(playlist))) => call.vidra.playlist_feed(&playlist).await?,
            _ => return Err(CallError::bad("channel, playlist: expected one of them")),
        };
        let source = if feed.source == FeedSource::Feed { "feed" } else { "data_api" };
        let videos: Vec<FeedVideo> = feed.items.into_iter().map(FeedVideo::from).collect();
        let lines: Vec<String> = videos.iter().map(FeedVideo::line).collect();
        let head = format!("{} videos. {VIDEO_LINKS}", videos.len());
        Ok(ToolOutput::complete(head, lines.join("\n"), FeedFacts { source, videos }))
    }
}
