//! Batches of the service: their requests and their events.

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vidra::{PlaylistId, Reason, VideoId, VideoTranscript};

use super::source::{Entry, InvalidId};
use super::{Language, REPEAT, TranscriptsArgs};
use crate::commands::part::PartArgs;
use crate::failure::{Exit, Failure};
use crate::output::read;
use crate::service::{RestRequest, Service};

/// The most videos of one batch.
const MOST_VIDEOS: usize = 500;

/// A request for a batch.
pub(super) struct Batch {
    pub(super) request: RestRequest,
    /// The positions of the videos in the list of the command, of which the batch may be a part. Empty if the service
    /// lists the videos.
    positions: Vec<u64>,
}

/// The body of the request.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    source: BatchSource<'a>,
    #[serde(flatten)]
    part: &'a Part,
    concurrency: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    translate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    captions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
}

/// The source of a batch, in the words of the service.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum BatchSource<'a> {
    Videos(Vec<VideoId>),
    Playlist(&'a PlaylistId),
    Channel(&'a str),
}

/// A range of the playlist, and the videos in it that need no fetch.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) skip: Vec<VideoId>,
}

impl Batch {
    /// A part of a playlist, or of the uploads of a channel.
    pub(super) fn of_playlist(
        args: &TranscriptsArgs,
        language: Language<'_>,
        playlist: &PlaylistId,
        channel: Option<&str>,
        part: &Part,
    ) -> Self {
        let source = channel.map_or(BatchSource::Playlist(playlist), BatchSource::Channel);
        Self { request: request(args, language, source, part), positions: vec![] }
    }

    /// A list of videos, as batches that the service accepts.
    pub(super) fn of_videos(
        args: &TranscriptsArgs,
        language: Language<'_>,
        entries: &[Entry],
    ) -> Vec<Self> {
        let batch = |entries: &[Entry]| {
            let source = BatchSource::Videos(entries.iter().map(|entry| entry.id).collect());
            let request = request(args, language, source, &Part::default());
            Self { request, positions: entries.iter().map(|entry| entry.position).collect() }
        };
        entries.chunks(MOST_VIDEOS).map(batch).collect()
    }

    /// Whether the command itself lists the videos.
    pub(super) fn is_list(&self) -> bool {
        !self.positions.is_empty()
    }

    /// Replaces the position in the batch by the position in the list of the command.
    pub(super) fn set_position(&self, result: &mut VideoTranscript) {
        let index = usize::try_from(result.position).unwrap_or(0).wrapping_sub(1);
        result.position = self.positions.get(index).copied().unwrap_or(result.position);
    }
}

fn request(
    args: &TranscriptsArgs,
    Language { lang, translate }: Language<'_>,
    source: BatchSource<'_>,
    part: &Part,
) -> RestRequest {
    let PartArgs { captions, start, end } = &args.part;
    let [start, end] = [start, end].map(|time| time.map(|time| time.to_string()));
    let (concurrency, since, captions) =
        (args.concurrency, args.since.as_deref(), captions.as_deref());
    let body = Body { source, part, concurrency, since, lang, translate, captions, start, end };
    RestRequest::get("transcripts").post(json!(body))
}

/// An event of the service's stream.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Event {
    Result(VideoTranscript),
    Waiting {
        waiting: f64,
    },
    Summary(Summary),
    Error {
        error: Value,
    },
    /// An event of a newer service.
    #[serde(other)]
    Other,
}

/// The totals of a batch, as far as they are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    /// The results of a job have none.
    #[serde(default)]
    pub(super) total_videos: u64,
}

/// Parses an event. The event of an error that ends the stream is a failure.
pub(super) fn event(service: &Service, line: &[u8]) -> Result<Event, Failure> {
    match read(line)? {
        Event::Error { error } => {
            let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            Err(service.error_response(status.unwrap_or(500), &HeaderMap::new(), line))
        }
        event => Ok(event),
    }
}

/// The failure of a stream without a summary.
pub(super) fn broken_off() -> Failure {
    let message = "the stream ended before the end of the playlist";
    Failure::Message(Exit::Network, message.to_owned()).with_hint(REPEAT)
}

/// The result of an invalid id, as that of a batch.
pub(super) fn invalid_result(id: &InvalidId) -> Result<VideoTranscript, Failure> {
    let InvalidId { position, message } = id;
    let reason = Reason::InvalidInput.code();
    let result = json!({
        "videoId": "", "title": "", "position": position, "status": "failed", "error": message, "reason": reason,
    });
    Ok(serde_json::from_value(result).map_err(|error| error.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::parsed;

    fn id(number: u64) -> VideoId {
        VideoId::parse(&format!("{number:011}")).unwrap()
    }

    #[test]
    fn the_body_has_the_source_and_the_flags() {
        let flags = ["--since=2026-01-01", "--captions=auto", "--start=1:30", "--end=2m"];
        let args: TranscriptsArgs = parsed(&[&["transcripts", "@fermata"], &flags[..]].concat());
        let language = Language { lang: Some("de,en"), translate: Some("fr") };
        let playlist = PlaylistId::parse("PLsize50").unwrap();
        let part = Part { from: Some(2), to: None, skip: vec![id(7)] };
        let expected = json!({
            "channel": "UCa", "from": 2, "skip": [id(7)], "concurrency": 3, "since": "2026-01-01", "lang": "de,en",
            "translate": "fr", "captions": "auto", "start": "90", "end": "120",
        });
        let batch = Batch::of_playlist(&args, language, &playlist, Some("UCa"), &part);
        assert_eq!(batch.request, RestRequest::get("transcripts").post(expected));
        let args: TranscriptsArgs = parsed(&["transcripts", "PLsize50"]);
        let language = Language { lang: None, translate: None };
        let batch = Batch::of_playlist(&args, language, &playlist, None, &Part::default());
        let expected = json!({"playlist": "PLsize50", "concurrency": 3});
        assert_eq!(batch.request, RestRequest::get("transcripts").post(expected));
    }

    #[test]
    fn a_long_list_is_several_batches_and_keeps_its_positions() {
        let args: TranscriptsArgs = parsed(&["transcripts", "a"]);
        let language = Language { lang: None, translate: None };
        let entries: Vec<Entry> =
            (1..=501).map(|it| Entry { position: it * 2, id: id(it) }).collect();
        let batches = Batch::of_videos(&args, language, &entries);
        let expected = json!({"videos": [id(501)], "concurrency": 3});
        assert_eq!(batches[1].request, RestRequest::get("transcripts").post(expected));
        let position = |batch: &Batch, position| {
            let invalid = InvalidId { position, message: String::new() };
            let mut result = invalid_result(&invalid).unwrap();
            batch.set_position(&mut result);
            result.position
        };
        assert_eq!(
            (batches.len(), position(&batches[0], 500), position(&batches[1], 1)),
            (2, 1_000, 1_002)
        );
        let playlist = PlaylistId::parse("PLsize50").unwrap();
        let batch = Batch::of_playlist(&args, language, &playlist, None, &Part::default());
        assert_eq!(position(&batch, 7), 7, "the service counts");
    }
}
