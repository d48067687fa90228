//! Paginated lists.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use super::DataApi;
use super::call::Call;
use super::wire::List;
use crate::context::Context;
use crate::error::Result;

/// The maximum length of a page token. Real tokens are far shorter, and a longer one would not fit
/// into a URL.
const MAX_TOKEN_LENGTH: usize = 8192;

/// The maximum number of pages of one list. YouTube shows at most 20,000 entries, which are 400 full
/// pages.
pub(crate) const MAX_PAGES: usize = 1_000;

/// The maximum number of items of one list. Comments of a video can be more than the entries of a playlist.
const MAX_ITEMS: usize = 50_000;

/// The maximum number of consecutive pages without an item. YouTube sends a few, where videos are
/// hidden.
const MAX_EMPTY_PAGES: usize = 20;

/// A position in a list. Only `nextPageToken` tells whether there are more pages: a short page is
/// not the last one, and item counts are unreliable. A repeated token ends the list. A list without an
/// end is an error, because every page costs quota.
pub(crate) struct Pages {
    call: Call,
    /// The token of the next page. Empty for the first page, `None` after the last.
    next: Option<String>,
    seen: HashSet<String>,
    /// The number of consecutive pages without an item.
    empty: usize,
    items: usize,
    /// YouTube's own count of all items, from the last page that has it.
    total: Option<u64>,
}

impl Pages {
    /// Creates a position before the first page of `call`.
    pub(crate) fn new(call: Call) -> Self {
        Self::at(call, "")
    }

    /// Creates a position before the page of `call` with this token, which is empty for the first page.
    pub(crate) fn at(call: Call, token: &str) -> Self {
        Self {
            call,
            next: Some(token.to_owned()),
            seen: HashSet::from([token.to_owned()]),
            empty: 0,
            items: 0,
            total: None,
        }
    }

    /// The token of the next page: empty for the first page, `None` after the last.
    pub(crate) fn token(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Fetches the next page. `None` after the last. After a failed call the caller can fetch the same
    /// page again. After the error of a list without end it must stop.
    pub(crate) async fn next<T: DeserializeOwned>(
        &mut self,
        data_api: &DataApi,
        ctx: &Context,
    ) -> Result<Option<Vec<T>>> {
        let Some(token) = &self.next else { return Ok(None) };
        let call = self.call.clone();
        let call = if token.is_empty() { call } else { call.with("pageToken", token) };
        let page: List<T> = data_api.fetch(ctx, &call).await?;
        // Such a token could not be sent back, and the list would be truncated silently.
        if page.next_page_token.as_ref().is_some_and(|token| token.len() > MAX_TOKEN_LENGTH) {
            return Err(super::Fault::unreadable("a page token without end".to_owned()).error);
        }
        let items = page.items.unwrap_or_default();
        self.total = page.total.or(self.total);
        self.next = page
            .next_page_token
            .filter(|token| !token.is_empty() && self.seen.insert(token.clone()));
        self.empty = if items.is_empty() { self.empty + 1 } else { 0 };
        self.items += items.len();
        let is_endless =
            self.seen.len() > MAX_PAGES || self.empty >= MAX_EMPTY_PAGES || self.items > MAX_ITEMS;
        if is_endless && self.next.is_some() {
            return Err(super::Fault::unreadable("a list without end".to_owned()).error);
        }
        Ok(Some(items))
    }

    /// YouTube's own count of all items. `None` before the first page, and if YouTube sends none.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Whether there are no more pages.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next.is_none()
    }
}

impl DataApi {
    /// Fetches one page of a list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        ctx: &Context,
        call: &Call,
    ) -> Result<Vec<T>> {
        let page: List<T> = self.fetch(ctx, call).await?;
        Ok(page.items.unwrap_or_default())
    }
}
