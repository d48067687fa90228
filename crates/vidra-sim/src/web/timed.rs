//! `GET /api/timedtext`

mod format;
pub(super) mod signature;
mod translation;

use super::{HTML, scene, secret, trouble};
use crate::quirk::{Scene, Tracks, Trouble};
use crate::simulator::call::Call;
use crate::simulator::{Dropped, Simulator, reply};
use crate::world::caption::{LANGUAGES, Maker, Track};
use crate::world::video::Video;
use axum::body::Body;
use format::Format;
use http::{HeaderValue, Response, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

/// Dated, as all the platform's answers are: whether an address has expired is told by its clock.
pub(super) async fn answer(sim: &Simulator, call: &Call) -> Result<Response<Body>, Dropped> {
    let mut response = undated(sim, call).await?;
    let now = Timestamp::from_second(sim.now()).unwrap_or_default();
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
    response
        .headers_mut()
        .extend(HeaderValue::try_from(date).ok().map(|date| (header::DATE, date)));
    Ok(response)
}

async fn undated(sim: &Simulator, call: &Call) -> Result<Response<Body>, Dropped> {
    let id = call.query.get("v").unwrap_or_default();
    if !signature::holds(sim.seed(), &call.query) || expired(sim, call) {
        return Ok(nothing());
    }
    let right = plain(sim, call, id);
    match scene(id) {
        Some(Scene::TimedText(trouble)) => trouble::befall(trouble, sim, call, right).await,
        _ => Ok(right),
    }
}

/// What the platform says to whom it does not want to serve: all is well, and nothing.
fn nothing() -> Response<Body> {
    reply(200, HTML, Body::empty())
}

fn expired(sim: &Simulator, call: &Call) -> bool {
    let expire = call.query.get("expire").and_then(|text| text.parse::<i64>().ok());
    expire.is_none_or(|expire| expire <= sim.now())
}

fn plain(sim: &Simulator, call: &Call, id: &str) -> Response<Body> {
    let query = &call.query;
    let token = query.get("pot") == Some(&secret::po_token(sim.seed(), id));
    let guarded = query.list("exp").iter().any(|exp| matches!(*exp, "xpe" | "xpv"));
    if guarded && !token {
        return nothing();
    }
    let Some(video) = sim.world().video_by_id(id) else { return nothing() };
    let Some(track) = find(sim, &video, call) else { return nothing() };
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
    let cues = sim.world().cues(&video, &track);
    let (cues, language) = match target {
        Some(target) => (translation::of(&cues, &track, target), target),
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

/// The track a URL names.
fn find(sim: &Simulator, video: &Video, call: &Call) -> Option<Track> {
    let query = &call.query;
    sim.world().tracks(video).into_iter().find(|track| {
        query.get("lang") == Some(track.language)
            && query.get("kind") == track.kind()
            && query.get("name").unwrap_or_default() == track.name
            && query.get("variant") == track.variant
    })
}
