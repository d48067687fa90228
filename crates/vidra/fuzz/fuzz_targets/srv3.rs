#![no_main]
//! Bytes as a body, and as what is inside the body element of one.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = vidra_fuzz::read(data);
    let head = br#"<timedtext format="3"><body>"#;
    let _ = vidra_fuzz::read(&[head, data, b"</body></timedtext>"].concat());
});
