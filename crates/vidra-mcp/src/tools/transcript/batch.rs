//! `batch_transcribe`, `transcribe_playlist`: transcripts in order until the page is full. A few videos are
//! fetched at once, and none after the page is full.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::selection::PositionRange;
use vidra::{
    BatchEvent, BatchQuery, BatchTranscript, CaptionKind, Error, TranscriptLine, TranscriptQuery,
    VideoId, VideoTranscript as BatchResult,
};

use super::CaptionsArg;
use super::segment::{Segment, segments};
use crate::call_error::{CallError, failure_line, log};
use crate::page::{Page, clip, one_line};
use crate::params::{
    Cursor, LanguagesArg, MOST_VIDEOS, MaxChars, PlaylistArg, Position, VideoArgs, Whole,
};
use crate::reply::ToolOutput;
use crate::tools::playlist::position_range;
use crate::tools::video::moment_links;
use crate::tools::{Call, Offer, ToolInput, ToolResult};

/// How many videos are fetched at once.
type Concurrency = Whole<1, 5, 3>;

/// The limit of an error that ends a page early, in characters. It has to fit into the reserve of a page.
const MAX_ERROR_CHARS: usize = 400;

/// The result of one video.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct VideoResult {
    /// The id of the video; empty if YouTube does not reveal it.
    video_id: String,
    /// The position in the playlist, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    status: Status,
    /// The language of the captions.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// The transcript, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<Segment>,
    /// Whether the transcript continues on the next page.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
    /// Why there is no transcript, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Failed,
}

impl VideoResult {
    fn new(id: &str, done: Result<&[TranscriptLine], String>) -> Self {
        let (lines, error) = match done {
            Ok(lines) => (Some(lines), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            video_id: id.to_owned(),
            position: None,
            title: None,
            status: if lines.is_some() { Status::Success } else { Status::Failed },
            language: lines.and_then(|lines| lines.first()).map(|line| line.lang.to_string()),
            segments: lines.map(segments).unwrap_or_default(),
            continues: false,
            error,
        }
    }

    fn heading(&self) -> String {
        let place = self.position.map(|place| format!("{place}. ")).unwrap_or_default();
        let title = self.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        let title = title.map(|title| format!("{title} ")).unwrap_or_default();
        match &self.error {
            None => format!("## {place}{title}{}", self.video_id),
            Some(error) => format!("## {place}{title}{} FAILED: {error}", self.video_id),
        }
    }
}

/// The results that fit into one answer.
struct BatchPage {
    start: Cursor,
    page: Page<Segment>,
    results: Vec<VideoResult>,
    broken_off: Option<String>,
}

impl BatchPage {
    fn new(start: Cursor, max_chars: MaxChars) -> Self {
        let page = Page::new(max_chars.count(), 0);
        Self { start, page, results: vec![], broken_off: None }
    }

    /// Adds a result, without the segments before the start of the page. Returns `false` when the page is
    /// full.
    fn add(&mut self, item: u64, mut result: VideoResult) -> Result<bool, CallError> {
        let part = if item == self.start.item { self.start.part } else { 0 };
        let skip = usize::try_from(part).unwrap_or(usize::MAX);
        if skip > 0 && result.status == Status::Success && skip >= result.segments.len() {
            return Err(Cursor::beyond_the_end());
        }
        let all = std::mem::take(&mut result.segments);
        let heading = result.heading();
        let head = heading.chars().count() + 1;
        let mut rest = all.into_iter().skip(skip).map(Segment::with_line).peekable();
        // A heading without a segment is useless.
        let first = rest.peek().map_or(0, |(_, line)| line.chars().count() + 1);
        if !self.page.fits(head + first) {
            self.page.next = Some(Cursor { item, part });
            return Ok(false);
        }
        self.page.take(head);
        self.page.lines.push(heading);
        let is_cut = self.page.fill(rest);
        result.segments = std::mem::take(&mut self.page.items);
        result.continues = is_cut;
        if is_cut {
            self.page.next = Some(Cursor { item, part: part + result.segments.len() as u64 });
        }
        self.results.push(result);
        Ok(!is_cut)
    }

    /// Ends the page before `item`, unless it ended earlier because it was full.
    fn stop_before(&mut self, item: u64) {
        self.page.next.get_or_insert(Cursor { item, part: 0 });
    }

    /// Ends the page before `item` because of an error. Returns the results so far, because they were paid
    /// for, or the error if there are none.
    fn break_off(mut self, item: u64, error: Error) -> ToolResult<Transcripts> {
        if self.results.is_empty() {
            return Err(error.into());
        }
        log(&error);
        self.stop_before(item);
        self.broken_off = Some(clip(&failure_line(&error), MAX_ERROR_CHARS).0);
        Ok(self.into_output())
    }

    fn into_output(self) -> ToolOutput<Transcripts> {
        let count = |status| self.results.iter().filter(|it| it.status == status).count();
        let (succeeded, failed) = (count(Status::Success), count(Status::Failed));
        let mut head =
            format!("Transcripts of {succeeded} videos; {failed} failed. {}", moment_links("ID"));
        if let Some(why) = &self.broken_off {
            head += &format!("\nThe rest is missing: {why}");
        }
        ToolOutput {
            head,
            body: self.page.body(),
            next: self.page.next,
            found: Transcripts {
                succeeded,
                failed,
                broken_off: self.broken_off,
                results: self.results,
            },
        }
    }
}

/// Transcripts of several videos.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct Transcripts {
    /// The number of results with a transcript.
    succeeded: usize,
    /// The number of results without one.
    failed: usize,
    /// Why the answer ended early, and what to do before the next call with nextCursor; absent if at
    /// most single videos failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
    results: Vec<VideoResult>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct BatchTranscribe {
    /// 1 to 50 ids or URLs
    videos: VideoArgs,
    /// Codes by preference (de,en); the spoken language if not given
    lang: Option<LanguagesArg>,
    /// Only those by people (manual) or by machine (auto)
    captions: Option<CaptionsArg>,
    /// Videos at once
    #[serde(default)]
    concurrency: Concurrency,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

impl ToolInput for BatchTranscribe {
    const NAME: &'static str = "batch_transcribe";
    const TITLE: &'static str = "Transcribe several videos";
    const DESCRIPTION: &'static str = "The transcripts of 1 to 50 YouTube videos, with links to the moments; \
        at most 5 are fetched at the same time. A video without captions fails alone.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Transcripts;

    async fn run(self, call: &Call<'_>) -> ToolResult<Transcripts> {
        let query = transcript_query(self.lang, self.captions);
        let start = self.cursor.unwrap_or_default();
        let total = self.videos.0.len() as u64;
        if start.item >= total {
            return Err(Cursor::beyond_the_end());
        }
        let ids = (0..).zip(self.videos.0).filter(|(index, _)| *index >= start.item);
        let read = ids.map(|(index, id)| {
            let query = &query;
            async move { (index, id, call.vidra.transcript(id, query).await) }
        });
        let mut read = stream::iter(read).buffered(self.concurrency.count());
        let mut page = BatchPage::new(start, self.max_chars);
        let mut shown = start.item;
        loop {
            let (index, id, done) = match call.next(&mut read, shown, Some(total)).await {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(late) => return page.break_off(shown, late),
            };
            let done = done.as_deref().map_err(failure_line);
            shown = index + 1;
            call.report(shown, Some(total), format!("{id}: {}", outcome(done.is_ok())));
            if !page.add(index, VideoResult::new(id.as_str(), done))? {
                // The page may be full although it holds this transcript to its end.
                break;
            }
        }
        Ok(page.into_output())
    }
}

fn transcript_query(lang: Option<LanguagesArg>, captions: Option<CaptionsArg>) -> TranscriptQuery {
    TranscriptQuery::default()
        .with_languages(lang.map(|LanguagesArg(it)| it).unwrap_or_default())
        .with_captions(captions.map(CaptionKind::from))
}

fn outcome(is_done: bool) -> &'static str {
    if is_done { "transcribed" } else { "failed" }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct TranscribePlaylist {
    /// Id or URL
    playlist: PlaylistArg,
    /// First position, counted from 1
    from: Option<Position>,
    /// Last position
    to: Option<Position>,
    /// Codes by preference (de,en); the spoken language if not given
    lang: Option<LanguagesArg>,
    /// Only those by people (manual) or by machine (auto)
    captions: Option<CaptionsArg>,
    /// Videos at once
    #[serde(default)]
    concurrency: Concurrency,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

impl ToolInput for TranscribePlaylist {
    const NAME: &'static str = "transcribe_playlist";
    const TITLE: &'static str = "Transcribe a playlist";
    const DESCRIPTION: &'static str = "The transcripts of the videos of a YouTube playlist, or of a range of \
        positions in it, with links to the moments. A video without captions fails alone. An answer has at \
        most 50 videos and max_chars characters.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Transcripts;

    async fn run(self, call: &Call<'_>) -> ToolResult<Transcripts> {
        let PositionRange { start: from, end: last_wanted } = position_range(self.from, self.to)?;
        let from = from.unwrap_or(1);
        let start = match self.cursor {
            Some(cursor) if cursor.item < from => {
                return Err(CallError::bad("cursor: is before from"));
            }
            Some(cursor) if last_wanted.is_some_and(|to| cursor.item > to) => {
                return Err(Cursor::beyond_the_end());
            }
            cursor => cursor.unwrap_or(Cursor { item: from, part: 0 }),
        };
        let (mut position, end) = (start.item, start.item + MOST_VIDEOS as u64);
        let query = BatchQuery::default()
            .with_concurrency(self.concurrency.count())
            .with_from(start.item)
            .with_to(last_wanted.map_or(end - 1, |to| to.min(end - 1)))
            .with_transcript(transcript_query(self.lang, self.captions));
        let _permit = call.batch_permit()?;
        let mut events = std::pin::pin!(call.vidra.playlist_transcripts(&self.playlist.0, &query));
        let mut page = BatchPage::new(start, self.max_chars);
        // Results arrive in any order.
        let mut early: BTreeMap<u64, BatchResult> = BTreeMap::new();
        let (mut done, mut total) = (0, 0);
        loop {
            let event = match call.next(&mut events, done, None).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(late) => return page.break_off(position, late),
            };
            let result = match event {
                Ok(BatchEvent::Result(result)) => result,
                Ok(BatchEvent::Done(summary)) => {
                    total = summary.total_videos;
                    continue;
                }
                Ok(BatchEvent::Waiting(wait)) => {
                    let seconds = wait.as_secs().max(1);
                    let why = "so that YouTube does not block this machine";
                    call.report(done, None, format!("waiting for {seconds} s, {why}"));
                    continue;
                }
                Ok(_) => continue,
                Err(error) => return page.break_off(position, error),
            };
            done += 1;
            let is_done = result.transcript.is_ok();
            call.report(done, None, format!("entry {}: {}", result.position, outcome(is_done)));
            early.insert(result.position, result);
            while let Some(result) = early.remove(&position) {
                if !page.add(position, video_result(result))? || last_wanted == Some(position) {
                    // Later entries do not matter, nor does an error in listing them.
                    return Ok(page.into_output());
                }
                position += 1;
            }
        }
        // YouTube's own count can be too high, so that the last page can be empty.
        if self.cursor.is_some() && page.results.is_empty() && start.item > total {
            return Err(Cursor::beyond_the_end());
        }
        if position == end && total >= end {
            page.stop_before(end);
        }
        Ok(page.into_output())
    }
}

/// Converts a result of the library.
fn video_result(result: BatchResult) -> VideoResult {
    let BatchResult { video_id, title, position, transcript, .. } = result;
    let video_id = video_id.as_ref().map_or("", VideoId::as_str);
    let done = transcript.as_ref().map(BatchTranscript::lines).map_err(failure_line);
    let title = Some(title).filter(|title| !title.is_empty());
    VideoResult { position: Some(position), title, ..VideoResult::new(video_id, done) }
}
