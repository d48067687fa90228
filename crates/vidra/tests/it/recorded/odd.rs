//! Malformed answers that were never recorded: one odd member must not discard the whole answer, and
//! an answer without a list must not count as an empty list.

use futures_util::StreamExt;
use serde_json::{Value, json};
use vidra::{
    BatchQuery, CategoryQuery, Channel, ChannelRef, CommentId, CommentQuery, CommentThread,
    ErrorKind, HiddenCount, PlaylistId, Video, VideoId,
};

use super::Recorded;
use crate::sim::total;

const ID: &str = "dQw4w9WgXcQ";

async fn video(item: Value) -> Video {
    let client =
        Recorded::default().page("videos", json!({ "items": [item] }).to_string()).client();
    client.video(VideoId::parse(ID).unwrap()).await.unwrap()
}

async fn channel(item: Value) -> Channel {
    let client =
        Recorded::default().page("channels", json!({ "items": [item] }).to_string()).client();
    client.channel(&ChannelRef::parse("@somebody").unwrap()).await.unwrap()
}

async fn threads(items: Value) -> Vec<CommentThread> {
    let body = json!({ "items": items }).to_string();
    let client = Recorded::default().page("commentThreads", body).client();
    client.comments(VideoId::parse(ID).unwrap(), &CommentQuery::default()).await.unwrap()
}

/// JSON values that a member should not have.
fn odd_values() -> [Value; 9] {
    [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("text"),
        json!([]),
        json!([[{"id": 1}], null]),
        json!({"unknown": {"deep": [1, 2, 3]}}),
    ]
}

#[tokio::test]
async fn an_odd_member_does_not_discard_a_video() {
    let whole = json!({
        "id": ID,
        "snippet": {
            "publishedAt": "2009-10-25T06:57:33Z", "channelId": "UC", "channelTitle": "c", "title": "t",
            "description": "d", "thumbnails": {"high": {"url": "https://i.example/h.jpg", "width": 1, "height": 2}},
        },
        "contentDetails": {"duration": "PT3M34S"},
        "statistics": {"viewCount": "1", "likeCount": "2", "commentCount": "3"},
    });
    let pointers = [
        "/snippet",
        "/snippet/publishedAt",
        "/snippet/channelId",
        "/snippet/channelTitle",
        "/snippet/title",
        "/snippet/description",
        "/snippet/thumbnails",
        "/snippet/thumbnails/high",
        "/snippet/thumbnails/high/url",
        "/snippet/thumbnails/high/width",
        "/contentDetails",
        "/contentDetails/duration",
        "/statistics",
        "/statistics/viewCount",
        "/statistics/likeCount",
        "/statistics/commentCount",
    ];
    for pointer in pointers {
        for odd_value in odd_values() {
            let mut item = whole.clone();
            *item.pointer_mut(pointer).unwrap() = odd_value.clone();
            let video = video(item).await;
            // The other members are read as usual.
            if pointer.starts_with("/snippet") {
                assert_eq!((video.views, video.duration), (1, 214), "{pointer} {odd_value}");
            } else {
                assert_eq!((video.title.as_str(), video.channel.as_str()), ("t", "c"), "{pointer}");
            }
        }
    }
}

#[tokio::test]
async fn counts_in_every_form() {
    let table = [
        (json!("1763613349"), Some(1_763_613_349)),
        (json!(1_763_613_349), Some(1_763_613_349)),
        (json!("9007199254740993"), Some(9_007_199_254_740_993)),
        (json!(9_007_199_254_740_993_u64), Some(9_007_199_254_740_993)),
        (json!("18446744073709551615"), Some(u64::MAX)),
        (json!(u64::MAX), Some(u64::MAX)),
        (json!(1.0e3), Some(1_000)),
        (json!(" 12 "), Some(12)),
        (json!("007"), Some(7)),
        (json!(0), Some(0)),
        (json!(-1), None),
        (json!("-1"), None),
        (json!(-0.5), None),
        (json!(""), None),
        (json!("1,000"), None),
        (json!("many"), None),
        (json!(false), None),
        (json!(null), None),
        (json!(["1"]), None),
        (json!({"value": 1}), None),
    ];
    for (written, expected) in table {
        let statistics = json!({"viewCount": written, "likeCount": 1, "commentCount": "1"});
        let video = video(json!({"id": ID, "statistics": statistics})).await;
        assert_eq!(video.views, expected.unwrap_or(0), "{written}");
        assert_eq!(video.hidden.contains(&HiddenCount::Views), expected.is_none(), "{written}");
        assert_eq!((video.likes, video.comments), (1, 1), "{written}");
    }
}

#[tokio::test]
async fn texts_that_are_numbers_and_thumbnails_without_a_url() {
    let video = video(json!({"id": ID, "snippet": {
        "title": 1984, "description": false, "publishedAt": 1256453853,
        "thumbnails": {
            "default": {"url": "https://i.example/d.jpg", "width": "120", "height": null},
            "medium": {"url": null, "width": 320}, "high": {"url": "", "width": 480},
            "standard": "https://i.example/s.jpg", "maxres": null, "huge": {"url": 1},
        },
    }}))
    .await;
    assert_eq!((video.title.as_str(), video.description.as_str()), ("1984", ""));
    assert_eq!((video.published.as_str(), video.published_at.to_string().as_str()), ("", ""));
    let expected =
        json!({"default": {"url": "https://i.example/d.jpg", "width": 120, "height": 0}});
    assert_eq!(serde_json::to_value(&video.thumbnails).unwrap(), expected);
    assert_eq!(video.thumbnails.best_url(), "https://i.example/d.jpg");
}

#[tokio::test]
async fn items_that_are_no_objects_are_skipped() {
    let items =
        json!([null, 1, "x", [], {"id": 7}, {"id": {"videoId": ID}}, {"snippet": {}}, {"id": ID}]);
    let client = Recorded::default().page("videos", json!({ "items": items }).to_string()).client();
    let found = client.videos(&[VideoId::parse(ID).unwrap()]).await.unwrap();
    assert_eq!(found.iter().map(|video| video.id.as_str()).collect::<Vec<_>>(), [ID]);
}

#[tokio::test]
async fn no_items_mean_not_found_and_no_list_is_an_upstream_error() {
    let table = [
        (r#"{"items":[]}"#, ErrorKind::NotFound),
        (r#"{"items":null}"#, ErrorKind::NotFound),
        (r#"{"items":[null]}"#, ErrorKind::NotFound),
        (r#"{"kind":"youtube#videoListResponse"}"#, ErrorKind::NotFound),
        (r#"{"items":[],"error":null}"#, ErrorKind::NotFound),
        (r#"{"error":{"code":500}}"#, ErrorKind::Upstream),
        (r#"{"error":"backend"}"#, ErrorKind::Upstream),
        (r#"{"items":"none"}"#, ErrorKind::Upstream),
        (r#"{"items":{}}"#, ErrorKind::Upstream),
        ("[]", ErrorKind::Upstream),
        ("null", ErrorKind::Upstream),
        ("\"ok\"", ErrorKind::Upstream),
        ("", ErrorKind::Upstream),
        (r#"{"items":["#, ErrorKind::Upstream),
        ("<html>Sign in</html>", ErrorKind::Upstream),
    ];
    for (body, kind) in table {
        let client = Recorded::default().page("videos", body).client();
        let error = client.video(VideoId::parse(ID).unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{body}: {error:?}");
        assert!(!error.message().contains('<'));
    }
}

#[tokio::test]
async fn another_video_than_requested_is_an_error() {
    let client = Recorded::default().page("videos", r#"{"items":[{"id":"another-one"}]}"#).client();
    let error = client.video(VideoId::parse(ID).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
}

#[tokio::test]
async fn channels_with_odd_names_flags_and_counts() {
    let username = async |snippet: Value| channel(json!({ "snippet": snippet })).await.username;
    assert_eq!(
        username(json!({"title": "Straßen Bahn\u{a0}TV", "customUrl": ""})).await,
        "@straßenbahntv"
    );
    assert_eq!(username(json!({"title": "x", "customUrl": "@@twice"})).await, "@twice");
    assert_eq!(username(json!({"title": "ÉCOLE", "customUrl": null})).await, "@école");
    assert_eq!(username(json!({"title": null, "customUrl": "plain"})).await, "@plain");

    let hidden = [
        (json!({"subscriberCount": "0", "hiddenSubscriberCount": true}), true),
        (json!({"subscriberCount": "5", "hiddenSubscriberCount": "true"}), true),
        (json!({"hiddenSubscriberCount": false}), true),
        (json!({"subscriberCount": 5, "hiddenSubscriberCount": "false"}), false),
        (json!({"subscriberCount": "5", "hiddenSubscriberCount": null}), false),
        (json!({"subscriberCount": "5", "hiddenSubscriberCount": [1]}), false),
    ];
    for (statistics, is_hidden) in hidden {
        let channel = channel(json!({ "statistics": statistics })).await;
        assert_eq!(channel.hidden.contains(&HiddenCount::Subscribers), is_hidden, "{statistics}");
        assert_eq!(channel.subscribers, if is_hidden { 0 } else { 5 }, "{statistics}");
    }

    let bare = channel(
        json!({"id": 5, "snippet": {"country": ""}, "contentDetails": {"relatedPlaylists": []}}),
    )
    .await;
    assert_eq!((bare.id.as_str(), bare.country, bare.uploads_playlist_id), ("5", None, None));
}

#[tokio::test]
async fn comments_with_odd_members() {
    let threads = threads(json!([
        null,
        {"id": "a", "snippet": null, "replies": null},
        {"id": "b", "snippet": {"totalReplyCount": "4", "canReply": "true", "isPublic": 1, "topLevelComment": []},
         "replies": {"comments": [null, {"id": "b.1", "snippet": {"parentId": "", "likeCount": "9"}}, 3]}},
        {"id": "c", "snippet": {"topLevelComment": {"snippet": {
            "authorChannelId": null, "textOriginal": "", "textDisplay": "a &lt;3 <br>b", "publishedAt": "soon"}}},
         "replies": {"comments": {}}},
        {"id": "d", "snippet": {"topLevelComment": {"snippet": {
            "authorChannelId": "UCx", "textOriginal": 42, "textDisplay": "<b>42</b>", "updatedAt": null}}}},
        {"id": "e", "snippet": {"topLevelComment": {"snippet": {"textOriginal": "1 < 2 &amp; <b>"}}}},
    ]))
    .await;
    let texts: Vec<&str> =
        threads.iter().map(|thread| thread.top_level_comment.text.as_str()).collect();
    assert_eq!(texts, ["", "", "a <3 \nb", "42", "1 < 2 &amp; <b>"]);
    assert_eq!(
        (threads[1].total_reply_count, threads[1].can_reply, threads[1].is_public),
        (4, true, false)
    );
    assert_eq!(threads[1].replies.len(), 1);
    assert_eq!(
        (threads[1].replies[0].parent_id.as_deref(), threads[1].replies[0].like_count),
        (None, 9)
    );
    assert!(threads.iter().all(|thread| thread.top_level_comment.author_channel_id.is_none()));
    assert_eq!(threads[2].top_level_comment.published_at.to_string(), "");
}

#[tokio::test]
async fn tokens_that_are_empty_repeated_or_odd_end_the_walk() {
    let ids = |items: &[&str]| -> Vec<Value> {
        items.iter().map(|id| json!({"contentDetails": {"videoId": id}})).collect()
    };
    for token in [json!(null), json!(""), json!(true), json!([]), json!({})] {
        let page = json!({"items": ids(&["dQw4w9WgXcQ"]), "nextPageToken": token}).to_string();
        let recorded = Recorded::default().page("playlistItems", page);
        let found =
            recorded.client().playlist_ids(&PlaylistId::parse("PLx").unwrap()).await.unwrap();
        assert_eq!((found.count, recorded.requested().len()), (1, 1), "{token}");
    }
    // The second page names itself as the next.
    let page = |id: &str| json!({"items": ids(&[id]), "nextPageToken": "A=&b"}).to_string();
    let recorded = Recorded::default()
        .page("playlistItems", page("dQw4w9WgXcQ"))
        .page("playlistItems", page("9bZkp7q19f0"));
    let found = recorded.client().playlist_ids(&PlaylistId::parse("PLx").unwrap()).await.unwrap();
    assert_eq!((found.count, recorded.requested().len()), (2, 2));
}

#[tokio::test]
async fn playlist_entries_are_found_in_either_part() {
    let items = json!({"items": [
        {"contentDetails": {"videoId": "dQw4w9WgXcQ"}, "snippet": {"resourceId": {"videoId": "9bZkp7q19f0"}}},
        {"contentDetails": {"videoId": ""}, "snippet": {"resourceId": {"videoId": "9bZkp7q19f0"}}},
        {"contentDetails": null, "snippet": {"resourceId": {"videoId": "kJQP7kiw5Fk"}}},
        {"contentDetails": {"videoId": 12345678901_u64}},
        {"contentDetails": {"videoId": "not an id"}},
        {"id": "only-this"},
    ]});
    let client = Recorded::default().page("playlistItems", items.to_string()).client();
    let found = client.playlist_ids(&PlaylistId::parse("PLx").unwrap()).await.unwrap();
    let found: Vec<&str> = found.video_ids.iter().map(|id| id.as_str()).collect();
    assert_eq!(found, ["dQw4w9WgXcQ", "9bZkp7q19f0", "kJQP7kiw5Fk", "12345678901"]);
}

#[tokio::test]
async fn heads_categories_and_replies_with_odd_members() {
    let body = json!({"items": [3, {"id": 10, "snippet": {"title": "Music", "assignable": "true"}}, {"id": "x"}]});
    let client = Recorded::default()
        .page("videoCategories", body.to_string())
        .page("playlists", r#"{"items":[{"id":"PLx","snippet":[]}]}"#)
        .page(
            "comments",
            r#"{"items":[{"id":"a.b","snippet":{"parentId":"a","likeCount":-3}},[]]}"#,
        )
        .client();
    let found =
        client.video_categories(&CategoryQuery::Ids(vec!["10".to_owned()]), None).await.unwrap();
    assert_eq!(
        (found[0].id.as_str(), found[0].title.as_str(), found[0].assignable),
        ("10", "Music", true)
    );
    assert_eq!(
        (found[1].id.as_str(), found[1].title.as_str(), found[1].assignable),
        ("x", "", false)
    );
    let head = client.playlist_info(&PlaylistId::parse("PLx").unwrap()).await.unwrap();
    assert_eq!((head.title.as_str(), head.id.as_str()), ("", "PLx"));
    let replies = client.comment_replies(&CommentId::parse("a1").unwrap()).await.unwrap();
    assert_eq!(
        (replies.len(), replies[0].like_count, replies[0].parent_id.as_deref()),
        (1, 0, Some("a"))
    );
}

#[tokio::test]
async fn l2_a_batch_has_a_total_only_if_youtube_sends_one_or_the_list_has_one_page() {
    let entry = json!({"contentDetails": {"videoId": "dQw4w9WgXcQ"}});
    let pages = [
        (json!({"items": [entry], "nextPageToken": "more"}), None),
        (
            json!({"items": [entry], "nextPageToken": "more", "pageInfo": {"totalResults": 70}}),
            Some(70),
        ),
        (json!({"items": [entry]}), Some(1)),
    ];
    for (page, expected) in pages {
        let client = Recorded::default().page("playlistItems", page.to_string()).client();
        let query = BatchQuery::default().with_to(1);
        let events = client.playlist_transcripts(&PlaylistId::parse("PLx").unwrap(), &query);
        let first = std::pin::pin!(events).next().await.unwrap().unwrap();
        assert_eq!(total(&first), expected, "{page}");
    }
}
