//! The name of a request, by which a caller finds it in our log and we find it in theirs.

use std::cell::RefCell;

use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;

use crate::asked::Lines;

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest that is taken from a caller.
const LONGEST: usize = 128;

/// What has a meaning of its own in headers, in logs or in a shell, and in no id.
const NOT_IN_IDS: &[u8] = b"\"'`,;\\<>(){}[]";

/// The digits of an id of ours: 64 random bits.
const DIGITS: usize = 16;

/// So many are made at a time: they share one piece of memory, so that an id costs no allocation.
const AT_A_TIME: usize = 64;

thread_local! {
    static MADE: RefCell<Bytes> = const { RefCell::new(Bytes::new()) };
}

/// The caller's own where there is one that we can pass on, else a new one.
pub(crate) fn of(given: Lines<'_>) -> HeaderValue {
    match given {
        Lines::One(id) if is_good(id.as_bytes()) => id.clone(),
        _ => new(),
    }
}

fn is_good(id: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_graphic() && !NOT_IN_IDS.contains(byte);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(is_allowed)
}

/// It only has to be new, not a secret.
pub(crate) fn new() -> HeaderValue {
    let id = MADE.with_borrow_mut(|made| {
        if made.is_empty() {
            let mut digits = Vec::with_capacity(AT_A_TIME * DIGITS);
            for _ in 0..AT_A_TIME {
                digits.extend_from_slice(&hex(fastrand::u64(..)));
            }
            *made = digits.into();
        }
        made.split_to(DIGITS)
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
    fn a_callers_id_is_taken_where_it_is_a_plain_word() {
        let longest = "a".repeat(LONGEST);
        let good = ["1", "a-b_c.d:e/f+g=h@i~j", "7b3f9c1e-62d4-4b1a-9d0e-2f6c8a5b4e33", &longest];
        let too_long = "a".repeat(LONGEST + 1);
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
        for (ids, is_taken) in [(&good[..], true), (&bad[..], false)] {
            for id in ids {
                let value = HeaderValue::from_bytes(id.as_bytes()).unwrap();
                assert_eq!(of(Lines::One(&value)) == value, is_taken, "{id}");
            }
        }
        let made = |lines| of(lines).len() == DIGITS;
        assert!(made(Lines::None) && made(Lines::Several), "which of two is meant cannot be known");
    }

    #[test]
    fn a_new_one_is_sixteen_digits_and_never_the_same() {
        let ids: HashSet<String> = (0..1_000).map(|_| new().to_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 1_000);
        let is_hex = |id: &String| id.len() == 16 && id.bytes().all(|it| it.is_ascii_hexdigit());
        assert!(ids.iter().all(is_hex), "{ids:?}");
        assert_eq!(&hex(0x0123_4567_89ab_cdef), b"0123456789abcdef");
    }
}
