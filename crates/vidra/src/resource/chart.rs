//! The chart of popular videos, page by page.

use std::sync::Arc;
use std::time::Duration;

use super::lookup::Lookup;
use super::paged::{self, Items, PagedList, Progress, RecordPage, Records};
use super::video;
use crate::cache::Cached;
use crate::chart::ChartQuery;
use crate::context::Context;
use crate::data_api::call::What;
use crate::data_api::wire;
use crate::error::Result;
use crate::list::Position;
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::video::Video;

/// The popular videos of a region and a category, in the order of the chart.
#[derive(Debug, Clone)]
pub(crate) struct Chart(pub(crate) ChartQuery);

impl PagedList for Chart {
    type Item = Video;

    fn key(&self) -> String {
        self.page("").key().text
    }

    /// It costs 1 unit for each upstream page of 50 videos.
    async fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> Result<Cached<Items<Video>>> {
        let read = paged::read(services, ctx, self, Default::default(), from, limit, progress);
        let mut read = read.await?;
        read.body.0.iter_mut().for_each(|video| ctx.include.apply(video));
        Ok(read)
    }
}

impl Records for Chart {
    type Item = Video;

    const RESOURCE: Resource = Resource::Chart;
    const PAGE_SIZE: usize = 50;

    fn page(&self, token: &str) -> Lookup {
        Lookup::ChartPage(self.0.clone(), token.to_owned())
    }
}

/// Fetches the page with this token, and caches its videos. It costs 1 unit, because YouTube sends the videos with
/// all their parts.
pub(crate) async fn fetch(
    services: &Services,
    ctx: &Context,
    query: &ChartQuery,
    token: &str,
) -> Result<RecordPage<Video>> {
    let call = video::call(What::Chart, &query.to_string())
        .with("chart", "mostPopular")
        .with("maxResults", "50")
        .with_some("regionCode", query.region.as_deref())
        .with_some("videoCategoryId", query.category.as_deref());
    // A long list must not be fetched faster than the store can write it.
    services.cache.tiers.wait_for_capacity().await;
    let from_wire = |video: wire::Video| Video::from_wire(video);
    let page = RecordPage::fetch(services, ctx, call, token, from_wire).await?;
    for video in &page.items {
        // This serves other requests. A video that cannot be cached is fetched again.
        let key = Lookup::Video(video.id).key();
        let record = video::record::encode(video.clone());
        let _ = services.cache.store(&key, record, Duration::ZERO);
    }
    Ok(page)
}
