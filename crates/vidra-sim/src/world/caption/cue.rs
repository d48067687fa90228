//! A cue: a text with its time.

/// A part of a cue, usually a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Including the space before it.
    pub(crate) text: String,
    /// Milliseconds after the start of the cue; unknown in manual tracks.
    pub(crate) offset: Option<u64>,
    /// The confidence of the recognition, up to 255.
    pub(crate) confidence: Option<u8>,
    /// The number of a pen in the head of the document.
    pub(crate) pen: Option<u8>,
}

/// A text with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cue {
    /// Milliseconds from the start of the video.
    pub(crate) start: u64,
    /// Milliseconds; unknown for some cues.
    pub(crate) length: Option<u64>,
    pub(crate) pieces: Vec<Piece>,
}

impl Cue {
    /// A cue of one piece.
    pub(crate) fn plain(start: u64, length: Option<u64>, text: &str) -> Self {
        let piece = Piece { text: text.to_owned(), ..Piece::default() };
        Self { start, length, pieces: vec![piece] }
    }

    /// All of its text.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// The end in milliseconds; two seconds after the start if the length is unknown.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length.unwrap_or(2000)
    }

    /// The cue with another text at the same time.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        Self::plain(self.start, self.length, text)
    }
}
