//! Patterns of identifiers and parameters in the OpenAPI document.
//!
//! They are for tools that generate or check requests. They allow the URL forms that the platform writes;
//! the service also accepts others (`HTTP://YOUTUBE.COM:80/…`). It accepts everything that a pattern
//! allows.

use vidra::{
    CaptionKind, ChunkBy, Reason, SafeSearch, SearchKind, SearchLength, SearchLive, SearchOrder,
};
use vidra_library::{ItemState, JobState, Period, SearchGroup, SearchSort, VideoState};

/// The maximum number of characters of an identifier, including the URL around it.
pub(super) const MAX_ID_CHARS: usize = 2048;

macro_rules! letters {
    () => {
        r"A-Za-z0-9\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u024F\u03B1-\u03C9\u0400-\u0481\u05D0-\u05EA\u0620-\u064A\u0905-\u0939\u0E01-\u0E30\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FA5\uAC00-\uD7A3"
    };
}

/// Routes of the library, whose parameters differ from those of others.
const SEARCH: &str = "/api/library/search";
const TRENDS: &str = "/api/library/trends";
const VIDEOS: &str = "/api/library/videos";

const JOB_ID: &str = "^[0-9a-f]{32}$";
const COLLECTION_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$";
const VIDEO: &str = "[A-Za-z0-9_-]{11}";
/// A prefix in use, or another one and more characters than a video has, or an old id without a prefix.
const PLAYLIST: &str = "((PL|UU|FL|LL|LM|WL|HL|RD|EL|EC|TL|PU|UL)[A-Za-z0-9_-]{0,62}\
    |([A-TV-Z][A-Z]|U[ABD-Z])[A-Za-z0-9_-]{10,62}|[0-9A-F]{16})";
/// Eleven characters are a video.
const COMMENT: &str =
    r"([A-Za-z0-9_-]{2,10}|[A-Za-z0-9_-]{12,128}|[A-Za-z0-9_-]{2,128}\.[A-Za-z0-9_-]{2,128})";
const CHANNEL: &str = "UC[A-Za-z0-9_-]{22}";
/// Letters and digits of the most common scripts. Character classes such as `\p{L}` are not understood by every tool.
/// The service accepts the letters of all scripts.
const HANDLE: &str = concat!("[", letters!(), "][", letters!(), "._-]{0,29}");
const LANGUAGE: &str = "[A-Za-z0-9_-]{2,20}";
/// A date or a time of publication.
const DATE: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?";
/// A time in a video: seconds, hours with minutes and seconds, or the form of YouTube's URLs.
const TIME: &str = "[0-9]{1,9}([.][0-9]{1,9})?|([0-9]{1,6}:)?[0-5]?[0-9]:[0-5]?[0-9]([.][0-9]{1,9})?|[0-9]{1,6}[hms]";

const SITE: &str = r"(https?://)?((www|m|music)\.)?youtube\.com/";
const SHORT: &str = r"(https?://)?youtu\.be/";
/// Parameters of a URL before and after the one that counts.
const BEFORE: &str = "((app|feature|index|pp|si|t)=[A-Za-z0-9._~%+-]*&)*";
const AFTER: &str = "(&[A-Za-z0-9._~%&=+-]*)?";
const QUERY: &str = r"(\?[A-Za-z0-9._~%&=+-]*)?";

/// The values of a parameter.
pub(super) enum Values {
    Pattern(String),
    Words(Vec<&'static str>),
}

/// The parameter of a path. All routes of one kind of identifier share it.
pub(super) struct PathParameter {
    /// Its name in the components of the document.
    pub(super) component: &'static str,
    pub(super) description: &'static str,
    /// An identifier of the demo.
    pub(super) example: &'static str,
    pub(super) values: Values,
}

/// The parameter of a path, by the path. `None` if the path has none.
pub(super) fn path_parameter(path: &str) -> Option<PathParameter> {
    let (_, rest) = path.split_once("/api/")?;
    let (kind, _) = rest.split_once("/{")?;
    let (component, description, example, forms) = match kind {
        "jobs" => {
            return Some(PathParameter {
                component: "JobId",
                description: "The id of the job",
                example: "0f8fad5bd9cb469fa16570867728950e",
                values: Values::Pattern(JOB_ID.to_owned()),
            });
        }
        "collections" => {
            return Some(PathParameter {
                component: "CollectionName",
                description: "The name of the collection",
                example: "news",
                values: Values::Pattern(COLLECTION_NAME.to_owned()),
            });
        }
        "tools" => {
            return Some(PathParameter {
                component: "ToolName",
                description: "The name of the tool",
                example: "get_top_comments",
                values: Values::Words(vidra_mcp::tools().iter().map(|tool| tool.name).collect()),
            });
        }
        "video" | "transcript" => (
            "VideoId",
            "Video id or URL; percent-encode a URL unless the path ends with it",
            "txManualAsr",
            video(),
        ),
        "comments" => (
            "CommentedVideoId",
            "Video id or URL; percent-encode a URL unless the path ends with it",
            "fda4eREcaTQ",
            video(),
        ),
        "playlist" => (
            "PlaylistId",
            "Playlist id, or URL with `list=`; percent-encode a URL unless the path ends with it",
            "PLsize1",
            playlist(),
        ),
        "channel" => (
            "ChannelId",
            "Channel id, `@handle` or URL; percent-encode a URL unless the path ends with it",
            "@fermata",
            channel(),
        ),
        "comment-replies" => (
            "CommentId",
            "Comment id, or a video URL with `lc=`",
            "UgquirkManyReplies04AaABAg",
            format!("{COMMENT}|{SITE}watch\\?{BEFORE}v={VIDEO}&{BEFORE}lc={COMMENT}{AFTER}"),
        ),
        _ => return None,
    };
    let values = Values::Pattern(format!("^({forms})$"));
    Some(PathParameter { component, description, example, values })
}

/// The values of a query parameter. The service ignores spaces around a value. An empty value counts as absent,
/// except for numbers and most choices.
pub(super) fn query_values(path: &str, name: &str) -> Option<Values> {
    let words = |words: &[&'static str]| Some(Values::Words(words.to_vec()));
    Some(Values::Pattern(match (path, name) {
        // The number of ids is not in the pattern: 500 repetitions are too long for some tools.
        ("/api/videos", "ids") => format!("^ *({0})( *, *({0}))* *$", video()),
        ("/api/video-categories", "ids") => "^ *([0-9]{1,9}( *, *[0-9]{1,9}){0,49})? *$".to_owned(),
        (SEARCH | TRENDS | VIDEOS | "/api/search", "lang") => language(),
        (_, "lang") => languages(),
        (_, "hl" | "translate") => language(),
        (_, "category") => "^ *([0-9]{1,9})? *$".to_owned(),
        (_, "region") => "^ *([A-Za-z]{2})? *$".to_owned(),
        (_, "search") => r"^[^\u0000-\u001F\u007F-\u009F]*$".to_owned(),
        (_, "since" | "until") => format!("^ *({DATE})? *$"),
        (_, "start" | "end") => format!("^ *({TIME})? *$"),
        (_, "captions") => return choices(CaptionKind::ALL),
        (SEARCH, "group") => return choices(&SearchGroup::ALL),
        (SEARCH, "sort") => return choices(&SearchSort::ALL),
        (VIDEOS, "sort") => return choices(&SearchSort::ALL[1..]),
        (SEARCH, "in") => {
            let text = "(speech|title|description)";
            format!("^ *({text}( *, *{text}){{0,9}})? *$")
        }
        (TRENDS, "by") => return choices(&Period::ALL),
        // A part of the syntax: the service accepts more.
        (SEARCH | TRENDS, "q") => "^[A-Za-z0-9]{1,20}( [A-Za-z0-9]{1,20}){0,7}$".to_owned(),
        (SEARCH | TRENDS | VIDEOS, "video") => format!("^ *({0})( *, *({0}))* *$", video()),
        (SEARCH | TRENDS | VIDEOS, "collection") => COLLECTION_NAME.to_owned(),
        (SEARCH | TRENDS | VIDEOS, "job") => JOB_ID.to_owned(),
        (_, "by") => return Some(Values::Words(ChunkBy::ALL.map(ChunkBy::as_str).to_vec())),
        (_, "cursor") => "^ *([A-Za-z0-9._~-]{1,24606})? *$".to_owned(),
        (_, "include") => "^ *((details|chapters)( *, *(details|chapters))*)? *$".to_owned(),
        (_, "fields") => {
            let path = "[A-Za-z]+([.][A-Za-z]+)*";
            format!("^ *({path}( *, *{path}){{0,99}})? *$")
        }
        ("/api/transcript/{id}", "format") => {
            return words(&["json", "srt", "vtt", "txt", "csv"]);
        }
        ("/api/transcript/{id}/text", "format") => return words(&["txt", "srt", "vtt"]),
        ("/api/jobs", "state") => return choices(&JobState::ALL),
        ("/api/jobs/{id}/items", "state") => return choices(&ItemState::ALL),
        ("/api/collections/{name}/videos", "state") => return choices(&VideoState::ALL),
        ("/api/jobs/{id}/items" | "/api/collections/{name}/videos", "reason") => {
            return Some(Values::Words(Reason::ALL.iter().map(|reason| reason.code()).collect()));
        }
        ("/api/jobs/{id}/results", "format") => return words(&["json", "ndjson", "csv", "zip"]),
        (_, "files") => {
            let kind = "(srt|vtt|txt|json)";
            format!("^ *({kind}( *, *{kind}){{0,9}})? *$")
        }
        (_, "dryRun" | "refresh") => return words(&["true", "false"]),
        (_, "name") => job_name(),
        (_, "webhook") => webhook(),
        (_, "owner") => "^[A-Za-z0-9._@-]{0,64}$".to_owned(),
        (_, "Idempotency-Key") => "^[!-~]{1,255}$".to_owned(),
        (_, "Last-Event-ID") => "^[0-9]{0,19}$".to_owned(),
        // Lists.
        (_, "format") => return words(&["json", "csv"]),
        (_, "download") => return words(&["0", "1"]),
        (_, "q") => r"^.*[^\s\u0000-\u001F\u007F-\u009F].*$".to_owned(),
        (_, "channel") => format!("^ *({})? *$", channel()),
        ("/api/search", "type") => return choices(SearchKind::ALL),
        ("/api/search", "order") => return choices(SearchOrder::ALL),
        ("/api/search", "duration") => return choices(SearchLength::ALL),
        ("/api/search", "live") => return choices(SearchLive::ALL),
        ("/api/search", "safe") => return choices(SafeSearch::ALL),
        (_, "order") => return words(&["time", "relevance"]),
        (_, "replies") => return words(&["preview", "all"]),
        _ => return None,
    }))
}

/// Up to ten languages, or none.
pub(super) fn languages() -> String {
    format!("^ *({LANGUAGE}( *, *{LANGUAGE}){{0,9}})? *$")
}

/// The id or the URL of a video, a playlist or a channel, or a search.
pub(super) fn collection_source() -> String {
    let listed = source_reference();
    let listed = listed.trim_start_matches('^').trim_end_matches('$');
    format!(
        r"^({listed}|search:[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*)$"
    )
}

/// The time between two syncs.
pub(super) fn interval() -> String {
    "^((1[5-9]|[2-9][0-9]|[1-9][0-9]{2,3})m|([1-9][0-9]{0,2})h|([1-9]|[12][0-9]|30)d)$".to_owned()
}

/// The name of a webhook, or none.
pub(super) fn webhook() -> String {
    "^[A-Za-z0-9_-]{0,64}$".to_owned()
}

/// The name of a job, or none.
pub(super) fn job_name() -> String {
    r"^[^\u0000-\u001F\u007F-\u009F]{0,100}$".to_owned()
}

/// The words of a choice.
fn choices<T>(all: &[(&'static str, T)]) -> Option<Values> {
    Some(Values::Words(all.iter().map(|(word, _)| *word).collect()))
}

fn channel() -> String {
    format!("{CHANNEL}|@?{HANDLE}|{SITE}(channel/{CHANNEL}|@{HANDLE}|(c|user)/{HANDLE}){QUERY}")
}

/// A language code, or none.
pub(super) fn language() -> String {
    format!("^ *({LANGUAGE})? *$")
}

/// A date or a time.
pub(super) fn date() -> String {
    format!("^ *{DATE} *$")
}

/// A time in a video.
pub(super) fn time() -> String {
    format!("^ *({TIME}) *$")
}

/// The id or the URL of a video.
pub(super) fn video_reference() -> String {
    format!("^ *({}) *$", video())
}

/// The id or the URL of a playlist.
pub(super) fn playlist_reference() -> String {
    format!("^ *({}) *$", playlist())
}

/// The id, the handle or the URL of a channel.
pub(super) fn channel_reference() -> String {
    format!("^ *({}) *$", channel())
}

/// The id or the URL of a video, a playlist or a channel.
pub(super) fn source_reference() -> String {
    let channel =
        format!("{CHANNEL}|@{HANDLE}|{SITE}(channel/{CHANNEL}|@{HANDLE}|(c|user)/{HANDLE}){QUERY}");
    format!("^({}|{}|{channel})$", video(), playlist())
}

fn playlist() -> String {
    let watched = format!("{SITE}(playlist|watch)\\?({BEFORE}v={VIDEO}&)?{BEFORE}");
    format!("{PLAYLIST}|({watched}|{SHORT}{VIDEO}\\?{BEFORE})list={PLAYLIST}{AFTER}")
}

/// A bare video id.
pub(super) fn video_id() -> String {
    format!("^{VIDEO}$")
}

fn video() -> String {
    let watched = format!("watch\\?(({BEFORE}list={PLAYLIST}&)?{BEFORE})v={VIDEO}{AFTER}");
    format!("{VIDEO}|{SITE}({watched}|(shorts|live|embed)/{VIDEO}{QUERY})|{SHORT}{VIDEO}{QUERY}")
}
