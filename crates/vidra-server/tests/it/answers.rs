//! Responses of each endpoint: fields, their order, formats, missing values, cost.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;
use vidra_sim::Endpoint;

use crate::app::TestApp;

const VIDEO: &[&str] = &[
    "id",
    "title",
    "description",
    "channel",
    "channelId",
    "views",
    "viewsFmt",
    "likes",
    "likesFmt",
    "comments",
    "commentsFmt",
    "duration",
    "durationFmt",
    "published",
    "publishedAt",
    "thumbnails",
];
const PLAYLIST: &[&str] = &[
    "id",
    "title",
    "description",
    "thumbnails",
    "videoCount",
    "totalDuration",
    "totalDurationFmt",
    "videos",
];
const PLAYLIST_VIDEO: &[&str] = &[
    "id",
    "title",
    "description",
    "channelTitle",
    "publishedAt",
    "duration",
    "durationFmt",
    "views",
    "viewsFmt",
    "likes",
    "likesFmt",
    "thumbnails",
];
const CHANNEL: &[&str] = &[
    "id",
    "name",
    "username",
    "subscribers",
    "subscribersFmt",
    "totalViews",
    "totalViewsFmt",
    "videoCount",
    "country",
    "thumbnails",
    "uploadsPlaylistId",
];
const CHANNEL_VIDEO: &[&str] = &[
    "id",
    "title",
    "views",
    "viewsFmt",
    "likes",
    "likesFmt",
    "duration",
    "durationFmt",
    "thumbnail",
    "uploadAge",
    "publishedAt",
];
const THREAD: &[&str] =
    &["id", "videoId", "channelId", "topLevelComment", "totalReplyCount", "canReply", "isPublic"];
const COMMENT: &[&str] = &[
    "id",
    "authorName",
    "authorProfileImage",
    "authorChannelUrl",
    "authorChannelId",
    "text",
    "likeCount",
    "publishedAt",
    "updatedAt",
];

fn with(fields: &[&str], more: &[&str]) -> Vec<String> {
    fields.iter().chain(more).map(|name| (*name).to_owned()).collect()
}

/// The id of a video without hidden statistics.
async fn ordinary_video(app: &TestApp) -> String {
    let got = app.get("/api/channel/@fermata/videos?limit=1").await;
    app.sim.reset_record();
    got.json()[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_video_has_its_fields_and_cost() {
    let app = TestApp::uncached();
    let id = ordinary_video(&app).await;
    let got = app.get(&format!("/api/video/{id}")).await;
    assert_eq!(got.fields(""), with(VIDEO, &[]));
    assert_eq!(got.fields("thumbnails/default"), ["url", "width", "height"]);
    assert_eq!(got.cost(), 1);
    let title = app.get(&format!("/api/video/{id}/title")).await;
    assert_eq!((title.fields(""), title.cost()), (with(&["id", "title"], &[]), 1));
    let hidden = app.get("/api/video/quirkNoLike").await;
    assert_eq!(hidden.fields(""), with(VIDEO, &["hidden"]));
    assert_eq!(hidden.json()["hidden"], json!(["likes"]));
    assert!(!got.text.contains("null") && !hidden.text.contains("null"));
}

#[tokio::test]
async fn every_spelling_of_a_video_gives_the_same_answer() {
    let app = TestApp::new();
    let plain = app.get("/api/video/quirkThumb3").await.text;
    let forms = [
        "https%3A%2F%2Fyoutu.be%2FquirkThumb3",
        "https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3DquirkThumb3%26list%3DPL12",
        "https://www.youtube.com/watch?v=quirkThumb3",
        "https://www.youtube.com/watch?list=PL12&v=quirkThumb3&t=5s",
        "http://m.youtube.com/shorts/quirkThumb3?feature=share",
        "https:/youtu.be/quirkThumb3",
        "youtu.be/quirkThumb3",
        "www.youtube.com/embed/quirkThumb3",
        "%20quirkThumb3%20",
    ];
    for form in forms {
        let got = app.get(&format!("/api/video/{form}")).await;
        assert_eq!((got.status.as_u16(), &got.text), (200, &plain), "{form}");
    }
    let title = app.get("/api/video/https%3A%2F%2Fyoutu.be%2FquirkThumb3/title").await;
    assert_eq!(title.fields(""), with(&["id", "title"], &[]));
    assert_eq!(app.sim.record().calls, 1, "all spellings share one fetch");
    let comments =
        app.get("/api/comments/https://www.youtube.com/watch?v=quirkHtmlCm&maxResults=2").await;
    assert_eq!(comments.json().as_array().unwrap().len(), 2);
    let channel = app.get("/api/channel/https://www.youtube.com/@fermata/videos").await;
    assert_eq!(channel.json()["username"], "@fermata");
    let playlist = app.get("/api/playlist/https://www.youtube.com/playlist?list=PLsize1").await;
    assert_eq!(playlist.json()["videoCount"], 1);
    let info = app
        .get("/api/playlist/https%3A%2F%2Fwww.youtube.com%2Fplaylist%3Flist%3DPLsize1/info")
        .await;
    assert_eq!(info.json()["id"], "PLsize1");
    let lc = "https://www.youtube.com/watch?v=quirkManyRp&lc=UgquirkManyReplies04AaABAg";
    let replies = app.get(&format!("/api/comment-replies/{lc}")).await;
    assert_eq!(replies.json().as_array().unwrap().len(), 250);
}

#[tokio::test]
async fn several_videos_keep_request_order_and_skip_missing_ones() {
    let app = TestApp::new();
    let ids = "quirkDurDay,%20quirkAbsent%20,,https://youtu.be/quirkThumb3,quirkDurDay";
    let got = app.get(&format!("/api/videos?ids={ids}")).await;
    let got_ids: Vec<_> = got.json().as_array().unwrap().iter().map(|v| v["id"].clone()).collect();
    assert_eq!(got_ids, ["quirkDurDay", "quirkThumb3", "quirkDurDay"]);
    assert_eq!(got.cost(), 1);
    let repeated = app.get("/api/videos?ids=quirkDurDay&ids=quirkThumb3").await;
    assert_eq!(repeated.json().as_array().unwrap().len(), 2);
    let none = app.get("/api/videos?ids=quirkAbsent").await;
    assert_eq!((none.status.as_u16(), none.text.as_str()), (200, "[]"));
}

#[tokio::test]
async fn a_channel_and_its_uploads() {
    let app = TestApp::uncached();
    let got = app.get("/api/channel/@fermata").await;
    assert_eq!((got.fields(""), got.cost()), (with(CHANNEL, &[]), 1));
    let nowhere = app.get("/api/channel/UCquirkNoCountry00000000").await;
    assert!(nowhere.json().get("country").is_none());
    let hidden = app.get("/api/channel/UCquirkHiddenSubs0000000").await;
    assert_eq!(
        (hidden.json()["subscribersFmt"].as_str(), &hidden.json()["hidden"]),
        (Some("0"), &json!(["subscribers"]))
    );
    let uploads = app.get("/api/channel/@fermata/videos").await;
    assert_eq!((uploads.json().as_array().unwrap().len(), uploads.cost()), (5, 3));
    assert_eq!(uploads.fields("0"), with(CHANNEL_VIDEO, &[]));
    assert!(uploads.json()[0]["thumbnail"].as_str().unwrap().starts_with("https://"));
    let most = app.get("/api/channel/UCquirkManyUploads000000/videos?limit=50").await;
    assert_eq!((most.json().as_array().unwrap().len(), most.cost()), (50, 2));
}

#[tokio::test]
async fn playlist_details_ids_and_queries() {
    let app = TestApp::uncached();
    let got = app.get("/api/playlist/PLsize51").await;
    assert_eq!((got.fields(""), got.cost()), (with(PLAYLIST, &[]), 5));
    assert_eq!(got.fields("videos/0"), with(PLAYLIST_VIDEO, &[]));
    let gaps = app.get("/api/playlist/PLquirkUnavailable").await;
    assert_eq!(gaps.fields(""), with(PLAYLIST, &["unavailableCount"]));
    let ids = app.get("/api/playlist/PLsize51/ids").await;
    assert_eq!((ids.fields(""), ids.cost()), (with(&["id", "videoIds", "count"], &[]), 2));
    assert_eq!(ids.json()["count"], 51);

    let body =
        json!({"sort": {"field": "views", "order": "desc"}, "range": {"start": 1, "end": 3}});
    let top = app.post("/api/playlist/PLsize51/query", body).await;
    assert_eq!(top.fields(""), with(PLAYLIST, &["originalCount"]));
    assert_eq!((&top.json()["videoCount"], &top.json()["originalCount"]), (&json!(3), &json!(51)));
    let empty =
        app.send(Request::post("/api/playlist/PLsize51/query").body(Body::empty()).unwrap()).await;
    assert_eq!(empty.json()["videoCount"], 51);
}

#[tokio::test]
async fn comments_and_replies() {
    let app = TestApp::new();
    let top = app.get("/api/comments/quirkHtmlCm/top?limit=4").await;
    assert_eq!((top.json().as_array().unwrap().len(), top.cost()), (4, 1));
    let all = app.get("/api/comments/quirkManyRp?replies=all&order=relevance&maxResults=50").await;
    let threads = all.json();
    let threads = threads.as_array().unwrap();
    for thread in threads {
        let listed = thread["replies"].as_array().map_or(0, Vec::len);
        assert_eq!(thread["totalReplyCount"], listed, "all replies of {}", thread["id"]);
    }
    let answered = threads.iter().position(|thread| thread["totalReplyCount"] != 0).unwrap();
    assert_eq!(all.fields(&format!("{answered}")), with(THREAD, &["replies"]));
    assert_eq!(all.fields(&format!("{answered}/topLevelComment")), with(COMMENT, &[]));
    assert_eq!(all.fields(&format!("{answered}/replies/0")), with(COMMENT, &["parentId"]));
    let lonely = app.get("/api/comments/quirkHtmlCm/top?limit=100").await;
    let lonely = lonely.json();
    let lonely =
        lonely.as_array().unwrap().iter().find(|thread| thread["totalReplyCount"] == 0).unwrap();
    assert!(lonely.get("replies").is_none());
    let anonymous = app.get("/api/comments/quirkAnonCm").await;
    assert!(
        anonymous
            .json()
            .as_array()
            .unwrap()
            .iter()
            .any(|thread| thread["topLevelComment"]["authorChannelId"] == "")
    );
}

#[tokio::test]
async fn regions_languages_categories() {
    let app = TestApp::new();
    assert_eq!(app.get("/api/i18n/regions").await.fields("0"), ["id", "gl", "name"]);
    assert_eq!(app.get("/api/i18n/languages?hl=de").await.fields("0"), ["id", "hl", "name"]);
    app.get("/api/i18n/languages?hl=zh_CN").await;
    let record = app.sim.record();
    let sent = record.requests_to(Endpoint::I18nLanguages).last().unwrap();
    assert_eq!(sent.parameter("hl"), Some("zh-CN"), "an underscore becomes a hyphen");
    let us = app.get("/api/video-categories").await;
    assert_eq!(
        (us.fields("0"), us.cost()),
        (with(&["id", "title", "assignable", "channelId"], &[]), 1)
    );
    let two = app.get("/api/video-categories?ids=10,%2022").await;
    assert_eq!(two.json().as_array().unwrap().len(), 2);
    assert_eq!(app.get("/api/video-categories?region=de").await.status, 200);
}

#[tokio::test]
async fn links_are_parsed_without_an_upstream_call() {
    let app = TestApp::new();
    let table = [
        (
            "https://youtu.be/dQw4w9WgXcQ?t=43",
            json!({"isValid": true, "type": "video", "videoId": "dQw4w9WgXcQ"}),
        ),
        (
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PL12",
            json!({"isValid": true, "type": "video", "videoId": "dQw4w9WgXcQ", "playlistId": "PL12"}),
        ),
        (
            "youtube.com/playlist?list=PL12",
            json!({"isValid": true, "type": "playlist", "playlistId": "PL12"}),
        ),
        (
            "UC_x5XG1OV2P6uZZ5FSM9Ttw",
            json!({"isValid": true, "type": "channel", "channelId": "UC_x5XG1OV2P6uZZ5FSM9Ttw"}),
        ),
        (
            "https://www.youtube.com/@fermata",
            json!({"isValid": true, "type": "channel", "handle": "@fermata"}),
        ),
        (
            "https://example.com/watch?v=dQw4w9WgXcQ",
            json!({"isValid": false, "type": "invalid", "error": "Not a YouTube link: the host is not YouTube's"}),
        ),
    ];
    for (url, expected) in table {
        let got = app.post("/api/url/parse", json!({"url": url})).await;
        assert_eq!((got.status.as_u16(), got.json()), (200, expected), "{url}");
        assert_eq!(got.cost(), 0);
    }
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn quota_health_and_readiness() {
    let app = TestApp::new();
    app.get("/api/video/quirkNoLike").await;
    app.get("/api/video/quirkAbsent").await.problem(404);
    let got = app.get("/api/quota").await;
    assert_eq!(got.fields(""), ["resetsAt", "buckets"]);
    let expected = json!([
        {"name": "default", "limit": 10000, "used": 2, "remaining": 9998},
        {"name": "search", "limit": 100, "used": 0, "remaining": 100},
    ]);
    assert_eq!((got.json()["buckets"].clone(), got.cost()), (expected, 0));
    assert_eq!(app.get("/healthz").await.json(), json!({"status": "ok"}));
    assert_eq!(app.get("/readyz").await.json(), json!({"status": "ready"}));
    let keyless = TestApp::with(|builder| builder.key(None));
    assert_eq!(
        keyless.get("/readyz").await.json()["degraded"],
        json!(["data-api: no key is configured"])
    );
}

#[tokio::test]
async fn an_etag_changes_only_with_the_answer() {
    let app = TestApp::new();
    let first = app.get("/api/video/quirkNoLike").await;
    let etag = first.header("etag").unwrap().to_owned();
    assert_eq!(app.get("/api/video/quirkNoLike").await.header("etag"), Some(&*etag));
    assert_ne!(app.get("/api/video/quirkNoComm").await.header("etag"), Some(&*etag));
    for (known, status) in [
        (etag.clone(), 304),
        (format!("\"x\", W/{etag}"), 304),
        ("*".into(), 304),
        ("\"x\"".into(), 200),
    ] {
        let request = Request::get("/api/video/quirkNoLike").header("if-none-match", &known);
        let got = app.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!((got.status.as_u16(), got.text.is_empty()), (status, status == 304), "{known}");
        assert_eq!(got.header("etag"), Some(&*etag));
    }
    let head = app.method(Method::HEAD, "/api/video/quirkNoLike").await;
    assert_eq!(
        (head.status.as_u16(), head.text.as_str(), head.header("etag")),
        (200, "", Some(&*etag))
    );
}
