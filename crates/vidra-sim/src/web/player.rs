//! `POST /youtubei/v1/player`

mod details;
mod refusal;
mod tracklist;

use super::client::{self, Client};
use super::{bad_request, error, json_reply, scene, secret, trouble};
use crate::quirk::{self, Case, Refusal, Scene, Trouble, VideoQuirk};
use crate::simulator::call::Call;
use crate::simulator::{Dropped, Simulator};
use crate::world::video::Video;
use axum::body::Body;
use http::{Method, Response};
use serde_json::{Value, json};

/// Who asks, in which language, and what the answer is made with.
pub(super) struct Asker<'a> {
    pub(super) client: &'static Client,
    pub(super) hl: &'a str,
    pub(super) origin: &'a str,
    /// Until when the URLs in the answer are good, in seconds since 1970.
    pub(super) expire: i64,
    pub(super) seed: u64,
}

/// Seven hours.
const LIFE: i64 = 25_200;

pub(super) async fn answer(sim: &Simulator, call: &Call) -> Result<Response<Body>, Dropped> {
    let id = call.query.get("videoId").unwrap_or_default();
    let trouble = match scene(id) {
        Some(Scene::Player(trouble)) => trouble,
        _ => return Ok(plain(sim, call, id)),
    };
    trouble::befall(trouble, sim, call, plain(sim, call, id)).await
}

fn plain(sim: &Simulator, call: &Call, id: &str) -> Response<Body> {
    if call.head.method != Method::POST {
        return error(405);
    }
    let Some(asker) = asker(sim, call) else {
        return bad_request("Request contains an invalid argument.");
    };
    if id.is_empty() {
        return bad_request("Request contains an invalid argument.");
    }
    if scene(id).is_some_and(Scene::needs_page) && !knows_the_page(sim, call) {
        return error(400);
    }
    json_reply(200, &body(sim, &asker, id), call.query.get("prettyPrint") == Some("false"))
}

/// The wall an address meets that asked too often.
pub(super) fn bot_wall(sim: &Simulator, call: &Call) -> Response<Body> {
    let Some(asker) = asker(sim, call) else { return error(400) };
    let status = refusal::status(Refusal::Bot, &asker, "");
    json_reply(200, &with_context(&asker, json!({"playabilityStatus": status})), true)
}

fn asker<'a>(sim: &Simulator, call: &'a Call) -> Option<Asker<'a>> {
    let context = &call.json["context"]["client"];
    let client = client::find(context["clientName"].as_str()?)?;
    context["clientVersion"].as_str()?;
    let sent = context["hl"].as_str().or_else(|| call.header("accept-language"));
    let id = call.query.get("videoId").unwrap_or_default();
    let expired = match scene(id) {
        Some(Scene::TimedText(Trouble::Expired)) => true,
        Some(Scene::TimedText(Trouble::ExpiredOnce)) => sim.visit(call) == 1,
        _ => false,
    };
    let expire = sim.now() + if expired { -3600 } else { LIFE };
    Some(Asker { client, hl: sent.unwrap_or("en"), origin: &call.origin, expire, seed: sim.seed() })
}

/// Whether the call carries what only the watch page tells.
fn knows_the_page(sim: &Simulator, call: &Call) -> bool {
    let visitor = secret::visitor(sim.seed());
    let sent = call.header("x-goog-visitor-id");
    let in_context = call.json["context"]["client"]["visitorData"].as_str();
    sent == Some(&visitor)
        || in_context == Some(&visitor)
        || call.query.get("key") == Some(&secret::innertube_key(sim.seed()))
}

/// The answer about a video, as the watch page embeds it for WEB.
pub(super) fn embedded(sim: &Simulator, call: &Call, id: &str) -> Value {
    let asker = Asker {
        client: client::WEB,
        hl: call.header("accept-language").unwrap_or("en"),
        origin: &call.origin,
        expire: sim.now() + LIFE,
        seed: sim.seed(),
    };
    body(sim, &asker, id)
}

fn body(sim: &Simulator, asker: &Asker<'_>, id: &str) -> Value {
    let video = sim.world().video_by_id(id);
    match (refused(asker, id, video.as_ref()), &video) {
        (Some(Refusal::EmptyObject), _) => json!({}),
        (Some(Refusal::WrongVideo), Some(video)) => {
            let mut body = playable(sim, asker, video);
            body["videoDetails"]["videoId"] = "aQvGIIdgFDM".into();
            body
        }
        (Some(Refusal::NoStatus), Some(video)) => {
            let mut body = playable(sim, asker, video);
            body.as_object_mut().and_then(|members| members.remove("playabilityStatus"));
            body
        }
        (Some(refusal), video) => {
            with_context(asker, refused_body(asker, refusal, id, video.as_ref()))
        }
        (None, Some(video)) => playable(sim, asker, video),
        (None, None) => with_context(asker, refused_body(asker, Refusal::Unavailable, id, None)),
    }
}

/// Why this client does not get to see the video; `None` where it does.
fn refused(asker: &Asker<'_>, id: &str, video: Option<&Video>) -> Option<Refusal> {
    let refusal = match quirk::find(id).map(|(_, entry)| entry.case) {
        Some(Case::Transcript(Scene::Refusal(refusal))) => refusal,
        Some(Case::Video(VideoQuirk::Private)) => Refusal::Private,
        Some(Case::Video(VideoQuirk::Upcoming | VideoQuirk::ScheduledOnly)) => Refusal::Upcoming,
        Some(Case::Video(VideoQuirk::Live)) => Refusal::Live,
        Some(Case::Video(VideoQuirk::Processing)) => Refusal::Processing,
        _ => return video.is_none().then_some(Refusal::Unavailable),
    };
    refusal::for_client(refusal, asker.client.name)
}

fn refused_body(asker: &Asker<'_>, refusal: Refusal, id: &str, video: Option<&Video>) -> Value {
    let mut body = json!({"playabilityStatus": refusal::status(refusal, asker, id)});
    if let Some(video) = video.filter(|_| refusal::shows_details(refusal)) {
        body["videoDetails"] = details::of(video, Some(refusal));
    }
    if refusal == Refusal::LiveCaptions {
        body["captions"] = json!({"playerCaptionsRenderer": {
            "baseUrl": format!("{}/api/timedtext?v={id}&caps=asr&hl=en", asker.origin),
            "visibility": "CAPTIONS_VISIBILITY_UNKNOWN",
        }});
    }
    body
}

fn playable(sim: &Simulator, asker: &Asker<'_>, video: &Video) -> Value {
    let mut body = json!({
        "playabilityStatus": details::playable(asker.client),
        "streamingData": {"expiresInSeconds": "21540"},
        "videoDetails": details::of(video, None),
    });
    if let Some(captions) = tracklist::captions(sim.world(), asker, video) {
        body["captions"] = captions;
    }
    with_context(asker, body)
}

/// What every answer has, and what only the web has.
fn with_context(asker: &Asker<'_>, mut body: Value) -> Value {
    body["responseContext"] = json!({
        "visitorData": secret::visitor(asker.seed),
        "serviceTrackingParams": [{"service": "GFEEDBACK", "params": [{"key": "logged_in", "value": "0"}]}],
    });
    body["trackingParams"] = "CAAQu2kiEwjAgICAgICAgAAVAAAAAB0AAAAA".into();
    if asker.client.family == client::Family::Web && body.get("videoDetails").is_some() {
        body["microformat"] = json!({"playerMicroformatRenderer": {"isUnlisted": false}});
    }
    body
}
