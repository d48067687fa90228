//! Callers that follow a job: long polls and server-sent events.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use vidra_server::ResponseBody;

use super::{JobApp, request};
use crate::app::PEER;

/// A server-sent event: its name, its id and its data.
#[derive(Debug, PartialEq)]
struct Event {
    name: String,
    id: Option<u64>,
    data: Value,
}

/// A stream of events.
struct Events {
    body: ResponseBody,
    text: String,
    comments: usize,
}

impl Events {
    async fn open(app: &JobApp, path: &str, headers: super::Headers<'_>) -> Self {
        let response = app.app.app.answer(request("GET", path, headers, Body::empty()), PEER).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert!(!response.headers().contains_key("x-quota-cost"));
        Self { body: response.into_body(), text: String::new(), comments: 0 }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    self.comments += 1;
                    continue;
                }
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                };
                return Some(Event {
                    name: field("event").unwrap().to_owned(),
                    id: field("id").map(|id| id.parse().unwrap()),
                    data: serde_json::from_str(field("data").unwrap()).unwrap(),
                });
            }
            let frame = self.body.frame().await?.unwrap();
            self.text += std::str::from_utf8(frame.data_ref().unwrap()).unwrap();
        }
    }

    async fn rest(&mut self) -> Vec<Event> {
        let mut events = vec![];
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

#[tokio::test(start_paused = true)]
async fn events_have_no_gaps_over_reconnections() {
    let app = JobApp::new();
    let path = app.start(json!({"sources": ["PLsize50", "txNoCaption"]})).await;
    let mut first = Events::open(&app, &format!("{path}/events?after=0"), &[]).await;
    let snapshot = first.next().await.unwrap();
    assert_eq!((snapshot.name.as_str(), snapshot.id), ("snapshot", Some(0)));
    assert_eq!(snapshot.data["state"], "queued");
    let queued = first.next().await.unwrap();
    assert_eq!((queued.name.as_str(), queued.id), ("state", Some(1)));
    assert_eq!((&queued.data["type"], &queued.data["state"]), (&"state".into(), &"queued".into()));
    assert_eq!(
        (&queued.data["number"], &queued.data["at"]),
        (&1.into(), &"2026-11-17T18:00:00.000Z".into())
    );
    // Nothing happens for a minute.
    assert!(timeout(Duration::from_secs(61), first.next()).await.is_err());
    assert_eq!(first.comments, 4);
    app.work();
    let mut seen = vec![queued];
    for _ in 0..9 {
        seen.push(first.next().await.unwrap());
    }
    drop(first);
    // The connection broke. The reader continues where it was, and again after the job has ended.
    let last = seen.last().unwrap().id.unwrap().to_string();
    let mut second =
        Events::open(&app, &format!("{path}/events"), &[("last-event-id", &last)]).await;
    assert_eq!(second.next().await.unwrap().id, seen.last().unwrap().id);
    seen.extend(second.rest().await);
    let numbers: Vec<u64> = seen.iter().map(|event| event.id.unwrap()).collect();
    let job = app.get(&path).await.json();
    assert!(numbers.iter().copied().eq(1..=job["version"].as_u64().unwrap()), "{numbers:?}");
    assert_eq!(seen.last().unwrap().data["state"], "completed");
    assert_eq!(seen.iter().filter(|event| event.name == "item").count(), 51);
    assert!(seen.iter().any(|event| event.data["reason"] == "captions_disabled"));
    // After the end: only the snapshot, or everything, and a number beyond the last one.
    let ended = async |query: &str| {
        Events::open(&app, &format!("{path}/events{query}"), &[]).await.rest().await
    };
    assert_eq!(
        ended("").await,
        [Event { name: "snapshot".into(), id: job["version"].as_u64(), data: job.clone() }]
    );
    assert_eq!(ended("?after=0").await.len(), numbers.len() + 1);
    assert_eq!(ended("?after=99999999").await.len(), 1);
}

/// A reader that reconnects repeats its first query, and adds the header.
#[tokio::test(start_paused = true)]
async fn the_later_one_of_after_and_last_event_id_counts() {
    let app = JobApp::new();
    app.work();
    let path = app.start(json!({"sources": ["PLsize50"]})).await;
    app.ended(&path).await;
    let path = format!("{path}/events?after=0");
    let all = Events::open(&app, &path, &[]).await.rest().await.len();
    let rest = Events::open(&app, &path, &[("last-event-id", "5")]).await.rest().await.len();
    assert_eq!(rest, all - 5);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_events_ends_with_its_job_and_with_the_service() {
    let app = JobApp::new();
    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    let mut deleted = Events::open(&app, &format!("{path}/events"), &[]).await;
    assert_eq!(deleted.next().await.unwrap().name, "snapshot");
    app.send("DELETE", &path, &[], "").await;
    let last = deleted.next().await.unwrap();
    assert_eq!(
        (last.name.as_str(), &last.data["error"]["reason"]),
        ("error", &"job_not_found".into())
    );
    assert!(deleted.next().await.is_none());

    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    let mut stopped = Events::open(&app, &format!("{path}/events"), &[]).await;
    stopped.next().await.unwrap();
    app.app.app.drain();
    let last = stopped.next().await.unwrap();
    assert_eq!(
        (last.name.as_str(), &last.data["error"]["reason"]),
        ("error", &"shutting_down".into())
    );
    assert!(stopped.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_returns_at_a_change_or_after_its_time() {
    let app = JobApp::new();
    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    let begun = Instant::now();
    let job = app.get(&format!("{path}?wait=30&seen=1")).await.json();
    assert_eq!((&job["version"], begun.elapsed()), (&1.into(), Duration::from_secs(30)));
    app.get(&format!("{path}?wait=30&seen=0")).await;
    app.get(&path).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(30), "seen is older, or there is no wait");
    let wait = app.get(&path);
    drop(wait);
    let poll = format!("{path}?wait=60&seen=1");
    let pause = format!("{path}/pause");
    let (job, _) = tokio::join!(app.get(&poll), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        app.send("POST", &pause, &[], "").await
    });
    assert_eq!(
        (&job.json()["state"], begun.elapsed()),
        (&"paused".into(), Duration::from_secs(35))
    );
    // Shutdown ends it too.
    let poll = format!("{path}?wait=60&seen=2");
    let (job, ()) = tokio::join!(app.get(&poll), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        app.app.app.drain();
    });
    assert_eq!((job.status.as_u16(), begun.elapsed()), (200, Duration::from_secs(40)));
}

#[tokio::test(start_paused = true)]
async fn the_worker_stops_with_the_service_and_gives_back_its_work() {
    let app = JobApp::new();
    let jobs = app.app.app.clone();
    let jobs = tokio::spawn(async move { jobs.run_jobs().await });
    let path = app.start(json!({"sources": ["PLsize500"]})).await;
    let mut events = Events::open(&app, &format!("{path}/events"), &[]).await;
    for _ in 0..20 {
        events.next().await.unwrap();
    }
    let begun = Instant::now();
    app.app.app.drain();
    jobs.await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(6), "{:?}", begun.elapsed());
    let before = app.get(&path).await.json();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(app.get(&path).await.json()["version"], before["version"], "nothing runs");
}
