//! `/api/transcript/…` and `POST /api/playlist/{id}/transcript`.

use axum::Extension;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use vidra::{
    Ask, BatchQuery, BatchSummary, CaptionTrack, Languages, PlaylistId, Transcript, TranscriptLine,
    TranscriptQuery, VideoId, VideoTranscript, Vidra, to_srt, to_text, to_vtt,
};

use crate::drain::Drain;
use crate::extract::{Id, JsonBody, Query, accepted};
use crate::problem::{AskErrors, BatchErrors, BodyErrors, Problem, TranscriptErrors};
use crate::progress::{self, BatchLine, Form};
use crate::ready::Kept;
use crate::reply::{KeptAnswer, Reply, kept};

/// The transcript of a video, as JSON, SRT, VTT or plain text.
#[utoipa::path(
    get, path = "/api/transcript/{id}", tag = "Transcripts",
    params(
        ("id" = String, Path, description = "Video id or URL", example = "txManualAsr"),
        ("lang" = Option<String>, Query, description = "One language code, or several by preference; the spoken language if not given", example = "de,en"),
        ("format" = Option<String>, Query, description = "`json`, `srt`, `vtt` or `txt`; if not given, by `Accept`, and else `json`", pattern = "^(json|srt|vtt|txt)$", example = "json"),
        ("translate" = Option<String>, Query, description = "Have the platform translate it to this language; not translated if not given", pattern = "^[A-Za-z0-9_-]{2,20}$", example = "de"),
        ("download" = Option<String>, Query, description = "`1` to have it saved as a file; `0` if not given", pattern = "^(0|1)$", example = "0")
    ),
    responses(
        (status = 200, description = "The lines", content(
            (Vec<TranscriptLine> = "application/json"),
            (String = "application/x-subrip"),
            (String = "text/vtt"),
            (String = "text/plain")
        )),
        TranscriptErrors
    )
)]
pub(super) async fn get_transcript(
    Extension(vidra): Extension<Vidra>,
    Id(id): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> KeptAnswer {
    let wanted =
        TranscriptQuery { languages: languages(&mut query), translate: query.parsed("translate") };
    let by_accept = Format::accepted(&headers);
    let words =
        [("json", Format::Json), ("srt", Format::Srt), ("vtt", Format::Vtt), ("txt", Format::Txt)];
    let is_named = query.text("format").is_some();
    let format = if is_named { query.choice("format", &words) } else { by_accept };
    let download =
        query.text("download").is_some() && query.choice("download", &[("0", false), ("1", true)]);
    query.check()?;
    let mut transcript = kept(&vidra, Ask::Transcript(id, wanted)).await?;
    transcript.varies = !is_named;
    format.written(id, transcript, download)
}

/// The caption tracks that a video has.
#[utoipa::path(
    get, path = "/api/transcript/{id}/tracks", tag = "Transcripts",
    params(("id" = String, Path, description = "Video id or encoded URL", example = "txManualAsr")),
    responses((status = 200, description = "The tracks", body = Vec<CaptionTrack>), TranscriptErrors)
)]
pub(super) async fn get_tracks(
    Extension(vidra): Extension<Vidra>,
    Id(id): Id<VideoId>,
) -> KeptAnswer {
    kept(&vidra, Ask::Tracks(id)).await
}

/// What is asked of the transcripts of a playlist. Numbers may come as strings.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation: `BatchQuery::from_json` reads the body")]
pub(super) struct BatchBody {
    /// How many transcripts may be under way together; 3 if not given.
    #[schema(nullable = false, minimum = 1, maximum = 20, example = 3)]
    concurrency: Option<u32>,
    /// The first place of the playlist, counted from 1.
    #[schema(nullable = false, minimum = 1, example = 1)]
    from: Option<u64>,
    /// The last place, included; past the end is the end.
    #[schema(nullable = false, minimum = 1, example = 25)]
    to: Option<u64>,
    /// One language code, or several by preference; the spoken language if not given.
    #[schema(nullable = false, example = "de,en")]
    lang: Option<String>,
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
    request_body(content = Option<BatchBody>),
    responses(
        (status = 200, description = "The results", content(
            (PlaylistTranscripts = "application/json"),
            (BatchLine = "application/x-ndjson"),
            (BatchLine = "text/event-stream")
        )),
        AskErrors, BodyErrors, BatchErrors
    )
)]
pub(super) async fn get_playlist_transcripts(
    Extension(vidra): Extension<Vidra>,
    Extension(drain): Extension<Drain>,
    Id(id): Id<PlaylistId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let query = body.as_ref().map(BatchQuery::from_json).transpose()?.unwrap_or_default();
    let events = vidra.playlist_transcripts(&id, &query);
    match Form::accepted(&headers) {
        Form::Whole => {
            let (summary, results) = progress::whole(events).await?;
            Ok(Reply(PlaylistTranscripts { summary, results }).into_response())
        }
        form => progress::streamed(events, form, drain).await,
    }
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

/// How a transcript is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Srt,
    Vtt,
    Txt,
}

impl Format {
    /// What the caller likes best.
    fn accepted(headers: &HeaderMap) -> Self {
        let types = [
            ("application/json", Self::Json),
            ("application/x-subrip", Self::Srt),
            ("text/srt", Self::Srt),
            ("text/vtt", Self::Vtt),
            ("text/plain", Self::Txt),
            ("text/*", Self::Txt),
        ];
        accepted(headers, &types).unwrap_or(Self::Json)
    }

    fn written(self, id: VideoId, mut kept: Kept, download: bool) -> KeptAnswer {
        if self == Self::Json && !download {
            return Ok(kept);
        }
        let lines: Transcript = kept.decode()?;
        let (content_type, extension, text) = match self {
            Self::Json => ("application/json", "json", None),
            Self::Srt => ("application/x-subrip; charset=utf-8", "srt", Some(to_srt(&lines))),
            Self::Vtt => ("text/vtt; charset=utf-8", "vtt", Some(to_vtt(&lines))),
            Self::Txt => ("text/plain; charset=utf-8", "txt", Some(to_text(&lines))),
        };
        kept.content_type = content_type;
        if let Some(text) = text {
            kept.body = text.into();
        }
        if download {
            let lang = lines.first().map_or("", |line| &line.lang);
            kept.disposition = attachment(id, lang, extension);
        }
        Ok(kept)
    }
}

/// Has it saved under a name made of an id, a language code and an extension: nothing in it needs
/// quoting.
fn attachment(id: VideoId, lang: &str, extension: &str) -> Option<HeaderValue> {
    // The platform's word, on its way into a header.
    let lang: String = lang.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let name = [id.as_str(), &lang, extension];
    let name = name.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).ok()
}
