//! Webhooks: what is sent, when it is sent again, and what is never sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use vidra::transport::Failure;
use vidra_server::{Secret, Webhook};
use vidra_sim::Endpoint;

use crate::collections::put;
use crate::jobs::JobApp;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn secret() -> Secret {
    Secret::parse(SECRET).unwrap()
}

/// A message as it arrived.
#[derive(Clone)]
struct Arrived {
    at: Instant,
    id: String,
    signature: String,
    body: Value,
}

type Answers = Vec<Result<u16, Failure>>;

/// A destination in this process. It gives these answers, and 204 after them.
#[derive(Clone, Default)]
struct Receiver {
    arrived: Arc<Mutex<Vec<Arrived>>>,
    answers: Arc<Mutex<VecDeque<Result<u16, Failure>>>>,
}

impl Receiver {
    fn answering(answers: Answers) -> Self {
        Self { arrived: Arc::default(), answers: Arc::new(Mutex::new(answers.into())) }
    }

    fn webhook(&self, name: &str) -> Webhook {
        let receiver = self.clone();
        let post = move |request: Request<Bytes>| {
            let receiver = receiver.clone();
            let answer: vidra::transport::BoxFuture<'static, _> =
                Box::pin(async move { receiver.receive(&request) });
            answer
        };
        Webhook::posting(name, "https://ops.example/hook", secret(), Arc::new(post)).unwrap()
    }

    fn receive(&self, request: &Request<Bytes>) -> Result<StatusCode, Failure> {
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "application/json");
        self.arrived.lock().unwrap().push(Arrived {
            at: Instant::now(),
            id: header("webhook-id"),
            signature: header("webhook-signature"),
            body: serde_json::from_slice(request.body()).unwrap(),
        });
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(204));
        answer.map(|status| StatusCode::from_u16(status).unwrap())
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    fn kinds(&self) -> Vec<String> {
        self.arrived().iter().map(|it| it.body["type"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_and_collections_report_to_their_webhook() {
    let (ops, other) = (Receiver::default(), Receiver::default());
    let app = JobApp::with_webhooks(vec![ops.webhook("ops"), other.webhook("other")]);
    app.work();
    let job = app.start(json!({"sources": ["txManualAsr"], "webhook": "ops"})).await;
    let ended = app.ended(&job).await;
    let failed = app.start(json!({"sources": ["PLmissing0000000"], "webhook": "ops"})).await;
    app.ended(&failed).await;
    let cancelled = app.start(json!({"sources": ["PLsize500"], "webhook": "ops"})).await;
    app.post(&format!("{cancelled}/cancel"), json!({})).await;
    // Without a webhook nothing is sent.
    let quiet = app.start(json!({"sources": ["fda4eREcaTQ"]})).await;
    app.ended(&quiet).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ops.kinds(), ["job.completed", "job.failed", "job.cancelled"]);
    let first = &ops.arrived()[0];
    assert_eq!(first.body["data"]["job"]["id"], ended["id"]);
    assert_eq!(first.body["data"]["job"]["succeeded"], 1);
    assert!(first.id.starts_with("msg_") && first.id.len() == 36, "{}", first.id);
    assert!(first.signature.starts_with("v1,"));

    let body = json!({"sources": ["@crowd007"], "limit": 2, "webhook": "other"});
    assert_eq!(put(&app, "news", &body).await.status, 201);
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(other.kinds(), ["collection.updated"]);
    let data = &other.arrived()[0].body["data"];
    assert_eq!((&data["collection"], &data["newVideos"]), (&json!("news"), &json!(2)), "{data}");
    // A sync that finds nothing says nothing.
    sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!((other.kinds().len(), ops.kinds().len()), (1, 3));
    let metrics = app.get("/metrics").await.text;
    let line = r#"vidra_webhook_attempts_total{webhook="ops",outcome="delivered"} 3"#;
    assert!(metrics.contains(line), "{metrics}");
}

/// A job that waits says so after five minutes, once, and not for the pace.
#[tokio::test(start_paused = true)]
async fn a_long_wait_is_reported_once() {
    let ops = Receiver::default();
    let app = JobApp::with_webhooks(vec![ops.webhook("ops")]);
    app.work();
    app.app.sim.block_after(0);
    let job = app.start(json!({"sources": ["PLsize50"], "webhook": "ops"})).await;
    sleep(Duration::from_secs(4 * 60)).await;
    assert_eq!(app.get(&job).await.json()["state"], "waiting");
    assert!(ops.kinds().is_empty());
    sleep(Duration::from_secs(3 * 60)).await;
    assert_eq!(ops.kinds(), ["job.waiting"]);
    assert_eq!(ops.arrived()[0].body["data"]["job"]["waiting"]["reason"], "blocked");
    sleep(Duration::from_secs(30 * 60)).await;
    assert_eq!(ops.kinds().len(), 1);
    app.app.sim.unblock();
    sleep(Duration::from_secs(6 * 3600)).await;
    assert_eq!(ops.kinds(), ["job.waiting", "job.completed"]);
    assert!(app.app.sim.record().calls_to(Endpoint::Player) > 0);
}

/// The table has the answers of a destination, and the pauses before the attempts that follow.
#[tokio::test(start_paused = true)]
async fn a_message_is_tried_for_a_day() {
    let broken = || Err(Failure::Broken("reset".to_owned()));
    let refused = || Err(Failure::NotSent("the address is private".to_owned()));
    let table: [(&str, Answers, &[f64]); 6] = [
        ("delivered", vec![Ok(200)], &[]),
        ("an error of the server", vec![Ok(500), Ok(503)], &[5.0, 30.0]),
        ("a redirect is not followed", vec![Ok(302)], &[5.0]),
        ("a refusal is tried again", vec![Ok(410), Ok(404), Ok(401)], &[5.0, 30.0, 120.0]),
        ("a broken connection", vec![broken()], &[5.0]),
        ("a private address", vec![refused(), refused()], &[5.0, 30.0]),
    ];
    for (what, answers, pauses) in table {
        let ops = Receiver::answering(answers);
        let app = JobApp::with_webhooks(vec![ops.webhook("ops")]);
        app.work();
        app.start(json!({"sources": ["txManualAsr"], "webhook": "ops"})).await;
        sleep(Duration::from_secs(1800)).await;
        let arrived = ops.arrived();
        assert_eq!(arrived.len(), pauses.len() + 1, "{what}");
        assert!(arrived.iter().all(|it| it.id == arrived[0].id), "{what}: one message, one id");
        for (pair, pause) in arrived.windows(2).zip(pauses) {
            let waited = (pair[1].at - pair[0].at).as_secs_f64();
            assert!((pause * 0.9..=pause * 1.1 + 2.0).contains(&waited), "{what}: {waited}");
        }
    }
    let down = Receiver::answering((0..100).map(|_| Ok(500)).collect());
    let app = JobApp::with_webhooks(vec![down.webhook("ops")]);
    app.work();
    app.start(json!({"sources": ["txManualAsr"], "webhook": "ops"})).await;
    sleep(Duration::from_secs(48 * 3600)).await;
    let arrived = down.arrived();
    let last = arrived[arrived.len() - 1].at - arrived[0].at;
    assert!((20.0..24.0).contains(&(last.as_secs_f64() / 3600.0)), "{last:?}");
    assert!((15..20).contains(&arrived.len()), "{}", arrived.len());
    let metrics = app.get("/metrics").await.text;
    let line = r#"vidra_webhook_attempts_total{webhook="ops",outcome="given_up"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
}

/// A destination that is down delays no other one.
#[tokio::test(start_paused = true)]
async fn destinations_are_independent() {
    let down = Receiver::answering((0..100).map(|_| Err(Failure::TimedOut)).collect());
    let good = Receiver::default();
    let app = JobApp::with_webhooks(vec![down.webhook("down"), good.webhook("good")]);
    app.work();
    for webhook in ["down", "down", "good"] {
        app.start(json!({"sources": ["txManualAsr"], "webhook": webhook})).await;
    }
    sleep(Duration::from_secs(20)).await;
    assert_eq!(good.kinds(), ["job.completed"]);
    assert!(down.kinds().len() >= 2);
}

/// Over the network: an answer, a redirect, silence, and an address that must not be reached.
#[tokio::test]
async fn requests_over_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut answers = ["302 Found\r\nlocation: http://127.0.0.1:9/", "200 OK"].into_iter();
        while let (Ok((mut stream, _)), Some(answer)) = (listener.accept().await, answers.next()) {
            let mut read = vec![];
            while !read.ends_with(b"}}") && stream.read_buf(&mut read).await.unwrap() > 0 {}
            sender.send(String::from_utf8(read).unwrap()).unwrap();
            let head =
                format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
        }
    });
    let url = format!("http://localhost:{port}/hook");
    let private = Webhook::new("private", &url, secret(), true).unwrap();
    // Not listed as private: neither the name nor the address is connected to.
    let public = format!("http://localhost.:{port}/hook");
    let public = Webhook::new("public", &public, secret(), false).unwrap();
    let literal = format!("http://0.0.0.0:{port}/hook");
    let literal = Webhook::new("literal", &literal, secret(), false).unwrap();
    let app = JobApp::with_webhooks(vec![private, public, literal]);
    app.work();
    for webhook in ["public", "literal", "private"] {
        app.start(json!({"sources": ["txManualAsr"], "webhook": webhook})).await;
    }
    let first = requests.recv().await.unwrap();
    assert!(first.starts_with("POST /hook HTTP/1.1\r\n"), "{first}");
    assert!(first.contains("webhook-signature: v1,") && first.contains("job.completed"), "{first}");
    // The redirect was not followed: the message comes again after a while.
    let again = requests.recv().await.unwrap();
    let id = |text: &str| text.lines().find(|it| it.starts_with("webhook-id")).unwrap().to_owned();
    assert_eq!(id(&again), id(&first));
    let metrics = app.get("/metrics").await.text;
    for webhook in ["public", "literal"] {
        let line =
            format!(r#"vidra_webhook_attempts_total{{webhook="{webhook}",outcome="failed"}} "#);
        let line = metrics.lines().find(|it| it.starts_with(&line)).unwrap();
        assert!(!line.ends_with(" 0"), "{line}");
    }
    assert!(requests.try_recv().is_err());
}

#[test]
fn bad_destinations_are_refused() {
    for (name, url) in [
        ("a b", "https://ops.example/"),
        ("", "https://ops.example/"),
        ("ops", "ftp://ops.example/"),
        ("ops", "/hook"),
        ("ops", "https://user:secret@ops.example/"),
        ("ops", "http://127.0.0.1:8080/"),
        ("ops", "http://[::1]/"),
        ("ops", "http://localhost/"),
    ] {
        let error = Webhook::new(name, url, secret(), false).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
}
