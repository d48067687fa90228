//! The details of videos, their chapters, and the playlists of a channel.

use crate::fetch::{fetch, pages};
use serde_json::{Value, json};
use vidra_sim::{Kind, QUIRKS, Simulator};

const PARTS: &str = "snippet,contentDetails,statistics,status,player,liveStreamingDetails,topicDetails,recordingDetails,paidProductPlacementDetails";

async fn video(id: &str) -> Value {
    let call = format!("videos?part={PARTS}&maxHeight=720&id={id}");
    let answer = fetch(&Simulator::new(), &call).await;
    assert_eq!(answer.items().len(), 1, "{id}: {}", answer.body);
    answer.items()[0].clone()
}

/// The videos of a channel of the cast.
async fn uploads(handle: &str) -> Vec<Value> {
    let platform = Simulator::new();
    let call = format!("channels?part=contentDetails&forHandle={handle}");
    let list = fetch(&platform, &call).await.each("/contentDetails/relatedPlaylists/uploads");
    let call = format!("playlistItems?part=contentDetails&maxResults=50&playlistId={}", list[0]);
    let ids = fetch(&platform, &call).await.each("/contentDetails/videoId");
    let call = format!("videos?part={PARTS}&maxHeight=720&id={}", ids.join(","));
    let found = fetch(&platform, &call).await.items().to_vec();
    let at = |id: &String| found.iter().find(|item| item["id"] == **id).cloned();
    ids.iter().filter_map(at).collect()
}

fn is_vertical(item: &Value) -> Option<bool> {
    let side = |name: &str| item["player"][name].as_str()?.parse::<u32>().ok();
    Some(side("embedHeight")? > side("embedWidth")?)
}

#[tokio::test]
async fn player_size_shows_the_shape_of_a_video() {
    for (id, vertical, duration) in [
        ("shortVertic", Some(true), "PT45S"),
        ("shortThreeM", Some(true), "PT2M58S"),
        ("shortTooLng", Some(true), "PT5M"),
        ("shortSquare", Some(false), "PT58S"),
        ("shortWide__", Some(false), "PT45S"),
        ("shortNoSize", None, "PT30S"),
        ("shortHashTg", None, "PT50S"),
        ("shortHashWd", Some(false), "PT50S"),
        ("shortHashLg", Some(false), "PT15M"),
    ] {
        let item = video(id).await;
        assert_eq!(is_vertical(&item), vertical, "{id}");
        assert_eq!(item["contentDetails"]["duration"], duration, "{id}");
        let title = item["snippet"]["title"].as_str().unwrap_or_default();
        assert_eq!(title.ends_with(" #shorts"), id.starts_with("shortHash"), "{title}");
    }
    let square = video("shortSquare").await["player"].clone();
    assert_eq!((&square["embedWidth"], &square["embedHeight"]), (&"720".into(), &"720".into()));
    let plain = fetch(&Simulator::new(), "videos?part=player&id=shortVertic").await;
    assert!(plain.items()[0]["player"].get("embedWidth").is_none());
    let wrong = fetch(&Simulator::new(), "videos?part=player&id=shortVertic&maxWidth=9000").await;
    assert_eq!(wrong.reason(), "invalidParameter");
}

#[tokio::test]
async fn broadcasts_match_their_rows() {
    let members = |item: &Value| -> Vec<String> {
        let details = item["liveStreamingDetails"].as_object();
        details.map(|details| details.keys().cloned().collect()).unwrap_or_default()
    };
    for (id, content, expected) in [
        ("liveWaiting", "upcoming", vec!["activeLiveChatId", "scheduledStartTime"]),
        ("livePremier", "upcoming", vec!["activeLiveChatId", "scheduledStartTime"]),
        ("liveOverdue", "upcoming", vec!["scheduledStartTime"]),
        ("liveNoViewr", "live", vec!["activeLiveChatId", "actualStartTime", "scheduledStartTime"]),
        ("liveUnpland", "live", vec!["activeLiveChatId", "actualStartTime", "concurrentViewers"]),
        ("liveEndBare", "none", vec!["actualEndTime", "actualStartTime"]),
        ("liveEndProc", "none", vec!["actualEndTime", "actualStartTime", "scheduledStartTime"]),
    ] {
        let item = video(id).await;
        assert_eq!(item["snippet"]["liveBroadcastContent"], content, "{id}");
        let mut found = members(&item);
        found.sort();
        assert_eq!(found, expected, "{id}");
        let has_length = ["livePremier", "liveEndBare"].contains(&id);
        assert_eq!(item["contentDetails"]["duration"] != "P0D", has_length, "{id}");
        assert_eq!(item["statistics"]["viewCount"] == "0", content == "upcoming", "{id}");
    }
    assert_eq!(video("liveEndProc").await["status"]["uploadStatus"], "uploaded");
}

#[tokio::test]
async fn other_details_match_their_rows() {
    assert_eq!(video("statNoEmbed").await["status"]["embeddable"], false);
    assert_eq!(video("statForKids").await["status"]["madeForKids"], true);
    assert_eq!(video("statCommons").await["status"]["license"], "creativeCommon");
    assert_eq!(video("statUnlistd").await["status"]["privacyStatus"], "unlisted");
    let stereo = video("cont3d360__").await["contentDetails"].clone();
    assert_eq!((&stereo["dimension"], &stereo["projection"]), (&"3d".into(), &"360".into()));
    let rating = video("contAgeRate").await["contentDetails"]["contentRating"].clone();
    assert_eq!(rating, json!({"ytRating": "ytAgeRestricted"}));
    let nowhere = video("contNowhere").await["contentDetails"]["regionRestriction"].clone();
    assert_eq!(nowhere, json!({"allowed": []}));
    let sparse = video("contSparse_").await;
    assert_eq!(sparse["contentDetails"].as_object().map(serde_json::Map::len), Some(1));
    assert!(sparse.get("player").is_none() && sparse["topicDetails"] == json!({}));
    let topics = video("topicsSevrl").await["topicDetails"]["topicCategories"].clone();
    assert_eq!(topics.as_array().map(Vec::len), Some(4));
    let paid = |item: Value| item["paidProductPlacementDetails"]["hasPaidProductPlacement"].clone();
    assert_eq!(paid(video("paidPromotn").await), true);
    assert_eq!(paid(video("statCommons").await), false);
    let languages = video("langDiffer_").await["snippet"].clone();
    assert_eq!(languages["defaultLanguage"], "de");
    assert_eq!(languages["defaultAudioLanguage"], "en-GB");
    let recorded = video("recordDated").await["recordingDetails"]["recordingDate"].clone();
    assert_eq!(recorded, "2024-07-03T00:00:00Z");
}

#[tokio::test]
async fn descriptions_with_times_have_nothing_else() {
    let rows: Vec<_> = QUIRKS
        .iter()
        .filter(|quirk| quirk.id.starts_with("chap") || quirk.id.starts_with("noch"))
        .collect();
    assert_eq!(rows.len(), 28);
    for quirk in rows {
        let text = video(quirk.id).await["snippet"]["description"].to_string();
        assert!(text.contains(':') && !text.contains(quirk.what), "{}", quirk.id);
    }
    let crlf = video("chapCrLf___").await["snippet"]["description"].clone();
    assert!(crlf.as_str().is_some_and(|text| text.contains("0:00 Hello\r\n2:00 The map\r\n")));
    let platform = Simulator::new();
    for (id, count) in [("PLquirkChapters", 28), ("PLquirkDetails", 29), ("PLquirkEveryVideo", 36)]
    {
        let list = fetch(&platform, &format!("playlists?part=contentDetails&id={id}")).await;
        assert_eq!(list.items()[0]["contentDetails"]["itemCount"], count, "{id}");
    }
}

#[tokio::test]
async fn ordinary_channels_have_shorts_broadcasts_and_chapters() {
    let shorts = uploads("pocketworkshop").await;
    let tagged = |item: &&Value| item["snippet"]["title"].to_string().contains("#shorts");
    assert!(shorts.iter().filter(tagged).count() * 2 > shorts.len());
    assert!(shorts.iter().filter(|item| is_vertical(item) == Some(true)).count() > 10);
    let broadcasts = uploads("harbourwebcam").await;
    let contents: Vec<_> =
        broadcasts.iter().map(|item| item["snippet"]["liveBroadcastContent"].clone()).collect();
    assert_eq!(contents[..4], ["upcoming", "upcoming", "live", "none"]);
    assert!(
        broadcasts[3..]
            .iter()
            .all(|item| item["liveStreamingDetails"]["actualEndTime"].is_string())
    );
    let chapters = uploads("tableofcontents").await;
    assert!(
        chapters.iter().any(|item| item["snippet"]["description"].to_string().contains("[0:00]"))
    );
    // The oldest channels have them as well.
    let mixed =
        [uploads("compiletime").await, uploads("twopans").await, uploads("fermata").await].concat();
    assert!(mixed.iter().any(|item| is_vertical(item) == Some(true)));
    assert!(mixed.iter().any(|item| item.get("liveStreamingDetails").is_some()));
    let paid =
        |item: &Value| item["paidProductPlacementDetails"]["hasPaidProductPlacement"] == true;
    assert!(mixed.iter().any(paid) && !mixed.iter().all(paid));
}

#[tokio::test]
async fn playlists_of_a_channel_have_odd_pages() {
    let platform = Simulator::new();
    let sizes = async |id: &str| -> Vec<usize> {
        let call = format!("playlists?part=snippet,contentDetails&maxResults=50&channelId={id}");
        pages(&platform, &call).await.iter().map(|page| page.items().len()).collect()
    };
    assert_eq!(sizes("UCquirkNoLists0000000000").await, [0]);
    assert_eq!(sizes("UCquirkManyLists00000000").await, [50, 50, 50, 50, 50, 50, 38]);
    assert_eq!(sizes("UCquirkListPages00000000").await, [45, 0, 20]);
    let call = "playlists?part=id&maxResults=50&channelId=UCquirkListLoop000000000";
    let token = fetch(&platform, call).await.body["nextPageToken"].clone();
    let token = token.as_str().expect("a second page");
    let second = fetch(&platform, &format!("{call}&pageToken={token}")).await;
    assert_eq!(second.body["nextPageToken"], token);
}

#[tokio::test]
async fn live_videos_have_no_captions() {
    use crate::keyless_client::{ANDROID, player};
    let platform = Simulator::new();
    for (id, status) in [
        ("liveWaiting", "LIVE_STREAM_OFFLINE"),
        ("livePremier", "LIVE_STREAM_OFFLINE"),
        ("liveNoViewr", "OK"),
        ("liveEndProc", "LIVE_STREAM_OFFLINE"),
    ] {
        let body = player(&platform, id, ANDROID).await;
        assert_eq!(body["playabilityStatus"]["status"], status, "{id}");
        assert!(body.get("captions").is_none(), "{id}");
    }
    let kinds = QUIRKS.iter().filter(|quirk| quirk.kind() == Kind::Search).count();
    assert_eq!(kinds, 15);
}
