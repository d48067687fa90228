//! `vidra transcripts`: the transcripts of a whole playlist, into a folder or to standard output.

mod fill;
mod folder;
mod name;
mod print;
mod progress;

use std::collections::BTreeSet;
use std::path::PathBuf;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vidra::{BatchSummary, Error, PlaylistId, VideoId, VideoTranscript};

use self::fill::Filling;
use self::folder::Folder;
use self::print::print;
use super::transcript::Format;
use super::{Common, one};
use crate::failure::{Exit, FailedItem, Failure, FailureGroups, ItemKind};
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
    let mut failures = FailureGroups::default();
    let filling = Filling::new(args, &context.service, &mut folder, &mut failures);
    let done = filling.run(&playlist, &signals).await;
    let written = folder.write_manifest();
    let done = done.and_then(|results| written.map(|()| results));
    failures.print(ItemKind::Entry);
    let results = done.as_ref().copied().ok();
    match context.output.form {
        Form::Json | Form::Ndjson => context.output.document(&folder.manifest())?,
        Form::People => context.output.foreign(&folder.summary(results))?,
    }
    context.output.end()?;
    tokio::select! {
        biased;
        () = context.service.settle() => {}
        () = signals.first() => {}
    }
    done?;
    let exit = failures.exit(folder.has_transcripts());
    exit.map_or(Ok(()), |exit| Err(Failure::Reported(exit)))
}

/// A result of a batch that failed with `error`.
fn failed_item(service: &Service, result: &VideoTranscript, error: &Error) -> FailedItem {
    let VideoTranscript { position, video_id, title, .. } = result;
    let why = error.message();
    let title = if title.is_empty() { "entry" } else { title };
    let video_id = video_id.as_ref().map_or("", VideoId::as_str);
    let name = format!("{position}. {title} [{video_id}]");
    let advice = service.advice(error.reason());
    let message = [Some(why), advice].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let (reason, retry_after) = (Some(error.reason()), error.retry_after());
    FailedItem { label: position.to_string(), name, message, reason, retry_after }
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
    let message = "the stream ended before the end of the playlist";
    Failure::Message(Exit::Network, message.to_owned()).with_hint(REPEAT)
}

/// The advice after an interruption.
const REPEAT: &str = "run the same command again for the rest";

impl TranscriptsArgs {
    fn request(&self, id: &PlaylistId, part: &Part) -> RestRequest {
        let body = BatchBody { concurrency: self.concurrency, part, lang: self.lang.as_deref() };
        let request = RestRequest::get("playlist").segment(id.as_str()).segment("transcript");
        request.post(json!(body))
    }
}
