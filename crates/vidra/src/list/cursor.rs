//! Cursors: where the next page of a list begins.

use std::fmt;

use crate::error::{Error, Reason, Result};

/// A position in a list of upstream pages, which a cursor encodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// The token of the upstream page. Empty for the first one.
    pub(crate) token: String,
    /// The number of entries before that page.
    pub(crate) start: usize,
    /// The number of items of that page that were already returned.
    pub(crate) skip: usize,
}

/// The maximum number of entries of a list. YouTube shows at most 20,000 of a playlist, but a video can have more
/// comments.
pub(crate) const MAX_ENTRIES: usize = 1_000_000;

/// The maximum number of entries on an upstream page. A page has 50 of them.
const MAX_PAGE_ENTRIES: usize = 1_000;

/// The longest cursor. Tokens of YouTube have up to a few hundred characters, but longer ones are read too, and an
/// escape has three characters.
const MAX_CURSOR_LENGTH: usize = 3 * 8_192 + 30;

impl Position {
    pub(crate) const FIRST: Self = Self { token: String::new(), start: 0, skip: 0 };

    /// The cursor of this position in the list that `list_key` names. It carries a checksum of both, so that a
    /// damaged cursor and one of another list are noticed.
    pub(crate) fn encode(&self, list_key: &str) -> String {
        let position = self.to_string();
        format!("{:08x}.{position}", checksum(list_key, &position))
    }

    /// Reads a cursor.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`] if the cursor is damaged or belongs to another list.
    pub(crate) fn decode(cursor: &str, list_key: &str) -> Result<Self> {
        Self::read(cursor, list_key).ok_or_else(invalid_cursor)
    }

    fn read(cursor: &str, list_key: &str) -> Option<Self> {
        if cursor.len() > MAX_CURSOR_LENGTH {
            return None;
        }
        let (sum, position) = cursor.split_once('.')?;
        let mut parts = position.splitn(3, '.');
        let number = |text: &str| text.parse().ok();
        let (start, skip) = (parts.next().and_then(number)?, parts.next().and_then(number)?);
        let token = percent_encoding::percent_decode_str(&parts.next()?.replace('~', "%"))
            .decode_utf8()
            .ok()?
            .into_owned();
        if start > MAX_ENTRIES - MAX_PAGE_ENTRIES || skip > MAX_PAGE_ENTRIES {
            return None;
        }
        let read = Self { token, start, skip };
        // Only the one spelling that `encode` writes is accepted.
        let is_ours =
            sum == format!("{:08x}", checksum(list_key, position)) && read.to_string() == position;
        is_ours.then_some(read)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PLAIN: percent_encoding::AsciiSet =
            percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_');
        let token = percent_encoding::utf8_percent_encode(&self.token, &PLAIN).to_string();
        write!(f, "{}.{}.{}", self.start, self.skip, token.replace('%', "~"))
    }
}

fn checksum(list_key: &str, position: &str) -> u32 {
    crc32fast::hash(format!("{list_key}\n{position}").as_bytes())
}

/// The error of a cursor that cannot be used.
pub(crate) fn invalid_cursor() -> Error {
    let message = "The cursor is not valid";
    Error::new(Reason::InvalidCursor, message)
        .with_detail("cursor: is damaged, has expired, or belongs to another list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_for_its_own_list_only() {
        for token in ["", "EAAaBlBUOkNESQ", "Q2dnPQ==", "a.b~c%2F/é +&#"] {
            let position = Position { token: token.to_owned(), start: 19_950, skip: 7 };
            let cursor = position.encode("playlist/PLa");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
            assert!(cursor.chars().all(is_plain), "{cursor}");
            assert_eq!(Position::decode(&cursor, "playlist/PLa").unwrap(), position);
            assert_eq!(
                Position::decode(&cursor, "playlist/PLb").unwrap_err().reason(),
                Reason::InvalidCursor
            );
        }
    }

    #[test]
    fn a_damaged_cursor_is_refused() {
        let cursor =
            Position { token: "EAAaBlBUOkNESQ".to_owned(), start: 50, skip: 3 }.encode("q");
        for index in 0..cursor.len() {
            let mut damaged = cursor.clone().into_bytes();
            damaged[index] = if damaged[index] == b'x' { b'y' } else { b'x' };
            let damaged = String::from_utf8(damaged).unwrap();
            assert!(Position::decode(&damaged, "q").is_err(), "{damaged}");
        }
        // A checksum is no secret: whoever computes it gets no further than the bounds.
        for (start, skip) in [(usize::MAX, 0), (MAX_ENTRIES + 1, 0), (0, 1_001)] {
            let forged = Position { token: String::new(), start, skip }.encode("q");
            assert!(Position::decode(&forged, "q").is_err(), "{forged}");
        }
        let long = "a".repeat(5_000);
        for text in
            ["", ".", "..", "1.2.3.4", "é", &cursor[1..], &cursor[..cursor.len() - 1], &long]
        {
            assert!(Position::decode(text, "q").is_err(), "{text}");
        }
    }
}
