//! The documented texts in each format.

use crate::keyless_client::{ANDROID, get, player, text, tracks};
use serde_json::Value;
use vidra_sim::Simulator;

/// The track numbers of the videos with odd texts.
const PERSON: usize = 0;
const MACHINE: usize = 1;

async fn body(id: &str, track: usize, more: &str) -> String {
    let reply = text(&Simulator::new(), id, track, more).await;
    assert_eq!(reply.status, 200, "{id}");
    reply.body
}

async fn events(id: &str, track: usize) -> Vec<Value> {
    let body = body(id, track, "&fmt=json3").await;
    let json: Value = serde_json::from_str(&body).expect("JSON");
    json["events"].as_array().cloned().expect("events")
}

fn spoken(event: &Value) -> String {
    let segments = event["segs"].as_array().map(Vec::as_slice).unwrap_or_default();
    segments.iter().filter_map(|segment| segment["utf8"].as_str()).collect()
}

#[tokio::test]
async fn entities_are_escaped_twice_in_srv1_and_once_in_srv3() {
    let srv1 = body("tcEntities_", PERSON, "").await;
    assert!(
        srv1.contains("I&amp;#39;m sure it&amp;#39;s &amp;quot;fine&amp;quot; &amp;amp; dandy")
    );
    let srv3 = body("tcEntities_", PERSON, "&fmt=srv3").await;
    assert!(srv3.contains("I&#39;m sure it&#39;s &quot;fine&quot; &amp; dandy"), "{srv3}");
    assert!(srv3.contains("R&amp;D; &amp;amp; isn&#39;t a typo"));
    assert_eq!(spoken(&events("tcEntities_", PERSON).await[0]), "I'm sure it's \"fine\" & dandy");
    let tags = body("tcTags_____", PERSON, "&fmt=srv1").await;
    assert!(tags.contains("this is &lt;i>not&lt;/i> the original"), "{tags}");
}

#[tokio::test]
async fn lengths_may_be_missing_and_cues_may_be_empty() {
    let srv1 = body("tcNoLength_", PERSON, "").await;
    assert!(srv1.contains("<text start=\"1\">") && srv1.contains("<text start=\"4\" dur=\"2\">"));
    let srv3 = body("tcNoLength_", PERSON, "&fmt=srv3").await;
    assert!(srv3.contains("<p t=\"1000\">") && srv3.contains("<p t=\"4000\" d=\"2000\">"));
    let events = events("tcNoLength_", PERSON).await;
    assert!(events[0].get("dDurationMs").is_none() && events[1]["dDurationMs"] == 2000);
    assert!(
        body("tcEmptyCues", PERSON, "").await.contains("<text start=\"5\" dur=\"0.5\"></text>")
    );
    assert!(body("tcNewlines_", PERSON, "").await.contains("Today I want to talk\nabout"));
}

#[tokio::test]
async fn generated_tracks_have_windows_words_and_line_feeds() {
    let srv3 = body("tcNoise____", MACHINE, "&fmt=srv3").await;
    assert!(srv3.contains("<w t=\"0\" id=\"1\" wp=\"1\" ws=\"1\"/>"), "{srv3}");
    assert!(srv3.contains("w=\"1\">[Music]</p>"), "{srv3}");
    assert!(srv3.contains("<s ac=\"0\">&gt;&gt;</s><s t=\"200\" ac=\"159\"> Hello?</s>"), "{srv3}");
    assert!(srv3.contains(" w=\"1\" a=\"1\">"), "{srv3}");
    let events = events("tcNoise____", MACHINE).await;
    assert!(events[0].get("segs").is_none() && events[0]["id"] == 1);
    let appended: Vec<_> = events.iter().filter(|event| event["aAppend"] == 1).collect();
    assert!(!appended.is_empty() && appended.iter().all(|event| spoken(event) == "\n"));
    let words = events.iter().find(|event| spoken(event).starts_with(">> MARTA")).expect("it");
    assert!(words["segs"][0].get("tOffsetMs").is_none());
    assert_eq!(
        (&words["segs"][1]["tOffsetMs"], &words["segs"][1]["acAsrConf"]),
        (&200.into(), &159.into())
    );
}

#[tokio::test]
async fn ordinary_generated_tracks_have_spacers_without_a_length() {
    let srv3 = body("txAsrOnly__", 0, "&fmt=srv3").await;
    let spacers = srv3.matches("a=\"1\">\n</p>").count();
    assert!(spacers > 5 && srv3.matches("<p t=\"").count() == 2 * spacers + 1);
    let bare = srv3.lines().filter(|line| line.contains("a=\"1\"") && !line.contains(" d=\""));
    assert!(bare.count() > 0, "{srv3}");
}

#[tokio::test]
async fn styled_tracks_contain_pens_comments_and_ruby() {
    let styled = body("tcStyled___", PERSON, "&fmt=srv3").await;
    assert!(styled.starts_with("\u{feff}<?xml"));
    for part in
        ["<!-- ", "<pen id=\"1\" b=\"1\"/>", "<s p=\"3\">bold </s>", "\u{200b}", "<wp id=\"1\""]
    {
        assert!(styled.contains(part), "{part}");
    }
    let ruby = body("tcRuby_____", PERSON, "&fmt=srv3").await;
    assert!(ruby.contains("<s p=\"5\">漢字</s><s p=\"6\">(</s><s p=\"7\">かんじ</s>"), "{ruby}");
    assert!(body("tcRuby_____", PERSON, "").await.contains("漢字(かんじ)を読む"));
}

#[tokio::test]
async fn every_format_has_its_structure_and_content_type() {
    let platform = Simulator::new();
    let cases = [
        ("", "text/xml", "<transcript><text start="),
        ("&fmt=srv1", "text/xml", "<transcript><text start="),
        ("&fmt=srv2", "text/xml", "<timedtext><window"),
        ("&fmt=srv3", "text/xml", "<timedtext format=\"3\">"),
        ("&fmt=json3", "application/json", "\"wireMagic\": \"pb3\""),
        ("&fmt=ttml", "text/xml", "xmlns=\"http://www.w3.org/ns/ttml\""),
        ("&fmt=vtt", "text/vtt", "WEBVTT\nKind: captions\nLanguage: en\n\n"),
        ("&fmt=srt", "text/plain", "1\n00:00:0"),
    ];
    for (more, kind, part) in cases {
        let reply = text(&platform, "txAsrOnly__", 0, more).await;
        assert!(reply.header("content-type").starts_with(kind), "{more}");
        assert!(reply.body.contains(part), "{more}: {}", reply.body);
    }
    let vtt = text(&platform, "txAsrOnly__", 0, "&fmt=vtt").await.body;
    assert!(vtt.contains(" align:start position:0%\n") && vtt.contains("><c> "));
    assert_eq!(text(&platform, "txAsrOnly__", 0, "&fmt=docx").await.status, 400);
}

#[tokio::test]
async fn translations_are_marked_damaged_or_rejected() {
    let platform = Simulator::new();
    let translated = |id: &'static str, n, to: &'static str| {
        let (platform, more) = (platform.clone(), format!("&fmt=srv3&tlang={to}"));
        async move { text(&platform, id, n, &more).await }
    };
    for id in ["txManualAsr", "txNoTransl_"] {
        let german = translated(id, 0, "de").await.body;
        assert!(german.contains("[de] HELLO AND WELCOME"), "{german}");
    }
    let words = translated("txAsrOnly__", 0, "de").await.body;
    assert!(words.contains("<s>[de] </s><s t=\"180\">HELLO </s>"), "{words}");
    let chinese = translated("txAsrOnly__", 0, "zh-Hant").await.body;
    assert!(chinese.contains("<s>[zh-Hant]</s><s t=\"180\">HELLO</s>"), "{chinese}");
    assert!(translated("txManualAsr", 0, "en").await.body.contains('\u{fffd}'));
    assert_eq!(translated("txManualAsr", 0, "tlh").await.status, 400);
    assert_eq!(translated("txFixedLang", 0, "de").await.status, 400);
    assert_eq!(translated("ttNoTrans__", 0, "de").await.status, 429);
    assert!(body("ttNoTrans__", 0, "").await.contains("<text"));
}

#[tokio::test]
async fn tracks_of_one_language_have_different_texts() {
    let platform = Simulator::new();
    let (one, two) =
        (text(&platform, "txSameLang2", 0, "").await, text(&platform, "txSameLang2", 1, "").await);
    assert_ne!(one.body, two.body);
    let url = tracks(&player(&platform, "txSameLang2", ANDROID).await)[1]["baseUrl"].clone();
    assert!(url.as_str().is_some_and(|url| url.contains("&name=DTVCC1")), "{url}");
    let nobody = url.as_str().map(|url| url.replace("DTVCC1", "CC9")).expect("a URL");
    assert_eq!(get(&platform, &nobody, "").await.map(|reply| reply.body), Some(String::new()));
}

#[tokio::test]
async fn an_hour_of_words_is_about_a_megabyte() {
    let size = body("txOneHour__", 0, "&fmt=json3").await.len();
    assert!((800_000..1_600_000).contains(&size), "{size}");
    assert_eq!(events("txOneCue___", 0).await.len(), 1);
    assert_eq!(events("txNoCues___", 0).await.len(), 0);
}
