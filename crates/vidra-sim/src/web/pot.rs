//! A provider of PO tokens, as operators run one beside their service.

use super::{json_reply, secret};
use crate::call::Call;
use crate::platform::Platform;
use axum::body::Body;
use http::{Method, Response};
use serde_json::json;

/// `GET /ping` and `POST /get_pot {"content_binding": "<videoId>"}`.
pub(super) fn answer(platform: &Platform, call: &Call) -> Response<Body> {
    if call.head.uri.path() == "/ping" {
        return json_reply(200, &json!({"server_uptime": 1.5, "version": "1.2.2"}), true);
    }
    if call.head.method != Method::POST {
        return json_reply(405, &json!({"error": "Method not allowed"}), true);
    }
    match call.json["content_binding"].as_str().filter(|binding| !binding.is_empty()) {
        Some(binding) => {
            let token = secret::po_token(platform.seed(), binding);
            let expires = "2026-06-01T12:00:00.000Z";
            json_reply(
                200,
                &json!({"contentBinding": binding, "poToken": token, "expiresAt": expires}),
                true,
            )
        }
        None => json_reply(400, &json!({"error": "content_binding is missing"}), true),
    }
}
