//! Watch page, player and timed text of ordinary videos.

use crate::fetch;
use crate::keyless_client::{
    ALL, ANDROID, WEB, base_url, get, player, player_request, send, text, tracks, watch,
};
use vidra_sim::{Endpoint, Simulator};

/// Some ordinary videos.
async fn ordinary(simulator: &Simulator) -> Vec<String> {
    let call = "videos?part=id&chart=mostPopular&maxResults=20";
    fetch::fetch(simulator, call).await.each("/id")
}

#[tokio::test]
async fn captions_of_ordinary_videos_take_two_requests() {
    let platform = Simulator::new();
    for id in ordinary(&platform).await {
        let body = player(&platform, &id, ANDROID).await;
        assert_eq!(body["playabilityStatus"]["status"], "OK");
        assert_eq!(body["videoDetails"]["videoId"], id);
        let tracks = tracks(&body);
        assert!(!tracks.is_empty(), "{id}");
        for track in tracks {
            let url = track["baseUrl"].as_str().expect("a URL");
            assert!(url.starts_with("https://www.youtube.com/api/timedtext?v="), "{url}");
            assert!(url.ends_with("&fmt=srv3"), "{url}");
            let reply = get(&platform, url, "").await.expect("an answer");
            assert!(reply.body.contains("<timedtext format=\"3\">"), "{id}: {}", reply.body);
            let reply = get(&platform, &base_url(&track), "").await.expect("an answer");
            assert!(reply.body.matches("<text start=").count() > 1, "{id}: {}", reply.body);
        }
    }
    let record = platform.record();
    assert_eq!(record.violations, Vec::<String>::new());
    assert_eq!((record.units.default, record.calls_to(Endpoint::Player)), (1, 20));
}

#[tokio::test]
async fn player_details_match_data_api_and_captions() {
    let platform = Simulator::new();
    for id in ordinary(&platform).await.iter().take(10) {
        let details =
            fetch::fetch(&platform, &format!("videos?part=contentDetails,snippet&id={id}")).await;
        let body = player(&platform, id, WEB).await;
        assert_eq!(body["videoDetails"]["title"], details.items()[0]["snippet"]["title"]);
        let seconds: u64 = body["videoDetails"]["lengthSeconds"]
            .as_str()
            .and_then(|s| s.parse().ok())
            .expect("a number");
        let json: serde_json::Value = text(&platform, id, 0, "&fmt=json3").await.json();
        let last = json["events"].as_array().and_then(|all| all.last()).expect("events");
        let start = last["tStartMs"].as_u64().expect("a time") / 1000;
        assert!(start <= seconds && start + 20 > seconds.min(36_000), "{start} of {seconds}");
    }
}

#[tokio::test]
async fn track_names_and_urls_depend_on_the_client() {
    let platform = Simulator::new();
    for client in ALL {
        let body = player(&platform, "txManualAsr", client).await;
        let tracks = tracks(&body);
        let runs = matches!(client.0, "ANDROID" | "IOS" | "VISIONOS");
        assert_eq!(tracks[0]["name"].get("runs").is_some(), runs, "{}", client.0);
        assert_eq!(tracks[0]["name"].get("simpleText").is_some(), !runs, "{}", client.0);
        let url = tracks[0]["baseUrl"].as_str().expect("a URL");
        assert_eq!(url.contains("&fmt=srv3"), client.0 == "ANDROID", "{}", client.0);
        let languages = body["captions"]["playerCaptionsTracklistRenderer"]["translationLanguages"]
            .as_array()
            .map_or(0, Vec::len);
        let many = matches!(client.0, "WEB" | "MWEB" | "WEB_EMBEDDED_PLAYER" | "VISIONOS");
        assert_eq!(languages > 120, many, "{}: {languages}", client.0);
        assert!(many || languages == 18);
    }
    assert_eq!(platform.record().violations, Vec::<String>::new());
}

#[tokio::test]
async fn watch_page_is_large_and_contains_the_key_among_decoys() {
    let platform = Simulator::new();
    let page = watch(&platform, "txManualAsr").await;
    assert_eq!(page.status, 200);
    assert!((800_000..1_500_000).contains(&page.body.len()), "{}", page.body.len());
    assert!(page.body.matches("AIzaSy").count() >= 5);
    let key = format!("\"INNERTUBE_API_KEY\":\"{}\"", platform.innertube_key());
    let visitor = format!("\"VISITOR_DATA\":\"{}\"", platform.visitor_data());
    assert!(page.body.contains(&key) && page.body.contains(&visitor));
    assert!(
        page.body.contains("var ytInitialPlayerResponse = {")
            && page.body.contains("\\u0026lang=en")
    );
}

#[tokio::test]
async fn equal_seeds_give_equal_keyless_bytes() {
    let (one, two, other) =
        (Simulator::new(), Simulator::new(), Simulator::builder().seed(2).build());
    for id in ["txManualAsr", "plBotWall__", "wpGood_____"] {
        let fetch = |platform: Simulator| async move {
            let request = player_request(id, ANDROID);
            let player = send(&platform, request).await.expect("an answer").body;
            player + &watch(&platform, id).await.body
        };
        assert_eq!(fetch(one.clone()).await, fetch(two.clone()).await);
        assert_ne!(fetch(one.clone()).await, fetch(other.clone()).await);
    }
}

#[tokio::test]
async fn data_api_caption_flag_means_manual_captions() {
    let platform = Simulator::new();
    for (id, expected) in
        [("txManualOnl", "true"), ("txAsrOnly__", "false"), ("txNoCaption", "false")]
    {
        let answer = fetch::fetch(&platform, &format!("videos?part=contentDetails&id={id}")).await;
        assert_eq!(answer.items()[0]["contentDetails"]["caption"], expected, "{id}");
    }
}
