//! HTTP/2, where it is spoken: streams that are begun and taken back at once.

use std::future::pending;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Version};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vidra_server::{Limits, Serving};
use vidra_sim::{Action, Fault};

use crate::app::TestApp;

#[tokio::test]
async fn s18_streams_that_are_taken_back_leave_nothing_behind() {
    let app = TestApp::new();
    app.get("/api/video/quirkNoLike").await;
    app.sim.inject(Fault::any(Action::Hang));
    let limits = Limits { http2: true, ..Limits::default() };
    let address = app.served(Serving { limits, tls: None }, pending()).await.0;
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
    let mut begun = 0;
    while begun < 2_000 && sender.ready().await.is_ok() {
        // What takes for ever, because the platform does not answer.
        let answer = sender.send_request(request("/api/comments/quirkNoLike"));
        let _ = timeout(Duration::ZERO, answer).await;
        begun += 1;
    }
    // Where they come faster than they are taken up, the connection is ended.
    println!("{begun} were begun");
    let mut other = connect().await;
    let known = other.send_request(request("/api/video/quirkNoLike")).await.unwrap();
    assert_eq!(known.status(), 200, "others notice nothing");
    let gone = async {
        while !app.get("/metrics").await.text.contains("\nvidra_requests_in_flight 1\n") {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), gone).await.expect("nothing is under way but this question");
    assert!(app.sim.record().calls < 200, "{} were sent on", app.sim.record().calls);
}
