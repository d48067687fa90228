//! `POST /api/transcripts` and `POST /api/playlist/{id}/transcript`: the transcripts of many videos.

mod body;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use vidra::{BatchQuery, BatchSource, BatchSummary, PlaylistId, Reason, VideoTranscript, Vidra};

use crate::error_body::{
    ApiError, BatchErrors, BodyErrors, FetchErrors, Result, TranscriptBatchErrors,
};
use crate::extract::{Id, JsonBody};
use crate::gate::CallerId;
use crate::respond;
use crate::state::AppState;
use crate::stream::{self, BatchEventText, BatchFormat, BatchLine, SummaryLine};
use body::{BatchBody, TranscriptsBody};

/// The transcripts of a playlist.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaylistTranscripts {
    /// The playlist's id.
    #[schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf")]
    playlist_id: PlaylistId,
    /// The number of entries in the playlist. With `to` it is YouTube's own count, unless the batch read the list to
    /// its end.
    total_videos: u64,
    /// The first and last requested position.
    #[schema(example = json!([1, 25]))]
    requested_range: [u64; 2],
    /// The number of successful results.
    succeeded: u64,
    /// The number of failed results.
    failed: u64,
    /// One result for each requested entry, in playlist order.
    results: Vec<VideoTranscript>,
}

/// The transcripts of many videos.
#[derive(Serialize, ToSchema)]
pub(super) struct Transcripts {
    #[serde(flatten)]
    summary: BatchSummary,
    /// One result for each requested entry, in the order of the source.
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
    Id(id): Id<PlaylistId>,
    runner: Runner,
    JsonBody(body): JsonBody,
) -> Result {
    let query = body.as_ref().map(BatchQuery::from_json).transpose()?.unwrap_or_default();
    let playlist = id.clone();
    let head = move |summary| SummaryLine::with_playlist_id(playlist, summary);
    runner.run(&BatchSource::Playlist(id), &query, head).await
}

/// The transcripts of videos, of a playlist or of the uploads of a channel.
///
/// The body names one of them. It can choose a range of positions, and for a channel the uploads since a date. A video
/// without a transcript does not fail the others. `position` counts in the list as given, in the playlist, or in the
/// uploads, newest first. With `chunks` each result has `chunks` instead of `lines`.
///
/// It streams as `POST /api/playlist/{id}/transcript` does.
///
/// Cost: none for videos. For a playlist or a channel 1 unit per 50 entries, up to `to` or `since`; the handle or name
/// of a channel has to be looked up first.
#[utoipa::path(
    post, path = "/api/transcripts", tag = "Transcripts",
    request_body(content = TranscriptsBody, example = json!({"videos": ["txManualAsr", "https://youtu.be/txNoCaption"]})),
    responses(
        (status = 200, description = "The results", headers(("X-Total-Videos" = u64, description = "The number of entries in the source; streams only")), content(
            (Transcripts = "application/json"),
            (BatchLine = "application/x-ndjson"),
            (BatchEventText = "text/event-stream")
        )),
        FetchErrors, BodyErrors, TranscriptBatchErrors
    )
)]
pub(super) async fn get_transcripts(runner: Runner, JsonBody(body): JsonBody) -> Result {
    let (source, query) = BatchQuery::from_json_with_source(&body.unwrap_or_else(|| json!({})))?;
    runner.run(&source, &query, SummaryLine::with_source).await
}

/// Runs a batch for one request.
#[derive(axum::extract::FromRequestParts)]
#[from_request(state(AppState))]
pub(super) struct Runner {
    #[from_request(via(Extension))]
    vidra: Vidra,
    #[from_request(via(State))]
    state: AppState,
    caller: Option<Extension<CallerId>>,
    headers: HeaderMap,
}

impl Runner {
    /// Responds with the results, whole or as a stream. `head` is the form of the summary.
    async fn run(
        self,
        source: &BatchSource,
        query: &BatchQuery,
        head: impl FnOnce(BatchSummary) -> SummaryLine + Send + 'static,
    ) -> Result {
        let Self { vidra, state, caller, headers } = self;
        let slot = caller.map(|Extension(caller)| state.batch_slot(caller).ok_or_else(too_many));
        let slot = slot.transpose()?;
        // The stream owns the slot, however it ends.
        let events = vidra.transcripts(source, query).inspect(move |_| _ = &slot);
        match BatchFormat::preferred(&headers) {
            BatchFormat::Whole => {
                respond::document(respond::JSON, vidra.batch_body(events, head).await?).await
            }
            BatchFormat::Stream(format) => stream::respond(events, format, state.drain, head).await,
        }
    }
}

fn too_many() -> ApiError {
    ApiError::new(Reason::TooManyBatches, "You run too many batches at once")
}
