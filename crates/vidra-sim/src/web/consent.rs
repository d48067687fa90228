//! The consent step of the European Union: a page or a redirect, and the redirect back.

use super::{HTML, redirect};
use crate::call::Call;
use crate::response::{reply, set};
use crate::route::Endpoint;
use axum::body::Body;
use http::{Method, Response, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The hidden field `v` of the form, which the cookie `CONSENT=YES+` has to contain.
pub(super) const VERSION: &str = "cb.20260601-17-p0.en+FX+119";

/// Whether a cookie contains the consent.
pub(super) fn given(call: &Call) -> bool {
    let cookies = call.header("cookie").unwrap_or_default();
    cookies
        .split(';')
        .map(str::trim)
        .any(|cookie| cookie.starts_with("SOCS=CAI") || cookie == format!("CONSENT=YES+{VERSION}"))
}

/// A redirect to the consent page.
pub(super) fn redirect_to_consent(call: &Call) -> Response<Body> {
    let url = call.url();
    let back = utf8_percent_encode(&url, NON_ALPHANUMERIC);
    redirect(
        302,
        &format!("https://consent.youtube.com/m?continue={back}&gl=DE&m=0&pc=yt&cm=2&hl=de&src=1"),
    )
}

/// `consent.youtube.com`: `/m` is the page, `/s` receives its form.
pub(super) fn answer(call: &Call) -> Response<Body> {
    debug_assert_eq!(call.endpoint, Endpoint::Consent);
    let back = call.query.get("continue").unwrap_or("https://www.youtube.com/").to_owned();
    if call.head.method != Method::POST {
        return page(&back);
    }
    let joint = if back.contains('?') { '&' } else { '?' };
    let mut response = redirect(303, &format!("{back}{joint}ucbcb=1"));
    set(
        &mut response,
        header::SET_COOKIE,
        "SOCS=CAISHAgBEhJnd3NfMjAyNjA2MDE; Domain=.youtube.com; Secure; SameSite=Lax",
    );
    response
}

/// The consent page, in the language of the region.
pub(super) fn page(back: &str) -> Response<Body> {
    let back = back.replace('&', "&amp;");
    let inputs = [
        ("gl", "DE"),
        ("m", "0"),
        ("pc", "yt"),
        ("continue", &back),
        ("ca", "r"),
        ("x", "8"),
        ("v", VERSION),
        ("t", "ADw3F8g8aGOdnUecosRgDrAJqqz40u4HBw:1780272000000"),
        ("hl", "de"),
        ("src", "1"),
        ("uxe", "24020387"),
    ];
    let hidden: String = inputs
        .iter()
        .map(|(name, value)| format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"))
        .collect();
    let page = format!(
        "<!DOCTYPE html><html lang=\"de\" dir=\"ltr\"><head><title>Bevor Sie zu YouTube weitergehen</title></head><body><div class=\"box\"><h1>Bevor Sie fortfahren</h1><form action=\"https://consent.youtube.com/s\" method=\"POST\" style=\"display:inline;\">{hidden}<input type=\"submit\" value=\"Ich stimme zu\" class=\"button\"/></form></div></body></html>"
    );
    reply(200, HTML, page.into())
}
