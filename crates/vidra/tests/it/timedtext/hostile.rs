//! Hostile bodies: a typed error or a correct answer, in linear time.
//!
//! Time is not measured, because machines differ. A parser that is not linear takes minutes for these
//! bodies, which is noticed.

use proptest::prelude::*;
use vidra::transcript::{Unreadable, parse};

use super::{json3, malformed, read, srv1, srv3, text_of};

#[test]
fn any_doctype_is_rejected() {
    let bomb = r#"<!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"#;
    let external = r#"<!DOCTYPE transcript SYSTEM "file:///etc/passwd">"#;
    for doctype in [bomb, external, "<!DOCTYPE transcript>"] {
        let body = format!(r#"{doctype}<transcript><text start="0">&b;</text></transcript>"#);
        assert_eq!(malformed(body), "it has a DOCTYPE");
        let late = format!(r#"<transcript>{doctype}<text start="0">&b;</text></transcript>"#);
        assert_eq!(malformed(late), "it has a DOCTYPE");
    }
    assert_eq!(text_of(srv1(r#"<text start="0">&b; &xxe;</text>"#)), "&b; &xxe;");
}

#[test]
fn nesting_is_bounded() {
    let deep = |depth: usize| format!("{}x{}", "<s>".repeat(depth), "</s>".repeat(depth));
    assert_eq!(text_of(srv3(&format!("<p t='0'>{}</p>", deep(20)))), "x");
    for depth in [40, 1_000_000] {
        assert_eq!(
            malformed(srv3(&format!("<p t='0'>{}</p>", deep(depth)))),
            "it is nested too deeply"
        );
        assert_eq!(malformed(srv3(&"<w>".repeat(depth))), "it is nested too deeply");
    }
    // The parser limits the depth of values that it reads, and skips others without recursion.
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let read = |body: String| parse(body.as_bytes());
    assert!(read(format!(r#"{{"events":{}}}"#, lists(1_000_000))).is_err());
    assert!(read(format!(r#"{{"events":[],"x":{}}}"#, lists(1_000_000))).is_ok());
    assert!(read("{\"events\":[{\"segs\":[".repeat(1_000_000)).is_err());
}

#[test]
fn attributes_are_bounded() {
    let attributes =
        |count: usize| -> String { (0..count).map(|n| format!(" a{n}='1'")).collect() };
    assert_eq!(text_of(srv3(&format!("<p t='0'{}>x</p>", attributes(60)))), "x");
    assert_eq!(malformed(srv3(&format!("<p{}>x</p>", attributes(65)))), "too many attributes");
    assert_eq!(
        malformed(srv3(&format!("<p{}>x</p>", attributes(1_000_000)))),
        "too many attributes"
    );
    // Attributes of other elements are not read.
    assert_eq!(read(srv3(&format!("<w{}/>", attributes(1_000_000)))), []);
    assert!(malformed(srv3("<p t=5>x</p>")).contains("attribute"));
}

#[test]
fn sizes_are_bounded() {
    let words = "word ".repeat(2 << 20);
    assert_eq!(text_of(srv1(&format!("<text start='0'>{words}</text>"))).len(), words.len() - 1);
    let large = json3(&" ".repeat(33 << 20));
    assert_eq!(malformed(large), "larger than 32 MB");
    let many = "<p t='1'>x</p>".repeat(500_001);
    assert_eq!(malformed(srv3(&many)), "more than 500000 cues");
    let many = vec![r#"{"segs":[{"utf8":"x"}]}"#; 500_001].join(",");
    assert!(malformed(json3(&many)).contains("more than 500000 cues"));
}

#[test]
fn megabytes_of_a_repeated_token() {
    let repeated =
        ["<", "&", "&amp;", "&lt;", "&lt;b ", "&#38;", "&amp;lt;i", "\n", "\u{200b}", "a&b;"];
    for thing in repeated {
        let inside = thing.repeat((2 << 20) / thing.len());
        let _ = parse(srv1(&format!("<text start='0'>{inside}</text>")).as_bytes());
        let _ = parse(srv3(&format!("<p t='0'>{inside}</p>")).as_bytes());
        let text = serde_json::to_string(&inside).unwrap();
        let _ = parse(json3(&format!(r#"{{"segs":[{{"utf8":{text}}}]}}"#)).as_bytes());
    }
    let digits = "9".repeat(5 << 20);
    let cues = read(srv1(&format!("<text start='{digits}.{digits}' dur='0.{digits}'>x</text>")));
    assert_eq!((cues[0].start, cues[0].duration), (1 << 38, 1_000));
    assert!(parse(json3(&format!(r#"{{"tStartMs":{digits},"segs":[]}}"#)).as_bytes()).is_err());
}

#[test]
fn truncated_bodies_are_errors() {
    let bodies = [
        srv1(r#"<text start="0" dur="1">one &amp;amp; two</text><text start="1">é</text>"#),
        srv3(r#"<p t="0" d="1"><s>one</s><s t="3"> two</s></p><!-- x --><p t="1"/>"#),
        json3(r#"{"tStartMs":0,"segs":[{"utf8":"one \u00e9"},{"utf8":" two"}]}"#),
    ];
    for body in bodies {
        assert!(parse(body.as_bytes()).is_ok());
        for end in 0..body.len() {
            assert!(parse(&body.as_bytes()[..end]).is_err(), "{end} of {body}");
        }
    }
}

#[test]
fn broken_markup_and_other_encodings() {
    for body in [
        srv3("<p t='0'>x</s></p>"),
        srv3("<p t='0'>x</body>"),
        srv3("<p t='0'>a < b</p>"),
        srv1("<text start='0'>x</text></text>"),
        "{\"events\":[}".to_owned(),
        json3("1"),
        json3(r#"{"segs":"text"}"#),
        json3(r#"{"segs":[{"utf8":5}]}"#),
        json3(r#"{"tStartMs":NaN,"segs":[]}"#),
        json3(r#"{"tStartMs":1e999,"segs":[]}"#),
        format!("{} x", json3("")),
    ] {
        malformed(body);
    }
    let wide = |order: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        let body = format!("{mark}{}", srv1("<text start='0'>x</text>"));
        body.encode_utf16().flat_map(order).collect()
    };
    for mark in ["\u{feff}", ""] {
        assert!(parse(&wide(u16::to_le_bytes, mark)).is_err());
        assert_eq!(parse(&wide(u16::to_be_bytes, mark)), Err(Unreadable::NotTimedText));
    }
}

proptest! {
    /// Any bytes at all, and any bytes inside a body.
    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,80}") {
        let _ = parse(&bytes);
        for body in [srv1(&format!("<text {text}</text>")), srv3(&text), json3(&text)] {
            let _ = parse(body.as_bytes());
        }
    }

    /// A text that is escaped by the rules of each format is read as the same text.
    #[test]
    fn one_text_in_three_formats(text in "[ a-zé<>&;#39'\"\n\u{a0}\u{200b}-]{0,40}", start in 0_u64..9_000_000) {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let seconds = format!("{}.{:03}", start / 1_000, start % 1_000);
        let srv1 = read(srv1(&format!("<text start='{seconds}'>{}</text>", escape(&escape(&text)))));
        let srv3 = read(srv3(&format!("<p t='{start}'>{}</p>", escape(&text))));
        let segment = serde_json::json!({"tStartMs": start, "segs": [{ "utf8": text }]});
        let json3 = read(json3(&segment.to_string()));
        prop_assert_eq!(&srv1, &srv3);
        prop_assert_eq!(&srv1, &json3);
    }
}
