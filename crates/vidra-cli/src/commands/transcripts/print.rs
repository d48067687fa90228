//! The transcripts of a playlist on standard output.

use bytes::Bytes;
use vidra::{BatchSummary, PlaylistId, VideoTranscript};

use super::{Event, Part, TranscriptsArgs, broken_off, event, failed_item};
use crate::commands::CommandContext;
use crate::failure::{Failure, FailureGroups, ItemKind, concerns_service};
use crate::output::Form;
use crate::output::table::Table;

/// The results of a stream so far.
#[derive(Default)]
struct Received {
    /// The results for people, or their lines for JSON.
    rows: Vec<Row>,
    lines: Vec<(u64, Bytes)>,
    succeeded: usize,
    failures: FailureGroups,
}

/// Prints results to standard output. If the playlist cannot be listed to its end, people still get the results
/// that came.
pub(super) async fn print(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    context: &mut CommandContext,
) -> Result<(), Failure> {
    let mut received = Received::default();
    let ended = receive(args, id, context, &mut received).await;
    let Received { mut rows, mut lines, succeeded, failures } = received;
    rows.sort_by_key(|row| row.position);
    lines.sort_by_key(|(position, _)| *position);
    let lines: Vec<Bytes> = lines.into_iter().map(|(_, line)| line).collect();
    let failed = failures.len();
    let counts = format!("{succeeded} transcripts, {failed} failed");
    let width = context.output.width;
    match (&ended, context.output.form) {
        (Ok((summary, _)), Form::People) => {
            let counts = format!("{counts}, of a playlist of {}", summary.total_videos);
            context.output.text(&listed(&rows, &counts, width))?;
        }
        (Ok((_, line)), Form::Json) => context.output.document(&whole_answer(line, &lines))?,
        (Err(_), Form::People) if succeeded + failed > 0 => {
            let counts = format!("{counts}, of the part of the playlist that was listed");
            context.output.text(&listed(&rows, &counts, width))?;
        }
        (_, Form::Ndjson) | (Err(_), _) => {}
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

/// Reads the stream to its end. Returns the summary, parsed and as it came.
async fn receive(
    args: &TranscriptsArgs,
    id: &PlaylistId,
    context: &mut CommandContext,
    received: &mut Received,
) -> Result<(BatchSummary, Bytes), Failure> {
    let CommandContext { service, output } = context;
    let whole = Part { from: args.from, to: args.to, skip: vec![] };
    let mut events = service.stream(&args.request(id, &whole)).await?;
    let mut summary = None;
    while let Some(line) = events.next().await? {
        if output.form == Form::Ndjson {
            output.foreign(&format!("{}\n", String::from_utf8_lossy(&line)))?;
        }
        match event(service, &line)? {
            Event::Result(result) => {
                let failure = result.transcript.as_ref().err();
                match failure {
                    None => received.succeeded += 1,
                    Some(error) => received.failures.add(failed_item(service, &result, error)),
                }
                match output.form {
                    // One line at the end is enough for failures of the service.
                    Form::People
                        if failure.is_some_and(|error| concerns_service(error.reason())) => {}
                    Form::People => received.rows.push(Row::new(result)),
                    Form::Json => received.lines.push((result.position, line)),
                    Form::Ndjson => {}
                }
            }
            Event::Summary(last) => summary = Some((last, line)),
            Event::Waiting { .. } | Event::Error { .. } | Event::Other => {}
        }
    }
    summary.ok_or_else(broken_off)
}

/// The answer as the service sends it without streaming: the summary with the results.
fn whole_answer(summary: &[u8], results: &[Bytes]) -> Vec<u8> {
    let open = summary.trim_ascii_end().strip_suffix(b"}").unwrap_or(summary);
    [open, b",\"results\":[", &results.join(&b","[..]), b"]}"].concat()
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
            Ok(lines) => (lines.len().to_string(), String::new()),
            Err(error) => ("–".to_owned(), error.to_string()),
        };
        Self { position, video_id, title, error, lines }
    }
}

fn listed(rows: &[Row], counts: &str, width: Option<usize>) -> String {
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
        assert_eq!(whole_answer(br#"{"failed":0}"#, &[]), br#"{"failed":0,"results":[]}"#);
    }
}
