//! Divides a transcript into chunks, for search indexes and language models.
//!
//! A chunk begins and ends at the border of a line. Of the borders in the second half of its
//! greatest size, the last one at the end of a sentence or at a pause is used, and otherwise the
//! last one of all.

mod query;
mod size;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::size::Lines;
use super::cue::TranscriptLine;
use crate::chapter::Chapter;
use crate::ident::VideoId;
use crate::seconds::Seconds;

pub use query::{ChunkBy, ChunkQuery};
pub use size::estimate_tokens;

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Chunk {
    /// The position in the list of chunks, from 0.
    #[cfg_attr(feature = "openapi", schema(example = 0))]
    pub index: usize,
    /// The text of its lines, with a space between two lines.
    #[cfg_attr(feature = "openapi", schema(example = "Never gonna give you up"))]
    pub text: String,
    /// The start time in seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 43))]
    pub start: Seconds,
    /// The end time in seconds. It is not after the start of the line that follows the chunk.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 46.36))]
    pub end: Seconds,
    /// The URL that plays the video from the start of the chunk.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s")
    )]
    pub url: String,
    /// The title of the chapter in which the chunk begins. Absent if the video has no chapters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "Chorus"))]
    pub chapter: Option<String>,
}

/// Divides the lines of a video into chunks.
///
/// - A chunk begins and ends at the border of a line. It prefers a border at the end of a sentence
///   or at a pause of more than 0.7 seconds. It takes the last such border at which it has at least
///   half of its size, and otherwise as many lines as fit.
/// - No chunk exceeds the size, except a line that is larger. Such a line is a chunk of its own.
/// - Without an overlap every line is in exactly one chunk. With an overlap a chunk begins with as
///   many of the last lines of the previous chunk as fit into the overlap, and has at least one
///   new line. The overlap is shorter if that line needs the space.
/// - [`ChunkBy::Chapters`] makes one chunk of each chapter that has lines. A chapter lasts until the
///   start of the next one. With a size, it divides longer chapters by tokens, and no chunk
///   contains lines of two chapters. Without chapters it divides by tokens, with the given or the
///   default size.
///
/// Lines without text are omitted. The function takes less than a millisecond for an hour of speech.
///
/// ```
/// use vidra::{ChunkBy, ChunkQuery, Cue, TranscriptLine, VideoId, chunks};
/// let line = |start, text| TranscriptLine::new(Cue::new(start, 2_000, text), &"en".into());
/// let lines = [
///     line(0, "We tested for 167"),
///     line(2_000, "days. That was long."),
///     line(4_000, "Then we compared\nthe phones."),
/// ];
/// let query = ChunkQuery::new(ChunkBy::Sentences, Some(2), Some(0))?;
/// let found = chunks(VideoId::parse("dQw4w9WgXcQ")?, &lines, &query, &[]);
/// assert_eq!(found.len(), 2);
/// assert_eq!(found[0].text, "We tested for 167 days. That was long.");
/// assert_eq!(found[1].text, "Then we compared the phones.");
/// assert_eq!(found[1].url, "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=4s");
/// # Ok::<_, vidra::Error>(())
/// ```
pub fn chunks(
    video: VideoId,
    lines: &[TranscriptLine],
    query: &ChunkQuery,
    chapters: &[Chapter],
) -> Vec<Chunk> {
    let mut chapters: Vec<&Chapter> = chapters.iter().collect();
    chapters.sort_by_key(|chapter| chapter.start);
    let by_chapter = query.by() == ChunkBy::Chapters && !chapters.is_empty();
    let lines = Lines::new(lines, query.by());
    let mut ranges = vec![];
    for part in parts(&lines, if by_chapter { &chapters } else { &[] }) {
        match query.limits(by_chapter) {
            Some(limits) => divide(&lines, part, limits, &mut ranges),
            None => ranges.push(part),
        }
    }
    let chunk = |(index, range): (usize, Range<usize>)| {
        let start = lines.start(range.start);
        Chunk {
            index,
            text: lines.text(range.clone()),
            start: Seconds::from_millis(start),
            end: Seconds::from_millis(lines.end(range.end - 1)),
            url: video.url_at(start / 1_000),
            chapter: chapter_at(&chapters, start).map(|index| chapters[index].title.clone()),
        }
    };
    ranges.into_iter().enumerate().map(chunk).collect()
}

/// The index of the chapter at a time. The last chapter has no end, because the length of a video is
/// rounded.
fn chapter_at(chapters: &[&Chapter], millis: u64) -> Option<usize> {
    chapters.partition_point(|chapter| chapter.start.as_millis() <= millis).checked_sub(1)
}

/// The lines of each chapter, and the lines before the first one: all lines without chapters.
fn parts(lines: &Lines<'_>, chapters: &[&Chapter]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = vec![];
    let mut chapter = None;
    for index in 0..lines.len() {
        let this = chapter_at(chapters, lines.start(index));
        match parts.last_mut() {
            Some(part) if this == chapter => part.end = index + 1,
            _ => parts.push(index..index + 1),
        }
        chapter = this;
    }
    parts
}

/// The greatest size of a chunk, and of the part that it shares with the previous one. The units
/// are those of [`Lines::size`].
#[derive(Clone, Copy)]
struct Limits {
    size: u64,
    overlap: u64,
}

/// Divides the lines of one part, and adds their ranges to `ranges`.
fn divide(lines: &Lines<'_>, part: Range<usize>, limits: Limits, ranges: &mut Vec<Range<usize>>) {
    let (mut start, mut first_new) = (part.start, part.start);
    while first_new < part.end {
        let end = chunk_end(lines, start, first_new, part.end, limits.size);
        ranges.push(start..end);
        first_new = end;
        start = next_start(lines, start, end, part.end, limits);
    }
}

/// The end of the chunk that begins at `start` and must contain `first_new`.
fn chunk_end(lines: &Lines<'_>, start: usize, first_new: usize, last: usize, size: u64) -> usize {
    let mut end = first_new + 1;
    while end < last && lines.size(start..end + 1) <= size {
        end += 1;
    }
    if end == last {
        return end;
    }
    let is_half = |end: &usize| lines.size(start..*end).saturating_mul(2) >= size;
    let mut borders = (first_new + 1..=end).rev().take_while(is_half);
    borders.find(|end| lines.is_break(*end - 1)).unwrap_or(end)
}

/// The start of the chunk after the one of `start..end`. Lines of the overlap stay within the
/// chunk before, and leave space for the next line.
fn next_start(lines: &Lines<'_>, start: usize, end: usize, last: usize, limits: Limits) -> usize {
    let mut next = end;
    if limits.overlap == 0 || end == last {
        return next;
    }
    while next > start + 1
        && lines.size(next - 1..end) <= limits.overlap
        && lines.size(next - 1..end + 1) <= limits.size
    {
        next -= 1;
    }
    next
}
