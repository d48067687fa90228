//! The tracks that the player lists, and their URLs.

use crate::keyless_client::{ANDROID, Client, VISIONOS, WEB, get, player, send, text, tracks};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use vidra_sim::Simulator;

async fn list(id: &str, client: Client) -> Value {
    let body = player(&Simulator::new(), id, client).await;
    assert_eq!(body["playabilityStatus"]["status"], "OK", "{id}");
    body["captions"]["playerCaptionsTracklistRenderer"].clone()
}

fn each<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    let tracks = list["captionTracks"].as_array().map(Vec::as_slice).unwrap_or_default();
    tracks.iter().map(|track| track[name].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn tracks_have_their_documented_vss_ids() {
    let cases: [(&str, &[&str]); 8] = [
        ("txManualAsr", &[".en", "a.en"]),
        ("txAsrOnly__", &["a.en"]),
        ("txManualOnl", &[".en"]),
        ("txAsrFirst_", &["a.de", ".de.IEiJcQzJ7go"]),
        ("txForeign1_", &[".zh", ".cs", ".en", "a.en"]),
        ("txSameLang2", &[".en.CC1", ".en.DTVCC1", "a.en"]),
        ("txForced___", &[".en", ".en", "a.en"]),
        ("txGemini___", &["a.en", "a.en"]),
    ];
    for (id, expected) in cases {
        assert_eq!(each(&list(id, ANDROID).await, "vssId"), expected, "{id}");
    }
    assert_eq!(each(&list("txForced___", ANDROID).await, "kind"), ["frc", "-", "asr"]);
    let many = list("txManyLang_", VISIONOS).await;
    let codes = each(&many, "languageCode");
    assert_eq!(codes.len(), 22);
    for code in ["zh", "zh-Hans", "zh-Hant", "pt-BR", "pt-PT", "es-419", "en-US", "fil"] {
        assert!(codes.contains(&code), "{code}");
    }
}

#[tokio::test]
async fn track_list_declares_audio_and_translations() {
    let foreign = list("txForeign1_", ANDROID).await;
    assert_eq!(foreign["audioTracks"][0]["defaultCaptionTrackIndex"], 2);
    let dubbed = list("txDubbed___", WEB).await;
    assert_eq!(
        (dubbed["audioTracks"].as_array().map(Vec::len), &dubbed["defaultAudioTrackIndex"]),
        (Some(4), &2.into())
    );
    assert_eq!(dubbed["audioTracks"][2]["audioTrackId"], "en.4");
    for client in [ANDROID, WEB] {
        let few = list("txTrans18__", client).await;
        assert_eq!(few["translationLanguages"].as_array().map(Vec::len), Some(18));
    }
    assert!(list("txNoTransl_", WEB).await.get("translationLanguages").is_none());
    assert_eq!(list("txFixedLang", WEB).await["captionTracks"][0]["isTranslatable"], false);
    assert_eq!(list("txRtlArabic", WEB).await["captionTracks"][0]["rtl"], true);
    let minimal = list("txMinimal__", WEB).await;
    assert!(minimal.get("audioTracks").is_none());
    assert!(minimal["captionTracks"][0].get("vssId").is_none());
}

#[tokio::test]
async fn captions_or_track_list_can_be_missing() {
    let platform = Simulator::new();
    assert!(player(&platform, "txNoCaption", ANDROID).await.get("captions").is_none());
    let body = player(&platform, "txNoTracks_", ANDROID).await;
    assert_eq!(body["captions"], json!({"playerCaptionsTracklistRenderer": {}}));
}

#[tokio::test]
async fn hostile_urls_are_returned_as_documented() {
    let platform = Simulator::new();
    let cases = [
        ("buLoopback_", "http://127.0.0.1:9/"),
        ("buMetadata_", "http://169.254.169.254/"),
        ("buFile_____", "file:///etc/passwd"),
        ("buSuffix___", "https://www.youtube.com.evil.example/api/timedtext?v="),
        ("buEvilHost_", "https://evil.example/api/timedtext?v="),
        ("buUserInfo_", "https://www.youtube.com@evil.example/api/timedtext?v="),
        ("buPassword_", "https://user:word@www.youtube.com/api/timedtext?v="),
        ("buPort22___", "https://www.youtube.com:22/api/timedtext?v="),
        ("buPlainHttp", "http://www.youtube.com/api/timedtext?v="),
        ("buNoScheme_", "//evil.example/api/timedtext?v="),
        ("buBackslash", "https://evil.example\\@www.youtube.com/api/timedtext?v="),
        ("buOtherPath", "https://www.youtube.com/redirect?v="),
        ("buDotDot___", "https://www.youtube.com/api/timedtext/../../redirect?v="),
        ("buNotAnUrl_", "::not a url::"),
        ("txRelative_", "/api/timedtext?v="),
    ];
    for (id, begin) in cases {
        let tracks = tracks(&player(&platform, id, ANDROID).await);
        let url = tracks[0]["baseUrl"].as_str().expect("a URL");
        assert!(url.starts_with(begin), "{id}: {url}");
    }
    assert!(tracks(&player(&platform, "buAbsent___", ANDROID).await)[0].get("baseUrl").is_none());
}

#[tokio::test]
async fn po_token_is_valid_for_one_video_only() {
    let platform = Simulator::new();
    for (id, exp) in [("txNeedsPot_", "&exp=xpe&"), ("txExpList__", "&exp=foo,xpv&")] {
        let url = tracks(&player(&platform, id, ANDROID).await)[0]["baseUrl"].clone();
        assert!(url.as_str().is_some_and(|url| url.contains(exp)), "{url}");
        let with = |token: String| {
            let (platform, more) = (platform.clone(), format!("&pot={token}&potc=1&c=WEB"));
            async move { text(&platform, id, 0, &more).await.body }
        };
        assert_eq!(text(&platform, id, 0, "").await.body, "");
        assert_eq!(with(platform.po_token("txAsrOnly__")).await, "");
        assert!(with(platform.po_token(id)).await.contains("<text start="));
        // Without `exp` the signature of the URL is invalid.
        let stripped = url.as_str().map(|url| url.replace(exp, "&")).expect("a URL");
        assert_eq!(
            get(&platform, &stripped, "").await.map(|reply| reply.body),
            Some(String::new())
        );
    }
    assert_eq!(platform.record().violations, Vec::<String>::new());
}

#[tokio::test]
async fn token_provider_returns_po_tokens() {
    let platform = Simulator::new();
    let fetch = |body: &str| {
        let request = Request::post("/get_pot").header("content-type", "application/json");
        send(&platform, request.body(Bytes::copy_from_slice(body.as_bytes())).expect("valid"))
    };
    let reply = fetch(r#"{"content_binding": "txNeedsPot_"}"#).await.expect("an answer");
    assert_eq!(reply.json()["poToken"], platform.po_token("txNeedsPot_"));
    assert_eq!(fetch("{}").await.map(|reply| reply.status), Some(400));
    assert_eq!(get(&platform, "/ping", "").await.map(|reply| reply.status), Some(200));
}

#[tokio::test]
async fn only_the_web_client_sometimes_requires_a_token() {
    let platform = Simulator::new();
    let ids =
        crate::fetch::fetch(&platform, "videos?part=id&chart=mostPopular&maxResults=50").await;
    let mut guarded = 0;
    for id in ids.each("/id") {
        let url = |body: &Value| tracks(body)[0]["baseUrl"].to_string();
        guarded += u32::from(url(&player(&platform, &id, WEB).await).contains("exp=xpe"));
        assert!(!url(&player(&platform, &id, ANDROID).await).contains("exp="));
    }
    assert!((15..45).contains(&guarded), "{guarded} of 50");
}

#[tokio::test]
async fn the_gemini_track_is_empty_and_the_next_is_not() {
    let platform = Simulator::new();
    assert_eq!(text(&platform, "txGemini___", 0, "&fmt=json3").await.body, "");
    assert!(text(&platform, "txGemini___", 1, "&fmt=json3").await.body.contains("\"utf8\""));
}
