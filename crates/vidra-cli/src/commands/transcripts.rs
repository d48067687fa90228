//! `vidra transcripts`: all of a playlist, to a folder or to standard output.

mod folder;
mod progress;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use vidra::{BatchStatus, BatchSummary, PlaylistId, PlaylistIds, VideoTranscript};

use self::folder::{Folder, Saved};
use self::progress::Progress;
use super::transcript::Format;
use super::{Common, Desk};
use crate::failure::{Exit, Failure};
use crate::output::table::{Column, table};
use crate::output::{Form, read};
use crate::service::{Lines, Question, Service};
use crate::signals::Signals;

#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptsArgs {
    /// The id or URL of a playlist
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// Write a file for each video into this folder; what is there already is not fetched again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// What the files are, one or several separated by commas
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

    /// How many are fetched together
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    concurrency: u32,

    /// The first place of the playlist, counted from 1
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,

    /// The last place
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,

    /// Try again also what failed for good: videos without captions, private ones
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
    Waiting { waiting: f64 },
    Summary(BatchSummary),
    Error { error: Value },
}

pub(super) async fn write(args: &TranscriptsArgs) -> Result<(), Failure> {
    let playlist =
        PlaylistId::parse(&args.playlist).map_err(|error| Failure::usage(error.message()))?;
    let mut desk = args.common.open()?;
    let done = match &args.out {
        Some(out) => {
            let formats: BTreeSet<Format> = args.format.iter().copied().collect();
            let folder = Folder::open(out, &playlist, args.lang.as_deref(), formats)?;
            save(args, &playlist, &mut desk, folder).await
        }
        None => print(args, &playlist, &mut desk).await,
    };
    desk.service.settle().await;
    done
}

/// Writes results to standard output.
async fn print(args: &TranscriptsArgs, id: &PlaylistId, desk: &mut Desk) -> Result<(), Failure> {
    let question = args.question(id, args.from, args.to, &[]);
    let failed = match desk.output.form {
        Form::Json => {
            let body = desk.service.ask(&question).await?;
            desk.output.document(&body)?;
            read::<BatchSummary>(&body)?.failed
        }
        Form::Ndjson | Form::People => {
            let mut lines = desk.service.ask_for_lines(&question).await?;
            let (mut rows, mut summary) = (vec![], None);
            while let Some(line) = lines.next().await? {
                if desk.output.form == Form::Ndjson {
                    desk.output.foreign(&format!("{}\n", String::from_utf8_lossy(&line)))?;
                }
                match event(&desk.service, &line)? {
                    Event::Result(result) => rows.push(result),
                    Event::Summary(last) => summary = Some(last),
                    Event::Waiting { .. } | Event::Error { .. } => {}
                }
            }
            let summary = summary.ok_or_else(broken_off)?;
            if desk.output.form == Form::People {
                rows.sort_by_key(|result| result.position);
                let text = listed(&rows, &summary, desk.output.width);
                desk.output.text(&text)?;
            }
            summary.failed
        }
    };
    desk.output.end()?;
    if failed == 0 { Ok(()) } else { Err(Failure::Told(Exit::Missing)) }
}

/// Writes files, those that are missing alone.
async fn save(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    desk: &mut Desk,
    mut folder: Folder,
) -> Result<(), Failure> {
    let ids: PlaylistIds =
        read(&desk.service.ask(&Question::about("playlist").of(id.as_str()).of("ids")).await?)?;
    let (from, to) = (args.from.unwrap_or(1), args.to.unwrap_or(u64::MAX));
    if from > to {
        return Err(Failure::usage("--from is greater than --to"));
    }
    let places = (1_u64..).zip(ids.video_ids.iter().map(ToString::to_string));
    let known = folder.known(args.retry_failed);
    let wanted: Vec<(u64, String)> =
        places.filter(|(place, _)| (from..=to).contains(place)).collect();
    let missing: HashSet<&str> =
        wanted.iter().map(|(_, id)| id.as_str()).filter(|id| !known.contains(*id)).collect();
    let progress = Progress::new(missing.len() as u64);
    let signals = Signals::listen()?;
    let mut ended = Ok(());
    if !missing.is_empty() {
        folder.write_manifest()?;
        // In parts, each with as many videos to leave out as the service takes.
        for part in wanted.chunks(MOST_SKIPPED) {
            let skip: Vec<&str> =
                part.iter().map(|(_, id)| id.as_str()).filter(|id| known.contains(*id)).collect();
            if skip.len() == part.len() {
                continue;
            }
            let bounds = part.first().zip(part.last()).map(|(first, last)| (first.0, last.0));
            // Without need for bounds none are given: entries whose id is not told count as places too.
            let (from, to) = match wanted.len() > MOST_SKIPPED {
                true => (bounds.map(|it| it.0), bounds.map(|it| it.1)),
                false => (args.from, args.to),
            };
            let question = args.question(id, from, to, &skip);
            ended = tokio::select! {
                ended = receive(&desk.service, &question, &mut folder, &progress) => ended,
                () = signals.first() => Err(stopped()),
            };
            if ended.is_err() {
                break;
            }
        }
    }
    progress.end();
    folder.write_manifest()?;
    for Saved { video_id, title, error, .. } in folder.failed() {
        let why = error.as_deref().unwrap_or_default();
        Failure::Because(Exit::Missing, format!("{title} [{video_id}]: {why}")).tell();
    }
    match desk.output.form {
        Form::Json | Form::Ndjson => desk.output.document(&folder.manifest())?,
        Form::People => desk.output.foreign(&folder.summary(missing.len()))?,
    }
    desk.output.end()?;
    ended?;
    if folder.failed().next().is_none() { Ok(()) } else { Err(Failure::Told(Exit::Missing)) }
}

/// Writes files as results come.
async fn receive(
    service: &Service,
    question: &Question,
    folder: &mut Folder,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut lines: Lines<'_> = service.ask_for_lines(question).await?;
    while let Some(line) = lines.next().await? {
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
            Event::Error { .. } => {}
        }
    }
    Err(broken_off())
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
    let message = "the service ended before the playlist did; run the same again for the rest";
    Failure::Because(Exit::Network, message.to_owned())
}

fn stopped() -> Failure {
    Failure::Because(Exit::Missing, "stopped; run the same again for the rest".to_owned())
}

impl TranscriptsArgs {
    fn question(
        &self,
        id: &PlaylistId,
        from: Option<u64>,
        to: Option<u64>,
        skip: &[&str],
    ) -> Question {
        let mut body = json!({"concurrency": self.concurrency});
        let fields = [
            ("from", from.map(Value::from)),
            ("to", to.map(Value::from)),
            ("lang", self.lang.as_deref().map(Value::from)),
            ("skip", (!skip.is_empty()).then(|| skip.into())),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        Question::about("playlist").of(id.as_str()).of("transcript").posting(body)
    }
}

/// What became of each video, for people.
fn listed(results: &[VideoTranscript], summary: &BatchSummary, width: Option<usize>) -> String {
    let columns = [
        Column::Number("#"),
        Column::Word("id"),
        Column::Text("title"),
        Column::Number("lines"),
        Column::Text("why not"),
    ];
    let row = |result: &VideoTranscript| {
        let lines = match (&result.lines, result.status) {
            (Some(lines), BatchStatus::Success) => lines.len().to_string(),
            _ => "–".to_owned(),
        };
        let why = result.error.clone().unwrap_or_default();
        vec![result.position.to_string(), result.video_id.clone(), result.title.clone(), lines, why]
    };
    let rows: Vec<_> = results.iter().map(row).collect();
    let BatchSummary { total_videos, succeeded, failed, .. } = summary;
    let counts =
        format!("{succeeded} transcripts, {failed} failed, of a playlist of {total_videos}\n");
    table(&columns, &rows, width)
        + &counts
        + "--out DIR writes a file for each; --ndjson writes what is said\n"
}
