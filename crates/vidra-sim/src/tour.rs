//! A short list of things to try.

use crate::quirk::Kind;
use crate::simulator::Simulator;
use std::sync::OnceLock;

/// A thing to try.
#[derive(Clone, Debug)]
pub struct Stop {
    /// A description of the example.
    pub what: &'static str,
    /// Its identifier.
    pub id: String,
    /// The kind of the identifier.
    pub kind: Kind,
}

/// A dozen things to try in the world of seed 1.
pub fn tour() -> &'static [Stop] {
    static TOUR: OnceLock<Vec<Stop>> = OnceLock::new();
    TOUR.get_or_init(|| {
        let simulator = Simulator::new();
        let world = simulator.world();
        let video = |owner, index| world.video_id((owner, index));
        let channel = |no| world.channel(no).map(|channel| channel.id).unwrap_or_default();
        let list = |no, n| {
            world
                .channel(no)
                .and_then(|c| world.playlist_of(&c, n))
                .map(|list| list.id)
                .unwrap_or_default()
        };
        let stop = |what, kind, id: String| Stop { what, id, kind };
        vec![
            stop("an ordinary video", Kind::Video, video(0, 0)),
            stop("a video whose title is not in Latin letters", Kind::Video, video(3, 1)),
            stop("what is said in it", Kind::Transcript, video(5, 0)),
            stop("captions in Japanese", Kind::Transcript, video(3, 1)),
            stop("captions in 21 languages", Kind::Transcript, "txManyLang_".to_owned()),
            stop("captions behind a bot wall", Kind::Transcript, "plBotWall__".to_owned()),
            stop("a video that hides its likes", Kind::Video, "quirkNoLike".to_owned()),
            stop("a stream of more than a day", Kind::Video, "quirkDurDay".to_owned()),
            stop("a video with comments off", Kind::Video, "quirkNoComm".to_owned()),
            stop(
                "comments with links, time marks and many scripts",
                Kind::Video,
                "quirkHtmlCm".to_owned(),
            ),
            stop("a channel by its handle", Kind::Handle, "@fermata".to_owned()),
            stop("a handle outside ASCII", Kind::Handle, "@müsliküche".to_owned()),
            stop("a channel by its id", Kind::Channel, channel(4)),
            stop("an ordinary playlist", Kind::Playlist, list(0, 1)),
            stop("500 videos in ten pages", Kind::Playlist, "PLsize500".to_owned()),
            stop("private and deleted entries", Kind::Playlist, "PLquirkUnavailable".to_owned()),
            stop("a private playlist", Kind::Playlist, "PLquirkPrivate".to_owned()),
            stop(
                "a thread with 250 replies",
                Kind::Comment,
                "UgquirkManyReplies04AaABAg".to_owned(),
            ),
        ]
    })
}
