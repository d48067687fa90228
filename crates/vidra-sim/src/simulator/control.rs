//! `/_sim/`: the controls of the simulator over HTTP, for tests in other processes. Neither recorded nor
//! billed.

use super::{Simulator, UnknownPlaylist};
use crate::fault::Fault;
use crate::response::reply;
use crate::web::block::Block;
use crate::world::change::{Change, PlaylistChange};
use axum::body::Body;
use http::{Method, Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// The body of `POST /_sim/block`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockBody {
    after: u64,
    egress: Option<String>,
    seconds: Option<u64>,
    #[serde(default)]
    extends: bool,
    #[serde(default)]
    repeats: bool,
}

/// The body of `POST /_sim/clock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum ClockBody {
    Time(String),
    AdvanceSeconds(u64),
    /// `"nextQuotaDay"`
    NextQuotaDay,
}

/// The body of `POST /_sim/videos`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct VideoBody {
    id: String,
    change: Change,
    at: Option<String>,
    in_seconds: Option<u64>,
}

/// The body of `POST /_sim/playlists`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlaylistBody {
    id: String,
    change: PlaylistChange,
    at: Option<String>,
    in_seconds: Option<u64>,
}

const JSON: &str = "application/json";
const USAGE: &str = "GET or DELETE /_sim/record, GET or POST /_sim/clock, POST or DELETE /_sim/faults, /_sim/block or /_sim/videos, POST /_sim/playlists";

/// A rejected control request: the status and the reason.
type Rejection = (u16, String);

/// Answers a control request.
pub(crate) fn answer(
    simulator: &Simulator,
    method: &Method,
    path: &str,
    body: &[u8],
) -> Response<Body> {
    match run(simulator, method.as_str(), path, body) {
        Ok(None) => reply(204, JSON, Body::empty()),
        Ok(Some(value)) => reply(200, JSON, value.to_string().into()),
        Err((status, error)) => reply(status, JSON, json!({"error": error}).to_string().into()),
    }
}

fn run(sim: &Simulator, method: &str, path: &str, body: &[u8]) -> Result<Option<Value>, Rejection> {
    match (method, path) {
        ("GET", "/_sim/record") => return Ok(Some(json!(sim.record()))),
        ("DELETE", "/_sim/record") => sim.reset_record(),
        ("GET", "/_sim/clock") => return Ok(Some(clock(sim))),
        ("POST", "/_sim/clock") => {
            match read(body)? {
                ClockBody::Time(text) => sim.set_time(time(&text)?),
                ClockBody::AdvanceSeconds(seconds) => sim.advance(Duration::from_secs(seconds)),
                ClockBody::NextQuotaDay => sim.set_time(sim.next_quota_day()),
            }
            return Ok(Some(clock(sim)));
        }
        ("POST", "/_sim/faults") => sim.inject(read::<Fault>(body)?),
        ("DELETE", "/_sim/faults") => sim.clear_faults(),
        ("POST", "/_sim/block") => sim.block(block(read(body)?)),
        ("DELETE", "/_sim/block") => sim.unblock(),
        ("POST", "/_sim/videos") => schedule(sim, &read(body)?)?,
        ("DELETE", "/_sim/videos") => sim.clear_schedule(),
        ("POST", "/_sim/playlists") => {
            let PlaylistBody { id, change, at, in_seconds } = read(body)?;
            let at = moment(sim, at.as_deref(), in_seconds)?;
            let unknown = |error: UnknownPlaylist| (404, error.to_string());
            sim.schedule_playlist(&id, change, at).map_err(unknown)?;
        }
        _ => return Err((404, USAGE.to_owned())),
    }
    Ok(None)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Rejection> {
    serde_json::from_slice(body).map_err(|error| (400, error.to_string()))
}

fn time(text: &str) -> Result<Timestamp, Rejection> {
    text.parse().map_err(|error: jiff::Error| (400, error.to_string()))
}

fn clock(sim: &Simulator) -> Value {
    json!({
        "time": sim.time().to_string(),
        "quotaDay": sim.quota_day(),
        "nextQuotaDay": sim.next_quota_day().to_string(),
    })
}

fn block(body: BlockBody) -> Block {
    let mut block = Block::after(body.after);
    if let Some(egress) = body.egress {
        block = block.egress(egress);
    }
    if let Some(seconds) = body.seconds {
        block = block.lasting(Duration::from_secs(seconds));
    }
    if body.extends {
        block = block.extending();
    }
    if body.repeats {
        block = block.repeating();
    }
    block
}

/// The time of a change: a time, in some seconds, or now.
fn moment(
    sim: &Simulator,
    at: Option<&str>,
    in_seconds: Option<u64>,
) -> Result<Timestamp, Rejection> {
    match (at, in_seconds) {
        (Some(text), None) => time(text),
        (None, seconds) => {
            let later = Duration::from_secs(seconds.unwrap_or(0));
            Ok(sim.time().checked_add(later).unwrap_or(Timestamp::MAX))
        }
        (Some(_), Some(_)) => Err((400, "either at or inSeconds".to_owned())),
    }
}

fn schedule(sim: &Simulator, body: &VideoBody) -> Result<(), Rejection> {
    let at = moment(sim, body.at.as_deref(), body.in_seconds)?;
    sim.schedule(&body.id, body.change, at).map_err(|error| (404, error.to_string()))
}
