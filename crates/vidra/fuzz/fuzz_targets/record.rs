#![no_main]
//! What a store kept. Whatever is read as a record is written as the same bytes.

use libfuzzer_sys::fuzz_target;
use vidra::store::Record;

fuzz_target!(|bytes: &[u8]| {
    check(bytes.to_vec());
    // Behind a right checksum, which chance does not find.
    check([bytes, &crc32fast::hash(bytes).to_le_bytes()].concat());
});

fn check(kept: Vec<u8>) {
    // The key is where the layout has it, so that records of all keys are read.
    let length =
        kept.get(8..12).and_then(|length| length.try_into().ok()).map_or(0, u32::from_le_bytes);
    let key = kept.get(36..36_usize.saturating_add(length as usize)).unwrap_or_default();
    let key = String::from_utf8_lossy(key).into_owned();
    if let Ok(Some(record)) = Record::decode(&kept.clone().into(), &key) {
        assert_eq!(record.encode(&key), kept);
    }
}
