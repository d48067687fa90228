//! Page tokens: opaque, with the platform's lengths, and valid for one list only.

use crate::hash::{hash, mix};
use crate::ident::base64url;

/// The list of a token, and the length of its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pager {
    list: u64,
    length: usize,
}

/// The direction of a token. The platform's tokens encode it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Next,
    Previous,
}

impl Pager {
    /// Tokens of 6 characters, as for charts, searches and a channel's playlists.
    pub(crate) fn short(list: &str) -> Self {
        Self { list: hash(0, list, &[]), length: 6 }
    }

    /// Tokens of 14 characters, as for playlist items.
    pub(crate) fn medium(list: &str) -> Self {
        Self { list: hash(0, list, &[]), length: 14 }
    }

    /// Tokens of 224 characters that end in `=`, as for comments.
    pub(crate) fn long(list: &str) -> Self {
        Self { list: hash(0, list, &[]), length: 224 }
    }

    /// The token of the page that starts at `offset`.
    pub(crate) fn token(self, offset: u32, direction: Direction) -> String {
        let payload = u64::from(offset) << 1 | u64::from(direction == Direction::Previous);
        // 21 bits of offset and 15 of the list are 36 bits: six characters. The offset is masked, so that
        // clients cannot compute tokens.
        let masked = (payload ^ mix(self.list) & 0x1f_ffff) << 15 | self.list & 0x7fff;
        let mut text = base64url(&(masked << 28).to_be_bytes())[..6].to_owned();
        let mut filler = 0;
        while text.len() < self.length {
            text.push_str(&base64url(&hash(self.list, "filler", &[payload, filler]).to_be_bytes()));
            filler += 1;
        }
        text.truncate(self.length);
        if self.length > 100 {
            text.replace_range(self.length - 2.., "==");
        }
        text
    }

    /// The offset of a token; `None` for a token of another list and for an invalid one.
    pub(crate) fn read(self, token: &str) -> Option<u32> {
        let mut bits = 0u64;
        for c in token.get(..6)?.chars() {
            let value = match c {
                'A'..='Z' => c as u64 - 65,
                'a'..='z' => c as u64 - 71,
                '0'..='9' => c as u64 + 4,
                '-' => 62,
                '_' => 63,
                _ => return None,
            };
            bits = bits << 6 | value;
        }
        let payload = bits >> 15 ^ mix(self.list) & 0x1f_ffff;
        let offset = (payload >> 1) as u32;
        let direction = if payload & 1 == 1 { Direction::Previous } else { Direction::Next };
        (self.token(offset, direction) == token).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_only_within_their_list() {
        for pager in [Pager::short("a"), Pager::medium("a"), Pager::long("a")] {
            for offset in [0, 1, 50, 19_999, 1_000_000] {
                let token = pager.token(offset, Direction::Next);
                assert_eq!(token.len(), pager.length);
                assert_eq!(pager.read(&token), Some(offset));
                assert_eq!(pager.read(&pager.token(offset, Direction::Previous)), Some(offset));
                assert_eq!(Pager::medium("b").read(&token), None);
            }
        }
    }

    #[test]
    fn unissued_tokens_are_rejected() {
        for text in ["", "x", "CDIQAA", "notatoken", "ä€ä€ä€", "======"] {
            assert_eq!(Pager::short("a").read(text), None, "{text}");
        }
        assert!(Pager::long("a").token(5, Direction::Next).ends_with('='));
    }
}
