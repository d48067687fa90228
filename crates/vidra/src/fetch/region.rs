//! Regions, interface languages and video categories: one call each.

use crate::error::{Error, Result};
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, wire};

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
