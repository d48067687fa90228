//! `search_youtube`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{FoundChannel, SearchItem, SearchQuery};

use super::channel::PlaylistFacts;
use super::list::ListPage;
use super::video::{SHORT, VIDEO_LINKS, VideoFacts, day};
use super::{Call, Offer, ToolInput, ToolResult};
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
    /// Words; | is or, -word excludes
    query: QueryArg,
    #[serde(rename = "type")]
    kind: Option<KindArg>,
    /// Id, @handle or URL
    channel: Option<ChannelArg>,
    order: Option<SearchOrderArg>,
    /// Published on this date or later
    since: Option<SinceArg>,
    until: Option<UntilArg>,
    /// short is under 4 minutes, long over 20
    duration: Option<LengthArg>,
    live: Option<LiveArg>,
    /// Two-letter code
    region: Option<RegionArg>,
    /// Preferred language
    lang: Option<LanguageArg>,
    /// Most results; 20 if not given
    #[serde(default)]
    limit: Whole<1, 200, 20>,
    /// Also tags, category, languages (details) or chapters
    include: Option<IncludeArgs>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
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
    name: String,
    /// When it was created, ISO 8601.
    published_at: String,
    /// The beginning of the description.
    description: String,
}

impl ChannelResult {
    fn new(channel: FoundChannel) -> Self {
        Self {
            id: channel.id.to_string(),
            name: channel.name,
            published_at: channel.published_at.to_string(),
            description: clip(&channel.description, SHORT).0,
        }
    }

    fn line(&self) -> String {
        let Self { id, name, published_at, description, .. } = self;
        let (name, description) = (one_line(name), one_line(description));
        format!("{id} {name} · since {}\n  {description}", day(published_at))
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
    const DESCRIPTION: &'static str = "Find videos, channels or playlists on YouTube by words. Only 100 searches a day: \
        prefer get_channel and get_playlist where they do.";
    const OFFER: Offer = Offer::Always;
    type Output = SearchResults;

    async fn run(self, call: &Call<'_>) -> ToolResult<SearchResults> {
        let query = self.search()?;
        let vidra = call.vidra.including(IncludeArgs::members(self.include));
        let (results, most) = (vidra.search_all(&query, None), text_limit(self.max_chars.count()));
        let range = (self.cursor, self.max_chars);
        let write = |item| Found::with_line(item, most);
        let list = ListPage::read(call, results, self.limit.count(), range, write).await?;
        let head = format!("{} {VIDEO_LINKS}", list.head("results"));
        let body = list.page.body();
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
