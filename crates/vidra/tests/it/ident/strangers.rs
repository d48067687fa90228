//! URLs of other hosts that look like the platform's, and URLs of the platform that name no resource.

use vidra::{ChannelRef, CommentId, ErrorKind, Link, PlaylistId, VideoId};

use super::fill;

/// No parser accepts any input of this table.
#[test]
fn foreign_urls_are_rejected_by_every_parser() {
    let forms = [
        // Look-alike hosts.
        "https://youtube.com.evil.example/watch?v={V}&list={L}&lc={M}",
        "https://notyoutube.com/watch?v={V}&list={L}&lc={M}",
        "https://youtube.comevil.example/watch?v={V}&list={L}",
        "https://evil.example/youtube.com/watch?v={V}&list={L}",
        "https://evil.example/?u=https://youtube.com/watch?v={V}&list={L}",
        "https://evil.example#https://youtube.com/watch?v={V}",
        "https://www.youtube.com.:443/watch?v={V}&list={L}",
        "https://www.youtube.com./watch?v={V}&list={L}",
        "https://xyz.youtube.com/watch?v={V}&list={L}",
        "https://youtube.co/watch?v={V}&list={L}",
        "https://youtube/watch?v={V}&list={L}",
        "https://youtu.be.evil.example/{V}?list={L}",
        "https://www.youtu.be/{V}?list={L}",
        "https://youtube-nocookie.com.evil.example/embed/{V}?list={L}",
        "notyoutube.com/@somebody",
        "evil.example/@somebody",
        // Homographs: Cyrillic о, full-width dot, soft hyphen, punycode.
        "https://y\u{43e}utube.com/watch?v={V}&list={L}",
        "https://youtube\u{ff0e}com/watch?v={V}&list={L}",
        "https://you\u{ad}tube.com/watch?v={V}&list={L}",
        "https://xn--yutube-wqf.com/watch?v={V}&list={L}",
        // User information and ports.
        "https://youtube.com@evil.example/watch?v={V}&list={L}",
        "https://user:pass@youtube.com/watch?v={V}&list={L}",
        "https://youtube.com:pass@evil.example/@somebody",
        "https://@youtube.com/watch?v={V}&list={L}",
        "https://youtube.com:8080/watch?v={V}&list={L}",
        "https://youtube.com:/watch?v={V}&list={L}",
        "https://youtube.com:0443/watch?v={V}&list={L}",
        "https://youtube.com:443:443/watch?v={V}&list={L}",
        // Addresses.
        "https://142.250.0.1/watch?v={V}&list={L}",
        "https://2398797313/watch?v={V}&list={L}",
        "https://0x8efa0001/watch?v={V}&list={L}",
        "https://[2a00:1450::1]/watch?v={V}&list={L}",
        "http://[::ffff:127.0.0.1]:80/@somebody",
        "http://localhost/@somebody",
        // Other schemes, extra slashes and backslashes.
        "ftp://youtube.com/watch?v={V}&list={L}",
        "javascript://youtube.com/watch?v={V}&list={L}",
        "data:text/html,youtube.com/watch?v={V}",
        "file:///youtube.com/@somebody",
        "httpss://youtube.com/@somebody",
        "https:youtube.com/@somebody",
        "https:///youtube.com/watch?v={V}&list={L}",
        "https:\\\\youtube.com\\watch?v={V}&list={L}",
        "https://youtube.com\\@evil.example/watch?v={V}&list={L}",
        "https://evil.example\\.youtube.com/watch?v={V}&list={L}",
        // Characters that end strings, lines or words.
        "https://youtube.com\0.evil.example/watch?v={V}&list={L}",
        "https://youtube.com/watch?v={V}\0&list={L}",
        "https://youtube.com/watch?v={V}&list={L}\r\nHost: evil.example",
        "https://you\ttube.com/watch?v={V}&list={L}",
        "https://youtube.com/watch?v={V} &list={L}",
        "https://youtube.com/\u{a0}watch?v={V}&list={L}",
        "https://youtube.com/watch?v={V}\u{85}&list={L}",
        // Encoded tricks in the host.
        "https://youtube.com%2eevil.example/watch?v={V}&list={L}",
        "https://youtube%2ecom/watch?v={V}&list={L}",
        "https://youtube.com%00.evil.example/watch?v={V}&list={L}",
        "https://youtube.com%2f@evil.example/watch?v={V}&list={L}",
        "https://evil.example%23.youtube.com/watch?v={V}&list={L}",
        "https%3A%2F%2Fyoutube.com.evil.example%2Fwatch%3Fv%3D{V}",
        "https%253A%252F%252Fyoutu.be%252F{V}",
        // On the right host, without a resource.
        "youtube.com",
        "https://www.youtube.com/",
        "https://www.youtube.com/#/watch?v={V}&list={L}",
        "https://youtube.com#@evil.example/watch?v={V}",
        "https://www.youtube.com/feed/subscriptions",
        "https://www.youtube.com/redirect?q=https%3A%2F%2Fyoutu.be%2F{V}",
        "https://www.youtube.com/attribution_link?u=%2Fwatch%3Fv%3D{V}",
        "https://www.youtube.com/embed/live_stream?channel={C}",
        "https://www.youtube.com/..",
        "https://www.youtube.com/%2e%2e/%2e",
        "https://youtu.be/",
        "https://youtu.be/@somebody",
        "https://www.youtube.com/%ff",
        "?v={V}",
        "/watch?v={V}",
        "",
        " ",
        "#",
        "//",
        "https://",
        "..",
        "\0",
    ];
    for form in forms {
        let input = fill(form);
        let found = [
            VideoId::parse(&input).err(),
            PlaylistId::parse(&input).err(),
            ChannelRef::parse(&input).err(),
            CommentId::parse(&input).err(),
        ];
        for (index, error) in found.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("parser {index} accepted {input:?}"));
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert_eq!(error.details().len(), 1, "{input:?}");
            assert!(error.details()[0].contains("expected"), "{input:?}: {:?}", error.details());
            // The quoted input cannot break a log line.
            assert!(!error.message().contains(char::is_control), "{:?}", error.message());
        }
        assert!(Link::parse(&input).is_err(), "{input:?}: {:?}", Link::parse(&input));
    }
}

#[test]
fn rejections_name_their_cause() {
    let table = [
        ("https://youtube.com@evil.example/x", "a URL with user information is not accepted"),
        ("https://youtube.com.evil.example/x", "the host is not YouTube's"),
        ("ftp://youtube.com/x", "only http and https URLs are accepted"),
        (
            "https://youtube.com/a\\b",
            "a URL cannot hold spaces, control characters or back-slashes",
        ),
        ("https://youtube.com/%ff", "its path is not valid UTF-8"),
        ("https://youtube.com/feed", "the URL names no video, playlist or channel"),
        ("two words", "it is neither a YouTube URL nor an identifier"),
        ("", "it is empty"),
    ];
    for (input, message) in table {
        assert_eq!(Link::parse(input).unwrap_err().message(), message, "{input:?}");
    }
}
