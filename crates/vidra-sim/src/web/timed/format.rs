//! The formats of timed text.

mod json3;
mod srv1;
mod srv3;
mod ttml;
mod vtt;

use crate::quirk::Scene;
use crate::world::caption::cue::Cue;

/// The values of `fmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Srv1,
    Srv2,
    Srv3,
    Json3,
    Ttml,
    Vtt,
    Srt,
}

impl Format {
    /// The format of a name; srv1 if there is none.
    pub(super) fn named(name: Option<&str>) -> Option<Self> {
        Some(match name {
            None | Some("srv1") => Self::Srv1,
            Some("srv2") => Self::Srv2,
            Some("srv3") => Self::Srv3,
            Some("json3") => Self::Json3,
            Some("ttml") => Self::Ttml,
            Some("vtt") => Self::Vtt,
            Some("srt") => Self::Srt,
            Some(_) => return None,
        })
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json3 => "application/json; charset=UTF-8",
            Self::Vtt => "text/vtt; charset=UTF-8",
            Self::Srt => "text/plain; charset=UTF-8",
            Self::Srv1 | Self::Srv2 | Self::Srv3 | Self::Ttml => "text/xml; charset=UTF-8",
        }
    }
}

/// A track to be written in a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    pub(super) cues: &'a [Cue],
    pub(super) language: &'a str,
    /// Whether the track is generated: its lines roll up in a window.
    pub(super) rolling: bool,
    pub(super) scene: Option<Scene>,
    pub(super) seconds: u64,
}

const XML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\" ?>";

impl Document<'_> {
    pub(super) fn write(&self, format: Format) -> String {
        match format {
            Format::Srv1 => srv1::write(self),
            Format::Srv2 => srv1::write_srv2(self),
            Format::Srv3 => srv3::write(self),
            Format::Json3 => json3::write(self),
            Format::Ttml => ttml::write(self),
            Format::Vtt => vtt::write(self),
            Format::Srt => vtt::write_srt(self),
        }
    }
}

/// Escapes text for XML, with the platform's form of the apostrophe.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `1:02:03.004` with the separator of the format.
fn clock(ms: u64, point: char) -> String {
    let (hours, minutes) = (ms / 3_600_000, ms / 60_000 % 60);
    format!("{hours:02}:{minutes:02}:{:02}{point}{:03}", ms / 1000 % 60, ms % 1000)
}
