//! The details and chapters of videos as text for people.

use vidra::format::clock;
use vidra::{Chapter, LiveState, PlaylistVideo, Video, VideoDetails};

use super::cards::{joined, yes_or_no};
use super::table::Table;
use crate::terminal::one_line;

/// The members of a video that are absent unless they are requested.
#[derive(Clone, Copy)]
pub(super) struct Included<'a> {
    details: Option<&'a VideoDetails>,
    chapters: Option<&'a [Chapter]>,
}

impl<'a> From<&'a Video> for Included<'a> {
    fn from(video: &'a Video) -> Self {
        Self { details: video.details.as_deref(), chapters: video.chapters.as_deref() }
    }
}

impl<'a> From<&'a PlaylistVideo> for Included<'a> {
    fn from(video: &'a PlaylistVideo) -> Self {
        Self { details: video.details.as_deref(), chapters: video.chapters.as_deref() }
    }
}

impl Included<'_> {
    /// The details as lines of a card.
    pub(super) fn lines(self) -> [String; 2] {
        let Some(details) = self.details else { return Default::default() };
        let language = details.audio_language.as_ref().or(details.language.as_ref());
        let facts = [
            category(details),
            live(details).to_owned(),
            if details.is_short == Some(true) { "Short".to_owned() } else { String::new() },
            details.definition.clone().unwrap_or_default(),
            language.map(|language| one_line(language)).unwrap_or_default(),
        ];
        let tags: Vec<String> = details.tags.iter().map(|tag| one_line(tag)).collect();
        let tags =
            if tags.is_empty() { tags.concat() } else { format!("tags: {}", tags.join(", ")) };
        [joined(&facts), tags]
    }

    /// The chapters, one per line.
    pub(super) fn chapter_list(self) -> String {
        let chapters = self.chapters.unwrap_or_default().iter().map(|chapter| {
            let start = clock(chapter.start.as_millis() / 1_000);
            format!("{start}  {}\n", one_line(&chapter.title))
        });
        chapters.collect()
    }
}

/// Adds columns for the members that at least one video has.
pub(super) fn with_columns<'a, T>(
    table: Table<'a, T>,
    items: &[T],
    of: impl Fn(&T) -> Included<'_>,
) -> Table<'a, T> {
    let has_details = items.iter().any(|item| of(item).details.is_some());
    let has_chapters = items.iter().any(|item| of(item).chapters.is_some());
    let table = match has_details {
        true => table
            .text("category", |item| of(item).details.map(category).unwrap_or_default())
            .word("live", |item| of(item).details.map(live).unwrap_or_default())
            .word("short", |item| of(item).details.map(short).unwrap_or_default()),
        false => table,
    };
    match has_chapters {
        true => table.number("chapters", |item| of(item).chapters.unwrap_or_default().len()),
        false => table,
    }
}

fn category(details: &VideoDetails) -> String {
    let category = details.category.as_ref();
    category.map(|it| it.title.as_ref().unwrap_or(&it.id).clone()).unwrap_or_default()
}

/// The state of a broadcast; empty for other videos.
fn live(details: &VideoDetails) -> &'static str {
    match details.live {
        Some(LiveState::Upcoming) => "upcoming",
        Some(LiveState::Live) => "live",
        Some(LiveState::Ended) => "ended",
        _ => "",
    }
}

fn short(details: &VideoDetails) -> &'static str {
    details.is_short.map(yes_or_no).unwrap_or_default()
}
