//! Texts that are hard to convert to another format, and captions of the longest playlist.

use crate::fetch::{bytes, fetch, pages};
use crate::keyless_client::{ANDROID, player, text, tracks};
use serde_json::Value;
use vidra_sim::{Endpoint, Simulator};

async fn cues(id: &str) -> Vec<(u64, Option<u64>, String)> {
    let json = text(&Simulator::new(), id, 0, "&fmt=json3").await.json();
    let events = json["events"].as_array().cloned().expect("events");
    let read = |event: &Value| {
        let text: String = event["segs"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .filter_map(|segment| segment["utf8"].as_str())
            .collect();
        (event["tStartMs"].as_u64().unwrap_or(0), event["dDurationMs"].as_u64(), text)
    };
    events.iter().map(read).collect()
}

#[tokio::test]
async fn rounding_and_order_quirks_have_their_cue_times() {
    let rounding = cues("tcRounding_").await;
    let starts: Vec<_> = rounding.iter().map(|(start, ..)| *start).collect();
    assert_eq!(starts, [999, 1999, 59_999, 3_599_999, 360_000_123]);
    let srv1 = text(&Simulator::new(), "tcRounding_", 0, "").await.body;
    assert!(srv1.contains("start=\"59.999\" dur=\"0.001\""), "{srv1}");
    let disorder = cues("tcDisorder_").await;
    assert!(!disorder.is_sorted_by_key(|(start, ..)| *start));
    assert!(disorder.iter().any(|(_, length, _)| *length == Some(0)));
}

#[tokio::test]
async fn texts_contain_format_syntax_and_rare_scripts() {
    let arrows: String =
        cues("tcArrows___").await.into_iter().map(|(.., text)| text + "|").collect();
    for part in ["A --> B", "above\n\nbelow", "00:00:01.000 --> 00:00:02.000", "WEBVTT", "|42|"] {
        assert!(arrows.contains(part), "{part}");
    }
    let scripts: String = cues("tcScripts__").await.into_iter().map(|(.., text)| text).collect();
    for part in ['日', '한', 'ש', '🎌', '\u{200d}', '\u{301}', '\u{a0}', '\u{200b}', '𝔘'] {
        assert!(scripts.contains(part), "{part:?}");
    }
}

#[tokio::test]
async fn longest_playlist_has_captions_on_every_page() {
    let platform = Simulator::builder().limits(u64::MAX, 0).build();
    let mut page =
        fetch(&platform, "playlistItems?part=contentDetails&playlistId=PLsize20000&maxResults=50")
            .await;
    for n in 0..400 {
        let id = page.each("/contentDetails/videoId")[n % 50].clone();
        let body = player(&platform, &id, ANDROID).await;
        assert!(!tracks(&body).is_empty(), "{id}");
        let Some(token) = page.body["nextPageToken"].as_str() else { break };
        let next = format!(
            "playlistItems?part=contentDetails&playlistId=PLsize20000&maxResults=50&pageToken={token}"
        );
        page = fetch(&platform, &next).await;
    }
    assert_eq!(platform.record().calls_to(Endpoint::Player), 400);
}

#[tokio::test]
async fn transcript_playlists_list_the_documented_videos() {
    let platform = Simulator::new();
    let mixed =
        fetch(&platform, "playlistItems?part=contentDetails&playlistId=PLquirkMixed&maxResults=50")
            .await;
    let ids = mixed.each("/contentDetails/videoId");
    assert_eq!(ids.len(), 12);
    for (n, id) in ids.iter().enumerate() {
        let ordinary = !id.starts_with("pl") && !id.starts_with("tx") && !id.starts_with("tt");
        assert_eq!(ordinary, n % 2 == 0, "{id}");
    }
    let all = pages(
        &platform,
        "playlistItems?part=contentDetails&playlistId=PLquirkTranscripts&maxResults=50",
    )
    .await;
    let listed: usize = all.iter().map(|page| page.items().len()).sum();
    let known = vidra_sim::QUIRKS
        .iter()
        .filter(|quirk| quirk.kind() == vidra_sim::Kind::Transcript)
        .count();
    assert_eq!(listed, known);
    // The Data API knows them as ordinary videos.
    let (status, _) = bytes(&platform, "videos?part=snippet&id=plBotWall__").await;
    assert_eq!(status, 200);
}
