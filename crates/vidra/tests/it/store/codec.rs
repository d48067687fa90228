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
    fn records_round_trip(record in any_record(), key in ".{0,40}") {
        let encoded = record.encode(&key);
        prop_assert_eq!(Record::decode(&encoded, &key), Ok(Some(record)));
    }

    #[test]
    fn a_record_of_another_key_is_none(record in any_record(), key in ".{0,9}", other in ".{0,9}") {
        prop_assume!(key != other);
        prop_assert_eq!(Record::decode(&record.encode(&key), &other), Ok(None));
    }

    #[test]
    fn a_changed_byte_is_detected(
        record in any_record(),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let mut encoded = record.encode("key").to_vec();
        let at = at.index(encoded.len());
        encoded[at] ^= change;
        prop_assert_eq!(Record::decode(&encoded.into(), "key"), Err(StoreError::Corrupt));
    }

    #[test]
    fn truncated_and_longer_records_are_detected(
        record in any_record(),
        cut in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 1..9),
    ) {
        let encoded = record.encode("key");
        let cut = encoded.slice(..cut.index(encoded.len()));
        prop_assert_eq!(Record::decode(&cut, "key"), Err(StoreError::Corrupt));
        let longer: Bytes = [&encoded[..], &more].concat().into();
        prop_assert_eq!(Record::decode(&longer, "key"), Err(StoreError::Corrupt));
    }

    #[test]
    fn arbitrary_bytes_are_corrupt(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Record::decode(&bytes.into(), "key"), Err(StoreError::Corrupt));
    }
}

/// Other processes and later versions rely on the layout.
#[test]
fn the_layout_is_stable() {
    let encoded = record("{}").encode("k");
    let mut expected = b"vdra\x02\0\x01\0\x01\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
    expected.extend(4_000_000_000_000_u64.to_le_bytes());
    expected.extend(4_000_000_060_000_u64.to_le_bytes());
    expected.extend(b"k{}");
    expected.extend(crc32fast::hash(&expected).to_le_bytes());
    assert_eq!(encoded, expected);
}

#[test]
fn wrong_lengths_are_detected_before_they_are_used() {
    for (at, length) in [(8, u64::from(u32::MAX)), (12, u64::MAX), (12, u64::MAX - 36)] {
        let mut encoded = record("{}").encode("k").to_vec();
        let width = if at == 8 { 4 } else { 8 };
        encoded[at..at + width].copy_from_slice(&length.to_le_bytes()[..width]);
        let content = encoded.len() - 4;
        let checksum = crc32fast::hash(&encoded[..content]).to_le_bytes();
        encoded[content..].copy_from_slice(&checksum);
        assert_eq!(Record::decode(&encoded.into(), "k"), Err(StoreError::Corrupt));
    }
}
