//! Searches, page by page or as a stream.

use std::collections::HashSet;

use futures_util::{Stream, TryStreamExt, future};

use super::Vidra;
use super::paging::position;
use crate::cache::Cached;
use crate::error::Result;
use crate::list::Page;
use crate::resource::paged::PagedList;
use crate::resource::search::{self, MAX_RESULTS, Search};
use crate::search::{SearchItem, SearchQuery};

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
        let list_key = Search(query.clone()).key();
        let from = position(cursor, &list_key)?;
        let limit = limit.clamp(1, MAX_RESULTS);
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
        let mut seen = HashSet::new();
        let results = self.list_stream(Search(query.clone()), cursor);
        // YouTube repeats results.
        results.try_filter(move |item| future::ready(seen.insert(item.id().to_owned())))
    }
}
