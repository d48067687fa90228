//! `chart=mostPopular`: 200 videos at most, by region and category.

use super::{Wanted, item};
use crate::data_api::Answer;
use crate::data_api::error::ApiError;
use crate::data_api::names::REGIONS;
use crate::data_api::page::{Page, counted};
use crate::hash::hash;
use crate::query::Query;
use crate::token::Pager;
use crate::world::playlist::State;
use crate::world::text::category;
use crate::world::{VideoKey, World};

/// The length of a chart.
const LENGTH: u32 = 200;
/// The number of channels whose videos can be in a chart.
const CHANNELS: u32 = 20;
/// The number of videos of each channel that can be in a chart of a category.
const EACH: u32 = 24;
/// A category that has videos but no chart, as on the platform.
const WITHOUT_CHART: &str = "19";

pub(super) fn list(world: &World, query: &Query, wanted: &Wanted<'_>) -> Result<Answer, ApiError> {
    let size = query.number("maxResults", 5, 1..=50)?;
    let region = query.get("regionCode").unwrap_or("US").to_uppercase();
    if !REGIONS.iter().any(|(code, _, _)| *code == region) {
        return Err(ApiError::by_reason("invalidRegionCode"));
    }
    let wanted_category = query.get("videoCategoryId").filter(|id| *id != "0");
    let keys = keys(world, &region, wanted_category);
    if keys.is_empty() {
        return Err(ApiError::by_reason("videoChartNotFound"));
    }
    let name = match (region.as_str(), wanted_category) {
        ("US", None) => "chart".to_owned(),
        (region, category) => format!("chart {region} {category:?}"),
    };
    let page = Page::read(query, Pager::short(&name), size, keys.len() as u32)?;
    let range = page.range();
    let items = keys[range.start as usize..range.end as usize].iter();
    let items = items.filter_map(|key| world.video(*key)).map(|video| item(world, wanted, &video));
    let mut body = counted("video", items.collect(), keys.len() as u32, size);
    page.link(&mut body);
    Ok(Answer::new(body))
}

/// The videos of a chart in their order; none if there is no such chart.
fn keys(world: &World, region: &str, wanted: Option<&str>) -> Vec<VideoKey> {
    // The chart of the United States is in the order of the channels; others begin elsewhere.
    let shift = if region == "US" { 0 } else { hash(0, region, &[]) as u32 % CHANNELS };
    let channels: Vec<_> = (0..CHANNELS)
        .map(|n| (n + shift) % CHANNELS)
        .filter(|no| wanted != Some(WITHOUT_CHART) && is_in(world, *no, wanted))
        .collect();
    let each = if wanted.is_some() { EACH } else { LENGTH / CHANNELS };
    let all = (0..each).flat_map(|index| channels.iter().map(move |no| (*no, index)));
    let shown = all.filter(|key| world.state(*key) == State::Public);
    shown.take(LENGTH as usize).collect()
}

fn is_in(world: &World, no: u32, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| {
        world.channel(no).is_some_and(|channel| category(channel.theme) == wanted)
    })
}
