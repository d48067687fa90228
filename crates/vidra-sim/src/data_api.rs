//! The Data API v3: from a query to the JSON of the platform.

mod categories;
mod channels;
mod comment_threads;
mod comments;
pub(crate) mod error;
mod i18n;
mod names;
mod page;
mod parameters;
mod parts;
mod playlist_items;
mod playlists;
mod render;
mod search;
mod thumbnails;
mod videos;

pub(crate) use render::Style;

use crate::query::Query;
use crate::route::Endpoint;
use crate::world::World;
use error::ApiError;
use serde_json::Value;

/// A body and its style.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Value,
    style: Style,
}

impl Answer {
    fn new(body: Value) -> Self {
        Self { body, style: Style::Today }
    }

    fn styled(body: Value, style: Style) -> Self {
        Self { body, style }
    }

    /// The bytes; `compact` is for `prettyPrint=false`.
    pub(crate) fn render(self, compact: bool) -> Vec<u8> {
        render::render(self.body, if compact { Style::Compact } else { self.style })
    }

    /// The etag of the whole answer.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.body.get("etag")?.as_str()
    }
}

/// The platform's answer.
pub(crate) fn answer(world: &World, endpoint: Endpoint, query: &Query) -> Result<Answer, ApiError> {
    parameters::check(endpoint, query)?;
    let mut answer = list(world, endpoint, query)?;
    answer.body["etag"] = etag(world, endpoint, query).into();
    Ok(answer)
}

/// The etag of an answer. Apart from scheduled changes the query alone identifies it.
fn etag(world: &World, endpoint: Endpoint, query: &Query) -> String {
    let mut parameters: Vec<_> =
        query.pairs().iter().filter(|(name, _)| name != "key" && name != "prettyPrint").collect();
    parameters.sort();
    world.etag(&format!("{endpoint:?} {parameters:?}{}", world.edition()))
}

fn list(world: &World, endpoint: Endpoint, query: &Query) -> Result<Answer, ApiError> {
    match endpoint {
        Endpoint::Videos => videos::list(world, query),
        Endpoint::Channels => channels::list(world, query),
        Endpoint::Playlists => playlists::list(world, query),
        Endpoint::PlaylistItems => playlist_items::list(world, query),
        Endpoint::CommentThreads => comment_threads::list(world, query),
        Endpoint::Comments => comments::list(world, query),
        Endpoint::Search => search::list(world, query),
        Endpoint::VideoCategories => categories::list(world, query),
        Endpoint::I18nRegions => i18n::regions(world, query),
        Endpoint::I18nLanguages => i18n::languages(world, query),
        _ => Err(ApiError::no_such_method()),
    }
}
