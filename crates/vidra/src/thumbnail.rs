//! Thumbnails of videos, playlists and channels.

use serde::de::MapAccess;
use serde::{Deserialize, Serialize};

use crate::lenient::{Member, Object, member, shapes};

/// Thumbnails in up to five sizes. Missing sizes are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Thumbnails {
    /// About 120×90.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "member")]
    pub default: Option<Thumbnail>,
    /// About 320×180.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "member")]
    pub medium: Option<Thumbnail>,
    /// About 480×360.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "member")]
    pub high: Option<Thumbnail>,
    /// About 640×480.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "member")]
    pub standard: Option<Thumbnail>,
    /// About 1280×720.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "member")]
    pub maxres: Option<Thumbnail>,
}

impl Thumbnails {
    /// The URL of the `high` thumbnail, or else of the largest one. Empty if there is none.
    pub fn best_url(&self) -> &str {
        let by_preference = [&self.high, &self.maxres, &self.standard, &self.medium, &self.default];
        by_preference.into_iter().flatten().next().map_or("", |thumbnail| &thumbnail.url)
    }
}

/// A thumbnail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Thumbnail {
    /// The URL on YouTube's image host.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://i.ytimg.com/vi/dQw4w9WgXcQ/default.jpg")
    )]
    pub url: String,
    /// The width in pixels. 0 if YouTube does not report it.
    #[cfg_attr(feature = "openapi", schema(example = 120))]
    pub width: u32,
    /// The height in pixels. 0 if YouTube does not report it.
    #[cfg_attr(feature = "openapi", schema(example = 90))]
    pub height: u32,
}

shapes! {
    /// A thumbnail in YouTube's format.
    Picture {
        url: String,
        width: u64,
        height: u64,
    }
}

impl Member for Thumbnails {
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        Object::from_map(map).map(|object| object.map(|Object(thumbnails)| thumbnails))
    }
}

/// A thumbnail without a URL does not exist.
impl Member for Thumbnail {
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        let Some(Picture { url, width, height }) = Picture::from_map(map)? else { return Ok(None) };
        let pixels = |count: Option<u64>| count.and_then(|n| n.try_into().ok()).unwrap_or(0);
        let url = url.filter(|url| !url.is_empty());
        Ok(url.map(|url| Self { url, width: pixels(width), height: pixels(height) }))
    }
}
