//! Properties of identifiers and links for any input.

use proptest::prelude::*;
use vidra::{ChannelRef, CommentId, Link, PlaylistId, VideoId};

use super::{CHANNEL, COMMENT, LIST, VIDEO};

/// The unambiguous spelling of a channel.
fn canonical(channel: &ChannelRef) -> String {
    let encoded = |name: &str| -> String {
        percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).collect()
    };
    match channel {
        ChannelRef::Id(_) | ChannelRef::Handle(_) => channel.to_string(),
        ChannelRef::Username(name) => format!("https://www.youtube.com/user/{}", encoded(name)),
        ChannelRef::Name(name) => format!("https://www.youtube.com/c/{}", encoded(name)),
    }
}

fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Holds for any input: no panic, and every parsed id is well-formed and parses to itself.
fn check(input: &str) -> Result<(), TestCaseError> {
    let link = Link::parse(input).unwrap_or_default();
    for video in VideoId::parse(input).ok().into_iter().chain(link.video) {
        prop_assert!(video.as_str().len() == 11 && is_id(video.as_str()));
        prop_assert_eq!(VideoId::parse(video.as_str()).unwrap(), video);
    }
    for list in PlaylistId::parse(input).ok().into_iter().chain(link.playlist) {
        prop_assert!((2..=64).contains(&list.as_str().len()) && is_id(list.as_str()));
        prop_assert_eq!(PlaylistId::parse(list.as_str()).unwrap(), list);
    }
    for comment in CommentId::parse(input).ok().into_iter().chain(link.comment) {
        prop_assert!(comment.as_str().split('.').all(|part| part.len() >= 2 && is_id(part)));
        prop_assert_eq!(CommentId::parse(comment.as_str()).unwrap(), comment);
    }
    for channel in ChannelRef::parse(input).ok().into_iter().chain(link.channel) {
        let shown = channel.to_string();
        prop_assert!(
            !shown
                .contains(|c: char| c.is_control() || c.is_whitespace() || "/\\?#&=%".contains(c))
        );
        prop_assert!(shown.chars().count() <= 100, "{}", shown);
        prop_assert_eq!(ChannelRef::parse(&canonical(&channel)).unwrap(), channel);
    }
    Ok(())
}

/// Text that is almost a URL: random sequences of pieces of real ones.
fn url_like_text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "https://",
        "http:/",
        "//",
        "www.",
        "m.",
        "youtube.com",
        "youtu.be",
        "youtube-nocookie.com",
        "/watch",
        "/shorts/",
        "/embed/",
        "/channel/",
        "/user/",
        "/c/",
        "/@",
        "@",
        "?",
        "&",
        "#",
        ":443",
        ":",
        "v=",
        "list=",
        "lc=",
        VIDEO,
        LIST,
        CHANNEL,
        COMMENT,
        ".",
        "..",
        "/",
        "\\",
        "%2F",
        "%00",
        "%E6%97",
        "日本",
        "evil.example",
        "\0",
        " ",
    ];
    let piece = prop_oneof![prop::sample::select(PIECES).prop_map(str::to_owned), "\\PC{0,6}"];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_a_panic(input in any::<String>()) {
        check(&input)?;
    }

    #[test]
    fn url_like_text_is_parsed_without_a_panic(input in url_like_text()) {
        check(&input)?;
    }

    #[test]
    fn every_video_id_is_parsed_from_every_form(id in "[A-Za-z0-9_-]{11}", extra in "(&[a-z]{1,5}=[a-z0-9]{0,5}){0,3}") {
        // Two pages of the player have names of this shape.
        prop_assume!(id != "videoseries" && id != "live_stream");
        for form in ["", "youtu.be/", "https://www.youtube.com/shorts/", "//m.youtube.com/embed/", "youtube.com/watch?v="] {
            let tail = if form.ends_with('=') { extra.as_str() } else { "" };
            let video = VideoId::parse(&format!("{form}{id}{tail}")).unwrap();
            prop_assert_eq!(video.as_str(), id.as_str());
        }
    }

    #[test]
    fn other_hosts_are_rejected(host in "[a-z0-9.-]{1,20}", id in "[A-Za-z0-9_-]{11}") {
        let known = ["youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "youtu.be"];
        prop_assume!(!known.contains(&host.as_str()));
        for form in [format!("https://{host}/watch?v={id}&list=PL1"), format!("https://youtube.com{host}/{id}?list=PL1"), format!("https://{host}@youtube.com/watch?v={id}")] {
            prop_assert!(Link::parse(&form).is_err(), "{}", form);
        }
    }
}
