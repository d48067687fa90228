//! Parses timedtext bodies in the formats srv1, srv2, srv3 and json3.
//!
//! YouTube does not always send the requested format. It also sends web pages and empty bodies with
//! status 200. The parser therefore detects the format from the body alone. The output is the text
//! that a person would read.

mod json3;
mod text;
mod track;
mod words;
mod xml;

pub(super) use text::tidy;

use std::fmt;

use super::cue::Cue;

/// The size limit. One hour of automatic captions has 1 MB in the longest format.
const MAX_BYTES: usize = 32 << 20;

/// Why a body is not a caption track. No variant means that the video has no captions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// The body is empty: YouTube declined to serve the track.
    Empty,
    /// The body is something else, for example a web page or an error message.
    NotTimedText,
    /// The body has a known format but is damaged: truncated, too large, or invalid.
    Malformed(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the captions are empty"),
            Self::NotTimedText => f.write_str("the response is not a caption track"),
            Self::Malformed(why) => write!(f, "the captions are malformed: {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Parses a track in any of YouTube's formats.
///
/// The cues are sorted by start time. The parser omits cues without words, which YouTube uses as
/// spacers. A cue without a duration lasts until the next cue.
///
/// # Errors
///
/// [`Unreadable`] if the body is empty, not a caption track, or damaged.
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
