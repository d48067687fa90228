//! How a transcript is divided.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::error::{Error, Result};

/// The unit of the size of a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChunkBy {
    /// Tokens of a language model, as [`estimate_tokens`](crate::estimate_tokens) counts them.
    #[default]
    Tokens,
    /// Words. A Chinese or Japanese character counts as one word, and so do four characters of
    /// Thai, Lao, Tibetan, Burmese and Khmer: these languages have no spaces between words.
    Words,
    /// Seconds from the start of the first line to the end of the last one.
    Seconds,
    /// Ends of sentences. Without a mark a sentence ends at a pause of more than 0.7 seconds, at the
    /// end of the line in which it reaches 60 words, or at the end of the transcript. Many automatic
    /// captions have no marks.
    Sentences,
    /// Chapters of the video. The unit of the optional size is tokens.
    Chapters,
}

impl ChunkBy {
    /// All units, the default first.
    pub const ALL: [Self; 5] =
        [Self::Tokens, Self::Words, Self::Seconds, Self::Sentences, Self::Chapters];

    /// The name: `tokens`, `words`, `seconds`, `sentences` or `chapters`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Words => "words",
            Self::Seconds => "seconds",
            Self::Sentences => "sentences",
            Self::Chapters => "chapters",
        }
    }

    /// The default size and overlap.
    fn defaults(self) -> (u32, u32) {
        match self {
            Self::Tokens | Self::Chapters => (512, 64),
            Self::Words => (384, 48),
            Self::Seconds => (60, 6),
            Self::Sentences => (8, 1),
        }
    }

    /// The smallest and the greatest size.
    fn bounds(self) -> (u32, u32) {
        match self {
            Self::Tokens | Self::Words | Self::Chapters => (16, 8_192),
            Self::Seconds => (5, 3_600),
            Self::Sentences => (1, 500),
        }
    }
}

impl fmt::Display for ChunkBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ChunkBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|by| by.as_str() == text);
        found.ok_or_else(|| {
            let fault = "by: must be tokens, words, seconds, sentences or chapters";
            Error::invalid(INVALID, vec![fault.to_owned()])
        })
    }
}

const INVALID: &str = "The size of the chunks is not valid";

/// The unit, size and overlap of chunks.
///
/// | by | size | default | default overlap |
/// |---|---|---|---|
/// | `tokens` | 16 to 8,192 | 512 | 64 |
/// | `words` | 16 to 8,192 | 384 | 48 |
/// | `seconds` | 5 to 3,600 | 60 | 6 |
/// | `sentences` | 1 to 500 | 8 | 1 |
/// | `chapters` | 16 to 8,192 tokens | none: whole chapters | 0 |
///
/// The overlap is at most half of the size. The default overlap is at most an eighth of the size,
/// so that a small size is valid if the caller gives no overlap. Whole chapters have no overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkQuery {
    by: ChunkBy,
    /// `None` for whole chapters.
    size: Option<u32>,
    /// `None` if the caller gave none and the size is `None`.
    overlap: Option<u32>,
}

impl Default for ChunkQuery {
    /// 512 tokens with an overlap of 64.
    fn default() -> Self {
        Self { by: ChunkBy::Tokens, size: Some(512), overlap: Some(64) }
    }
}

impl ChunkQuery {
    /// A query with a size and an overlap, or their defaults.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput), with one detail for each value out of
    /// bounds: `size: …`, `overlap: …`.
    ///
    /// ```
    /// use vidra::{ChunkBy, ChunkQuery};
    /// let query = ChunkQuery::new(ChunkBy::Tokens, Some(1_000), None)?;
    /// assert_eq!((query.size(), query.overlap()), (Some(1_000), 64));
    /// let error = ChunkQuery::new(ChunkBy::Seconds, Some(60), Some(31)).unwrap_err();
    /// assert_eq!(error.details(), ["overlap: must be at most half of the size, which is 60"]);
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn new(by: ChunkBy, size: Option<u64>, overlap: Option<u64>) -> Result<Self> {
        let mut faults = vec![];
        let query = Self::checked(by, size, overlap, &mut faults);
        if faults.is_empty() { Ok(query) } else { Err(Error::invalid(INVALID, faults)) }
    }

    /// Parses the values of URL parameters. Missing ones have their defaults.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput), with one detail for each fault.
    ///
    /// ```
    /// use vidra::{ChunkBy, ChunkQuery};
    /// let query = ChunkQuery::parse(Some("seconds"), Some("90"), None)?;
    /// assert_eq!((query.by(), query.size(), query.overlap()), (ChunkBy::Seconds, Some(90), 6));
    /// let error = ChunkQuery::parse(None, Some("8"), Some("x")).unwrap_err();
    /// let faults = ["overlap: must be a whole number", "size: must be from 16 to 8192"];
    /// assert_eq!(error.details(), faults);
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(by: Option<&str>, size: Option<&str>, overlap: Option<&str>) -> Result<Self> {
        let by = by.map(str::parse).transpose()?.unwrap_or_default();
        let mut faults = vec![];
        let mut number = |name: &str, text: Option<&str>| {
            let number: Option<u64> = text?.parse().ok();
            if number.is_none() {
                faults.push(format!("{name}: must be a whole number"));
            }
            number
        };
        let (size, overlap) = (number("size", size), number("overlap", overlap));
        let query = Self::checked(by, size, overlap, &mut faults);
        if faults.is_empty() { Ok(query) } else { Err(Error::invalid(INVALID, faults)) }
    }

    fn checked(
        by: ChunkBy,
        size: Option<u64>,
        overlap: Option<u64>,
        faults: &mut Vec<String>,
    ) -> Self {
        let (min, max) = by.bounds();
        let (default_size, default_overlap) = by.defaults();
        let in_bounds = |size: &u32| (min..=max).contains(size);
        let given = size.and_then(|size| u32::try_from(size).ok()).filter(in_bounds);
        if size.is_some() && given.is_none() {
            faults.push(format!("size: must be from {min} to {max}"));
        }
        let size = if by == ChunkBy::Chapters { given } else { given.or(Some(default_size)) };
        // Whole chapters have no overlap. It counts if the video has no chapters.
        let largest = size.unwrap_or(default_size);
        let fits = |overlap: &u32| *overlap <= largest / 2;
        let given = overlap.and_then(|overlap| u32::try_from(overlap).ok()).filter(fits);
        if overlap.is_some() && given.is_none() {
            faults.push(format!("overlap: must be at most half of the size, which is {largest}"));
        }
        let by_default = size.map(|size| default_overlap.min(size / 8));
        Self { by, size, overlap: given.or(by_default) }
    }

    /// The unit of the size.
    pub fn by(&self) -> ChunkBy {
        self.by
    }

    /// The greatest size of a chunk. `None` for whole chapters.
    pub fn size(&self) -> Option<u32> {
        self.size
    }

    /// The greatest size of the part that a chunk shares with the previous one.
    pub fn overlap(&self) -> u32 {
        self.overlap.unwrap_or(0)
    }

    /// The limits in the units of [`Lines`](super::size::Lines). `None` if `by_chapter` and chapters
    /// stay whole.
    pub(super) fn limits(&self, by_chapter: bool) -> Option<Limits> {
        let (default_size, default_overlap) = self.by.defaults();
        if by_chapter && self.size.is_none() {
            return None;
        }
        let scale = super::size::scale(self.by);
        let size = u64::from(self.size.unwrap_or(default_size)) * scale;
        let overlap = u64::from(self.overlap.unwrap_or(default_overlap)) * scale;
        Some(Limits { size, overlap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(by: ChunkBy, size: Option<u64>, overlap: Option<u64>) -> String {
        match ChunkQuery::new(by, size, overlap) {
            Ok(query) => format!("{:?} {}", query.size(), query.overlap()),
            Err(error) => error.details().join("; "),
        }
    }

    #[test]
    fn defaults_and_bounds() {
        use ChunkBy::{Chapters, Seconds, Sentences, Tokens, Words};
        let table = [
            (Tokens, None, None, "Some(512) 64"),
            (Tokens, Some(1_024), None, "Some(1024) 64"),
            (Tokens, Some(100), None, "Some(100) 12"),
            (Tokens, Some(16), Some(8), "Some(16) 8"),
            (Tokens, Some(16), Some(9), "overlap: must be at most half of the size, which is 16"),
            (Tokens, Some(15), None, "size: must be from 16 to 8192"),
            (Tokens, Some(8_193), None, "size: must be from 16 to 8192"),
            (Tokens, Some(1 << 40), Some(0), "size: must be from 16 to 8192"),
            (Words, None, None, "Some(384) 48"),
            (Seconds, None, None, "Some(60) 6"),
            (Seconds, Some(4), None, "size: must be from 5 to 3600"),
            (Sentences, None, None, "Some(8) 1"),
            (Sentences, Some(1), None, "Some(1) 0"),
            (Sentences, Some(2), Some(1), "Some(2) 1"),
            (Sentences, Some(0), None, "size: must be from 1 to 500"),
            (Chapters, None, None, "None 0"),
            (Chapters, Some(512), None, "Some(512) 64"),
            (Chapters, None, Some(257), "overlap: must be at most half of the size, which is 512"),
        ];
        for (by, size, overlap, expected) in table {
            assert_eq!(shown(by, size, overlap), expected, "{by} {size:?} {overlap:?}");
        }
        assert_eq!(ChunkQuery::new(Tokens, None, None).unwrap(), ChunkQuery::default());
        let both =
            "size: must be from 1 to 500; overlap: must be at most half of the size, which is 8";
        assert_eq!(shown(Sentences, Some(0), Some(9)), both);
    }

    #[test]
    fn names_of_units() {
        for by in ChunkBy::ALL {
            assert_eq!(by.to_string().parse::<ChunkBy>().unwrap(), by);
            assert_eq!(serde_json::to_value(by).unwrap(), by.as_str());
        }
        let error = ChunkQuery::parse(Some("Tokens"), None, None).unwrap_err();
        let expected = "by: must be tokens, words, seconds, sentences or chapters";
        assert_eq!(error.details(), [expected]);
    }
}
