//! Patterns of identifiers and parameters in the OpenAPI document.
//!
//! They are for tools that generate or check requests. They allow the URL forms that the platform writes;
//! the service also accepts others (`HTTP://YOUTUBE.COM:80/…`). It accepts everything that a pattern
//! allows.

/// The maximum number of characters of an identifier, including the URL around it.
pub(super) const MAX_ID_CHARS: usize = 2048;

const VIDEO: &str = "[A-Za-z0-9_-]{11}";
/// A prefix in use, or another one and more characters than a video has, or an old id without a prefix.
const PLAYLIST: &str = "((PL|UU|FL|LL|LM|WL|HL|RD|EL|EC|TL|PU|UL)[A-Za-z0-9_-]{0,62}\
    |([A-TV-Z][A-Z]|U[ABD-Z])[A-Za-z0-9_-]{10,62}|[0-9A-F]{16})";
/// Eleven characters are a video.
const COMMENT: &str =
    r"([A-Za-z0-9_-]{2,10}|[A-Za-z0-9_-]{12,128}|[A-Za-z0-9_-]{2,128}\.[A-Za-z0-9_-]{2,128})";
const CHANNEL: &str = "UC[A-Za-z0-9_-]{22}";
const HANDLE: &str = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,29}";
const LANGUAGE: &str = "[A-Za-z0-9_-]{2,20}";

const SITE: &str = r"(https?://)?((www|m|music)\.)?youtube\.com/";
const SHORT: &str = r"(https?://)?youtu\.be/";
/// Parameters of a URL before and after the one that counts.
const BEFORE: &str = "((app|feature|index|pp|si|t)=[A-Za-z0-9._~%+-]*&)*";
const AFTER: &str = "(&[A-Za-z0-9._~%&=+-]*)?";
const QUERY: &str = r"(\?[A-Za-z0-9._~%&=+-]*)?";

/// The pattern of the identifier in a path, by the path.
pub(super) fn path_pattern(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/api/")?;
    let (kind, _) = rest.split_once("/{")?;
    let forms = match kind {
        "tools" => {
            let names: Vec<&str> = vidra_mcp::tools().iter().map(|tool| tool.name).collect();
            names.join("|")
        }
        "video" | "comments" | "transcript" => video(),
        "playlist" => {
            let watched = format!("{SITE}(playlist|watch)\\?({BEFORE}v={VIDEO}&)?{BEFORE}");
            format!("{PLAYLIST}|({watched}|{SHORT}{VIDEO}\\?{BEFORE})list={PLAYLIST}{AFTER}")
        }
        "channel" => format!(
            "{CHANNEL}|@?{HANDLE}|{SITE}(channel/{CHANNEL}|@{HANDLE}|(c|user)/{HANDLE}){QUERY}"
        ),
        "comment-replies" => {
            format!("{COMMENT}|{SITE}watch\\?{BEFORE}v={VIDEO}&{BEFORE}lc={COMMENT}{AFTER}")
        }
        _ => return None,
    };
    Some(format!("^({forms})$"))
}

/// The pattern of a query parameter. Spaces around a value are ignored. An empty value counts as absent,
/// except for numbers and choices.
pub(super) fn query_pattern(path: &str, name: &str) -> Option<String> {
    Some(match (path, name) {
        // The number of ids is not in the pattern: 500 repetitions are too long for some tools.
        ("/api/videos", "ids") => format!("^ *({0})( *, *({0}))* *$", video()),
        ("/api/video-categories", "ids") => "^ *([0-9]{1,9}( *, *[0-9]{1,9}){0,49})? *$".to_owned(),
        (_, "lang") => languages(),
        (_, "hl" | "translate") => format!("^ *({LANGUAGE})? *$"),
        (_, "region") => "^ *([A-Za-z]{2})? *$".to_owned(),
        (_, "search") => r"^[^\u0000-\u001F\u007F-\u009F]*$".to_owned(),
        (_, "format") => "^ *(json|srt|vtt|txt)? *$".to_owned(),
        (_, "download") => "^ *[01]? *$".to_owned(),
        _ => return None,
    })
}

/// Up to ten languages, or none.
pub(super) fn languages() -> String {
    format!("^ *({LANGUAGE}( *, *{LANGUAGE}){{0,9}})? *$")
}

/// A bare video id.
pub(super) fn video_id() -> String {
    format!("^{VIDEO}$")
}

fn video() -> String {
    let watched = format!("watch\\?(({BEFORE}list={PLAYLIST}&)?{BEFORE})v={VIDEO}{AFTER}");
    format!("{VIDEO}|{SITE}({watched}|(shorts|live|embed)/{VIDEO}{QUERY})|{SHORT}{VIDEO}{QUERY}")
}
