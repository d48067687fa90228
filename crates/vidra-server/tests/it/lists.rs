//! Lists over REST: pages, chosen members, CSV and NDJSON.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{TestApp, TestResponse};

const NDJSON: &str = "application/x-ndjson";

async fn get(app: &TestApp, path: &str, accept: &str) -> TestResponse {
    app.send(Request::get(path).header("accept", accept).body(Body::empty()).unwrap()).await
}

fn rows(response: &TestResponse) -> Vec<Vec<String>> {
    assert_eq!(response.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).from_reader(response.text.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn lines(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.header("content-type"), Some(NDJSON));
    response.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn users_8_a_playlist_is_read_page_by_page() {
    let app = TestApp::new();
    let whole = app.get("/api/playlist/PLsize120").await.json();
    let app = TestApp::new();
    let (mut path, mut seen) = ("/api/playlist/PLsize120/videos?limit=50".to_owned(), vec![]);
    for (cost, items) in [("2", 50), ("2", 50), ("2", 20)] {
        let page = app.get(&path).await;
        assert_eq!((page.status.as_u16(), page.header("x-quota-cost")), (200, Some(cost)));
        assert!(page.text.starts_with(r#"{"items":[{"id":"#), "members keep their order");
        let page = page.json();
        assert_eq!(page["items"].as_array().unwrap().len(), items);
        seen.extend(page["items"].as_array().unwrap().clone());
        if let Some(cursor) = page["nextCursor"].as_str() {
            path = format!("/api/playlist/PLsize120/videos?limit=50&cursor={cursor}");
        } else {
            assert!(page.get("nextCursor").is_none(), "absent at the end");
        }
    }
    for (index, item) in seen.iter_mut().enumerate() {
        assert_eq!(item.as_object_mut().unwrap().remove("position"), Some(json!(index + 1)));
    }
    assert_eq!(json!(seen), whole["videos"]);
    let again = app.get("/api/playlist/PLsize120/videos?limit=50").await;
    assert_eq!((again.header("x-quota-cost"), again.header("x-cache")), (Some("0"), Some("hit")));
}

#[tokio::test(start_paused = true)]
async fn bad_questions_are_400() {
    let app = TestApp::new();
    // The query, the reason, and a part of the details.
    let table = [
        (
            "playlist/PLsize120/videos?limit=0",
            "invalid_input",
            "limit: must be a whole number from 1 to 500",
        ),
        ("playlist/PLsize120/videos?limit=501", "invalid_input", "limit: must be"),
        ("playlist/PLsize120/videos?cursor=nope", "invalid_cursor", "cursor: is damaged"),
        (
            "playlist/PLsize120/videos?fields=id,nope",
            "invalid_input",
            "fields: no such member: nope",
        ),
        (
            "playlist/PLsize120/videos?format=xml",
            "invalid_input",
            "format: must be one of json, csv",
        ),
        ("playlist/PLsize120/videos?page=2", "invalid_input", "page: unknown parameter"),
        (
            "playlist/PLsize120/videos?limit=2&fields=id&limit=3&fields=title",
            "invalid_input",
            "limit: is given more than once",
        ),
        ("channel/@fermata/uploads?since=yesterday", "invalid_input", "since: must be a date"),
        (
            "channel/@fermata/uploads?since=2020-01-01&until=31.1.2020",
            "invalid_input",
            "until: must be a date",
        ),
        (
            "videos?ids=fda4eREcaTQ&fields=thumbnails.huge",
            "invalid_input",
            "fields: no such member",
        ),
        (
            "transcript/txManualAsr?format=srt&fields=text",
            "invalid_input",
            "fields: can be combined",
        ),
    ];
    for (path, reason, detail) in table {
        let refused = app.get(&format!("/api/{path}")).await;
        let error = &refused.json()["error"];
        assert_eq!(
            (refused.status.as_u16(), error["reason"].as_str()),
            (400, Some(reason)),
            "{path}"
        );
        assert!(error["details"].to_string().contains(detail), "{path}: {error}");
    }
    assert_eq!(app.sim.record().calls, 0, "nothing was sent upstream");
}

#[tokio::test(start_paused = true)]
async fn users_8_fields_choose_members_of_every_list() {
    let app = TestApp::new();
    let table = [
        ("videos?ids=fda4eREcaTQ,quirkNoLike", "id,thumbnails.high.url"),
        ("channel/@fermata/videos?limit=3", "id,uploadAge"),
        ("comments/quirkHtmlCm?maxResults=5", "id,topLevelComment.text"),
        ("comments/quirkHtmlCm/top?limit=2", "totalReplyCount"),
        ("comment-replies/UgquirkManyReplies04AaABAg?", "id,parentId"),
        ("i18n/regions?", "gl"),
        ("i18n/languages?", "hl,name"),
        ("video-categories?", "title"),
        ("transcript/txManualAsr/tracks?", "languageCode"),
        ("transcript/txManualAsr?", "text"),
    ];
    for (path, fields) in table {
        let all = app.get(&format!("/api/{path}")).await.json();
        let some = app.get(&format!("/api/{path}&fields={fields}")).await;
        assert_eq!(some.status.as_u16(), 200, "{path}: {}", some.text);
        assert_eq!(some.header("x-quota-cost"), Some("0"), "it does not change the cost: {path}");
        let (all, some) = (all.as_array().unwrap(), some.json());
        assert_eq!(some.as_array().unwrap().len(), all.len(), "{path}");
        for (item, chosen) in all.iter().zip(some.as_array().unwrap()) {
            for path in fields.split(',') {
                let pointer = format!("/{}", path.replace('.', "/"));
                assert_eq!(item.pointer(&pointer), chosen.pointer(&pointer), "{path}");
            }
            let names: std::collections::BTreeSet<_> =
                fields.split(',').map(|path| path.split('.').next().unwrap()).collect();
            let kept = chosen.as_object().unwrap().keys();
            assert!(kept.into_iter().all(|name| names.contains(name.as_str())), "{chosen}");
        }
        let csv = get(&app, &format!("/api/{path}&fields={fields}"), "text/csv").await;
        let rows = rows(&csv);
        assert_eq!(rows[0].join(","), fields, "{path}");
        assert_eq!(rows.len(), all.len() + 1, "{path}");
        let by_name = app.get(&format!("/api/{path}&fields={fields}&format=csv")).await;
        assert_eq!(by_name.text, csv.text, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_8_a_query_has_chosen_members_and_csv() {
    let app = TestApp::new();
    let path = "/api/playlist/PLsize120/query";
    let body = json!({"sort": {"field": "views", "order": "desc"}, "range": {"end": 3}});
    let whole = app.post(path, &body).await.json();
    let chosen = app.post(&format!("{path}?fields=views,id"), &body).await.json();
    for (video, part) in
        whole["videos"].as_array().unwrap().iter().zip(chosen["videos"].as_array().unwrap())
    {
        assert_eq!(part, &json!({"views": video["views"], "id": video["id"]}));
    }
    assert_eq!(chosen["totalDuration"], whole["totalDuration"], "the rest is as without it");
    let csv = app.post(&format!("{path}?fields=views,id&format=csv"), &body).await;
    let table = rows(&csv);
    assert_eq!((table[0].join(","), table.len()), ("views,id".to_owned(), 4));
    assert_eq!(table[1][1], whole["videos"][0]["id"]);
    let request = Request::post(path).header("accept", "text/csv").body(Body::empty()).unwrap();
    let all = rows(&app.send(request).await);
    assert_eq!((all[0][0].as_str(), all.len()), ("id", 121));
    for (query, expected) in [
        ("fields=nope", "fields: no such member: nope"),
        ("limit=3", "limit: unknown parameter"),
        ("format=xml", "format: "),
    ] {
        let wrong = app.post(&format!("{path}?{query}"), &body).await;
        let details = wrong.problem(400).1;
        assert!(details.iter().any(|it| it.starts_with(expected)), "{query}: {details:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_8_comments_as_csv_have_a_row_for_each_reply() {
    let app = TestApp::new();
    let threads = app.get("/api/comments/quirkHtmlCm?replies=all").await.json();
    let threads = threads.as_array().unwrap();
    let replies = |thread: &Value| thread["replies"].as_array().map_or(0, Vec::len);
    let rows = rows(&app.get("/api/comments/quirkHtmlCm?replies=all&format=csv").await);
    assert_eq!(rows.len(), 1 + threads.len() + threads.iter().map(replies).sum::<usize>());
    let column = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let (id, parent, text) = (column("id"), column("parentId"), column("topLevelComment.text"));
    for row in &rows[1..] {
        let thread = row[id].split('.').next().unwrap();
        assert_eq!(row[parent], if row[id].contains('.') { thread } else { "" });
        assert!(!row[text].is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn csv_of_a_page_has_its_cursor_in_a_header() {
    let app = TestApp::new();
    let first =
        app.get("/api/playlist/PLsize120/videos?limit=100&format=csv&fields=position,id").await;
    let cursor = first.header("x-next-cursor").unwrap().to_owned();
    assert_eq!(rows(&first).len(), 101);
    let path = format!(
        "/api/playlist/PLsize120/videos?limit=100&format=csv&fields=position&cursor={cursor}"
    );
    let second = app.get(&path).await;
    assert_eq!(second.header("x-next-cursor"), None);
    assert_eq!(
        rows(&second)[1..],
        (101..=120).map(|n: u32| vec![n.to_string()]).collect::<Vec<_>>()
    );
    // A cached response has the header too.
    assert_eq!(
        app.get("/api/playlist/PLsize120/videos?limit=100&format=csv&fields=position,id")
            .await
            .header("x-next-cursor"),
        Some(&*cursor)
    );
}

#[tokio::test(start_paused = true)]
async fn the_format_of_a_cached_list_follows_accept() {
    let app = TestApp::new();
    let path = "/api/playlist/PLsize49/videos";
    for accept in
        ["application/json", "text/csv", "*/*", NDJSON, "text/csv;q=0.1, application/json"]
    {
        let response = get(&app, path, accept).await;
        let expected = match accept {
            "text/csv" => "text/csv; charset=utf-8; header=present",
            NDJSON => NDJSON,
            _ => "application/json",
        };
        assert_eq!(response.header("content-type"), Some(expected), "{accept}");
        if accept != NDJSON {
            assert_eq!(response.header("vary"), Some("accept, accept-encoding"), "{accept}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ndjson_follows_the_pages_by_itself() {
    let app = TestApp::new();
    let all = lines(&get(&app, "/api/playlist/PLsize500/videos?fields=position", NDJSON).await);
    let expected: Vec<Value> =
        (1..=500).map(|n| json!({"type": "result", "position": n})).collect();
    assert_eq!(all[..500], expected);
    assert_eq!(all[500..], [json!({"type": "summary", "count": 500})]);

    let cursor =
        app.get("/api/playlist/PLsize120/videos?limit=70").await.json()["nextCursor"].clone();
    let path = format!("/api/playlist/PLsize120/videos?cursor={}", cursor.as_str().unwrap());
    let rest = lines(&get(&app, &path, NDJSON).await);
    assert_eq!((rest.len(), &rest[0]["position"]), (51, &json!(71)));

    let uploads = lines(&get(&app, "/api/channel/@fermata/uploads?since=2024-01-01", NDJSON).await);
    assert_eq!(uploads.last().unwrap()["type"], "summary");
}

#[tokio::test(start_paused = true)]
async fn users_6_a_list_that_breaks_off_ends_with_an_error_line() {
    let app = TestApp::new();
    let failing = Fault::on(Endpoint::PlaylistItems, Action::error("backendError"));
    app.sim.inject(failing.from_call(3));
    let broken = lines(&get(&app, "/api/playlist/PLsize500/videos", NDJSON).await);
    assert_eq!(broken.len(), 101);
    assert_eq!(broken[100]["type"], "error");
    assert_eq!(broken[100]["error"]["reason"], "upstream_failed");

    app.sim.clear_faults();
    let missing = get(&app, "/api/playlist/PLquirkUnknown/videos", NDJSON).await;
    assert_eq!(
        (missing.status.as_u16(), &missing.json()["error"]["reason"]),
        (404, &json!("playlist_not_found"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_search_is_paged_and_has_the_form_of_every_list() {
    let app = TestApp::new();
    let page = app.get("/api/search?q=quirk+million&limit=3").await;
    assert_eq!((page.status.as_u16(), page.header("x-quota-cost")), (200, Some("2")));
    let page = page.json();
    assert_eq!(page["totalEstimate"], 1_000_000);
    assert_eq!(page["items"][0]["type"], "video");
    assert!(page["items"][0]["viewsFmt"].is_string(), "a video in full");
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = app.get(&format!("/api/search?q=quirk+million&limit=3&cursor={cursor}")).await;
    assert_eq!(next.header("x-quota-cost"), Some("0"), "from the same upstream page");
    assert_ne!(next.json()["items"][0], page["items"][0]);

    let csv = get(&app, "/api/search?q=quirk+million&limit=3&fields=type,id", "text/csv").await;
    assert_eq!(rows(&csv)[0], ["type", "id"]);
    assert_eq!(rows(&csv)[1][0], "video");
    assert!(csv.header("x-next-cursor").is_some());
    let stream = get(&app, "/api/search?q=quirk+short+page", NDJSON).await;
    let stream = lines(&stream);
    assert_eq!(stream.last().unwrap()["type"], "summary");
    assert!(stream.len() > 100, "{}", stream.len());
    let types: BTreeSet<&str> = stream.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, BTreeSet::from(["result", "summary"]));
    assert_eq!(stream[0]["result"], "video", "the type of the result");
    let path = "/api/search?q=quirk+million&limit=1&fields=thumbnails.high.url";
    let url = &app.get(path).await.json()["items"][0]["thumbnails"]["high"]["url"];
    assert!(url.is_string(), "{url}");
    let channels = app.get("/api/search?q=fermata&type=channel&limit=1").await.json();
    assert_eq!(channels["items"][0]["name"], "Fermata Sessions");
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_search_are_named() {
    let app = TestApp::new();
    for (query, name) in [
        ("", "q: "),
        ("q=", "q: "),
        ("q=a&type=film", "type: "),
        ("q=a&order=newest", "order: "),
        ("q=a&since=yesterday", "since: "),
        ("q=a&since=2026-02-01&until=2026-01-01", "since: "),
        ("q=a&duration=tiny", "duration: "),
        ("q=a&type=channel&duration=short", "duration: "),
        ("q=a&type=playlist&live=live", "live: "),
        ("q=a&region=Germany", "region: "),
        ("q=a&lang=!", "lang: "),
        ("q=a&safe=yes", "safe: "),
        ("q=a&limit=51", "limit: "),
        ("q=a&channel=https://example.com/@a", "channel: "),
        ("q=a&include=tags", "include: "),
        ("q=a&words=b", "words: "),
    ] {
        let answer = app.get(&format!("/api/search?{query}")).await;
        assert_eq!(answer.status.as_u16(), 400, "{query}");
        let details = answer.json()["error"]["details"].to_string();
        assert!(details.contains(name), "{query}: {details}");
    }
    let cursor = app.get("/api/search?q=a&cursor=b5ad2bb6.50.0.CDIQAA").await;
    assert_eq!(cursor.json()["error"]["reason"], "invalid_cursor");
}

#[tokio::test(start_paused = true)]
async fn details_and_chapters_are_included_on_request_only() {
    let app = TestApp::new();
    let plain = app.get("/api/video/chapPlain__").await.json();
    assert!(plain.get("details").is_none() && plain.get("chapters").is_none());
    let whole = app.get("/api/video/chapPlain__?include=details,chapters").await;
    assert_eq!(whole.header("x-quota-cost"), Some("0"), "from the same record");
    let mut whole = whole.json();
    assert_eq!(whole["chapters"][0]["start"], 0);
    let members = whole.as_object_mut().unwrap();
    assert!(members.remove("details").unwrap().is_object() && members.remove("chapters").is_some());
    assert_eq!(whole, plain);
    for path in [
        "/api/videos?ids=chapPlain__&include=details",
        "/api/playlist/PLquirkDetails?include=details",
        "/api/playlist/PLquirkDetails/videos?include=details",
        "/api/channel/@fermata/uploads?include=details&limit=2",
        "/api/search?q=session&include=details&limit=2",
        "/api/playlist/PLquirkDetails/videos?fields=details.live",
    ] {
        let answer = app.get(path).await.json();
        let list = [&answer, &answer["items"], &answer["videos"]].into_iter();
        let list = list.filter_map(Value::as_array).next().unwrap_or_else(|| panic!("{path}"));
        assert!(list.iter().all(|video| video["details"]["live"].is_string()), "{path}");
    }
    let query = app.post("/api/playlist/PLquirkDetails/query?include=details", "{}").await.json();
    assert!(query["videos"][0]["details"].is_object());
    // Without a request there are no columns for them.
    let header = |response: &TestResponse| rows(response)[0].join(",");
    let plain = get(&app, "/api/videos?ids=chapPlain__", "text/csv").await;
    assert!(!header(&plain).contains("details") && !header(&plain).contains("chapters"));
    let whole = get(&app, "/api/videos?ids=chapPlain__&include=details", "text/csv").await;
    assert!(header(&whole).contains("details.category.title"));
}
