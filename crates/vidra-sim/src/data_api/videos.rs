//! `videos.list`

use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::{Parts, bare};
use super::{Answer, Style, thumbnails};
use crate::hash::hash;
use crate::query::Query;
use crate::quirk::{self, Case, VideoQuirk as Q};
use crate::token::Pager;
use crate::world::World;
use crate::world::caption::Maker;
use crate::world::clock::{self, DAY};
use crate::world::text::category;
use crate::world::video::Video;
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
/// The length of the chart.
const CHART: u32 = 120;

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, PARTS)?;
    let ids = query.list("id");
    match (ids.is_empty(), query.get("chart")) {
        (false, None) => by_id(world, &parts, &ids),
        (true, Some("mostPopular")) => chart(world, query, &parts),
        (false, Some(_)) => Err(ApiError::incompatible("id, chart")),
        _ => Err(ApiError::missing_filter("chart, id, idParam, myRating")),
    }
}

fn by_id(world: &World, parts: &Parts<'_>, ids: &[&str]) -> Result<Answer, ApiError> {
    if ids.len() > MOST {
        return Err(ApiError::too_many("id"));
    }
    refuse(ids)?;
    let mut videos: Vec<Video> = ids.iter().filter_map(|id| world.video_by_id(id)).collect();
    // The platform promises no order. This one differs from the request and is stable.
    videos.sort_by_key(|video| hash(0, &video.id, &[]));
    videos.dedup_by_key(|video| video.key);
    let old = videos.iter().any(|video| video.quirk == Some(Q::OldEra));
    let items: Vec<_> = videos.iter().map(|video| item(world, parts, video)).collect();
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

fn chart(world: &World, query: &Query, parts: &Parts<'_>) -> Result<Answer, ApiError> {
    let size = query.number("maxResults", 5, 1..=50)?;
    let page = Page::read(query, Pager::short("chart"), size, CHART)?;
    let items: Vec<_> = page
        .range()
        .filter_map(|n| world.video((n % 20, n / 20)))
        .map(|v| item(world, parts, &v))
        .collect();
    let mut body = counted("video", items, CHART, size);
    page.link(&mut body);
    Ok(Answer::new(body))
}

fn item(world: &World, parts: &Parts<'_>, video: &Video) -> Value {
    if video.quirk == Some(Q::Bare) {
        return Value::Object(bare(world, "video", &video.id));
    }
    parts.item(world, "video", &video.id, |part| match part {
        "snippet" => Some(snippet(video)),
        "contentDetails" => Some(content_details(world, video)),
        "statistics" => Some(statistics(world, video)),
        "status" => Some(status(video)),
        "player" => Some(player(video)),
        "liveStreamingDetails" => live_details(video),
        "topicDetails" => (!video.key.1.is_multiple_of(3))
            .then(|| json!({"topicCategories": ["https://en.wikipedia.org/wiki/Hobby"]})),
        "recordingDetails" => (video.quirk == Some(Q::EmptyRating)).then(|| json!({})),
        "paidProductPlacementDetails" => Some(json!({"hasPaidProductPlacement": false})),
        "localizations" => video.key.1.is_multiple_of(4).then(|| json!({"en": localized(video)})),
        _ => None,
    })
}

fn localized(video: &Video) -> Value {
    json!({"title": video.title, "description": video.description})
}

fn published_at(video: &Video) -> String {
    match video.quirk {
        Some(Q::Fraction(digits)) => clock::iso_with(video.published, digits),
        _ => clock::iso(video.published),
    }
}

fn snippet(video: &Video) -> Value {
    let quirk = video.quirk;
    let live = match quirk {
        Some(Q::Upcoming | Q::ScheduledOnly) => "upcoming",
        Some(Q::Live) => "live",
        _ => "none",
    };
    let mut snippet = json!({
        "publishedAt": published_at(video),
        "channelId": video.channel.id,
        "title": video.title,
        "description": video.description,
        "thumbnails": thumbnails::video(&video.id, video.thumbnails, live != "none"),
        "channelTitle": video.channel.title,
        "categoryId": category(video.channel.theme),
        "liveBroadcastContent": live,
        "localized": localized(video),
    });
    if quirk != Some(Q::NoTags) {
        if !video.tags.is_empty() {
            snippet["tags"] = json!(video.tags);
        }
        if !video.key.1.is_multiple_of(3) {
            snippet["defaultLanguage"] = video.channel.language.into();
        }
        if !video.key.1.is_multiple_of(5) {
            snippet["defaultAudioLanguage"] = video.channel.language.into();
        }
    }
    snippet
}

fn content_details(world: &World, video: &Video) -> Value {
    let by_hand = world.tracks(video).iter().any(|track| track.maker == Maker::Person);
    let duration = match video.quirk {
        Some(Q::Duration(text)) => text.to_owned(),
        Some(Q::Upcoming | Q::ScheduledOnly | Q::Live | Q::Processing) => "P0D".to_owned(),
        _ => clock::duration(video.seconds),
    };
    let mut details = json!({
        "duration": duration,
        "dimension": "2d",
        "definition": if video.thumbnails == 3 { "sd" } else { "hd" },
        // The only boolean that is a string. Generated captions do not count.
        "caption": if by_hand { "true" } else { "false" },
        "licensedContent": video.channel.subscribers > 10_000,
        "contentRating": {},
        "projection": "rectangular",
    });
    match video.quirk {
        Some(Q::Blocked) => details["regionRestriction"] = json!({"blocked": ["BY", "RU"]}),
        Some(Q::Allowed) => details["regionRestriction"] = json!({"allowed": ["AT", "CH", "DE"]}),
        Some(Q::EmptyRating) => {
            details.as_object_mut().and_then(|members| members.remove("contentRating"));
        }
        _ => {}
    }
    details
}

/// The counts, as strings. Some videos lack some of them.
fn statistics(world: &World, video: &Video) -> Value {
    let count = |n: u64| Value::from(n.to_string());
    let mut all = json!({"favoriteCount": "0"});
    let (views, likes, comments) = match video.quirk {
        Some(Q::NoLikes) => (true, false, true),
        Some(Q::NoComments) => (true, true, false),
        Some(Q::NoViews) => (false, true, false),
        Some(Q::FavouritesOnly) => (false, false, false),
        _ => (true, true, true),
    };
    if views {
        all["viewCount"] = count(if video.quirk == Some(Q::Upcoming) { 0 } else { video.views });
    }
    if likes {
        all["likeCount"] = count(video.likes);
    }
    if comments {
        all["commentCount"] = count(world.comment_count(video));
    }
    if video.quirk == Some(Q::OldEra) {
        all["dislikeCount"] = count(video.likes / 30);
    }
    all
}

fn status(video: &Video) -> Value {
    let waiting = matches!(video.quirk, Some(Q::Upcoming | Q::ScheduledOnly | Q::Processing));
    json!({
        "uploadStatus": if waiting { "uploaded" } else { "processed" },
        "privacyStatus": "public",
        "license": if video.key.1.is_multiple_of(9) { "creativeCommon" } else { "youtube" },
        "embeddable": true,
        "publicStatsViewable": true,
        "madeForKids": false,
    })
}

fn player(video: &Video) -> Value {
    let html = format!(
        "<iframe width=\"480\" height=\"270\" src=\"//www.youtube.com/embed/{}\" frameborder=\"0\" allow=\"accelerometer; autoplay; clipboard-write; encrypted-media; gyroscope; picture-in-picture; web-share\" referrerpolicy=\"strict-origin-when-cross-origin\" allowfullscreen></iframe>",
        video.id
    );
    json!({"embedHtml": html})
}

fn live_details(video: &Video) -> Option<Value> {
    let at = |offset: i64| clock::iso(video.published + offset);
    Some(match video.quirk? {
        Q::Upcoming | Q::ScheduledOnly => json!({"scheduledStartTime": at(DAY)}),
        Q::Live => {
            json!({"actualStartTime": at(60), "scheduledStartTime": at(0), "concurrentViewers": "1289", "activeLiveChatId": "Cg0KC3F1aXJrTGl2ZU9u"})
        }
        Q::PastLive => {
            json!({"actualStartTime": at(47), "actualEndTime": at(3657), "scheduledStartTime": at(0), "scheduledEndTime": at(3600)})
        }
        _ => return None,
    })
}
