//! Attacks by their number in the table of security, those that the service answers for. The whole
//! table, with what the library and the command answer for, is in docs/testing.md.

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

/// Every route that asks the platform: the method, and the path in the demo world.
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

/// What is done to an answer of the platform on its way: told the path of the question.
type Change = dyn Fn(&str, &mut Value) + Send + Sync;

/// The simulator behind a counter of where requests went, with answers changed on their way.
#[derive(Clone)]
struct Watched {
    sim: Simulator,
    change: Arc<Change>,
    /// Scheme and authority of every request.
    went_to: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    /// A service in front of it, and itself.
    fn app(change: impl Fn(&str, &mut Value) + Send + Sync + 'static) -> (TestApp, Self) {
        let sim = Simulator::new();
        let watched = Self { sim: sim.clone(), change: Arc::new(change), went_to: Arc::default() };
        let mut app = TestApp::with(|builder| builder.transport(watched.clone()));
        app.sim = sim;
        (app, watched)
    }

    /// Where requests went, each place once.
    fn places(&self) -> Vec<String> {
        let mut places = self.went_to.lock().unwrap().clone();
        places.sort();
        places.dedup();
        places
    }
}

impl Transport for Watched {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let uri = request.uri().clone();
            let (scheme, authority) = (uri.scheme_str(), uri.authority());
            let place = format!("{}://{}", scheme.unwrap(), authority.unwrap());
            self.went_to.lock().unwrap().push(place);
            let mut answer = InProcess(self.sim.clone()).exchange(request).await?;
            if let Ok(mut body) = serde_json::from_slice(&answer.body) {
                (self.change)(uri.path(), &mut body);
                answer.body = body.to_string().into();
            }
            Ok(answer)
        })
    }
}

/// A platform that has one answer to everything.
#[derive(Clone)]
struct Always(Result<Answer, Failure>);

impl Always {
    fn answering(status: u16, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self(Ok(Answer { status: status.try_into().unwrap(), headers, body: body.into() }))
    }

    /// A service in front of it that keeps nothing and never leaves it alone.
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
