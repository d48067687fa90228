//! The details and chapters of videos.

use schemars::JsonSchema;
use serde::Serialize;
use vidra::format::{Moment, clock};
use vidra::{Chapter, LiveState, VideoDetails};

use crate::page::{json_chars, one_line};

/// The members of a video that are absent unless `include` names them.
#[derive(Serialize, JsonSchema)]
pub(super) struct Included {
    /// More about the video. Absent unless include names details.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<DetailFacts>,
    /// The chapters, from the description. Absent unless include names chapters. In a list only the first ones:
    /// get_video returns all.
    #[serde(skip_serializing_if = "Option::is_none")]
    chapters: Option<Vec<ChapterFacts>>,
}

/// More details of a video. Members that YouTube does not send are absent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DetailFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    /// none, upcoming, live or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'static str>,
    /// The planned start of a broadcast, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_start: Option<String>,
    /// The start of a broadcast, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_start: Option<String>,
    /// The end of a broadcast, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_end: Option<String>,
    /// Whether it is a Short. Inferred from its shape and length.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_short: Option<bool>,
    /// The language of title and description.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// The spoken language.
    #[serde(skip_serializing_if = "Option::is_none")]
    audio_language: Option<String>,
    /// Whether the uploader added captions. Videos without them usually have automatic ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_uploaded_captions: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made_for_kids: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_promotion: Option<bool>,
    /// youtube or creativeCommon.
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    /// The keywords of the uploader. In a list only the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Titles of the English Wikipedia.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    topics: Vec<String>,
}

/// A chapter of a video.
#[derive(Serialize, JsonSchema)]
struct ChapterFacts {
    title: String,
    /// The start in seconds.
    start: u64,
}

impl Included {
    /// `most` limits tags, topics and chapters, each in characters.
    pub(super) fn new(
        details: Option<Box<VideoDetails>>,
        chapters: Option<Vec<Chapter>>,
        most: usize,
    ) -> Self {
        let facts = |chapter: Chapter| ChapterFacts {
            title: chapter.title,
            start: chapter.start.as_millis() / 1_000,
        };
        Self {
            details: details.map(|details| DetailFacts::new(*details, most)),
            chapters: chapters.map(|all| within(all.into_iter().map(facts), most)),
        }
    }

    /// The same as indented lines, each after a line break.
    pub(super) fn lines(&self) -> String {
        let details = self.details.as_ref().map(DetailFacts::line).unwrap_or_default();
        let chapters =
            self.chapters.iter().flatten().map(|chapter| {
                format!("\n  {} {}", clock(chapter.start), one_line(&chapter.title))
            });
        details + &chapters.collect::<String>()
    }
}

impl DetailFacts {
    fn new(details: VideoDetails, most: usize) -> Self {
        let broadcast = details.broadcast.unwrap_or_default();
        let time = |at: Option<Moment>| at.map(|at| at.to_string());
        Self {
            category: details.category.map(|category| category.title.unwrap_or(category.id)),
            live: details.live.map(live_word),
            scheduled_start: time(broadcast.scheduled_start),
            actual_start: time(broadcast.actual_start),
            actual_end: time(broadcast.actual_end),
            is_short: details.is_short,
            language: details.language,
            audio_language: details.audio_language,
            has_uploaded_captions: details.has_captions,
            made_for_kids: details.made_for_kids,
            paid_promotion: details.paid_promotion,
            license: details.license,
            tags: within(details.tags.into_iter(), most),
            topics: within(details.topics.into_iter(), most),
        }
    }

    /// The details that most questions need.
    fn line(&self) -> String {
        let language = self.audio_language.as_ref().or(self.language.as_ref());
        let facts = [
            self.category.clone(),
            self.live.filter(|live| *live != "none").map(|live| format!("broadcast: {live}")),
            self.is_short.filter(|is| *is).map(|_| "Short".to_owned()),
            language.map(|language| format!("language: {language}")),
            (!self.tags.is_empty()).then(|| format!("tags: {}", self.tags.join(", "))),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() {
            String::new()
        } else {
            format!("\n  {}", one_line(&facts.join(" · ")))
        }
    }
}

fn live_word(live: LiveState) -> &'static str {
    match live {
        LiveState::Upcoming => "upcoming",
        LiveState::Live => "live",
        LiveState::Ended => "ended",
        _ => "none",
    }
}

/// The first items that have at most so many characters together.
fn within<T: Serialize>(items: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let mut left = most;
    let fits = |item: &T| {
        let size = json_chars(item);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    items.take_while(fits).collect()
}
