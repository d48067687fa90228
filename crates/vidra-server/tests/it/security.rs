//! Security tests of the service, by the number of the attack. The table in docs/testing.md also lists the tests
//! of the library and of the command.

mod abuse;
mod answers;
mod cache_keys;
mod http2;
mod hygiene;
mod outbound;
mod slow;
mod smuggling;

use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use serde_json::Value;
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{InProcess, Transport};
use vidra_sim::Simulator;

use crate::app::TestApp;

/// Every route that calls the platform: the method, and a path in the demo world.
const ROUTES: [(&str, &str); 18] = [
    ("GET", "/api/video/quirkNoLike"),
    ("GET", "/api/video/quirkNoLike/title"),
    ("GET", "/api/videos?ids=quirkNoLike,quirkNoView"),
    ("GET", "/api/channel/@fermata"),
    ("GET", "/api/channel/https://www.youtube.com/c/LanternBayTapes"),
    ("GET", "/api/channel/@fermata/videos"),
    ("GET", "/api/playlist/PLsize1"),
    ("GET", "/api/playlist/PLsize1/info"),
    ("GET", "/api/playlist/PLsize1/ids"),
    ("POST", "/api/playlist/PLsize1/query"),
    ("GET", "/api/comments/quirkNoLike"),
    ("GET", "/api/comments/quirkNoLike/top"),
    ("GET", "/api/transcript/txManualAsr"),
    ("GET", "/api/transcript/txManualAsr/tracks"),
    ("POST", "/api/playlist/PLquirkMixed/transcript"),
    ("GET", "/api/i18n/regions"),
    ("GET", "/api/i18n/languages"),
    ("GET", "/api/video-categories?region=US"),
];

/// Changes a response of the platform. The first argument is the path of the request.
type Change = dyn Fn(&str, &mut Value) + Send + Sync;

/// The simulator behind a transport that records the targets of requests and changes responses.
#[derive(Clone)]
struct Intercepted {
    sim: Simulator,
    change: Arc<Change>,
    /// Scheme and authority of every request.
    targets: Arc<Mutex<Vec<String>>>,
}

impl Intercepted {
    /// A service that uses such a transport, and the transport.
    fn app(change: impl Fn(&str, &mut Value) + Send + Sync + 'static) -> (TestApp, Self) {
        let sim = Simulator::new();
        let transport =
            Self { sim: sim.clone(), change: Arc::new(change), targets: Arc::default() };
        let mut app = TestApp::with(|builder| builder.transport(transport.clone()));
        app.sim = sim;
        (app, transport)
    }

    /// The targets of all requests, without duplicates.
    fn targets(&self) -> Vec<String> {
        let mut targets = self.targets.lock().unwrap().clone();
        targets.sort();
        targets.dedup();
        targets
    }
}

impl Transport for Intercepted {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let uri = request.uri().clone();
            let (scheme, authority) = (uri.scheme_str(), uri.authority());
            let target = format!("{}://{}", scheme.unwrap(), authority.unwrap());
            self.targets.lock().unwrap().push(target);
            let mut answer = InProcess(self.sim.clone()).exchange(request).await?;
            if let Ok(mut body) = serde_json::from_slice(&answer.body) {
                (self.change)(uri.path(), &mut body);
                answer.body = body.to_string().into();
            }
            Ok(answer)
        })
    }
}

/// A platform that gives the same response to every request.
#[derive(Clone)]
struct Always(Result<Answer, Failure>);

impl Always {
    fn answering(status: u16, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self(Ok(Answer { status: status.try_into().unwrap(), headers, body: body.into() }))
    }

    /// A service in front of it, without caches and without pauses of a circuit breaker.
    fn app(&self) -> TestApp {
        TestApp::uncached_with(|builder| {
            builder.transport(self.clone()).breaker_pause(std::time::Duration::ZERO)
        })
    }
}

impl Transport for Always {
    fn exchange(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}
