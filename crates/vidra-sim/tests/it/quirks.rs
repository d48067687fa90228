//! The documented ids behave as their rows describe.

use crate::fetch::{Answer, bytes, fetch, pages};
use serde_json::Value;
use vidra_sim::Simulator;

async fn video(id: &str) -> Value {
    let call = format!(
        "videos?part=snippet,statistics,contentDetails,status,liveStreamingDetails,recordingDetails&id={id}"
    );
    let answer = fetch(&Simulator::new(), &call).await;
    assert_eq!(answer.items().len(), 1, "{id}");
    answer.items()[0].clone()
}

fn names(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .map(|members| members.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

#[tokio::test]
async fn documented_counts_are_missing() {
    let cases: [(&str, &[&str]); 6] = [
        ("quirkNoLike", &["commentCount", "favoriteCount", "viewCount"]),
        ("quirkNoComm", &["favoriteCount", "likeCount", "viewCount"]),
        ("quirkNoView", &["favoriteCount", "likeCount"]),
        ("quirkFavOnl", &["favoriteCount"]),
        (
            "quirkOldEra",
            &["commentCount", "dislikeCount", "favoriteCount", "likeCount", "viewCount"],
        ),
        ("quirkThumb3", &["commentCount", "favoriteCount", "likeCount", "viewCount"]),
    ];
    for (id, expected) in cases {
        let mut found = video(id).await["statistics"].clone();
        let mut found: Vec<_> = names(&found.take()).into_iter().map(str::to_owned).collect();
        found.sort();
        assert_eq!(found, expected, "{id}");
    }
}

#[tokio::test]
async fn durations_and_times_have_their_documented_forms() {
    let durations = [
        ("quirkDurSec", "PT12S"),
        ("quirkDurMin", "PT34M"),
        ("quirkDurHrs", "PT1H1M17S"),
        ("quirkDurDay", "P1DT2H3M4S"),
        ("quirkDurOne", "P1D"),
        ("quirkDurWek", "P1W"),
        ("quirkDurNul", "PT0S"),
        ("quirkUpcomg", "P0D"),
        ("quirkProcss", "P0D"),
        ("quirkLiveOn", "P0D"),
    ];
    for (id, duration) in durations {
        assert_eq!(video(id).await["contentDetails"]["duration"], duration, "{id}");
    }
    for (id, digits) in [("quirkFrac3x", 3), ("quirkFrac4x", 4), ("quirkFrac6x", 6)] {
        let item = video(id).await;
        let at = item["snippet"]["publishedAt"].as_str().expect("a time");
        assert_eq!(at.split('.').nth(1).map(|f| f.len() - 1), Some(digits), "{at}");
    }
}

#[tokio::test]
async fn members_are_absent_where_documented() {
    let bare = video("quirkBareId").await;
    assert_eq!(names(&bare).len(), 3, "{bare}");
    let plain = video("quirkNoTags").await;
    assert!(
        ["tags", "defaultLanguage", "defaultAudioLanguage"]
            .iter()
            .all(|name| plain["snippet"].get(name).is_none())
    );
    assert_eq!(plain["snippet"]["description"], "");
    let rating = video("quirkRating").await;
    assert!(
        rating["contentDetails"].get("contentRating").is_none()
            && rating["recordingDetails"] == serde_json::json!({})
    );
    assert_eq!(names(&video("quirkThumb3").await["snippet"]["thumbnails"]).len(), 3);
    assert_eq!(names(&video("quirkThumb4").await["snippet"]["thumbnails"]).len(), 4);
    assert!(
        video("quirkBlockd").await["contentDetails"]["regionRestriction"]["blocked"].is_array()
    );
    assert!(
        video("quirkAllowd").await["contentDetails"]["regionRestriction"]["allowed"].is_array()
    );
    assert_eq!(names(&video("quirkSchedl").await["liveStreamingDetails"]), ["scheduledStartTime"]);
    let live = video("quirkUpcomg").await;
    assert_eq!(
        (
            &live["snippet"]["liveBroadcastContent"],
            &live["statistics"]["viewCount"],
            &live["status"]["uploadStatus"]
        ),
        (&"upcoming".into(), &"0".into(), &"uploaded".into())
    );
    assert!(
        live["snippet"]["thumbnails"]["default"]["url"]
            .as_str()
            .is_some_and(|url| url.ends_with("_live.jpg"))
    );
    let text = video("quirkScript").await["snippet"]["description"].to_string();
    assert!(text.contains("\\r\\n"), "{text}");
}

#[tokio::test]
async fn only_requested_parts_are_returned() {
    let answer = fetch(&Simulator::new(), "videos?part=id,statistics&id=quirkThumb3").await;
    let mut found = names(&answer.items()[0]);
    found.sort_unstable();
    assert_eq!(found, ["etag", "id", "kind", "statistics"]);
}

#[tokio::test]
async fn missing_ids_are_dropped_and_order_is_not_preserved() {
    let platform = Simulator::new();
    let list =
        fetch(&platform, "playlistItems?part=contentDetails&maxResults=50&playlistId=PLsize50")
            .await;
    let mut ids = list.each("/contentDetails/videoId");
    ids[7] = "quirkAbsent".to_owned();
    ids[8] = "quirkPrivat".to_owned();
    ids[9] = ids[10].clone();
    let answer = fetch(&platform, &format!("videos?part=id&id={}", ids.join(","))).await;
    assert_eq!(answer.body["pageInfo"]["totalResults"], 47);
    let mut found = answer.each("/id");
    assert_eq!(found.len(), 47);
    assert!(!ids.starts_with(&found[..2]));
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 47);
}

#[tokio::test]
async fn legacy_and_compact_styles_are_rendered() {
    let platform = Simulator::new();
    let (_, text) = bytes(&platform, "videos?part=snippet,player&id=quirkOldEra").await;
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    assert!(
        text.starts_with("{\n \"kind\"")
            && text.contains("\\u003ciframe")
            && text.contains("\"etag\": \"\\\""),
        "{text}"
    );
    let (_, compact) =
        bytes(&platform, "videos?part=snippet&prettyPrint=false&id=quirkNoLike").await;
    assert!(!compact.contains(&b'\n'));
}

#[tokio::test]
async fn channel_quirks_match_their_rows() {
    let platform = Simulator::new();
    let channel = async |id: &str| {
        fetch(
            &platform,
            &format!("channels?part=snippet,statistics,contentDetails,topicDetails&id={id}"),
        )
        .await
    };
    let hidden = channel("UCquirkHiddenSubs0000000").await.items()[0]["statistics"].clone();
    assert!(hidden["hiddenSubscriberCount"] == true && hidden.get("subscriberCount").is_none());
    assert_eq!(
        channel("UCquirkHiddenZero0000000").await.items()[0]["statistics"]["subscriberCount"],
        "0"
    );
    for (id, member) in [
        ("UCquirkNoCountry00000000", "country"),
        ("UCquirkNoCustomUrl000000", "customUrl"),
        ("UCquirkNoPublishedAt0000", "publishedAt"),
    ] {
        assert!(channel(id).await.items()[0]["snippet"].get(member).is_none(), "{id}");
    }
    assert_eq!(
        channel("UCquirkUrlWithoutAt00000").await.each("/snippet/customUrl"),
        ["urlwithoutat"]
    );
    let old = channel("UCquirkOldEra00000000000").await.items()[0].clone();
    assert_eq!(
        (
            &old["contentDetails"]["relatedPlaylists"]["watchLater"],
            &old["statistics"]["commentCount"]
        ),
        (&"WL".into(), &"0".into())
    );
    let empty = channel("UCquirkItemsEmpty0000000").await;
    assert!(empty.body["items"].is_array() && empty.body["pageInfo"]["resultsPerPage"] == 0);
    assert!(channel("UCquirkItemsAbsent000000").await.body.get("items").is_none());
    assert!(
        fetch(&platform, "channels?part=id&forUsername=nobody").await.body.get("items").is_none()
    );
}

#[tokio::test]
async fn channels_are_found_by_handle_name_and_search() {
    let platform = Simulator::new();
    let found = async |call: &str| fetch(&platform, call).await.each("/snippet/title");
    for handle in ["fermata", "@fermata", "%40FerMata"] {
        assert_eq!(
            found(&format!("channels?part=snippet&forHandle={handle}")).await,
            ["Fermata Sessions"]
        );
    }
    assert_eq!(
        found("channels?part=snippet&forHandle=@m%C3%BCslik%C3%BCche").await,
        ["Müsliküche"]
    );
    assert_eq!(
        found("channels?part=snippet&forUsername=NightTrainDiaries").await,
        ["Night Train Diaries"]
    );
    assert!(found("channels?part=snippet&forHandle=lanternbaytapes").await.is_empty());
    assert_eq!(
        found("search?part=snippet&type=channel&q=lanternbaytapes").await,
        ["Lantern Bay Tapes"]
    );
}

async fn entries(id: &str) -> Vec<Value> {
    let call =
        format!("playlistItems?part=snippet,contentDetails,status&maxResults=50&playlistId={id}");
    pages(&Simulator::new(), &call).await.iter().flat_map(|page| page.items().to_vec()).collect()
}

#[tokio::test]
async fn unavailable_entries_keep_their_position() {
    let platform = Simulator::new();
    for (n, item) in entries("PLquirkUnavailable").await.iter().enumerate() {
        assert_eq!(item["snippet"]["position"], n);
        let title = item["snippet"]["title"].as_str().expect("a title");
        let id = item["contentDetails"]["videoId"].as_str().expect("an id");
        let gone = title == "Private video" || title == "Deleted video";
        assert_eq!(gone, n % 5 == 4 || n % 7 == 6);
        assert_eq!(gone, item["snippet"]["thumbnails"] == serde_json::json!({}));
        assert_eq!(gone, item["snippet"].get("videoOwnerChannelId").is_none());
        assert_eq!(gone, item["contentDetails"].get("videoPublishedAt").is_none());
        assert_eq!(
            gone,
            fetch(&platform, &format!("videos?part=id&id={id}")).await.items().is_empty()
        );
    }
    assert!(
        entries("PLquirkAllGone")
            .await
            .iter()
            .all(|item| item["snippet"]["thumbnails"] == serde_json::json!({}))
    );
}

#[tokio::test]
async fn playlist_entry_quirks_match_their_rows() {
    let mut ids: Vec<_> = entries("PLquirkDuplicates")
        .await
        .iter()
        .map(|item| item["contentDetails"]["videoId"].to_string())
        .collect();
    assert_eq!(ids.len(), 60);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert!(
        entries("PLquirkOtherOwner")
            .await
            .iter()
            .all(|item| item["snippet"]["channelId"] != item["snippet"]["videoOwnerChannelId"])
    );
    assert!(entries("PLquirkBareItems").await.iter().all(|item| names(item).len() == 3));
    assert!(
        entries("PLquirkNoVideoDate")
            .await
            .iter()
            .all(|item| item["contentDetails"].get("videoPublishedAt").is_none())
    );
    let vanished: Vec<_> = entries("PLquirkVanished")
        .await
        .iter()
        .map(|item| item["contentDetails"]["videoId"].as_str().unwrap_or_default().to_owned())
        .collect();
    let known =
        fetch(&Simulator::new(), &format!("videos?part=id&id={}", vanished.join(","))).await;
    assert_eq!((vanished.len(), known.items().len()), (10, 5));
}

#[tokio::test]
async fn playlist_quirks_match_their_rows() {
    let platform = Simulator::new();
    let list = async |id: &str| -> Answer {
        fetch(&platform, &format!("playlists?part=snippet,status,contentDetails&id={id}")).await
    };
    for id in ["PLquirkTwoThumbnails", "OLAK5uy_quirkAlbum00000000000000000000000"] {
        let found = list(id).await;
        assert!(found.items()[0]["snippet"]["thumbnails"].get("default").is_none(), "{id}");
    }
    assert!(list("PLquirkTags").await.items()[0]["snippet"]["tags"].is_array());
    assert_eq!(list("PLquirkUnlisted").await.each("/status/privacyStatus"), ["unlisted"]);
    for id in ["PLquirkPrivate", "PLquirkUnknown"] {
        let found = list(id).await;
        assert_eq!(
            (found.status, found.body["items"].as_array().map(Vec::len)),
            (200, Some(0)),
            "{id}"
        );
    }
}

#[tokio::test]
async fn comments_are_html_unless_plain_text_is_requested() {
    let platform = Simulator::new();
    let call = "commentThreads?part=snippet&maxResults=100&videoId=quirkHtmlCm";
    let text = |answer: &Answer, member: &str| {
        answer.each(&format!("/snippet/topLevelComment/snippet/{member}"))
    };
    let html = fetch(&platform, call).await;
    let display = text(&html, "textDisplay").join("\n");
    for mark in ["<br>", "<a href=", "&amp;t=", "&#39;", "&quot;", "&lt;"] {
        assert!(display.contains(mark), "{mark} in {display}");
    }
    let plain = fetch(&platform, &format!("{call}&textFormat=plainText")).await;
    assert_eq!(text(&plain, "textDisplay"), text(&html, "textOriginal"));
    assert!(html.each("/id").iter().any(|id| id.ends_with("gCoAEC")));
    let found = fetch(&platform, &format!("{call}&searchTerms=montevideo")).await;
    assert_eq!(found.items().len(), 1);
}

#[tokio::test]
async fn comment_quirks_match_their_rows() {
    let platform = Simulator::new();
    let many = fetch(&platform, "commentThreads?part=snippet,replies&videoId=quirkManyRp")
        .await
        .items()[0]
        .clone();
    assert_eq!(
        (&many["snippet"]["totalReplyCount"], many["replies"]["comments"].as_array().map(Vec::len)),
        (&250.into(), Some(5))
    );
    let without = fetch(&platform, "commentThreads?part=snippet&videoId=quirkManyRp").await;
    assert!(without.items()[0].get("replies").is_none());

    for method in ["comments", "commentThreads"] {
        let answer = fetch(
            &platform,
            &format!("{method}?part=snippet&id=z13quirkoldname00000000000000000004"),
        )
        .await;
        assert_eq!(answer.each("/id"), ["UgquirkNewName000004AaABAg"]);
    }
    let anonymous = fetch(&platform, "commentThreads?part=snippet&videoId=quirkAnonCm").await;
    assert!(
        anonymous
            .items()
            .iter()
            .all(|item| item.pointer("/snippet/topLevelComment/snippet/authorChannelId").is_none())
    );
    let channel = fetch(&platform, "commentThreads?part=snippet&id=UgquirkAboutChannel4AaABAg")
        .await
        .items()[0]["snippet"]
        .clone();
    assert!(channel.get("videoId").is_none() && channel.get("channelId").is_some());
    let nowhere = fetch(&platform, "commentThreads?part=snippet&id=UgquirkNowhere000004AaABAg")
        .await
        .items()[0]["snippet"]
        .clone();
    assert!(nowhere.get("videoId").is_none() && nowhere.get("channelId").is_none());

    let reply = many["replies"]["comments"][0]["id"].as_str().expect("a reply");
    let found = fetch(&platform, &format!("comments?part=snippet&id={reply}")).await;
    assert_eq!(found.each("/id"), [reply]);
    assert!(
        found.body.get("pageInfo").is_none()
            && found.items()[0]["snippet"].get("videoId").is_none()
    );
}
