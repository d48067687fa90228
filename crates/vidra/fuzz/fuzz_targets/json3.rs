#![no_main]
//! Parses the bytes as a body, as the content of its events, and as the text of a segment.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = vidra_fuzz::read(data);
    let _ = vidra_fuzz::read(&[br#"{"events":["#, data, b"]}"].concat());
    let segment = br#"{"events":[{"tStartMs":1,"segs":[{"utf8":""#;
    let _ = vidra_fuzz::read(&[segment, data, br#""}]}]}"#].concat());
});
