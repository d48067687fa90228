//! The table of documented oddities.

mod changing;
mod details;
mod transcripts;

use super::ChannelQuirk as C;
use super::CommentQuirk as T;
use super::PlaylistQuirk as P;
use super::VideoQuirk as V;
use super::{Case, Quirk};
use changing::CHANGING;
use details::DETAILS;
use transcripts::TRANSCRIPTS;

const fn video(id: &'static str, quirk: V, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Video(quirk) }
}

const fn channel(id: &'static str, quirk: C, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Channel(quirk) }
}

const fn playlist(id: &'static str, quirk: P, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Playlist(quirk) }
}

const fn comment(id: &'static str, quirk: T, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Comment(quirk) }
}

const fn error(id: &'static str, reason: &'static str, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Error(reason) }
}

/// Every documented identifier. They are the same for every seed.
pub const QUIRKS: &[Quirk] = &JOINED;

/// The first row of the second part of the table.
pub(crate) const DETAILS_FROM: usize = DATA.len() + TRANSCRIPTS.len() + LATER.len();

/// The first row of videos that change.
const CHANGING_FROM: usize = DETAILS_FROM + DETAILS.len();

static JOINED: [Quirk; CHANGING_FROM + CHANGING.len()] = {
    let mut all = [DATA[0]; CHANGING_FROM + CHANGING.len()];
    let mut row = 1;
    while row < all.len() {
        all[row] = if row < DATA.len() {
            DATA[row]
        } else if row < DATA.len() + TRANSCRIPTS.len() {
            TRANSCRIPTS[row - DATA.len()]
        } else if row < DETAILS_FROM {
            LATER[row - DATA.len() - TRANSCRIPTS.len()]
        } else if row < CHANGING_FROM {
            DETAILS[row - DETAILS_FROM]
        } else {
            CHANGING[row - CHANGING_FROM]
        };
        row += 1;
    }
    all
};

/// Rows that came after those. The number of a row decides its content, so a new row comes last in `CHANGING`.
const LATER: &[Quirk] =
    &[playlist("PLsize120", P::Sized(120), "120 entries: two full pages and a short one")];

/// The rows of the Data API.
const DATA: &[Quirk] = &[
    // Videos: counts.
    video("quirkNoLike", V::NoLikes, "`likeCount` absent (hidden likes)"),
    video(
        "quirkNoComm",
        V::NoComments,
        "`commentCount` absent; `commentThreads.list` answers 403 `commentsDisabled`",
    ),
    video("quirkNoView", V::NoViews, "`viewCount` absent although `publicStatsViewable` is true"),
    video("quirkFavOnl", V::FavouritesOnly, "`statistics` contains only `favoriteCount`"),
    video(
        "quirkOldEra",
        V::OldEra,
        "an answer of 2019: `dislikeCount`, quoted etags, milliseconds, one-space indentation, `pageInfo` before `items`, `\\u003c` escapes",
    ),
    // Videos: missing members.
    video("quirkBareId", V::Bare, "only `kind`, `etag` and `id`, for any requested parts"),
    video("quirkNoTags", V::NoTags, "no `tags`, no languages, `description` is empty"),
    video("quirkBlockd", V::Blocked, "`regionRestriction.blocked`"),
    video("quirkAllowd", V::Allowed, "`regionRestriction.allowed`"),
    video("quirkRating", V::EmptyRating, "`contentRating` absent, `recordingDetails` is `{}`"),
    video("quirkThumb3", V::Thumbnails(3), "thumbnails: default, medium, high"),
    video("quirkThumb4", V::Thumbnails(4), "thumbnails: default, medium, high, standard"),
    video(
        "quirkScript",
        V::Scripts,
        "title and description with CRLF, emoji outside the BMP, CJK, right-to-left text, no-break and zero-width spaces",
    ),
    // Videos: live, times, durations.
    video(
        "quirkUpcomg",
        V::Upcoming,
        "upcoming live: `P0D`, `_live.jpg` thumbnails, no views, `uploadStatus` is `uploaded`",
    ),
    video(
        "quirkSchedl",
        V::ScheduledOnly,
        "`liveStreamingDetails` contains only `scheduledStartTime`",
    ),
    video("quirkLiveOn", V::Live, "live now: `P0D`, `concurrentViewers`"),
    video("quirkLivePt", V::PastLive, "a past live: four times in `liveStreamingDetails`"),
    video("quirkProcss", V::Processing, "an upload still being processed: `P0D` although not live"),
    video("quirkDurSec", V::Duration("PT12S"), "duration `PT12S`"),
    video("quirkDurMin", V::Duration("PT34M"), "duration `PT34M`: no seconds part"),
    video("quirkDurHrs", V::Duration("PT1H1M17S"), "duration `PT1H1M17S`"),
    video("quirkDurDay", V::Duration("P1DT2H3M4S"), "duration `P1DT2H3M4S`"),
    video("quirkDurOne", V::Duration("P1D"), "duration `P1D`: a whole day"),
    video("quirkDurWek", V::Duration("P1W"), "duration `P1W`: a week"),
    video("quirkDurNul", V::Duration("PT0S"), "duration `PT0S`"),
    video("quirkFrac3x", V::Fraction(".000"), "`publishedAt` with milliseconds"),
    video("quirkFrac4x", V::Fraction(".1344"), "`publishedAt` with four fractional digits"),
    video("quirkFrac6x", V::Fraction(".776363"), "`publishedAt` with six fractional digits"),
    // Videos: their comments.
    video(
        "quirkHtmlCm",
        V::HtmlComments,
        "comments whose `textDisplay` is HTML: `<br>`, links, time marks, entities; emoji, right-to-left text, CJK; one edited, one liked by the viewer, both id endings",
    ),
    video(
        "quirkShortC",
        V::ShortCommentPages,
        "137 threads in pages of about 20 although 100 are requested (`order=time`)",
    ),
    video("quirkManyRp", V::ManyReplies, "a thread with 250 replies, of which it includes five"),
    video(
        "quirkAnonCm",
        V::AnonymousComments,
        "comments without `authorChannelId` (deleted accounts)",
    ),
    video(
        "quirkCmLoop",
        V::CommentLoop,
        "the `nextPageToken` of the second page of threads is its own token",
    ),
    video("quirkCmZero", V::NoThreads, "comments are enabled, but there are none"),
    // Videos that are not served.
    video(
        "quirkPrivat",
        V::Private,
        "private: `videos.list` omits it, playlists show \"Private video\", its comments are 403 `forbidden`",
    ),
    video(
        "quirkDeletd",
        V::Deleted,
        "deleted: `videos.list` omits it, playlists show \"Deleted video\", its comments are 404 `videoNotFound`",
    ),
    video(
        "quirkAbsent",
        V::Absent,
        "never existed: `videos.list` omits it, its comments are 404 `videoNotFound`",
    ),
    // Channels.
    channel(
        "UCquirkHiddenSubs0000000",
        C::HiddenSubscribers,
        "`hiddenSubscriberCount` is true, `subscriberCount` absent",
    ),
    channel(
        "UCquirkHiddenZero0000000",
        C::HiddenButZero,
        "`hiddenSubscriberCount` is true, `subscriberCount` is \"0\"",
    ),
    channel("UCquirkNoCountry00000000", C::NoCountry, "`country` absent"),
    channel("UCquirkUrlWithoutAt00000", C::UrlWithoutAt, "`customUrl` without its `@`"),
    channel("UCquirkNoCustomUrl000000", C::NoUrl, "`customUrl` absent"),
    channel("UCquirkNoPublishedAt0000", C::NoDate, "`publishedAt` absent"),
    channel(
        "UCquirkOldEra00000000000",
        C::OldEra,
        "an answer of 2019: `statistics.commentCount`, `watchHistory` \"HL\", `watchLater` \"WL\", repeated `topicIds`, quoted etags, milliseconds",
    ),
    channel(
        "UCquirkItemsEmpty0000000",
        C::EmptyItems,
        "unknown: the answer has `items: []` and 0 of 0",
    ),
    channel(
        "UCquirkItemsAbsent000000",
        C::Unknown,
        "unknown: the answer has no `items` member, as for all other unknown ids, handles and names",
    ),
    channel(
        "UCquirkSearchOnly0000000",
        C::SearchOnly,
        "\"Lantern Bay Tapes\": neither a handle nor a username; only `search.list` finds it",
    ),
    channel(
        "UCquirkNoUploads00000000",
        C::NoUploads,
        "no videos: its uploads playlist is 404 `playlistNotFound`",
    ),
    channel("UCquirkBareId00000000000", C::Bare, "only `kind`, `etag` and `id`"),
    channel(
        "UCquirkLikesAbsent000000",
        C::LikesAbsent,
        "`relatedPlaylists` without `likes` (for other channels it is \"\")",
    ),
    channel(
        "UCquirkManyUploads000000",
        C::Archive,
        "20,000 uploads; their playlist is `UUquirkManyUploads000000`",
    ),
    channel(
        "UCquirkClosedLists000000",
        C::ClosedPlaylists,
        "`playlists.list` by this channel is 403 `channelForbidden`",
    ),
    Quirk {
        id: "@fermata",
        what: "a handle; found with or without `@`, in upper or lower case",
        case: Case::Handle,
    },
    Quirk { id: "@müsliküche", what: "a handle with letters outside ASCII", case: Case::Handle },
    Quirk { id: "@ao.zora-obs", what: "a handle with a dot and a hyphen", case: Case::Handle },
    Quirk {
        id: "NightTrainDiaries",
        what: "a username, which predates handles: `forUsername` finds it, `forHandle` does not",
        case: Case::Username,
    },
    // Playlists: sizes.
    playlist("PLsize0", P::Sized(0), "0 entries"),
    playlist("PLsize1", P::Sized(1), "1 entry"),
    playlist("PLsize49", P::Sized(49), "49 entries"),
    playlist("PLsize50", P::Sized(50), "50 entries: exactly one page"),
    playlist("PLsize51", P::Sized(51), "51 entries"),
    playlist("PLsize100", P::Sized(100), "100 entries"),
    playlist("PLsize200", P::Sized(200), "200 entries"),
    playlist("PLsize500", P::Sized(500), "500 entries"),
    playlist("PLsize5000", P::Sized(5000), "5,000 entries, the cap of a playlist"),
    playlist("PLsize20000", P::Sized(20_000), "20,000 entries, the cap of an uploads playlist"),
    // Playlists: paging.
    playlist("PLquirkEmpty", P::Empty, "no entries: `items: []`, 0 of 50"),
    playlist(
        "PLquirkShortPages",
        P::ShortPages,
        "156 entries reported, 141 returned: pages of 49, 41, 45 and 6",
    ),
    playlist(
        "PLquirkEmptyPage",
        P::EmptyPage,
        "the second of three pages has a `nextPageToken` but no items",
    ),
    playlist(
        "PLquirkTokenLoop",
        P::TokenLoop,
        "the `nextPageToken` of the second page is its own token: an endless loop",
    ),
    // Playlists: access.
    playlist(
        "PLquirkPrivate",
        P::Private,
        "private: 403 `playlistItemsNotAccessible`; `playlists.list` returns no items",
    ),
    playlist(
        "PLquirkUnknown",
        P::Unknown,
        "unknown: 404 `playlistNotFound`; `playlists.list` returns no items",
    ),
    playlist(
        "PLquirkForbidden",
        P::Forbidden("playlistForbidden"),
        "403 `playlistForbidden`, from both methods",
    ),
    playlist(
        "LLquirkLikes000000000000",
        P::Private,
        "the likes of a channel, which are also private",
    ),
    playlist("WL", P::Forbidden("watchLaterNotAccessible"), "403 `watchLaterNotAccessible`"),
    playlist("HL", P::Forbidden("watchHistoryNotAccessible"), "403 `watchHistoryNotAccessible`"),
    // Playlists: entries.
    playlist("PLquirkAllGone", P::AllGone, "twelve entries, all private or deleted"),
    playlist("PLquirkDuplicates", P::Duplicates, "60 entries, 20 different videos"),
    playlist(
        "PLquirkUnavailable",
        P::Unavailable,
        "30 entries, every fifth private, every seventh deleted, the others public",
    ),
    playlist(
        "PLquirkVanished",
        P::Vanished,
        "ten entries that look public; `videos.list` returns only those at even positions",
    ),
    playlist(
        "PLquirkOtherOwner",
        P::OtherOwner,
        "every video belongs to a different channel than the playlist",
    ),
    playlist("PLquirkBareItems", P::BareItems, "only `kind`, `etag` and `id`"),
    playlist(
        "PLquirkNoOwner",
        P::NoOwner,
        "entries of 2019: no `videoOwnerChannelTitle`, no `videoOwnerChannelId`",
    ),
    playlist("PLquirkNoVideoDate", P::NoVideoDate, "entries of 2015: also no `videoPublishedAt`"),
    playlist(
        "PLquirkFractions",
        P::Fractions,
        "`publishedAt` with none, three, four, five or six fractional digits",
    ),
    playlist(
        "PLquirkEveryVideo",
        P::EveryVideo,
        "all videos from `quirkNoLike` to `quirkDeletd`, the private and the deleted included",
    ),
    playlist("PLquirkTranscripts", P::EveryTranscript, "all transcripts of this table"),
    playlist(
        "PLquirkMixed",
        P::Mixed,
        "twelve entries: every second one has captions, the others fail for different reasons",
    ),
    // Playlists: themselves.
    playlist(
        "PLquirkTwoThumbnails",
        P::TwoThumbnails,
        "thumbnails: medium and standard, no default",
    ),
    playlist(
        "OLAK5uy_quirkAlbum00000000000000000000000",
        P::Album,
        "an album: thumbnails medium, standard, maxres, square, no default",
    ),
    playlist("FLquirkFavourites0000000", P::Favourites, "favourites: an id in another format"),
    playlist("PLquirkTags", P::Tags, "a playlist with `snippet.tags`"),
    playlist(
        "PLquirkUnlisted",
        P::Unlisted,
        "`privacyStatus` is `unlisted`, `description` is empty",
    ),
    // Comments.
    comment("UgquirkManyReplies04AaABAg", T::ManyReplies, "the thread with 250 replies"),
    comment("UgquirkNewName000004AaABAg", T::Renamed, "the new id of the next comment"),
    comment(
        "z13quirkoldname00000000000000000004",
        T::OldName,
        "a comment id from before 2016: the answer has the id `UgquirkNewName000004AaABAg`",
    ),
    comment(
        "UgquirkAboutChannel4AaABAg",
        T::ChannelThread,
        "a thread about a channel: `channelId`, no `videoId`",
    ),
    comment(
        "UgquirkNowhere000004AaABAg",
        T::NowhereThread,
        "a thread with neither `videoId` nor `channelId`",
    ),
    comment(
        "UgquirkUnknown000004AaABAg",
        T::Unknown,
        "unknown: 404 `commentNotFound`, as a thread 404 `commentThreadNotFound`",
    ),
    // Errors, requested as a video.
    error("errQuota403", "quotaExceeded", "403 `quotaExceeded`, HTML in the message"),
    error("errDaily403", "dailyLimitExceeded", "403 `dailyLimitExceeded`, the older reason for it"),
    error("errRate_403", "userRateLimitExceeded", "403 `userRateLimitExceeded`"),
    error("errRate_429", "rateLimitExceeded", "429 `rateLimitExceeded`"),
    error("errKey__400", "API_KEY_INVALID", "400 `badRequest`, `API_KEY_INVALID` in the details"),
    error("errKeyOl400", "keyInvalid", "400 `keyInvalid`, as in 2019"),
    error(
        "errKeyBl403",
        "API_KEY_SERVICE_BLOCKED",
        "403 `forbidden`, `API_KEY_SERVICE_BLOCKED` in the details",
    ),
    error(
        "errNoApi403",
        "accessNotConfigured",
        "403 `accessNotConfigured`, details in two formats",
    ),
    error("errCore_403", "SERVICE_UNAVAILABLE", "403 `SERVICE_UNAVAILABLE`"),
    error("errSubsc403", "subscriptionForbidden", "403 `subscriptionForbidden`"),
    error("errAuth_401", "authError", "401 `authError`"),
    error("errProcs400", "processingFailure", "400 `processingFailure`"),
    error("errInter500", "internalError", "500 `internalError`"),
    error("errBackn503", "backendError", "503 `backendError`"),
    error("errHtml_502", "html", "502 with an HTML page"),
    error("errTextOnly", "string", "400 whose `error` is a plain string"),
];
