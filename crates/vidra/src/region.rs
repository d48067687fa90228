//! Regions, interface languages and video categories.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, wire};

/// A region that the platform serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

pub(crate) async fn regions(scope: &Scope, hl: Option<&str>) -> Result<Vec<Region>> {
    let call = Call::new(Endpoint::Regions, "Regions", &hl.unwrap_or("all"))
        .with("part", "snippet")
        .with_some("hl", hl);
    let items: Vec<wire::Named> = scope.list(&call).await?;
    Ok(items.into_iter().map(Region::from_wire).collect())
}

pub(crate) async fn languages(scope: &Scope, hl: Option<&str>) -> Result<Vec<Language>> {
    let call = Call::new(Endpoint::Languages, "Languages", &hl.unwrap_or("all"))
        .with("part", "snippet")
        .with_some("hl", hl);
    let items: Vec<wire::Named> = scope.list(&call).await?;
    Ok(items.into_iter().map(Language::from_wire).collect())
}

pub(crate) async fn categories(
    scope: &Scope,
    query: &CategoryQuery,
    hl: Option<&str>,
) -> Result<Vec<VideoCategory>> {
    let (filter, subject) = match query {
        CategoryQuery::Region(code) => ("regionCode", code.clone()),
        CategoryQuery::Ids(ids) => ("id", ids.join(",")),
    };
    let call = Call::new(Endpoint::VideoCategories, "Video category", &subject)
        .with("part", "snippet")
        .with(filter, subject.clone())
        .with_some("hl", hl);
    let items: Vec<wire::Named> = scope.list(&call).await?;
    if items.is_empty() {
        return Err(Error::not_found("Video category", subject));
    }
    Ok(items.into_iter().map(VideoCategory::from_wire).collect())
}

impl Region {
    pub(crate) fn from_wire(region: wire::Named) -> Self {
        let snippet = region.snippet.unwrap_or_default();
        Self {
            id: region.id.unwrap_or_default(),
            gl: snippet.gl.unwrap_or_default(),
            name: snippet.name.unwrap_or_default(),
        }
    }
}

impl Language {
    pub(crate) fn from_wire(language: wire::Named) -> Self {
        let snippet = language.snippet.unwrap_or_default();
        Self {
            id: language.id.unwrap_or_default(),
            hl: snippet.hl.unwrap_or_default(),
            name: snippet.name.unwrap_or_default(),
        }
    }
}

impl VideoCategory {
    pub(crate) fn from_wire(category: wire::Named) -> Self {
        let snippet = category.snippet.unwrap_or_default();
        Self {
            id: category.id.unwrap_or_default(),
            title: snippet.title.unwrap_or_default(),
            assignable: snippet.assignable.unwrap_or(false),
            channel_id: snippet.channel_id.unwrap_or_default(),
        }
    }
}
