//! The name of a collection.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use vidra::{Error, Result};

const MAX_LENGTH: usize = 100;

/// The name of a collection: 1 to 100 of the characters `A` to `Z`, `a` to `z`, `0` to `9`, `.`, `_` and `-`, of which
/// the first is a letter or a digit. Names belong to their owner: two callers can use the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectionName(String);

impl CollectionName {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput) for any other text.
    ///
    /// ```
    /// use vidra_library::CollectionName;
    /// assert_eq!(CollectionName::parse("twelve-channels")?.as_str(), "twelve-channels");
    /// assert!(CollectionName::parse("my list").is_err());
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let is_valid = (1..=MAX_LENGTH).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it));
        if is_valid {
            return Ok(Self(text.to_owned()));
        }
        let fault = format!(
            "name: expected 1 to {MAX_LENGTH} letters, digits, dots, underscores and hyphens, of which the first is a letter or a digit"
        );
        Err(Error::invalid("Not a valid name of a collection", vec![fault]))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CollectionName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for CollectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for CollectionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for name in ["a", "7", "News.2026_b-c", &"x".repeat(MAX_LENGTH)] {
            assert_eq!(CollectionName::parse(name).unwrap().to_string(), name);
        }
        for name in ["", ".", "-a", "_a", "a b", "a/b", "ä", "a\n", &"x".repeat(MAX_LENGTH + 1)] {
            CollectionName::parse(name).unwrap_err();
        }
    }
}
