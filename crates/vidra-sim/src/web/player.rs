//! `POST /youtubei/v1/player`

mod details;
mod refusal;
mod tracklist;

use super::client::{self, Client};
use super::{bad_request, error, json_reply, scene, secret, trouble};
use crate::call::Call;
use crate::platform::Platform;
use crate::quirk::{self, Case, Refusal, Scene, Trouble, VideoQuirk};
use crate::response::Dropped;
use crate::world::clock;
use crate::world::playlist::State;
use crate::world::video::{Broadcast, Video};
use axum::body::Body;
use http::{Method, Response};
use serde_json::{Value, json};

/// The inputs of a player answer besides the video: client, language, origin, expiry and seed.
pub(super) struct PlayerContext<'a> {
    pub(super) client: &'static Client,
    pub(super) hl: &'a str,
    pub(super) origin: &'a str,
    /// The expiry of URLs in the answer, in seconds since 1970.
    pub(super) expire: i64,
    pub(super) seed: u64,
}

/// The lifetime of a URL: seven hours.
const LIFE: i64 = 25_200;

pub(super) async fn answer(platform: &Platform, call: &Call) -> Result<Response<Body>, Dropped> {
    let id = call.query.get("videoId").unwrap_or_default();
    let trouble = match scene(id) {
        Some(Scene::Player(trouble)) => trouble,
        _ => return Ok(plain(platform, call, id)),
    };
    trouble::apply(trouble, platform, call, plain(platform, call, id)).await
}

fn plain(platform: &Platform, call: &Call, id: &str) -> Response<Body> {
    if call.head.method != Method::POST {
        return error(405);
    }
    let Some(player) = player_context(platform, call) else {
        return bad_request("Request contains an invalid argument.");
    };
    if id.is_empty() {
        return bad_request("Request contains an invalid argument.");
    }
    if scene(id).is_some_and(Scene::needs_page) && !knows_the_page(platform, call) {
        return error(400);
    }
    json_reply(200, &body(platform, &player, id), call.query.get("prettyPrint") == Some("false"))
}

/// The bot wall for a blocked address.
pub(super) fn bot_wall(platform: &Platform, call: &Call) -> Response<Body> {
    let Some(player) = player_context(platform, call) else { return error(400) };
    let status = refusal::status(Refusal::Bot, &player, "");
    json_reply(200, &with_context(&player, json!({"playabilityStatus": status})), true)
}

fn player_context<'a>(platform: &Platform, call: &'a Call) -> Option<PlayerContext<'a>> {
    let context = &call.json["context"]["client"];
    let client = client::find(context["clientName"].as_str()?)?;
    context["clientVersion"].as_str()?;
    let sent = context["hl"].as_str().or_else(|| call.header("accept-language"));
    let id = call.query.get("videoId").unwrap_or_default();
    let expired = match scene(id) {
        Some(Scene::TimedText(Trouble::Expired)) => true,
        Some(Scene::TimedText(Trouble::ExpiredOnce)) => platform.count_call(call) == 1,
        _ => false,
    };
    let expire = platform.hour() + if expired { -3600 } else { LIFE };
    Some(PlayerContext {
        client,
        hl: sent.unwrap_or("en"),
        origin: &call.origin,
        expire,
        seed: platform.seed(),
    })
}

/// Whether the call carries the visitor or the key of the watch page.
fn knows_the_page(platform: &Platform, call: &Call) -> bool {
    let visitor = secret::visitor(platform.seed());
    let sent = call.header("x-goog-visitor-id");
    let in_context = call.json["context"]["client"]["visitorData"].as_str();
    sent == Some(&visitor)
        || in_context == Some(&visitor)
        || call.query.get("key") == Some(&secret::innertube_key(platform.seed()))
}

/// The answer about a video, as the watch page embeds it for WEB.
pub(super) fn embedded(platform: &Platform, call: &Call, id: &str) -> Value {
    let player = PlayerContext {
        client: client::WEB,
        hl: call.header("accept-language").unwrap_or("en"),
        origin: &call.origin,
        expire: platform.hour() + LIFE,
        seed: platform.seed(),
    };
    body(platform, &player, id)
}

fn body(platform: &Platform, player: &PlayerContext<'_>, id: &str) -> Value {
    let world = platform.world();
    let video = world.video_by_id(id);
    let state = world.video_key(id).map_or(State::Public, |key| world.state(key));
    match (refused(player, id, video.as_ref(), state), &video) {
        (Some(Refusal::EmptyObject), _) => json!({}),
        (Some(Refusal::WrongVideo), Some(video)) => {
            let mut body = playable(platform, player, video);
            body["videoDetails"]["videoId"] = "aQvGIIdgFDM".into();
            body
        }
        (Some(Refusal::NoStatus), Some(video)) => {
            let mut body = playable(platform, player, video);
            body.as_object_mut().and_then(|members| members.remove("playabilityStatus"));
            body
        }
        (Some(refusal), video) => {
            with_context(player, refused_body(player, refusal, id, video.as_ref()))
        }
        (None, Some(video)) => playable(platform, player, video),
        (None, None) => with_context(player, refused_body(player, Refusal::Unavailable, id, None)),
    }
}

/// Why this client may not play the video; `None` if it may.
fn refused(
    player: &PlayerContext<'_>,
    id: &str,
    video: Option<&Video>,
    state: State,
) -> Option<Refusal> {
    match state {
        State::Public => {}
        State::Private => return Some(Refusal::Private),
        State::Deleted | State::Unpublished => return Some(Refusal::Unavailable),
    }
    let refusal = match quirk::find(id).map(|(_, entry)| entry.case) {
        Some(Case::Transcript(Scene::Refusal(refusal))) => refusal,
        Some(Case::Video(VideoQuirk::Private)) => Refusal::Private,
        _ => match video {
            None => return Some(Refusal::Unavailable),
            Some(video) if video.has_recording() => return None,
            Some(video) => match video.broadcast() {
                Some(Broadcast::Upcoming) => Refusal::Upcoming,
                Some(Broadcast::Live) => Refusal::Live,
                Some(Broadcast::Ended) => Refusal::Ended,
                None => Refusal::Processing,
            },
        },
    };
    refusal::for_client(refusal, player.client.name)
}

fn refused_body(
    player: &PlayerContext<'_>,
    refusal: Refusal,
    id: &str,
    video: Option<&Video>,
) -> Value {
    let mut body = json!({"playabilityStatus": refusal::status(refusal, player, id)});
    if let Some(video) = video.filter(|_| refusal::shows_details(refusal)) {
        body["videoDetails"] = details::video_details(video, Some(refusal));
    }
    if refusal == Refusal::LiveCaptions {
        body["captions"] = json!({"playerCaptionsRenderer": {
            "baseUrl": format!("{}/api/timedtext?v={id}&caps=asr&hl=en", player.origin),
            "visibility": "CAPTIONS_VISIBILITY_UNKNOWN",
        }});
    }
    body
}

fn playable(platform: &Platform, player: &PlayerContext<'_>, video: &Video) -> Value {
    let mut body = json!({
        "playabilityStatus": details::playable(player.client),
        "streamingData": {"expiresInSeconds": "21540"},
        "videoDetails": details::video_details(video, None),
    });
    if let Some(captions) = tracklist::captions(&platform.world(), player, video) {
        body["captions"] = captions;
    }
    let mut body = with_context(player, body);
    if let Some(page) = body.pointer_mut("/microformat/playerMicroformatRenderer") {
        page["publishDate"] = clock::iso(video.published).into();
    }
    body
}

/// Adds the members of every answer, and those of web clients.
fn with_context(player: &PlayerContext<'_>, mut body: Value) -> Value {
    body["responseContext"] = json!({
        "visitorData": secret::visitor(player.seed),
        "serviceTrackingParams": [{"service": "GFEEDBACK", "params": [{"key": "logged_in", "value": "0"}]}],
    });
    body["trackingParams"] = "CAAQu2kiEwjAgICAgICAgAAVAAAAAB0AAAAA".into();
    if player.client.family == client::Family::Web && body.get("videoDetails").is_some() {
        body["microformat"] = json!({"playerMicroformatRenderer": {"isUnlisted": false}});
    }
    body
}
