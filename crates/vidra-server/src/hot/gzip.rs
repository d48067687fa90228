//! The gzip form of a response: compressed once, with its own `ETag`.

use std::io::Write;

use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::answer::exact_bytes;
use crate::extract::list_items;

/// Smaller bodies fit into one packet either way.
pub(super) const MIN_BYTES: usize = 1024;

/// Larger bodies are compressed on a thread of their own, because it takes more than a millisecond.
pub(super) const LARGE_BYTES: usize = 64 * 1024;

/// Larger bodies use the fastest level.
const HUGE_BYTES: usize = 256 * 1024;

/// Each encoding of a resource needs its own strong tag.
pub(super) fn gzip_etag(etag: &HeaderValue) -> HeaderValue {
    let tag = etag.to_str().unwrap_or_default().trim_end_matches('"');
    HeaderValue::try_from(format!("{tag}-gzip\"")).expect("a tag and a word")
}

/// `None` if compression would not make the body smaller.
pub(super) fn compress(body: &Bytes) -> Option<Bytes> {
    if body.len() < MIN_BYTES {
        return None;
    }
    let level = if body.len() < HUGE_BYTES { Compression::new(6) } else { Compression::fast() };
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), level);
    encoder.write_all(body).ok()?;
    let packed = encoder.finish().ok().filter(|packed| packed.len() < body.len())?;
    Some(exact_bytes(packed))
}

/// Whether `Accept-Encoding` allows gzip, by name or by `*`, and not with `q=0`.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut by_name, mut by_wildcard) = (None, None);
    for coding in list_items(headers, ACCEPT_ENCODING) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let name = name.trim_end();
        let rule = if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            &mut by_name
        } else if name == "*" {
            &mut by_wildcard
        } else {
            continue;
        };
        // The first item of a name counts.
        rule.get_or_insert_with(|| {
            let weight = weight.split_once('=').map(|(_, weight)| weight.trim().parse::<f32>());
            !matches!(weight, Some(Ok(weight)) if weight <= 0.0)
        });
    }
    by_name.or(by_wildcard).unwrap_or(false)
}
