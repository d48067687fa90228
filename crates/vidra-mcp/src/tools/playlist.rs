//! `get_playlist` and the tools that are a part of it: `get_playlist_info`, `get_playlist_videos`, `query_playlist`.

mod query;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::selection::{Filter, PositionRange};
use vidra::{Playlist, PlaylistId, PlaylistVideo, Selected, Selection, format};

use super::included::Included;
use super::video::{SHORT, VIDEO_LINKS, day, hidden, withheld};
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{Page, clip, one_line, text_limit};
use crate::params::{Cursor, IncludeArgs, MaxChars, PlaylistArg, Position, Whole};
use crate::reply::ToolOutput;
use query::PlaylistQuery;

/// A playlist without its videos.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlaylistHead {
    id: String,
    title: String,
    description: String,
}

impl PlaylistHead {
    fn new(id: &PlaylistId, title: &str, description: &str, most: usize) -> Self {
        Self { id: id.to_string(), title: title.to_owned(), description: clip(description, most).0 }
    }

    fn text(&self) -> String {
        let text = format!("{} {}\n{}", self.id, one_line(&self.title), self.description);
        text.trim_end().to_owned()
    }
}

/// A video of a playlist.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    id: String,
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
        let Self { id, title, channel, views, likes, duration, published_at, .. } = self;
        let (title, channel, length) =
            (one_line(title), one_line(channel), format::clock(*duration));
        let mut line = format!(
            "{place}. {id} {title} · {channel} · {length} · {} · {views} views · {likes} likes{}{}",
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
    /// Id or URL
    playlist: PlaylistArg,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OnePlaylist {
    playlist: PlaylistHead,
}

impl ToolInput for GetPlaylistInfo {
    const NAME: &'static str = "get_playlist_info";
    const TITLE: &'static str = "Get a playlist's title";
    const DESCRIPTION: &'static str =
        "Title and description of a YouTube playlist, without its videos.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = OnePlaylist;

    async fn run(self, call: &Call<'_>) -> ToolResult<OnePlaylist> {
        let info = call.vidra.playlist_info(&self.playlist.0).await?;
        let playlist = PlaylistHead::new(&info.id, &info.title, &info.description, usize::MAX);
        Ok(ToolOutput::complete("One playlist.", playlist.text(), OnePlaylist { playlist }))
    }
}

/// A playlist with videos.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct PlaylistPage {
    playlist: PlaylistHead,
    /// The number of videos on all pages. If only a part of the playlist was read, the number of its entries.
    video_count: usize,
    /// The total length of the videos, in seconds. Absent if only a part of the playlist was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_duration: Option<u64>,
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

/// The shortest line of a video, in characters. An answer cannot have more lines than fit.
const SHORTEST_LINE: usize = 60;

/// The part of a playlist that one answer reads.
struct Part {
    selection: Selection,
    /// The position of the first video.
    first: u64,
    /// How many videos are read. `None` for a selection that needs the whole playlist.
    window: Option<u64>,
}

impl Part {
    /// The first page of a long playlist needs only a part of it. Filters and sorts need all of it, and so do later pages:
    /// then it is fetched once, and not from its beginning for each page.
    fn new(selection: Selection, cursor: Option<Cursor>, max_chars: MaxChars) -> Self {
        let first = selection.range.start.unwrap_or(1);
        let is_plain = selection.filter == Filter::default() && selection.sort.is_none();
        if !is_plain || cursor.is_some() {
            return Self { selection, first, window: None };
        }
        let window = (max_chars.count() / SHORTEST_LINE) as u64;
        let end = selection.range.end.unwrap_or(u64::MAX).min(first + window - 1);
        let range = PositionRange { start: Some(first), end: Some(end) };
        let selection = Selection { range, ..selection };
        Self { selection, first, window: Some(end - first + 1) }
    }
}

/// Fetches a selection of a playlist and writes one page of it. The whole list counts as a large answer of the
/// client until the page is written.
async fn page(
    call: &Call<'_>,
    query: PlaylistQuery,
    is_described: bool,
) -> ToolResult<PlaylistPage> {
    let selection = query.selection()?;
    let is_selected = selection != Selection::default();
    let PlaylistQuery { playlist: PlaylistArg(id), include, max_chars, cursor, .. } = query;
    if cursor.is_some_and(|it| it.part > 0) {
        return Err(CallError::bad("cursor: expected the nextCursor of an earlier answer"));
    }
    let last = selection.range.end;
    let part = Part::new(selection, cursor, max_chars);
    let vidra = call.vidra.including(IncludeArgs::members(include));
    let is_whole = part.window.is_none();
    let fetch = async move {
        let selection = part.selection.clone();
        let write = |selected: Selected| {
            written(selected, &part, last, (is_selected, is_described), (cursor, max_chars))
        };
        vidra.query_playlist_with(&id, &selection, write).await
    };
    // A long list can take longer than a call. Then it is fetched to its end, so that the next call finds it.
    let fetched = if is_whole { call.finish_in_background(fetch).await? } else { fetch.await };
    fetched?
}

/// Writes one page of a playlist. `last` is the last requested position.
fn written(
    selected: Selected,
    part: &Part,
    last: Option<u64>,
    (is_selected, is_described): (bool, bool),
    (cursor, max_chars): (Option<Cursor>, MaxChars),
) -> ToolResult<PlaylistPage> {
    let Selected { playlist, original_count, .. } = selected;
    let Playlist { id, title, description, videos, unavailable_count, .. } = playlist;
    let most = text_limit(max_chars.count());
    let head = PlaylistHead::new(&id, &title, &description, most);
    let read = videos.len() as u64;
    let end = last.unwrap_or(u64::MAX).min(original_count as u64);
    let has_more = part.window == Some(read) && part.first + read <= end;
    let items = videos.into_iter().enumerate().map(|(index, video)| {
        let video = Entry::new(video, is_described, most);
        let line = video.line(part.first + index as u64);
        (video, line)
    });
    let mut page = Page::of_list(items, cursor, max_chars, head.text().chars().count())?;
    if has_more {
        page.next = Some(Cursor::at(page.items.len()));
    }
    let is_part = has_more;
    // The part of a playlist does not count them, and all entries of this one were read.
    let unavailable_count = match part.window.is_some() && !is_part && !is_selected {
        true => original_count.saturating_sub(playlist.video_count),
        false => unavailable_count,
    };
    let count = if is_part { original_count } else { playlist.video_count };
    let mut summary = format!("{} of {count} videos", page.items.len());
    if !is_part {
        summary += &format!(", {} in all", playlist.total_duration_fmt);
    }
    if is_selected && !is_part {
        summary += &format!(", selected from {original_count}");
    }
    if unavailable_count > 0 {
        summary += &format!(", {unavailable_count} entries are private or deleted");
    }
    Ok(ToolOutput {
        head: format!("{summary}. {VIDEO_LINKS}"),
        body: format!("{}\n\n{}", head.text(), page.body()),
        next: page.next,
        found: PlaylistPage {
            playlist: head,
            video_count: count,
            total_duration: (!is_part).then_some(playlist.total_duration),
            unavailable_count: Some(unavailable_count).filter(|count| *count > 0),
            original_count: is_selected.then_some(original_count),
            videos: page.items,
        },
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct GetPlaylist(PlaylistQuery);

impl ToolInput for GetPlaylist {
    const NAME: &'static str = "get_playlist";
    const TITLE: &'static str = "Get a playlist";
    const DESCRIPTION: &'static str = "A YouTube playlist: title, number and length of its videos, and the videos. \
        Filters apply first, then the order, then from and to.";
    const OFFER: Offer = Offer::Always;
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        page(call, self.0, false).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct QueryPlaylist(PlaylistQuery);

impl ToolInput for QueryPlaylist {
    const NAME: &'static str = "query_playlist";
    const TITLE: &'static str = "Filter and sort a playlist";
    const DESCRIPTION: &'static str = "The videos of a YouTube playlist, filtered, sorted and cut to a range, like \
        get_playlist.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        page(call, self.0, false).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct GetPlaylistVideos(PlaylistQuery);

impl ToolInput for GetPlaylistVideos {
    const NAME: &'static str = "get_playlist_videos";
    const TITLE: &'static str = "Get the videos of a playlist";
    const DESCRIPTION: &'static str = "The videos of a YouTube playlist like get_playlist, each with the beginning of \
        its description.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        page(call, self.0, true).await
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
