//! Regions, interface languages and video categories.

use serde::{Deserialize, Serialize};

use crate::ident::{ChannelId, or_empty};

/// A region that YouTube serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Region {
    /// YouTube's id of the region.
    #[cfg_attr(feature = "openapi", schema(example = "DE"))]
    pub id: String,
    /// The two-letter country code.
    #[cfg_attr(feature = "openapi", schema(example = "DE"))]
    pub gl: String,
    /// The name in the requested language.
    #[cfg_attr(feature = "openapi", schema(example = "Germany"))]
    pub name: String,
}

/// A language of YouTube's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Language {
    /// YouTube's id of the language.
    #[cfg_attr(feature = "openapi", schema(example = "zh-Hans"))]
    pub id: String,
    /// The BCP 47 code.
    #[cfg_attr(feature = "openapi", schema(example = "zh-CN"))]
    pub hl: String,
    /// The name in the requested language.
    #[cfg_attr(feature = "openapi", schema(example = "Chinese"))]
    pub name: String,
}

/// A video category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VideoCategory {
    /// The category's id.
    #[cfg_attr(feature = "openapi", schema(example = "10"))]
    pub id: String,
    /// The title in the requested language.
    #[cfg_attr(feature = "openapi", schema(example = "Music"))]
    pub title: String,
    /// Whether uploaders can select the category.
    pub assignable: bool,
    /// The channel that owns the category. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UCBR8-60-B28hp2BmDPdntcQ"))]
    pub channel_id: Option<ChannelId>,
}

/// The categories to list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CategoryQuery {
    /// All categories of a region, by its two-letter code.
    Region(String),
    /// The categories with these ids.
    Ids(Vec<String>),
}
