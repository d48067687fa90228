//! Searches, and the index that they read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use vidra::{ChannelId, ChannelRef, Error, Reason, Result, Vidra};

use super::Library;
use super::cursor::{read_cursor, write_cursor};
use crate::passage::IndexRows;
use crate::search::{HitPage, LibraryFilter, LibraryVideo, Period, SearchSort, TextSearch, Trends};
use crate::store::index::build::{self, IndexWork};
use crate::store::search::{self, Cursor, DEADLINE};
use crate::store::{Connection, collections, index};

/// The most searches that run, or wait for others.
const MOST_PENDING: usize = 64;

/// How many bytes of texts one step adds to an index: several hours of speech, which take about a tenth of a second.
const STEP_BYTES: u64 = 2 << 20;

/// How often the segments of an index are merged so that no token of deleted text is left. The second time removes what
/// was deleted while a merge was running.
const MERGE_ROUNDS: usize = 2;

/// Counts a search as long as it runs or waits.
struct Pending(Arc<AtomicUsize>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn read(list: &str, cursor: &str) -> Result<Cursor> {
    let [last, offset] = read_cursor(list, cursor)?;
    Ok(Cursor { last, offset: usize::try_from(offset).unwrap_or(usize::MAX) })
}

fn written(list: &str, cursor: Cursor) -> String {
    write_cursor(list, [cursor.last, cursor.offset as i64])
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
        let cursor = cursor.map(|it| read(&list, it)).transpose()?;
        let request = request.clone();
        let page = move |it: &_| search::search(it, &request, cursor, limit);
        let (page, next) = self.run_search(page).await?;
        Ok(HitPage { next_cursor: next.map(|it| written(&list, it)), ..page })
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
        let cursor = cursor.map(|it| read(&list, it)).transpose()?;
        let filter = filter.clone();
        let page = move |it: &_| search::videos(it, &filter, sort, cursor, limit);
        let (videos, next) = self.run_search(page).await?;
        Ok((videos, next.map(|it| written(&list, it))))
    }

    /// The id of a channel. The library knows the handles that are sources of collections, of this owner if there is one;
    /// for others `vidra` pays 1 unit.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`], and those of [`Vidra::channel`].
    pub async fn channel_id(
        &self,
        vidra: &Vidra,
        channel: &ChannelRef,
        owner: Option<&str>,
    ) -> Result<ChannelId> {
        let known = match channel {
            ChannelRef::Id(id) => return Ok(id.clone()),
            ChannelRef::Handle(handle) => {
                let (handle, owner) = (handle.to_string(), owner.map(str::to_owned));
                let known = move |it: &_| collections::known_channel(it, &handle, owner.as_deref());
                self.database().read(known).await?
            }
            _ => None,
        };
        match known.and_then(|id| ChannelId::parse(&id).ok()) {
            Some(id) => Ok(id),
            None => ChannelId::parse(&vidra.channel(channel).await?.id),
        }
    }

    async fn run_search<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
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
        self.remove_unused_indexes().await?;
        self.database().write(build::begin).await?;
        let indexed = self.complete_index(progress).await?;
        self.remove_unused_indexes().await?;
        Ok(indexed)
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
            if step.added > 0 {
                progress(done);
            }
        }
        Ok(done)
    }

    /// Adds a few transcripts to an index that does not have all of them. `None` if there is nothing left to do.
    async fn extend_index(&self, after: i64) -> Result<Option<IndexStep>> {
        let index = match self.database().read(build::work).await? {
            None => return Ok(None),
            Some(IndexWork::Begin) => {
                self.database().write(build::begin_if_needed).await?;
                return Ok(Some(IndexStep { added: 0, last: 0 }));
            }
            Some(IndexWork::Build { index }) => index,
        };
        let missing = move |it: &_| build::missing(it, index, after, STEP_BYTES);
        let texts = self.database().read(missing).await?;
        let Some((last, _)) = texts.last() else {
            // Transcripts before `after` can be missing too.
            self.database().write(move |it| build::activate(it, index)).await?;
            return Ok(Some(IndexStep { added: 0, last: 0 }));
        };
        let last = *last;
        let segment = move || {
            let each = texts.into_iter().map(|(number, text)| {
                let transcript = text.searched().ok();
                let rows = transcript.as_ref().map(IndexRows::new).unwrap_or_default();
                (number, text.checksum, transcript.map(|it| it.info), rows)
            });
            Ok(each.collect::<Vec<_>>())
        };
        let rows = self.database().compute(segment).await?;
        let write = move |it: &_| {
            let mut added = 0;
            for (number, checksum, info, rows) in &rows {
                let text = info.as_ref().map(|info| (info, rows, *checksum));
                added += u64::from(build::add_missing(it, index, *number, text)?);
            }
            Ok(added)
        };
        let added = self.database().write(write).await?;
        Ok(Some(IndexStep { added, last }))
    }

    /// Merges the index, so that no token of deleted text is left in it. Each step is a short transaction.
    pub(super) async fn merge_index(&self) -> Result<()> {
        self.remove_unused_indexes().await?;
        for _ in 0..MERGE_ROUNDS {
            let mut is_first = true;
            while self.database().write(move |it| index::merge(it, is_first)).await? {
                is_first = false;
            }
        }
        Ok(())
    }

    /// Removes indexes that searches will not read any more. Each step is a short transaction.
    pub(crate) async fn remove_unused_indexes(&self) -> Result<()> {
        if self.database().is_on_a_server() && self.database().read(build::has_unused).await? {
            // Searches that began before the next index was active still read its tables.
            sleep(2 * DEADLINE).await;
        }
        while self.database().write(build::remove_unused).await? {}
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
