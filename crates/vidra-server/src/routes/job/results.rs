//! The results of a job, as a stream.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use serde::Serialize;
use utoipa::ToSchema;
use vidra::VideoTranscript;
use vidra_library::{FileKind, JobId, ResultForm, ResultSummary};

use crate::accept::preferred_type;
use crate::error_body::{ErrorBody, JobErrors, Result};
use crate::extract::{Id, Query};
use crate::respond::SentInPieces;
use crate::routes::library_caller::LibraryCaller;
use crate::stream;

/// The media types, with the words of `format`.
const TYPES: [(&str, Format, &str); 4] = [
    ("application/json", Format::Json, "json"),
    ("application/x-ndjson", Format::Ndjson, "ndjson"),
    ("text/csv", Format::Csv, "csv"),
    ("application/zip", Format::Zip, "zip"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Ndjson,
    Csv,
    Zip,
}

/// The results of a job so far.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation: the library writes it")]
pub(in crate::routes) struct JobResults {
    #[serde(flatten)]
    summary: ResultSummary,
    /// One result for each ended item, in the order of positions.
    results: Vec<VideoTranscript>,
}

/// A line of the results of a job.
#[derive(Serialize, ToSchema)]
#[schema(rename_all = "lowercase")]
#[serde(tag = "type", rename_all = "lowercase")]
#[expect(dead_code, reason = "documentation: the library writes it")]
pub(in crate::routes) enum JobResultLine {
    /// The result of an item.
    Result(VideoTranscript),
    /// All results were sent. It is the last line.
    Summary(ResultSummary),
    /// The results could not be read to their end, or the service is shutting down. It is the last line, in place of
    /// the summary.
    Error(ErrorBody),
}

/// The results of a job so far, in the order of positions.
///
/// It answers at any time, also while the job runs. Items that have not ended are left out. Each result has the form of
/// a result of `POST /api/transcripts`. The answer is sent while it is read, whatever its size.
///
/// A line of NDJSON is a `JobResultLine`. CSV has one row for each item, with the whole text in one cell. A ZIP archive
/// has one file for each transcript and kind of `files`, named `Title [id].language.kind`, and `failed.csv`.
///
/// A caller can download 4 results at the same time (`too_many_downloads`), and all callers 16 (`overloaded`).
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/jobs/{id}/results", tag = "Jobs",
    params(
        ("id" = String, Path),
        ("format" = Option<String>, Query, description = "`json`, `ndjson`, `csv` or `zip`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("files" = Option<String>, Query, description = "The kinds of files in an archive, for `zip` alone; `txt` if not given", example = "srt,txt")
    ),
    responses(
        (status = 200, description = "The results", content(
            (JobResults = "application/json"),
            (JobResultLine = "application/x-ndjson"),
            (String = "text/csv"),
            (String = "application/zip")
        )),
        JobErrors
    )
)]
pub(in crate::routes) async fn get_job_results(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let format = match query.text("format") {
        Some(_) => query.choice("format", &TYPES.map(|(_, format, word)| (word, format))),
        None => {
            let types = TYPES.map(|(media_type, format, _)| (media_type, format));
            preferred_type(&headers, &types).unwrap_or(Format::Json)
        }
    };
    let words: Vec<String> = query.list("files").into_iter().map(str::to_owned).collect();
    let mut kinds = vec![];
    for word in &words {
        match FileKind::from_word(word) {
            Some(kind) => kinds.push(kind),
            None => query.fault("files", "must be a list of srt, vtt, txt and json"),
        }
    }
    query.check()?;
    let (form, content_type) = match format {
        Format::Json => (ResultForm::Json, "application/json"),
        Format::Ndjson => (ResultForm::Ndjson, "application/x-ndjson"),
        Format::Csv => (ResultForm::Csv, super::super::list::CSV),
        Format::Zip => (ResultForm::Zip(kinds), "application/zip"),
    };
    let slot = jobs.download()?;
    let bytes = jobs.library.write_results(id, &jobs.access, form).await?;
    // The stream owns the slot, however it ends.
    let bytes = bytes.inspect(move |_| _ = &slot);
    let body = match format {
        Format::Ndjson => Body::from_stream(stream::with_error_line(bytes, jobs.drain)),
        _ => Body::from_stream(stream::or_broken(bytes, jobs.drain)),
    };
    let mut response = body.into_response();
    response.extensions_mut().insert(SentInPieces { length: None });
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    stream::add_stream_headers(headers);
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    if format == Format::Zip {
        let name = format!("attachment; filename=\"job-{id}.zip\"");
        headers
            .extend(HeaderValue::try_from(name).ok().map(|it| (header::CONTENT_DISPOSITION, it)));
    }
    Ok(response)
}
