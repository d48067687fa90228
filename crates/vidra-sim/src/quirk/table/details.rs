//! The rows of search, feeds, charts, details of videos, and chapters.

use super::{channel, playlist, video};
use crate::quirk::ChannelQuirk as C;
use crate::quirk::FeedQuirk as F;
use crate::quirk::Frame;
use crate::quirk::PlaylistQuirk as P;
use crate::quirk::SearchQuirk as S;
use crate::quirk::VideoQuirk as V;
use crate::quirk::{Case, Quirk};

const fn search(id: &'static str, quirk: S, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Search(quirk) }
}

const fn feed(id: &'static str, quirk: F, what: &'static str) -> Quirk {
    channel(id, C::Feed(quirk), what)
}

/// A video of that many seconds with that description.
const fn chapters(id: &'static str, seconds: u64, what: &'static str, text: &'static str) -> Quirk {
    video(id, V::Chapters(text, seconds), what)
}

/// The texts of chapters are complete descriptions: a time in an explanation would be one more.
#[rustfmt::skip] // one row per line
pub(super) const DETAILS: &[Quirk] = &[
    // Chapters.
    chapters("chapPlain__", 900, "chapters: a time and a title per line", "How the harbour works.\n\n0:00 Intro\n1:05 The lock\n4:10 High water\n9:59 The night shift\n\nThanks for watching!"),
    chapters("chapBracket", 900, "chapters: times in square brackets", "In this episode:\n[0:00] Introduction\n[0:45] What we found\n[3:20] Why it matters\n[11:02] Credits"),
    chapters("chapParens_", 900, "chapters: times in round brackets", "(0:00) Warm-up\n(2:30) First set\n(7:45) Second set"),
    chapters("chapDash___", 5000, "chapters: times of two digits, a dash before the title, an hour later", "Demos, in order of recording.\n\n00:00 - Incoming Tide\n06:06 - One Way Ferry\n33:24 - Headland\n1:01:52 - Quay Feeder\n1:14:05 - Outro"),
    chapters("chapLongDas", 900, "chapters: a long dash, no space, a vertical bar", "0:00 – Start\n1:10—The tools\n5:00 | The joint\n8:20: The finish"),
    chapters("chapBullet_", 900, "chapters: a dash before the time and a colon after it", "- 0:00 :  Opening\n- 2:15 :  Platform four\n- 6:40 :  Last stop"),
    chapters("chapNumberd", 900, "chapters: a consecutive number before the time", "01 00:00 The Quiet Signal\n02 03:12 Level Crossing\n03 06:48 Branch Line"),
    chapters("chapTimeEnd", 900, "chapters: the time at the end of the line", "01. My Old Boat 0:00\n02. This Old Rope 3:40\n03. Baby Wave 6:06\n04. For The First Tide 8:42"),
    chapters("chapRanges_", 900, "chapters: ranges without spaces", "00:00-01:48 Welcome\n01:48-05:30 The recipe\n05:30-14:00 The oven"),
    chapters("chapGaps___", 3600, "chapters: ranges with hours and with gaps between them", "0:00:00 - 0:07:51 Intro & first game\n0:08:48 - 0:17:26 Dodgeball: all teams\n0:17:46 - 0:20:31 Choose your path"),
    chapters("chapHours__", 8000, "chapters: hours from the first line on", "0:00:00 Arrival\n0:59:50 The long table\n1:30:00 Questions\n2:10:09 Farewell"),
    chapters("chapCrLf___", 900, "chapters: lines that end in CRLF", "Links below.\r\n\r\n0:00 Hello\r\n2:00 The map\r\n6:00 The walk\r\n"),
    chapters("chapEmoji__", 900, "chapters: a symbol before the time", "▶ 0:00 Start\n⏱ 1:30 The climb\n🏁 10:00 The finish"),
    chapters("chapTypo___", 900, "chapters: a typing error (`9;17`), so that one line is not a chapter", "0:00 Intro\n3:05 The bearings\n6:10 The chain\n9;17 The brakes\n12:00 The ride"),
    chapters("chapTwoList", 1500, "two lists of times; only the first begins at 0:00", "0:00 Part one\n5:00 Part two\n10:00 Part three\n\nBest moments:\n7:12 The fall\n2:40 The laugh"),
    chapters("chapScripts", 900, "chapters with titles in several scripts", "0:00 はじめに\n1:30 المقدمة\n4:00 다음 역\n9:00 Über den Fluss"),
    chapters("chapNoTitle", 900, "chapters of which one has no title", "0:00 Intro\n2:00\n5:00 The middle\n9:00 The end"),
    chapters("nochLast5s_", 600, "no chapters by the rule: the last lasts only five seconds", "0:00 Intro\n3:00 The test\n9:55 Bye"),
    chapters("nochLate___", 900, "no chapters: the first time is 1:19", "1:19 The shop\n3:00 The street\n5:30 The square"),
    chapters("nochTwo____", 900, "no chapters: only two times", "0:00 Intro\n5:00 The answer"),
    chapters("nochProse__", 900, "no chapters: times of day in sentences", "The train leaves at 8:35 a.m. from platform four.\nWe were there at 7:50 and the café opens at 0:00, they said.\nRead more at 10:15 tomorrow."),
    chapters("nochErratum", 900, "no chapters: a correction that mentions a time", "Correction: at 2:26 I say \"north\" and mean \"south\". Sorry!"),
    chapters("nochOneLine", 900, "no chapters: all times on one line", "0:00 Intro 2:10 The map 5:45 The hill 9:00 Home"),
    chapters("nochTooNear", 900, "no chapters: some are shorter than ten seconds", "0:00 Intro\n0:05 Logo\n0:09 Hello\n5:00 The rest"),
    chapters("nochDisordr", 900, "no chapters: the times are not in ascending order", "0:00 Intro\n6:00 The end\n3:00 The middle\n1:00 The start"),
    chapters("nochPastEnd", 90, "no chapters: the times are beyond the end of the video", "0:00 Intro\n1:12 What we need\n4:40 The hard part\n9:05 Summary"),
    chapters("nochLengths", 900, "no chapters: the lengths of songs", "A1 Low Tide Waltz 3:45\nA2 Nine Lamps ----------4:32-\nB1 Paper Boats 5:01"),
    chapters("nochScores_", 900, "no chapters: results of matches", "Harbour v Hill 2:1\nHill v Valley 0:0\nValley v Harbour 3:2"),
    // Short videos.
    video("shortVertic", V::Framed(Frame::Vertical, 45), "vertical, 45 s: `embedHeight` is more than `embedWidth`; feeds link to `/shorts/`"),
    video("shortThreeM", V::Framed(Frame::Vertical, 178), "vertical, 2:58: still a Short"),
    video("shortTooLng", V::Framed(Frame::Vertical, 300), "vertical, but five minutes long: not a Short"),
    video("shortSquare", V::Framed(Frame::Square, 58), "square, 58 s: a Short"),
    video("shortWide__", V::Framed(Frame::Wide, 45), "wide, 45 s: not a Short"),
    video("shortNoSize", V::Framed(Frame::Unknown, 30), "30 s; `embedWidth` and `embedHeight` always absent"),
    video("shortHashTg", V::Hashtag(Frame::Unknown, 50), "`#shorts` in the title, 50 s; `embedWidth` and `embedHeight` absent"),
    video("shortHashWd", V::Hashtag(Frame::Wide, 50), "`#shorts` in the title, 50 s, but wide"),
    video("shortHashLg", V::Hashtag(Frame::Wide, 900), "`#shorts` in the title of a video of 15 minutes"),
    // Broadcasts.
    video("liveWaiting", V::UpcomingChat, "upcoming: `scheduledStartTime` and `activeLiveChatId`, 0 views"),
    video("livePremier", V::Premiere, "upcoming premiere: `liveBroadcastContent` is `upcoming` although it has a duration"),
    video("liveOverdue", V::Overdue, "upcoming although `scheduledStartTime` is years ago"),
    video("liveNoViewr", V::LiveWithoutViewers, "live now: `concurrentViewers` absent"),
    video("liveUnpland", V::LiveUnscheduled, "live now: `scheduledStartTime` absent"),
    video("liveEndBare", V::EndedUnscheduled, "ended: only `actualStartTime` and `actualEndTime`"),
    video("liveEndProc", V::EndedProcessing, "ended, but the recording is being processed: `P0D`, `uploadStatus` is `uploaded`"),
    // Other details.
    video("statNoEmbed", V::NotEmbeddable, "`embeddable` is false"),
    video("statForKids", V::ForKids, "`madeForKids` is true"),
    video("statCommons", V::CreativeCommons, "`license` is `creativeCommon`"),
    video("statUnlistd", V::Unlisted, "`privacyStatus` is `unlisted`"),
    video("cont3d360__", V::Stereoscopic, "`dimension` is `3d`, `projection` is `360`"),
    video("contAgeRate", V::AgeRestricted, "`contentRating.ytRating`; `safeSearch=strict` does not find it"),
    video("contNowhere", V::AllowedNowhere, "`regionRestriction.allowed` is empty: blocked everywhere"),
    video("contSparse_", V::Sparse, "`contentDetails` contains only `duration`, `status` only two members; `topicDetails` is `{}`, `player` absent"),
    video("topicsSevrl", V::Topics, "four `topicCategories`, one without a title after its last slash; repeated `relevantTopicIds`"),
    video("paidPromotn", V::PaidPromotion, "`hasPaidProductPlacement` is true"),
    video("langDiffer_", V::Languages, "`defaultLanguage` is `de`, `defaultAudioLanguage` is `en-GB`"),
    video("recordDated", V::Recorded, "`recordingDetails.recordingDate`, at midnight"),
    video("titleEntity", V::Entities, "`&`, quotes, apostrophes and a literal `&amp;` in the title; escaped in search results"),
    // Playlists of these.
    playlist("PLquirkChapters", P::EveryChapters, "all videos from `chapPlain__` to `nochScores_`"),
    playlist("PLquirkDetails", P::EveryDetail, "all videos from `shortVertic` to `titleEntity`"),
    // Searches.
    search("quirk short page", S::ShortPages, "120 results, pages with fewer results than requested; more follow"),
    search("quirk empty page", S::EmptyPage, "the second page has a `nextPageToken` but no items"),
    search("quirk empty but total", S::EmptyButTotal, "`items: []` although `totalResults` is 23; no `nextPageToken`"),
    search("quirk nothing", S::Nothing, "`items: []`, `totalResults` is 0"),
    search("quirk again", S::Repeats, "the last result of a page is repeated as the first of the next page"),
    search("quirk deleted", S::Deleted, "every third result is deleted: `videos.list` omits it"),
    search("quirk channel among videos", S::ChannelAmongVideos, "the first result is a channel although `type=video`"),
    search("quirk no snippet", S::NoSnippet, "every fifth result has no `snippet`"),
    search("quirk million", S::Million, "500 results in total although `totalResults` is 1,000,000"),
    search("quirk changing total", S::ChangingTotal, "`totalResults` is different on every page"),
    search("quirk token loop", S::TokenLoop, "the `nextPageToken` of the second page is its own token: an endless loop"),
    search("quirk old era", S::OldEra, "an answer of 2019: milliseconds, quoted etags, no `publishTime`"),
    search("quirk unescaped", S::Unescaped, "titles that are not HTML-escaped, whole descriptions, five thumbnails, as for related videos before 2023"),
    search("quirk entities", S::Entities, "`titleEntity` and videos of \"Bench & Chisel\": titles are escaped, `channelTitle` and descriptions are not"),
    search("quirk live channels", S::LiveChannels, "channels: three have `liveBroadcastContent` `upcoming` and one `live`"),
    // Feeds of channels that exist.
    feed("UCquirkFeedMissing000000", F::Status(404), "its feed is always 404 with an HTML page"),
    feed("UCquirkFeedBackSoon00000", F::StatusTimes(404, 2), "its feed is 404 for two requests, then good"),
    feed("UCquirkFeedBroken0000000", F::Status(500), "its feed is always 500"),
    feed("UCquirkFeedBrokenOnce000", F::StatusTimes(500, 1), "its feed is 500 for one request, then good"),
    feed("UCquirkFeedEmpty00000000", F::NoEntries, "its feed has no entries although it has videos"),
    feed("UCquirkFeedTruncated0000", F::Truncated, "its feed ends in the middle of an entry"),
    feed("UCquirkFeedHtml000000000", F::Html, "its feed is an HTML page with status 200"),
    feed("UCquirkFeedNewline000000", F::LeadingNewline, "its feed begins with a line feed before the XML declaration"),
    feed("UCquirkFeedNoId000000000", F::EmptyId, "the feed's own `yt:channelId` is empty, as in November 2022"),
    feed("UCquirkFeedOldId00000000", F::PrefixedId, "the feed's own `yt:channelId` begins with `UC`, as before August 2022"),
    feed("UCquirkFeedDoctype000000", F::Doctype, "its feed has a `DOCTYPE` with an external entity"),
    feed("UCquirkFeedStale00000000", F::Stale, "its feed lacks the three newest videos"),
    playlist("PLquirkFeedMissing", P::Feed(F::Status(404)), "an ordinary playlist whose feed is always 404"),
    playlist("PLquirkFeedBroken", P::Feed(F::Status(500)), "an ordinary playlist whose feed is always 500"),
    // Playlists of a channel.
    channel("UCquirkNoLists0000000000", C::Playlists(0), "no playlists: `items: []`, 0 of 50"),
    channel("UCquirkManyLists00000000", C::Playlists(338), "338 playlists: seven pages of 50"),
    channel("UCquirkListPages00000000", C::ShortPlaylistPages, "120 playlists reported, 65 returned: pages of 45, 0 and 20"),
    channel("UCquirkListLoop000000000", C::PlaylistLoop, "the `nextPageToken` of the second page of its playlists is its own token: an endless loop"),
];
