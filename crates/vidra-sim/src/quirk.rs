//! The documented oddities of the platform, under readable identifiers.
//!
//! [`QUIRKS`] is the only list: the world looks up identifiers in it, the README contains it, and the
//! tests iterate over it.

mod scene;
mod table;

pub(crate) use scene::{BadUrl, Page, Refusal, Scene, Text, Tracks, Trouble};
pub(crate) use table::DETAILS_FROM;
pub use table::QUIRKS;

/// The kind of an identifier in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A video: 11 characters.
    Video,
    /// A channel: `UC` and 22 characters.
    Channel,
    /// A playlist.
    Playlist,
    /// A comment or a thread.
    Comment,
    /// A handle, with its `@`.
    Handle,
    /// A name from the time before handles, for `forUsername`.
    Username,
    /// A video identifier that makes `videos.list` and `commentThreads.list` fail.
    Error,
    /// A video whose watch page, player or captions are odd; ordinary for the Data API.
    Transcript,
    /// Words for `q` of `search.list`.
    Search,
}

/// One documented oddity.
#[derive(Clone, Copy, Debug)]
pub struct Quirk {
    /// The identifier to request.
    pub id: &'static str,
    /// A description of the unusual answer.
    pub what: &'static str,
    pub(crate) case: Case,
}

impl Quirk {
    /// The kind of the identifier.
    pub fn kind(&self) -> Kind {
        match self.case {
            Case::Video(_) => Kind::Video,
            Case::Channel(_) => Kind::Channel,
            Case::Playlist(_) => Kind::Playlist,
            Case::Comment(_) => Kind::Comment,
            Case::Handle => Kind::Handle,
            Case::Username => Kind::Username,
            Case::Error(_) => Kind::Error,
            Case::Transcript(_) => Kind::Transcript,
            Case::Search(_) => Kind::Search,
        }
    }
}

/// The behaviour of the simulator for a quirk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Video(VideoQuirk),
    Channel(ChannelQuirk),
    Playlist(PlaylistQuirk),
    Comment(CommentQuirk),
    /// Handles and usernames belong to channels of the cast; the table only documents them.
    Handle,
    Username,
    /// The reason in the catalogue of errors.
    Error(&'static str),
    /// An ordinary video for the Data API.
    Transcript(Scene),
    /// The identifier is a query.
    Search(SearchQuirk),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoQuirk {
    NoLikes,
    NoComments,
    NoViews,
    FavouritesOnly,
    OldEra,
    Bare,
    NoTags,
    Blocked,
    Allowed,
    EmptyRating,
    Thumbnails(usize),
    Scripts,
    Upcoming,
    ScheduledOnly,
    Live,
    PastLive,
    Processing,
    Duration(&'static str),
    Fraction(&'static str),
    HtmlComments,
    ShortCommentPages,
    ManyReplies,
    AnonymousComments,
    CommentLoop,
    NoThreads,
    Private,
    Deleted,
    Absent,
    /// The description and the length in seconds.
    Chapters(&'static str, u64),
    /// The shape and the length in seconds.
    Framed(Frame, u64),
    /// The same, with `#shorts` in the title.
    Hashtag(Frame, u64),
    /// Upcoming, with a chat.
    UpcomingChat,
    /// Upcoming, with a length.
    Premiere,
    /// Upcoming although its time is over.
    Overdue,
    LiveWithoutViewers,
    LiveUnscheduled,
    EndedUnscheduled,
    /// Ended, but still being processed.
    EndedProcessing,
    NotEmbeddable,
    ForKids,
    CreativeCommons,
    Unlisted,
    Stereoscopic,
    AgeRestricted,
    AllowedNowhere,
    Topics,
    PaidPromotion,
    Languages,
    Recorded,
    Sparse,
    Entities,
    Changing(Course),
}

/// The times of a documented video that changes, in seconds from the start of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) published: i64,
    /// When its captions appear; `None` if it has them from the beginning.
    pub(crate) captions: Option<i64>,
    /// When its live broadcast ends; `None` for an upload.
    pub(crate) ended: Option<i64>,
    pub(crate) private: Option<i64>,
    pub(crate) deleted: Option<i64>,
}

/// The shape of a video's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Wide,
    Vertical,
    Square,
    /// The platform does not report it.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelQuirk {
    HiddenSubscribers,
    HiddenButZero,
    NoCountry,
    UrlWithoutAt,
    NoUrl,
    NoDate,
    OldEra,
    EmptyItems,
    Unknown,
    SearchOnly,
    NoUploads,
    Bare,
    LikesAbsent,
    Archive,
    ClosedPlaylists,
    Feed(FeedQuirk),
    /// The number of playlists.
    Playlists(u32),
    ShortPlaylistPages,
    PlaylistLoop,
}

/// An odd feed of a channel or a playlist that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedQuirk {
    Status(u16),
    /// Only the first calls fail.
    StatusTimes(u16, u64),
    NoEntries,
    Truncated,
    Html,
    LeadingNewline,
    /// The id of the channel is empty, as in November 2022.
    EmptyId,
    /// The id of the channel begins with `UC`, as before August 2022.
    PrefixedId,
    Doctype,
    /// The newest videos are missing.
    Stale,
}

/// An odd result list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchQuirk {
    ShortPages,
    EmptyPage,
    EmptyButTotal,
    Nothing,
    Repeats,
    Deleted,
    ChannelAmongVideos,
    NoSnippet,
    Million,
    ChangingTotal,
    TokenLoop,
    OldEra,
    Unescaped,
    Entities,
    LiveChannels,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaylistQuirk {
    Sized(u32),
    Empty,
    Private,
    Unknown,
    ShortPages,
    EmptyPage,
    TokenLoop,
    AllGone,
    Duplicates,
    Unavailable,
    Vanished,
    OtherOwner,
    BareItems,
    NoOwner,
    NoVideoDate,
    Fractions,
    TwoThumbnails,
    Album,
    Tags,
    Unlisted,
    Favourites,
    EveryVideo,
    EveryTranscript,
    Mixed,
    Forbidden(&'static str),
    Feed(FeedQuirk),
    EveryDetail,
    EveryChapters,
    EveryChanging,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentQuirk {
    /// The first thread of the video with [`VideoQuirk::ManyReplies`].
    ManyReplies,
    /// An identifier from before 2016: the answer carries the identifier of [`Self::Renamed`].
    OldName,
    Renamed,
    /// A thread about a channel: no `videoId`.
    ChannelThread,
    /// Neither `videoId` nor `channelId`.
    NowhereThread,
    Unknown,
}

/// The row of an identifier, with its row number.
pub(crate) fn find(id: &str) -> Option<(u32, &'static Quirk)> {
    let row = QUIRKS.iter().position(|quirk| quirk.id == id)?;
    Some((row as u32, &QUIRKS[row]))
}

/// The row of a case, with its row number.
pub(crate) fn row_of(case: Case) -> Option<(u32, &'static Quirk)> {
    let row = QUIRKS.iter().position(|quirk| quirk.case == case)?;
    Some((row as u32, &QUIRKS[row]))
}

/// The table in Markdown, as in the README.
pub fn markdown() -> String {
    let mut text = String::from("| kind | id | what is odd |\n| --- | --- | --- |\n");
    for quirk in QUIRKS {
        let kind = format!("{:?}", quirk.kind()).to_lowercase();
        text.push_str(&format!("| {kind} | `{}` | {} |\n", quirk.id, quirk.what));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn quirk_identifiers_are_unique_and_well_formed() {
        let mut seen = HashSet::new();
        for quirk in QUIRKS {
            assert!(seen.insert(quirk.id), "{} twice", quirk.id);
            let length = quirk.id.len();
            match quirk.kind() {
                Kind::Video | Kind::Error | Kind::Transcript => {
                    assert_eq!(length, 11, "{}", quirk.id);
                }
                Kind::Channel => {
                    assert!(quirk.id.starts_with("UC") && length == 24, "{}", quirk.id);
                }
                Kind::Playlist => assert!((2..=64).contains(&length), "{}", quirk.id),
                Kind::Comment => assert!(length >= 20, "{}", quirk.id),
                Kind::Handle => assert!(quirk.id.starts_with('@'), "{}", quirk.id),
                Kind::Username => assert!(!quirk.id.is_empty()),
                Kind::Search => assert!(quirk.id.starts_with("quirk "), "{}", quirk.id),
            }
        }
    }
}
