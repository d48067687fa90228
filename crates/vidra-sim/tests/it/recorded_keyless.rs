//! Compares recorded responses of player, timed text and watch pages with those of the simulator.

use crate::discovery::fixtures;
use crate::keyless_client::{ALL, base_url, get, player_request, send, tracks, watch};
use crate::recorded::shape;
use serde_json::Value;
use std::collections::BTreeSet;
use vidra_sim::{Kind, QUIRKS, Simulator};

/// The recordings in a folder with that extension; none if the fixtures are missing.
fn recordings(folder: &str, ending: &str) -> Vec<(String, String)> {
    let Some(files) = fixtures().and_then(|root| std::fs::read_dir(root.join(folder)).ok()) else {
        return Vec::new();
    };
    let names = files
        .filter_map(|file| file.ok())
        .filter(|file| file.path().extension().is_some_and(|extension| extension == ending));
    let all: Vec<_> = names
        .map(|file| {
            let bytes = std::fs::read(file.path()).expect("a readable file");
            let name = file.file_name().to_string_lossy().into_owned();
            (name, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect();
    assert!(!all.is_empty(), "no recordings in {folder}");
    all
}

/// The members that transcripts depend on; the others concern playback.
const MEMBERS: [&str; 3] = ["playabilityStatus", "captions", "videoDetails"];

fn player_shape(body: &Value, into: &mut BTreeSet<String>) {
    for name in MEMBERS {
        if let Some(member) = body.get(name) {
            shape(member, &format!(".{name}"), into);
        }
    }
}

#[tokio::test]
async fn simulator_covers_recorded_player_shapes() {
    let mut recorded = BTreeSet::new();
    for (_, text) in recordings("player", "json") {
        player_shape(&serde_json::from_str(&text).expect("JSON"), &mut recorded);
    }
    let platform = Simulator::new();
    let mut simulated = BTreeSet::new();
    let huge = ["plHuge_____", "plSlow_____"];
    let videos = QUIRKS.iter().filter(|quirk| {
        matches!(quirk.kind(), Kind::Video | Kind::Transcript) && !huge.contains(&quirk.id)
    });
    for quirk in videos {
        for client in ALL {
            let reply = send(&platform, player_request(quirk.id, client)).await;
            let body = reply.and_then(|reply| serde_json::from_str(&reply.body).ok());
            player_shape(&body.unwrap_or_default(), &mut simulated);
        }
    }
    let missing: Vec<_> = recorded.difference(&simulated).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The names of elements and attributes. This is not a full XML parser.
pub(crate) fn xml_shape(text: &str, into: &mut BTreeSet<String>) {
    if text.contains("<!--") {
        into.insert("comment".to_owned());
    }
    let plain: String = text
        .split("<!--")
        .enumerate()
        .map(
            |(n, part)| {
                if n == 0 { part } else { part.split_once("-->").map_or("", |(_, rest)| rest) }
            },
        )
        .collect();
    for tag in plain.split('<').skip(1).filter(|tag| !tag.starts_with(['/', '?'])) {
        let inside = tag.split('>').next().unwrap_or_default().trim_end_matches('/');
        let mut words = inside.split_whitespace();
        let name = words.next().unwrap_or_default();
        into.insert(name.to_owned());
        into.extend(words.filter_map(|w| w.split_once('=')).map(|(a, _)| format!("{name} {a}")));
    }
}

/// The texts of some documented videos in one format.
async fn texts(format: &str) -> Vec<String> {
    let platform = Simulator::new();
    let mut all = Vec::new();
    for quirk in QUIRKS.iter().filter(|quirk| {
        quirk.id.starts_with("tc")
            || quirk.id.starts_with("txManual")
            || quirk.id.starts_with("quirkFrac")
    }) {
        let reply = send(&platform, player_request(quirk.id, ALL[0])).await.expect("an answer");
        for track in tracks(&reply.json()) {
            for more in ["", "&tlang=fr"] {
                let url = format!("{}&fmt={format}{more}", base_url(&track));
                all.push(get(&platform, &url, "").await.expect("an answer").body);
            }
        }
    }
    all
}

#[tokio::test]
async fn simulator_covers_recorded_timed_text_shapes() {
    let (mut recorded, mut simulated) = (BTreeSet::new(), BTreeSet::new());
    recordings("timedtext", "xml").iter().for_each(|(_, text)| xml_shape(text, &mut recorded));
    for format in ["srv1", "srv3"] {
        texts(format).await.iter().for_each(|text| xml_shape(text, &mut simulated));
    }
    let missing: Vec<_> = recorded.difference(&simulated).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let (mut recorded, mut simulated) = (BTreeSet::new(), BTreeSet::new());
    for (_, text) in recordings("timedtext", "json") {
        shape(&serde_json::from_str(&text).expect("JSON"), "", &mut recorded);
    }
    for text in texts("json3").await {
        shape(&serde_json::from_str(&text).expect("JSON"), "", &mut simulated);
    }
    let missing: Vec<_> = recorded.difference(&simulated).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[tokio::test]
async fn simulated_vtt_contains_recorded_lines() {
    let simulated = texts("vtt").await.concat();
    for part in ["Kind: captions", "Language: en", "align:start position:0%", "<c> ", "&nbsp;"] {
        let known = recordings("timedtext", "vtt").iter().any(|(_, text)| text.contains(part));
        assert!(known || fixtures().is_none(), "{part} was never recorded");
        assert!(simulated.contains(part), "{part}");
    }
}

#[tokio::test]
async fn simulated_pages_contain_recorded_markers() {
    let platform = Simulator::new();
    let mut simulated = watch(&platform, "txManualAsr").await.body;
    simulated += &watch(&platform, "wpCaptcha__").await.body;
    simulated += &get(&platform, "/watch?v=wpConsent1_", "").await.expect("an answer").body;
    let pages: String =
        recordings("watch-pages", "html").into_iter().map(|(_, text)| text).collect();
    let marks = [
        "\"INNERTUBE_API_KEY\":\"AIzaSy",
        "\"VISITOR_DATA\":\"Cgt",
        "\"SEND_VISITOR_DATA\":true",
        "\"EOM_VISITOR_DATA\":\"",
        "\"LINK_API_KEY\":\"AIzaSy",
        "\"LIVE_CHAT_BASE_TANGO_CONFIG\":{\"apiKey\":\"AIzaSy",
        "\"INNERTUBE_CLIENT_NAME\":\"WEB\"",
        "var ytInitialPlayerResponse = {",
        "\\u0026lang=",
        "class=\"g-recaptcha\"",
        "action=\"/das_captcha?fw=1\"",
        "<form action=\"https://consent.youtube.com/s\" method=\"POST\"",
        "<input type=\"hidden\" name=\"v\" value=\"cb.",
    ];
    for mark in marks {
        assert!(pages.is_empty() || pages.contains(mark), "{mark} was never recorded");
        assert!(simulated.contains(mark), "{mark}");
    }
}
