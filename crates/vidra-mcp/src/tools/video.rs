//! `get_video`, `get_videos`, `get_popular_videos`.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{ChartQuery, HiddenCount, Video, VideoId, format};

use super::included::Included;
use super::list::ListPage;
use super::{Call, Offer, ToolInput, ToolResult};
use crate::page::{Page, clip, one_line, text_limit};
use crate::params::{
    CategoryArg, Cursor, IncludeArgs, MaxChars, RegionArg, VideoArg, VideoArgs, Whole,
};
use crate::reply::ToolOutput;

/// An id as text, which is empty if YouTube sends none.
pub(super) fn text_of(id: Option<impl ToString>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

/// The pattern of links, so that no line needs one.
pub(super) const VIDEO_LINKS: &str = "Link of a video: https://youtu.be/ID";

/// The pattern of links to moments, for times as [`link_time`] writes them.
pub(super) fn moment_links(id: &str) -> String {
    format!("Link of a moment: https://youtu.be/{id}?t=12m34s")
}

/// A time as it stands in a link to a moment: `1h2m3s`.
pub(super) fn link_time(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// The limit of a description in a list, in characters.
pub(super) const SHORT: usize = 200;

/// A video.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VideoFacts {
    id: String,
    title: String,
    channel: String,
    channel_id: String,
    views: u64,
    likes: u64,
    comments: u64,
    /// The length in seconds; 0 for live and upcoming broadcasts.
    duration: u64,
    /// When it was published, ISO 8601.
    published_at: String,
    /// In a list only its beginning.
    description: String,
    /// The counts that YouTube hides, whose values are 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
    #[serde(flatten)]
    included: Included,
}

impl VideoFacts {
    /// `described` limits the description, and `most` other long members, in characters.
    fn new(video: Video, described: usize, most: usize) -> Self {
        let description = clip(&video.description, described).0;
        Self {
            id: video.id.to_string(),
            title: video.title,
            channel: video.channel,
            channel_id: text_of(video.channel_id),
            views: video.views,
            likes: video.likes,
            comments: video.comments,
            duration: video.duration,
            published_at: video.published_at.to_string(),
            description,
            hidden: hidden(&video.hidden),
            included: Included::new(video.details, video.chapters, most),
        }
    }

    /// A video with its whole description, and its lines.
    fn alone(video: Video) -> (Self, String) {
        let video = Self::new(video, usize::MAX, usize::MAX);
        let line = format!("{}\n\n{}", video.line(), video.description);
        (video, line)
    }

    /// A video of a list, with its lines. `most` limits its long members, in characters.
    pub(super) fn listed(video: Video, most: usize) -> (Self, String) {
        let video = Self::new(video, SHORT, most);
        let mut line = video.line();
        if !video.description.is_empty() {
            line += &format!("\n  {}", one_line(&video.description));
        }
        (video, line)
    }

    fn line(&self) -> String {
        let Self { id, title, channel, views, likes, comments, duration, published_at, .. } = self;
        let (title, channel) = (one_line(title), one_line(channel));
        let day = day(published_at);
        let length = format::clock(*duration);
        format!(
            "{id} {title} · by {channel} ({}) · {length} · {day} · {views} views · {likes} likes · {comments} comments{}{}",
            self.channel_id,
            withheld(&self.hidden),
            self.included.lines(),
        )
    }
}

/// The date of a time in ISO 8601.
pub(super) fn day(moment: &str) -> &str {
    moment.split('T').next().unwrap_or_default()
}

/// The names of hidden counts.
pub(super) fn hidden(counts: &[HiddenCount]) -> Vec<&'static str> {
    counts.iter().map(|count| count.name()).collect()
}

/// Lists the hidden counts, so that a reader does not take their zeros for counts.
pub(super) fn withheld(hidden: &[&str]) -> String {
    if hidden.is_empty() { String::new() } else { format!(" · hidden: {}", hidden.join(", ")) }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetVideos {
    /// 1 to 50 ids or URLs
    videos: VideoArgs,
    /// Also tags, category, languages (details) or chapters
    include: Option<IncludeArgs>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeveralVideos {
    videos: Vec<VideoFacts>,
    /// The ids that YouTube does not know.
    not_found: Vec<String>,
}

impl ToolInput for GetVideos {
    const NAME: &'static str = "get_videos";
    const TITLE: &'static str = "Get videos";
    const DESCRIPTION: &'static str = "Title, channel, length, date, counts and description of YouTube videos; the \
        whole description if it is one video.";
    const OFFER: Offer = Offer::Always;
    type Output = SeveralVideos;

    async fn run(self, call: &Call<'_>) -> ToolResult<SeveralVideos> {
        let requested = &self.videos.0;
        let vidra = call.vidra.including(IncludeArgs::members(self.include));
        let found = vidra.videos(requested).await?;
        let mut seen: HashSet<VideoId> = found.iter().map(|video| video.id).collect();
        let not_found = requested.iter().filter(|id| seen.insert(**id)).map(VideoId::to_string);
        let not_found: Vec<String> = not_found.collect();
        let total = found.len() + not_found.len();
        let most = text_limit(self.max_chars.count());
        let is_single = total == 1;
        let items = found.into_iter().map(|video| match is_single {
            true => VideoFacts::alone(video),
            false => VideoFacts::listed(video, most),
        });
        let page = Page::of_list(items, self.cursor, self.max_chars, 0)?;
        let mut head = format!("{} of {total} videos. {VIDEO_LINKS}", page.items.len());
        if !not_found.is_empty() {
            head += &format!("\nNot found: {}.", not_found.join(", "));
        }
        Ok(ToolOutput {
            head,
            body: page.body(),
            next: page.next,
            found: SeveralVideos { videos: page.items, not_found },
        })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetVideo {
    /// An id or URL
    video: VideoArg,
    /// Also tags, category, languages (details) or chapters
    include: Option<IncludeArgs>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OneVideo {
    video: VideoFacts,
}

impl ToolInput for GetVideo {
    const NAME: &'static str = "get_video";
    const TITLE: &'static str = "Get a video";
    const DESCRIPTION: &'static str =
        "Title, channel, length, date, counts and description of one YouTube video.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = OneVideo;

    async fn run(self, call: &Call<'_>) -> ToolResult<OneVideo> {
        let vidra = call.vidra.including(IncludeArgs::members(self.include));
        let (video, body) = VideoFacts::alone(vidra.video(self.video.0).await?);
        Ok(ToolOutput::complete(format!("One video. {VIDEO_LINKS}"), body, OneVideo { video }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetPopularVideos {
    /// Two-letter code; US if not given
    region: Option<RegionArg>,
    /// Number of a category, such as 10 for music
    category: Option<CategoryArg>,
    /// Most videos
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

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PopularVideos {
    /// The most popular first.
    videos: Vec<VideoFacts>,
    /// Why there are fewer videos than requested, and what to do. Absent if nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
}

impl ToolInput for GetPopularVideos {
    const NAME: &'static str = "get_popular_videos";
    const TITLE: &'static str = "Get the popular videos of a region";
    const DESCRIPTION: &'static str = "The videos that are popular on YouTube now, in a region and optionally a \
        category, at most 200.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = PopularVideos;

    async fn run(self, call: &Call<'_>) -> ToolResult<PopularVideos> {
        let chart = ChartQuery::default()
            .with_region(self.region.map(|RegionArg(region)| region))
            .with_category(self.category.map(|CategoryArg(category)| category));
        let vidra = call.vidra.including(IncludeArgs::members(self.include));
        let (videos, most) = (vidra.popular_videos(&chart), text_limit(self.max_chars.count()));
        let range = (self.cursor, self.max_chars);
        let write = |video| [VideoFacts::listed(video, most)];
        let list = ListPage::read(call, videos, self.limit.count(), range, write).await?;
        Ok(ToolOutput {
            head: format!("{} {VIDEO_LINKS}", list.head("videos")),
            body: list.page.body(),
            next: list.page.next,
            found: PopularVideos { videos: list.page.items, broken_off: list.broken_off },
        })
    }
}
