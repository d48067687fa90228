//! Which playlist ids are accepted, and the hint for an identifier of another kind.

use vidra::{ChannelId, ChannelRef, CommentId, Handle, Link, PlaylistId, Result, VideoId};

use super::{CHANNEL, COMMENT, LIST, VIDEO};

#[test]
fn l8_text_that_cannot_be_a_playlist_is_refused() {
    let accepted = [
        // Every prefix in use, also where it is the whole id.
        LIST,
        "PLBCF2DAC6FFB574DE",
        "UU_x5XG1OV2P6uZZ5FSM9Ttw",
        "UULF_x5XG1OV2P6uZZ5FSM9Ttw",
        "OLAK5uy_mt1gUnCahoe2g5rYOCCxLU_pMxBxcSbPw",
        "RDdsMFmonKDD4",
        "RDMM",
        "RDCLAK5uy_kmPRjHDECIcuVwnKsx2Ng7fyNgFKWNJFs",
        "TLGGKPZ1hVsBDTEyMDcyMDI1",
        "WL",
        "LL",
        "LM",
        "HL",
        // Eleven characters, as a video has, but with a prefix in use.
        "PLsize50000",
        // A prefix that nobody knows yet.
        "QXrAXtmErZgO",
        "SS12345678901234567890",
        // From before prefixes.
        "BCF2DAC6FFB574DE",
        "0123456789ABCDEF",
    ];
    for id in accepted {
        assert_eq!(PlaylistId::parse(id).unwrap().as_str(), id);
        let url = format!("https://www.youtube.com/playlist?list={id}");
        assert_eq!(PlaylistId::parse(&url).unwrap().as_str(), id);
    }
    let refused = [
        "nonsense",
        "my-playlist",
        "Nonsense-in-a-long-word",
        "NO",
        // One character too few for an unknown prefix, and one digit too few for an old id.
        "QXrAXtmErZg",
        "0123456789ABCDE",
        "bcf2dac6ffb574de",
        "UC_x5XG1OV2P6uZZ5FSM9Ttw",
        "UCshort",
        "UC_x5XG1OV2P6uZZ5FSM9Ttw_and_more",
        "https://www.youtube.com/playlist?list=nonsense",
    ];
    for text in refused {
        assert!(PlaylistId::parse(text).is_err(), "{text}");
    }
    // A word is no playlist where its kind is guessed.
    assert!(Link::parse("QXrAXtmErZgO").is_err());
}

fn why<T>(parsed: Result<T>) -> String {
    let error = parsed.err().expect("it is refused");
    let (_, why) = error.details()[0].rsplit_once("; ").unwrap();
    why.to_owned()
}

#[test]
fn l8_the_error_names_the_kind_of_an_identifier() {
    assert_eq!(why(PlaylistId::parse(VIDEO)), "that is a video id");
    assert_eq!(why(PlaylistId::parse("@somebody")), "that is a handle");
    assert_eq!(why(PlaylistId::parse(COMMENT)), "that is a comment id");
    let uploads = "the playlist of its uploads is UU_x5XG1OV2P6uZZ5FSM9Ttw";
    assert_eq!(why(PlaylistId::parse(CHANNEL)), uploads);
    let error = PlaylistId::parse(CHANNEL).unwrap_err();
    assert!(error.details()[0].contains("; that is a channel id; "), "{error:?}");
    assert_eq!(why(PlaylistId::parse("nonsense")), "it has the wrong length or alphabet");

    assert_eq!(why(VideoId::parse(LIST)), "that is a playlist id");
    assert_eq!(why(VideoId::parse(CHANNEL)), "that is a channel id");
    assert_eq!(why(VideoId::parse("@somebody")), "that is a handle");
    assert_eq!(why(VideoId::parse(COMMENT)), "that is a comment id");
    assert_eq!(why(CommentId::parse(VIDEO)), "that is a video id");
    assert_eq!(why(CommentId::parse("@somebody")), "that is a handle");
    assert_eq!(why(ChannelRef::parse(LIST)), "that is a playlist id");
    assert_eq!(why(ChannelId::parse("@somebody")), "that is a handle");
    assert_eq!(why(Handle::parse(CHANNEL)), "that is a channel id");

    assert_eq!(
        why(VideoId::parse(&format!("youtube.com/playlist?list={LIST}"))),
        "the URL names a playlist"
    );
    assert_eq!(why(PlaylistId::parse(&format!("youtu.be/{VIDEO}"))), "the URL names a video");
    assert_eq!(why(CommentId::parse(&format!("youtu.be/{VIDEO}"))), "the URL names a video");
    assert_eq!(why(ChannelRef::parse(&format!("youtu.be/{VIDEO}"))), "the URL names a video");
    assert_eq!(why(VideoId::parse("youtube.com/@somebody")), "the URL names a handle");
    assert_eq!(why(VideoId::parse("youtube.com/c/somebody")), "the URL names a channel");
}
