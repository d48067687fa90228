//! Chapters of a video, read from its description.

mod line;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::seconds::Seconds;
use line::Mark;

/// A chapter of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Chapter {
    /// The title, without the time and its separators.
    #[cfg_attr(feature = "openapi", schema(example = "Introduction"))]
    pub title: String,
    /// The start in seconds from the beginning of the video.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 0))]
    pub start: Seconds,
    /// The end in seconds: the start of the next chapter, or the end of the video.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 53))]
    pub end: Seconds,
}

/// YouTube shows no chapters if there are fewer.
const MIN_CHAPTERS: usize = 3;

/// YouTube shows no chapters if one is shorter.
const MIN_SECONDS: u64 = 10;

impl Chapter {
    /// Reads the chapters from a description by YouTube's rules. `duration` is the length of the video in
    /// seconds.
    ///
    /// The lines of a list either begin or end with a time. Lines that begin with one come first: lines
    /// that end with one are often prose. Other lines may stand between them.
    ///
    /// The result is empty, as on YouTube, unless the first time of the list is 0:00, at least three
    /// times ascend, and each chapter lasts at least ten seconds. One bad time spoils the list, because
    /// nobody can tell which of its times are right. A time beyond the end of the video is such a time:
    /// the list belongs to another cut of the video. A live broadcast has no length yet (0), so it has no
    /// chapters either.
    ///
    /// If a line has a range (`0:00 - 1:48`), only its start counts: chapters leave no gaps.
    ///
    /// ```
    /// use vidra::Chapter;
    /// let chapters = Chapter::parse_all("0:00 Intro\n1:30 The song\n4:05 Thanks", 260);
    /// assert_eq!(chapters.len(), 3);
    /// assert_eq!((&*chapters[1].title, chapters[1].start.as_millis()), ("The song", 90_000));
    /// ```
    pub fn parse_all(description: &str, duration: u64) -> Vec<Self> {
        let marks = |read: fn(&str) -> Option<Mark<'_>>| -> Vec<Mark<'_>> {
            description.split(['\n', '\r', '\u{2028}', '\u{2029}']).filter_map(read).collect()
        };
        let from = |marks: Vec<Mark<'_>>| is_list(&marks, duration).then(|| list(&marks, duration));
        from(marks(line::leading)).or_else(|| from(marks(line::trailing))).unwrap_or_default()
    }
}

/// Whether YouTube accepts these times.
fn is_list(marks: &[Mark<'_>], duration: u64) -> bool {
    let begins = marks.first().is_some_and(|first| first.start == 0);
    let fits = |(mark, end): (&Mark<'_>, u64)| mark.start.saturating_add(MIN_SECONDS) <= end;
    begins && marks.len() >= MIN_CHAPTERS && marks.iter().zip(ends(marks, duration)).all(fits)
}

/// Each chapter ends where the next one starts.
fn ends(marks: &[Mark<'_>], duration: u64) -> impl Iterator<Item = u64> {
    marks.iter().skip(1).map(|mark| mark.start).chain([duration])
}

fn list(marks: &[Mark<'_>], duration: u64) -> Vec<Chapter> {
    let seconds = |seconds: u64| Seconds::from_millis(seconds.saturating_mul(1_000));
    let is_numbered = is_numbered(marks);
    let chapter = |(mark, end): (&Mark<'_>, u64)| Chapter {
        title: if is_numbered { mark.unnumbered } else { mark.title }.to_owned(),
        start: seconds(mark.start),
        end: seconds(end),
    };
    marks.iter().zip(ends(marks, duration)).map(chapter).collect()
}

/// Whether the lines are numbered one after the other. A single number may belong to the title:
/// `3 Point Lighting`.
fn is_numbered(marks: &[Mark<'_>]) -> bool {
    let numbers = marks.iter().map(|mark| mark.number);
    numbers.zip(marks[0].number.unwrap_or(0)..).all(|(number, next)| number == Some(next))
}
