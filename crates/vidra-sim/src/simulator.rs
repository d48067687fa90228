//! The path of a request: record, key, quota, fault, answer.

mod apply_fault;
mod builder;
mod control;
mod time;

pub use builder::Builder;
pub use time::{UnknownPlaylist, UnknownVideo};

use crate::call::Call;
use crate::data_api::{self, error::ApiError};
use crate::fault::{Fault, Faults};
use crate::platform::Platform;
use crate::record::{MAX_REQUESTS, Record, Units};
use crate::response::{Dropped, reply, set};
use crate::route::Endpoint;
use crate::web;
use crate::web::block::Block;
use crate::world::{World, clock};
use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response, header};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// The simulated platform. Clones share all state.
#[derive(Clone, Debug)]
pub struct Simulator(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    platform: Platform,
    web_origin: Option<String>,
    key: String,
    limits: Units,
    max_requests: usize,
    /// One lock for all state: every critical section is short, and none awaits.
    shared: Mutex<SharedState>,
    /// Notified whenever a call begins or ends.
    changed: Notify,
}

#[derive(Debug, Default)]
struct SharedState {
    record: Record,
    faults: Faults,
    latency: Duration,
    blocks: web::block::Blocks,
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulator {
    /// Seed 1, key `demo-key`, no latency, the platform's own limits, and a clock that starts at
    /// 2026-06-01T00:00:00Z.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A builder with the defaults of [`Simulator::new`].
    pub fn builder() -> Builder {
        Builder {
            seed: 1,
            key: "demo-key".to_owned(),
            latency: Duration::ZERO,
            limits: Units { default: 10_000, search: 100 },
            web_origin: None,
            max_requests: MAX_REQUESTS,
            start: clock::start(),
        }
    }

    /// Answers one request in this process. Only the path matters, not scheme and host.
    ///
    /// # Errors
    /// [`Dropped`] if a fault drops the connection.
    pub async fn call(&self, request: Request<Bytes>) -> Result<Response<Body>, Dropped> {
        let (head, sent) = request.into_parts();
        if head.uri.path().starts_with("/_sim/") {
            return Ok(control::answer(self, &head.method, head.uri.path(), &sent));
        }
        let mut call = Call::read(head, sent, self.0.web_origin.as_deref());
        // Counted from the arrival, so that the time to compute an answer is part of the latency.
        let answered_at = Instant::now() + self.begin(&mut call);
        // Ends the call in the record also when the caller drops this future.
        let _in_flight = InFlightGuard(self, call.endpoint);
        let response = self.respond(call).await;
        if Instant::now() < answered_at {
            sleep_until(answered_at).await;
        }
        response
    }

    async fn respond(&self, call: Call) -> Result<Response<Body>, Dropped> {
        if let Err(error) = self.admit(&call) {
            return Ok(failure(&error, None));
        }
        let (delay, action) = self.shared().faults.next_for(call.endpoint, &call.query);
        // A sleep of length zero would still yield.
        if !delay.is_zero() {
            sleep(delay).await;
        }
        match action {
            None => self.answer(&call).await,
            Some(action) => self.apply_fault(action, call).await,
        }
    }

    /// Records the arrival of a call and returns the latency.
    fn begin(&self, call: &mut Call) -> Duration {
        let violations = match call.endpoint.is_keyless() {
            true => web::check::violations(call, self.0.platform.seed(), &self.0.key),
            false => Vec::new(),
        };
        let now = self.time();
        let mut shared = self.shared();
        call.blocked = shared.blocks.count(call.endpoint, call.egress(), now);
        shared.record.begin(call, now, self.0.max_requests);
        shared.record.add_violations(violations);
        self.0.changed.notify_waiters();
        shared.latency
    }

    /// Checks the key, then bills the call: a call without a valid key costs nothing. Keyless calls need
    /// neither.
    fn admit(&self, call: &Call) -> Result<(), ApiError> {
        if call.endpoint.is_keyless() {
            return Ok(());
        }
        match call.header("x-goog-api-key").or_else(|| call.query.get("key")) {
            None | Some("") => return Err(ApiError::by_reason("keyMissing")),
            Some(key) if key != self.0.key => return Err(ApiError::by_reason("API_KEY_INVALID")),
            Some(_) => {}
        }
        let day = self.quota_day();
        if !self.shared().record.bill(call.endpoint, day, self.0.limits) {
            let search = call.endpoint == Endpoint::Search;
            return Err(ApiError::by_reason(if search { "searchQuota" } else { "quotaExceeded" }));
        }
        if call.head.method != Method::GET {
            return Err(ApiError::no_such_method());
        }
        Ok(())
    }

    async fn answer(&self, call: &Call) -> Result<Response<Body>, Dropped> {
        if call.endpoint.is_keyless() {
            return web::answer(&self.0.platform, call).await;
        }
        let answer = match data_api::answer(&self.world(), call.endpoint, &call.query) {
            Ok(answer) => answer,
            Err(error) => return Ok(failure(&error, None)),
        };
        let etag = answer.etag().map(str::to_owned);
        let known = call.header(header::IF_NONE_MATCH.as_str());
        if known.is_some_and(|known| etag.as_deref() == Some(known.trim_matches('"'))) {
            return Ok(reply(304, "application/json; charset=UTF-8", Body::empty()));
        }
        let compact = call.query.get("prettyPrint") == Some("false");
        Ok(reply(200, "application/json; charset=UTF-8", answer.render(compact).into()))
    }

    /// The record since the start or the last reset.
    pub fn record(&self) -> Record {
        self.shared().record.clone()
    }

    /// Waits until the record satisfies a condition: a call has arrived, for example, or all have ended.
    pub async fn until(&self, described: impl Fn(&Record) -> bool) {
        loop {
            // Registered before the check, so that no change is missed in between.
            let changed = self.0.changed.notified();
            if described(&self.shared().record) {
                return;
            }
            changed.await;
        }
    }

    /// Resets the record and the spent quota of the current day.
    pub fn reset_record(&self) {
        let mut shared = self.shared();
        shared.record.reset();
        self.0.platform.reset_call_counts();
    }

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.shared().faults.inject(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared().faults.clear();
    }

    /// Sets the latency of every call.
    pub fn set_latency(&self, latency: Duration) {
        self.shared().latency = latency;
    }

    /// Adds a rule that blocks addresses. It replaces an earlier rule for the same egress.
    pub fn block(&self, block: Block) {
        self.shared().blocks.add(block);
    }

    /// Blocks every egress after that many player calls, until the block is lifted; see [`Block`].
    pub fn block_after(&self, player_calls: u64) {
        self.block(Block::after(player_calls));
    }

    /// Blocks one egress after that many player calls, until the block is lifted; see [`Block`].
    pub fn block_egress_after(&self, egress: &str, player_calls: u64) {
        self.block(Block::after(player_calls).egress(egress));
    }

    /// Lifts all blocks and resets their counts.
    pub fn unblock(&self) {
        self.shared().blocks.lift();
    }

    /// Lifts the block of one egress and resets its count.
    pub fn unblock_egress(&self, egress: &str) {
        self.shared().blocks.lift_one(egress);
    }

    /// The innertube key on the watch page.
    pub fn innertube_key(&self) -> String {
        web::secret::innertube_key(self.0.platform.seed())
    }

    /// The visitor data on the watch page, for `X-Goog-Visitor-Id`.
    pub fn visitor_data(&self) -> String {
        web::secret::visitor(self.0.platform.seed())
    }

    /// The PO token for the captions of a video.
    pub fn po_token(&self, video_id: &str) -> String {
        web::secret::po_token(self.0.platform.seed(), video_id)
    }

    fn shared(&self) -> MutexGuard<'_, SharedState> {
        self.0.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn world(&self) -> World {
        self.0.platform.world()
    }
}

impl tower_service::Service<Request<Bytes>> for Simulator {
    type Response = Response<Body>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Dropped>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Dropped>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let simulator = self.clone();
        Box::pin(async move { Simulator::call(&simulator, request).await })
    }
}

/// Ends a call in the record on drop.
struct InFlightGuard<'a>(&'a Simulator, Endpoint);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.shared().record.end(self.1);
        self.0.0.changed.notify_waiters();
    }
}

/// The response for an error.
fn failure(error: &ApiError, retry_after: Option<String>) -> Response<Body> {
    let (content_type, body) = error.body();
    with_retry_after(reply(error.status, content_type, body.into()), retry_after)
}

fn with_retry_after(mut response: Response<Body>, value: Option<String>) -> Response<Body> {
    if let Some(value) = value {
        set(&mut response, header::RETRY_AFTER, &value);
    }
    response
}
