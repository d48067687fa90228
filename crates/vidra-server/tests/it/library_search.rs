//! Searches over REST, on a library in memory and a paused clock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vidra_library::Limits;
use vidra_server::gate::{Keys, Rules};

use crate::app::PEER;
use crate::collections::put;
use crate::jobs::JobApp;
use crate::jobs::access::{file, send};
use crate::jobs::request;

/// A service whose collection `news` has three videos.
async fn filled() -> JobApp {
    let app = JobApp::new();
    app.work();
    put(&app, "news", &json!({"sources": ["@crowd007", "txManualAsr"], "limit": 2})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    app
}

#[tokio::test(start_paused = true)]
async fn hits_have_their_moment() {
    let app = filled().await;
    let page = app.get("/api/library/search?q=the&collection=news&limit=2&context=10").await.json();
    let items = page["items"].as_array().unwrap();
    assert_eq!((items.len(), &page["coverage"]["videos"]), (2, &json!(3)), "{page}");
    for hit in items {
        let (start, url) = (hit["start"].as_f64().unwrap(), hit["url"].as_str().unwrap());
        assert!(url.ends_with(&format!("&t={}s", start as u64)), "{hit}");
        let text: Vec<char> = hit["text"].as_str().unwrap().chars().collect();
        for range in hit["highlights"].as_array().unwrap() {
            let at = |index: usize| range[index].as_u64().unwrap() as usize;
            let word: String = text[at(0)..at(1)].iter().collect();
            assert_eq!(word.to_lowercase(), "the");
        }
    }
    let cursor = page["nextCursor"].as_str().unwrap();
    let path =
        format!("/api/library/search?q=the&collection=news&limit=2&context=10&cursor={cursor}");
    let next = app.get(&path).await.json();
    assert_eq!(next["total"], page["total"]);
    assert_ne!(next["items"][0], page["items"][0]);
    let other = app.get(&format!("/api/library/search?q=a&cursor={cursor}")).await;
    assert_eq!((other.status.as_u16(), other.reason()), (400, "invalid_cursor".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn lists_have_every_format() {
    let app = filled().await;
    let lines = [("accept", "application/x-ndjson")];
    for (path, columns) in [
        ("search?q=the", "videoId,start,text"),
        ("search?q=the&group=video", "videoId,momentCount"),
        ("trends?q=the", "period,count,perMillion"),
        ("videos", "videoId,words,url"),
    ] {
        let sign = if path.contains('?') { '&' } else { '?' };
        let whole = app.get(&format!("/api/library/{path}")).await.json();
        assert!(!whole["items"].as_array().unwrap().is_empty(), "{path}: {whole}");
        let chosen = app.get(&format!("/api/library/{path}{sign}fields={columns}")).await.json();
        assert_eq!(chosen["items"][0].as_object().unwrap().len(), columns.split(',').count());
        assert_eq!(chosen.get("total"), whole.get("total"), "{path}");
        let csv = app.get(&format!("/api/library/{path}{sign}format=csv&fields={columns}")).await;
        assert!(csv.text.starts_with(&format!("{columns}\r\n")), "{path}: {}", csv.text);
        let got = app.send("GET", &format!("/api/library/{path}"), &lines, "").await;
        assert_eq!(got.status, 200, "{path}: {}", got.text);
        assert!(got.text.lines().count() >= 1 && got.text.starts_with('{'), "{path}: {}", got.text);
    }
}

#[tokio::test(start_paused = true)]
async fn faults_are_named_with_their_position() {
    let app = filled().await;
    let table = [
        ("search", "q: must not be empty"),
        ("search?q=say+%22hello", "q: position 5: the quotation mark is not closed"),
        ("trends?q=OR+x", "q: position 1: OR needs a word on both sides"),
        ("search?q=a*", "q: position 1: * needs at least 2 characters before it"),
        ("search?q=a&in=speech,lyrics", "in: must be a list of speech, title and description"),
        ("search?q=a&sort=best", "sort: must be one of relevance, newest, oldest"),
        ("search?q=a&context=301", "context: must be a whole number from 0 to 300"),
        ("search?q=a&since=2026-02-01&until=2026-01-01", "since: is later than until"),
        ("videos?sort=relevance", "sort: must be one of newest, oldest"),
        ("trends?q=a&by=day", "by: must be one of month, week, year"),
        ("search?q=a&x=1", "x: unknown parameter"),
        ("trends?q=a&in=title", "in: unknown parameter"),
        ("search?q=a&job=0f8fad5b", "job: must be the id of a job: 32 hexadecimal digits"),
        (
            "search?q=a&owner=",
            "owner: names the owner of a collection, and collection is not given",
        ),
    ];
    for (path, fault) in table {
        let got = app.get(&format!("/api/library/{path}")).await;
        assert_eq!(got.status, 400, "{path}: {}", got.text);
        let details = got.json()["error"]["details"].clone();
        assert_eq!(details, json!([fault]), "{path}");
    }
    let missing = [
        ("collection=none", "collection_not_found"),
        ("job=0f8fad5bd9cb469fa16570867728950e", "job_not_found"),
    ];
    for (filter, reason) in missing {
        let got = app.get(&format!("/api/library/search?q=a&{filter}")).await;
        assert_eq!((got.status.as_u16(), &*got.reason()), (404, reason));
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_result_says_why() {
    let app = filled().await;
    let got = app.get("/api/library/search?q=zebrafinch").await.json();
    assert_eq!(got["note"], "No match in the 3 videos that were searched");
    let got = app.get("/api/library/search?q=the&channel=UCaaaaaaaaaaaaaaaaaaaaaa").await.json();
    assert_eq!(got["coverage"], json!({"videos": 0, "hours": 0.0}));
    assert_eq!(got["note"], "No stored transcript matches the filters");
    // The collection knows the channel of the handle, so that nothing is requested.
    let got = app.get("/api/library/videos?channel=@Crowd007").await;
    assert_eq!(got.json()["items"].as_array().unwrap().len(), 2);
    assert_eq!(got.header("x-quota-cost"), Some("0"));
}

#[tokio::test(start_paused = true)]
async fn keys_search_everything_or_their_own() {
    for (is_own, expected) in [(false, [1, 1, 1]), (true, [1, 0, 1])] {
        let keys = Arc::new(Keys::new(&file(&["anna", "ben", "operator"])));
        let rules = Rules { keys: Some(keys), ..Rules::default() };
        let app = JobApp::with_access(rules, Limits::default(), is_own);
        app.work();
        let body = json!({"sources": ["txManualAsr"]});
        send(&app, "anna", "PUT", "/api/collections/news", body).await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        for (name, videos) in ["anna", "ben", "operator"].iter().zip(expected) {
            let got =
                send(&app, name, "GET", "/api/library/search?q=the", Value::Null).await.json();
            assert_eq!(got["coverage"]["videos"], videos, "{name}: {got}");
        }
        let of_anna = "/api/library/search?q=the&collection=news";
        let got = send(&app, "ben", "GET", of_anna, Value::Null).await;
        assert_eq!(got.reason(), "collection_not_found");
        let got =
            send(&app, "operator", "GET", &format!("{of_anna}&owner=anna"), Value::Null).await;
        assert_eq!(got.json()["coverage"]["videos"], 1);
    }
    let open = crate::app::TestApp::new();
    assert_eq!(open.get("/api/library/search?q=a").await.reason(), "library_off");
}

/// Only JSON has a member for videos without a date.
#[tokio::test(start_paused = true)]
async fn every_form_of_trends_counts_videos_without_a_date() {
    let app = filled().await;
    let whole = app.get("/api/library/trends?q=the").await.json();
    let in_json: u64 = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .chain(whole.get("undated"))
        .map(|it| it["videos"].as_u64().unwrap())
        .sum();
    let csv = app.get("/api/library/trends?q=the&format=csv&fields=videos").await.text;
    let in_csv: u64 = csv.lines().skip(1).map(|it| it.parse::<u64>().unwrap()).sum();
    assert_eq!((in_json, in_csv), (3, 3), "{whole} {csv}");
}

/// A stream that nobody reads holds its slot.
#[tokio::test(start_paused = true)]
async fn a_caller_runs_a_limited_number_of_searches() {
    let app = filled().await;
    let search = |accept| request("GET", "/api/library/search?q=the", &[("accept", accept)], "");
    let mut open = vec![];
    for _ in 0..8 {
        let response = app.app.app.answer(search("application/x-ndjson"), PEER).await;
        assert_eq!(response.status(), 200);
        open.push(response);
    }
    for path in ["search?q=the", "trends?q=the", "videos"] {
        let got = app.get(&format!("/api/library/{path}")).await;
        assert_eq!((got.status.as_u16(), &*got.reason()), (429, "too_many_searches"));
        assert_eq!(got.header("retry-after"), Some("1"));
    }
    open.pop();
    assert_eq!(app.get("/api/library/search?q=the").await.status, 200);
}
