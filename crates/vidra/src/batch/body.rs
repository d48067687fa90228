//! The results of a whole batch as one JSON document.

use std::pin::pin;

use futures_util::{Stream, TryStreamExt};
use serde::Serialize;

use super::{BatchEvent, BatchSummary};
use crate::error::{Error, Result};
use crate::spool::{Body, Spool};

/// The document. The results are filled in from the spool.
#[derive(Serialize)]
struct Document<H> {
    #[serde(flatten)]
    head: H,
    results: [(); 0],
}

/// Waits for the end of a batch: the `head` of its summary, and its results in the order of their positions.
pub(crate) async fn collect<H: Serialize>(
    spool: &Spool,
    events: impl Stream<Item = Result<BatchEvent>>,
    head: impl FnOnce(BatchSummary) -> H,
) -> Result<Body> {
    let mut events = pin!(events);
    let (mut results, mut positions) = (spool.list(), vec![]);
    while let Some(event) = events.try_next().await? {
        match event {
            BatchEvent::Result(result) => {
                positions.push((result.position, results.push(&result)?));
                results.has_room().await;
            }
            BatchEvent::Started { .. } | BatchEvent::Waiting(_) => {}
            BatchEvent::Done(summary) => {
                positions.sort_unstable();
                let order: Vec<usize> = positions.into_iter().map(|(_, result)| result).collect();
                let document = Document { head: head(summary), results: [] };
                return results.finish(&document, "results", &order).await;
            }
        }
    }
    Err(Error::internal("a batch ended without a summary"))
}
