//! The operations on collections, and the outbox of webhooks.

use jiff::Timestamp;
use vidra::{QuotaDay, Result};

use super::cursor::{read_cursor, write_cursor};
use super::{Access, Library, PutCollection, VideoFilter};
use crate::collection::{Collection, CollectionDetails, CollectionName, CollectionVideo};
use crate::job::Job;
use crate::store::collections::{
    self, CollectionFigures, CollectionQuery, NewCollection, VideoQuery,
};
use crate::store::outbox::{self, WebhookMessage};
use crate::store::{retention, sync};

/// How many rows of a deleted collection one transaction removes.
const PURGED: usize = 5_000;

/// How many collections have figures.
const MOST_FIGURES: usize = 100;

impl Library {
    /// Creates a collection, or replaces the sources and options of the one with this name. Returns whether it is new.
    /// Its first sync begins at once. A request that changes nothing starts no sync.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManyCollections`](vidra::Reason::TooManyCollections).
    pub async fn put_collection(&self, put: PutCollection) -> Result<(CollectionDetails, bool)> {
        let PutCollection { owner, name, request, sources } = put;
        let max_collections = self.limits().collections;
        let new = NewCollection { owner, name, request, sources, max_collections };
        let now = self.now();
        let (owner, name) = (new.owner.clone(), new.name.clone());
        let write = move |it: &_| collections::put(it, &new, now);
        let is_new = self.database().write(write).await?;
        self.changes().wake_worker();
        Ok((self.collection(&owner, &name).await?, is_new))
    }

    /// Finds a collection of an owner, with its sources.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound).
    pub async fn collection(
        &self,
        owner: &str,
        name: &CollectionName,
    ) -> Result<CollectionDetails> {
        let (owner, name) = (owner.to_owned(), name.clone());
        let read = move |it: &_| {
            let row = collections::find(it, &owner, &name)?;
            collections::details(it, row)
        };
        self.database().read(read).await
    }

    /// A page of collections, the oldest first, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`](vidra::Reason::InvalidCursor) if the cursor is not one of such a list.
    pub async fn collections(
        &self,
        access: &Access,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Collection>, Option<String>)> {
        let list = format!("collections {:?}", access.owner());
        let [after] = cursor.map_or(Ok([0]), |cursor| read_cursor(&list, cursor))?;
        let owner = access.owner().map(str::to_owned);
        let query = CollectionQuery { owner, after, limit: limit + 1 };
        let mut rows = self.database().read(move |it| collections::page(it, &query)).await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(|row| write_cursor(&list, [row.number]));
        Ok((rows.into_iter().map(|row| row.collection).collect(), next))
    }

    /// A page of the videos of a collection in the order in which they were found, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound), and [`Reason::InvalidCursor`](vidra::Reason::InvalidCursor) if the cursor is not one of such a list.
    pub async fn collection_videos(
        &self,
        owner: &str,
        name: &CollectionName,
        filter: VideoFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<CollectionVideo>, Option<String>)> {
        let list = format!("collection videos {owner} {name} {filter:?}");
        let [after] = cursor.map_or(Ok([0]), |cursor| read_cursor(&list, cursor))?;
        let VideoFilter { state, reason } = filter;
        let query = VideoQuery { state, reason, after, limit: limit + 1 };
        let (owner, name) = (owner.to_owned(), name.clone());
        let read = move |it: &_| {
            let number = collections::number_of(it, &owner, &name)?;
            collections::videos(it, number, query)
        };
        let mut videos = self.database().read(read).await?;
        let has_more = videos.len() > limit;
        videos.truncate(limit);
        let last = videos.last().filter(|_| has_more);
        let next = last.map(|(number, _)| write_cursor(&list, [*number]));
        Ok((videos.into_iter().map(|(_, video)| video).collect(), next))
    }

    /// Starts a sync of a collection now. If one is running, there is no second one: it reads the feeds again. A paused
    /// collection can be synced too, and stays paused.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound).
    pub async fn sync_collection(&self, owner: &str, name: &CollectionName) -> Result<Job> {
        let (owner, name, now) = (owner.to_owned(), name.clone(), self.now());
        let write =
            move |it: &_| Ok(sync::start(it, collections::number_of(it, &owner, &name)?, now)?.job);
        let job = self.database().write(write).await?;
        self.changes().note_request(job.id);
        Ok(job)
    }

    /// Pauses a collection with its running sync.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound).
    pub async fn pause_collection(
        &self,
        owner: &str,
        name: &CollectionName,
    ) -> Result<CollectionDetails> {
        self.set_collection_paused(owner, name, true).await
    }

    /// Continues a paused collection. A sync that was missed starts at once.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound).
    pub async fn resume_collection(
        &self,
        owner: &str,
        name: &CollectionName,
    ) -> Result<CollectionDetails> {
        self.set_collection_paused(owner, name, false).await
    }

    async fn set_collection_paused(
        &self,
        owner: &str,
        name: &CollectionName,
        is_paused: bool,
    ) -> Result<CollectionDetails> {
        let (of, named, now) = (owner.to_owned(), name.clone(), self.now());
        let write = move |it: &_| {
            let number = collections::number_of(it, &of, &named)?;
            collections::set_paused(it, number, is_paused, None, now)
        };
        self.database().write(write).await?;
        self.changes().wake_worker();
        self.collection(owner, name).await
    }

    /// Deletes a collection and its jobs. Its transcripts stay in the library.
    ///
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`](vidra::Reason::CollectionNotFound).
    pub async fn delete_collection(&self, owner: &str, name: &CollectionName) -> Result<()> {
        let (owner, name) = (owner.to_owned(), name.clone());
        let write = move |it: &_| {
            let number = collections::number_of(it, &owner, &name)?;
            collections::delete(it, number)
        };
        self.database().write(write).await?;
        self.changes().wake_worker();
        self.purge_deleted().await
    }

    /// Removes the rows of deleted jobs and collections, also of those whose deletion was interrupted.
    pub(crate) async fn purge_deleted(&self) -> Result<()> {
        let database = self.database();
        while database.write(|it| retention::purge_deleted(it, PURGED)).await? {}
        while database.write(|it| retention::purge_deleted_collection(it, PURGED)).await? {}
        Ok(())
    }

    /// Reads the figures of the oldest 100 collections, for metrics.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn collection_figures(&self) -> Result<Vec<CollectionFigures>> {
        let day = QuotaDay::of(self.now()).date;
        self.database().read(move |it| collections::figures(it, &day, MOST_FIGURES)).await
    }

    /// Takes the next message for a webhook that is due. Another process does not take it for a minute, so that a message
    /// whose sender has disappeared is sent again.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn claim_message(&self, webhook: &str) -> Result<Option<WebhookMessage>> {
        let (webhook, now) = (webhook.to_owned(), self.now());
        let is_due = {
            let webhook = webhook.clone();
            self.database().read(move |it| outbox::next_due(it, &webhook)).await?
        };
        if is_due.is_none_or(|at| at > now) {
            return Ok(None);
        }
        self.database().write(move |it| outbox::claim(it, &webhook, now)).await
    }

    /// Notes that a message was delivered or given up (`None`), or when it is tried again.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn end_attempt(
        &self,
        message: &WebhookMessage,
        again: Option<Timestamp>,
    ) -> Result<()> {
        let number = message.number;
        self.database().write(move |it| outbox::end_attempt(it, number, again)).await
    }

    /// The number of messages that wait, by webhook.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn waiting_messages(&self) -> Result<Vec<(String, u64)>> {
        self.database().read(outbox::waiting).await
    }
}
