//! Pictures of videos, playlists and channels.

use serde::{Deserialize, Deserializer, Serialize};

use crate::upstream::wire::count;

/// Pictures of one thing in up to five sizes. Sizes that do not exist are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Thumbnails {
    /// About 120×90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Thumbnail>,
    /// About 320×180.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<Thumbnail>,
    /// About 480×360.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Thumbnail>,
    /// About 640×480.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<Thumbnail>,
    /// About 1280×720.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxres: Option<Thumbnail>,
}

impl Thumbnails {
    /// The URL of the `high` picture, else of the best there is, else nothing.
    pub fn best_url(&self) -> &str {
        let by_preference = [&self.high, &self.maxres, &self.standard, &self.medium, &self.default];
        by_preference.into_iter().flatten().next().map_or("", |thumbnail| &thumbnail.url)
    }
}

/// One picture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Thumbnail {
    /// On the platform's image host.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://i.ytimg.com/vi/dQw4w9WgXcQ/default.jpg")
    )]
    pub url: String,
    /// In pixels; 0 where the platform does not say.
    #[serde(deserialize_with = "pixels")]
    #[cfg_attr(feature = "openapi", schema(example = 120))]
    pub width: u32,
    /// In pixels; 0 where the platform does not say.
    #[serde(deserialize_with = "pixels")]
    #[cfg_attr(feature = "openapi", schema(example = 90))]
    pub height: u32,
}

fn pixels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(count(deserializer)?.and_then(|pixels| pixels.try_into().ok()).unwrap_or(0))
}
