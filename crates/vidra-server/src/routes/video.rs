//! `/api/video/…` and `/api/videos`.

use axum::response::Response;
use vidra::{Ask, Error, Resource, Video, VideoId, VideoTitle};

use super::responder::Responder;
use crate::error_body::{AskErrors, Result};
use crate::extract::{Id, Query};
use crate::hot::Answer;

/// The most entries of `ids`.
const MAX_VIDEOS: usize = 500;

/// One video.
#[utoipa::path(
    get, path = "/api/video/{id}", tag = "Videos",
    params(("id" = String, Path, description = "Video id or URL", example = "fda4eREcaTQ")),
    responses((status = 200, description = "The video", body = Video), AskErrors)
)]
pub(super) async fn get_video(responder: Responder, Id(id): Id<VideoId>) -> Result<Response> {
    responder.fetch(Ask::Video(id)).await
}

/// A video's title alone.
#[utoipa::path(
    get, path = "/api/video/{id}/title", tag = "Videos",
    params(("id" = String, Path, description = "Video id or encoded URL", example = "fda4eREcaTQ")),
    responses((status = 200, description = "Id and title", body = VideoTitle), AskErrors)
)]
pub(super) async fn get_video_title(responder: Responder, Id(id): Id<VideoId>) -> Result<Response> {
    let answer = Answer::fetch(&responder.vidra, Ask::Video(id)).await?;
    let Video { id, title, .. } = answer.decode()?;
    Ok(responder.send(&answer.with_json(&VideoTitle { id, title })?))
}

/// Several videos, in the order asked; those that the platform does not know are left out.
#[utoipa::path(
    get, path = "/api/videos", tag = "Videos",
    params(("ids" = String, Query, description = "1 to 500 video ids or URLs, separated by commas", example = "fda4eREcaTQ,quirkNoLike")),
    responses((status = 200, description = "The videos", body = Vec<Video>), AskErrors)
)]
pub(super) async fn get_videos(responder: Responder, query: Query) -> Result<Response> {
    let ids = video_ids(&query.list("ids"))?;
    let answer = Answer::new(Resource::Video, responder.vidra.videos_json(&ids).await?);
    Ok(responder.send(&answer))
}

/// Parses the list. The error names every malformed entry.
fn video_ids(entries: &[&str]) -> vidra::Result<Vec<VideoId>> {
    if !(1..=MAX_VIDEOS).contains(&entries.len()) {
        let fault = format!("ids: expected 1 to {MAX_VIDEOS} entries, got {}", entries.len());
        return Err(Error::invalid("The list of videos is not valid", vec![fault]));
    }
    let mut faults = vec![];
    let mut ids = Vec::with_capacity(entries.len());
    for entry in entries {
        match VideoId::parse(entry) {
            Ok(id) => ids.push(id),
            Err(error) => {
                let expected =
                    error.details().first().and_then(|line| line.strip_prefix("video: "));
                faults.push(format!("ids: {} ({})", error.message(), expected.unwrap_or_default()));
            }
        }
    }
    if faults.is_empty() {
        Ok(ids)
    } else {
        Err(Error::invalid("The list of videos is not valid", faults))
    }
}
