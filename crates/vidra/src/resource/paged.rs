//! Lists that are read page by page. The upstream pages are cached records, which all callers share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::lookup::Lookup;
use crate::cache::freshness::Life;
use crate::cache::{CacheOutcome, Cached, Key, Parts};
use crate::context::Context;
use crate::data_api::call::Call;
use crate::data_api::pages::{MAX_PAGES, Pages};
use crate::error::{Error, ErrorKind, Reason, Result};
use crate::list::{self, MAX_ENTRIES, Position};
use crate::resource::Services;
use crate::resource::lifetime::Resource;

/// A list that is read page by page.
pub(crate) trait PagedList: Clone + Send + Sync + 'static {
    type Item: Send + 'static;

    /// The maximum number of upstream pages of one stream.
    const MAX_PAGES: usize = MAX_PAGES;

    /// The text that identifies this list in its cursors.
    fn key(&self) -> String;

    /// Reads up to `limit` items from `from` on, or without a limit those of the next upstream page that has any.
    ///
    /// There may be fewer items than `limit` before the end of the list: if many entries have none, or if a later
    /// page fails. The next read gets the error then.
    fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> impl Future<Output = Result<Cached<Items<Self::Item>>>> + Send;
}

/// Items, and the position after them. `None` at the end of the list.
pub(crate) type Items<T> = (Vec<T>, Option<Position>);

/// The maximum number of consecutive upstream pages without an item, after which a read returns what it has. It
/// limits the time and the cost of one read.
pub(crate) const MAX_FRUITLESS_PAGES: usize = 20;

/// The pages that a read or a stream of reads has come through. It notices a list without an end, in which every page
/// costs quota.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The tokens of the next pages, with the number of entries before them.
    seen: HashMap<String, usize>,
    max_pages: usize,
}

impl Progress {
    pub(crate) fn new(max_pages: usize) -> Self {
        Self { seen: HashMap::new(), max_pages }
    }

    /// The position of the next page. `None` at the end of the list, and if the token was seen: it would repeat pages.
    ///
    /// # Errors
    ///
    /// [`Reason::UpstreamFailed`] for a list with too many pages or entries.
    pub(crate) fn next(&mut self, token: Option<String>, start: usize) -> Result<Option<Position>> {
        // A page that is read again has the same number of entries before it.
        let token = token.filter(|it| *self.seen.entry(it.clone()).or_insert(start) == start);
        if start > MAX_ENTRIES || self.seen.len() > self.max_pages {
            return Err(no_end());
        }
        Ok(token.map(|token| Position { token, start, skip: 0 }))
    }
}

pub(crate) fn no_end() -> Error {
    Error::new(Reason::UpstreamFailed, "YouTube sent a list without end")
}

/// The most upstream pages of a read. Pages may be short, but a read must not cost far more than its items.
pub(crate) fn max_pages(limit: Option<usize>, page_size: usize) -> usize {
    MAX_FRUITLESS_PAGES + 4 * limit.unwrap_or(0).div_ceil(page_size)
}

/// The age, lifetime and cache outcome of an answer, collected from its records.
pub(crate) struct ReadState {
    pub(crate) parts: Parts,
    /// The age of the oldest record.
    age: Duration,
    /// The lifetime of that record, and the time for which all records are fresh.
    life: Option<(Life, Duration)>,
    /// Whether a page failed. The same read may return more next time.
    pub(crate) is_cut_off: bool,
    /// The units that the operation had cost before.
    units_before: u32,
}

impl ReadState {
    /// The state of a read that has begun with these parts.
    pub(crate) fn new(ctx: &Context, parts: Parts) -> Self {
        let units_before = ctx.bill.cost.units();
        Self { parts, age: Duration::ZERO, life: None, is_cut_off: false, units_before }
    }

    /// Adds a record of the answer.
    pub(crate) fn add<T>(&mut self, record: &Cached<T>) {
        self.parts = self.parts.with(record.outcome);
        let fresh_for = record.fresh_for();
        let fresh_for = self.life.map_or(fresh_for, |(_, before)| before.min(fresh_for));
        let life = self.life.filter(|_| self.age > record.age).map_or(record.life, |(it, _)| it);
        (self.age, self.life) = (self.age.max(record.age), Some((life, fresh_for)));
    }

    /// Ends the answer before the part of the list that failed.
    pub(crate) fn cut_off(&mut self, error: &Error) {
        tracing::debug!(reason = error.reason().code(), "list cut off");
        self.is_cut_off = true;
    }

    /// The answer, which counts as one of `resource`.
    pub(crate) fn answer<T>(
        self,
        services: &Services,
        ctx: &Context,
        resource: Resource,
        body: T,
    ) -> Cached<T> {
        let Self { parts, age, life, is_cut_off, units_before } = self;
        // A call that failed may have cost units, and a hit costs nothing.
        let has_paid = is_cut_off && ctx.bill.cost.units() > units_before;
        let parts = if has_paid { parts.with(CacheOutcome::Miss) } else { parts };
        services.cache.count(resource.kind(), parts.worst());
        let life = match life {
            // The next reader may get more.
            Some(_) if is_cut_off => {
                Life { ttl: age, grace: Duration::ZERO, stale_if_error: Duration::ZERO }
            }
            Some((life, fresh_for)) => Life { ttl: age + fresh_for, ..life },
            None => services.cache.life_of_new(&Key { kind: resource.kind(), text: String::new() }),
        };
        Cached::composite(body, parts, age, life)
    }
}

/// An upstream page, as it is cached.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RecordPage<T> {
    pub(crate) items: Vec<T>,
    /// The token of the next page. `None` on the last one.
    pub(crate) next: Option<String>,
}

impl<T> RecordPage<T> {
    /// Fetches the page of `call` with this token, which is empty for the first page. It costs 1 unit.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`] if YouTube rejects the token.
    pub(crate) async fn fetch<W: DeserializeOwned>(
        services: &Services,
        ctx: &Context,
        call: Call,
        token: &str,
        from_wire: impl Fn(W) -> Option<T>,
    ) -> Result<Self> {
        let mut pages = Pages::at(call, token);
        let items = pages.next::<W>(&services.data_api, ctx).await;
        let items = items.map_err(|error| rejected_token(error, token))?;
        let items = items.unwrap_or_default().into_iter().filter_map(from_wire).collect();
        Ok(Self { items, next: pages.token().map(str::to_owned) })
    }
}

/// The error of a page with this token. YouTube rejects a token that has expired.
pub(crate) fn rejected_token(error: Error, token: &str) -> Error {
    match error.kind() {
        ErrorKind::InvalidInput if !token.is_empty() => list::invalid_cursor(),
        _ => error,
    }
}

/// A list whose upstream pages are records of [`RecordPage`]s.
pub(crate) trait Records: Sync {
    type Item: DeserializeOwned + Send;

    /// The kind of the answers.
    const RESOURCE: Resource;
    /// The number of items on a full upstream page.
    const PAGE_SIZE: usize;

    /// The record of the page with this token, which is empty for the first page.
    fn page(&self, token: &str) -> Lookup;

    /// Whether [`Self::complete`] leaves items out.
    fn is_filter(&self) -> bool {
        false
    }

    /// Completes an item from other records. Returns `None` for an item that is not listed, and the record that it
    /// has read.
    fn complete(
        &self,
        _services: &Arc<Services>,
        _ctx: &Context,
        item: Self::Item,
    ) -> impl Future<Output = Result<(Option<Self::Item>, Option<Cached>)>> + Send {
        std::future::ready(Ok((Some(item), None)))
    }
}

/// The number of items that are completed concurrently.
const ITEMS_AT_ONCE: usize = 5;

/// The number of uncached completions after which a read that filters returns what it has.
const MAX_COMPLETIONS: usize = 100;

/// Reads a list of records, as [`PagedList::read`] does. `parts` are the parts that were read before. It costs what
/// the upstream pages with the items cost.
pub(crate) async fn read<R: Records>(
    services: &Arc<Services>,
    ctx: &Context,
    records: &R,
    parts: Parts,
    from: &Position,
    limit: Option<usize>,
    progress: &mut Progress,
) -> Result<Cached<Items<R::Item>>> {
    let ctx = &ctx.for_parts();
    let state = ReadState::new(ctx, parts);
    let mut reader =
        Reader { services, ctx, records, limit, state, items: vec![], completions: 0, error: None };
    let (mut next, mut fruitless) = (Some(from.clone()), 0);
    let mut pages_left = max_pages(limit, R::PAGE_SIZE);
    while !reader.is_done() && fruitless < MAX_FRUITLESS_PAGES && pages_left > 0 {
        let Some(position) = next.take() else { break };
        let before = reader.items.len();
        next = reader.add_page(position, progress).await?;
        fruitless = if reader.items.len() > before { 0 } else { fruitless + 1 };
        pages_left -= 1;
    }
    let is_stuck = next.as_ref().is_some_and(|next| next.start == from.start);
    if fruitless >= MAX_FRUITLESS_PAGES && is_stuck {
        return Err(no_end());
    }
    let Reader { mut state, items, error, .. } = reader;
    match error {
        Some(error) if items.is_empty() => return Err(error),
        Some(error) => state.cut_off(&error),
        None => {}
    }
    Ok(state.answer(services, ctx, R::RESOURCE, (items, next)))
}

/// The state of one read of records.
struct Reader<'a, R: Records> {
    services: &'a Arc<Services>,
    ctx: &'a Context,
    records: &'a R,
    /// `None` reads one upstream page at a time.
    limit: Option<usize>,
    state: ReadState,
    items: Vec<R::Item>,
    /// The number of uncached completions.
    completions: usize,
    /// The error that ends the list early.
    error: Option<Error>,
}

impl<R: Records> Reader<'_, R> {
    fn is_done(&self) -> bool {
        let is_full = match self.limit {
            Some(limit) => self.items.len() >= limit,
            None => !self.items.is_empty(),
        };
        is_full || self.error.is_some() || self.is_costly()
    }

    /// Whether the search for matching items has cost enough for one read.
    fn is_costly(&self) -> bool {
        self.records.is_filter() && self.completions >= MAX_COMPLETIONS
    }

    /// Adds the items of the page at `position`, and returns the position after the last one.
    async fn add_page(
        &mut self,
        position: Position,
        progress: &mut Progress,
    ) -> Result<Option<Position>> {
        let page = match self.page(&position.token).await {
            Ok(page) => page,
            Err(error) => {
                self.error = Some(error);
                return Ok(Some(position));
            }
        };
        let (records, services, ctx) = (self.records, self.services, self.ctx);
        let count = page.items.len();
        let wanted = match self.limit {
            Some(limit) if !records.is_filter() => limit - self.items.len(),
            _ => count,
        };
        let rest = page.items.into_iter().enumerate().skip(position.skip).take(wanted);
        let complete =
            |(index, item)| async move { (index, records.complete(services, ctx, item).await) };
        let mut completed = stream::iter(rest).map(complete).buffered(ITEMS_AT_ONCE);
        while let Some((index, result)) = completed.next().await {
            let (item, record) = match result {
                Ok(completed) => completed,
                Err(error) => {
                    self.error = Some(error);
                    return Ok(Some(Position { skip: index, ..position }));
                }
            };
            if let Some(record) = record {
                self.completions += usize::from(record.outcome != CacheOutcome::Hit);
                self.state.add(&record);
            }
            self.items.extend(item);
            let is_full = self.limit.is_some_and(|limit| self.items.len() >= limit);
            if (is_full || self.is_costly()) && index + 1 < count {
                return Ok(Some(Position { skip: index + 1, ..position }));
            }
        }
        progress.next(page.next, position.start + count)
    }

    async fn page(&mut self, token: &str) -> Result<RecordPage<R::Item>> {
        let page = self.services.read_record(self.ctx, &self.records.page(token)).await?;
        self.state.add(&page);
        page.decode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_token_ends_the_list_and_a_page_that_is_read_again_does_not() {
        let mut progress = Progress::new(MAX_PAGES);
        let mut next = |token: &str, start| {
            let position = progress.next(Some(token.to_owned()), start).unwrap();
            position.map(|it| (it.token, it.start))
        };
        assert_eq!(next("a", 50), Some(("a".to_owned(), 50)));
        assert_eq!(next("b", 100), Some(("b".to_owned(), 100)));
        assert_eq!(next("b", 100), Some(("b".to_owned(), 100)), "after a failure");
        assert_eq!(next("a", 150), None);
        assert_eq!(progress.next(None, 150).unwrap(), None);
        assert_eq!(progress.next(None, MAX_ENTRIES + 1).unwrap_err().reason(), no_end().reason());
    }
}
