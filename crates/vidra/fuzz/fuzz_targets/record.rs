#![no_main]
//! Decodes stored records. A decoded record must encode to the same bytes.

use libfuzzer_sys::fuzz_target;
use vidra::store::Record;

fuzz_target!(|bytes: &[u8]| {
    check(bytes.to_vec());
    // With a correct checksum, because the fuzzer does not find one by chance.
    check([bytes, &crc32fast::hash(bytes).to_le_bytes()].concat());
});

fn check(stored: Vec<u8>) {
    // The key comes from its position in the layout, so that records with any key are decoded.
    let length =
        stored.get(8..12).and_then(|length| length.try_into().ok()).map_or(0, u32::from_le_bytes);
    let key = stored.get(36..36_usize.saturating_add(length as usize)).unwrap_or_default();
    let key = String::from_utf8_lossy(key).into_owned();
    if let Ok(Some(record)) = Record::decode(&stored.clone().into(), &key) {
        assert_eq!(record.encode(&key), stored);
    }
}
