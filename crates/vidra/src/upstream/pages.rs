//! Lists, page by page.

use std::collections::HashSet;

use futures_util::{Stream, stream};
use serde::de::DeserializeOwned;

use super::Scope;
use super::call::Call;
use super::fault::Fault;
use super::wire::List;
use crate::error::Result;

impl Scope {
    /// Walks a list page by page. `nextPageToken` alone says whether there is more: short pages are
    /// not last pages, counts announce items that never come. A token seen before ends the walk.
    pub(crate) fn pages<T>(&self, call: Call) -> impl Stream<Item = Result<Vec<T>>> + use<T>
    where
        T: DeserializeOwned,
    {
        let scope = self.clone();
        let walk = Walk { scope, call, next: Some(String::new()), seen: HashSet::new() };
        stream::try_unfold(walk, |mut walk| async {
            let Some(token) = walk.next.take() else { return Ok(None) };
            let call = walk.call.clone();
            let call = if token.is_empty() { call } else { call.with("pageToken", token) };
            let page: List<T> = walk.scope.fetch(&call).await?;
            // It could not be sent back, and what is left would be missing without a word.
            if page.next_page_token.as_ref().is_some_and(|token| token.len() > LONGEST_TOKEN) {
                return Err(Fault::unreadable("a page token without end".to_owned()).error);
            }
            walk.next = page
                .next_page_token
                .filter(|token| !token.is_empty() && walk.seen.insert(token.clone()));
            Ok(Some((page.items.unwrap_or_default(), walk)))
        })
    }

    /// One page of a list.
    pub(crate) async fn list<T: DeserializeOwned>(&self, call: &Call) -> Result<Vec<T>> {
        let page: List<T> = self.fetch(call).await?;
        Ok(page.items.unwrap_or_default())
    }
}

/// Far more than any token has; much more would not fit into a URL.
const LONGEST_TOKEN: usize = 8192;

/// Where a walk through pages stands.
struct Walk {
    scope: Scope,
    call: Call,
    /// The token of the page to ask for: empty for the first, `None` past the last.
    next: Option<String>,
    seen: HashSet<String>,
}
