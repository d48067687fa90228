#![no_main]
//! Parses links and identifiers. The bare form of a parsed identifier must parse to the same identifier.

use libfuzzer_sys::fuzz_target;
use vidra::{ChannelRef, CommentId, Link, PlaylistId, VideoId};

fuzz_target!(|text: &str| {
    if let Ok(link) = Link::parse(text) {
        if let Some(video) = link.video {
            assert_eq!(VideoId::parse(video.as_str()).ok(), Some(video));
        }
        if let Some(playlist) = link.playlist {
            let again = PlaylistId::parse(playlist.as_str()).expect("a bare id");
            assert_eq!(again, playlist);
        }
    }
    if let Ok(video) = VideoId::parse(text) {
        assert_eq!(VideoId::parse(video.as_str()).ok(), Some(video));
    }
    if let Ok(comment) = CommentId::parse(text) {
        assert_eq!(CommentId::parse(comment.as_str()).expect("a bare id"), comment);
    }
    let _ = PlaylistId::parse(text);
    let _ = ChannelRef::parse(text);
});
