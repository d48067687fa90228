//! `vidra transcripts`: those of a whole playlist, to a folder or to standard output.

mod folder;
mod name;
mod progress;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use vidra::{BatchSummary, PlaylistId, PlaylistIds, VideoId, VideoTranscript};

use self::folder::Folder;
use self::progress::Progress;
use super::transcript::Format;
use super::{Common, Desk, one};
use crate::failure::{Exit, Failure, say};
use crate::output::table::{Column, table};
use crate::output::{Form, read};
use crate::service::{Question, Service};
use crate::signals::Signals;

#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptsArgs {
    /// The id or URL of a playlist; - reads it from standard input
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// Write a file for each video into this folder; what is there already is not fetched again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// What to write, one or several separated by commas
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "txt",
        requires = "out",
        value_name = "FORMATS"
    )]
    format: Vec<Format>,

    /// The languages that will do, most wanted first, separated by commas [default: what is spoken]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// How many to fetch at a time
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    concurrency: u32,

    /// The first place of the playlist, counted from 1
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,

    /// The last place
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,

    /// Try again what failed for good too: videos without captions, private ones
    #[arg(long, requires = "out")]
    retry_failed: bool,

    #[command(flatten)]
    common: Common,
}

/// The most videos that the service leaves out of a batch.
const MOST_SKIPPED: usize = 4_000;

/// A line of the service's stream.
#[derive(Deserialize)]
#[serde(untagged)]
enum Event {
    Result(VideoTranscript),
    Waiting {
        waiting: f64,
    },
    Summary(BatchSummary),
    Error {
        error: Value,
    },
    /// Of a service that is newer than this command.
    Other(IgnoredAny),
}

/// A stretch of the playlist, and what is known of it.
#[derive(Debug, PartialEq)]
struct Part {
    from: Option<u64>,
    to: Option<u64>,
    skip: Vec<VideoId>,
}

pub(super) async fn write(args: &TranscriptsArgs) -> Result<(), Failure> {
    let playlist = one(&args.playlist)?;
    let playlist = PlaylistId::parse(&playlist).map_err(|error| Failure::usage(error.message()))?;
    if args.from.zip(args.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is greater than --to"));
    }
    let mut desk = args.common.open()?;
    let Some(out) = &args.out else {
        let done = print(args, &playlist, &mut desk).await;
        return desk.end(done).await;
    };
    let formats: BTreeSet<Format> = args.format.iter().copied().collect();
    let mut folder = Folder::open(out, &playlist, args.lang.as_deref(), formats)?;
    let signals = Signals::listen()?;
    let done = fill(args, &playlist, &desk.service, &mut folder, &signals).await;
    let written = folder.write_manifest();
    let done = done.and_then(|asked| written.map(|()| asked));
    report(&mut desk, &folder, done.as_ref().copied().ok())?;
    tokio::select! {
        biased;
        () = desk.service.settle() => {}
        () = signals.first() => {}
    }
    done?;
    if folder.failed_now().is_empty() { Ok(()) } else { Err(Failure::Told(Exit::Missing)) }
}

/// Writes results to standard output.
async fn print(args: &TranscriptsArgs, id: &PlaylistId, desk: &mut Desk) -> Result<(), Failure> {
    let whole = Part { from: args.from, to: args.to, skip: vec![] };
    let mut events = desk.service.stream(&args.question(id, &whole)).await?;
    let (mut results, mut summary) = (vec![], None);
    while let Some(line) = events.next().await? {
        if desk.output.form == Form::Ndjson {
            desk.output.foreign(&format!("{}\n", String::from_utf8_lossy(&line)))?;
        }
        match event(&desk.service, &line)? {
            Event::Result(result) => {
                let place = result.position;
                match desk.output.form {
                    Form::People => results.push((place, row(&result), Bytes::new())),
                    Form::Json => results.push((place, vec![], line)),
                    Form::Ndjson => {}
                }
            }
            Event::Summary(last) => summary = Some((last, line)),
            Event::Waiting { .. } | Event::Error { .. } | Event::Other(_) => {}
        }
    }
    let (summary, line) = summary.ok_or_else(broken_off)?;
    results.sort_by_key(|(place, ..)| *place);
    match desk.output.form {
        Form::People => {
            let rows: Vec<_> = results.into_iter().map(|(_, row, _)| row).collect();
            let text = listed(&rows, &summary, desk.output.width);
            desk.output.text(&text)?;
        }
        Form::Json => {
            let bodies: Vec<&[u8]> = results.iter().map(|(_, _, line)| &line[..]).collect();
            desk.output.document(&whole_answer(&line, &bodies))?;
        }
        Form::Ndjson => {}
    }
    match summary.failed {
        0 => Ok(()),
        failed => {
            let message = format!("{failed} of {} failed", summary.succeeded + failed);
            Err(Failure::Because(Exit::Missing, message))
        }
    }
}

/// The answer as the service gives it when it is not read line by line: the summary, and the results.
fn whole_answer(summary: &[u8], results: &[&[u8]]) -> Vec<u8> {
    let open = summary.trim_ascii_end().strip_suffix(b"}").unwrap_or(summary);
    [open, b",\"results\":[", &results.join(&b","[..]), b"]}"].concat()
}

/// Writes the files that are missing; gives how many those were.
async fn fill(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    service: &Service,
    folder: &mut Folder,
    signals: &Signals,
) -> Result<usize, Failure> {
    let question = Question::about("playlist").of(id.as_str()).of("ids");
    let PlaylistIds { video_ids, .. } = read(&service.ask(&question).await?)?;
    folder.place(&video_ids);
    let known = folder.known(args.retry_failed);
    let (from, to) = (args.from.unwrap_or(1), args.to.unwrap_or(u64::MAX));
    let wanted = (1_u64..).zip(&video_ids).filter(|(place, _)| (from..=to).contains(place));
    let missing = wanted.filter(|(_, id)| !known.contains(*id)).count();
    // Entries whose id is not told have a place too, so that where a range begins is for the service to
    // say.
    if missing == 0 && args.from.or(args.to).is_none() {
        return Ok(0);
    }
    folder.write_manifest()?;
    let progress = Progress::new(missing as u64);
    let mut done = Ok(());
    for part in parts(args.from, args.to, &video_ids, &known, MOST_SKIPPED) {
        let question = args.question(id, &part);
        done = tokio::select! {
            // A part that is complete counts, also when the signal comes with it.
            biased;
            done = receive(service, &question, folder, &progress) => done,
            () = signals.first() => Err(stopped()),
        };
        if done.is_err() {
            break;
        }
    }
    progress.end();
    done.map(|()| missing)
}

/// The playlist in stretches of which each has no more to leave out than the service takes.
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

/// Writes files as results come.
async fn receive(
    service: &Service,
    question: &Question,
    folder: &mut Folder,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut events = service.stream(question).await?;
    while let Some(line) = events.next().await? {
        match event(service, &line)? {
            Event::Result(result) => {
                progress.done(&result);
                folder.save(result)?;
            }
            Event::Waiting { waiting } => progress.waits(waiting),
            Event::Summary(summary) => {
                folder.total(summary.total_videos);
                return Ok(());
            }
            Event::Error { .. } | Event::Other(_) => {}
        }
    }
    Err(broken_off())
}

/// Says what failed, and what there is now.
fn report(desk: &mut Desk, folder: &Folder, asked: Option<usize>) -> Result<(), Failure> {
    for failed in folder.failed_now() {
        say(&failed.to_string());
    }
    match desk.output.form {
        Form::Json | Form::Ndjson => desk.output.document(&folder.manifest())?,
        Form::People => desk.output.foreign(&folder.summary(asked))?,
    }
    desk.output.end()
}

/// What a line says; that the playlist could not be read to its end is a failure.
fn event(service: &Service, line: &[u8]) -> Result<Event, Failure> {
    match read(line)? {
        Event::Error { error } => {
            let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            Err(service.refusal(status.unwrap_or(500), &HeaderMap::new(), line))
        }
        event => Ok(event),
    }
}

fn broken_off() -> Failure {
    let message =
        "the service ended before the playlist did; run the same command again for the rest";
    Failure::Because(Exit::Network, message.to_owned())
}

fn stopped() -> Failure {
    let message = "stopped; run the same command again for the rest";
    Failure::Because(Exit::Missing, message.to_owned())
}

impl TranscriptsArgs {
    fn question(&self, id: &PlaylistId, part: &Part) -> Question {
        let mut body = json!({"concurrency": self.concurrency});
        let skip: Vec<&str> = part.skip.iter().map(VideoId::as_str).collect();
        let fields = [
            ("from", part.from.map(Value::from)),
            ("to", part.to.map(Value::from)),
            ("lang", self.lang.as_deref().map(Value::from)),
            ("skip", (!skip.is_empty()).then(|| skip.into())),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        let question = Question::about("playlist").of(id.as_str()).of("transcript").posting(body);
        // Into a folder, --refresh lists the playlist anew: what is there is not fetched again anyway.
        if self.out.is_some() { question.known_will_do() } else { question }
    }
}

/// What became of a video, for people.
fn row(result: &VideoTranscript) -> Vec<String> {
    let lines = result.lines.as_ref().map_or("–".to_owned(), |lines| lines.len().to_string());
    let why = result.error.clone().unwrap_or_default();
    vec![result.position.to_string(), result.video_id.clone(), result.title.clone(), why, lines]
}

fn listed(rows: &[Vec<String>], summary: &BatchSummary, width: Option<usize>) -> String {
    let columns = [
        Column::Number("#"),
        Column::Word("id"),
        Column::Text("title"),
        Column::Text("why not"),
        Column::Number("lines"),
    ];
    let BatchSummary { total_videos, succeeded, failed, .. } = summary;
    let counts =
        format!("{succeeded} transcripts, {failed} failed, of a playlist of {total_videos}\n");
    let hint = "--out DIR writes a file for each; --ndjson prints them all\n";
    table(&columns, rows, width) + &counts + hint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> VideoId {
        VideoId::parse(&format!("{number:011}")).unwrap()
    }

    #[test]
    fn parts_leave_out_no_more_than_the_service_takes_and_cover_all_places() {
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
    fn a_whole_answer_is_put_together_from_its_lines() {
        let whole = whole_answer(br#"{"failed":0}"#, &[br#"{"a":1}"#, br#"{"b":2}"#]);
        assert_eq!(whole, br#"{"failed":0,"results":[{"a":1},{"b":2}]}"#);
        assert_eq!(whole_answer(br#"{"failed":0}"#, &[]), br#"{"failed":0,"results":[]}"#);
    }
}
