//! The way of a request: record, key, quota, fault, answer.

use crate::control;
use crate::data_api::{self, error::ApiError};
use crate::fault::{Action, Fault, Faults, body};
use crate::query::Query;
use crate::record::{Record, Units};
use crate::route::Endpoint;
use crate::world::World;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// The connection was dropped: no answer, or no more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection dropped")
    }
}

impl std::error::Error for Dropped {}

/// The parameters that say what a call is about.
const ABOUT: [&str; 6] = ["id", "videoId", "playlistId", "parentId", "channelId", "forHandle"];

/// The platform. Clones share everything.
#[derive(Clone, Debug)]
pub struct Simulator(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    world: World,
    key: String,
    limits: Units,
    /// One lock for all that changes: every critical section is a few additions, and none awaits.
    changing: Mutex<Changing>,
}

#[derive(Debug, Default)]
struct Changing {
    record: Record,
    faults: Faults,
    latency: Duration,
}

/// What a [`Simulator`] is made from.
#[derive(Clone, Debug)]
pub struct Builder {
    seed: u64,
    key: String,
    latency: Duration,
    limits: Units,
}

impl Builder {
    /// The number the world is computed from; 1 unless set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The key that is accepted; `demo-key` unless set.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// How long every call takes; nothing unless set.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Units a day in the default bucket and in that of searches; 10,000 and 100 unless set.
    pub fn limits(mut self, default: u64, search: u64) -> Self {
        self.limits = Units { default, search };
        self
    }

    /// The simulator.
    pub fn build(self) -> Simulator {
        let changing = Mutex::new(Changing { latency: self.latency, ..Changing::default() });
        Simulator(Arc::new(Inner {
            world: World::new(self.seed),
            key: self.key,
            limits: self.limits,
            changing,
        }))
    }
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
        let endpoint = Endpoint::at(head.uri.path());
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let latency = {
            let mut changing = self.changing();
            changing.record.begin(endpoint, &head, &query);
            changing.latency
        };
        // Ends the call in the record also when the caller goes away.
        let _under_way = UnderWay(self, endpoint);
        pause(latency).await;
        if let Err(error) = self.admit(endpoint, &head.method, &head.headers, &query) {
            return Ok(failure(&error, None));
        }
        let (delay, action) = self.changing().faults.strike(endpoint, &query);
        pause(delay).await;
        match action {
            None => Ok(self.answer(endpoint, &query, &head.headers)),
            Some(action) => self.suffer(action, endpoint, &query, &head.headers).await,
        }
    }

    /// The key, then the quota: a call without a valid key is not billed, any other is.
    fn admit(
        &self,
        endpoint: Endpoint,
        method: &Method,
        headers: &HeaderMap,
        query: &Query,
    ) -> Result<(), ApiError> {
        let sent = headers
            .get("x-goog-api-key")
            .and_then(|value| value.to_str().ok())
            .or_else(|| query.get("key"));
        match sent {
            None | Some("") => return Err(ApiError::by_reason("keyMissing")),
            Some(key) if key != self.0.key => return Err(ApiError::by_reason("API_KEY_INVALID")),
            Some(_) => {}
        }
        if !self.changing().record.bill(endpoint, self.0.limits) {
            let reason = if endpoint == Endpoint::Search { "searchQuota" } else { "quotaExceeded" };
            return Err(ApiError::by_reason(reason));
        }
        if method != Method::GET {
            return Err(ApiError::no_such_method());
        }
        Ok(())
    }

    fn answer(&self, endpoint: Endpoint, query: &Query, headers: &HeaderMap) -> Response<Body> {
        let answer = match data_api::answer(&self.0.world, endpoint, query) {
            Ok(answer) => answer,
            Err(error) => return failure(&error, None),
        };
        let etag = answer.etag().map(str::to_owned);
        let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        if known.is_some_and(|known| etag.as_deref() == Some(known.trim_matches('"'))) {
            return reply(304, "application/json; charset=UTF-8", Body::empty());
        }
        let compact = query.get("prettyPrint") == Some("false");
        reply(200, "application/json; charset=UTF-8", answer.render(compact).into())
    }

    /// Does to a call what a fault says.
    async fn suffer(
        &self,
        action: Action,
        endpoint: Endpoint,
        query: &Query,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Dropped> {
        match action {
            Action::Hang => std::future::pending().await,
            Action::Reset => Err(Dropped),
            Action::Error { reason, status, retry_after } => {
                let error = ApiError::by_reason(&reason);
                let error = status.map_or(error.clone(), |status| error.with_status(status));
                Ok(failure(&error, retry_after))
            }
            Action::Status { status, body, retry_after } => Ok(with_retry_after(
                reply(status, "text/plain; charset=UTF-8", body.into()),
                retry_after,
            )),
            Action::Redirect { location } => {
                let mut response = reply(302, "text/html; charset=UTF-8", Body::empty());
                set(&mut response, header::LOCATION, &location);
                Ok(response)
            }
            Action::Huge { bytes } => {
                Ok(reply(200, "application/json; charset=UTF-8", body::huge(bytes)))
            }
            Action::GzipBomb { mebibytes } => {
                let mut response =
                    reply(200, "application/json; charset=UTF-8", body::gzip_bomb(mebibytes));
                set(&mut response, header::CONTENT_ENCODING, "gzip");
                Ok(response)
            }
            Action::WrongId { id } => {
                let about =
                    ABOUT.iter().find(|name| query.get(name).is_some()).unwrap_or(&ABOUT[0]);
                Ok(self.answer(endpoint, &query.with(about, &id), headers))
            }
            Action::Delay { .. } => Ok(self.answer(endpoint, query, headers)),
            Action::Cut | Action::Drip { .. } | Action::Junk { .. } => {
                Ok(self.spoil(&action, endpoint, query, headers).await)
            }
        }
    }

    /// The right answer, spoilt on its way.
    async fn spoil(
        &self,
        action: &Action,
        endpoint: Endpoint,
        query: &Query,
        headers: &HeaderMap,
    ) -> Response<Body> {
        let (mut head, whole) = self.answer(endpoint, query, headers).into_parts();
        let whole = axum::body::to_bytes(whole, usize::MAX).await.unwrap_or_default();
        let length = whole.len();
        let body = match action {
            Action::Cut => body::cut(whole),
            Action::Drip { chunk, every_millis } => {
                body::drip(whole, *chunk, Duration::from_millis(*every_millis))
            }
            Action::Junk { kind } => {
                let (content_type, bytes) = body::junk(*kind, &whole);
                return reply(200, content_type, bytes.into());
            }
            _ => Body::from(whole),
        };
        head.headers.insert(header::CONTENT_LENGTH, length.into());
        Response::from_parts(head, body)
    }

    /// What happened so far.
    pub fn record(&self) -> Record {
        self.changing().record.clone()
    }

    /// Forgets what happened, the quota spent included: a new day.
    pub fn reset_record(&self) {
        self.changing().record.reset();
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
    }
}

/// A sleep of no length would still yield to the clock.
async fn pause(length: Duration) {
    if !length.is_zero() {
        tokio::time::sleep(length).await;
    }
}

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

fn set(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
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
