//! `i18nRegions.list` and `i18nLanguages.list`: no pages, no page information.

use super::Answer;
use super::error::ApiError;
use super::names::{LANGUAGES, REGIONS, language};
use super::page::envelope;
use super::parts::Parts;
use crate::query::Query;
use crate::world::World;
use serde_json::json;

pub(super) fn regions(world: &World, query: &Query) -> Result<Answer, ApiError> {
    list(world, query, REGIONS, ("i18nRegion", "gl"))
}

pub(super) fn languages(world: &World, query: &Query) -> Result<Answer, ApiError> {
    list(world, query, LANGUAGES, ("i18nLanguage", "hl"))
}

fn list(
    world: &World,
    query: &Query,
    rows: &[(&str, &str, &str)],
    (kind, member): (&str, &str),
) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, &["snippet"])?;
    let german = language(query) == "de";
    let items = rows.iter().map(|(code, english, own)| {
        let name = if german { own } else { english };
        parts.item(world, kind, code, |_| Some(json!({member: code, "name": name})))
    });
    Ok(Answer::new(envelope(kind, items.collect())))
}
