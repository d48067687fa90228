//! `/api/playlist/…`.

use axum::Extension;
use vidra::{
    Lookup, Playlist, PlaylistId, PlaylistIds, PlaylistInfo, Resource, Selected, Selection, Vidra,
};

use super::responder::Responder;
use crate::error_body::{BodyErrors, FetchErrors, Result};
use crate::extract::{Id, JsonBody};
use crate::hot::Answer;
use crate::respond::Tagged;

/// A playlist with all its videos.
///
/// With the totals of their counts and lengths. Private and deleted entries are counted in `unavailableCount`.
///
/// Cost: 1 unit, and 2 per 50 videos.
#[utoipa::path(
    get, path = "/api/playlist/{id}", tag = "Playlists",
    params(("id" = String, Path)),
    responses((status = 200, description = "The playlist", body = Playlist), FetchErrors)
)]
pub(super) async fn get_playlist(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    responder.fetch(Lookup::Playlist(id)).await
}

/// A playlist without its videos.
///
/// `itemCount` is the number of entries, from which the cost of the whole playlist can be estimated.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/playlist/{id}/info", tag = "Playlists",
    params(("id" = String, Path)),
    responses((status = 200, description = "Title, description, pictures, owner and number of entries", body = PlaylistInfo), FetchErrors)
)]
pub(super) async fn get_playlist_info(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    responder.fetch(Lookup::PlaylistInfo(id)).await
}

/// The ids of all entries of a playlist.
///
/// Private and deleted entries are included.
///
/// Cost: 1 unit per 50 entries.
#[utoipa::path(
    get, path = "/api/playlist/{id}/ids", tag = "Playlists",
    params(("id" = String, Path)),
    responses((status = 200, description = "The ids", body = PlaylistIds), FetchErrors)
)]
pub(super) async fn get_playlist_ids(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    let entries = responder.vidra.lookup(&Lookup::PlaylistEntries(id.clone())).await?;
    let ids = PlaylistIds::from_entries(id, &entries)?;
    let answer = Answer::new(Resource::Playlist, entries).with_json(&ids)?;
    Ok(responder.send(&answer).await)
}

/// A playlist, filtered, then sorted, then sliced.
///
/// Without a body it is complete. A range with an end, without filter and sort, costs only the pages that it needs.
/// `originalCount` is then YouTube's own count of entries, and `unavailableCount` is left out.
///
/// Cost: as the playlist, 1 unit and 2 per 50 videos; with such a range only the part up to its end.
#[utoipa::path(
    post, path = "/api/playlist/{id}/query", tag = "Playlists",
    params(("id" = String, Path)),
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
) -> Result<Tagged<Selected>> {
    let selection = body.as_ref().map(Selection::from_json).transpose()?.unwrap_or_default();
    Ok(Tagged(vidra.query_playlist(&id, &selection).await?))
}
