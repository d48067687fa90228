//! The pace of public feeds. They are apart from transcripts, so that neither delays the other.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The time between two feeds.
const INTERVAL: Duration = Duration::from_millis(250);

/// The pace of all feeds of a worker. Clones share it.
#[derive(Clone, Default)]
pub(super) struct FeedPace(Arc<Mutex<Option<Instant>>>);

impl FeedPace {
    /// Waits for the turn of the next feed.
    pub(super) async fn wait(&self) {
        let turn = {
            let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(turn + INTERVAL);
            turn
        };
        sleep_until(turn).await;
    }
}
