//! The way of a request: record, key, quota, fault, answer.

mod builder;
pub(crate) mod call;
mod suffer;

pub use builder::Builder;

use crate::control;
use crate::data_api::{self, error::ApiError};
use crate::fault::{Fault, Faults};
use crate::record::{KEPT, Record, Units};
use crate::route::Endpoint;
use crate::web;
use crate::world::World;
use crate::world::clock::{LAST, Seconds};
use axum::body::Body;
use bytes::Bytes;
use call::Call;
use http::{Method, Request, Response, header};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// The connection was dropped: no answer, or no more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection dropped")
    }
}

impl std::error::Error for Dropped {}

/// The platform. Clones share everything.
#[derive(Clone, Debug)]
pub struct Simulator(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    world: World,
    seed: u64,
    web_origin: Option<String>,
    born: tokio::time::Instant,
    key: String,
    limits: Units,
    kept: usize,
    /// One lock for all that changes: every critical section is a few additions, and none awaits.
    changing: Mutex<Changing>,
    /// Told whenever a call begins or ends.
    stirred: Notify,
}

#[derive(Debug, Default)]
struct Changing {
    record: Record,
    faults: Faults,
    latency: Duration,
    blocks: web::block::Blocks,
    /// How often a documented video was asked for, for those that change their mind.
    visits: BTreeMap<(Endpoint, String), u64>,
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulator {
    /// Seed 1, key `demo-key`, no latency, the platform's own limits.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A simulator of one's own choosing.
    pub fn builder() -> Builder {
        Builder {
            seed: 1,
            key: "demo-key".to_owned(),
            latency: Duration::ZERO,
            limits: Units { default: 10_000, search: 100 },
            web_origin: None,
            kept: KEPT,
        }
    }

    /// Answers one request, in this process. The path decides; scheme and host are not looked at.
    ///
    /// # Errors
    /// [`Dropped`] where a fault drops the connection.
    pub async fn call(&self, request: Request<Bytes>) -> Result<Response<Body>, Dropped> {
        let (head, sent) = request.into_parts();
        if head.uri.path().starts_with("/_sim/") {
            return Ok(control::answer(self, &head.method, head.uri.path(), &sent));
        }
        let mut call = Call::read(head, sent, self.0.web_origin.as_deref());
        // From its arrival on, so that the work of making an answer is part of the latency.
        let answered_at = Instant::now() + self.begin(&mut call);
        // Ends the call in the record also when the caller goes away.
        let _under_way = UnderWay(self, call.endpoint);
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
        let (delay, action) = self.changing().faults.strike(call.endpoint, &call.query);
        if !delay.is_zero() {
            sleep(delay).await;
        }
        match action {
            None => self.answer(&call).await,
            Some(action) => self.suffer(action, call).await,
        }
    }

    /// Everything that counts from the moment a call arrives.
    fn begin(&self, call: &mut Call) -> Duration {
        let violations = match call.endpoint.is_keyless() {
            true => web::check::violations(call, self.0.seed, &self.0.key),
            false => Vec::new(),
        };
        let mut changing = self.changing();
        call.blocked = changing.blocks.meet(call.endpoint, call.egress());
        changing.record.begin(call, self.0.kept);
        changing.record.complain(violations);
        self.0.stirred.notify_waiters();
        changing.latency
    }

    /// The key, then the quota: a call without a valid key is not billed, any other is. What the
    /// platform shows to anybody needs neither.
    fn admit(&self, call: &Call) -> Result<(), ApiError> {
        if call.endpoint.is_keyless() {
            return Ok(());
        }
        match call.header("x-goog-api-key").or_else(|| call.query.get("key")) {
            None | Some("") => return Err(ApiError::by_reason("keyMissing")),
            Some(key) if key != self.0.key => return Err(ApiError::by_reason("API_KEY_INVALID")),
            Some(_) => {}
        }
        if !self.changing().record.bill(call.endpoint, self.0.limits) {
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
            return web::answer(self, call).await;
        }
        let answer = match data_api::answer(&self.0.world, call.endpoint, &call.query) {
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

    /// What happened so far.
    pub fn record(&self) -> Record {
        self.changing().record.clone()
    }

    /// Waits until what happened so far is as described: a call has come, all have gone.
    pub async fn until(&self, described: impl Fn(&Record) -> bool) {
        loop {
            // Made before the look, so that nothing is missed between the two.
            let stirred = self.0.stirred.notified();
            if described(&self.changing().record) {
                return;
            }
            stirred.await;
        }
    }

    /// Forgets what happened, the quota spent included: a new day.
    pub fn reset_record(&self) {
        let mut changing = self.changing();
        changing.record.reset();
        changing.visits.clear();
    }

    /// Adds a rule.
    pub fn inject(&self, fault: Fault) {
        self.changing().faults.inject(fault);
    }

    /// Drops all rules.
    pub fn clear_faults(&self) {
        self.changing().faults.clear();
    }

    /// From now on every call takes that long.
    pub fn set_latency(&self, latency: Duration) {
        self.changing().latency = latency;
    }

    /// From now on every egress may call the player that often; each call after that, and every
    /// call for a page or for timed text from then on, meets the bot wall or 429. An egress is what
    /// the header `X-Sim-Egress` names (a [`crate::proxy::Proxy`] adds it), `direct` without one.
    pub fn block_after(&self, player_calls: u64) {
        self.changing().blocks.all_after(player_calls);
    }

    /// The same for one egress.
    pub fn block_egress_after(&self, egress: &str, player_calls: u64) {
        self.changing().blocks.one_after(egress, player_calls);
    }

    /// Lifts all blocks, and forgets all counts towards one.
    pub fn unblock(&self) {
        self.changing().blocks.lift();
    }

    /// The same for one egress.
    pub fn unblock_egress(&self, egress: &str) {
        self.changing().blocks.lift_one(egress);
    }

    /// The key on the watch page.
    pub fn innertube_key(&self) -> String {
        web::secret::innertube_key(self.0.seed)
    }

    /// The visitor on the watch page, for `X-Goog-Visitor-Id`.
    pub fn visitor_data(&self) -> String {
        web::secret::visitor(self.0.seed)
    }

    /// The PO token that opens the captions of a video.
    pub fn po_token(&self, video_id: &str) -> String {
        web::secret::po_token(self.0.seed, video_id)
    }

    /// How often that endpoint was asked for that video, this call included.
    pub(crate) fn visit(&self, call: &Call) -> u64 {
        let video = call.query.get("videoId").unwrap_or_default().to_owned();
        let mut changing = self.changing();
        let visits = changing.visits.entry((call.endpoint, video)).or_default();
        *visits += 1;
        *visits
    }

    /// The world does not age, but URLs do: the hour, counted on the tokio clock from the day after
    /// the youngest video. Within an hour answers are equal in every byte.
    pub(crate) fn now(&self) -> Seconds {
        let hours = self.0.born.elapsed().as_secs() / 3600;
        LAST + hours as Seconds * 3600
    }

    pub(crate) fn seed(&self) -> u64 {
        self.0.seed
    }

    fn changing(&self) -> MutexGuard<'_, Changing> {
        self.0.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn world(&self) -> &World {
        &self.0.world
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

struct UnderWay<'a>(&'a Simulator, Endpoint);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.changing().record.end(self.1);
        self.0.0.stirred.notify_waiters();
    }
}

/// A sleep of no length would still yield to the clock.
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

pub(crate) fn set(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}

/// A response. A status that is none becomes 500: faults may come from outside.
pub(crate) fn reply(status: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut response, header::CONTENT_TYPE, content_type);
    response
}
