//! `get_playlist`, `get_playlist_info`, `get_playlist_videos`; `query_playlist` is in [`query`].

mod query;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::selection::PositionRange;
use vidra::{Include, Playlist, PlaylistId, PlaylistVideo, Selected, Selection, format};

use super::included::Included;
use super::video::{SHORT, day, hidden, video_url, withheld};
use super::{Call, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{Page, clip, json_chars, one_line, text_limit};
use crate::params::{Cursor, IncludeArgs, MaxChars, PlaylistArg, Position, Whole};
use crate::reply::ToolOutput;

pub(super) use query::QueryPlaylist;

/// The URL of a playlist.
pub(super) fn playlist_url(id: &PlaylistId) -> String {
    format!("https://www.youtube.com/playlist?list={id}")
}

/// A playlist without its videos.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlaylistHead {
    id: String,
    url: String,
    title: String,
    description: String,
}

impl PlaylistHead {
    fn new(id: &PlaylistId, title: &str, description: &str, most: usize) -> Self {
        Self {
            id: id.to_string(),
            url: playlist_url(id),
            title: title.to_owned(),
            description: clip(description, most).0,
        }
    }

    fn text(&self) -> String {
        let text = format!("{} {}\n{}", one_line(&self.title), self.url, self.description);
        text.trim_end().to_owned()
    }
}

/// A video of a playlist.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    id: String,
    url: String,
    title: String,
    channel: String,
    views: u64,
    likes: u64,
    /// The length in seconds.
    duration: u64,
    /// When the video was published, ISO 8601.
    published_at: String,
    /// The beginning of the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The counts that YouTube hides, whose values are 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
    #[serde(flatten)]
    included: Included,
}

impl Entry {
    /// `most` limits its long members, in characters.
    fn new(video: PlaylistVideo, is_described: bool, most: usize) -> Self {
        Self {
            id: video.id.to_string(),
            url: video_url(video.id),
            title: video.title,
            channel: video.channel_title,
            views: video.views,
            likes: video.likes,
            duration: video.duration,
            published_at: video.published_at.to_string(),
            description: is_described.then(|| clip(&video.description, SHORT).0),
            hidden: hidden(&video.hidden),
            included: Included::new(video.details, video.chapters, most),
        }
    }

    fn line(&self, place: u64) -> String {
        let Self { url, title, channel, views, likes, duration, published_at, .. } = self;
        let (title, channel, length) =
            (one_line(title), one_line(channel), format::clock(*duration));
        let mut line = format!(
            "{place}. {title}\n  {url} · {channel} · {length} · {} · {views} views · {likes} likes{}{}",
            day(published_at),
            withheld(&self.hidden),
            self.included.lines(),
        );
        if let Some(description) = self.description.as_deref().filter(|it| !it.is_empty()) {
            line += &format!("\n  {}", one_line(description));
        }
        line
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetPlaylistInfo {
    /// The playlist: its id or any YouTube URL with list=.
    playlist: PlaylistArg,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OnePlaylist {
    playlist: PlaylistHead,
}

impl ToolInput for GetPlaylistInfo {
    const NAME: &'static str = "get_playlist_info";
    const TITLE: &'static str = "Get a playlist's title";
    const DESCRIPTION: &'static str = "Title and description of a YouTube playlist, without its videos. Costs 1 \
        quota unit, however long the playlist is.";
    type Output = OnePlaylist;

    async fn run(self, call: &Call<'_>) -> ToolResult<OnePlaylist> {
        let info = call.vidra.playlist_info(&self.playlist.0).await?;
        let playlist = PlaylistHead::new(&info.id, &info.title, &info.description, usize::MAX);
        Ok(ToolOutput::complete("One playlist.", playlist.text(), OnePlaylist { playlist }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetPlaylist {
    /// The playlist: its id or any YouTube URL with list=.
    playlist: PlaylistArg,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

/// A playlist with videos.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct PlaylistPage {
    playlist: PlaylistHead,
    /// The number of videos on all pages.
    video_count: usize,
    /// The total length of the videos, in seconds.
    total_duration: u64,
    /// The number of private or deleted entries, which are not listed. Absent if there are none, or if only a part
    /// of the playlist was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_count: Option<usize>,
    /// The number of videos in the playlist before the selection. If only a part of the playlist was read, the
    /// number of its entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_count: Option<usize>,
    videos: Vec<Entry>,
}

/// How to write a page of a playlist.
struct PageOptions {
    max_chars: MaxChars,
    cursor: Option<Cursor>,
    is_described: bool,
    include: Include,
}

/// Fetches a selection of a playlist and writes one page of it. The whole list counts as a large answer of the
/// client until the page is written.
async fn selection_page(
    call: &Call<'_>,
    PlaylistArg(id): PlaylistArg,
    selection: &Selection,
    options: PageOptions,
) -> ToolResult<PlaylistPage> {
    let vidra = call.vidra.including(options.include);
    let write = |Selected { playlist, original_count, .. }: Selected| {
        playlist_page(playlist, selection.range.start, Some(original_count), options)
    };
    vidra.query_playlist_with(&id, selection, write).await?
}

/// Writes one page of a playlist, whose videos are counted from `first`.
fn playlist_page(
    playlist: Playlist,
    first: Option<u64>,
    original_count: Option<usize>,
    PageOptions { max_chars, cursor, is_described, .. }: PageOptions,
) -> ToolResult<PlaylistPage> {
    let most = text_limit(max_chars.count());
    let head = PlaylistHead::new(&playlist.id, &playlist.title, &playlist.description, most);
    let first = first.unwrap_or(1);
    let items = playlist.videos.into_iter().enumerate().map(|(index, video)| {
        let video = Entry::new(video, is_described, most);
        let line = video.line(first + index as u64);
        (video, line)
    });
    let page = Page::of_list(items, cursor, max_chars, json_chars(&head))?;
    let (count, length) = (playlist.video_count, &playlist.total_duration_fmt);
    let mut summary = format!("{} of {count} videos, {length} in all.", page.items.len());
    if let Some(original) = original_count {
        summary += &format!(" Selected from {original}.");
    }
    if playlist.unavailable_count > 0 {
        summary += &format!(" {} entries are private or deleted.", playlist.unavailable_count);
    }
    Ok(ToolOutput {
        head: summary,
        body: format!("{}\n\n{}", head.text(), page.body()),
        next: page.next,
        found: PlaylistPage {
            playlist: head,
            video_count: count,
            total_duration: playlist.total_duration,
            unavailable_count: Some(playlist.unavailable_count).filter(|count| *count > 0),
            original_count,
            videos: page.items,
        },
    })
}

impl ToolInput for GetPlaylist {
    const NAME: &'static str = "get_playlist";
    const TITLE: &'static str = "Get a playlist";
    const DESCRIPTION: &'static str = "A YouTube playlist: title, description, number and total length of its \
        videos, and the videos in order with length, date and counts. For a part of it, or one sorted \
        by views, use query_playlist. Costs 1 quota unit and 2 for each 50 videos.";
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        let Self { playlist, max_chars, cursor } = self;
        let include = Include::default();
        let options = PageOptions { max_chars, cursor, is_described: false, include };
        let write = |selected: Selected| playlist_page(selected.playlist, None, None, options);
        let all = Selection::default();
        call.vidra.query_playlist_with(&playlist.0, &all, write).await?
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetPlaylistVideos {
    /// The playlist: its id or any YouTube URL with list=.
    playlist: PlaylistArg,
    /// The first position, counted from 1 among the available videos.
    from: Option<Position>,
    /// The last position, inclusive.
    to: Option<Position>,
    /// More about each video: details (tags, category, broadcast, language and more), chapters.
    include: Option<IncludeArgs>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl ToolInput for GetPlaylistVideos {
    const NAME: &'static str = "get_playlist_videos";
    const TITLE: &'static str = "Get the videos of a playlist";
    const DESCRIPTION: &'static str = "Some or all videos of a YouTube playlist, by their positions, each with the \
        beginning of its description. Costs 1 quota unit and 2 for each 50 videos of the playlist.";
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        let Self { playlist, from, to, include, max_chars, cursor } = self;
        let selection = Selection { range: position_range(from, to)?, ..Selection::default() };
        let include = IncludeArgs::members(include);
        let options = PageOptions { max_chars, cursor, is_described: true, include };
        selection_page(call, playlist, &selection, options).await
    }
}

/// The range of two positions. Fails if it ends before it begins.
pub(super) fn position_range(
    from: Option<Position>,
    to: Option<Position>,
) -> Result<PositionRange, CallError> {
    let range = PositionRange { start: from.map(Whole::get), end: to.map(Whole::get) };
    match range {
        PositionRange { start: Some(start), end: Some(end) } if start > end => {
            Err(CallError::bad("from: is greater than to"))
        }
        range => Ok(range),
    }
}
