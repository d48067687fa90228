//! The parts of a video.

use super::thumbnails;
use crate::hash::hash;
use crate::quirk::VideoQuirk as Q;
use crate::world::World;
use crate::world::caption::Maker;
use crate::world::clock::{self, DAY, LAST};
use crate::world::text::{category, topics as topics_of};
use crate::world::video::{Broadcast, Video};
use serde_json::{Value, json};

pub(super) fn localized(video: &Video) -> Value {
    json!({"title": video.title, "description": video.description})
}

fn published_at(video: &Video) -> String {
    match video.quirk {
        Some(Q::Fraction(digits)) => clock::iso_with(video.published, digits),
        _ => clock::iso(video.published),
    }
}

/// `liveBroadcastContent`: a broadcast that has ended is like an upload.
pub(in crate::data_api) fn live_content(video: &Video) -> &'static str {
    match video.broadcast() {
        Some(Broadcast::Upcoming) => "upcoming",
        Some(Broadcast::Live) => "live",
        Some(Broadcast::Ended) | None => "none",
    }
}

pub(super) fn snippet(video: &Video) -> Value {
    let quirk = video.quirk;
    let live = live_content(video);
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
    if quirk == Some(Q::Languages) {
        snippet["defaultLanguage"] = "de".into();
        snippet["defaultAudioLanguage"] = "en-GB".into();
    }
    snippet
}

pub(super) fn content_details(world: &World, video: &Video) -> Value {
    let by_hand = world.tracks(video).iter().any(|track| track.maker == Maker::Person);
    let duration = match video.quirk {
        Some(Q::Duration(text)) => text.to_owned(),
        Some(Q::Premiere) => clock::duration(video.seconds),
        _ if !video.has_recording() => "P0D".to_owned(),
        _ => clock::duration(video.seconds),
    };
    if video.quirk == Some(Q::Sparse) {
        return json!({"duration": duration});
    }
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
        Some(Q::AllowedNowhere) => details["regionRestriction"] = json!({"allowed": []}),
        Some(Q::AgeRestricted) => {
            details["contentRating"] = json!({"ytRating": "ytAgeRestricted"});
        }
        Some(Q::Stereoscopic) => {
            details["dimension"] = "3d".into();
            details["projection"] = "360".into();
        }
        Some(Q::EmptyRating) => {
            details.as_object_mut().and_then(|members| members.remove("contentRating"));
        }
        _ => {}
    }
    details
}

/// The views that the platform shows: none before a broadcast.
fn shown_views(video: &Video) -> u64 {
    match video.quirk {
        // The documented video with nothing but its scheduled time has views.
        Some(Q::ScheduledOnly) => video.views,
        _ if video.broadcast() == Some(Broadcast::Upcoming) => 0,
        _ => video.views,
    }
}

/// The counts, as strings. Some videos lack some of them.
pub(super) fn statistics(world: &World, video: &Video) -> Value {
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
        all["viewCount"] = count(shown_views(video));
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

pub(super) fn status(video: &Video) -> Value {
    let quirk = video.quirk;
    let is_waiting = video.broadcast() == Some(Broadcast::Upcoming)
        || matches!(quirk, Some(Q::Processing | Q::EndedProcessing));
    let upload = if is_waiting { "uploaded" } else { "processed" };
    let privacy = if quirk == Some(Q::Unlisted) { "unlisted" } else { "public" };
    if quirk == Some(Q::Sparse) {
        return json!({"uploadStatus": upload, "privacyStatus": privacy});
    }
    let is_free = quirk == Some(Q::CreativeCommons) || video.key.1.is_multiple_of(9);
    json!({
        "uploadStatus": upload,
        "privacyStatus": privacy,
        "license": if is_free { "creativeCommon" } else { "youtube" },
        "embeddable": quirk != Some(Q::NotEmbeddable),
        "publicStatsViewable": true,
        "madeForKids": quirk == Some(Q::ForKids),
    })
}

/// One video in twelve has a paid promotion.
pub(super) fn is_paid(video: &Video) -> bool {
    let draw = hash(0, "paid", &[u64::from(video.key.0), u64::from(video.key.1)]);
    video.quirk == Some(Q::PaidPromotion) || video.quirk.is_none() && draw.is_multiple_of(12)
}

/// Two videos of three have topics.
pub(super) fn topics(video: &Video) -> Option<Value> {
    let url = |name: &&str| format!("https://en.wikipedia.org/wiki/{name}");
    match video.quirk {
        Some(Q::Topics) => {
            let names = ["Music", "Jazz", "Lifestyle_(sociology)", ""];
            let ids = ["/m/04rlf", "/m/03_d0", "/m/04rlf", "/m/03_d0"];
            let categories: Vec<_> = names.iter().map(url).collect();
            Some(json!({"topicCategories": categories, "relevantTopicIds": ids, "topicIds": ids}))
        }
        Some(Q::Sparse) => Some(json!({})),
        _ if video.key.1.is_multiple_of(3) => None,
        _ => {
            let categories: Vec<_> = topics_of(video.channel.theme).iter().map(url).collect();
            Some(json!({"topicCategories": categories}))
        }
    }
}

pub(super) fn live_details(video: &Video) -> Option<Value> {
    const CHAT: &str = "Cg0KC3F1aXJrTGl2ZU9u";
    let broadcast = video.broadcast()?;
    let at = |offset: i64| clock::iso(video.published + offset);
    if let Some((_, end)) = video.scheduled_end {
        let start = clock::iso(end - video.seconds as i64);
        let mut details = json!({"actualStartTime": start, "scheduledStartTime": start});
        if broadcast == Broadcast::Ended {
            details["actualEndTime"] = clock::iso(end).into();
        } else {
            details["concurrentViewers"] = "412".into();
            details["activeLiveChatId"] = CHAT.into();
        }
        return Some(details);
    }
    Some(match (video.quirk, broadcast) {
        (Some(Q::Upcoming | Q::ScheduledOnly), _) => json!({"scheduledStartTime": at(DAY)}),
        (Some(Q::Overdue), _) => json!({"scheduledStartTime": at(-700 * DAY)}),
        // After the newest video: the world has no other present.
        (_, Broadcast::Upcoming) => {
            json!({"scheduledStartTime": clock::iso(LAST + 3 * DAY), "activeLiveChatId": CHAT})
        }
        (Some(Q::LiveWithoutViewers), _) => {
            json!({"actualStartTime": at(60), "scheduledStartTime": at(0), "activeLiveChatId": CHAT})
        }
        (Some(Q::LiveUnscheduled), _) => {
            json!({"actualStartTime": at(60), "concurrentViewers": "17", "activeLiveChatId": CHAT})
        }
        (_, Broadcast::Live) => {
            json!({"actualStartTime": at(60), "scheduledStartTime": at(0), "concurrentViewers": "1289", "activeLiveChatId": CHAT})
        }
        (Some(Q::PastLive), _) => {
            json!({"actualStartTime": at(47), "actualEndTime": at(3657), "scheduledStartTime": at(0), "scheduledEndTime": at(3600)})
        }
        (Some(Q::EndedUnscheduled), _) => {
            json!({"actualStartTime": at(0), "actualEndTime": at(3600)})
        }
        (_, Broadcast::Ended) => {
            let end = at(75 + video.seconds as i64);
            json!({"actualStartTime": at(75), "actualEndTime": end, "scheduledStartTime": at(0)})
        }
    })
}
