//! Transcripts: what is said in a video, read and written. Pure: [`Player::parse`] reads which tracks there
//! are, [`parse`] what is in one, [`to_srt`] and its like write it.

mod choice;
mod cue;
mod parse;
mod player;
mod reason;
mod render;

use crate::language::LanguageCode;

pub use choice::Languages;
pub use cue::{Cue, Seconds, TranscriptLine};
pub use parse::{Unreadable, parse};
#[cfg(feature = "client")]
pub(crate) use player::Verdict;
pub use player::{CaptionTrack, Player, Track};
pub use render::{to_srt, to_text, to_vtt};

/// Which transcript of a video.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptQuery {
    /// The languages that will do, most wanted first; by default the one that is spoken.
    pub languages: Languages,
    /// The language to have the platform translate it to.
    pub translate: Option<LanguageCode>,
}

/// Lines of one video.
pub type Transcript = Vec<TranscriptLine>;
