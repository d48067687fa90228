//! `GET /api/timedtext`

mod format;
pub(super) mod signature;
mod translation;

use super::{HTML, scene, secret, trouble};
use crate::call::Call;
use crate::platform::Platform;
use crate::quirk::{Scene, Tracks, Trouble};
use crate::response::{Dropped, reply};
use crate::world::caption::{LANGUAGES, Maker, Track};
use crate::world::video::Video;
use axum::body::Body;
use format::Format;
use http::{HeaderValue, Response, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

/// The answer with a `Date`, because clients compare the expiry of a URL with the platform's clock.
pub(super) async fn answer(platform: &Platform, call: &Call) -> Result<Response<Body>, Dropped> {
    let mut response = undated(platform, call).await?;
    let now = Timestamp::from_second(platform.hour()).unwrap_or_default();
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
    response
        .headers_mut()
        .extend(HeaderValue::try_from(date).ok().map(|date| (header::DATE, date)));
    Ok(response)
}

async fn undated(platform: &Platform, call: &Call) -> Result<Response<Body>, Dropped> {
    let id = call.query.get("v").unwrap_or_default();
    if !signature::holds(platform.seed(), &call.query) || expired(platform, call) {
        return Ok(nothing());
    }
    let right = plain(platform, call, id);
    match scene(id) {
        Some(Scene::TimedText(trouble)) => trouble::apply(trouble, platform, call, right).await,
        _ => Ok(right),
    }
}

/// The platform's rejection of timed text: status 200 and an empty body.
fn nothing() -> Response<Body> {
    reply(200, HTML, Body::empty())
}

fn expired(platform: &Platform, call: &Call) -> bool {
    let expire = call.query.get("expire").and_then(|text| text.parse::<i64>().ok());
    expire.is_none_or(|expire| expire <= platform.hour())
}

fn plain(platform: &Platform, call: &Call, id: &str) -> Response<Body> {
    let query = &call.query;
    let token = query.get("pot") == Some(&secret::po_token(platform.seed(), id));
    let guarded = query.list("exp").iter().any(|exp| matches!(*exp, "xpe" | "xpv"));
    if guarded && !token {
        return nothing();
    }
    let Some(video) = platform.world().video_by_id(id) else { return nothing() };
    let Some(track) = find(platform, &video, call) else { return nothing() };
    if track.variant.is_some() && !token {
        return nothing();
    }
    let target = query.get("tlang");
    let known = |code: &str| LANGUAGES.iter().any(|(known, _)| *known == code);
    let fixed = video.scene == Some(Scene::Tracks(Tracks::Untranslatable));
    if target.is_some_and(|code| fixed || !known(code)) {
        return reply(400, HTML, "<!DOCTYPE html><title>Error 400 (Bad Request)!!1</title>".into());
    }
    let format = match video.scene {
        Some(Scene::TimedText(Trouble::AlwaysSrv3)) => Some(Format::Srv3),
        _ => Format::named(query.get("fmt")),
    };
    let Some(format) = format else {
        return reply(400, HTML, "<!DOCTYPE html><title>Error 400 (Bad Request)!!1</title>".into());
    };
    let cues = platform.world().cues(&video, &track);
    let (cues, language) = match target {
        Some(target) => (translation::translate(&cues, &track, target), target),
        None => (cues, track.language),
    };
    let document = format::Document {
        cues: &cues,
        language,
        rolling: track.maker == Maker::Machine,
        scene: video.scene,
        seconds: video.seconds,
    };
    reply(200, format.content_type(), document.write(format).into())
}

/// The track of a URL.
fn find(platform: &Platform, video: &Video, call: &Call) -> Option<Track> {
    let query = &call.query;
    platform.world().tracks(video).into_iter().find(|track| {
        query.get("lang") == Some(track.language)
            && query.get("kind") == track.kind()
            && query.get("name").unwrap_or_default() == track.name
            && query.get("variant") == track.variant
    })
}
