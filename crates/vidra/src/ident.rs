//! Identifiers: validated newtypes, so that no malformed id reaches YouTube.
//!
//! Each type has `parse`, which accepts a bare identifier or any URL that contains one. Parsing
//! sends no requests. `FromStr` and `TryFrom` parse in the same way. JSON holds the bare identifier, and
//! deserialising checks it.

pub(crate) mod link;
pub(crate) mod or_empty;
mod parse;
pub(crate) mod traits;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::Result;
use crate::seconds::Seconds;
pub(crate) use parse::shown;
use parse::{is_id_byte, is_name, parse_as};
use traits::{parse_traits, text_traits};

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

    /// Parses a bare id or the URL of a video, with the time at which the URL begins (`t=`).
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra::VideoId;
    /// let (id, start) = VideoId::parse_with_start("https://youtu.be/dQw4w9WgXcQ?t=1m30s")?;
    /// assert_eq!((id.as_str(), start.unwrap().as_millis()), ("dQw4w9WgXcQ", 90_000));
    /// assert_eq!(VideoId::parse_with_start("dQw4w9WgXcQ")?.1, None);
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse_with_start(input: &str) -> Result<(Self, Option<Seconds>)> {
        Ok((Self::parse(input)?, link::start_in(input.trim())))
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

    /// The address of the video.
    pub fn url(&self) -> String {
        format!("https://www.youtube.com/watch?v={}", self.as_str())
    }

    /// The address of a moment of the video.
    ///
    /// ```
    /// let id = vidra::VideoId::parse("dQw4w9WgXcQ")?;
    /// assert_eq!(id.url_at(43), "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn url_at(&self, seconds: u64) -> String {
        format!("{}&t={seconds}s", self.url())
    }
}

/// A playlist id: 2 to 64 characters of `[A-Za-z0-9_-]`.
///
/// It is accepted if it can be one:
///
/// - It has a prefix that is in use: `PL`, `UU`, `OLAK5uy_`, `RD`, `WL` and others.
/// - It has another prefix of two capital letters, except `UC`, and at least 12 characters. YouTube adds prefixes
///   without notice, and an id that is refused here cannot be used at all.
/// - It is an id from before prefixes: 16 hexadecimal digits in upper case.
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
        let expected = "a playlist id (PL…, UU…, OLAK5uy_… and others) or a YouTube URL with list=";
        parse_as(input, "playlist", expected, Self::bare, |link| link.playlist)
    }

    pub(crate) fn bare(text: &str) -> Option<Self> {
        let is_id = (2..=64).contains(&text.len()) && text.bytes().all(is_id_byte);
        let fits =
            Self::has_known_prefix(text) || Self::is_unknown_kind(text) || Self::is_old(text);
        (is_id && fits).then(|| Self(text.into()))
    }

    /// The prefixes in use. Some of them are whole ids, such as `WL` (watch later).
    const PREFIXES: [&str; 14] =
        ["PL", "UU", "OLAK5uy_", "FL", "LL", "LM", "WL", "HL", "RD", "EL", "EC", "TL", "PU", "UL"];

    pub(crate) fn has_known_prefix(text: &str) -> bool {
        Self::PREFIXES.iter().any(|prefix| text.starts_with(prefix))
    }

    /// Longer than a video id, which can begin with any letters.
    fn is_unknown_kind(text: &str) -> bool {
        let starts_with_capitals = text.bytes().take(2).all(|byte| byte.is_ascii_uppercase());
        text.len() >= 12 && starts_with_capitals && !text.starts_with("UC")
    }

    fn is_old(text: &str) -> bool {
        text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
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
    /// Parses a bare id or a URL `/channel/UC…`. [`ChannelRef::parse`] also accepts handles and names.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// let id = vidra::ChannelId::parse("youtube.com/channel/UC_x5XG1OV2P6uZZ5FSM9Ttw/videos")?;
    /// assert_eq!(id.as_str(), "UC_x5XG1OV2P6uZZ5FSM9Ttw");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let expected = "a channel id (UC and 22 characters) or a YouTube URL with one";
        parse_as(input, "channel", expected, Self::bare, |link| match link.channel? {
            ChannelRef::Id(id) => Some(id),
            _ => None,
        })
    }

    pub(crate) fn bare(text: &str) -> Option<Self> {
        let fits = text.len() == 24 && text.starts_with("UC") && text.bytes().all(is_id_byte);
        fits.then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A handle such as `@GoogleDevelopers`. It can contain non-ASCII letters.
///
/// `Display` and JSON write the `@`; [`Handle::as_str`] and `AsRef` do not.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(Box<str>);

impl Handle {
    /// The maximum length that YouTube allows.
    const MAX_CHARS: usize = 30;

    /// Parses a handle, with or without its `@`, or a URL `/@handle`.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// let handle = vidra::Handle::parse("https://www.youtube.com/@GoogleDevelopers")?;
    /// assert_eq!((handle.as_str(), handle.to_string()), ("GoogleDevelopers", "@GoogleDevelopers".into()));
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let handle = |channel| match channel {
            ChannelRef::Handle(handle) => Some(handle),
            _ => None,
        };
        let expected = "an @handle or a YouTube URL with one";
        let bare = |text: &str| ChannelRef::bare(text).and_then(handle);
        parse_as(input, "handle", expected, bare, |link| link.channel.and_then(handle))
    }

    /// Parses a handle without its `@`.
    pub(crate) fn bare(text: &str) -> Option<Self> {
        is_name(text, Self::MAX_CHARS).then(|| Self(text.into()))
    }

    /// The handle without its `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A reference to a channel. The variants have different costs, so they stay separate.
///
/// `Display` is for messages: it writes only the name of a user name or custom name. JSON holds a URL for these, from
/// which deserialising restores the same variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Serialize for ChannelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let site = "https://www.youtube.com";
        match self {
            Self::Id(_) | Self::Handle(_) => serializer.collect_str(self),
            Self::Username(name) => serializer.collect_str(&format_args!("{site}/user/{name}")),
            Self::Name(name) => serializer.collect_str(&format_args!("{site}/c/{name}")),
        }
    }
}

impl From<ChannelId> for ChannelRef {
    fn from(id: ChannelId) -> Self {
        Self::Id(id)
    }
}

impl From<Handle> for ChannelRef {
    fn from(handle: Handle) -> Self {
        Self::Handle(handle)
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
            // No comment has an id of 11 characters, as every video has.
            None => part(text) && text.len() != 11,
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

parse_traits! {
    VideoId: "video id" by VideoId::bare,
    PlaylistId: "playlist id" by PlaylistId::bare,
    ChannelId: "channel id" by ChannelId::bare,
    Handle: "handle" by |text| Handle::bare(text.strip_prefix('@').unwrap_or(text)),
    ChannelRef: "channel" by |text| ChannelRef::parse(text).ok(),
    CommentId: "comment id" by CommentId::bare,
}

text_traits!(VideoId => "", PlaylistId => "", ChannelId => "", Handle => "@", CommentId => "");
