//! The whole URL table, and the OpenAPI document that is generated from it.

mod channel;
mod comment;
mod document;
mod link;
mod patterns;
mod playlist;
mod region;
mod responder;
mod status;
mod tool;
mod transcript;
mod video;

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::Method;
use utoipa::OpenApi;
use utoipa::openapi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error_body::{ApiError, ErrorBody};
use crate::respond::Tagged;
use crate::state::AppState;
use vidra::Reason;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vidra",
        description = "Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.\n\n\
            Identifiers are bare ids or any URL that holds one. Every answer but a stream tells in `X-Quota-Cost` \
            what it cost in upstream units. Every answer that is not a success has the body \
            `{\"error\": {\"code\", \"message\", \"details\"}}`; a wrong method is 405 with `Allow`. \
            An `X-Request-Id` of up to 128 plain characters is returned as it was sent; without one every \
            answer has a new one. It is in the service's log. \
            `X-Request-Timeout` (`2`, `2.5s`, `300ms`) says how long a caller will wait; then it is 504. \
            Where the operator asks for keys, every request but those for health, this document and the pages needs one. \
            Where there is a limit, `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` tell how \
            many requests may come at once, how many are left, and in how many seconds all are there again."
    ),
    components(schemas(ErrorBody)),
    tags(
        (name = "Videos", description = "Details of videos"),
        (name = "Channels", description = "Channels and their uploads"),
        (name = "Playlists", description = "Playlists with all their videos"),
        (name = "Comments", description = "Comment threads and replies"),
        (name = "Transcripts", description = "What is said, in every format; needs no key but for playlists"),
        (name = "Regions", description = "Regions, languages and categories"),
        (name = "Links", description = "What a link names; asks nobody"),
        (name = "Tools", description = "What AI models call; `vidra tools` prints their list for function calling, and MCP is at `/mcp`"),
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
        .routes(routes!(playlist::get_playlist))
        .routes(routes!(playlist::get_playlist_info))
        .routes(routes!(playlist::get_playlist_ids))
        .routes(routes!(playlist::query_playlist))
        .routes(routes!(comment::get_comments))
        .routes(routes!(comment::get_top_comments))
        .routes(routes!(comment::get_comment_replies))
        .routes(routes!(transcript::get_transcript))
        .routes(routes!(transcript::get_tracks))
        .routes(routes!(transcript::get_playlist_transcripts))
        .routes(routes!(region::get_regions))
        .routes(routes!(region::get_languages))
        .routes(routes!(region::get_video_categories))
        .routes(routes!(link::parse_link))
        .routes(routes!(tool::run_tool))
        .routes(routes!(status::get_quota))
        .routes(routes!(status::get_cache))
        .routes(routes!(status::get_health))
        .routes(routes!(status::get_readiness))
        .routes(routes!(get_openapi));
    completed(if has_metrics { routes.routes(routes!(status::get_metrics)) } else { routes })
}

/// The routes of the admin listener.
pub(crate) fn admin_routes() -> Router<AppState> {
    let routes = OpenApiRouter::with_openapi(Info::openapi())
        .routes(routes!(status::get_health))
        .routes(routes!(status::get_readiness))
        .routes(routes!(status::get_metrics));
    completed(routes).0
}

fn completed(routes: OpenApiRouter<AppState>) -> (Router<AppState>, openapi::OpenApi) {
    let (routes, document) = routes.split_for_parts();
    let routes = routes.fallback(no_such_route).method_not_allowed_fallback(wrong_method);
    (routes, document::completed(document))
}

/// The document that `GET /openapi.json` serves.
pub fn openapi() -> openapi::OpenApi {
    routes(true).1
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "Service",
    responses((status = 200, description = "The OpenAPI 3.1 document of this service", body = Object))
)]
async fn get_openapi(State(state): State<AppState>) -> Tagged<Arc<openapi::OpenApi>> {
    Tagged(state.document)
}

/// The message has no query, which may contain a secret that somebody pasted by mistake.
pub(crate) async fn no_such_route(OriginalUri(uri): OriginalUri) -> ApiError {
    ApiError::new(Reason::RouteNotFound, format!("No such route: {}", uri.path()))
}

pub(crate) async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> ApiError {
    let message = format!("{method} is not possible on {}", uri.path());
    ApiError::new(Reason::MethodNotAllowed, message)
}
