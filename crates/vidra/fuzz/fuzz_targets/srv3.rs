#![no_main]
//! Parses the bytes as a document, and as the content of its body element.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = vidra_fuzz::read(data);
    let head = br#"<timedtext format="3"><body>"#;
    let _ = vidra_fuzz::read(&[head, data, b"</body></timedtext>"].concat());
});
