//! The hits of searches in transcripts, as text and as data.

use std::collections::HashMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use vidra_library::{
    Hit, HitItem, HitMoment, HitVideo, LibraryVideo, SearchGroup, TextSearch, VideoHit,
};

use super::video::{link_time, moment_links};
use crate::call::ToolLibrary;
use crate::call_error::CallError;
use crate::page::{Page, clip, one_line};
use crate::params::Cursor;
use crate::reply::ToolOutput;

/// Pages begin before this position. Each page finds all hits before it again.
const LAST_POSITION: usize = 1_000;

/// The longest text of a moment, in characters.
const LONGEST_TEXT: usize = 2_000;

/// Which hits an answer has.
#[derive(Clone, Copy)]
pub(super) struct HitLimits {
    pub(super) cursor: Option<Cursor>,
    pub(super) limit: usize,
    pub(super) max_chars: usize,
}

impl HitLimits {
    /// How many hits come before.
    ///
    /// # Errors
    ///
    /// [`CallError::BadArguments`] if no answer has this cursor.
    pub(super) fn skip(&self) -> Result<usize, CallError> {
        Cursor::skip(self.cursor, LAST_POSITION)
    }
}

/// The videos of a search, each with its moments.
#[derive(Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    /// The best first, unless another order was requested.
    pub(super) videos: Vec<FoundVideo>,
    /// The number of videos that match. Absent in a list of stored videos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_videos: Option<u64>,
    /// The number of moments of these videos. An estimate if the words are very frequent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_moments: Option<u64>,
}

/// A video that a search found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundVideo {
    id: String,
    title: String,
    channel: String,
    /// When it was published, ISO 8601. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<String>,
    /// The language of the captions.
    lang: String,
    /// Whether speech recognition made the captions.
    is_auto_generated: bool,
    /// The number of its moments. Absent if all that were found are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    moment_count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moments: Vec<FoundMoment>,
}

/// A moment at which the words were said.
#[derive(Serialize, JsonSchema)]
struct FoundMoment {
    /// In seconds from the start of the video.
    start: u64,
    /// The chapter. Absent if the video has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chapter: Option<String>,
    /// title or description if the words are there. Absent if they were said.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
    /// The text around the moment.
    text: String,
}

impl FoundMoment {
    fn new(moment: HitMoment) -> Self {
        Self {
            start: moment.start.as_millis() / 1_000,
            chapter: moment.chapter,
            field: moment.field,
            text: clip(&one_line(&moment.text), LONGEST_TEXT).0,
        }
    }

    fn line(&self) -> String {
        let place = self.field.map_or_else(|| link_time(self.start), str::to_owned);
        let chapter = self.chapter.as_deref().map(|it| format!("({}) ", one_line(it)));
        format!("[{place}] {}{}", chapter.unwrap_or_default(), self.text)
    }
}

/// The day of a publication in UTC.
pub(super) fn published_day(at: Timestamp) -> String {
    at.strftime("%F").to_string()
}

impl FoundVideo {
    fn new(video: HitVideo) -> Self {
        Self {
            id: video.video_id.to_string(),
            title: video.title,
            channel: video.channel,
            published_at: video.published_at.map(published_day),
            lang: video.lang,
            is_auto_generated: video.is_auto_generated,
            moment_count: None,
            moments: vec![],
        }
    }

    /// A stored video, without moments.
    pub(super) fn stored(video: &LibraryVideo) -> Self {
        Self::new(video.video.clone())
    }

    fn heading(&self) -> String {
        let Self { id, lang, .. } = self;
        let made = if self.is_auto_generated { "by machine" } else { "by people" };
        let (title, channel) = (one_line(&self.title), one_line(&self.channel));
        let day = self.published_at.as_deref().map(|it| format!(" · {it}")).unwrap_or_default();
        let count = self.moment_count.map(|it| format!(" · {it} moments")).unwrap_or_default();
        format!("# {id} {title} · {channel}{day} · {lang} {made}{count}")
    }
}

/// A page of hits, and how many videos were searched.
pub(super) struct SearchHits {
    pub(super) output: ToolOutput<Found>,
    pub(super) coverage: u64,
}

/// Searches, and writes as many hits as fit.
pub(super) async fn search_hits(
    caller: &ToolLibrary,
    request: &TextSearch,
    limits: HitLimits,
) -> Result<SearchHits, CallError> {
    let skip = limits.skip()?;
    let page = caller.library.search(request, None, skip + limits.limit).await?;
    let count = page.items.len();
    if skip > 0 && skip >= count {
        return Err(Cursor::beyond_the_end());
    }
    let mut page_builder = HitPageBuilder::new(limits.max_chars);
    let mut shown = 0;
    for item in page.items.into_iter().skip(skip) {
        let fits = match item {
            HitItem::Moment(Hit { video, moment, .. }) => {
                page_builder.add(video, None, vec![moment])
            }
            HitItem::Video(VideoHit { video, moment_count, moments, .. }) => {
                page_builder.add(video, Some(moment_count), moments)
            }
            _ => true,
        };
        if !fits {
            break;
        }
        shown += 1;
    }
    let has_more = skip + shown < count || page.next_cursor.is_some();
    let next =
        has_more.then(|| Cursor::at(skip + shown)).filter(|it| it.item < LAST_POSITION as u64);
    let about = if page.total.approximate { "about " } else { "" };
    let (moments, videos) = (page.total.moments, page.total.videos);
    let searched = page.coverage.videos;
    let links = moment_links("ID");
    let head = match (page.note, request.group) {
        (Some(note), _) => format!("{note}."),
        (None, SearchGroup::Video) => {
            format!(
                "{shown} of {videos} videos with {about}{moments} moments; {searched} videos were searched. {links}"
            )
        }
        (None, SearchGroup::Moment) => {
            format!(
                "{shown} of {about}{moments} moments in {videos} videos; {searched} videos were searched. {links}"
            )
        }
    };
    let body = page_builder.body();
    let found = Found {
        videos: page_builder.videos,
        total_videos: Some(videos),
        total_moments: Some(moments),
    };
    Ok(SearchHits { output: ToolOutput { head, body, next, found }, coverage: searched })
}

/// Hits by video, in the order of their first hits.
struct HitPageBuilder {
    page: Page<()>,
    positions: HashMap<String, usize>,
    videos: Vec<FoundVideo>,
}

impl HitPageBuilder {
    fn new(max_chars: usize) -> Self {
        let page = Page::new(max_chars, 0);
        Self { page, positions: HashMap::new(), videos: vec![] }
    }

    /// Adds moments of a video. Returns `false` if they do not fit.
    fn add(&mut self, video: HitVideo, count: Option<u64>, moments: Vec<HitMoment>) -> bool {
        let moments: Vec<FoundMoment> = moments.into_iter().map(FoundMoment::new).collect();
        let lines = moments.iter().map(|it| it.line().chars().count() + 1).sum::<usize>();
        let known = self.positions.get(video.video_id.as_str()).copied();
        let moment_count = count.filter(|count| *count > moments.len() as u64);
        let new = FoundVideo { moment_count, ..FoundVideo::new(video) };
        let heading = if known.is_some() { 0 } else { new.heading().chars().count() + 1 };
        if !self.page.take(lines + heading) {
            return false;
        }
        let position = known.unwrap_or_else(|| {
            self.positions.insert(new.id.clone(), self.videos.len());
            self.videos.push(new);
            self.videos.len() - 1
        });
        self.videos[position].moments.extend(moments);
        true
    }

    fn body(&self) -> String {
        let lines = self.videos.iter().flat_map(|video| {
            std::iter::once(video.heading()).chain(video.moments.iter().map(FoundMoment::line))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
