//! `search.list`: videos, channels and playlists whose titles contain the requested words.

mod filters;
mod hits;
mod odd;
mod result;

use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::Parts;
use super::{Answer, Style};
use crate::hash::hash;
use crate::query::Query;
use crate::quirk::{self, Case, SearchQuirk as Q};
use crate::token::Pager;
use crate::world::World;
use filters::Filters;
use serde_json::{Value, json};

/// The most results of a search.
const MOST: usize = 500;
/// The most that `totalResults` reports.
const MOST_REPORTED: u32 = 1_000_000;

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, &["snippet"])?;
    let size = query.number("maxResults", 5, 0..=50)?;
    let filters = Filters::read(query)?;
    if filters.channel.is_some_and(|id| world.channel_by_id(id).is_none()) {
        return Ok(Answer::new(envelope(&filters, Vec::new(), 0, 0)));
    }
    let name = name(query);
    let quirk = documented(query.get("q"));
    let hits = match quirk {
        Some(quirk) => odd::staged(world, quirk, &filters, size),
        None => {
            let found = hits::find(world, &filters);
            odd::aged(world, found, &filters, (&name, size))
        }
    };
    let total = hits.len() as u32;
    let page = Page::read(query, Pager::short(&name), size, total)?;
    let range = page.range();
    let shown = &hits[range.start as usize..range.end as usize];
    let items = shown.iter().filter_map(|hit| result::item(world, &parts, hit)).collect();
    let estimate = estimate(quirk, &filters, (&name, total), page.start);
    let mut body = envelope(&filters, items, estimate, size);
    page.link(&mut body);
    if quirk == Some(Q::TokenLoop) && page.start > 0 {
        body["nextPageToken"] = page.token_of_itself();
    }
    Ok(Answer::styled(body, if quirk == Some(Q::OldEra) { Style::Of2019 } else { Style::Today }))
}

fn envelope(filters: &Filters<'_>, items: Vec<Value>, total: u32, per_page: u32) -> Value {
    let mut body = counted("search", items, total, per_page);
    body["regionCode"] = json!(filters.region);
    body
}

/// The quirk of documented words.
fn documented(words: Option<&str>) -> Option<Q> {
    match quirk::find(&words?.trim().to_lowercase())?.1.case {
        Case::Search(quirk) => Some(quirk),
        _ => None,
    }
}

/// The name of a result list: everything in the query that decides about it.
fn name(query: &Query) -> String {
    let others = ["key", "part", "fields", "prettyPrint", "maxResults", "pageToken"];
    let mut pairs: Vec<_> =
        query.pairs().iter().filter(|(name, _)| !others.contains(&name.as_str())).collect();
    pairs.sort();
    format!("search {pairs:?}")
}

/// `totalResults`: a number that has little to do with the number of results.
fn estimate(
    quirk: Option<Q>,
    filters: &Filters<'_>,
    (name, total): (&str, u32),
    start: u32,
) -> u32 {
    let draw = hash(0, name, &[]);
    match quirk {
        Some(Q::EmptyButTotal) => 23,
        Some(Q::Nothing) => 0,
        Some(Q::Million) => MOST_REPORTED,
        Some(Q::ChangingTotal) => total * 7 + start * 3,
        // Only some searches without results report none.
        _ if total == 0 && draw.is_multiple_of(3) => (draw >> 8) as u32 % 30,
        _ if total == 0 => 0,
        _ if filters.words.is_empty() && filters.channel.is_none() => MOST_REPORTED,
        _ => (total + 1 + total * ((draw >> 8) % 40) as u32 / 4).min(MOST_REPORTED),
    }
}
