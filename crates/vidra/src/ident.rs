//! Identifiers: validated newtypes, so that no malformed id reaches YouTube.
//!
//! Each type has `parse`, which accepts a bare identifier or any URL that contains one. Parsing
//! sends no requests.

pub(crate) mod link;

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use link::{Form, Link};

/// The maximum length of the input, including the URL.
const MAX_INPUT: usize = 2048;

/// A video id: 11 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VideoId([u8; 11]);

impl VideoId {
    /// Parses a bare id or the URL of a video.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra::VideoId;
    /// let id = VideoId::parse("https://youtu.be/dQw4w9WgXcQ?si=x")?;
    /// assert_eq!(id.as_str(), "dQw4w9WgXcQ");
    /// assert!(VideoId::parse("https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ").is_err());
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let expected = "an 11-character video id or a YouTube video URL";
        parse_as(input, "video", expected, Self::bare, |link| link.video)
    }

    /// Parses a bare id only.
    pub(crate) fn bare(text: &str) -> Option<Self> {
        let bytes: [u8; 11] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(|byte| is_id_byte(*byte)).then_some(Self(bytes))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("only ASCII gets in")
    }
}

/// A playlist id: `PL…`, `UU…`, `OLAK5uy_…` and others, 2 to 64 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaylistId(Box<str>);

impl PlaylistId {
    /// Parses a bare id or any URL with `list=`.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra::PlaylistId;
    /// let id = PlaylistId::parse("https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PL123")?;
    /// assert_eq!(id.as_str(), "PL123");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let expected =
            "a playlist id (2 to 64 letters, digits, - or _) or a YouTube URL with list=";
        parse_as(input, "playlist", expected, Self::bare, |link| link.playlist)
    }

    pub(crate) fn bare(text: &str) -> Option<Self> {
        let fits = (2..=64).contains(&text.len()) && text.bytes().all(is_id_byte);
        fits.then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A channel id: `UC` and 22 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(Box<str>);

impl ChannelId {
    pub(crate) fn bare(text: &str) -> Option<Self> {
        let fits = text.len() == 24 && text.starts_with("UC") && text.bytes().all(is_id_byte);
        fits.then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A handle such as `@GoogleDevelopers`, stored without its `@`. It can contain non-ASCII letters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(Box<str>);

impl Handle {
    /// The maximum length that YouTube allows.
    const MAX_CHARS: usize = 30;

    pub(crate) fn bare(text: &str) -> Option<Self> {
        is_name(text, Self::MAX_CHARS).then(|| Self(text.into()))
    }

    /// The handle without its `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A reference to a channel. The variants have different costs, so they stay separate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ChannelRef {
    /// `UC…`, or a URL `/channel/UC…`. A lookup costs 1 unit.
    Id(ChannelId),
    /// `@handle`, a URL `/@handle`, or any other bare word. A lookup costs 1 unit.
    Handle(Handle),
    /// A legacy user name: a URL `/user/name`. A lookup costs 1 unit.
    Username(Box<str>),
    /// A custom name: a URL `/c/name` or `youtube.com/name`. A lookup costs up to 3 units and one
    /// search.
    Name(Box<str>),
}

impl ChannelRef {
    /// Parses a channel id, an `@handle`, a bare word or the URL of a channel.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra::ChannelRef;
    /// assert!(matches!(ChannelRef::parse("UC_x5XG1OV2P6uZZ5FSM9Ttw")?, ChannelRef::Id(_)));
    /// assert_eq!(ChannelRef::parse("youtube.com/@GoogleDevelopers/videos")?.to_string(), "@GoogleDevelopers");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let expected = "a channel id (UC and 22 characters), an @handle or a YouTube channel URL";
        parse_as(input, "channel", expected, Self::bare, |link| link.channel)
    }

    fn bare(text: &str) -> Option<Self> {
        if let Some(id) = ChannelId::bare(text) {
            return Some(Self::Id(id));
        }
        let text = link::decode(text)?;
        match text.strip_prefix('@') {
            Some(handle) => Handle::bare(handle),
            // A word that contains YouTube's host imitates a URL.
            None if link::imitates_host(&text) => None,
            None => Handle::bare(&text),
        }
        .map(Self::Handle)
    }
}

impl fmt::Display for ChannelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Handle(handle) => handle.fmt(f),
            Self::Username(name) | Self::Name(name) => f.write_str(name),
        }
    }
}

/// The id of a comment or a reply (`parent.child`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommentId(Box<str>);

impl CommentId {
    /// Parses a bare comment id or a video URL with `lc=`, as YouTube's "share" creates it.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra::{CommentId, ErrorKind};
    /// let id = CommentId::parse("https://www.youtube.com/watch?v=dQw4w9WgXcQ&lc=UgydxWWoeA7F1OdqypJ4AaABAg")?;
    /// assert_eq!(id.as_str(), "UgydxWWoeA7F1OdqypJ4AaABAg");
    ///
    /// let error = CommentId::parse("https://youtu.be/dQw4w9WgXcQ").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let expected = "a comment id (letters, digits, - or _) or a YouTube URL with lc=";
        parse_as(input, "comment", expected, Self::bare, |link| link.comment)
    }

    pub(crate) fn bare(text: &str) -> Option<Self> {
        let part = |part: &str| (2..=128).contains(&part.len()) && part.bytes().all(is_id_byte);
        let fits = match text.split_once('.') {
            Some((parent, child)) => part(parent) && part(child),
            None => part(text),
        };
        fits.then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the thread: the parent of a reply, or the id of the top-level comment itself.
    ///
    /// ```
    /// let reply = vidra::CommentId::parse("UgydxWWoeA7F1OdqypJ4AaABAg.8wWsvrp2Cp18wX")?;
    /// assert_eq!(reply.thread(), "UgydxWWoeA7F1OdqypJ4AaABAg");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn thread(&self) -> &str {
        self.0.split_once('.').map_or(&self.0, |(parent, _)| parent)
    }
}

/// Parses a bare form, or else a URL. All public `parse` functions use it.
fn parse_as<T>(
    input: &str,
    what: &str,
    expected: &str,
    bare: impl Fn(&str) -> Option<T>,
    pick: impl Fn(Link) -> Option<T>,
) -> Result<T> {
    let text = input.trim();
    let found = match Form::from_text(text) {
        _ if text.len() > MAX_INPUT => Err("it is too long"),
        Form::Bare => bare(text).ok_or("it has the wrong length or alphabet"),
        Form::Url => {
            Link::parse_url(text).and_then(|link| pick(link).ok_or("the URL does not hold one"))
        }
    };
    found.map_err(|why| {
        let shown = shown(text);
        Error::invalid(
            format!("Not a valid {what} identifier: {shown}"),
            vec![format!("{what}: expected {expected}; {why}")],
        )
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

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Whether the text is a valid handle or legacy name. Combining marks and joiners are part of words
/// in many scripts. Beyond ASCII, only invisible and reordering characters are rejected.
fn is_name(text: &str, max_chars: usize) -> bool {
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

/// Implements `Display`, `Debug` and JSON of the newtypes as YouTube's text.
macro_rules! as_text {
    ($($id:ident => $prefix:literal),+) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(self.as_str())
            }
        }
        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($id))
            }
        }
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}
/// Implements deserialisation with validation.
macro_rules! from_text {
    ($($id:ident),+) => {$(
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text: std::borrow::Cow<'_, str> = Deserialize::deserialize(deserializer)?;
                Self::bare(&text).ok_or_else(|| D::Error::custom("not an identifier"))
            }
        }
    )+};
}
from_text!(VideoId, PlaylistId);

as_text!(VideoId => "", PlaylistId => "", ChannelId => "", Handle => "@", CommentId => "");
