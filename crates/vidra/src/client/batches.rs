//! The transcripts of many videos: as a stream of events, or as one document.

use std::sync::Arc;

use futures_util::{Stream, StreamExt, future, stream};
use serde::Serialize;
use tokio::time::Instant;

use super::Vidra;
use crate::batch::{self, Batch, BatchEvent, BatchQuery, BatchSource, BatchSummary};
use crate::cache::freshness::FOREVER;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ident::PlaylistId;
use crate::spool::Body;

impl Vidra {
    /// Streams the transcripts of many videos in the order of completion. A video without a transcript fails alone.
    ///
    /// The batch costs 1 unit for each page of 50 entries of a playlist or channel up to `to` or `since`. The handle or
    /// name of a channel is looked up first. A list of videos costs nothing.
    ///
    /// Dropping the stream cancels the batch.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item. [`Reason::Overloaded`](crate::Reason::Overloaded) means
    /// that too many batches are running. Any other error means that the client could not list the
    /// source to its end. Results of the entries that were already listed come before it.
    ///
    /// ```
    /// use futures_util::{StreamExt, pin_mut};
    /// use vidra::{BatchEvent, BatchQuery, BatchSource, ChannelRef};
    ///
    #[doc = include_str!("../example.txt")]
    /// let newest_three = BatchQuery::default().with_to(3);
    /// let uploads = BatchSource::Channel(ChannelRef::parse("@fermata")?);
    /// let events = vidra.transcripts(&uploads, &newest_three);
    /// pin_mut!(events);
    /// while let Some(event) = events.next().await {
    ///     match event? {
    ///         BatchEvent::Result(video) => match video.transcript {
    ///             Ok(text) => println!("{}: {} lines", video.title, text.lines().len()),
    ///             Err(error) => println!("{}: {error} ({})", video.title, error.reason()),
    ///         },
    ///         BatchEvent::Done(summary) => assert_eq!(summary.succeeded + summary.failed, 3),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime, because the batch runs in its own task.
    pub fn transcripts(
        &self,
        source: &BatchSource,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        let Some(slot) = self.batches.take_slot() else {
            return stream::once(future::ready(Err(Error::overloaded()))).left_stream();
        };
        let deadline = Instant::now() + self.batch_deadline.min(self.caller_limit).min(FOREVER);
        let ctx = Context { deadline, ..self.context() };
        let (services, source, query) = (Arc::clone(&self.services), source.clone(), query.clone());
        let tally = Arc::clone(&self.batches);
        batch::run(Batch { services, ctx, source, query, _slot: slot, tally }).right_stream()
    }

    /// Streams the transcripts of a playlist, as [`Vidra::transcripts`] does.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn playlist_transcripts(
        &self,
        id: &PlaylistId,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        self.transcripts(&BatchSource::Playlist(id.clone()), query)
    }

    /// Waits for the end of a batch, and returns one JSON document: the members of `head`, which is made of the
    /// summary, and the `results` in the order of their positions. Many results may be in a temporary file, as with
    /// [`Vidra::lookup_body`].
    ///
    /// # Errors
    ///
    /// The error of the batch, or [`Reason::Overloaded`](crate::Reason::Overloaded) if there is no room for its
    /// results.
    pub async fn batch_body<H: Serialize>(
        &self,
        events: impl Stream<Item = Result<BatchEvent>>,
        head: impl FnOnce(BatchSummary) -> H,
    ) -> Result<Body> {
        batch::body::collect(&self.services.spool, events, head).await
    }
}
