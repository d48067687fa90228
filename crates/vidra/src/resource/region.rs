//! Regions, interface languages and video categories. Each takes one call.

use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::wire;
use crate::error::Result;
use crate::ident::ChannelId;
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::resource::Services;
use std::sync::Arc;

pub(crate) async fn regions(
    services: &Arc<Services>,
    ctx: &Context,
    hl: Option<&str>,
) -> Result<Vec<Region>> {
    let call = Call::new(Endpoint::Regions, What::Regions, &hl.unwrap_or("all"))
        .with("part", "snippet")
        .with_some("hl", hl);
    let items: Vec<wire::Named> = services.data_api.list(ctx, &call).await?;
    Ok(items.into_iter().map(Region::from_wire).collect())
}

pub(crate) async fn languages(
    services: &Arc<Services>,
    ctx: &Context,
    hl: Option<&str>,
) -> Result<Vec<Language>> {
    let call = Call::new(Endpoint::Languages, What::Languages, &hl.unwrap_or("all"))
        .with("part", "snippet")
        .with_some("hl", hl);
    let items: Vec<wire::Named> = services.data_api.list(ctx, &call).await?;
    Ok(items.into_iter().map(Language::from_wire).collect())
}

pub(crate) async fn categories(
    services: &Arc<Services>,
    ctx: &Context,
    query: &CategoryQuery,
    hl: Option<&str>,
) -> Result<Vec<VideoCategory>> {
    let (filter, subject) = match query {
        CategoryQuery::Region(code) => ("regionCode", code.clone()),
        CategoryQuery::Ids(ids) => ("id", ids.join(",")),
    };
    let call = Call::new(Endpoint::VideoCategories, What::Category, &subject)
        .with("part", "snippet")
        .with(filter, subject.clone())
        .with_some("hl", hl);
    let items: Vec<wire::Named> = services.data_api.list(ctx, &call).await?;
    if items.is_empty() {
        return Err(What::Category.not_found(subject));
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
            channel_id: snippet.channel_id.as_deref().and_then(ChannelId::bare),
        }
    }
}
