use bytes::Bytes;
use proptest::prelude::*;
use vidra::store::{Record, StoreError};

use super::record;

fn any_record() -> impl Strategy<Value = Record> {
    let body = prop::collection::vec(any::<u8>(), 0..300);
    (any::<u64>(), any::<u64>(), any::<(bool, bool)>(), any::<u16>(), body).prop_map(
        |(stored_at, keep_until, (is_refusal, is_cheap), schema, body)| Record {
            stored_at,
            keep_until,
            is_refusal,
            is_cheap,
            schema,
            body: body.into(),
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(record in any_record(), key in ".{0,40}") {
        let kept = record.encode(&key);
        prop_assert_eq!(Record::decode(&kept, &key), Ok(Some(record)));
    }

    #[test]
    fn another_keys_record_is_none(record in any_record(), key in ".{0,9}", other in ".{0,9}") {
        prop_assume!(key != other);
        prop_assert_eq!(Record::decode(&record.encode(&key), &other), Ok(None));
    }

    #[test]
    fn a_changed_byte_is_found(
        record in any_record(),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let mut kept = record.encode("key").to_vec();
        let at = at.index(kept.len());
        kept[at] ^= change;
        prop_assert_eq!(Record::decode(&kept.into(), "key"), Err(StoreError::Corrupt));
    }

    #[test]
    fn what_is_cut_or_longer_is_found(
        record in any_record(),
        cut in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 1..9),
    ) {
        let kept = record.encode("key");
        let cut = kept.slice(..cut.index(kept.len()));
        prop_assert_eq!(Record::decode(&cut, "key"), Err(StoreError::Corrupt));
        let longer: Bytes = [&kept[..], &more].concat().into();
        prop_assert_eq!(Record::decode(&longer, "key"), Err(StoreError::Corrupt));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Record::decode(&bytes.into(), "key"), Err(StoreError::Corrupt));
    }
}

/// The layout is a promise to other processes and later versions.
#[test]
fn the_layout_stays() {
    let kept = record("{}").encode("k");
    let mut expected = b"vdra\x02\0\x01\0\x01\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
    expected.extend(4_000_000_000_000_u64.to_le_bytes());
    expected.extend(4_000_000_060_000_u64.to_le_bytes());
    expected.extend(b"k{}");
    expected.extend(crc32fast::hash(&expected).to_le_bytes());
    assert_eq!(kept, expected);
}

#[test]
fn lengths_that_lie_are_found_before_they_are_used() {
    for (at, length) in [(8, u64::from(u32::MAX)), (12, u64::MAX), (12, u64::MAX - 36)] {
        let mut kept = record("{}").encode("k").to_vec();
        let width = if at == 8 { 4 } else { 8 };
        kept[at..at + width].copy_from_slice(&length.to_le_bytes()[..width]);
        let content = kept.len() - 4;
        let checksum = crc32fast::hash(&kept[..content]).to_le_bytes();
        kept[content..].copy_from_slice(&checksum);
        assert_eq!(Record::decode(&kept.into(), "k"), Err(StoreError::Corrupt));
    }
}
