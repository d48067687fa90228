//! The whole URL table, and the OpenAPI document that is generated from it.

mod batch;
mod channel;
mod chart;
mod collection;
mod comment;
mod document;
mod job;
mod library;
mod library_caller;
mod link;
mod list;
mod llms;
mod media_types;
mod parameters;
mod patterns;
mod playlist;
mod query_parameters;
mod redirects;
mod region;
mod responder;
mod search;
mod shared;
mod status;
mod tool;
mod transcript;
mod usage;
mod video;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::{HeaderMap, Method};
use axum::middleware;
use axum::response::Response;
use utoipa::OpenApi;
use utoipa::openapi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error_body::{ApiError, ErrorBody};
use crate::state::AppState;
use vidra::Reason;

use document::AnyObject;
pub(crate) use library_caller::library_of_tools;
pub(crate) use llms::llms_text;
pub(crate) use redirects::from_slashes;

/// The route of playlist batches.
const BATCH_PATH: &str = "/api/playlist/{id}/transcript";

/// The routes whose requests may last for an hour.
pub(crate) const LONG_PATHS: &[&str] =
    &[BATCH_PATH, "/api/jobs/{id}/results", "/api/jobs/{id}/events"];

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vidra",
        description = "Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.\n\n\
            Identifiers are bare ids or any URL that contains one. The cost of each operation is that of an \
            uncached answer, in units of the YouTube Data API. Cached answers cost nothing. `X-Quota-Cost` is the \
            cost of an answer; streams do not have it. Every error has the body \
            `{\"error\": {\"code\", \"reason\", \"message\", \"details\"}}`, also if `Accept` does not allow JSON. \
            The service returns an `X-Request-Id` of up to 128 plain characters as it was sent, and generates \
            one otherwise. The service's log contains it. \
            `X-Request-Timeout` (`2`, `2.5s`, `300ms`) is the deadline of a request; after it the answer is 504. \
            If the operator requires keys, every request needs one, except health, this document, `/llms.txt` and the pages. \
            If there is a rate limit, `RateLimit-Limit` is the size of the burst, `RateLimit-Remaining` the \
            number of requests left, and `RateLimit-Reset` the seconds until the full burst is available again."
    ),
    servers((url = "/", description = "The service that this document comes from")),
    components(schemas(ErrorBody)),
    tags(
        (name = "Videos", description = "Details of videos"),
        (name = "Channels", description = "Channels and their uploads"),
        (name = "Playlists", description = "Playlists with all their videos"),
        (name = "Comments", description = "Comment threads and replies"),
        (name = "Search", description = "Videos, channels and playlists that match words"),
        (name = "Transcripts", description = "Transcripts in every format; only playlists and channels need a key for the YouTube Data API"),
        (name = "Jobs", description = "Durable jobs: the transcripts of many videos, over hours and days"),
        (name = "Collections", description = "Sets of channels, playlists, videos and searches that stay up to date"),
        (name = "Library", description = "What the stored transcripts say, and when"),
        (name = "Regions", description = "Regions, languages and categories"),
        (name = "Links", description = "The identifiers in a link, without an upstream call"),
        (name = "Tools", description = "Tools for AI models; `vidra tools` prints their list for function calling, and MCP is at `/mcp`"),
        (name = "Service", description = "The service itself")
    )
)]
struct Info;

/// Every public route, and the document. `/metrics` may be on the admin listener only.
pub(crate) fn routes(has_metrics: bool) -> (Router<AppState>, openapi::OpenApi) {
    let routes = OpenApiRouter::with_openapi(Info::openapi())
        .routes(routes!(video::get_video))
        .routes(routes!(video::get_video_title))
        .routes(routes!(video::get_videos))
        .routes(routes!(channel::get_channel))
        .routes(routes!(channel::get_channel_videos))
        .routes(routes!(channel::get_uploads))
        .routes(routes!(channel::get_channel_playlists))
        .routes(routes!(channel::get_channel_feed))
        .routes(routes!(playlist::get_playlist))
        .routes(routes!(playlist::get_playlist_info))
        .routes(routes!(playlist::get_playlist_ids))
        .routes(routes!(playlist::get_playlist_videos))
        .routes(routes!(playlist::get_playlist_feed))
        .routes(routes!(playlist::query_playlist))
        .routes(routes!(comment::get_comments))
        .routes(routes!(comment::get_threads))
        .routes(routes!(comment::get_top_comments))
        .routes(routes!(comment::get_comment_replies))
        .routes(routes!(search::get_search))
        .routes(routes!(chart::get_popular))
        .routes(routes!(transcript::get_transcript))
        .routes(routes!(transcript::get_transcript_text))
        .routes(routes!(transcript::get_transcript_document))
        .routes(routes!(transcript::get_transcript_chunks))
        .routes(routes!(transcript::get_tracks))
        .routes(routes!(batch::get_transcripts))
        .routes(routes!(batch::get_playlist_transcripts))
        .routes(routes!(job::start_job, job::list_jobs))
        .routes(routes!(job::get_job, job::delete_job))
        .routes(routes!(job::get_job_items))
        .routes(routes!(job::get_job_results))
        .routes(routes!(job::get_job_events))
        .routes(routes!(job::pause_job))
        .routes(routes!(job::resume_job))
        .routes(routes!(job::cancel_job))
        .routes(routes!(job::retry_job))
        .routes(routes!(collection::list_collections))
        .routes(routes!(
            collection::get_collection,
            collection::put_collection,
            collection::delete_collection
        ))
        .routes(routes!(collection::get_collection_videos))
        .routes(routes!(collection::sync_collection))
        .routes(routes!(collection::pause_collection))
        .routes(routes!(collection::resume_collection))
        .routes(routes!(library::search_library))
        .routes(routes!(library::get_trends))
        .routes(routes!(library::get_library_videos))
        .routes(routes!(region::get_regions))
        .routes(routes!(region::get_languages))
        .routes(routes!(region::get_video_categories))
        .routes(routes!(link::parse_link))
        .routes(routes!(tool::run_tool))
        .routes(routes!(status::get_quota))
        .routes(routes!(status::get_cache))
        .routes(routes!(usage::get_usage))
        .routes(routes!(status::get_health))
        .routes(routes!(status::get_readiness))
        .routes(routes!(get_openapi))
        .routes(routes!(llms::get_llms_txt));
    let routes = if has_metrics { routes.routes(routes!(status::get_metrics)) } else { routes };
    let (routes, document) = routes.split_for_parts();
    let known = parameters::known(&document);
    let only_known = middleware::from_fn_with_state(known, parameters::only_known);
    let offered = media_types::offered(&document);
    let only_acceptable = middleware::from_fn_with_state(offered, media_types::only_acceptable);
    let redirects = from_slashes(document.paths.paths.keys().map(String::as_str));
    let routes = routes.route_layer(only_known).route_layer(only_acceptable).merge(redirects);
    (with_fallbacks(routes), document::completed(document))
}

/// The routes of the admin listener.
pub(crate) fn admin_routes() -> Router<AppState> {
    let routes = OpenApiRouter::new()
        .routes(routes!(status::get_health))
        .routes(routes!(status::get_readiness))
        .routes(routes!(status::get_metrics));
    with_fallbacks(routes.into())
}

fn with_fallbacks(routes: Router<AppState>) -> Router<AppState> {
    routes.fallback(no_such_route).method_not_allowed_fallback(wrong_method)
}

/// The document that `GET /openapi.json` serves.
pub fn openapi() -> openapi::OpenApi {
    routes(true).1
}

/// This document.
///
/// It needs no key. It changes only with the version of the service.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/openapi.json", tag = "Service",
    responses((status = 200, description = "The OpenAPI 3.1 document of this service", body = inline(AnyObject)))
)]
async fn get_openapi(State(state): State<AppState>, headers: HeaderMap) -> Response {
    state.document.response(&headers)
}

/// The message has no query, which may contain a secret that somebody pasted by mistake.
pub(crate) async fn no_such_route(OriginalUri(uri): OriginalUri) -> ApiError {
    ApiError::new(Reason::RouteNotFound, format!("No such route: {}", uri.path()))
}

pub(crate) async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> ApiError {
    let message = format!("{method} is not possible on {}", uri.path());
    ApiError::new(Reason::MethodNotAllowed, message)
}
