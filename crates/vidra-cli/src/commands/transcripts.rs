//! `vidra transcripts`: the transcripts of a whole playlist, into a folder or to standard output.

mod folder;
mod name;
mod progress;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vidra::{BatchSummary, PlaylistId, PlaylistIds, VideoId, VideoTranscript};

use self::folder::Folder;
use self::progress::Progress;
use super::transcript::Format;
use super::{CommandContext, Common, one};
use crate::failure::{Exit, Failure, print_error};
use crate::output::table::Table;
use crate::output::{Form, read};
use crate::service::{RestRequest, Service};
use crate::signals::Signals;

#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptsArgs {
    /// Id or URL of a playlist; - reads it from standard input
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// Write one file per video and format into this folder; existing files are not fetched again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Output formats, separated by commas
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "txt",
        requires = "out",
        value_name = "FORMATS"
    )]
    format: Vec<Format>,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Number of concurrent fetches
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    concurrency: u32,

    /// First position in the playlist, from 1
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,

    /// Last position in the playlist
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,

    /// Also retry permanent failures, such as private videos and videos without captions
    #[arg(long, requires = "out")]
    retry_failed: bool,

    #[command(flatten)]
    common: Common,
}

/// The most videos that the service accepts as an exclusion list.
const MOST_SKIPPED: usize = 4_000;

/// An event of the service's stream.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Event {
    Result(VideoTranscript),
    Waiting {
        waiting: f64,
    },
    Summary(BatchSummary),
    Error {
        error: Value,
    },
    /// An event of a newer service.
    #[serde(other)]
    Other,
}

/// The body of the request.
#[derive(Serialize)]
struct BatchBody<'a> {
    concurrency: u32,
    #[serde(flatten)]
    part: &'a Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<&'a str>,
}

/// A range of the playlist, and the videos in it that need no fetch.
#[derive(Debug, PartialEq, Serialize)]
struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skip: Vec<VideoId>,
}

pub(super) async fn write(args: &TranscriptsArgs) -> Result<(), Failure> {
    let playlist = PlaylistId::parse(&one(&args.playlist)?)?;
    if args.from.zip(args.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is greater than --to"));
    }
    let mut context = args.common.open()?;
    let Some(out) = &args.out else {
        let done = print(args, &playlist, &mut context).await;
        return context.end(done).await;
    };
    let formats: BTreeSet<Format> = args.format.iter().copied().collect();
    let mut folder = Folder::open(out, &playlist, args.lang.as_deref(), formats)?;
    let signals = Signals::listen()?;
    let done = fill(args, &playlist, &context.service, &mut folder, &signals).await;
    let written = folder.write_manifest();
    let done = done.and_then(|missing| written.map(|()| missing));
    report(&mut context, &folder, done.as_ref().copied().ok())?;
    tokio::select! {
        biased;
        () = context.service.settle() => {}
        () = signals.first() => {}
    }
    done?;
    if folder.failed_now().is_empty() { Ok(()) } else { Err(Failure::Reported(Exit::Missing)) }
}

/// Prints results to standard output.
async fn print(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    context: &mut CommandContext,
) -> Result<(), Failure> {
    let whole = Part { from: args.from, to: args.to, skip: vec![] };
    let mut events = context.service.stream(&args.request(id, &whole)).await?;
    let (mut results, mut summary) = (vec![], None);
    while let Some(line) = events.next().await? {
        if context.output.form == Form::Ndjson {
            context.output.foreign(&format!("{}\n", String::from_utf8_lossy(&line)))?;
        }
        match event(&context.service, &line)? {
            Event::Result(result) => match context.output.form {
                Form::People => results.push((Row::new(result), Bytes::new())),
                Form::Json => results.push((Row::new(result), line)),
                Form::Ndjson => {}
            },
            Event::Summary(last) => summary = Some((last, line)),
            Event::Waiting { .. } | Event::Error { .. } | Event::Other => {}
        }
    }
    let (summary, line) = summary.ok_or_else(broken_off)?;
    results.sort_by_key(|(row, _)| row.position);
    let (rows, lines): (Vec<Row>, Vec<Bytes>) = results.into_iter().unzip();
    match context.output.form {
        Form::People => context.output.text(&listed(&rows, &summary, context.output.width))?,
        Form::Json => context.output.document(&whole_answer(&line, &lines))?,
        Form::Ndjson => {}
    }
    match summary.failed {
        0 => Ok(()),
        failed => {
            let message = format!("{failed} of {} failed", summary.succeeded + failed);
            Err(Failure::Message(Exit::Missing, message))
        }
    }
}

/// The answer as the service sends it without streaming: the summary with the results.
fn whole_answer(summary: &[u8], results: &[Bytes]) -> Vec<u8> {
    let open = summary.trim_ascii_end().strip_suffix(b"}").unwrap_or(summary);
    [open, b",\"results\":[", &results.join(&b","[..]), b"]}"].concat()
}

/// Writes the missing files and returns how many videos were missing.
async fn fill(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    service: &Service,
    folder: &mut Folder,
    signals: &Signals,
) -> Result<usize, Failure> {
    let request = RestRequest::get("playlist").segment(id.as_str()).segment("ids");
    let PlaylistIds { video_ids, .. } = read(&service.fetch(&request).await?)?;
    folder.set_positions(&video_ids);
    let known = folder.known(args.retry_failed);
    let (from, to) = (args.from.unwrap_or(1), args.to.unwrap_or(u64::MAX));
    let wanted = (1_u64..).zip(&video_ids).filter(|(place, _)| (from..=to).contains(place));
    let missing = wanted.filter(|(_, id)| !known.contains(*id)).count();
    // Entries without an id have a position too, so with a range only the service knows what is missing.
    if missing == 0 && args.from.or(args.to).is_none() {
        return Ok(0);
    }
    folder.write_manifest()?;
    let progress = Progress::new(missing as u64);
    for part in parts(args.from, args.to, &video_ids, &known, MOST_SKIPPED) {
        let request = args.request(id, &part);
        tokio::select! {
            // The result first: a complete range counts, also if a signal arrives with it.
            biased;
            done = receive(service, &request, folder, &progress) => done?,
            () = signals.first() => return Err(stopped()),
        }
    }
    Ok(missing)
}

/// Splits the playlist into ranges whose exclusion lists the service accepts.
fn parts(
    from: Option<u64>,
    to: Option<u64>,
    ids: &[VideoId],
    known: &HashSet<VideoId>,
    most: usize,
) -> Vec<Part> {
    let mut parts = vec![Part { from, to, skip: vec![] }];
    let (first, last) = (from.unwrap_or(1), to.unwrap_or(u64::MAX));
    for (place, id) in (1..).zip(ids).filter(|(_, id)| known.contains(*id)) {
        if !(first..=last).contains(&place) {
            continue;
        }
        let part = parts.last_mut().expect("there is one");
        if part.skip.len() < most {
            part.skip.push(*id);
        } else {
            part.to = Some(place - 1);
            parts.push(Part { from: Some(place), to, skip: vec![*id] });
        }
    }
    parts
}

/// Writes files as results arrive.
async fn receive(
    service: &Service,
    request: &RestRequest,
    folder: &mut Folder,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut events = service.stream(request).await?;
    while let Some(line) = events.next().await? {
        match event(service, &line)? {
            Event::Result(result) => {
                progress.done(&result);
                folder.save(result)?;
            }
            // Zero only says that the stream is alive.
            Event::Waiting { waiting } if waiting > 0.0 => progress.waits(waiting),
            Event::Summary(summary) => {
                folder.total(summary.total_videos);
                return Ok(());
            }
            Event::Waiting { .. } | Event::Error { .. } | Event::Other => {}
        }
    }
    Err(broken_off())
}

/// Prints the failures and the contents of the folder.
fn report(
    context: &mut CommandContext,
    folder: &Folder,
    missing: Option<usize>,
) -> Result<(), Failure> {
    for failed in folder.failed_now() {
        print_error(&failed.to_string());
    }
    match context.output.form {
        Form::Json | Form::Ndjson => context.output.document(&folder.manifest())?,
        Form::People => context.output.foreign(&folder.summary(missing))?,
    }
    context.output.end()
}

/// Parses an event. The event of an error that ends the stream is a failure.
fn event(service: &Service, line: &[u8]) -> Result<Event, Failure> {
    match read(line)? {
        Event::Error { error } => {
            let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            Err(service.error_response(status.unwrap_or(500), &HeaderMap::new(), line))
        }
        event => Ok(event),
    }
}

fn broken_off() -> Failure {
    let message =
        "the service ended before the playlist did; run the same command again for the rest";
    Failure::Message(Exit::Network, message.to_owned())
}

fn stopped() -> Failure {
    let message = "stopped; run the same command again for the rest";
    Failure::Message(Exit::Missing, message.to_owned())
}

impl TranscriptsArgs {
    fn request(&self, id: &PlaylistId, part: &Part) -> RestRequest {
        let body = BatchBody { concurrency: self.concurrency, part, lang: self.lang.as_deref() };
        let request = RestRequest::get("playlist").segment(id.as_str()).segment("transcript");
        let request = request.post(json!(body));
        // With a folder, --refresh only lists the playlist again: existing files are not fetched again.
        if self.out.is_some() { request.allow_cached() } else { request }
    }
}

/// The result of a video, for people.
struct Row {
    position: u64,
    video_id: String,
    title: String,
    error: String,
    lines: String,
}

impl Row {
    fn new(result: VideoTranscript) -> Self {
        let VideoTranscript { position, video_id, title, lines, error, .. } = result;
        let lines = lines.map_or("–".to_owned(), |lines| lines.len().to_string());
        Self { position, video_id, title, error: error.unwrap_or_default(), lines }
    }
}

fn listed(rows: &[Row], summary: &BatchSummary, width: Option<usize>) -> String {
    let table = Table::new(rows)
        .number("#", |row| row.position)
        .word("id", |row| row.video_id.clone())
        .text("title", |row| row.title.clone())
        .text("why not", |row| row.error.clone())
        .number("lines", |row| row.lines.clone());
    let BatchSummary { total_videos, succeeded, failed, .. } = summary;
    let counts =
        format!("{succeeded} transcripts, {failed} failed, of a playlist of {total_videos}\n");
    let hint = "--out DIR writes a file for each; --ndjson prints them all\n";
    table.written(width) + &counts + hint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> VideoId {
        VideoId::parse(&format!("{number:011}")).unwrap()
    }

    #[test]
    fn parts_respect_the_skip_limit_and_cover_all_positions() {
        let ids: Vec<VideoId> = (1..=10).map(id).collect();
        let known: HashSet<VideoId> = [2, 3, 5, 6, 9].map(id).into();
        let part = |from, to, skip: &[usize]| Part {
            from,
            to,
            skip: skip.iter().map(|number| id(*number)).collect(),
        };
        let all = parts(None, None, &ids, &known, 2);
        let expected = [
            part(None, Some(4), &[2, 3]),
            part(Some(5), Some(8), &[5, 6]),
            part(Some(9), None, &[9]),
        ];
        assert_eq!(all, expected);
        assert_eq!(parts(Some(3), Some(5), &ids, &known, 9), [part(Some(3), Some(5), &[3, 5])]);
    }

    #[test]
    fn whole_answer_is_assembled_from_its_lines() {
        let whole = whole_answer(br#"{"failed":0}"#, &[r#"{"a":1}"#.into(), r#"{"b":2}"#.into()]);
        assert_eq!(whole, br#"{"failed":0,"results":[{"a":1},{"b":2}]}"#);
        assert_eq!(whole_answer(br#"{"failed":0}"#, &[]), br#"{"failed":0,"results":[]}"#);
    }
}
