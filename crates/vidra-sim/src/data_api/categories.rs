//! `videoCategories.list`

use super::Answer;
use super::error::ApiError;
use super::names::{CATEGORIES, REGIONS, language};
use super::page::envelope;
use super::parts::Parts;
use crate::query::Query;
use crate::world::World;
use serde_json::{Value, json};

/// The channel of all categories.
const OWNER: &str = "UCBR8-60-B28hp2BmDPdntcQ";

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, &["snippet"])?;
    let german = language(query) == "de";
    let ids = query.list("id");
    let mut items = Vec::new();
    match (ids.is_empty(), query.get("regionCode")) {
        (true, Some(region)) => {
            if !REGIONS.iter().any(|(code, _, _)| code.eq_ignore_ascii_case(region)) {
                return Err(ApiError::by_reason("invalidRegionCode"));
            }
            items.extend(CATEGORIES.iter().map(|row| item(world, &parts, row, german)));
        }
        (false, None) => {
            for id in ids {
                let row = CATEGORIES.iter().find(|row| row.0 == id);
                let row = row.ok_or_else(|| ApiError::by_reason("videoCategoryNotFound"))?;
                items.push(item(world, &parts, row, german));
            }
        }
        (true, None) => return Err(ApiError::missing_filter("id, idParam, regionCode")),
        (false, Some(_)) => return Err(ApiError::incompatible("id, regionCode")),
    }
    Ok(Answer::new(envelope("videoCategory", items)))
}

fn item(world: &World, parts: &Parts<'_>, row: &(&str, &str, &str, bool), german: bool) -> Value {
    let title = if german { row.2 } else { row.1 };
    parts.item(world, "videoCategory", row.0, |_| {
        Some(json!({"title": title, "assignable": row.3, "channelId": OWNER}))
    })
}
