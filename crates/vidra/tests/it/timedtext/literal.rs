//! Documented variants of the formats that were never recorded.

use super::{json3, read, rows, srv1, srv3, text_of};
use vidra::transcript::{Unreadable, parse};

#[test]
fn the_same_words_in_every_format() {
    let srv1 = srv1(
        r#"<text start="0.5" dur="1.25">it&amp;#39;s &amp;quot;good&amp;quot;</text><text start="3">bye</text>"#,
    );
    let srv2 = r#"<timedtext><window t="0" id="1" op="define" rc="15" cc="32" ap="7"/>
        <text w="1" t="500" d="1250">it&#39;s &quot;good&quot;</text><text t="1740" w="1" append="1">
</text><text w="1" t="3000">bye</text></timedtext>"#;
    let srv3 = srv3(
        r#"<w t="0" id="1"/><p t="500" d="1250" w="1"><s>it&#39;s</s><s t="9" ac="3"> &quot;good&quot;</s></p>
        <p t="1740" w="1" a="1">
</p><p t="3000">bye</p>"#,
    );
    let json3 = json3(
        r#"{"tStartMs":0,"dDurationMs":9000,"id":1,"wpWinPosId":1},
        {"tStartMs":500,"dDurationMs":1250,"segs":[{"utf8":"it's"},{"utf8":" \"good\"","tOffsetMs":9}]},
        {"tStartMs":1740,"wWinId":1,"aAppend":1,"segs":[{"utf8":"\n"}]},
        {"tStartMs":3000,"segs":[{"utf8":"bye"}]}"#,
    );
    for body in [srv1, srv2.to_owned(), srv3, json3] {
        let bom = format!("\u{feff}\r\n {body}\n\n");
        for body in [body, bom] {
            let cues = read(&body);
            assert_eq!(rows(&cues), [(500, 1_250, "it's \"good\""), (3_000, 0, "bye")], "{body}");
        }
    }
}

#[test]
fn escapes_are_decoded_twice_in_srv1_and_once_in_srv3() {
    let table = [
        // As written in XML, as read in srv1, as read in srv3.
        ("a &amp;amp; b", "a & b", "a &amp; b"),
        ("a &amp; b", "a & b", "a & b"),
        ("a & b", "a & b", "a & b"),
        ("AT&T; x & y;", "AT&T; x & y;", "AT&T; x & y;"),
        ("&amp;lt;3", "<3", "&lt;3"),
        ("I &lt;3 you", "I <3 you", "I <3 you"),
        ("&lt;i&gt;so&lt;/i&gt;", "so", "so"),
        ("&amp;lt;i&amp;gt;so&amp;lt;/i&amp;gt;", "so", "&lt;i&gt;so&lt;/i&gt;"),
        ("&#60;b&#62;so&#x3c;/b>", "so", "so"),
        ("&amp;#39;&amp;#x27;&#39;", "'''", "&#39;&#x27;'"),
        ("&amp;eacute;t&amp;eacute;", "été", "&eacute;t&eacute;"),
        ("caf&eacute;", "café", "caf&eacute;"),
        ("a&nbsp;b", "a b", "a&nbsp;b"),
        ("<![CDATA[a < b & c]]>", "a < b & c", "a < b & c"),
        ("one<br/>two", "one\ntwo", "one\ntwo"),
        ("&#0;&#xD800;&#x110000;&#99999999999;x", "����x", "����x"),
        ("so<!-- not -->me", "some", "some"),
    ];
    for (written, in_srv1, in_srv3) in table {
        assert_eq!(text_of(srv1(&format!(r#"<text start="0">{written}</text>"#))), in_srv1);
        assert_eq!(text_of(srv3(&format!(r#"<p t="0">{written}</p>"#))), in_srv3);
    }
}

#[test]
fn words_in_a_cue() {
    let table = [
        (r#"<s>大家</s><s t="380">好</s>"#, "大家好"),
        ("<s>trailing </s><s>space </s>", "trailing space"),
        ("<s>one </s><s> two</s>", "one two"),
        ("direct <s>and</s> mixed", "direct and mixed"),
        ("<x>unknown <y>deep</y></x> kept", "unknown deep kept"),
        ("<s>漢</s><s p=\"27\">(</s><s p=\"28\">かん</s><s p=\"27\">)</s>", "漢(かん)"),
        ("<s>&#8203;</s>&#8203;<s>\u{200b} \u{200b}Bold </s>", "Bold"),
        ("\n  first\n\n  second  \n", "first\nsecond"),
        ("[Music] &gt;&gt; NAME: ♪", "[Music] >> NAME: ♪"),
    ];
    for (inside, expected) in table {
        assert_eq!(text_of(srv3(&format!(r#"<p t="1">{inside}</p>"#))), expected);
    }
}

#[test]
fn appended_words_are_cues() {
    let cues =
        read(srv3(r#"<p t="0" d="9" w="1">BREAKING</p><p t="500" d="9" w="1" a="1"> NEWS</p>"#));
    assert_eq!(rows(&cues), [(0, 9, "BREAKING"), (500, 9, "NEWS")]);
    let cues =
        read(json3(r#"{"tStartMs":5,"dDurationMs":1,"aAppend":1,"segs":[{"utf8":" NEWS\n"}]}"#));
    assert_eq!(rows(&cues), [(5, 1, "NEWS")]);
}

#[test]
fn times_that_are_missing_odd_or_out_of_order() {
    let cues = read(srv1(
        r#"<text start="9" dur="1">d</text><text start="2">b</text><text start="2" dur="7">c</text>
        <text start="1.0005" dur="-3">a</text><text dur="x">a2</text><text start="NaN">a3</text>
        <text start="-4">zero</text><text start="10">e</text>"#,
    ));
    let expected = [
        (0, 1_001, "zero"),
        (1_001, 0, "a"),
        // Without a start: the start of the cue before, until the next cue.
        (1_001, 999, "a2"),
        (1_001, 999, "a3"),
        (2_000, 7_000, "b"),
        (2_000, 7_000, "c"),
        (9_000, 1_000, "d"),
        (10_000, 0, "e"),
    ];
    assert_eq!(rows(&cues), expected);

    let cues = read(json3(
        r#"{"segs":[{"utf8":"none"}]},{"tStartMs":"7","dDurationMs":null,"segs":[{"utf8":"text"}]},
        {"tStartMs":1.6,"dDurationMs":2.5e0,"segs":[{"utf8":"float"}]},
        {"tStartMs":-5,"dDurationMs":-5,"segs":[{"utf8":"below"}]},
        {"tStartMs":18446744073709551615,"dDurationMs":1e300,"segs":[{"utf8":"huge"}]}"#,
    ));
    let far = 1 << 38;
    let expected = [
        (0, 2, "none"),
        (0, 0, "below"),
        (2, 3, "float"),
        (7, far - 7, "text"),
        (far, far, "huge"),
    ];
    assert_eq!(rows(&cues), expected);
}

#[test]
fn json3_members_that_are_absent_or_null() {
    let empty = ["{\"wireMagic\":\"pb3\"}", "{\"events\":[]}", "{\"events\":[null,{}]}"];
    for body in empty {
        assert_eq!(read(body), [], "{body}");
    }
    let cues = read(json3(
        r#"{"tStartMs":1,"segs":null},{"tStartMs":2,"segs":[]},{"tStartMs":3,"segs":[null,{},{"utf8":null}]},
        {"tStartMs":4,"segs":[{"utf8":"so"},{"acAsrConf":0},{"utf8":" it is\nhere"}],"new":{"deep":[1]}}"#,
    ));
    assert_eq!(rows(&cues), [(4, 0, "so it is\nhere")]);
}

#[test]
fn invalid_characters_do_not_discard_the_track() {
    // Half of a surrogate pair, because the platform splits emoji between segments.
    let text = text_of(json3(r#"{"segs":[{"utf8":"a \ud83d"},{"utf8":" b \ud83d\ude00"}]}"#));
    assert!(text.starts_with("a \u{fffd}") && text.ends_with(" b 😀"), "{text}");
    let bytes = json3(r#"{"segs":[{"utf8":"caf_ au lait"}]}"#).replace('_', "\u{1}");
    let latin: Vec<u8> = bytes.bytes().map(|byte| if byte == 1 { 0xe9 } else { byte }).collect();
    assert_eq!(text_of(latin), "caf\u{fffd} au lait");
    let latin =
        [b"<transcript><text start='0'>caf".as_slice(), b"\xe9</text></transcript>"].concat();
    assert_eq!(text_of(latin), "caf\u{fffd}");
}

#[test]
fn bodies_of_other_formats_are_no_timed_text() {
    let table = [
        "<!DOCTYPE html><html><body>Sorry</body></html>",
        "<!doctype HTML>",
        "<html lang=\"en\"><p t=\"0\">no</p></html>",
        "<p t=\"0\">no</p>",
        "<tt xmlns=\"http://www.w3.org/ns/ttml\"><body/></tt>",
        "<?xml version=\"1.0\"?>",
        "<!-- <transcript> -->",
        "<",
        "<<<<",
        "WEBVTT\n\n00:00.000 --> 00:01.000\nno\n",
        "1\n00:00:00,000 --> 00:00:01,000\nno\n",
        "{}",
        "{\"error\":{\"code\":404}}",
        "[]",
        "null",
        "too many requests",
        "\u{1f}\u{8b}\u{8}",
        "+ADw-transcript+AD4-",
    ];
    for body in table {
        assert_eq!(parse(body.as_bytes()), Err(Unreadable::NotTimedText), "{body}");
    }
    for body in ["", " \r\n\t", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(parse(body.as_bytes()), Err(Unreadable::Empty), "{body:?}");
    }
    for body in [
        "<transcript/>",
        "<transcript></transcript>",
        "<timedtext format=\"3\"><body/></timedtext>",
    ] {
        assert_eq!(read(body), [], "{body}");
    }
}

/// If the platform changes its format, the log names the part that differs.
#[test]
fn json3_errors_name_the_unexpected_part() {
    let table = [
        (r#"{"events":5}"#, "invalid type: integer `5`, expected a list of events"),
        (r#"{"events":[{"segs":5}]}"#, "invalid type: integer `5`, expected a list of segments"),
        (r#"{"events":[{"segs":[{"utf8":5}]}]}"#, "invalid type: integer `5`, expected text"),
        (r#"{"events":[{"tStartMs":[]}]}"#, "invalid type: sequence, expected milliseconds"),
        (
            r#"{"events":[{"dDurationMs":true}]}"#,
            "invalid type: boolean `true`, expected milliseconds",
        ),
    ];
    for (body, expected) in table {
        match parse(body.as_bytes()) {
            Err(Unreadable::Malformed(why)) => assert!(why.starts_with(expected), "{body}: {why}"),
            other => panic!("{body}: {other:?}"),
        }
    }
}
