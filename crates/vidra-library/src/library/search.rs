//! Searches, and the index that they read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use vidra::{ChannelId, Error, Handle, Reason, Result};

use super::Library;
use super::cursor::{read_cursor, write_cursor};
use crate::passage::IndexRows;
use crate::search::{HitPage, LibraryFilter, LibraryVideo, Period, SearchSort, TextSearch, Trends};
use crate::store::index::{self, IndexWork};
use crate::store::search::{self, Cursor, DEADLINE};
use crate::store::{collections, transcripts};

/// The most searches that run, or wait for others.
const MOST_PENDING: usize = 64;

/// How many transcripts one step adds to an index.
const STEP: usize = 50;

/// Counts a search as long as it runs or waits.
struct Pending(Arc<AtomicUsize>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Library {
    /// Finds what was said. Returns a page of hits.
    ///
    /// Later pages have the order of the first one: they leave out transcripts that were stored since.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`] after 2 seconds, [`Reason::Overloaded`] if too many searches wait,
    /// [`Reason::CollectionNotFound`], [`Reason::JobNotFound`], and [`Reason::InvalidCursor`].
    pub async fn search(
        &self,
        request: &TextSearch,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<HitPage> {
        let list = format!("search {request:?}");
        let cursor = match cursor {
            Some(cursor) => {
                let [last, offset] = read_cursor(&list, cursor)?;
                Some(Cursor { last, offset: usize::try_from(offset).unwrap_or(usize::MAX) })
            }
            None => None,
        };
        let request = request.clone();
        let read = move |it: &_| search::search(it, &request, cursor, limit);
        let (page, next) = self.run_search(read).await?;
        let next_cursor = next.map(|it| write_cursor(&list, [it.last, it.offset as i64]));
        Ok(HitPage { next_cursor, ..page })
    }

    /// Counts how often something was said in each period.
    ///
    /// # Errors
    ///
    /// Those of [`Library::search`].
    pub async fn trends(&self, request: &TextSearch, period: Period) -> Result<Trends> {
        let request = request.clone();
        self.run_search(move |it| search::trends(it, &request, period)).await
    }

    /// A page of the videos with a transcript in the order of their publication, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// Those of [`Library::search`].
    pub async fn videos(
        &self,
        filter: &LibraryFilter,
        sort: SearchSort,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<LibraryVideo>, Option<String>)> {
        let list = format!("videos {filter:?} {sort:?}");
        let [offset] = cursor.map_or(Ok([0]), |cursor| read_cursor(&list, cursor))?;
        let (filter, offset) = (filter.clone(), usize::try_from(offset).unwrap_or(usize::MAX));
        let read = move |it: &_| search::videos(it, &filter, sort, offset, limit + 1);
        let mut videos = self.run_search(read).await?;
        let has_more = videos.len() > limit;
        videos.truncate(limit);
        let next = has_more.then(|| write_cursor(&list, [(offset + limit) as i64]));
        Ok((videos, next))
    }

    /// The id of a channel whose handle is a source of a collection. `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`].
    pub async fn known_channel(&self, handle: &Handle) -> Result<Option<ChannelId>> {
        let handle = handle.to_string();
        let id = self.database().read(move |it| collections::known_channel(it, &handle)).await?;
        Ok(id.and_then(|id| ChannelId::parse(&id).ok()))
    }

    async fn run_search<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let pending = Pending(Arc::clone(&self.inner.searches));
        if pending.0.fetch_add(1, Ordering::Relaxed) >= MOST_PENDING {
            let error = Error::new(Reason::Overloaded, "Too many searches run or wait");
            return Err(error.with_retry_after(Some(Duration::from_secs(1))));
        }
        let counted = move |it: &_| {
            // Until the thread has ended, also if the caller leaves before.
            let _pending = pending;
            work(it)
        };
        self.database().search(DEADLINE, counted).await
    }

    /// Builds a new index from the texts, while searches use the old one. `progress` gets the number of indexed
    /// transcripts. Returns it in the end.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`].
    pub async fn reindex(&self, progress: impl FnMut(u64)) -> Result<u64> {
        self.database().write(index::begin).await?;
        self.complete_index(progress).await
    }

    /// Adds all transcripts to the index that it does not have: those of earlier releases, or all of them if the rules of
    /// the index have changed. `progress` gets the number of indexed transcripts. Returns it in the end.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`].
    pub async fn complete_index(&self, mut progress: impl FnMut(u64)) -> Result<u64> {
        let (mut done, mut after) = (0, 0);
        while let Some(step) = self.extend_index(after).await? {
            (done, after) = (done + step.added, step.last);
            progress(done);
        }
        Ok(done)
    }

    /// Adds a few transcripts to an index that does not have all of them. `None` if there is nothing left to do.
    async fn extend_index(&self, after: i64) -> Result<Option<IndexStep>> {
        let index = match self.database().read(index::work).await? {
            None => return Ok(None),
            Some(IndexWork::Begin) => {
                self.database().write(index::begin).await?;
                return Ok(Some(IndexStep { added: 0, last: 0 }));
            }
            Some(IndexWork::Build { index }) => index.number,
        };
        let read = move |it: &_| {
            let numbers = index::missing(it, index, after, STEP)?;
            numbers.into_iter().map(|number| transcripts::text_of(it, number)).collect()
        };
        let texts: Vec<Option<transcripts::StoredText>> = self.database().read(read).await?;
        let Some(last) = texts.iter().flatten().map(|it| it.number).max() else {
            // Transcripts before `after` can be missing too.
            let activate = move |it: &_| index::activate(it, index);
            let is_complete = self.database().write(activate).await?;
            return Ok((!is_complete).then_some(IndexStep { added: 0, last: 0 }));
        };
        let segment = move || {
            let each = texts.into_iter().flatten().map(|it| {
                let transcript = it.text.searched().ok();
                let rows = transcript.as_ref().map(IndexRows::new).unwrap_or_default();
                (it.number, it.text.checksum, transcript.map(|it| it.info), rows)
            });
            Ok(each.collect::<Vec<_>>())
        };
        let rows = self.database().compute(segment).await?;
        let added = rows.len() as u64;
        let write = move |it: &_| {
            rows.iter().try_for_each(|(number, checksum, info, rows)| {
                let text = info.as_ref().map(|info| (info, rows, *checksum));
                index::add_missing(it, index, *number, text)
            })
        };
        self.database().write(write).await?;
        Ok(Some(IndexStep { added, last }))
    }

    /// Merges the index, so that no token of deleted text is left in it. Each step is a short transaction.
    pub(super) async fn merge_index(&self) -> Result<()> {
        let mut is_first = true;
        while self.database().write(move |it| index::merge(it, is_first)).await? {
            is_first = false;
        }
        Ok(())
    }
}

/// A step of building an index.
#[derive(Debug, Clone, Copy)]
struct IndexStep {
    added: u64,
    /// The last transcript that was added, after which the next step begins.
    last: i64,
}
