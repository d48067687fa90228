//! Fetches the public feeds of channels and playlists. They need no key. YouTube limits them apart from transcripts, so
//! they have a circuit breaker of their own and take nothing from the pace of an egress address.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use tokio::time::Instant;

use super::page::is_sorry;
use super::{ENGLISH, Web, built};
use crate::context::{Context, no_waiters};
use crate::error::{Error, Reason, Result};
use crate::feed::{self, Feed, FeedError, FeedId};
use crate::resilience::breaker::Breaker;
use crate::resilience::outcome::CallOutcome;
use crate::resilience::send::{Fault, Sender, Unanswered};
use crate::transport::{Answer, Failure};

/// The name of feed requests in reports, and of their circuit breaker.
pub(crate) const FEED: &str = "feed";

/// The longest wait for a feed. The Data API can replace it, and needs some of the caller's time.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a rate limit or a bot check without `Retry-After`.
const USUAL_PAUSE: Duration = Duration::from_secs(60);
const MAX_PAUSE: Duration = Duration::from_secs(3600);

/// What all feed requests share.
pub(crate) struct Feeds {
    pub(crate) sender: Sender,
    pub(crate) breaker: Arc<Breaker>,
    paused_until: Mutex<Option<Instant>>,
}

impl Feeds {
    pub(crate) fn new(sender: Sender, breaker: Breaker) -> Self {
        Self { sender, breaker: Arc::new(breaker), paused_until: Mutex::default() }
    }

    /// The remaining pause if feeds fail, or if YouTube limits them.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        let until = self.paused_until().filter(|until| *until > now);
        self.breaker.refuses(now).max(until.map(|until| until - now))
    }

    fn pause(&self, pause: Duration) {
        let until = Some(Instant::now() + pause.min(MAX_PAUSE));
        let mut paused_until = self.paused_until();
        *paused_until = until.max(*paused_until);
    }

    fn paused_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.paused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Web {
    /// Fetches a feed. It costs nothing.
    ///
    /// # Errors
    ///
    /// Any reason why YouTube did not serve the feed. It also reports 404 for channels and playlists that exist.
    pub(crate) async fn feed(&self, ctx: &Context, of: &FeedId) -> Result<Feed> {
        let parameter = match of {
            FeedId::Channel(id) => format!("channel_id={id}"),
            FeedId::Playlist(id) => format!("playlist_id={id}"),
        };
        let request = Request::get(format!("{}/feeds/videos.xml?{parameter}", self.origin))
            .header(header::ACCEPT, "application/atom+xml, text/xml")
            .header(header::ACCEPT_LANGUAGE, ENGLISH);
        let request = &built(request.body(Bytes::new()))?;
        let send = |is_retry| self.send_feed(ctx, request, is_retry);
        let feed = self.feeds.sender.with_retries(ctx, &self.feeds.breaker, send).await?;
        match (&feed.id, of) {
            (Some(FeedId::Channel(got)), FeedId::Channel(id)) if got != id => {
                Err(not_served("another feed"))
            }
            (Some(FeedId::Playlist(got)), FeedId::Playlist(id)) if got != id => {
                Err(not_served("another feed"))
            }
            _ => Ok(feed),
        }
    }

    async fn send_feed(
        &self,
        ctx: &Context,
        request: &Request<Bytes>,
        is_retry: bool,
    ) -> Result<Feed, Fault> {
        if ctx.waiters.is_gone() {
            return Err(Fault::permanent(no_waiters()));
        }
        let deadline_passed = || Fault::permanent(Error::past_deadline());
        if ctx.left().is_zero() {
            return Err(deadline_passed());
        }
        let failing = |wait| Error::new(Reason::Failing, NOT_SERVED).with_retry_after(Some(wait));
        if let Some(wait) = self.feeds.refuses(Instant::now()) {
            return Err(Fault::permanent(failing(wait)));
        }
        let egress = self.egresses.for_feed(Instant::now());
        let attempt = self.feeds.sender.begin(FEED, &self.feeds.breaker, is_retry);
        let attempt = attempt.map_err(|wait| Fault::permanent(failing(wait)))?;
        let (answer, attempt) =
            match attempt.exchange(&*egress.transport, request.clone(), ctx).await {
                Ok(answered) => answered,
                Err(Unanswered::DeadlinePassed) => return Err(deadline_passed()),
                Err(Unanswered::Failed(failure)) => return Err(fault_of(&failure)),
            };
        let outcome =
            if is_sorry(&answer) { CallOutcome::Blocked } else { CallOutcome::of_answer(&answer) };
        if outcome != CallOutcome::Ok {
            attempt.end(outcome);
            return Err(self.refusal(&answer, outcome));
        }
        let read = feed::parse(&answer.body);
        match &read {
            Ok(_) => attempt.end(CallOutcome::Ok),
            // A web page in place of a feed. Other feeds get it too.
            Err(FeedError::NotAFeed) => attempt.end(CallOutcome::Unreadable),
            // One damaged feed says nothing about others.
            Err(_) => attempt.end_uncounted(CallOutcome::Unreadable),
        }
        read.map_err(|error| Fault::permanent(not_served(error.to_string())))
    }

    /// The fault of an error response. A redirect is one too: no request leaves the host.
    fn refusal(&self, answer: &Answer, outcome: CallOutcome) -> Fault {
        if let CallOutcome::RateLimited | CallOutcome::Blocked = outcome {
            self.feeds.pause(answer.retry_after(self.clock.now()).unwrap_or(USUAL_PAUSE));
        }
        let status = answer.status;
        let is_transient = status.is_server_error();
        Fault { is_transient, ..Fault::permanent(not_served(status.to_string())) }
    }
}

const NOT_SERVED: &str = "YouTube does not serve the feed";

fn not_served(cause: impl Into<String>) -> Error {
    Error::new(Reason::UpstreamFailed, NOT_SERVED).with_source(cause.into())
}

fn fault_of(failure: &Failure) -> Fault {
    let cause = failure.to_string();
    match failure {
        Failure::NotSent(_) => {
            let error = Error::new(Reason::Unreachable, "YouTube could not be reached");
            Fault::transient(error.with_source(cause))
        }
        Failure::Broken(_) => Fault::transient(not_served(cause)),
        // The Data API is the better use of the time that is left.
        Failure::TimedOut => {
            let error = Error::new(Reason::TimedOut, "YouTube did not send the feed in time");
            Fault::permanent(error.with_source(cause))
        }
        Failure::TooLarge => Fault::permanent(not_served(cause)),
    }
}
