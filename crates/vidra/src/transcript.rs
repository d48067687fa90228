//! Transcripts: parsing and rendering, without network access. [`Player::parse`] reads the list of
//! tracks, [`parse`] reads the captions of a track, [`to_srt`], [`to_vtt`] and [`to_text`] render
//! them, and [`chunks`] divides them. A [`FullTranscript`] has all data of a transcript.

mod choice;
mod chunk;
mod cue;
mod document;
mod parse;
mod player;
mod query;
mod reason;
mod record;
mod render;
mod script;
mod word;

pub use crate::seconds::Seconds;
pub use choice::Languages;
pub use chunk::{Chunk, ChunkBy, ChunkQuery, chunks, estimate_tokens};
pub use cue::{Cue, TranscriptLine};
pub use document::{
    ChunkedTranscript, DocumentLine, FullTranscript, TranscriptDocument, TranscriptInfo,
    TranscriptTrack,
};
pub use parse::{Unreadable, parse};
#[cfg(feature = "client")]
pub(crate) use player::PlayerAnswer;
pub use player::{CaptionTrack, Player, Track};
pub use query::{CaptionKind, TimeRange, TranscriptQuery};
pub use render::{to_srt, to_text, to_vtt};
pub use word::{Word, WordTime};

/// The lines of a transcript.
pub type Transcript = Vec<TranscriptLine>;
