//! Playlists of a channel, comment threads, charts and feeds over REST.

use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use serde_json::{Value, json};
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{TestApp, TestResponse};

const NDJSON: &str = "application/x-ndjson";
/// The id of `@fermata`, which has 57 playlists.
const FERMATA: &str = "UCB-2_pXPtFYDifLXZF-S8PA";

async fn get(app: &TestApp, path: &str, accept: &str) -> TestResponse {
    app.send(Request::get(path).header("accept", accept).body(Body::empty()).unwrap()).await
}

fn items(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.status.as_u16(), 200, "{}", response.text);
    response.json()["items"].as_array().unwrap().clone()
}

fn rows(response: &TestResponse) -> Vec<Vec<String>> {
    assert_eq!(response.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).from_reader(response.text.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn lines(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.header("content-type"), Some(NDJSON), "{}", response.text);
    response.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn separator(path: &str) -> char {
    if path.contains('?') { '&' } else { '?' }
}

/// The path of each paged list, its number of items, the cost of a page of 20 and of all, and members of an item.
fn paged() -> [(String, usize, u32, u32, &'static str); 4] {
    [
        (format!("/api/channel/{FERMATA}/playlists"), 57, 1, 2, "id,itemCount"),
        ("/api/comments/quirkCmLoop/threads".to_owned(), 200, 1, 2, "id,topLevelComment.text"),
        ("/api/charts/popular?region=DE".to_owned(), 200, 1, 4, "id,thumbnails.high.url"),
        ("/api/channel/@fermata/playlists".to_owned(), 57, 2, 3, "title"),
    ]
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_page_by_page_for_their_cost() {
    for (path, count, of_page, of_all, _) in paged() {
        let app = TestApp::new();
        let with = |more: &str| format!("{path}{}{more}", separator(&path));
        let (mut all, mut total, mut next) = (vec![], 0, with("limit=20"));
        loop {
            let page = app.get(&next).await;
            if all.is_empty() {
                assert_eq!(page.cost(), of_page, "{path}");
            }
            total += page.cost();
            all.extend(items(&page));
            let Some(cursor) = page.json()["nextCursor"].as_str().map(str::to_owned) else { break };
            next = with(&format!("limit=20&cursor={cursor}"));
        }
        assert_eq!((all.len(), total), (count, of_all), "{path}");
        assert_eq!(u64::from(total), app.sim.record().units.default, "{path}");
        let whole = app.get(&with("limit=500")).await;
        assert_eq!((items(&whole), whole.cost()), (all, 0), "{path}");
        let again = app.get(&with("limit=500")).await;
        assert_eq!(again.header("x-cache"), Some("hit"), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_have_chosen_members_csv_and_streams() {
    for (path, count, _, _, fields) in paged() {
        let app = TestApp::new();
        let with = |more: &str| format!("{path}{}{more}", separator(&path));
        let all = items(&app.get(&with("limit=500")).await);
        let chosen = items(&app.get(&with(&format!("limit=500&fields={fields}"))).await);
        for (item, chosen) in all.iter().zip(&chosen) {
            for field in fields.split(',') {
                let pointer = format!("/{}", field.replace('.', "/"));
                assert_eq!(item.pointer(&pointer), chosen.pointer(&pointer), "{path}");
            }
            assert_eq!(chosen.as_object().unwrap().len(), fields.split(',').count(), "{path}");
        }
        let csv = app.get(&with("limit=30&format=csv&fields=id")).await;
        let table = rows(&csv);
        assert_eq!((table.len(), table[0][0].as_str()), (31, "id"), "{path}");
        assert_eq!(all[0]["id"], table[1][0], "{path}");
        let cursor = csv.header("x-next-cursor").unwrap().to_owned();
        let rest = lines(&get(&app, &with(&format!("cursor={cursor}&fields=id")), NDJSON).await);
        assert_eq!(rest.len(), count - 30 + 1, "{path}");
        assert_eq!(rest[0], json!({"type": "result", "id": all[30]["id"]}), "{path}");
        assert_eq!(rest.last().unwrap(), &json!({"type": "summary", "count": count - 30}));
        assert_eq!(app.get(&with("limit=2")).await.header("vary"), Some("accept, accept-encoding"));
    }
}

#[tokio::test(start_paused = true)]
async fn bad_questions_are_400_and_cost_nothing() {
    let app = TestApp::new();
    let mut table = vec![
        ("/api/charts/popular?region=DEU".to_owned(), "region: must be a two-letter code"),
        ("/api/charts/popular?category=music".to_owned(), "category: category ids are numbers"),
        ("/api/comments/fda4eREcaTQ/threads?order=best".to_owned(), "order: must be one of"),
        ("/api/comments/fda4eREcaTQ/threads?replies=few".to_owned(), "replies: must be one of"),
        ("/api/comments/fda4eREcaTQ/threads?maxResults=5".to_owned(), "maxResults: unknown"),
        (format!("/api/comments/fda4eREcaTQ/threads?search={}", "x".repeat(201)), "search: must"),
        ("/api/channel/@fermata/feed?limit=5".to_owned(), "limit: unknown parameter"),
        ("/api/playlist/PLsize1/feed?fields=nope".to_owned(), "fields: no such member: nope"),
    ];
    for (path, ..) in paged() {
        for (query, detail) in [
            ("limit=0", "limit: must be a whole number from 1 to 500"),
            ("limit=501", "limit: must be"),
            ("fields=nope", "fields: no such member: nope"),
            ("format=xml", "format: must be one of json, csv"),
            ("page=2", "page: unknown parameter"),
        ] {
            table.push((format!("{path}{}{query}", separator(&path)), detail));
        }
    }
    for (path, detail) in table {
        let (_, details) = app.get(&path).await.problem(400);
        assert!(details.iter().any(|line| line.starts_with(detail)), "{path}: {details:?}");
    }
    for (path, ..) in paged() {
        let refused = app.get(&format!("{path}{}cursor=nope", separator(&path))).await;
        assert_eq!((refused.status.as_u16(), refused.reason().as_str()), (400, "invalid_cursor"));
    }
    assert_eq!(app.sim.record().calls, 0);
    let cursor = app.get("/api/charts/popular?limit=5").await.json()["nextCursor"].clone();
    let foreign = format!("/api/charts/popular?region=DE&cursor={}", cursor.as_str().unwrap());
    assert_eq!(app.get(&foreign).await.reason(), "invalid_cursor");
}

#[tokio::test(start_paused = true)]
async fn missing_lists_are_named() {
    let app = TestApp::new();
    let table = [
        ("channel/UCaaaaaaaaaaaaaaaaaaaaaa/playlists", 404, "channel_not_found"),
        ("channel/UCquirkClosedLists000000/playlists", 403, "not_accessible"),
        ("channel/UCaaaaaaaaaaaaaaaaaaaaaa/feed", 404, "channel_not_found"),
        ("channel/@nobodyHasThis/feed", 404, "channel_not_found"),
        ("playlist/PLquirkUnknown/feed", 404, "playlist_not_found"),
        ("playlist/PLquirkPrivate/feed", 403, "not_accessible"),
        ("comments/quirkAbsent/threads", 404, "video_not_found"),
        ("comments/quirkNoComm/threads", 403, "comments_disabled"),
        ("charts/popular?region=XX", 400, "rejected_by_upstream"),
        ("charts/popular?category=19", 404, "chart_not_found"),
        ("charts/popular?category=999", 404, "chart_not_found"),
    ];
    for (path, status, reason) in table {
        let refused = app.get(&format!("/api/{path}")).await;
        refused.problem(status);
        assert_eq!(refused.reason(), reason, "{path}");
        if !path.ends_with("feed") {
            let streamed = get(&app, &format!("/api/{path}"), NDJSON).await;
            assert_eq!((streamed.status.as_u16(), streamed.reason()), (status, reason.to_owned()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn users_6_a_list_that_breaks_off_keeps_what_came() {
    let app = TestApp::new();
    app.sim.inject(Fault::on(Endpoint::Videos, Action::error("backendError")).from_call(3));
    let part = app.get("/api/charts/popular?limit=500").await;
    assert_eq!((items(&part).len(), part.cost()), (100, 3));
    let next =
        format!("/api/charts/popular?cursor={}", part.json()["nextCursor"].as_str().unwrap());
    assert_eq!(app.get(&next).await.reason(), "upstream_failed");
    let broken = lines(&get(&app, "/api/charts/popular", NDJSON).await);
    assert_eq!((broken.len(), &broken[100]["type"]), (101, &json!("error")));
    assert_eq!(broken[100]["error"]["reason"], "upstream_failed");
}

#[tokio::test(start_paused = true)]
async fn a_search_of_threads_finds_replies() {
    let app = TestApp::new();
    let path = "/api/comments/fda4eREcaTQ/threads";
    let all = items(&app.get(&format!("{path}?limit=500")).await);
    let text = |comment: &Value| comment["text"].as_str().unwrap().to_lowercase();
    let is_match = |thread: &Value| {
        let replies = thread["replies"].as_array().into_iter().flatten().map(text);
        replies.chain([text(&thread["topLevelComment"])]).any(|text| text.contains("the"))
    };
    let expected: Vec<Value> = all.iter().filter(|thread| is_match(thread)).cloned().collect();
    let found = app.get(&format!("{path}?limit=500&search=THE")).await;
    assert_eq!((items(&found), found.cost()), (expected, 0), "it reads the same pages");
    let top = items(&app.get(&format!("{path}?limit=3&order=relevance")).await);
    let ranked = app.get("/api/comments/fda4eREcaTQ/top?limit=3").await.json();
    assert_eq!(json!(top), ranked);
    let before = app.sim.record().units.default;
    let replies = app.get("/api/comments/quirkManyRp/threads?replies=all").await;
    let most = items(&replies).iter().map(|it| it["replies"].as_array().map_or(0, Vec::len)).max();
    assert_eq!(
        (most, u64::from(replies.cost())),
        (Some(250), app.sim.record().units.default - before)
    );
}

#[tokio::test(start_paused = true)]
async fn feeds_cost_nothing_unless_youtube_serves_none() {
    let app = TestApp::new();
    let table = [
        (format!("channel/{FERMATA}/feed"), "feed", 0),
        ("channel/@fermata/feed".to_owned(), "feed", 1),
        ("playlist/PLsize50/feed".to_owned(), "feed", 0),
        ("channel/UCquirkFeedMissing000000/feed".to_owned(), "data_api", 2),
        ("channel/UCquirkFeedTruncated0000/feed".to_owned(), "data_api", 2),
        ("playlist/PLquirkFeedBroken/feed".to_owned(), "data_api", 2),
    ];
    for (path, source, cost) in table {
        let got = app.get(&format!("/api/{path}")).await;
        assert_eq!((got.status.as_u16(), got.cost()), (200, cost), "{path}: {}", got.text);
        assert!(
            got.text.starts_with(&format!(r#"{{"source":"{source}","items":[{{"id":"#)),
            "{path}"
        );
        assert!((1..=15).contains(&items(&got).len()), "{path}");
        let again = app.get(&format!("/api/{path}")).await;
        assert_eq!((again.header("x-cache"), again.cost()), (Some("hit"), 0), "{path}");
        assert!(got.header("cache-control").unwrap().contains("max-age="), "{path}");
    }
    let path = format!("/api/channel/{FERMATA}/feed");
    let whole = items(&app.get(&path).await);
    let chosen = app.get(&format!("{path}?fields=id,title")).await.json();
    assert_eq!(chosen["source"], "feed");
    assert_eq!(chosen["items"][0], json!({"id": whole[0]["id"], "title": whole[0]["title"]}));
    let table = rows(&app.get(&format!("{path}?fields=id,views&format=csv")).await);
    assert_eq!((table.len(), table[0].join(",")), (whole.len() + 1, "id,views".to_owned()));
    assert_eq!(rows(&get(&app, &path, "text/csv").await).len(), whole.len() + 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_key_feeds_work_and_their_replacement_does_not() {
    let config = vidra_server::Config::default();
    let sim = vidra_sim::Simulator::new();
    let vidra = vidra::Vidra::builder()
        .web_url("http://sim.invalid")
        .transport(vidra::InProcess(sim.clone()))
        .build()
        .unwrap();
    let app = TestApp { sim, app: vidra_server::App::new(vidra, config) };
    assert_eq!(items(&app.get(&format!("/api/channel/{FERMATA}/feed")).await).len(), 15);
    let none = app.get("/api/playlist/PLquirkFeedMissing/feed").await;
    let (_, details) = none.problem(503);
    assert_eq!(none.reason(), "upstream_key_missing");
    assert_eq!(details, ["feed: YouTube does not serve the feed"]);
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_cost_one_fetch() {
    let app = TestApp::new();
    for endpoint in
        [Endpoint::Feed, Endpoint::Playlists, Endpoint::CommentThreads, Endpoint::Videos]
    {
        app.sim.inject(Fault::on(endpoint, Action::Delay { millis: 200 }));
    }
    let paths = [
        (format!("/api/channel/{FERMATA}/feed"), 0),
        (format!("/api/channel/{FERMATA}/playlists"), 1),
        ("/api/comments/quirkHtmlCm/threads".to_owned(), 1),
        ("/api/charts/popular".to_owned(), 1),
        ("/api/playlist/PLquirkFeedMissing/feed".to_owned(), 2),
    ];
    for (path, cost) in paths {
        let before = app.sim.record().units.default;
        let got = join_all((0..6).map(|_| app.get(&path))).await;
        assert!(got.iter().all(|it| it.status.as_u16() == 200), "{path}");
        assert_eq!(app.sim.record().units.default - before, cost, "{path}");
        assert_eq!(u64::from(got.iter().map(TestResponse::cost).sum::<u32>()), cost, "{path}");
    }
}
