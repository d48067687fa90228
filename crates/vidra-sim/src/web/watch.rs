//! `GET /watch?v=ID`

use super::{HTML, consent, player, scene, secret};
use crate::call::Call;
use crate::platform::Platform;
use crate::quirk::{Page, Scene};
use crate::response::reply;
use axum::body::Body;
use http::Response;
use std::sync::OnceLock;

pub(super) fn answer(platform: &Platform, call: &Call) -> Response<Body> {
    let id = call.query.get("videoId").unwrap_or_default();
    let page = match scene(id) {
        Some(Scene::Watch(page)) => page,
        _ => Page::Good,
    };
    match page {
        Page::Captcha => reply(200, HTML, captcha(id).into()),
        Page::Status(429) => reply(429, HTML, captcha(id).into()),
        Page::Status(status) => reply(status, HTML, Body::empty()),
        Page::StatusOnce(_) if platform.count_call(call) > 1 => {
            good(platform, call, id, Page::Good)
        }
        Page::StatusOnce(status) => reply(status, HTML, Body::empty()),
        Page::ConsentAlways => consent::page(&call.url()),
        Page::ConsentOnce if !consent::given(call) => consent::page(&call.url()),
        Page::ConsentRedirect if !consent::given(call) => consent::redirect_to_consent(call),
        page => good(platform, call, id, page),
    }
}

/// The page of about a megabyte, in the order of the platform: a decoy, the configuration, padding, the
/// player's answer, more decoys.
fn good(platform: &Platform, call: &Call, id: &str, page: Page) -> Response<Body> {
    let seed = platform.seed();
    let decoy = |n| secret::decoy(seed, n);
    let mut embedded = player::embedded(platform, call, id);
    if matches!(page, Page::NoKey | Page::NoVisitor) {
        embedded["responseContext"]["visitorData"] = "".into();
    }
    let embedded = embedded.to_string().replace('&', "\\u0026");
    let text = [
        "<!DOCTYPE html><html style=\"font-size: 10px;font-family: Roboto, Arial, sans-serif;\" lang=\"en\"><head><script nonce=\"c2lt\">window.WIZ_global_data = {\"MUE6Ne\":\"youtube_web\"};</script>",
        &format!(
            "<script nonce=\"c2lt\">var tango = {{\"LIVE_CHAT_BASE_TANGO_CONFIG\":{{\"apiKey\":\"{}\"}}}};</script>",
            decoy(0)
        ),
        "<script nonce=\"c2lt\">(function() {window.ytplayer={};\nytcfg.set({\"CLIENT_CANARY_STATE\":\"none\",\"DEVICE\":\"ceng\\u003dUSER_DEFINED\\u0026cplatform\\u003dDESKTOP\",\"HL\":\"en\",\"HTML_LANG\":\"en\"",
        &key(seed, page),
        ",\"INNERTUBE_API_VERSION\":\"v1\",\"INNERTUBE_CLIENT_NAME\":\"WEB\",\"INNERTUBE_CLIENT_VERSION\":\"2.20260601.01.00\",\"PADDING\":\"",
        padding(),
        "\",\"SEND_VISITOR_DATA\":true,\"EOM_VISITOR_DATA\":\"Cgtub3QtdGhpcw%3D%3D\"",
        &visitor(seed, page),
        &format!(",\"LINK_API_KEY\":\"{}\",\"VOZ_API_KEY\":\"{}\"}});", decoy(1), decoy(2)),
        &format!(
            "ytcfg.set({{\"LINK_API_KEY_REDIRECT\":\"{}\"}});}})();</script></head><body>",
            decoy(3)
        ),
        &format!(
            "<script nonce=\"c2lt\">var ytInitialPlayerResponse = {embedded};var meta = document.createElement('meta');</script>"
        ),
        "<script nonce=\"c2lt\">var ytInitialData = {\"contents\":{}};</script></body></html>",
    ];
    reply(200, HTML, text.concat().into())
}

fn key(seed: u64, page: Page) -> String {
    let key = secret::innertube_key(seed);
    match page {
        Page::NoKey => String::new(),
        Page::EscapedKey => {
            format!(",\"RAW\":\"{{\\\"INNERTUBE_API_KEY\\\":\\\"{key}\\\"}}\"")
        }
        _ => format!(",\"INNERTUBE_API_KEY\":\"{key}\""),
    }
}

fn visitor(seed: u64, page: Page) -> String {
    match page {
        Page::NoKey | Page::NoVisitor => String::new(),
        _ => format!(",\"VISITOR_DATA\":\"{}\"", secret::visitor(seed)),
    }
}

/// The bulk of the page: settings that no client reads. Computed once.
fn padding() -> &'static str {
    static PADDING: OnceLock<String> = OnceLock::new();
    PADDING
        .get_or_init(|| (0..26_000).map(|n| format!("web_experiment_flag_number_{n}:1,")).collect())
}

fn captcha(id: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><title>YouTube</title><script src=\"https://www.google.com/recaptcha/api.js?hl=en\" async defer></script></head><body><div id=\"captcha-page\"><p>Sorry for the interruption. We have been receiving a large volume of requests from your network.</p><form action=\"/das_captcha?fw=1\" method=\"POST\"><div class=\"g-recaptcha\" data-sitekey=\"6Lf39AMTAAAAAExample\"></div><input type=\"hidden\" name=\"action_recaptcha_verify2\" value=\"1\"><input type=\"hidden\" name=\"next\" value=\"/watch?v={id}\"><input type=\"submit\" value=\"Submit\"></form></div></body></html>"
    )
}
