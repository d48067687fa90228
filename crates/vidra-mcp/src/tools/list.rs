//! Lists that the library reads page by page.

use std::pin::pin;

use futures_util::{Stream, StreamExt};
use serde::Serialize;
use vidra::Error;

use super::Call;
use crate::call_error::{CallError, failure_line, log};
use crate::page::{Page, clip};
use crate::params::{Cursor, MaxChars};

/// The part of a list that fits into one answer.
pub(super) struct ListPage<T> {
    pub(super) page: Page<T>,
    /// The number of entries that were read.
    pub(super) count: usize,
    /// Whether there may be more entries, which were not requested.
    is_limited: bool,
    /// Why the list ended early.
    pub(super) broken_off: Option<String>,
}

/// The limit of an error that ends a list early, in characters. It has to fit into the reserve of a page.
const MAX_ERROR_CHARS: usize = 400;

impl<T: Serialize> ListPage<T> {
    /// Reads up to `limit` entries. `write` converts each to items, and the page has as many of them as fit, from
    /// `cursor` on. If the list breaks off, the page keeps the items so far, because they were paid for.
    pub(super) async fn read<I, W: IntoIterator<Item = (T, String)>>(
        call: &Call<'_>,
        list: impl Stream<Item = Result<I, Error>>,
        limit: usize,
        (cursor, max_chars): (Option<Cursor>, MaxChars),
        write: impl Fn(I) -> W,
    ) -> Result<Self, CallError> {
        let (mut items, mut count, mut error) = (vec![], 0, None);
        let mut list = pin!(list.take(limit));
        loop {
            match call.next(&mut list, count as u64, None).await {
                Ok(Some(Ok(entry))) => {
                    count += 1;
                    items.extend(write(entry));
                }
                Ok(None) => break,
                Ok(Some(Err(failed))) => error = Some(failed),
                Err(late) => {
                    error = Some(late);
                    break;
                }
            }
        }
        let end = Cursor::at(items.len());
        if let Some(error) = error.take_if(|_| cursor.unwrap_or_default().item >= end.item) {
            return Err(error.into());
        }
        let mut page = Page::of_list(items.into_iter(), cursor, max_chars, 0)?;
        let error = error.filter(|_| page.next.is_none());
        if let Some(error) = &error {
            log(error);
            page.next = Some(end);
        }
        let broken_off = error.map(|error| clip(&failure_line(&error), MAX_ERROR_CHARS).0);
        Ok(Self { page, count, is_limited: count == limit, broken_off })
    }

    /// A list that failed before its first entry, beside something else that did not.
    pub(super) fn without_items(error: &Error) -> Self {
        log(error);
        let broken_off = Some(clip(&failure_line(error), MAX_ERROR_CHARS).0);
        Self { page: Page::new(0, 0), count: 0, is_limited: false, broken_off }
    }

    /// The summary of an answer whose items are the entries. `what` names them.
    pub(super) fn head(&self, what: &str) -> String {
        let first = if self.is_limited { "the first " } else { "" };
        self.with_reason(format!("{} of {first}{} {what}.", self.page.items.len(), self.count))
    }

    /// A summary with the reason for a missing rest.
    pub(super) fn with_reason(&self, mut head: String) -> String {
        if let Some(why) = &self.broken_off {
            head += &format!("\nThe rest is missing: {why}");
        }
        head
    }
}
