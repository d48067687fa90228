//! Transcripts of single videos, requested one by one. The results are those of a batch.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vidra::{Reason, VideoId};

use super::source::{Entry, InvalidId};
use super::{Language, TranscriptsArgs};
use crate::failure::{Exit, Failure, Refused};
use crate::output::read;
use crate::service::{RestRequest, Service};

/// The most videos of one request for titles.
const MOST_TITLES: usize = 500;

/// The title of a video.
#[derive(Deserialize)]
struct Titled {
    id: VideoId,
    title: String,
}

/// The results of the entries as lines of a batch, in order of completion. Fails if the service is unreachable:
/// then all further requests would fail too.
pub(super) async fn results<'a>(
    args: &'a TranscriptsArgs,
    language: Language<'a>,
    service: &'a Service,
    entries: Vec<Entry>,
) -> Result<impl Stream<Item = Result<Bytes, Failure>> + use<'a>, Failure> {
    let mut titles = titles(service, &entries).await?;
    let entries =
        entries.into_iter().map(move |it| (it, titles.remove(&it.id).unwrap_or_default()));
    let results = stream::iter(entries).map(move |(entry, title)| async move {
        let request = RestRequest::get("transcript")
            .segment(entry.id.as_str())
            .parameter("format", Some("json"))
            .parameter("lang", language.lang)
            .parameter("translate", language.translate);
        result_line(entry, &title, service.fetch(&request).await)
    });
    Ok(results.buffer_unordered(args.concurrency as usize))
}

/// The titles, for the names of files. They need an API key and transcripts do not, so a failure leaves them out.
async fn titles(service: &Service, entries: &[Entry]) -> Result<HashMap<VideoId, String>, Failure> {
    let mut titles = HashMap::new();
    for part in entries.chunks(MOST_TITLES) {
        let ids: Vec<&str> = part.iter().map(|entry| entry.id.as_str()).collect();
        let request = RestRequest::get("videos").parameter("ids", Some(ids.join(",")));
        match service.fetch(&request.allow_cached()).await {
            Ok(body) => {
                let videos = read::<Vec<Titled>>(&body)?.into_iter();
                titles.extend(videos.map(|video| (video.id, video.title)));
            }
            Err(Failure::Refused(_)) => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(titles)
}

/// The line of a result, as a batch sends it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine<'a> {
    r#type: &'static str,
    /// Empty for an invalid id.
    video_id: &'a str,
    title: &'a str,
    position: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

impl ResultLine<'_> {
    fn written(&self) -> Result<Bytes, Failure> {
        Ok(serde_json::to_vec(self).map_err(|error| error.to_string())?.into())
    }
}

/// The line of an entry.
fn result_line(
    Entry { position, id }: Entry,
    title: &str,
    answer: Result<Bytes, Failure>,
) -> Result<Bytes, Failure> {
    let line = ResultLine {
        r#type: "result",
        video_id: id.as_str(),
        title,
        position,
        status: "success",
        lines: None,
        error: None,
        reason: None,
        retry_after: None,
    };
    match answer {
        Ok(lines) => ResultLine { lines: Some(read(&lines)?), ..line }.written(),
        Err(Failure::Refused(Refused { exit, reason, message, retry_after })) => {
            if exit == Exit::Usage && reason.is_none() {
                return Err(Failure::Refused(Refused { exit, reason, message, retry_after }));
            }
            let line = ResultLine {
                status: "failed",
                error: Some(&message),
                reason: reason.map(Reason::code),
                retry_after: retry_after.map(|wait| wait.as_secs()),
                ..line
            };
            line.written()
        }
        Err(failure) => Err(failure),
    }
}

/// The line of an invalid id.
pub(super) fn invalid_line(InvalidId { position, message }: &InvalidId) -> Result<Bytes, Failure> {
    let line = ResultLine {
        r#type: "result",
        video_id: "",
        title: "",
        position: *position,
        status: "failed",
        lines: None,
        error: Some(message),
        reason: Some(Reason::InvalidInput.code()),
        retry_after: None,
    };
    line.written()
}
