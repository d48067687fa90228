//! Counts as the bytes of a file: JSON with a checksum.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LEDGER_ACCOUNT;
use super::counts::{Count, Tally, UnitCounts};

/// Files are padded with newlines to a multiple of this size, a disk's sector. A file that rarely
/// changes its length needs fewer writes.
const SECTOR: usize = 512;

/// Counts that were written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Each write has a higher number than all before it, also those of other processes. It is 0 in
    /// files of earlier versions.
    pub(super) sequence: u64,
    pub(super) counts: UnitCounts,
}

#[derive(Deserialize)]
struct Stored {
    crc32: u32,
    sequence: u64,
    counts: UnitCounts,
}

/// The files of earlier versions, without a checksum.
#[derive(Deserialize)]
#[serde(untagged)]
enum Earlier {
    Ledger { date: String, default: Count, search: Count },
    Callers(BTreeMap<String, EarlierSpending>),
}

#[derive(Deserialize)]
struct EarlierSpending {
    date: String,
    default: u32,
    search: u32,
}

/// The checksum of a record.
fn checksum(sequence: u64, counts: &impl Serialize) -> serde_json::Result<u32> {
    Ok(crc32fast::hash(&serde_json::to_vec(&(sequence, counts))?))
}

impl Record {
    /// The bytes of a file with this record.
    pub(super) fn encode(sequence: u64, counts: &UnitCounts) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Stored<'a> {
            crc32: u32,
            sequence: u64,
            counts: &'a UnitCounts,
        }
        let crc32 = checksum(sequence, counts)?;
        let mut bytes = serde_json::to_vec(&Stored { crc32, sequence, counts })?;
        bytes.push(b'\n');
        bytes.resize(bytes.len().next_multiple_of(SECTOR), b'\n');
        Ok(bytes)
    }

    /// The record in the bytes of a file; `None` if they are damaged.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        match serde_json::from_slice(bytes) {
            Ok(Stored { crc32, sequence, counts }) => {
                let is_whole = checksum(sequence, &counts).is_ok_and(|right| right == crc32);
                is_whole.then_some(Self { sequence, counts })
            }
            Err(_) => {
                Some(Self { sequence: 0, counts: serde_json::from_slice(bytes).ok().map(earlier)? })
            }
        }
    }
}

fn earlier(file: Earlier) -> UnitCounts {
    let mut counts = UnitCounts::default();
    match file {
        Earlier::Ledger { date, default, search } => {
            *counts.tally_mut(&date, LEDGER_ACCOUNT) =
                Tally { default, search, ..Tally::default() };
        }
        Earlier::Callers(callers) => {
            for (name, EarlierSpending { date, default, search }) in callers {
                let [default, search] =
                    [default, search].map(|used| Count { used, exhausted: false });
                *counts.tally_mut(&date, &name) = Tally { default, search, ..Tally::default() };
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> UnitCounts {
        let mut counts = UnitCounts::default();
        let tally = counts.tally_mut("2026-11-15", "alice");
        tally.default.used = 1_234;
        tally.search = Count { used: 7, exhausted: true };
        counts.mark_incomplete("2026-11-14");
        counts
    }

    #[test]
    fn a_record_has_the_expected_text() {
        let bytes = Record::encode(9, &counts()).unwrap();
        let text = concat!(
            r#"{"crc32":2765417448,"sequence":9,"counts":{"days":["#,
            r#"{"date":"2026-11-15","accounts":{"alice":{"default":{"used":1234},"#,
            r#""search":{"used":7,"exhausted":true}}}},"#,
            r#"{"date":"2026-11-14","is_incomplete":true,"accounts":{}}]}}"#,
        );
        assert_eq!(String::from_utf8_lossy(&bytes).trim_end_matches('\n'), text);
        assert_eq!(bytes.len(), SECTOR);
        let read = Record::decode(&bytes).unwrap();
        assert_eq!(read, Record { sequence: 9, counts: counts() });
    }

    /// The first part of a file is of one write, and the rest of another or zero.
    #[test]
    fn a_torn_record_is_read_whole_or_not_at_all() {
        let mut later = counts();
        later.tally_mut("2026-11-15", "alice").default.used = 4_321;
        let [old, new] =
            [(9, counts()), (10, later)].map(|(sequence, counts)| Record { sequence, counts });
        let [old_bytes, new_bytes] =
            [&old, &new].map(|it| Record::encode(it.sequence, &it.counts).unwrap());
        let zeros = vec![0; SECTOR];
        let mut whole = 0;
        for length in 0..=SECTOR {
            for rest in [&old_bytes, &zeros, &vec![]] {
                let rest = rest.get(length..).unwrap_or_default();
                let read = Record::decode(&[&new_bytes[..length], rest].concat());
                whole += u32::from(read.is_some());
                assert!([None, Some(&old), Some(&new)].contains(&read.as_ref()), "{length}");
            }
        }
        assert!((3..SECTOR as u32 * 3).contains(&whole), "{whole}");
    }

    #[test]
    fn no_flipped_bit_changes_a_count() {
        let bytes = Record::encode(9, &counts()).unwrap();
        for position in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[position / 8] ^= 1 << (position % 8);
            let read = Record::decode(&flipped);
            assert!(read.is_none_or(|it| it.counts == counts() && it.sequence == 9), "{position}");
        }
    }

    #[test]
    fn files_of_earlier_versions_are_read() {
        let ledger = concat!(
            r#"{"date":"2026-11-15","default":{"used":5,"exhausted":false},"#,
            r#""search":{"used":2,"exhausted":true}}"#,
            "\n\n",
        );
        let read = Record::decode(ledger.as_bytes()).unwrap();
        let tally = read.counts.tally("2026-11-15", LEDGER_ACCOUNT);
        assert_eq!((tally.default.used, tally.default.exhausted), (5, false));
        assert_eq!((tally.search.used, tally.search.exhausted), (2, true));
        assert_eq!(read.sequence, 0);
        let callers = r#"{"alice": {"date": "2026-11-15", "default": 3, "search": 1}}"#;
        let read = Record::decode(callers.as_bytes()).unwrap();
        let tally = read.counts.tally("2026-11-15", "alice");
        assert_eq!((tally.default.used, tally.search.used), (3, 1));
        for junk in ["", "{", "[]", "[1]", "{\"date\": 5}", "\0", "null"] {
            assert_eq!(Record::decode(junk.as_bytes()), None, "{junk}");
        }
    }
}
