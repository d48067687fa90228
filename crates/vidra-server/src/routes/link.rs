//! `POST /api/url/parse`: the identifiers in a link. Makes no upstream call.

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vidra::{ChannelRef, Error, Link};

use crate::error_body::{BodyErrors, Result};
use crate::extract::JsonBody;
use crate::respond::Tagged;

/// A link to parse.
// For the document only: `url_of` reads the body, so that its error names every fault.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkBody {
    /// Any URL or bare identifier.
    #[schema(example = "https://youtu.be/dQw4w9WgXcQ?t=43")]
    url: String,
}

/// The identifiers in a link. Those that it does not contain are absent.
#[derive(Serialize, ToSchema, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParsedLink {
    /// Whether the link contains an identifier.
    is_valid: bool,
    /// The first of video, playlist and channel that the link contains, or `invalid`.
    r#type: LinkType,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "dQw4w9WgXcQ")]
    video_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    playlist_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_id: Option<String>,
    /// With its `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    handle: Option<String>,
    /// The reason why the link is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
}

#[derive(Serialize, ToSchema, Default)]
#[serde(rename_all = "lowercase")]
enum LinkType {
    Video,
    Playlist,
    Channel,
    #[default]
    Invalid,
}

/// The identifiers in a link.
///
/// The service never fetches the link.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    post, path = "/api/url/parse", tag = "Links",
    request_body(content = LinkBody, example = json!({"url": "https://youtu.be/fda4eREcaTQ?t=43"})),
    responses((status = 200, description = "The identifiers, or the reason why there are none", body = ParsedLink), BodyErrors)
)]
pub(super) async fn parse_link(JsonBody(body): JsonBody) -> Result<Tagged<ParsedLink>> {
    let url = url_of(body.as_ref().unwrap_or(&Value::Null))?;
    Ok(Tagged(Link::parse(url).map_or_else(ParsedLink::invalid, ParsedLink::from)))
}

/// Reads the one field of the body.
fn url_of(body: &Value) -> vidra::Result<&str> {
    let unknown = body.as_object().into_iter().flatten().filter(|(name, _)| *name != "url");
    let mut faults: Vec<String> =
        unknown.map(|(name, _)| format!("{name}: unknown field")).collect();
    match body.get("url").and_then(Value::as_str) {
        Some(url) if faults.is_empty() => return Ok(url),
        Some(_) => {}
        None => faults.push("url: must be a string".to_owned()),
    }
    Err(Error::invalid("Expected a body {\"url\": \"…\"}", faults))
}

impl ParsedLink {
    fn invalid(why: impl Display) -> Self {
        Self { error: Some(format!("Not a YouTube link: {why}")), ..Self::default() }
    }
}

impl From<Link> for ParsedLink {
    fn from(link: Link) -> Self {
        let r#type = match &link {
            Link { video: Some(_), .. } => LinkType::Video,
            Link { playlist: Some(_), .. } => LinkType::Playlist,
            Link { channel: Some(_), .. } => LinkType::Channel,
            _ => return Self::invalid("it names no video, playlist or channel"),
        };
        let (channel_id, handle) = match link.channel {
            Some(ChannelRef::Id(id)) => (Some(id.to_string()), None),
            Some(ChannelRef::Handle(handle)) => (None, Some(handle.to_string())),
            _ => (None, None),
        };
        Self {
            is_valid: true,
            r#type,
            video_id: link.video.map(|id| id.to_string()),
            playlist_id: link.playlist.map(|id| id.to_string()),
            channel_id,
            handle,
            error: None,
        }
    }
}
