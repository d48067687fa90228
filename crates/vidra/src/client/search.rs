//! Searches, page by page or as a stream.

use std::collections::HashSet;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use super::Vidra;
use super::paging::position;
use crate::cache::Cached;
use crate::cache::freshness::FOREVER;
use crate::context::Context;
use crate::error::Result;
use crate::list::{Page, Position};
use crate::resource::lookup::Lookup;
use crate::resource::search;
use crate::search::{SearchItem, SearchQuery};

/// The maximum number of results on a page.
const MAX_LIMIT: usize = 50;

/// The maximum number of upstream pages of a stream. YouTube returns about 500 results, which are 10 full pages.
const MAX_PAGES: usize = 20;

impl Vidra {
    /// Searches YouTube, and returns up to `limit` results (at most 50) from a cursor on, or from the beginning. It
    /// costs one search of the daily 100, and 1 unit for the videos. Results are cached for 6 hours.
    ///
    /// All results of a page come from one upstream page of 50, so a page can have fewer results than `limit`
    /// before the end.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchQuotaExhausted`](crate::Reason::SearchQuotaExhausted) if the searches of the day are used up,
    /// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this search, and
    /// [`Reason::ChannelNotFound`](crate::Reason::ChannelNotFound) if there is no such channel.
    ///
    /// ```
    /// use vidra::{SearchItem, SearchQuery};
    ///
    #[doc = include_str!("../example.txt")]
    /// let query = SearchQuery::parse("session")?;
    /// let page = vidra.search(&query, None, 5).await?.body;
    /// for item in &page.items {
    ///     if let SearchItem::Video(video) = item {
    ///         println!("{}: {} views", video.title, video.views_fmt);
    ///     }
    /// }
    /// let next = vidra.search(&query, page.next_cursor.as_deref(), 5).await?.body;
    /// assert_ne!(page.items[0], next.items[0]);
    /// // One search and one call for its videos.
    /// assert_eq!(vidra.cost().units(), 2);
    /// # Ok(()) }
    /// ```
    pub async fn search(
        &self,
        query: &SearchQuery,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Cached<Page<SearchItem>>> {
        let list_key = list_key(query);
        let from = position(cursor, &list_key)?;
        let limit = limit.clamp(1, MAX_LIMIT);
        let read = search::read(&self.services, &self.context(), query, &from, limit).await?;
        let (outcome, age, life) = (read.outcome, read.age, read.life);
        let (items, next, total_estimate) = read.body;
        let next_cursor = next.map(|next| next.encode(&list_key));
        let body = Page { items, next_cursor, total_estimate };
        Ok(Cached { body, outcome, age, life })
    }

    /// Streams all results of a search from a cursor on, each once. It costs one search for each 50 results, and
    /// 1 unit for their videos. Pages that are not read are not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. The errors are those of [`Vidra::search`].
    pub fn search_all(
        &self,
        query: &SearchQuery,
        cursor: Option<&str>,
    ) -> impl Stream<Item = Result<SearchItem>> + Send + use<> {
        let end = Instant::now() + self.batch_deadline.min(self.patience).min(FOREVER);
        let start = position(cursor, &list_key(query));
        let state = start.map(|start| (self.clone(), query.clone(), Some(start), Seen::default()));
        let pages = stream::try_unfold(state, move |state| async move {
            let (vidra, query, position, mut seen) = state?;
            let Some(position) = position.filter(|position| seen.is_new_page(position)) else {
                return Ok(None);
            };
            let ctx = vidra.context();
            let ctx = Context { deadline: ctx.deadline.min(end), ..ctx };
            let read = search::read(&vidra.services, &ctx, &query, &position, MAX_LIMIT).await?;
            let (mut items, next, _) = read.body;
            items.retain(|item| seen.items.insert(item.id().to_owned()));
            Ok(Some((items, Ok((vidra, query, next, seen)))))
        });
        pages.map_ok(|items| stream::iter(items).map(Ok)).try_flatten()
    }
}

/// What a stream has come through. YouTube repeats results, and may repeat pages.
#[derive(Default)]
struct Seen {
    tokens: HashSet<String>,
    items: HashSet<String>,
}

impl Seen {
    fn is_new_page(&mut self, position: &Position) -> bool {
        self.tokens.insert(position.token.clone()) && self.tokens.len() <= MAX_PAGES
    }
}

/// The text that identifies a search in its cursors.
fn list_key(query: &SearchQuery) -> String {
    Lookup::Search(query.clone(), String::new()).key().text
}
