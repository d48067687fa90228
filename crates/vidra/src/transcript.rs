//! Transcripts: the platform's captions as lines of text, and as SRT, VTT and plain text.

mod cue;
mod parse;
mod render;

pub use cue::{Cue, Seconds, TranscriptLine};
pub use parse::{Unreadable, parse};
pub use render::{to_srt, to_text, to_vtt};
