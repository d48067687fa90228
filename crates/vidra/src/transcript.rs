//! Transcripts: parsing and rendering, without network access. [`Player::parse`] reads the list of
//! tracks, [`parse`] reads the captions of a track, [`to_srt`], [`to_vtt`] and [`to_text`] render
//! them, and [`chunks`] divides them.

mod choice;
mod chunk;
mod cue;
mod parse;
mod player;
mod reason;
mod render;
mod script;
mod word;

use crate::language::LanguageCode;

pub use crate::seconds::Seconds;
pub use choice::Languages;
pub use chunk::{Chunk, ChunkBy, ChunkQuery, chunks, estimate_tokens};
pub use cue::{Cue, TranscriptLine};
pub use parse::{Unreadable, parse};
#[cfg(feature = "client")]
pub(crate) use player::Verdict;
pub use player::{CaptionTrack, Player, Track};
pub use render::{to_srt, to_text, to_vtt};
pub use word::{Word, WordTime};

/// The languages of a transcript.
///
/// ```
/// use vidra::{LanguageCode, Languages, TranscriptQuery};
/// let query = TranscriptQuery::default()
///     .with_languages(Languages::parse("de,en")?)
///     .with_translation(LanguageCode::parse("fr")?);
/// # Ok::<_, vidra::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptQuery {
    /// The accepted languages, in order of preference. The default is the spoken language.
    pub languages: Languages,
    /// The target language of a translation by YouTube. YouTube limits translations harder than
    /// captions.
    pub translate: Option<LanguageCode>,
}

impl TranscriptQuery {
    /// Sets the accepted languages, in order of preference.
    pub fn with_languages(self, languages: Languages) -> Self {
        Self { languages, ..self }
    }

    /// Sets the target language of a translation.
    pub fn with_translation(self, language: impl Into<Option<LanguageCode>>) -> Self {
        Self { translate: language.into(), ..self }
    }
}

/// The lines of a transcript.
pub type Transcript = Vec<TranscriptLine>;
