//! What holds for identifiers and links whatever the input is.

use proptest::prelude::*;
use vidra::{ChannelRef, CommentId, Link, PlaylistId, VideoId};

use super::{CHANNEL, COMMENT, LIST, VIDEO};

/// The text by which a channel is named unmistakably.
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

/// What must hold for any input at all: no panic, and what is found is well-formed and stable.
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

/// Text that is nearly a URL: pieces of real ones, put together anyhow.
fn nearly_a_url() -> impl Strategy<Value = String> {
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
    fn any_text_is_survived(input in any::<String>()) {
        check(&input)?;
    }

    #[test]
    fn anything_like_a_url_is_survived(input in nearly_a_url()) {
        check(&input)?;
    }

    #[test]
    fn every_video_id_is_read_back_from_every_form(id in "[A-Za-z0-9_-]{11}", extra in "(&[a-z]{1,5}=[a-z0-9]{0,5}){0,3}") {
        // Two pages of the player have names of this shape.
        prop_assume!(id != "videoseries" && id != "live_stream");
        for form in ["", "youtu.be/", "https://www.youtube.com/shorts/", "//m.youtube.com/embed/", "youtube.com/watch?v="] {
            let tail = if form.ends_with('=') { extra.as_str() } else { "" };
            let video = VideoId::parse(&format!("{form}{id}{tail}")).unwrap();
            prop_assert_eq!(video.as_str(), id.as_str());
        }
    }

    #[test]
    fn no_other_host_gets_through(host in "[a-z0-9.-]{1,20}", id in "[A-Za-z0-9_-]{11}") {
        let known = ["youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "youtu.be"];
        prop_assume!(!known.contains(&host.as_str()));
        for form in [format!("https://{host}/watch?v={id}&list=PL1"), format!("https://youtube.com{host}/{id}?list=PL1"), format!("https://{host}@youtube.com/watch?v={id}")] {
            prop_assert!(Link::parse(&form).is_err(), "{}", form);
        }
    }
}
