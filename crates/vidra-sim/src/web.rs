//! The keyless interface: watch page, innertube player, timed text and feeds, with consent page, captcha and
//! bot wall; and the provider of PO tokens.

pub(crate) mod block;
pub(crate) mod check;
pub(crate) mod client;
mod consent;
mod feed;
mod player;
mod pot;
pub(crate) mod secret;
mod timed;
mod trouble;
mod watch;

use crate::call::Call;
use crate::platform::Platform;
use crate::quirk::{self, Case, Scene};
use crate::response::{Dropped, reply, set};
use crate::route::Endpoint;
use axum::body::Body;
use http::{Response, header};
use serde_json::{Value, json};

const JSON: &str = "application/json; charset=UTF-8";
const HTML: &str = "text/html; charset=utf-8";

/// The platform's answer.
pub(crate) async fn answer(platform: &Platform, call: &Call) -> Result<Response<Body>, Dropped> {
    if call.blocked {
        return Ok(match call.endpoint {
            Endpoint::Player => player::bot_wall(platform, call),
            Endpoint::TimedText | Endpoint::Watch => sorry(),
            _ => pot::answer(platform, call),
        });
    }
    match call.endpoint {
        Endpoint::Watch => Ok(watch::answer(platform, call)),
        Endpoint::Player => player::answer(platform, call).await,
        Endpoint::TimedText => timed::answer(platform, call).await,
        Endpoint::Feed => Ok(feed::answer(platform, call)),
        Endpoint::Consent => Ok(consent::answer(call)),
        Endpoint::Sorry => Ok(sorry()),
        _ => Ok(pot::answer(platform, call)),
    }
}

/// The documented behaviour of a video.
fn scene(id: &str) -> Option<Scene> {
    match quirk::find(id)?.1.case {
        Case::Transcript(scene) => Some(scene),
        _ => None,
    }
}

/// An error of innertube, and some errors of timed text.
fn error(status: u16) -> Response<Body> {
    let (reason, rpc, message) = match status {
        400 => ("failedPrecondition", "FAILED_PRECONDITION", "Precondition check failed."),
        403 => ("forbidden", "PERMISSION_DENIED", "The caller does not have permission"),
        404 => ("notFound", "NOT_FOUND", "Requested entity was not found."),
        405 => ("badRequest", "UNIMPLEMENTED", "Operation is not implemented."),
        429 => (
            "rateLimitExceeded",
            "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).",
        ),
        503 => ("backendError", "UNAVAILABLE", "The service is currently unavailable."),
        _ => ("backendError", "INTERNAL", "Internal error encountered."),
    };
    failure(status, reason, rpc, message)
}

/// The error of a malformed innertube request.
fn bad_request(message: &str) -> Response<Body> {
    failure(400, "badRequest", "INVALID_ARGUMENT", message)
}

fn failure(status: u16, reason: &str, rpc: &str, message: &str) -> Response<Body> {
    let body = json!({"error": {
        "code": status,
        "message": message,
        "errors": [{"message": message, "domain": "global", "reason": reason}],
        "status": rpc,
    }});
    json_reply(status, &body, false)
}

fn json_reply(status: u16, body: &Value, compact: bool) -> Response<Body> {
    let text = if compact { body.to_string() } else { format!("{body:#}") };
    reply(status, JSON, text.into())
}

fn redirect(status: u16, location: &str) -> Response<Body> {
    let mut response = reply(status, HTML, Body::empty());
    set(&mut response, header::LOCATION, location);
    response
}

/// The page for a blocked address.
fn sorry() -> Response<Body> {
    const PAGE: &str = "<!DOCTYPE html><html><head><title>Sorry...</title></head><body><h1>We're sorry...</h1><p>... but your computer or network may be sending automated queries. To protect our users, we can't process your request right now.</p><form id=\"captcha-form\" action=\"index\" method=\"post\"><div id=\"recaptcha\" class=\"g-recaptcha\"></div></form></body></html>";
    reply(429, HTML, PAGE.into())
}
