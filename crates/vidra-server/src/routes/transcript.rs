//! `/api/transcript/…` and `POST /api/playlist/{id}/transcript`.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use vidra::{
    Ask, BatchQuery, BatchSummary, CaptionTrack, Languages, PlaylistId, Reason, Transcript,
    TranscriptLine, TranscriptQuery, VideoId, VideoTranscript, Vidra, to_srt, to_text, to_vtt,
};

use super::patterns;
use super::responder::Responder;
use crate::error_body::{ApiError, AskErrors, BatchErrors, BodyErrors, Result, TranscriptErrors};
use crate::extract::{Id, JsonBody, Query, preferred_type};
use crate::gate::CallerId;
use crate::hot::Answer;
use crate::respond::Tagged;
use crate::state::AppState;
use crate::stream::{self, BatchEventText, BatchFormat, BatchLine};

/// The transcript of a video, as JSON, SRT, VTT or plain text.
#[utoipa::path(
    get, path = "/api/transcript/{id}", tag = "Transcripts",
    params(
        ("id" = String, Path, description = "Video id or URL", example = "txManualAsr"),
        ("lang" = Option<String>, Query, description = "One language code, or several by preference; the spoken language if not given", example = "de,en"),
        ("format" = Option<String>, Query, description = "`json`, `srt`, `vtt` or `txt`; if not given, by `Accept`, and else `json`", example = "json"),
        ("translate" = Option<String>, Query, description = "Have the platform translate it to this language; not translated if not given", example = "de"),
        ("download" = Option<String>, Query, description = "`1` to have it saved as a file; `0` if not given", example = "0")
    ),
    responses(
        (status = 200, description = "The lines", content(
            (Vec<TranscriptLine> = "application/json"),
            (String = "application/x-subrip"),
            (String = "text/vtt"),
            (String = "text/plain")
        )),
        AskErrors, TranscriptErrors
    )
)]
pub(super) async fn get_transcript(
    responder: Responder,
    Id(id): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response> {
    let wanted =
        TranscriptQuery { languages: languages(&mut query), translate: query.parsed("translate") };
    let by_accept = Format::preferred(&headers);
    let words =
        [("json", Format::Json), ("srt", Format::Srt), ("vtt", Format::Vtt), ("txt", Format::Txt)];
    let is_named = query.text("format").is_some();
    let format = if is_named { query.choice("format", &words) } else { by_accept };
    let download =
        query.text("download").is_some() && query.choice("download", &[("0", false), ("1", true)]);
    query.check()?;
    let mut answer = Answer::fetch(&responder.vidra, Ask::Transcript(id, wanted)).await?;
    answer.varies_by_accept = !is_named;
    Ok(responder.send(&format.convert(id, answer, download)?))
}

/// The caption tracks that a video has.
#[utoipa::path(
    get, path = "/api/transcript/{id}/tracks", tag = "Transcripts",
    params(("id" = String, Path, description = "Video id or encoded URL", example = "txManualAsr")),
    responses((status = 200, description = "The tracks", body = Vec<CaptionTrack>), AskErrors, TranscriptErrors)
)]
pub(super) async fn get_tracks(responder: Responder, Id(id): Id<VideoId>) -> Result<Response> {
    responder.fetch(Ask::Tracks(id)).await
}

/// What is asked of the transcripts of a playlist. Numbers may come as strings.
// For the document only: `BatchQuery::from_json` reads the body, so that its error names every fault.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchBody {
    #[schema(required = false, schema_with = at_once)]
    concurrency: u64,
    #[schema(required = false, schema_with = first_place)]
    from: u64,
    #[schema(required = false, schema_with = last_place)]
    to: u64,
    #[schema(required = false, schema_with = preferred)]
    lang: String,
    #[schema(required = false, schema_with = known)]
    skip: Vec<String>,
}

fn at_once() -> Schema {
    let what = "How many transcripts may be under way together; 3 if not given.";
    number(what, 20, "^0*([1-9]|1[0-9]|20)$", 3)
}

fn first_place() -> Schema {
    place("The first place of the playlist, counted from 1.", 1)
}

fn last_place() -> Schema {
    place("The last place, included; past the end is the end.", 25)
}

fn place(what: &str, example: u64) -> Schema {
    number(what, i64::MAX, "^0*[1-9][0-9]{0,17}$", example)
}

/// A whole number from 1 on, also as a string.
fn number(what: &str, most: i64, pattern: &str, example: u64) -> Schema {
    let whole = ObjectBuilder::new().schema_type(Type::Integer);
    let whole = whole.minimum(Some(1)).maximum(Some(most)).examples([json!(example)]);
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    Schema::OneOf(OneOfBuilder::new().item(whole).item(text).description(Some(what)).build())
}

fn preferred() -> Schema {
    let what = "One language code, or several by preference; the spoken language if not given.";
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(patterns::languages()));
    Schema::Object(text.description(Some(what)).examples([json!("de,en")]).build())
}

fn known() -> Schema {
    let what = "Videos to leave out because you have them already; none if not given.";
    let id = ObjectBuilder::new().schema_type(Type::String).pattern(Some(patterns::video_id()));
    let ids = ArrayBuilder::new().items(id).max_items(Some(4_000)).description(Some(what));
    Schema::Array(ids.examples([json!(["quirkNoLike"])]).build())
}

/// The transcripts of a playlist.
#[derive(Serialize, ToSchema)]
pub(super) struct PlaylistTranscripts {
    #[serde(flatten)]
    summary: BatchSummary,
    /// One result for each entry asked for, in playlist order.
    results: Vec<VideoTranscript>,
}

/// The transcripts of all videos of a playlist. A video that has none fails alone.
///
/// With `Accept: application/x-ndjson` or `text/event-stream` the answer begins as soon as the first
/// page of the playlist has come, each result is sent as soon as it is ready, and a summary at the end.
/// A line of NDJSON, or the `data` of an event, is a `BatchLine`; events are named `result`, `waiting`,
/// `summary` and `error` and numbered by their `id`, and a silent event stream sends a comment every 15
/// seconds. Streams have neither `ETag` nor `X-Quota-Cost`: both are not known when they begin.
#[utoipa::path(
    post, path = "/api/playlist/{id}/transcript", tag = "Transcripts",
    params(("id" = String, Path, description = "Playlist id or encoded URL", example = "PLquirkMixed")),
    request_body(content = Option<BatchBody>, example = json!({"concurrency": 3, "from": 1, "to": 4})),
    responses(
        (status = 200, description = "The results", content(
            (PlaylistTranscripts = "application/json"),
            (BatchLine = "application/x-ndjson"),
            (BatchEventText = "text/event-stream")
        )),
        AskErrors, BodyErrors, BatchErrors
    )
)]
pub(super) async fn get_playlist_transcripts(
    Extension(vidra): Extension<Vidra>,
    State(state): State<AppState>,
    caller: Option<Extension<CallerId>>,
    Id(id): Id<PlaylistId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response> {
    let query = body.as_ref().map(BatchQuery::from_json).transpose()?.unwrap_or_default();
    let slot = caller.map(|Extension(caller)| state.batches.take(caller).ok_or_else(too_many));
    let slot = slot.transpose()?;
    // The stream owns the slot, however it ends.
    let events = vidra.playlist_transcripts(&id, &query).inspect(move |_| _ = &slot);
    match BatchFormat::preferred(&headers) {
        BatchFormat::Whole => {
            let (summary, results) = stream::collect(events).await?;
            Ok(Tagged(PlaylistTranscripts { summary, results }).into_response())
        }
        format => stream::respond(events, format, state.drain).await,
    }
}

fn too_many() -> ApiError {
    ApiError::new(Reason::TooManyBatches, "You have too many batches under way")
}

fn languages(query: &mut Query) -> Languages {
    let Some(text) = query.text("lang") else { return Languages::default() };
    match Languages::parse(text) {
        Ok(languages) => languages,
        Err(fault) => {
            query.fault("lang", fault);
            Languages::default()
        }
    }
}

/// The format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Srt,
    Vtt,
    Txt,
}

impl Format {
    /// The format that `Accept` prefers.
    fn preferred(headers: &HeaderMap) -> Self {
        let types = [
            ("application/json", Self::Json),
            ("application/x-subrip", Self::Srt),
            ("text/srt", Self::Srt),
            ("text/vtt", Self::Vtt),
            ("text/plain", Self::Txt),
            ("text/*", Self::Txt),
        ];
        preferred_type(headers, &types).unwrap_or(Self::Json)
    }

    fn convert(self, id: VideoId, mut answer: Answer, download: bool) -> Result<Answer> {
        if self == Self::Json && !download {
            return Ok(answer);
        }
        let lines: Transcript = answer.decode()?;
        let (content_type, extension, text) = match self {
            Self::Json => ("application/json", "json", None),
            Self::Srt => ("application/x-subrip; charset=utf-8", "srt", Some(to_srt(&lines))),
            Self::Vtt => ("text/vtt; charset=utf-8", "vtt", Some(to_vtt(&lines))),
            Self::Txt => ("text/plain; charset=utf-8", "txt", Some(to_text(&lines))),
        };
        answer.content_type = content_type;
        if let Some(text) = text {
            answer.body = text.into();
        }
        if download {
            let lang = lines.first().map_or("", |line| &line.lang);
            answer.disposition = attachment(id, lang, extension);
        }
        Ok(answer)
    }
}

/// `Content-Disposition` with a file name of video id, language and extension, which needs no quoting.
fn attachment(id: VideoId, lang: &str, extension: &str) -> Option<HeaderValue> {
    // The platform chose this text, so only safe characters go into the header.
    let lang: String = lang.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let name = [id.as_str(), &lang, extension];
    let name = name.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).ok()
}
