#![no_main]
//! Bytes as a body, and as what is inside the root of one.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = vidra_fuzz::read(data);
    let _ = vidra_fuzz::read(&[b"<transcript>", data, b"</transcript>"].concat());
    let cue = [b"<transcript><text start='1.5' dur='2'>", data, b"</text></transcript>"].concat();
    let _ = vidra_fuzz::read(&cue);
});
