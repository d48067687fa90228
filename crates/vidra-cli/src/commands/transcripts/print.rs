//! Transcripts on standard output.

use bytes::Bytes;
use serde::Serialize;
use vidra::{Error, Reason, VideoTranscript};

use super::batch::{Batch, Event, Part, broken_off, event, invalid_result};
use super::source::Source;
use super::{Language, TranscriptsArgs, failed_item};
use crate::commands::CommandContext;
use crate::failure::{Failure, FailureGroups, ItemKind, concerns_service};
use crate::output::table::Table;
use crate::output::{Form, Output};
use crate::service::Service;

/// The results so far.
#[derive(Default)]
struct Received {
    /// The results for people, or their lines for JSON.
    rows: Vec<Row>,
    lines: Vec<(u64, Bytes)>,
    succeeded: usize,
    failures: FailureGroups,
}

/// The end of the results: how many entries the playlist or list has, and the summary as JSON.
type Summary = (u64, Bytes);

/// Prints results to standard output. If the playlist cannot be listed to its end, people still get the results
/// that came.
pub(super) async fn print(
    args: &TranscriptsArgs,
    language: Language<'_>,
    source: &Source,
    context: &mut CommandContext,
) -> Result<(), Failure> {
    let mut received = Received::default();
    let CommandContext { service, output, .. } = context;
    let ended = receive_all(args, language, source, service, output, &mut received).await;
    let Received { mut rows, mut lines, succeeded, failures } = received;
    rows.sort_by_key(|row| row.position);
    lines.sort_by_key(|(position, _)| *position);
    let lines: Vec<Bytes> = lines.into_iter().map(|(_, line)| line).collect();
    let failed = failures.len();
    let counts = format!("{succeeded} transcripts, {failed} failed");
    let width = output.width;
    match (&ended, output.form) {
        (Ok((total, _)), Form::People) => {
            let whole = match source {
                Source::Playlist { channel: None, .. } => format!("a playlist of {total}"),
                Source::Playlist { .. } => format!("a channel with {total} uploads"),
                Source::Videos { .. } | Source::Job { .. } => format!("a list of {total}"),
            };
            output.text(&listed(&rows, &format!("{counts}, of {whole}"), width))?;
        }
        (Ok((_, summary)), Form::Json) => output.document(&whole_answer(summary, &lines))?,
        (Err(_), Form::People) if succeeded + failed > 0 => {
            let part = match source {
                Source::Playlist { .. } => "the part of the playlist that was listed",
                Source::Videos { .. } | Source::Job { .. } => {
                    "the part of the list that was fetched"
                }
            };
            let counts = format!("{counts}, of {part}");
            output.text(&listed(&rows, &counts, width))?;
        }
        (_, Form::Ndjson | Form::Csv) | (Err(_), _) => {}
    }
    failures.print_of_service(ItemKind::Entry);
    ended?;
    match failures.exit(succeeded > 0) {
        None => Ok(()),
        // Their line names their number already.
        Some(exit) if failures.of_service() == failed => Err(Failure::Reported(exit)),
        Some(exit) => {
            Err(Failure::Message(exit, format!("{failed} of {} failed", succeeded + failed)))
        }
    }
}

impl Received {
    /// Records a result.
    fn add(&mut self, result: VideoTranscript, line: Bytes, service: &Service, form: Form) {
        let failure = result.transcript.as_ref().err();
        match failure {
            None => self.succeeded += 1,
            Some(error) => self.failures.add(failed_item(service, &result, error)),
        }
        match form {
            // One line at the end is enough for failures of the service.
            Form::People if failure.is_some_and(|error| concerns_service(error.reason())) => {}
            // Invalid ids are reported before the first request.
            Form::People if is_invalid_id(&result) => {}
            Form::People => self.rows.push(Row::new(result)),
            Form::Json => self.lines.push((result.position, line)),
            Form::Ndjson | Form::Csv => {}
        }
    }

    /// Records a result whose position the service does not know, and prints it as NDJSON.
    fn add_result(
        &mut self,
        result: VideoTranscript,
        service: &Service,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let line = match output.form {
            Form::People | Form::Csv => String::new(),
            Form::Json | Form::Ndjson => {
                let line = Line::Result(&result);
                serde_json::to_string(&line).map_err(|error| error.to_string())?
            }
        };
        if output.form == Form::Ndjson {
            output.json_line(&line)?;
        }
        self.add(result, line.into(), service, output.form);
        Ok(())
    }
}

/// A line of a stream, as the service writes it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Result(&'a VideoTranscript),
}

fn is_invalid_id(result: &VideoTranscript) -> bool {
    let reason = result.transcript.as_ref().err().map(Error::reason);
    result.video_id.is_none() && reason == Some(Reason::InvalidInput)
}

/// Reads all results.
async fn receive_all(
    args: &TranscriptsArgs,
    language: Language<'_>,
    source: &Source,
    service: &Service,
    output: &mut Output,
    received: &mut Received,
) -> Result<Summary, Failure> {
    let (entries, invalid) = match source {
        Source::Playlist { id, channel } => {
            let whole = Part { from: args.from, to: args.to, skip: vec![] };
            let batch = Batch::of_playlist(args, language, id, channel.as_deref(), &whole);
            return receive(&batch, service, output, received).await;
        }
        Source::Videos { entries, invalid } => (entries, invalid),
        Source::Job { .. } => return Err(Failure::usage("--job needs --out DIR")),
    };
    for id in invalid {
        received.add_result(invalid_result(id)?, service, output)?;
    }
    for batch in Batch::of_videos(args, language, entries) {
        receive(&batch, service, output, received).await?;
    }
    let total = (entries.len() + invalid.len()) as u64;
    let summary = list_summary(args, total, received);
    if output.form == Form::Ndjson {
        output.json_line(&summary)?;
    }
    Ok((total, summary.into()))
}

/// The summary of a list, of which the batches are parts. The members are in the order of the service.
fn list_summary(args: &TranscriptsArgs, total: u64, received: &Received) -> String {
    let Received { succeeded, failures, .. } = received;
    let (from, to) = (args.from.unwrap_or(1), args.to.unwrap_or(total));
    format!(
        r#"{{"type":"summary","source":{{"type":"videos"}},"totalVideos":{total},"requestedRange":[{from},{to}],"succeeded":{succeeded},"failed":{}}}"#,
        failures.len()
    )
}

/// Reads the stream of a batch to its end.
async fn receive(
    batch: &Batch,
    service: &Service,
    output: &mut Output,
    received: &mut Received,
) -> Result<Summary, Failure> {
    let mut events = service.stream(&batch.request).await?;
    let mut summary = None;
    while let Some(line) = events.next().await? {
        let event = event(service, &line);
        // A list has positions and a summary of its own.
        let is_replaced =
            batch.is_list() && matches!(event, Ok(Event::Result(_) | Event::Summary(_)));
        if output.form == Form::Ndjson && !is_replaced {
            output.json_line(&String::from_utf8_lossy(&line))?;
        }
        match event? {
            Event::Result(mut result) if batch.is_list() => {
                batch.set_position(&mut result);
                received.add_result(result, service, output)?;
            }
            Event::Result(result) => received.add(result, line, service, output.form),
            Event::Summary(last) => summary = Some((last.total_videos, line)),
            Event::Waiting { .. } | Event::Error { .. } | Event::Other => {}
        }
    }
    summary.ok_or_else(broken_off)
}

/// The answer as the service sends it without streaming: the summary with the results. Only events have a type.
fn whole_answer(summary: &[u8], results: &[Bytes]) -> Vec<u8> {
    let summary = without_type(summary.trim_ascii_end(), "summary");
    let open = summary.strip_suffix(b"}").unwrap_or(&summary);
    let results: Vec<Vec<u8>> = results.iter().map(|it| without_type(it, "result")).collect();
    [open, b",\"results\":[", &results.join(&b","[..]), b"]}"].concat()
}

/// The data of an event without its type, which the service writes first.
fn without_type(event: &[u8], name: &str) -> Vec<u8> {
    match event.strip_prefix(format!(r#"{{"type":"{name}","#).as_bytes()) {
        Some(rest) => [b"{", rest].concat(),
        None => event.to_owned(),
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
        let VideoTranscript { position, video_id, title, transcript, .. } = result;
        let video_id = video_id.map(|id| id.to_string()).unwrap_or_default();
        let (lines, error) = match transcript {
            Ok(transcript) => (transcript.lines().len().to_string(), String::new()),
            Err(error) => ("–".to_owned(), error.to_string()),
        };
        Self { position, video_id, title, error, lines }
    }
}

fn listed(rows: &[Row], counts: &str, width: Option<usize>) -> String {
    // Nothing came, and other lines give the reason.
    if rows.is_empty() {
        return format!("{counts}\n");
    }
    let table = Table::new(rows)
        .number("#", |row| row.position)
        .word("id", |row| row.video_id.clone())
        .text("title", |row| row.title.clone())
        .text("error", |row| row.error.clone())
        .number("lines", |row| row.lines.clone());
    let hint = "--out DIR writes a file for each; --ndjson prints them all\n";
    format!("{}{counts}\n{hint}", table.written(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answer_is_assembled_from_its_lines() {
        let whole = whole_answer(br#"{"failed":0}"#, &[r#"{"a":1}"#.into(), r#"{"b":2}"#.into()]);
        assert_eq!(whole, br#"{"failed":0,"results":[{"a":1},{"b":2}]}"#);
        let events = [r#"{"type":"result","a":1}"#.into(), r#"{"type":"result","b":2}"#.into()];
        assert_eq!(whole_answer(br#"{"type":"summary","failed":0}"#, &events), whole);
        assert_eq!(whole_answer(br#"{"failed":0}"#, &[]), br#"{"failed":0,"results":[]}"#);
    }
}
