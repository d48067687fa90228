//! The compressed form of an answer: made once, under a tag of its own, for who takes it.

use std::io::Write;

use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Smaller bodies fit into a packet either way.
const WORTH_COMPRESSING: usize = 1024;

/// Larger ones are compressed quickly rather than well: others wait for the thread.
const LARGE: usize = 256 * 1024;

/// A form of its own has a tag of its own.
pub(super) fn tag_of_gzip(etag: &HeaderValue) -> HeaderValue {
    let tag = etag.to_str().unwrap_or_default().trim_end_matches('"');
    HeaderValue::try_from(format!("{tag}-gzip\"")).expect("a tag and a word")
}

/// `None` where it is not worth it.
pub(super) fn compressed(body: &Bytes) -> Option<Bytes> {
    if body.len() < WORTH_COMPRESSING {
        return None;
    }
    let level = if body.len() < LARGE { Compression::new(6) } else { Compression::fast() };
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), level);
    encoder.write_all(body).ok()?;
    let packed = encoder.finish().ok().filter(|packed| packed.len() < body.len())?;
    Some(packed.into_boxed_slice().into())
}

/// Whether `Accept-Encoding` allows gzip: by its name, or else by `*`, and not with `q=0`.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let allows = |names: &[&str]| {
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).find_map(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            let weight = weight.split_once('=').map(|(_, weight)| weight.trim().parse::<f32>());
            let is_named = names.iter().any(|known| name.trim().eq_ignore_ascii_case(known));
            is_named.then_some(!matches!(weight, Some(Ok(weight)) if weight <= 0.0))
        })
    };
    allows(&["gzip", "x-gzip"]).or_else(|| allows(&["*"])).unwrap_or(false)
}
