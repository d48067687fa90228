//! `search_youtube`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{FoundChannel, SearchItem, SearchQuery};

use super::channel::PlaylistFacts;
use super::list::ListPage;
use super::video::{SHORT, VideoFacts, day};
use super::{Call, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{clip, one_line, text_limit};
use crate::params::{
    ChannelArg, Cursor, IncludeArgs, KindArg, LanguageArg, LengthArg, LiveArg, MaxChars, QueryArg,
    RegionArg, SearchOrderArg, SinceArg, UntilArg, Whole, date_range,
};
use crate::reply::ToolOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchYoutube {
    /// The words; | means or, and - before a word means not.
    query: QueryArg,
    /// The type of results; video if not given.
    #[serde(rename = "type")]
    kind: Option<KindArg>,
    /// Only results of this channel: its id (UC and 22 characters), its @handle or its YouTube URL.
    channel: Option<ChannelArg>,
    /// The order of results; relevance if not given.
    order: Option<SearchOrderArg>,
    /// Only results of this date (UTC) or time or later.
    since: Option<SinceArg>,
    /// Only results of this date (UTC) or time or earlier.
    until: Option<UntilArg>,
    /// Only videos of less than 4 minutes (short), of 4 to 20 minutes (medium), or longer ones (long).
    duration: Option<LengthArg>,
    /// Only broadcasts in this state.
    live: Option<LiveArg>,
    /// Only videos that can be played in this region, by its two-letter code.
    region: Option<RegionArg>,
    /// The preferred language of results; YouTube may return others.
    lang: Option<LanguageArg>,
    /// The maximum number of results.
    #[serde(default)]
    limit: Whole<1, 200, 20>,
    /// More about each video: details (tags, category, broadcast, language and more), chapters.
    include: Option<IncludeArgs>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl SearchYoutube {
    fn search(&self) -> Result<SearchQuery, CallError> {
        let QueryArg(query) = self.query.clone();
        let order = self.order.map_or(query.order, |SearchOrderArg(order)| order);
        let kind = self.kind.map_or(query.kind, |KindArg(kind)| kind);
        let query = query
            .with_kind(kind)
            .with_channel(self.channel.clone().map(|ChannelArg(channel)| channel))
            .with_order(order)
            .with_range(date_range(self.since.clone(), self.until.clone())?)
            .with_length(self.duration.map(|LengthArg(length)| length))
            .with_live(self.live.map(|LiveArg(live)| live))
            .with_region(self.region.clone().map(|RegionArg(region)| region))
            .with_language(self.lang.clone().map(|LanguageArg(language)| language));
        let faults = query.faults().into_iter().map(|(name, fault)| format!("{name}: {fault}"));
        let faults: Vec<String> = faults.collect();
        if faults.is_empty() { Ok(query) } else { Err(CallError::BadArguments(faults)) }
    }
}

/// The results of a search, which are all of one type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResults {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    videos: Vec<VideoFacts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    channels: Vec<ChannelResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    playlists: Vec<PlaylistFacts>,
    /// Why there are fewer results than requested, and what to do. Absent if nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
}

/// A channel that a search found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelResult {
    id: String,
    url: String,
    name: String,
    /// When it was created, ISO 8601.
    published_at: String,
    /// The beginning of the description.
    description: String,
}

impl ChannelResult {
    fn new(channel: FoundChannel) -> Self {
        Self {
            url: format!("https://www.youtube.com/channel/{}", channel.id),
            id: channel.id.to_string(),
            name: channel.name,
            published_at: channel.published_at.to_string(),
            description: clip(&channel.description, SHORT).0,
        }
    }

    fn line(&self) -> String {
        let Self { url, name, published_at, description, .. } = self;
        let (name, description) = (one_line(name), one_line(description));
        format!("- {name}\n  {url} · since {}\n  {description}", day(published_at))
    }
}

/// One result.
#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    Video(Box<VideoFacts>),
    Channel(ChannelResult),
    Playlist(PlaylistFacts),
}

impl Found {
    /// A result with its lines. `None` for a type that this version does not know.
    fn with_line(item: SearchItem, most: usize) -> Option<(Self, String)> {
        Some(match item {
            SearchItem::Video(video) => {
                let (video, line) = VideoFacts::listed(*video, most);
                (Self::Video(video.into()), line)
            }
            SearchItem::Channel(channel) => {
                let channel = ChannelResult::new(channel);
                let line = channel.line();
                (Self::Channel(channel), line)
            }
            SearchItem::Playlist(playlist) => {
                let playlist = PlaylistFacts::from(playlist);
                let line = playlist.line();
                (Self::Playlist(playlist), line)
            }
            _ => return None,
        })
    }
}

impl ToolInput for SearchYoutube {
    const NAME: &'static str = "search_youtube";
    const TITLE: &'static str = "Search YouTube";
    const DESCRIPTION: &'static str = "Videos, channels or playlists on YouTube that match words, with filters. \
        Videos come with length, date, counts and the beginning of the description. Costs 1 of the 100 \
        searches a day and 1 quota unit for each 50 results; repeating a search within 6 hours is free.";
    type Output = SearchResults;

    async fn run(self, call: &Call<'_>) -> ToolResult<SearchResults> {
        let query = self.search()?;
        let vidra = call.vidra.including(IncludeArgs::members(self.include));
        let (results, most) = (vidra.search_all(&query, None), text_limit(self.max_chars.count()));
        let range = (self.cursor, self.max_chars);
        let write = |item| Found::with_line(item, most);
        let list = ListPage::read(call, results, self.limit.count(), range, write).await?;
        let (head, body) = (list.head("results"), list.page.body());
        let (mut videos, mut channels, mut playlists) = (vec![], vec![], vec![]);
        for item in list.page.items {
            match item {
                Found::Video(video) => videos.push(*video),
                Found::Channel(channel) => channels.push(channel),
                Found::Playlist(playlist) => playlists.push(playlist),
            }
        }
        let broken_off = list.broken_off;
        let found = SearchResults { videos, channels, playlists, broken_off };
        Ok(ToolOutput { head, body, next: list.page.next, found })
    }
}
