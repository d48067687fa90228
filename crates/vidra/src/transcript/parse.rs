//! Timedtext bodies to cues: srv1, srv2, srv3 and json3, told apart by what they are. Pure.
//!
//! The platform does not always send the format that was asked for, and sends pages and empty
//! bodies with status 200, so the body alone decides. What comes out is what a person would read.

mod json3;
mod text;
mod track;
mod xml;

pub(super) use text::tidy;

use std::fmt;

use super::cue::Cue;

/// No track comes near: one hour of automatic captions is 1 MB in the longest format.
const MAX_BYTES: usize = 32 << 20;

/// Why a body is no track. None of it means that the video has no captions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is nothing in it: the platform declined to serve the track.
    Empty,
    /// It is something else: a web page, an error message.
    NotTimedText,
    /// It is one of the formats, and broken: cut off, too large, or against the rules.
    Malformed(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the captions are empty"),
            Self::NotTimedText => f.write_str("what came is no captions"),
            Self::Malformed(why) => write!(f, "the captions are malformed: {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Reads a track in any of the platform's own formats.
///
/// Cues come in the order of their start. Those without words (the platform's spacers) are left
/// out; a missing duration lasts until the next cue.
///
/// ```
/// let body = br#"<timedtext format="3"><body>
///     <p t="240" d="1500"><s>It</s><s t="320"> didn&#39;t</s></p><p t="1730" a="1">
/// </p></body></timedtext>"#;
/// let cues = vidra::transcript::parse(body)?;
/// assert_eq!(cues.len(), 1);
/// assert_eq!((cues[0].start, cues[0].text.as_str()), (240, "It didn't"));
/// # Ok::<_, vidra::transcript::Unreadable>(())
/// ```
pub fn parse(body: &[u8]) -> Result<Vec<Cue>, Unreadable> {
    if body.len() > MAX_BYTES {
        return Err(Unreadable::Malformed(format!("larger than {} MB", MAX_BYTES >> 20)));
    }
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    match body.first() {
        None => Err(Unreadable::Empty),
        Some(b'{') => json3::read(body),
        Some(b'<') => xml::read(&String::from_utf8_lossy(body)),
        Some(_) => Err(Unreadable::NotTimedText),
    }
}
