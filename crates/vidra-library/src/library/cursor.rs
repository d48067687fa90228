//! Cursors: numbers, and a checksum of their list with all filters, so that a cursor fits no other list.

use vidra::{Error, Reason, Result};

pub(super) fn write_cursor<const N: usize>(list: &str, numbers: [i64; N]) -> String {
    let numbers = numbers.map(|number| format!("{number:x}-")).concat();
    format!("{numbers}{:08x}", crc32fast::hash(list.as_bytes()))
}

/// Reads a cursor. All its numbers are positive.
///
/// # Errors
///
/// [`Reason::InvalidCursor`] if it is not one of such a list.
pub(super) fn read_cursor<const N: usize>(list: &str, cursor: &str) -> Result<[i64; N]> {
    let number = |text| i64::from_str_radix(text, 16).ok().filter(|it| *it > 0);
    let numbers: Option<Vec<i64>> = cursor.split('-').take(N).map(number).collect();
    let numbers = numbers.and_then(|it| <[i64; N]>::try_from(it).ok());
    let invalid = || {
        let detail = "cursor: must be nextCursor of the previous page of the same list";
        Error::new(Reason::InvalidCursor, "The cursor is not valid").with_detail(detail)
    };
    numbers.filter(|it| write_cursor(list, *it) == cursor).ok_or_else(invalid)
}
