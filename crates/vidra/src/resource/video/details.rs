//! `VideoDetails` from YouTube's format.

use percent_encoding::percent_decode_str;

use crate::data_api::wire;
use crate::format::{self, Moment};
use crate::video::{Broadcast, Category, LiveState, RegionRestriction, ShortBasis, VideoDetails};

impl VideoDetails {
    /// Reads the details of a video. It borrows, because `Video::from_wire` consumes the video.
    pub(crate) fn from_wire(video: &wire::Video) -> Self {
        let snippet = video.snippet.as_ref();
        let content = video.content_details.as_ref();
        let status = video.status.as_ref();
        let broadcast = video.live_streaming_details.as_ref().and_then(broadcast);
        let live = snippet.and_then(|snippet| snippet.live_broadcast_content.as_deref());
        let short = short(video);
        let topics = video.topic_details.as_ref().and_then(|it| it.topic_categories.as_deref());
        Self {
            tags: snippet.and_then(|it| it.tags.clone()).unwrap_or_default(),
            category: text(snippet.map(|it| &it.category_id)).map(|id| Category::from_id(&id)),
            live: LiveState::infer(live, broadcast.as_ref()),
            broadcast,
            is_short: short.map(|(is_short, _)| is_short),
            is_short_basis: short.map(|(_, basis)| basis),
            definition: text(content.map(|it| &it.definition)),
            dimension: text(content.map(|it| &it.dimension)),
            has_captions: content.and_then(|it| it.caption),
            language: text(snippet.map(|it| &it.default_language)),
            audio_language: text(snippet.map(|it| &it.default_audio_language)),
            made_for_kids: status.and_then(|it| it.made_for_kids),
            license: text(status.map(|it| &it.license)),
            embeddable: status.and_then(|it| it.embeddable),
            topics: readable(topics.unwrap_or_default()),
            region_restriction: content.and_then(|it| restriction(it.region_restriction.as_ref()?)),
            paid_promotion: video
                .paid_product_placement_details
                .as_ref()
                .and_then(|it| it.has_paid_product_placement),
        }
    }
}

/// An empty text is a missing one.
fn text(member: Option<&Option<String>>) -> Option<String> {
    member.and_then(Option::as_ref).filter(|text| !text.is_empty()).cloned()
}

/// `None` without a time.
fn broadcast(details: &wire::LiveStreaming) -> Option<Broadcast> {
    let moment = |text: &Option<String>| {
        let moment = Moment::parse(text.as_deref());
        moment.timestamp().map(|_| moment)
    };
    let times = Broadcast {
        scheduled_start: moment(&details.scheduled_start_time),
        scheduled_end: moment(&details.scheduled_end_time),
        actual_start: moment(&details.actual_start_time),
        actual_end: moment(&details.actual_end_time),
    };
    (times != Broadcast::default()).then_some(times)
}

fn short(video: &wire::Video) -> Option<(bool, ShortBasis)> {
    let duration = video.content_details.as_ref().and_then(|it| it.duration.as_deref());
    let size = video.player.as_ref().and_then(|it| Some((it.embed_width?, it.embed_height?)));
    let size = size.filter(|(width, height)| *width > 0 && *height > 0);
    let snippet = video.snippet.as_ref();
    let title = snippet.and_then(|it| it.title.as_deref()).unwrap_or_default();
    let description = snippet.and_then(|it| it.description.as_deref()).unwrap_or_default();
    ShortBasis::infer(duration.map_or(0, format::parse_duration), size, [title, description])
}

/// The titles of Wikipedia pages, from their URLs: `…/wiki/Lifestyle_(sociology)` is `Lifestyle
/// (sociology)`.
fn readable(urls: &[String]) -> Vec<String> {
    let mut topics = vec![];
    for url in urls {
        let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let topic = percent_decode_str(name).decode_utf8_lossy().replace('_', " ");
        if !topic.is_empty() && !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics
}

/// `None` without a list.
fn restriction(regions: &wire::Regions) -> Option<RegionRestriction> {
    let wire::Regions { allowed, blocked } = regions.clone();
    let is_restricted = allowed.is_some() || blocked.is_some();
    is_restricted.then_some(RegionRestriction { allowed, blocked })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(item: Value) -> Value {
        let video: wire::Video = serde_json::from_value(item).expect("a video");
        serde_json::to_value(VideoDetails::from_wire(&video)).unwrap()
    }

    #[test]
    fn every_member_is_read() {
        let read = read(json!({
            "snippet": {
                "tags": ["a", "b"], "categoryId": "10", "liveBroadcastContent": "none",
                "defaultLanguage": "en", "defaultAudioLanguage": "de",
            },
            "contentDetails": {
                "duration": "PT1M", "definition": "hd", "dimension": "2d", "caption": "true",
                "regionRestriction": {"allowed": []},
            },
            "status": {"license": "creativeCommon", "embeddable": "true", "madeForKids": false},
            "player": {"embedWidth": "405", "embedHeight": "720"},
            "topicDetails": {"topicCategories": [
                "https://en.wikipedia.org/wiki/Music",
                "https://en.wikipedia.org/wiki/Lifestyle_(sociology)",
                "https://en.wikipedia.org/wiki/Caf%C3%A9/",
                "https://en.wikipedia.org/wiki/Music",
            ]},
            "paidProductPlacementDetails": {"hasPaidProductPlacement": true},
        }));
        let expected = json!({
            "tags": ["a", "b"],
            "category": {"id": "10", "title": "Music"},
            "live": "none",
            "isShort": true,
            "isShortBasis": "aspect",
            "definition": "hd",
            "dimension": "2d",
            "hasCaptions": true,
            "language": "en",
            "audioLanguage": "de",
            "madeForKids": false,
            "license": "creativeCommon",
            "embeddable": true,
            "topics": ["Music", "Lifestyle (sociology)", "Café"],
            "regionRestriction": {"allowed": []},
            "paidPromotion": true,
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn odd_members_are_absent() {
        let odd = [json!(null), json!(1), json!(true), json!("x"), json!([]), json!({})];
        let parts = ["snippet", "contentDetails", "status", "player", "liveStreamingDetails"];
        for value in odd {
            for part in parts.iter().chain(&["topicDetails", "paidProductPlacementDetails"]) {
                assert_eq!(read(json!({ *part: value })), json!({}), "{part}: {value}");
            }
        }
        let inside = json!({
            "snippet": {"tags": "a", "categoryId": {}, "liveBroadcastContent": 1, "defaultLanguage": ""},
            "contentDetails": {"duration": 5, "caption": 1, "regionRestriction": {"blocked": "DE"}},
            "status": {"embeddable": "perhaps", "madeForKids": null, "license": []},
            "player": {"embedWidth": "0", "embedHeight": "0"},
            "liveStreamingDetails": {"actualStartTime": "soon"},
            "topicDetails": {"topicCategories": [null, {}, ""]},
        });
        assert_eq!(read(inside), json!({}));
        let unknown = read(json!({"snippet": {"categoryId": "99"}}));
        assert_eq!(unknown, json!({"category": {"id": "99"}}), "no title is invented");
    }

    #[test]
    fn shorts_are_inferred_from_aspect_hashtag_and_length() {
        let vertical = json!({"embedWidth": "405", "embedHeight": 720});
        let square = json!({"embedWidth": 720, "embedHeight": 720});
        let wide = json!({"embedWidth": "1280", "embedHeight": "720"});
        let none = json!(null);
        let table = [
            ("PT1M", &vertical, "", Some((true, "aspect"))),
            ("PT3M", &square, "", Some((true, "aspect"))),
            ("PT1M", &wide, "", Some((false, "aspect"))),
            // The size is better than the hashtag.
            ("PT1M", &wide, "#shorts", Some((false, "aspect"))),
            ("PT3M1S", &vertical, "#shorts", Some((false, "length"))),
            ("PT3M1S", &none, "", Some((false, "length"))),
            ("PT3M", &none, "Wow! #Shorts", Some((true, "hashtag"))),
            ("PT3M", &none, "#shorts, #news", Some((true, "hashtag"))),
            ("PT3M", &none, "ü#SHORTS", Some((true, "hashtag"))),
            ("PT3M", &none, "#shortstory #shorts_", None),
            ("PT3M", &none, "shorts", None),
            // Live and upcoming broadcasts, and unknown lengths.
            ("P0D", &vertical, "#shorts", None),
            ("", &vertical, "#shorts", None),
        ];
        for (duration, player, text, expected) in table {
            for member in ["title", "description"] {
                let read = read(json!({
                    "snippet": {member: text}, "player": player,
                    "contentDetails": {"duration": duration},
                }));
                let expected = expected.map_or(
                    json!({}),
                    |(is_short, basis)| json!({"isShort": is_short, "isShortBasis": basis}),
                );
                assert_eq!(read, expected, "{duration} {player} {text}");
            }
        }
    }

    #[test]
    fn the_state_of_a_broadcast_follows_from_its_times() {
        let at = "2026-01-01T00:00:00Z";
        let scheduled = json!({"scheduledStartTime": at});
        let started = json!({"scheduledStartTime": at, "actualStartTime": at});
        let ended = json!({"actualStartTime": at, "actualEndTime": at});
        let table = [
            (json!("none"), json!(null), json!("none")),
            (json!("upcoming"), scheduled.clone(), json!("upcoming")),
            (json!("live"), started.clone(), json!("live")),
            (json!("live"), json!(null), json!("live")),
            (json!("completed"), json!(null), json!("ended")),
            (json!("none"), ended.clone(), json!("ended")),
            // It is not live any more, although its end is missing.
            (json!("none"), started.clone(), json!("ended")),
            // It was planned and never started.
            (json!("none"), scheduled.clone(), json!("none")),
            (json!(null), scheduled, json!("upcoming")),
            (json!(null), started, json!("live")),
            (json!(null), ended, json!("ended")),
            (json!(null), json!({"activeLiveChatId": "x"}), json!(null)),
            (json!("a new word"), json!(null), json!(null)),
        ];
        for (content, details, expected) in table {
            let item = json!({
                "snippet": {"liveBroadcastContent": content}, "liveStreamingDetails": details,
            });
            assert_eq!(read(item.clone())["live"], expected, "{item}");
        }
    }
}
