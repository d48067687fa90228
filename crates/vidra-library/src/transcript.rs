//! The text of a stored transcript: compressed, with a checksum.

use vidra::transcript::FullTranscript;
use vidra::{Error, Reason, Result};

/// The level of compression. Higher levels take much longer and save little on captions.
const LEVEL: i32 = 3;

/// The largest text that is read back. YouTube's longest captions are far smaller.
const MAX_LENGTH: usize = 256 << 20;

/// A transcript as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedText {
    /// The length before compression.
    pub(crate) length: u64,
    /// The CRC-32 of the text before compression.
    pub(crate) checksum: u32,
    pub(crate) compressed: Vec<u8>,
}

impl PackedText {
    /// Compresses the record of a transcript.
    pub(crate) fn new(record: &[u8]) -> Result<Self> {
        let compressed = zstd::bulk::compress(record, LEVEL).map_err(Error::internal)?;
        Ok(Self { length: record.len() as u64, checksum: crc32fast::hash(record), compressed })
    }

    /// Decompresses and checks the text.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryDamaged`] if it is not the text that was stored.
    pub(crate) fn text(&self) -> Result<Vec<u8>> {
        let damaged = || Error::new(Reason::LibraryDamaged, "A stored transcript is damaged");
        let length = usize::try_from(self.length).ok().filter(|it| *it <= MAX_LENGTH);
        let text = zstd::bulk::decompress(&self.compressed, length.ok_or_else(damaged)?);
        let text = text.map_err(|error| damaged().with_source(error))?;
        if text.len() as u64 != self.length || crc32fast::hash(&text) != self.checksum {
            return Err(damaged());
        }
        Ok(text)
    }

    /// The transcript.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryDamaged`] if it is not the text that was stored.
    pub(crate) fn transcript(&self) -> Result<FullTranscript> {
        FullTranscript::from_record(&self.text()?).map_err(unreadable)
    }

    /// The transcript without the times of its words, which searches do not need.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryDamaged`] if it is not the text that was stored.
    pub(crate) fn searched(&self) -> Result<FullTranscript> {
        FullTranscript::from_record_without_words(&self.text()?).map_err(unreadable)
    }
}

fn unreadable(error: Error) -> Error {
    Error::new(Reason::LibraryDamaged, "A stored transcript is damaged").with_source(error)
}
