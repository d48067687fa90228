//! Request ids, which link the log of a caller to the log of the service.

use std::cell::RefCell;

use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;

use super::request_head::HeaderLines;

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is accepted from a caller.
const MAX_LENGTH: usize = 128;

/// Characters with a special meaning in headers, logs or a shell.
const FORBIDDEN: &[u8] = b"\"'`,;\\<>(){}[]";

/// The hexadecimal digits of a generated id: 64 random bits.
const DIGITS: usize = 16;

/// Ids are generated in groups that share one allocation.
const GROUP: usize = 64;

thread_local! {
    static GENERATED: RefCell<Bytes> = const { RefCell::new(Bytes::new()) };
}

/// The id that the caller sent, if it is valid, or a new one.
pub(super) fn request_id(given: HeaderLines<'_>) -> HeaderValue {
    match given {
        HeaderLines::One(id) if is_valid(id.as_bytes()) => id.clone(),
        _ => new_request_id(),
    }
}

fn is_valid(id: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_graphic() && !FORBIDDEN.contains(byte);
    (1..=MAX_LENGTH).contains(&id.len()) && id.iter().all(is_allowed)
}

/// A new id. It is unique, but no secret.
pub(crate) fn new_request_id() -> HeaderValue {
    let id = GENERATED.with_borrow_mut(|ids| {
        if ids.is_empty() {
            let mut digits = Vec::with_capacity(GROUP * DIGITS);
            for _ in 0..GROUP {
                digits.extend_from_slice(&hex(fastrand::u64(..)));
            }
            *ids = digits.into();
        }
        ids.split_to(DIGITS)
    });
    HeaderValue::from_maybe_shared(id).expect("hexadecimal digits")
}

fn hex(number: u64) -> [u8; DIGITS] {
    std::array::from_fn(|at| b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_plain_request_id_of_a_caller_is_accepted() {
        let longest = "a".repeat(MAX_LENGTH);
        let good = ["1", "a-b_c.d:e/f+g=h@i~j", "7b3f9c1e-62d4-4b1a-9d0e-2f6c8a5b4e33", &longest];
        let too_long = "a".repeat(MAX_LENGTH + 1);
        let bad = [
            "",
            "two words",
            "a,b",
            "a;b",
            "\"a\"",
            "it's",
            "a\\b",
            "<a>",
            "ünï",
            "a\tb",
            &too_long,
        ];
        for (ids, is_accepted) in [(&good[..], true), (&bad[..], false)] {
            for id in ids {
                let value = HeaderValue::from_bytes(id.as_bytes()).unwrap();
                assert_eq!(request_id(HeaderLines::One(&value)) == value, is_accepted, "{id}");
            }
        }
        let is_generated = |lines| request_id(lines).len() == DIGITS;
        assert!(
            is_generated(HeaderLines::None) && is_generated(HeaderLines::Several),
            "several ids are ambiguous"
        );
    }

    #[test]
    fn a_new_id_has_sixteen_digits_and_is_unique() {
        let ids: HashSet<String> =
            (0..1_000).map(|_| new_request_id().to_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 1_000);
        let is_hex = |id: &String| id.len() == 16 && id.bytes().all(|it| it.is_ascii_hexdigit());
        assert!(ids.iter().all(is_hex), "{ids:?}");
        assert_eq!(&hex(0x0123_4567_89ab_cdef), b"0123456789abcdef");
    }
}
