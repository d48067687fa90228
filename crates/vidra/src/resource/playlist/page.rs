//! Single pages of a playlist's entries, for lists that are read page by page.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::entries::{Entry, EntryList};
use super::walk::{Needed, Walks};
use crate::cache::Cached;
use crate::context::{CacheMode, Context};
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::pages::Pages;
use crate::data_api::wire;
use crate::error::Result;
use crate::ident::PlaylistId;
use crate::resource::Services;
use crate::resource::lookup::Lookup;
use crate::resource::paged::rejected_token;

/// A page of entries, as YouTube sends it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EntryPage {
    pub(crate) entries: Vec<Entry>,
    /// The token of the next page. `None` on the last one.
    pub(crate) next: Option<String>,
}

/// The call for the entries of a playlist.
pub(super) fn call(id: &PlaylistId) -> Call {
    Call::new(Endpoint::PlaylistItems, What::Playlist, id)
        // All parts that we serve. They do not change the cost.
        .with("part", "snippet,contentDetails")
        .with("playlistId", id.as_str())
        .with("maxResults", "50")
}

/// Fetches the page with this token, and returns it with its age. It costs 1 unit. The first page is shared with the
/// walks through the playlist.
///
/// # Errors
///
/// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if YouTube rejects the token.
pub(crate) async fn fetch(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
    token: &str,
) -> Result<(EntryPage, Duration)> {
    if token.is_empty() {
        let follower = Walks::follow(services, ctx, id, Needed::Part);
        return Ok((follower.first_page().await?, follower.age()));
    }
    let mut position = Pages::at(call(id), token);
    let items: Option<Vec<wire::PlaylistItem>> = position
        .next(&services.data_api, ctx)
        .await
        .map_err(|error| rejected_token(error, token))?;
    let entries = items.unwrap_or_default().into_iter().map(Entry::from_wire).collect();
    let page = EntryPage { entries, next: position.token().map(str::to_owned) };
    Ok((page, Duration::ZERO))
}

/// Reads the page with this token through the cache, or takes it from a fresh record of the whole list.
pub(crate) async fn read(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
    token: &str,
) -> Result<Cached<EntryPage>> {
    let page = Lookup::PlaylistPage(id.clone(), token.to_owned());
    let whole = Lookup::PlaylistEntries(id.clone());
    if ctx.mode == CacheMode::Normal
        && services.cache.are_fresh(&[page.key(), whole.key()], ctx).await == [false, true]
    {
        let cached = services.read_record(ctx, &whole).await?;
        if let Some(page) = cached.decode::<EntryList>()?.page(token) {
            return Ok(cached.with_body(page));
        }
    }
    let cached = services.read_record(ctx, &page).await?;
    let page = cached.decode()?;
    Ok(cached.with_body(page))
}
