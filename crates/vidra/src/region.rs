//! Regions, interface languages and video categories.

use serde::{Deserialize, Serialize};

/// A region that the platform serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Region {
    /// The platform's id of it.
    #[cfg_attr(feature = "openapi", schema(example = "DE"))]
    pub id: String,
    /// The two-letter country code.
    #[cfg_attr(feature = "openapi", schema(example = "DE"))]
    pub gl: String,
    /// Its name in the language asked for.
    #[cfg_attr(feature = "openapi", schema(example = "Germany"))]
    pub name: String,
}

/// A language of the platform's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Language {
    /// The platform's id of it.
    #[cfg_attr(feature = "openapi", schema(example = "zh-Hans"))]
    pub id: String,
    /// The BCP 47 code.
    #[cfg_attr(feature = "openapi", schema(example = "zh-CN"))]
    pub hl: String,
    /// Its name in the language asked for.
    #[cfg_attr(feature = "openapi", schema(example = "Chinese"))]
    pub name: String,
}

/// A category that videos are filed under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VideoCategory {
    /// The category's id.
    #[cfg_attr(feature = "openapi", schema(example = "10"))]
    pub id: String,
    /// Its title in the language asked for.
    #[cfg_attr(feature = "openapi", schema(example = "Music"))]
    pub title: String,
    /// Whether uploaders can choose it.
    pub assignable: bool,
    /// The channel that made it.
    #[cfg_attr(feature = "openapi", schema(example = "UCBR8-60-B28hp2BmDPdntcQ"))]
    pub channel_id: String,
}

/// Which categories to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CategoryQuery {
    /// All of a region, by its two-letter code.
    Region(String),
    /// These ids.
    Ids(Vec<String>),
}
