//! `videos.list`

mod chart;
mod embed;
mod members;

use super::error::ApiError;
use super::page::counted;
use super::parts::{Parts, bare};
use super::{Answer, Style, thumbnails};
use crate::hash::hash;
use crate::query::Query;
use crate::quirk::{self, Case, VideoQuirk as Q};
use crate::world::World;
use crate::world::video::Video;
use embed::Limits;
pub(super) use members::live_content;
use serde_json::{Value, json};

const PARTS: &[&str] = &[
    "contentDetails",
    "fileDetails",
    "liveStreamingDetails",
    "localizations",
    "paidProductPlacementDetails",
    "player",
    "processingDetails",
    "recordingDetails",
    "snippet",
    "statistics",
    "status",
    "suggestions",
    "topicDetails",
];
/// The most identifiers of one call.
const MOST: usize = 50;

/// The requested members of each video.
struct Wanted<'a> {
    parts: Parts<'a>,
    limits: Limits,
}

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let wanted = Wanted { parts: Parts::read(query, PARTS)?, limits: Limits::read(query)? };
    let ids = query.list("id");
    match (ids.is_empty(), query.get("chart")) {
        (false, None) => by_id(world, &wanted, &ids),
        (true, Some("mostPopular")) => chart::list(world, query, &wanted),
        (true, Some(name)) => Err(ApiError::invalid_value("chart", name)),
        (false, Some(_)) => Err(ApiError::incompatible("id, chart")),
        _ => Err(ApiError::missing_filter("chart, id, idParam, myRating")),
    }
}

fn by_id(world: &World, wanted: &Wanted<'_>, ids: &[&str]) -> Result<Answer, ApiError> {
    if ids.len() > MOST {
        return Err(ApiError::too_many("id"));
    }
    refuse(ids)?;
    let mut videos: Vec<Video> = ids.iter().filter_map(|id| world.video_by_id(id)).collect();
    // The platform promises no order. This one differs from the request and is stable.
    videos.sort_by_key(|video| hash(0, &video.id, &[]));
    videos.dedup_by_key(|video| video.key);
    let old = videos.iter().any(|video| video.quirk == Some(Q::OldEra));
    let items: Vec<_> = videos.iter().map(|video| item(world, wanted, video)).collect();
    let count = items.len() as u32;
    let body = counted("video", items, count, count);
    Ok(Answer::styled(body, if old { Style::Of2019 } else { Style::Today }))
}

/// Fails if one of the identifiers has a documented error.
pub(super) fn refuse(ids: &[&str]) -> Result<(), ApiError> {
    for id in ids {
        if let Some((_, quirk::Quirk { case: Case::Error(reason), .. })) = quirk::find(id) {
            return Err(ApiError::by_reason(reason));
        }
    }
    Ok(())
}

fn item(world: &World, wanted: &Wanted<'_>, video: &Video) -> Value {
    if video.quirk == Some(Q::Bare) {
        return Value::Object(bare(world, "video", &video.id));
    }
    wanted.parts.item(world, "video", &video.id, |part| match part {
        "snippet" => Some(members::snippet(video)),
        "contentDetails" => Some(members::content_details(world, video)),
        "statistics" => Some(members::statistics(world, video)),
        "status" => Some(members::status(video)),
        "player" => (video.quirk != Some(Q::Sparse)).then(|| embed::player(video, wanted.limits)),
        "liveStreamingDetails" => members::live_details(video),
        "topicDetails" => members::topics(video),
        "recordingDetails" => match video.quirk {
            Some(Q::EmptyRating) => Some(json!({})),
            Some(Q::Recorded) => Some(json!({"recordingDate": "2024-07-03T00:00:00Z"})),
            _ => None,
        },
        "paidProductPlacementDetails" => {
            Some(json!({"hasPaidProductPlacement": members::is_paid(video)}))
        }
        "localizations" => {
            video.key.1.is_multiple_of(4).then(|| json!({"en": members::localized(video)}))
        }
        _ => None,
    })
}
