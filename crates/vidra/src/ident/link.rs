//! Parses YouTube URLs and bare identifiers. This is the trust boundary between user input and
//! upstream requests. The host must match exactly, and ambiguous input (user information,
//! backslashes, control characters, unusual ports) is rejected.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::parse::{MAX_INPUT, is_name};
use super::{ChannelId, ChannelRef, CommentId, Handle, PlaylistId, VideoId};
use crate::error::{Error, Reason, Result};
use crate::seconds::Seconds;

/// The objects that a URL names. A watch URL with a playlist names both, and a link to a comment
/// also names its video.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The video, from any of its URL forms.
    pub video: Option<VideoId>,
    /// The playlist, from `list=`.
    pub playlist: Option<PlaylistId>,
    /// The channel, from `/channel/`, `/@`, `/c/`, `/user/` or a bare name.
    pub channel: Option<ChannelRef>,
    /// The comment, from `lc=`.
    pub comment: Option<CommentId>,
}

impl Link {
    /// Parses any URL or bare identifier of any kind.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] for any other text.
    ///
    /// ```
    /// use vidra::Link;
    /// let link = Link::parse("https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PL123").unwrap();
    /// assert_eq!(link.video.unwrap().as_str(), "dQw4w9WgXcQ");
    /// assert_eq!(link.playlist.unwrap().as_str(), "PL123");
    /// ```
    pub fn parse(input: &str) -> Result<Self> {
        let text = input.trim();
        let link = match Form::from_text(text) {
            _ if text.is_empty() => Err("it is empty"),
            _ if text.len() > MAX_INPUT => Err("it is too long"),
            Form::Url => Self::parse_url(text),
            Form::Bare => Self::guess(text).ok_or("it is neither a YouTube URL nor an identifier"),
        };
        link.map_err(|why| Error::new(Reason::InvalidInput, why))
    }

    /// Detects the kind of a bare identifier from its form. A handle needs its `@` here. Otherwise
    /// every word would be a valid channel.
    pub(super) fn guess(text: &str) -> Option<Self> {
        let none = Self::default();
        if let Some(video) = VideoId::bare(text) {
            return Some(Self { video: Some(video), ..none });
        }
        if let Some(id) = ChannelId::bare(text) {
            return Some(Self { channel: Some(ChannelRef::Id(id)), ..none });
        }
        if let Some(handle) = decode(text)?.strip_prefix('@') {
            let handle = Handle::bare(handle)?;
            return Some(Self { channel: Some(ChannelRef::Handle(handle)), ..none });
        }
        let playlist = PlaylistId::bare(text).filter(|_| PlaylistId::has_known_prefix(text))?;
        Some(Self { playlist: Some(playlist), ..none })
    }

    /// Parses a URL, whose scheme may be missing. It does not guess.
    pub(crate) fn parse_url(text: &str) -> Result<Self, &'static str> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err("a URL cannot hold spaces, control characters or back-slashes");
        }
        let rest = strip_scheme(text)?;
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let host = Host::parse(authority)?;
        let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let segments: Option<Vec<_>> =
            path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let segments = segments.ok_or("its path is not valid UTF-8")?;
        let segments: Vec<&str> = segments.iter().map(|part| part.as_ref()).collect();

        let link = Self {
            video: video_in(host, &segments, query),
            playlist: param(query, "list").and_then(|id| PlaylistId::bare(&id)),
            channel: if host == Host::Short { None } else { channel_in(&segments) },
            comment: param(query, "lc").and_then(|id| CommentId::bare(&id)),
        };
        if link == Self::default() {
            return Err("the URL names no video, playlist or channel");
        }
        Ok(link)
    }
}

/// The time at which the URL of a video begins to play it: `t=` or, in an embedded player, `start=`. A time that cannot
/// be read counts as absent, as on YouTube.
pub(super) fn start_in(url: &str) -> Option<Seconds> {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (_, query) = rest.split_once('?').unwrap_or((rest, ""));
    let given = [(query, "t"), (query, "start"), (fragment, "t")];
    given.into_iter().find_map(|(pairs, name)| param(pairs, name)?.parse().ok())
}

/// Whether the text is a URL or a bare identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Bare,
    Url,
}

impl Form {
    pub(crate) fn from_text(text: &str) -> Self {
        let is_host = Host::parse(text).is_ok();
        if is_host || text.contains(['/', '?', '#', ':', '\\']) { Self::Url } else { Self::Bare }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    YouTube,
    Short,
}

impl Host {
    fn parse(authority: &str) -> Result<Self, &'static str> {
        if authority.contains('@') {
            return Err("a URL with user information is not accepted");
        }
        let host = authority.strip_suffix(":443").or_else(|| authority.strip_suffix(":80"));
        match host.unwrap_or(authority).to_ascii_lowercase().as_str() {
            "youtube.com" | "www.youtube.com" | "m.youtube.com" | "music.youtube.com"
            | "gaming.youtube.com" | "kids.youtube.com" => Ok(Self::YouTube),
            "youtube-nocookie.com" | "www.youtube-nocookie.com" => Ok(Self::YouTube),
            "youtu.be" => Ok(Self::Short),
            _ => Err("the host is not YouTube's"),
        }
    }
}

/// Whether text that is not a YouTube host contains the name of one: `youtube.com.evil.example`.
pub(crate) fn imitates_host(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["youtube.com", "youtu.be", "youtube-nocookie.com"].iter().any(|host| text.contains(host))
}

/// Removes `http:` or `https:` and its slashes. It accepts one slash, because proxies and path
/// normalisers merge two slashes in a path.
fn strip_scheme(text: &str) -> Result<&str, &'static str> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok(rest);
    }
    for scheme in ["https:/", "http:/"] {
        if text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)) {
            let rest = &text[scheme.len()..];
            return Ok(rest.strip_prefix('/').unwrap_or(rest));
        }
    }
    match text.split_once("://") {
        Some((scheme, _)) if !scheme.contains(['.', '/', '?', '#']) => {
            Err("only http and https URLs are accepted")
        }
        _ => Ok(text),
    }
}

fn video_in(host: Host, segments: &[&str], query: &str) -> Option<VideoId> {
    match (host, segments) {
        (Host::Short, [id]) => VideoId::bare(id),
        (Host::YouTube, ["watch"]) => VideoId::bare(&param(query, "v")?),
        // Two player pages have names of eleven letters.
        (Host::YouTube, ["embed", "videoseries" | "live_stream"]) => None,
        (Host::YouTube, ["shorts" | "embed" | "live" | "v" | "e", id]) => VideoId::bare(id),
        _ => None,
    }
}

fn channel_in(segments: &[&str]) -> Option<ChannelRef> {
    let name = |text: &str| is_name(text, 100).then(|| Box::from(text));
    match segments {
        ["channel", id, ..] => ChannelId::bare(id).map(ChannelRef::Id),
        ["user", user, ..] => name(user).map(ChannelRef::Username),
        ["c", custom, ..] => name(custom).map(ChannelRef::Name),
        [first, ..] if first.starts_with('@') => Handle::bare(&first[1..]).map(ChannelRef::Handle),
        [first, ..] if !is_page(first) => name(first).map(ChannelRef::Name),
        _ => None,
    }
}

/// YouTube pages whose path looks like a channel name.
fn is_page(segment: &str) -> bool {
    const PAGES: [&str; 38] = [
        "about",
        "account",
        "ads",
        "api",
        "attribution_link",
        "browse",
        "c",
        "channel",
        "channels",
        "clip",
        "creators",
        "e",
        "embed",
        "feed",
        "gaming",
        "hashtag",
        "howyoutubeworks",
        "iframe_api",
        "kids",
        "live",
        "logout",
        "movies",
        "music",
        "new",
        "oembed",
        "playlist",
        "post",
        "premium",
        "redirect",
        "results",
        "s",
        "shorts",
        "signin",
        "t",
        "user",
        "v",
        "watch",
        "watch_videos",
    ];
    PAGES.binary_search(&segment).is_ok()
}

/// The first query parameter with this name, decoded.
fn param<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .and_then(|(_, value)| decode(value))
}

/// Percent-decodes text. `None` if the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}
