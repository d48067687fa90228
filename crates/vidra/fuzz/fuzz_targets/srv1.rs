#![no_main]
//! Parses the bytes as a body, as the content of its root element, and as the text of a cue.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = vidra_fuzz::read(data);
    let _ = vidra_fuzz::read(&[b"<transcript>", data, b"</transcript>"].concat());
    let cue = [b"<transcript><text start='1.5' dur='2'>", data, b"</text></transcript>"].concat();
    let _ = vidra_fuzz::read(&cue);
});
