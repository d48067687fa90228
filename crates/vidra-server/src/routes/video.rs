//! `/api/video/…` and `/api/videos`.

use axum::http::HeaderMap;
use vidra::{Error, Lookup, Resource, Video, VideoId, VideoTitle};

use super::list::{ListForm, read_include};
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::{Id, Query, invalid};
use crate::hot::Answer;

/// The maximum number of entries of `ids`.
const MAX_VIDEOS: usize = 500;

/// One video.
///
/// With its description, counts, length, dates and thumbnails.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/video/{id}", tag = "Videos",
    params(
        ("id" = String, Path),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters")
    ),
    responses((status = 200, description = "The video", body = Video), FetchErrors)
)]
pub(super) async fn get_video(
    responder: Responder,
    Id(id): Id<VideoId>,
    mut query: Query,
) -> Result {
    let include = read_include(&mut query);
    query.check()?;
    responder.including(include).fetch(Lookup::Video(id)).await
}

/// The title of a video.
///
/// It comes from the same cache entry as the video.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/video/{id}/title", tag = "Videos",
    params(("id" = String, Path)),
    responses((status = 200, description = "Id and title", body = VideoTitle), FetchErrors)
)]
pub(super) async fn get_video_title(responder: Responder, Id(id): Id<VideoId>) -> Result {
    let answer = Answer::fetch(&responder.vidra, Lookup::Video(id)).await?;
    let Video { id, title, .. } = answer.decode()?;
    Ok(responder.send(&answer.with_json(&VideoTitle { id, title })?).await)
}

/// Several videos, in the order of the request.
///
/// Videos that do not exist are left out. A video that is named twice is listed twice.
///
/// Cost: 1 unit for each 50 different videos that are not cached.
#[utoipa::path(
    get, path = "/api/videos", tag = "Videos",
    params(
        ("ids" = String, Query, description = "1 to 500 video ids or URLs, separated by commas", example = "fda4eREcaTQ,quirkNoLike"),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The videos", content(
            (Vec<Video> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_videos(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let ids = video_ids(&query.list("ids"))?;
    let form = ListForm::read::<Video>(&mut query, &headers);
    query.check()?;
    let responder = responder.including(form.include());
    let answer = Answer::new(Resource::Video, responder.vidra.videos_json(&ids).await?);
    responder.send_list::<Video>(&form, answer).await
}

const BAD_LIST: &str = "The list of videos is not valid";

/// Parses the list. The error names every malformed entry.
fn video_ids(entries: &[&str]) -> Result<Vec<VideoId>> {
    if !(1..=MAX_VIDEOS).contains(&entries.len()) {
        let fault = format!("ids: expected 1 to {MAX_VIDEOS} entries, got {}", entries.len());
        return Err(invalid(BAD_LIST, fault));
    }
    let mut faults = vec![];
    let mut add_fault = |error: Error| {
        let expected = error.details().first().and_then(|line| line.strip_prefix("video: "));
        faults.push(format!("ids: {error} ({})", expected.unwrap_or_default()));
    };
    let ids = entries.iter().filter_map(|it| VideoId::parse(it).map_err(&mut add_fault).ok());
    let ids = ids.collect();
    match faults.is_empty() {
        true => Ok(ids),
        false => Err(Error::invalid(BAD_LIST, faults).into()),
    }
}
