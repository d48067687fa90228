//! `/api/playlist/…`.

use axum::Extension;
use vidra::{
    Lookup, Playlist, PlaylistId, PlaylistIds, PlaylistInfo, Resource, Selected, Selection, Vidra,
};

use super::responder::Responder;
use crate::error_body::{BodyErrors, FetchErrors, Result};
use crate::extract::{Id, JsonBody};
use crate::hot::Answer;
use crate::respond;

/// A playlist with all its videos, their numbers and total length.
#[utoipa::path(
    get, path = "/api/playlist/{id}", tag = "Playlists",
    params(("id" = String, Path, description = "Playlist id or URL with list=", example = "PLsize1")),
    responses((status = 200, description = "The playlist", body = Playlist), FetchErrors)
)]
pub(super) async fn get_playlist(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    responder.fetch(Lookup::Playlist(id)).await
}

/// A playlist without its videos.
#[utoipa::path(
    get, path = "/api/playlist/{id}/info", tag = "Playlists",
    params(("id" = String, Path, description = "Playlist id or encoded URL", example = "PLsize1")),
    responses((status = 200, description = "Title, description, pictures, owner and number of entries", body = PlaylistInfo), FetchErrors)
)]
pub(super) async fn get_playlist_info(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    responder.fetch(Lookup::PlaylistInfo(id)).await
}

/// The ids of all entries of a playlist.
#[utoipa::path(
    get, path = "/api/playlist/{id}/ids", tag = "Playlists",
    params(("id" = String, Path, description = "Playlist id or encoded URL", example = "PLsize1")),
    responses((status = 200, description = "The ids", body = PlaylistIds), FetchErrors)
)]
pub(super) async fn get_playlist_ids(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    let entries = responder.vidra.lookup(&Lookup::PlaylistEntries(id.clone())).await?;
    let ids = PlaylistIds::from_entries(id, &entries)?;
    let answer = Answer::new(Resource::Playlist, entries).with_json(&ids)?;
    Ok(responder.send(&answer).await)
}

/// A playlist, filtered, then sorted, then sliced. Without a body it is complete.
///
/// A range with an end, without filter and sort, costs only the pages that it needs. `originalCount` is then the
/// platform's own count of entries, and `unavailableCount` is left out.
#[utoipa::path(
    post, path = "/api/playlist/{id}/query", tag = "Playlists",
    params(("id" = String, Path, description = "Playlist id or encoded URL", example = "PLsize1")),
    request_body(
        content = Option<Selection>,
        example = json!({"filter": {"duration": {"min": 60}}, "sort": {"field": "views", "order": "desc"}, "range": {"start": 1, "end": 10}})
    ),
    responses((status = 200, description = "The selected part of the playlist", body = Selected), FetchErrors, BodyErrors)
)]
pub(super) async fn query_playlist(
    Extension(vidra): Extension<Vidra>,
    Id(id): Id<PlaylistId>,
    JsonBody(body): JsonBody,
) -> Result {
    let selection = body.as_ref().map(Selection::from_json).transpose()?.unwrap_or_default();
    respond::document(vidra.query_playlist_body(&id, &selection).await?).await
}
