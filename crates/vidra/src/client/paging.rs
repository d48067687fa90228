//! How lists are read: one page, or a stream of pages.

use std::time::Duration;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tokio::time::{Instant, sleep};

use super::Vidra;
use crate::cache::Cached;
use crate::cache::freshness::FOREVER;
use crate::context::Context;
use crate::error::{Reason, Result};
use crate::list::{Page, Position};
use crate::resource::paged::{Items, PagedList, Progress};

/// How long a list that has begun waits for a slot before it tries again.
const SLOT_WAIT: Duration = Duration::from_secs(1);

impl Vidra {
    /// Reads up to `limit` items from a cursor on, or from the beginning.
    pub(super) async fn list_page<L: PagedList, T>(
        &self,
        list: &L,
        cursor: Option<&str>,
        limit: usize,
        item: fn(L::Item) -> T,
    ) -> Result<Cached<Page<T>>> {
        let list_key = list.key();
        let from = position(cursor, &list_key)?;
        let (ctx, limit) = (self.context(), Some(limit.max(1)));
        let progress = &mut Progress::new(L::MAX_PAGES);
        let read = list.read(&self.services, &ctx, &from, limit, progress).await?;
        let (outcome, age, life) = (read.outcome, read.age, read.life);
        let (items, next) = read.body;
        let next_cursor = next.map(|next| next.encode(&list_key));
        let items = items.into_iter().map(item).collect();
        let body = Page { items, next_cursor, total_estimate: None };
        Ok(Cached { body, outcome, age, life })
    }

    /// Reads a list one upstream page at a time. A page has the deadline of an operation, and the stream that of a batch.
    pub(super) fn list_stream<L: PagedList>(
        &self,
        list: L,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<L::Item>> + Send + use<L> {
        let start = position(cursor, &list.key());
        let end = Instant::now() + self.batch_deadline.min(self.caller_limit).min(FOREVER);
        let progress = Progress::new(L::MAX_PAGES);
        let start = start.map(|position| (self.clone(), list, Some(position), progress, false));
        let pages = stream::try_unfold(start, move |state| async move {
            let (vidra, list, position, mut progress, has_begun) = state?;
            let Some(position) = position else { return Ok(None) };
            let read = loop {
                let ctx = vidra.context();
                let ctx = Context { deadline: ctx.deadline.min(end), ..ctx };
                let progress = &mut progress;
                match list.read(&vidra.services, &ctx, &position, None, progress).await {
                    // A list that has begun waits for a slot, as a batch does.
                    Err(error) if error.reason() == Reason::Overloaded && has_begun => {
                        if Instant::now() + SLOT_WAIT >= end {
                            return Err(error);
                        }
                        sleep(SLOT_WAIT).await;
                    }
                    read => break read?,
                }
            };
            let (items, next): Items<L::Item> = read.body;
            Ok(Some((items, Ok((vidra, list, next, progress, true)))))
        });
        pages.map_ok(|items| stream::iter(items).map(Ok)).try_flatten()
    }
}

pub(super) fn position(cursor: Option<&str>, list_key: &str) -> Result<Position> {
    cursor.map_or(Ok(Position::FIRST), |cursor| Position::decode(cursor, list_key))
}
