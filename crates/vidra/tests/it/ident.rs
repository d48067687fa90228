//! Identifiers and links: every accepted form and every rejected one.

mod any;
mod kinds;
mod strangers;
mod traits;

use vidra::{ChannelRef, CommentId, Link, PlaylistId, VideoId};

const VIDEO: &str = "dQw4w9WgXcQ";
const LIST: &str = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf";
const CHANNEL: &str = "UC_x5XG1OV2P6uZZ5FSM9Ttw";
const COMMENT: &str = "UgydxWWoeA7F1OdqypJ4AaABAg";

/// Fills `V`, `L`, `C` and `M` in braces, so that tables stay readable.
fn fill(template: &str) -> String {
    let names = [("{V}", VIDEO), ("{L}", LIST), ("{C}", CHANNEL), ("{M}", COMMENT)];
    names.iter().fold(template.to_owned(), |text, (name, id)| text.replace(name, id))
}

#[test]
fn videos_are_read_from_every_form() {
    let forms = [
        "{V}",
        "  {V}\n",
        "https://www.youtube.com/watch?v={V}",
        "http://www.youtube.com/watch?v={V}",
        "HTTPS://WWW.YouTube.COM/watch?v={V}",
        "https:/www.youtube.com/watch?v={V}",
        "//www.youtube.com/watch?v={V}",
        "www.youtube.com/watch?v={V}",
        "youtube.com/watch?v={V}",
        "m.youtube.com/watch?v={V}",
        "music.youtube.com/watch?v={V}&si=abc",
        "gaming.youtube.com/watch?v={V}",
        "kids.youtube.com/watch?v={V}",
        "https://www.youtube.com:443/watch?v={V}",
        "http://www.youtube.com:80/watch?v={V}",
        "https://www.youtube.com/watch?app=desktop&v={V}&t=43s&pp=ygUE",
        "https://www.youtube.com/watch?v={V}&list={L}&index=3",
        "https://www.youtube.com/watch?v={V}#t=1m",
        "https://www.youtube.com/watch/?v={V}",
        // Without a scheme, and with a URL in the query, the path or the fragment.
        "www.youtube.com/watch?v={V}&u=https://example.com/",
        "youtube.com/watch?u=ftp://example.com/&v={V}",
        "youtu.be/{V}?u=ftp://example.com/",
        "youtube.com/watch?v={V}#ftp://example.com/",
        "https://www.youtube.com//watch?v={V}",
        "https://www.youtube.com/watch?v=dQw4w9WgXc%51",
        "https://youtu.be/{V}",
        "youtu.be/{V}?t=43",
        "https://youtu.be/{V}/",
        "https://youtu.be/{V}?si=x&list={L}#frag",
        "https://www.youtube.com/shorts/{V}?feature=share",
        "https://www.youtube.com/embed/{V}?rel=0",
        "https://www.youtube-nocookie.com/embed/{V}",
        "youtube-nocookie.com/embed/{V}",
        "https://www.youtube.com/live/{V}?si=x",
        "https://www.youtube.com/v/{V}?version=3",
        "https://www.youtube.com/e/{V}",
    ];
    for form in forms {
        let input = fill(form);
        assert_eq!(
            VideoId::parse(&input).unwrap_or_else(|e| panic!("{input}: {e}")).as_str(),
            VIDEO
        );
        assert_eq!(Link::parse(&input).unwrap().video.unwrap().as_str(), VIDEO, "{input}");
    }
    for odd in ["-_-_-_-_-_-", "___________", "00000000000"] {
        assert_eq!(VideoId::parse(odd).unwrap().to_string(), odd);
    }
}

#[test]
fn videos_of_wrong_length_alphabet_or_position_are_rejected() {
    let forms = [
        "dQw4w9WgXc",
        "dQw4w9WgXcQQ",
        "dQw4w9WgXc!",
        // Space around an identifier is dropped, which leaves this one too short.
        "dQw4w9WgXc ",
        "dQw4w9Wg\0cQ",
        "dQw4w9Wg\ncQ",
        "dQw4w9Wg%51",
        "dQw4w9WgXé",
        "１２３４５６７８９０１",
        "@{V}",
        "https://www.youtube.com/watch?v=short",
        "https://www.youtube.com/watch?v={V}x",
        "https://www.youtube.com/watch?v=",
        "https://www.youtube.com/watch?v={V}%00",
        "https://www.youtube.com/watch?v=%2564Qw4w9WgXcQ",
        "https://www.youtube.com/watch?v=dQw4w9WgX+Q",
        "https://www.youtube.com/watch?V={V}",
        // The first one counts: a second reading of an ambiguous URL would be a guess.
        "https://www.youtube.com/watch?v=short&v={V}",
        "https://www.youtube.com/watch?u=/watch&amp;v={V}",
        "https://www.youtube.com/watch/{V}",
        "https://www.youtube.com/playlist?v={V}&list={L}",
        "https://www.youtube.com/embed/videoseries?list={L}",
        "https://www.youtube.com/shorts%2F{V}",
        "https://www.youtube.com/shorts/",
        "https://www.youtube.com/{V}",
        "https://youtu.be/watch?v={V}",
        "https://www.youtube.com/@{V}",
        "https://www.youtube.com/channel/{C}",
    ];
    for form in forms {
        let input = fill(form);
        let error =
            VideoId::parse(&input).err().unwrap_or_else(|| panic!("{input:?} was accepted"));
        assert!(
            error.message().starts_with("Not a valid video identifier: "),
            "{}",
            error.message()
        );
    }
}

#[test]
fn playlists() {
    let longest = "P".repeat(64);
    let bare = [
        "PL",
        "WL",
        "UUSH_x5XG1OV2P6uZZ5FSM9Ttw",
        "OLAK5uy_mt1gUnCahoe2g5rYOCCxLU_pMxBxcSbPw",
        "FLany",
        "LLany",
        &longest,
    ];
    for id in bare {
        assert_eq!(PlaylistId::parse(id).unwrap().as_str(), id);
    }
    let forms = [
        "https://www.youtube.com/playlist?list={L}",
        "https://www.youtube.com/watch?v={V}&list={L}&index=2",
        "https://www.youtube.com/watch?list={L}",
        "https://www.youtube.com/embed/videoseries?si=x&list={L}",
        "https://music.youtube.com/playlist?list={L}&si=x",
        "youtu.be/{V}?list={L}",
        "//youtube.com/playlist?list={L}#top",
    ];
    for form in forms {
        let input = fill(form);
        assert_eq!(PlaylistId::parse(&input).unwrap().as_str(), LIST, "{input}");
        assert_eq!(Link::parse(&input).unwrap().playlist.unwrap().as_str(), LIST, "{input}");
    }
    let too_long = "P".repeat(65);
    let refused = [
        "P",
        &too_long,
        "PL+x",
        "PL.x",
        "PL x",
        "PLé",
        "PL%41",
        "PL\0x",
        "https://www.youtube.com/playlist?list=",
        "https://www.youtube.com/playlist?list=P",
        "https://www.youtube.com/playlist?list=PL%2Fx",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
    ];
    for input in refused {
        assert!(PlaylistId::parse(input).is_err(), "{input:?}");
    }
}

#[test]
fn channels() {
    let table = [
        ("{C}", "Id", "{C}"),
        ("https://www.youtube.com/channel/{C}", "Id", "{C}"),
        ("youtube.com/channel/{C}/videos?view=0", "Id", "{C}"),
        ("@GoogleDevelopers", "Handle", "@GoogleDevelopers"),
        ("%40GoogleDevelopers", "Handle", "@GoogleDevelopers"),
        ("GoogleDevelopers", "Handle", "@GoogleDevelopers"),
        ("mr.beast-2_", "Handle", "@mr.beast-2_"),
        ("@日本語チャンネル", "Handle", "@日本語チャンネル"),
        ("@%E6%97%A5%E6%9C%AC", "Handle", "@日本"),
        ("@हिन्दी", "Handle", "@हिन्दी"),
        ("@l·l", "Handle", "@l·l"),
        ("https://www.youtube.com/@GoogleDevelopers/videos", "Handle", "@GoogleDevelopers"),
        ("https://m.youtube.com/%40GoogleDevelopers", "Handle", "@GoogleDevelopers"),
        ("https://www.youtube.com/@%D8%B9%D8%B1%D8%A8%D9%8A", "Handle", "@عربي"),
        ("https://www.youtube.com/c/NationalGeographic", "Name", "NationalGeographic"),
        ("https://www.youtube.com/c/%C3%89cole", "Name", "École"),
        ("https://www.youtube.com/user/paris-rb", "Username", "paris-rb"),
        ("youtube.com/GoogleDevelopers", "Name", "GoogleDevelopers"),
        // A custom name of the shape of an id is still a name.
        ("https://www.youtube.com/c/{C}", "Name", "{C}"),
        // One character short of an id: a word.
        ("UC_x5XG1OV2P6uZZ5FSM9Tt", "Handle", "@UC_x5XG1OV2P6uZZ5FSM9Tt"),
        // With its @, a handle may look like a host name.
        ("@youtube.com.fan", "Handle", "@youtube.com.fan"),
    ];
    for (input, kind, shown) in table {
        let channel =
            ChannelRef::parse(&fill(input)).unwrap_or_else(|error| panic!("{input}: {error}"));
        assert_eq!(channel.to_string(), fill(shown), "{input}");
        assert!(format!("{channel:?}").starts_with(kind), "{input}: {channel:?}");
    }
    let long = format!("@{}", "x".repeat(31));
    let refused = [
        "@",
        "@@x",
        "@a b",
        "@a/b",
        "@a%2Fb",
        "@a%00b",
        "@a%0D%0Ab",
        "@a\u{202e}b",
        "@a\u{200b}b",
        // Controls and spaces beyond ASCII: next line, no-break, ideographic, line and paragraph separators.
        "@a\u{85}b",
        "@a\u{9f}b",
        "@a%C2%85b",
        "@a\u{a0}b",
        "@a\u{2003}b",
        "@a\u{2028}b",
        "@a\u{2029}b",
        "@a\u{3000}b",
        "@a%E3%80%80b",
        "@%ff",
        "@.",
        "..",
        "-",
        "%2e%2e",
        "a,b",
        "a&b=c",
        "a%b",
        "x@y",
        &long,
        "youtube.com.evil.example",
        "notyoutube.com",
        "youtube.com%2eevil.example",
        "YOUTUBE.COM.EVIL.EXAMPLE",
        "www.youtu.be",
        "youtube.com@evil.example",
        "https://www.youtube.com/channel/UCshort",
        "https://www.youtube.com/channel/",
        "https://www.youtube.com/@",
        "https://www.youtube.com/@a%2F..",
        "https://www.youtube.com/c/",
        "https://www.youtube.com/c/..",
        "https://www.youtube.com/user/a%20b",
        "https://www.youtube.com/user/a%C2%85b",
        "https://www.youtube.com/c/a%E3%80%80b",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "https://www.youtube.com/playlist?list=PL123",
        "https://www.youtube.com/hashtag/x",
        "https://www.youtube.com/results?search_query=x",
        "https://www.youtube.com/shorts/dQw4w9WgXcQ",
        "https://youtu.be/GoogleDevelopers",
    ];
    for input in refused {
        assert!(ChannelRef::parse(input).is_err(), "{input:?}: {:?}", ChannelRef::parse(input));
    }
}

#[test]
fn comments() {
    let reply = format!("{COMMENT}.91zT3cYb5B291za6voUoRh");
    for id in [COMMENT, &reply, "z13kc1bxpp22hzaxr04cd1kreurbjja41q00k.1458679991141996"] {
        assert_eq!(CommentId::parse(id).unwrap().as_str(), id);
    }
    for form in ["https://www.youtube.com/watch?v={V}&lc={M}", "youtu.be/{V}?lc={M}&t=1"] {
        let link = Link::parse(&fill(form)).unwrap();
        assert_eq!(link.comment.unwrap().as_str(), COMMENT);
        assert_eq!(link.video.unwrap().as_str(), VIDEO);
        assert_eq!(CommentId::parse(&fill(form)).unwrap().as_str(), COMMENT);
    }
    let long = "U".repeat(129);
    for input in [
        "x",
        "a.",
        ".b",
        "ab.cd.ef",
        "ab cd",
        "ab,cd",
        "Ug%41",
        &long,
        "youtu.be/dQw4w9WgXcQ",
        "youtu.be/dQw4w9WgXcQ?lc=a+b",
    ] {
        assert!(CommentId::parse(input).is_err(), "{input:?}");
    }
}

#[test]
fn links_report_which_ids_they_contain() {
    let kinds = |input: &str| {
        let link = Link::parse(&fill(input)).unwrap_or_else(|error| panic!("{input}: {error}"));
        let (video, playlist) = (link.video.is_some(), link.playlist.is_some());
        (video, playlist, link.channel.is_some(), link.comment.is_some())
    };
    assert_eq!(kinds("{V}"), (true, false, false, false));
    assert_eq!(kinds("{L}"), (false, true, false, false));
    assert_eq!(kinds("{C}"), (false, false, true, false));
    assert_eq!(kinds("@somebody"), (false, false, true, false));
    assert_eq!(kinds("youtu.be/{V}?list={L}&lc={M}"), (true, true, false, true));
    assert_eq!(kinds("youtube.com/playlist?list={L}"), (false, true, false, false));
    assert_eq!(kinds("youtube.com/@somebody?list={L}"), (false, true, true, false));
    // A malformed part does not affect the other.
    assert_eq!(kinds("youtube.com/watch?v={V}&list=!"), (true, false, false, false));
    // A bare word that does not show its kind is rejected.
    assert!(Link::parse("somebody").is_err());
}

#[test]
fn overlong_input_is_rejected_before_it_is_parsed() {
    let padding = |length: usize| format!("https://youtu.be/{VIDEO}?x={}", "y".repeat(length));
    let fits = 2048 - padding(0).len();
    assert!(VideoId::parse(&padding(fits)).is_ok());
    let error = VideoId::parse(&padding(fits + 1)).unwrap_err();
    assert!(error.details()[0].ends_with("it is too long"), "{:?}", error.details());
    assert!(error.message().chars().count() < 200, "the whole input is not repeated");
    assert!(Link::parse(&padding(fits + 1)).is_err());
    for huge in ["%".repeat(1 << 20), "/".repeat(1 << 20), "é".repeat(1 << 20)] {
        assert!(ChannelRef::parse(&huge).is_err() && Link::parse(&huge).is_err());
    }
}
