//! `/api/i18n/…` and `/api/video-categories`.

use axum::http::HeaderMap;
use vidra::{CategoryQuery, Language, LanguageCode, Lookup, Region, VideoCategory};

use super::list::ListForm;
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::Query;

/// The maximum number of category ids in one request, which is the limit of the platform.
const MAX_CATEGORIES: usize = 50;

/// The regions that YouTube serves.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/i18n/regions", tag = "Regions",
    params(
        ("hl" = Option<String>, Query, description = "Language of the names; English if not given", example = "en"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The regions", content(
            (Vec<Region> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_regions(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<Region>(&mut query, &headers);
    responder.fetch_list::<Region>(&form, Lookup::Regions(language(query)?)).await
}

/// The languages of YouTube's interface.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/i18n/languages", tag = "Regions",
    params(
        ("hl" = Option<String>, Query, description = "Language of the names; English if not given", example = "en"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The languages", content(
            (Vec<Language> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_languages(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<Language>(&mut query, &headers);
    responder.fetch_list::<Language>(&form, Lookup::Languages(language(query)?)).await
}

/// Video categories, of a region or by id.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/video-categories", tag = "Regions",
    params(
        ("region" = Option<String>, Query, description = "Two-letter code of a region; US if neither it nor `ids` is given", example = "US"),
        ("ids" = Option<String>, Query, description = "1 to 50 category ids, separated by commas, such as `10,22`; not together with `region`, which applies if not given"),
        ("hl" = Option<String>, Query, description = "Language of the titles; English if not given", example = "en"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The categories", content(
            (Vec<VideoCategory> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_video_categories(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<VideoCategory>(&mut query, &headers);
    let ids: Vec<String> = query.list("ids").into_iter().map(str::to_owned).collect();
    let is_region_given = query.text("region").is_some();
    let region = query.parsed("region", region_code);
    let categories = match region {
        _ if is_region_given && !ids.is_empty() => {
            query.fault("ids", "cannot be combined with region");
            CategoryQuery::Ids(ids)
        }
        None if !ids.is_empty() => category_ids(ids, &mut query),
        region => CategoryQuery::Region(region.unwrap_or_else(|| "US".to_owned())),
    };
    let hl = language(query)?;
    responder.fetch_list::<VideoCategory>(&form, Lookup::Categories(categories, hl)).await
}

/// The code of a region in capitals.
pub(super) fn region_code(text: &str) -> Result<String, &'static str> {
    let code = text.to_ascii_uppercase();
    let is_code = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_code { Ok(code) } else { Err("must be a two-letter code such as US") }
}

/// The id of a video category.
pub(super) fn category_id(text: &str) -> Result<String, &'static str> {
    if is_category_id(text) { Ok(text.to_owned()) } else { Err("category ids are numbers") }
}

fn is_category_id(id: &str) -> bool {
    (1..=9).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

fn category_ids(ids: Vec<String>, query: &mut Query) -> CategoryQuery {
    if ids.len() > MAX_CATEGORIES {
        query.fault("ids", format!("expected 1 to {MAX_CATEGORIES} entries, got {}", ids.len()));
    }
    if !ids.iter().all(|id| is_category_id(id)) {
        query.fault("ids", "category ids are numbers");
    }
    CategoryQuery::Ids(ids)
}

/// Reads `hl`, and fails with all faults of the query.
fn language(mut query: Query) -> Result<Option<String>> {
    let hl = query.parsed("hl", str::parse::<LanguageCode>);
    query.check()?;
    Ok(hl.map(|code| code.to_string()))
}
