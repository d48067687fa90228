//! Parsing of all identifiers, and the reason if the text is none.

use super::link::{Form, Link};
use super::{ChannelRef, CommentId};
use crate::error::{Error, Result};

/// The maximum length of the input, including the URL.
pub(super) const MAX_INPUT: usize = 2048;

/// Parses a bare form, or else a URL. All public `parse` functions use it.
pub(super) fn parse_as<T>(
    input: &str,
    what: &str,
    expected: &str,
    bare: impl Fn(&str) -> Option<T>,
    pick: impl Fn(Link) -> Option<T>,
) -> Result<T> {
    let text = input.trim();
    let found = match Form::from_text(text) {
        _ if text.len() > MAX_INPUT => Err("it is too long".to_owned()),
        Form::Bare => bare(text).ok_or_else(|| why_not(what, text)),
        Form::Url => Link::parse_url(text).map_err(str::to_owned).and_then(|link| {
            let other = kind(&link).unwrap_or("comment");
            pick(link).ok_or_else(|| format!("the URL names a {other}"))
        }),
    };
    found.map_err(|why| {
        let shown = shown(text);
        Error::invalid(
            format!("Not a valid {what} identifier: {shown}"),
            vec![format!("{what}: expected {expected}; {why}")],
        )
    })
}

/// Why bare text is no `what`: often it is an identifier of another kind.
fn why_not(what: &str, text: &str) -> String {
    let is_comment = text.starts_with("Ug") && text.len() > 11 && CommentId::bare(text).is_some();
    let kind =
        if is_comment { Some("comment") } else { Link::guess(text).and_then(|link| kind(&link)) };
    match kind {
        Some("channel") if what == "playlist" => {
            let uploads = text.replacen("UC", "UU", 1);
            format!("that is a channel id; the playlist of its uploads is {uploads}")
        }
        Some("handle") => "that is a handle".to_owned(),
        Some(kind) => format!("that is a {kind} id"),
        None => "it has the wrong length or alphabet".to_owned(),
    }
}

/// The kind of item that a link leads to. `None` if it leads to none.
fn kind(link: &Link) -> Option<&'static str> {
    Some(match link {
        Link { video: Some(_), .. } => "video",
        Link { playlist: Some(_), .. } => "playlist",
        Link { channel: Some(ChannelRef::Handle(_)), .. } => "handle",
        Link { channel: Some(_), .. } => "channel",
        _ => return None,
    })
}

/// Shortens and escapes input for a message, so that it cannot break a log.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(80) {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}

pub(super) fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Whether the text is a valid handle or legacy name. Combining marks and joiners are part of words
/// in many scripts. Beyond ASCII, only invisible and reordering characters are rejected.
pub(super) fn is_name(text: &str, max_chars: usize) -> bool {
    let allowed = |c: char| match c {
        '_' | '-' | '.' => true,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff0}'..='\u{ffff}' => false,
        c => !c.is_control() && !c.is_whitespace(),
    };
    let fits = text.chars().all(allowed) && text.chars().count() <= max_chars;
    // A name of dots alone would be a path.
    fits && text.chars().any(char::is_alphanumeric)
}
