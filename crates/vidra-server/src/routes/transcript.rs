//! `/api/transcript/…` and `POST /api/playlist/{id}/transcript`.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, OneOfBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use vidra::{
    BatchQuery, BatchSummary, CaptionTrack, Include, LanguageCode, Languages, Lookup, PlaylistId,
    Reason, Transcript, TranscriptLine, TranscriptQuery, VideoId, VideoTranscript, Vidra, to_srt,
    to_text, to_vtt,
};

use super::list::{self, CSV, ListForm};
use super::patterns;
use super::responder::Responder;
use crate::accept::preferred_type;
use crate::error_body::{ApiError, BatchErrors, BodyErrors, FetchErrors, Result, TranscriptErrors};
use crate::extract::{Id, JsonBody, Query};
use crate::gate::CallerId;
use crate::hot::Answer;
use crate::items::Fields;
use crate::respond;
use crate::state::AppState;
use crate::stream::{self, BatchEventText, BatchFormat, BatchLine};

/// The transcript of a video, as JSON, SRT, VTT, plain text or CSV.
///
/// `format` chooses the form. Without it `Accept` does, and JSON is the default. Clients that read every answer of one
/// path in the same form can use `/api/transcript/{id}/text` for the others.
///
/// Cost: none. The service reads transcripts without a key for the YouTube Data API.
#[utoipa::path(
    get, path = "/api/transcript/{id}", tag = "Transcripts",
    params(
        ("id" = String, Path),
        ("lang" = Option<String>, Query, description = "One language code, or several by preference; the spoken language if not given", example = "de,en"),
        ("format" = Option<String>, Query, description = "`json`, `srt`, `vtt`, `txt` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("translate" = Option<String>, Query, description = "The language that YouTube translates it to; not translated if not given", example = "de"),
        ("download" = Option<String>, Query, description = "`1` to save it as a file; `0` if not given", example = "0"),
        ("fields" = Option<String>, Query, description = "Only these members of each line, separated by commas; all if not given. JSON and CSV only", example = "text")
    ),
    responses(
        (status = 200, description = "The lines", content(
            (Vec<TranscriptLine> = "application/json"),
            (String = "application/x-subrip"),
            (String = "text/vtt"),
            (String = "text/plain"),
            (String = "text/csv")
        )),
        FetchErrors, TranscriptErrors
    )
)]
pub(super) async fn get_transcript(
    responder: Responder,
    Id(id): Id<VideoId>,
    query: Query,
    headers: HeaderMap,
) -> Result {
    const WORDS: [(&str, Format); 5] = [
        ("json", Format::Json),
        ("srt", Format::Srt),
        ("vtt", Format::Vtt),
        ("txt", Format::Txt),
        ("csv", Format::Csv),
    ];
    respond_as(&WORDS, responder, id, query, &headers).await
}

/// The transcript of a video as plain text, SRT or VTT.
///
/// Every answer is text, which suits generated clients: some read all answers of one path in the same form.
///
/// Cost: none. The service reads transcripts without a key for the YouTube Data API.
#[utoipa::path(
    get, path = "/api/transcript/{id}/text", tag = "Transcripts",
    params(
        ("id" = String, Path),
        ("lang" = Option<String>, Query, description = "One language code, or several by preference; the spoken language if not given", example = "de,en"),
        ("format" = Option<String>, Query, description = "`txt`, `srt` or `vtt`; if not given, the format that `Accept` prefers, or `txt`", example = "srt"),
        ("translate" = Option<String>, Query, description = "The language that YouTube translates it to; not translated if not given", example = "de"),
        ("download" = Option<String>, Query, description = "`1` to save it as a file; `0` if not given", example = "0")
    ),
    responses(
        (status = 200, description = "The text", content(
            (String = "text/plain"),
            (String = "application/x-subrip"),
            (String = "text/vtt")
        )),
        FetchErrors, TranscriptErrors
    )
)]
pub(super) async fn get_transcript_text(
    responder: Responder,
    Id(id): Id<VideoId>,
    query: Query,
    headers: HeaderMap,
) -> Result {
    const WORDS: [(&str, Format); 3] =
        [("txt", Format::Txt), ("srt", Format::Srt), ("vtt", Format::Vtt)];
    respond_as(&WORDS, responder, id, query, &headers).await
}

/// Responds in one of the formats. The first is the default.
async fn respond_as(
    words: &[(&str, Format)],
    responder: Responder,
    id: VideoId,
    mut query: Query,
    headers: &HeaderMap,
) -> Result {
    let wanted = TranscriptQuery::default()
        .with_languages(query.parsed("lang", Languages::parse).unwrap_or_default())
        .with_translation(query.parsed("translate", LanguageCode::parse));
    let is_named = query.text("format").is_some();
    let format = match is_named {
        true => query.choice("format", words),
        false => Format::preferred(headers, words),
    };
    let download =
        query.text("download").is_some() && query.choice("download", &[("0", false), ("1", true)]);
    let fields = list::read_fields::<TranscriptLine>(&mut query);
    if fields.is_some() && !matches!(format, Format::Json | Format::Csv) {
        query.fault("fields", "can be combined with json and csv only");
    }
    query.check()?;
    let mut answer = Answer::fetch(&responder.vidra, Lookup::Transcript(id, wanted)).await?;
    answer.varies_by_accept = !is_named;
    Ok(responder.send(&format.convert(id, answer, fields.as_ref(), download)?).await)
}

/// The caption tracks that a video has.
///
/// With their languages, and whether YouTube generated them.
///
/// Cost: none. The service reads transcripts without a key for the YouTube Data API.
#[utoipa::path(
    get, path = "/api/transcript/{id}/tracks", tag = "Transcripts",
    params(
        ("id" = String, Path),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `languageCode,languageName`; all if not given", example = "languageCode"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The tracks", content(
            (Vec<CaptionTrack> = "application/json"),
            (String = "text/csv")
        )), FetchErrors, TranscriptErrors)
)]
pub(super) async fn get_tracks(
    responder: Responder,
    Id(id): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<CaptionTrack>(&mut query, &headers);
    query.check()?;
    responder.fetch_list::<CaptionTrack>(&form, Lookup::Tracks(id)).await
}

/// The body of a batch, for the document only: `BatchQuery::from_json` reads it, so that its error names
/// every fault.
pub(super) struct BatchBody;

impl ToSchema for BatchBody {}

impl PartialSchema for BatchBody {
    fn schema() -> RefOr<Schema> {
        let concurrency =
            "The maximum number of transcripts to fetch at the same time; 3 if not given.";
        let from = "The first position in the playlist, from 1.";
        let to = "The last position, included. Positions past the end are ignored.";
        let lang = "One language code, or several by preference; the spoken language if not given.";
        let skip = "Videos to leave out because you have them already; none if not given.";
        let position = "^0*[1-9][0-9]{0,17}$";
        let languages = text(&patterns::languages()).examples([json!("de,en")]);
        let ids = ArrayBuilder::new().items(text(&patterns::video_id())).max_items(Some(4_000));
        let ids = ids.examples([json!(["quirkNoLike"])]);
        ObjectBuilder::new()
            .description(Some("The options of a batch. Numbers may be strings."))
            .property("concurrency", number(concurrency, 20, "^0*([1-9]|1[0-9]|20)$", 3))
            .property("from", number(from, i64::MAX, position, 1))
            .property("to", number(to, i64::MAX, position, 25))
            .property("lang", languages.description(Some(lang)))
            .property("skip", ids.description(Some(skip)))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .into()
    }
}

/// A whole number from 1, also as a string that matches `pattern`.
fn number(what: &str, max: i64, pattern: &str, example: u64) -> OneOfBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Integer).examples([json!(example)]);
    let number = number.minimum(Some(1)).maximum(Some(max));
    OneOfBuilder::new().item(number).item(text(pattern)).description(Some(what))
}

fn text(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// The transcripts of a playlist.
#[derive(Serialize, ToSchema)]
pub(super) struct PlaylistTranscripts {
    #[serde(flatten)]
    summary: BatchSummary,
    /// One result for each requested entry, in playlist order.
    results: Vec<VideoTranscript>,
}

/// The transcripts of all videos of a playlist.
///
/// A video without a transcript does not fail the others.
///
/// With `Accept: application/x-ndjson` or `text/event-stream` the answer is a stream. It begins when the
/// first page of the playlist has arrived, sends each result as soon as it is ready, and ends with a summary.
/// A line of NDJSON, or the `data` of an event, is a `BatchLine`. Its `type`, which is also the name of the
/// event, is `result`, `waiting`, `summary` or `error`; the `id` of an event is its number. A stream is never
/// silent for more than 15 seconds: it sends a `waiting` line then. If the playlist cannot be listed to its end,
/// the results of the listed entries come first, and the last line is an `error`. `X-Total-Videos` is the number
/// of entries. Streams have neither `ETag` nor `X-Quota-Cost`, because both are unknown when they begin.
///
/// With `to` the service lists only the pages up to that position, and `totalVideos` is YouTube's own count.
///
/// Cost: 1 unit per 50 entries, up to `to`. The transcripts cost nothing.
#[utoipa::path(
    post, path = "/api/playlist/{id}/transcript", tag = "Transcripts",
    params(("id" = String, Path)),
    request_body(content = Option<BatchBody>, example = json!({"concurrency": 3, "from": 1, "to": 4})),
    responses(
        (status = 200, description = "The results", headers(("X-Total-Videos" = u64, description = "The number of entries in the playlist; streams only")), content(
            (PlaylistTranscripts = "application/json"),
            (BatchLine = "application/x-ndjson"),
            (BatchEventText = "text/event-stream")
        )),
        FetchErrors, BodyErrors, BatchErrors
    )
)]
pub(super) async fn get_playlist_transcripts(
    Extension(vidra): Extension<Vidra>,
    State(state): State<AppState>,
    caller: Option<Extension<CallerId>>,
    Id(id): Id<PlaylistId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result {
    let query = body.as_ref().map(BatchQuery::from_json).transpose()?.unwrap_or_default();
    let slot = caller.map(|Extension(caller)| state.batch_slot(caller).ok_or_else(too_many));
    let slot = slot.transpose()?;
    // The stream owns the slot, however it ends.
    let events = vidra.playlist_transcripts(&id, &query).inspect(move |_| _ = &slot);
    match BatchFormat::preferred(&headers) {
        BatchFormat::Whole => {
            respond::document(respond::JSON, vidra.batch_body(events).await?).await
        }
        BatchFormat::Stream(format) => stream::respond(events, format, state.drain).await,
    }
}

fn too_many() -> ApiError {
    ApiError::new(Reason::TooManyBatches, "You run too many batches at once")
}

/// The format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Srt,
    Vtt,
    Txt,
    Csv,
}

impl Format {
    /// The format of `words` that `Accept` prefers; the first if it prefers none.
    fn preferred(headers: &HeaderMap, words: &[(&str, Self)]) -> Self {
        // Of equals the first one wins, so `text/*` is plain text.
        let types = [
            ("application/json", Self::Json),
            ("text/plain", Self::Txt),
            ("application/x-subrip", Self::Srt),
            ("text/vtt", Self::Vtt),
            ("text/csv", Self::Csv),
        ];
        let is_offered = |format: Self| words.iter().any(|(_, word)| *word == format);
        let offered: Vec<_> = types.into_iter().filter(|(_, format)| is_offered(*format)).collect();
        preferred_type(headers, &offered).unwrap_or(words[0].1)
    }

    fn convert(
        self,
        id: VideoId,
        mut answer: Answer,
        fields: Option<&Fields>,
        download: bool,
    ) -> Result<Answer> {
        if self == Self::Json && !download && fields.is_none() {
            return Ok(answer);
        }
        let lines: Transcript = answer.decode()?;
        let items = || answer.decode::<Vec<Value>>();
        let (content_type, extension, body) = match self {
            Self::Json => ("application/json", "json", None),
            Self::Srt => {
                ("application/x-subrip; charset=utf-8", "srt", Some(to_srt(&lines).into()))
            }
            Self::Vtt => ("text/vtt; charset=utf-8", "vtt", Some(to_vtt(&lines).into())),
            Self::Txt => ("text/plain; charset=utf-8", "txt", Some(to_text(&lines).into())),
            Self::Csv => (
                CSV,
                "csv",
                Some(list::csv::<TranscriptLine>(fields, Include::default(), &items()?)),
            ),
        };
        if let (Self::Json, Some(fields)) = (self, fields) {
            let items: Vec<Value> = items()?.iter().map(|line| fields.of(line)).collect();
            answer = answer.with_json(&items)?;
        }
        answer.content_type = content_type;
        if let Some(body) = body {
            answer.cached.body = body;
        }
        if download {
            let lang = lines.first().map_or("", |line| &line.lang);
            let disposition = attachment(id, lang, extension);
            answer.headers.extend(disposition.map(|value| (header::CONTENT_DISPOSITION, value)));
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
