//! HTTP/2: streams that are opened and cancelled at once (rapid reset).

use std::future::pending;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Version};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;
use vidra_server::{Limits, Serving};
use vidra_sim::{Action, Fault};

use crate::app::TestApp;

#[tokio::test]
async fn s18_cancelled_http2_streams_leave_nothing_behind() {
    open_and_cancel(None).await;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    open_and_cancel(Some(runtime.handle().clone())).await;
    runtime.shutdown_background();
}

async fn open_and_cancel(handlers: Option<Handle>) {
    let app = TestApp::new();
    app.get("/api/video/quirkNoLike").await;
    app.sim.inject(Fault::any(Action::Hang));
    let limits = Limits { http2: true, ..Limits::default() };
    let serving = Serving { limits, handlers, ..Serving::default() };
    let address = app.served(serving, pending()).await.0;
    let connect = async || {
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender
    };
    let request = |path: &str| {
        let uri = format!("http://localhost{path}");
        Request::get(uri).version(Version::HTTP_2).body(Body::empty()).unwrap()
    };
    let mut sender = connect().await;
    let mut opened = 0;
    while opened < 2_000 && sender.ready().await.is_ok() {
        // This request never ends, because the platform hangs.
        let answer = sender.send_request(request("/api/comments/quirkNoLike"));
        let _ = timeout(Duration::ZERO, answer).await;
        opened += 1;
    }
    // If streams are opened faster than they are accepted, the connection is closed.
    println!("{opened} streams were opened");
    let mut other = connect().await;
    let known = other.send_request(request("/api/video/quirkNoLike")).await.unwrap();
    assert_eq!(known.status(), 200, "other connections are not affected");
    let gone = async {
        while !app.get("/metrics").await.text.contains("\nvidra_requests_in_flight 1\n") {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), gone).await.expect("only this scrape is in flight");
    assert!(app.sim.record().calls < 200, "{} upstream calls", app.sim.record().calls);
}
