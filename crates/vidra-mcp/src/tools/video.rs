//! `get_video`, `get_videos`.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{Video, VideoId, Withheld, format};

use super::{Call, Found, Work};
use crate::page::{Page, clip, json_chars, one_line};
use crate::params::{Cursor, MaxChars, VideoArg, VideoArgs};
use crate::reply::Sheet;

/// The address of a video, for people and models to follow.
pub(super) fn video_url(id: impl std::fmt::Display) -> String {
    format!("https://youtu.be/{id}")
}

/// How much of a description a list shows.
pub(super) const SHORT: usize = 300;

/// A video.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VideoFacts {
    id: String,
    url: String,
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
    description: String,
    /// Whether the description goes on; get_video has all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    description_cut: bool,
    /// Counts that YouTube withholds and that are therefore 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<&'static str>,
}

impl VideoFacts {
    fn new(video: Video, most: usize) -> Self {
        let (description, description_cut) = clip(&video.description, most);
        Self {
            id: video.id.to_string(),
            url: video_url(video.id),
            title: video.title,
            channel: video.channel,
            channel_id: video.channel_id,
            views: video.views,
            likes: video.likes,
            comments: video.comments,
            duration: video.duration,
            published_at: written(&video.published_at),
            description,
            description_cut,
            hidden: hidden(&video.hidden),
        }
    }

    fn line(&self) -> String {
        let Self { url, title, channel, views, likes, comments, duration, published_at, .. } = self;
        let (title, channel) = (one_line(title), one_line(channel));
        let day = day(published_at);
        let length = format::clock(*duration);
        format!(
            "{title}\n  {url} · by {channel} ({}) · {length} · {day} · {views} views · {likes} likes · {comments} comments{}",
            self.channel_id,
            withheld(&self.hidden)
        )
    }
}

/// A moment as it is written in JSON.
pub(super) fn written(moment: &format::Moment) -> String {
    match serde_json::to_value(moment) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// The day of a moment.
pub(super) fn day(moment: &str) -> &str {
    moment.split('T').next().unwrap_or_default()
}

/// The names of counts that are withheld.
pub(super) fn hidden(counts: &[Withheld]) -> Vec<&'static str> {
    counts.iter().map(|count| count.name()).collect()
}

/// A zero that is no number must not look like one.
pub(super) fn withheld(hidden: &[&str]) -> String {
    if hidden.is_empty() { String::new() } else { format!(" · not told: {}", hidden.join(", ")) }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetVideo {
    /// The video: its 11-character id or any YouTube URL that holds it.
    video: VideoArg,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OneVideo {
    video: VideoFacts,
}

impl Work for GetVideo {
    const NAME: &'static str = "get_video";
    const TITLE: &'static str = "Get a video";
    const ABOUT: &'static str = "Title, channel, full description, length, date and counts of views, \
        likes and comments of one YouTube video. For what is said in it use transcribe_video. Costs 1 \
        quota unit.";
    type Found = OneVideo;

    async fn work(self, call: &Call<'_>) -> Found<OneVideo> {
        let video = VideoFacts::new(call.vidra.video(self.video.0).await?, usize::MAX);
        Ok(Sheet {
            head: "One video.".to_owned(),
            body: format!("{}\n\n{}", video.line(), video.description),
            next: None,
            found: OneVideo { video },
        })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetVideos {
    /// From 1 to 50 videos: ids or URLs.
    videos: VideoArgs,
    /// The most characters of the answer.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same question, for the rest.
    #[serde(default)]
    cursor: Option<Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeveralVideos {
    videos: Vec<VideoFacts>,
    /// The ids that YouTube does not know.
    not_found: Vec<String>,
}

impl Work for GetVideos {
    const NAME: &'static str = "get_videos";
    const TITLE: &'static str = "Get several videos";
    const ABOUT: &'static str = "The same as get_video for 1 to 50 YouTube videos in one call, in the \
        order asked, with the beginning of each description. Videos that do not exist are named in \
        notFound. Costs 1 quota unit in all.";
    type Found = SeveralVideos;

    async fn work(self, call: &Call<'_>) -> Found<SeveralVideos> {
        let asked = &self.videos.0;
        let found = call.vidra.videos(asked).await?;
        let known: HashSet<VideoId> = found.iter().map(|video| video.id).collect();
        let mut not_found: Vec<String> = vec![];
        for id in asked.iter().filter(|id| !known.contains(*id)).map(VideoId::to_string) {
            if !not_found.contains(&id) {
                not_found.push(id);
            }
        }
        let count = found.len();
        let skip = Cursor::skip(self.cursor, count)?;
        let mut page = Page::new(self.max_chars.count(), json_chars(&not_found));
        let items = found.into_iter().skip(skip).map(|video| {
            let video = VideoFacts::new(video, SHORT);
            let line = format!("- {}\n  {}", video.line(), one_line(&video.description));
            (video, line)
        });
        let has_more = page.fill(items);
        let asked = count + not_found.len();
        let mut head = format!("{} of {asked} videos.", page.items.len());
        if !not_found.is_empty() {
            head += &format!(" Not found: {}.", not_found.join(", "));
        }
        Ok(Sheet {
            head,
            body: page.body(),
            next: has_more.then(|| Cursor::at(skip + page.items.len())),
            found: SeveralVideos { videos: page.items, not_found },
        })
    }
}
