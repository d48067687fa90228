//! Where the next page of an answer begins.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::call_error::CallError;

/// The start of the next page: an item of the list, and a part of that item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = r"^[0-9]{1,9}(\.[0-9]{1,9})?$"))]
pub(crate) struct Cursor {
    pub(crate) item: u64,
    pub(crate) part: u64,
}

const EXPECTED_CURSOR: &str = "expected the nextCursor of an earlier answer";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(f, "{}", self.item),
            part => write!(f, "{}.{part}", self.item),
        }
    }
}

impl Cursor {
    /// The beginning of an item.
    pub(crate) fn at(item: usize) -> Self {
        Self { item: item as u64, part: 0 }
    }

    /// How many of `count` items precede the cursor, 0 without one.
    ///
    /// Fails for a cursor that no answer of this tool contains: beyond the last item, or within one.
    pub(crate) fn skip(given: Option<Self>, count: usize) -> Result<usize, CallError> {
        match given {
            None => Ok(0),
            Some(Self { part: 1.., .. }) => {
                Err(CallError::bad(format!("cursor: {EXPECTED_CURSOR}")))
            }
            Some(Self { item, .. }) => {
                let item = usize::try_from(item).unwrap_or(usize::MAX);
                let is_within = item < count.max(1);
                is_within.then_some(item).ok_or_else(Self::beyond_the_end)
            }
        }
    }

    /// The error for a cursor that points beyond the last item.
    pub(crate) fn beyond_the_end() -> CallError {
        CallError::bad("cursor: is beyond the end")
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = |text: &str| {
            let is_plain = text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain).ok_or(EXPECTED_CURSOR)
        };
        let (item, part) = text.split_once('.').unwrap_or((&text, "0"));
        Ok(Self { item: number(item)?, part: number(part)? })
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_must_name_an_existing_item() {
        let skip = |item, part, count| Cursor::skip(Some(Cursor { item, part }), count).ok();
        assert_eq!(Cursor::skip(None, 0).ok(), Some(0));
        assert_eq!([skip(0, 0, 0), skip(0, 0, 1), skip(4, 0, 5)], [Some(0), Some(0), Some(4)]);
        assert_eq!([skip(1, 0, 0), skip(5, 0, 5), skip(2, 1, 5)], [None; 3]);
    }

    #[test]
    fn cursors_round_trip() {
        for (item, part) in [(0, 0), (12, 0), (12, 3), (999_999_999, 999_999_999)] {
            let cursor = Cursor { item, part };
            assert_eq!(Cursor::try_from(cursor.to_string()), Ok(cursor));
        }
        for text in ["", ".", "1.", ".1", "-1", "+1", "1.2.3", "a", "1234567890", " 1", "1e3"] {
            assert!(Cursor::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
