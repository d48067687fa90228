//! `/api/transcript/…`: the transcript of one video.

use std::str::FromStr;

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use vidra::{
    Cached, CaptionKind, CaptionTrack, ChunkQuery, ChunkedTranscript, FullTranscript, Include,
    LanguageCode, Languages, Lookup, Resource, Seconds, TimeRange, TranscriptDocument,
    TranscriptLine, TranscriptQuery, VideoId, Vidra, to_srt, to_text, to_vtt,
};

use super::list::{self, CSV, ListForm};
use super::query_parameters::optional_texts;
use super::responder::Responder;
use crate::accept::preferred_type;
use crate::error_body::{ApiError, FetchErrors, Result, TranscriptErrors};
use crate::extract::{Id, Query, StartedVideo};
use crate::hot::{Answer, exact_bytes};
use crate::items::Fields;
use crate::respond;

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
        PartParameters,
        ("format" = Option<String>, Query, description = "`json`, `srt`, `vtt`, `txt` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
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
        PartParameters,
        ("format" = Option<String>, Query, description = "`txt`, `srt` or `vtt`; if not given, the format that `Accept` prefers, or `txt`", example = "srt"),
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
    let part = Part::read(&mut query, None);
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
    let is_whole = part.range == TimeRange::default();
    let mut answer = if format == Format::Json && is_whole && fields.is_none() && !download {
        // The cache holds these bytes.
        Answer::fetch(&responder.vidra, Lookup::Transcript(id, part.query)).await?
    } else {
        let found = part.fetch(&responder.vidra, id).await?;
        format.answer(found, fields.as_ref(), download)?
    };
    answer.varies_by_accept = !is_named;
    Ok(responder.send(&answer).await)
}

/// The parameters that all transcripts of one video have: its captions, and a part of it.
struct Part {
    query: TranscriptQuery,
    range: TimeRange,
}

/// The parameters of a [`Part`], for the document.
enum PartParameters {}

impl IntoParams for PartParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let table = [
            (
                "lang",
                "One language code, or several by preference; the spoken language if not given",
                "de,en",
            ),
            (
                "translate",
                "The language that YouTube translates it to; not translated if not given",
                "de",
            ),
            (
                "captions",
                "`manual` for captions by people, `auto` for recognised speech; both if not given, and those by people \
                 are preferred",
                "manual",
            ),
            (
                "start",
                "The start of the part: seconds, or hours, minutes and seconds; the beginning if not given. A document \
                 and chunks begin at the time of the URL (`t=`) by default",
                "1:30",
            ),
            ("end", "The end of the part; the end of the video if not given", "1:02:03"),
        ];
        optional_texts(table)
    }
}

impl Part {
    /// Reads the parameters. `start` is the default for the parameter of the same name.
    fn read(query: &mut Query, start: Option<Seconds>) -> Self {
        let transcript = TranscriptQuery::default()
            .with_languages(query.parsed("lang", Languages::parse).unwrap_or_default())
            .with_translation(query.parsed("translate", LanguageCode::parse))
            .with_captions(query.optional_choice("captions", CaptionKind::ALL));
        let start = query.parsed("start", Seconds::from_str).or(start);
        let range = TimeRange::new(start, query.parsed("end", Seconds::from_str));
        let range = range.unwrap_or_else(|error| query.add_faults(&error));
        Self { query: transcript, range }
    }

    /// Fetches this part of a transcript.
    async fn fetch(&self, vidra: &Vidra, id: VideoId) -> Result<Cached<FullTranscript>, ApiError> {
        let mut found = vidra.full_transcript(id, &self.query).await?;
        found.body = found.body.cut(self.range);
        Ok(found)
    }
}

/// An answer that is made of a transcript, still without its body.
fn answer(cached: Cached<()>) -> Answer {
    Answer::new(Resource::Transcript, cached.with_body(Bytes::new()))
}

/// The transcript of a video with the data of the video and the track.
///
/// The title and the channel come with the captions. `publishedAt` is absent if YouTube does not send it with them,
/// which is the usual case.
///
/// Cost: none. The service reads transcripts without a key for the YouTube Data API.
#[utoipa::path(
    get, path = "/api/transcript/{id}/document", tag = "Transcripts",
    params(
        ("id" = String, Path),
        PartParameters,
        ("words" = Option<bool>, Query, description = "`true` to add the words with their times to each line, where YouTube has them; `false` if not given", example = true)
    ),
    responses((status = 200, description = "The transcript", body = TranscriptDocument), FetchErrors, TranscriptErrors)
)]
pub(super) async fn get_transcript_document(
    responder: Responder,
    Id(StartedVideo(id, start)): Id<StartedVideo>,
    mut query: Query,
) -> Result {
    let part = Part::read(&mut query, start);
    let with_words = query.choice("words", &[("false", false), ("true", true)]);
    query.check()?;
    let found = part.fetch(&responder.vidra, id).await?;
    let (transcript, cached) = found.split();
    let answer = answer(cached).with_json(&transcript.document(with_words))?;
    Ok(responder.send(&answer).await)
}

/// The transcript of a video in chunks, for search indexes and language models.
///
/// Chunks begin and end at the border of a line, preferably at the end of a sentence or at a pause. No chunk exceeds
/// `size`, except a line that is longer. With an `overlap` a chunk begins with the last lines of the previous one.
///
/// Cost: none. The service reads transcripts without a key for the YouTube Data API.
#[utoipa::path(
    get, path = "/api/transcript/{id}/chunks", tag = "Transcripts",
    params(
        ("id" = String, Path),
        PartParameters,
        ("by" = Option<String>, Query, description = "The unit of the size; `tokens` if not given. `chapters` makes one chunk of each chapter, or several if `size` is given", example = "tokens"),
        ("size" = Option<u64>, Query, minimum = 1, maximum = 8192, description = "The greatest size of a chunk; 512 tokens, 384 words, 60 seconds or 8 sentences if not given", example = 512),
        ("overlap" = Option<u64>, Query, minimum = 0, maximum = 4096, description = "The greatest size of what a chunk repeats from the previous one, at most half of the size; 64 tokens, 48 words, 6 seconds or 1 sentence if not given, and at most an eighth of the size", example = 64)
    ),
    responses((status = 200, description = "The chunks", body = ChunkedTranscript), FetchErrors, TranscriptErrors)
)]
pub(super) async fn get_transcript_chunks(
    responder: Responder,
    Id(StartedVideo(id, start)): Id<StartedVideo>,
    mut query: Query,
) -> Result {
    let part = Part::read(&mut query, start);
    let chunks = read_chunks(&mut query);
    query.check()?;
    let found = part.fetch(&responder.vidra, id).await?;
    let (transcript, cached) = found.split();
    let answer = answer(cached).with_json(&transcript.chunked(&chunks))?;
    Ok(responder.send(&answer).await)
}

fn read_chunks(query: &mut Query) -> ChunkQuery {
    let [by, size, overlap] = ["by", "size", "overlap"].map(|name| query.text(name));
    ChunkQuery::parse(by, size, overlap).unwrap_or_else(|error| query.add_faults(&error))
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

    fn answer(
        self,
        found: Cached<FullTranscript>,
        fields: Option<&Fields>,
        download: bool,
    ) -> Result<Answer> {
        let (transcript, cached) = found.split();
        let (content_type, extension, body) = match self {
            Self::Json if fields.is_none() => {
                let body = serde_json::to_vec(&transcript.lines()).map_err(ApiError::internal)?;
                (respond::JSON, "json", exact_bytes(body))
            }
            Self::Json | Self::Csv => {
                let lines = serde_json::to_value(transcript.lines()).map_err(ApiError::internal)?;
                let lines = lines.as_array().map(Vec::as_slice).unwrap_or_default();
                if self == Self::Csv {
                    let body = list::csv::<TranscriptLine>(fields, Include::default(), lines);
                    (CSV, "csv", body)
                } else {
                    let chosen = |line: &Value| fields.map_or(line.clone(), |it| it.of(line));
                    let lines: Vec<Value> = lines.iter().map(chosen).collect();
                    let body = serde_json::to_vec(&lines).map_err(ApiError::internal)?;
                    (respond::JSON, "json", exact_bytes(body))
                }
            }
            Self::Srt => (
                "application/x-subrip; charset=utf-8",
                "srt",
                exact_bytes(to_srt(&transcript.lines_with_breaks())),
            ),
            Self::Vtt => (
                "text/vtt; charset=utf-8",
                "vtt",
                exact_bytes(to_vtt(&transcript.lines_with_breaks())),
            ),
            Self::Txt => {
                ("text/plain; charset=utf-8", "txt", exact_bytes(to_text(&transcript.lines())))
            }
        };
        let mut answer = answer(cached);
        (answer.content_type, answer.cached.body) = (content_type, body);
        if download {
            let info = &transcript.info;
            let disposition = attachment(info.video_id, &info.track.language_code, extension);
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
