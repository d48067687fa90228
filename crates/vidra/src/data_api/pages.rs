//! Lists, page by page.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use super::DataApi;
use super::call::Call;
use super::fault::Fault;
use super::wire::List;
use crate::context::Context;
use crate::error::Result;

/// Far more than any token has; much more would not fit into a URL.
const LONGEST_TOKEN: usize = 8192;

/// A position in a list. `nextPageToken` alone says whether there is more: short pages are not last pages, and
/// counts announce items that never come. A token that was seen before ends the list.
pub(crate) struct Pages {
    call: Call,
    /// The token of the next page: empty for the first, `None` past the last.
    next: Option<String>,
    seen: HashSet<String>,
}

impl Pages {
    /// Before the first page of the list that `call` requests.
    pub(crate) fn new(call: Call) -> Self {
        Self { call, next: Some(String::new()), seen: HashSet::new() }
    }

    /// Fetches the next page; `None` past the last. After an error the position is the same, so that the page can
    /// be fetched again.
    pub(crate) async fn next<T: DeserializeOwned>(
        &mut self,
        data_api: &DataApi,
        ctx: &Context,
    ) -> Result<Option<Vec<T>>> {
        let Some(token) = &self.next else { return Ok(None) };
        let call = self.call.clone();
        let call = if token.is_empty() { call } else { call.with("pageToken", token) };
        let page: List<T> = data_api.fetch(ctx, &call).await?;
        // It could not be sent back, and the rest of the list would be missing without a word.
        if page.next_page_token.as_ref().is_some_and(|token| token.len() > LONGEST_TOKEN) {
            return Err(Fault::unreadable("a page token without end".to_owned()).error);
        }
        self.next = page
            .next_page_token
            .filter(|token| !token.is_empty() && self.seen.insert(token.clone()));
        Ok(Some(page.items.unwrap_or_default()))
    }

    /// Whether there is no further page.
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
