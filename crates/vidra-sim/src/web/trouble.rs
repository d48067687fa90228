//! Broken answers of the documented videos.

use super::{HTML, JSON, error, redirect};
use crate::call::Call;
use crate::fault::{Junk, body};
use crate::platform::Platform;
use crate::quirk::Trouble;
use crate::response::{Dropped, reply};
use crate::route::Endpoint;
use axum::body::Body;
use futures_util::stream;
use http::{Response, header};
use std::time::Duration;

const XML: &str = "text/xml; charset=UTF-8";
const SORRY: &str =
    "https://www.google.com/sorry/index?continue=https://www.youtube.com/youtubei/v1/player";
const HUGE: u64 = 200_000_000;

/// The broken answer instead of the correct one, `right`.
pub(super) async fn apply(
    trouble: Trouble,
    platform: &Platform,
    call: &Call,
    right: Response<Body>,
) -> Result<Response<Body>, Dropped> {
    let is_player = call.endpoint == Endpoint::Player;
    Ok(match trouble {
        Trouble::Reset => return Err(Dropped),
        Trouble::Status(status) => status_of(status, is_player),
        Trouble::StatusOnce(status) if platform.count_call(call) == 1 => {
            status_of(status, is_player)
        }
        Trouble::Precondition => error(400),
        Trouble::Sorry => redirect(302, SORRY),
        Trouble::NotJson => reply(200, JSON, ")]}'\nnot json".into()),
        Trouble::Empty => reply(200, HTML, Body::empty()),
        Trouble::Html => junk(Junk::Html),
        Trouble::OtherShape if is_player => reply(200, JSON, "[{\"captions\": 42}]".into()),
        Trouble::OtherShape => other_shape(call),
        Trouble::Huge if is_player => reply(200, JSON, body::huge(HUGE)),
        Trouble::Huge => reply(200, XML, endless_cues()),
        Trouble::Doctype => reply(200, XML, DOCTYPE.into()),
        Trouble::EntityBomb => reply(200, XML, entity_bomb().into()),
        Trouble::NoTranslations if call.query.get("tlang").is_some() => status_of(429, false),
        Trouble::Slow => {
            tokio::time::sleep(Duration::from_secs(5)).await;
            right
        }
        Trouble::Truncated | Trouble::Cut | Trouble::NotUtf8 => damaged(trouble, right).await,
        _ => right,
    })
}

/// An error status. Innertube sends JSON with it, timed text a page or an empty body.
fn status_of(status: u16, is_player: bool) -> Response<Body> {
    match status {
        _ if is_player => error(status),
        429 => super::sorry(),
        404 => reply(404, HTML, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>".into()),
        _ => reply(status, HTML, Body::empty()),
    }
}

fn junk(kind: Junk) -> Response<Body> {
    let (content_type, bytes) = body::junk(kind, &bytes::Bytes::new());
    reply(200, content_type, bytes.into())
}

fn other_shape(call: &Call) -> Response<Body> {
    match call.query.get("fmt") {
        Some("json3") => reply(200, JSON, "{\"events\": {\"segs\": \"none\"}, \"wireMagic\": 3}".into()),
        _ => reply(200, XML, "<?xml version=\"1.0\" encoding=\"utf-8\" ?><captions><line at=\"0\">?</line></captions>".into()),
    }
}

/// The right body, cut or damaged in its middle.
async fn damaged(trouble: Trouble, right: Response<Body>) -> Response<Body> {
    let (mut head, whole) = right.into_parts();
    let whole = axum::body::to_bytes(whole, usize::MAX).await.unwrap_or_default();
    let middle = whole.len() / 2;
    match trouble {
        Trouble::Truncated => return Response::from_parts(head, whole.slice(..middle).into()),
        Trouble::NotUtf8 => {
            let bytes = [&whole[..middle], b"\xff\xfe", &whole[middle..]].concat();
            return Response::from_parts(head, bytes.into());
        }
        _ => {}
    }
    head.headers.insert(header::CONTENT_LENGTH, whole.len().into());
    Response::from_parts(head, body::cut(whole))
}

const DOCTYPE: &str = "<?xml version=\"1.0\" encoding=\"utf-8\" ?><!DOCTYPE transcript [<!ENTITY who SYSTEM \"file:///etc/passwd\">]><transcript><text start=\"0\" dur=\"1.5\">&who;</text></transcript>";

/// Ten entities, each of which expands to ten times the one before.
fn entity_bomb() -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\" ?><!DOCTYPE transcript [<!ENTITY a0 \"ha\">",
    );
    for n in 1..10 {
        let inner = format!("&a{};", n - 1).repeat(10);
        text.push_str(&format!("<!ENTITY a{n} \"{inner}\">"));
    }
    text + "]><transcript><text start=\"0\" dur=\"1.5\">&a9;</text></transcript>"
}

/// Well-formed cues in a document that is never closed.
fn endless_cues() -> Body {
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\" ?><transcript>";
    const CUE: &str = "<text start=\"1.5\" dur=\"2\">and so on and on</text>";
    let block = bytes::Bytes::from(CUE.repeat(1000));
    let blocks = HUGE / block.len() as u64;
    let all = std::iter::once(bytes::Bytes::from_static(HEAD.as_bytes()))
        .chain((0..blocks).map(move |_| block.clone()));
    Body::from_stream(stream::iter(all.map(Ok::<_, Dropped>)))
}
