//! Broken bodies.

use super::Junk;
use crate::response::Dropped;
use axum::body::Body;
use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use futures_util::stream;
use std::io::Write;
use std::time::Duration;

/// Half of the bytes, then a broken connection.
pub(crate) fn cut(mut whole: Bytes) -> Body {
    whole.truncate(whole.len() / 2);
    let steps = stream::unfold(Some(whole), |state| async {
        match state {
            Some(half) if !half.is_empty() => Some((Ok(half), Some(Bytes::new()))),
            Some(_) => {
                // The server flushes when the body pauses. Without this pause the half would be lost with
                // the connection.
                tokio::task::yield_now().await;
                Some((Err(Dropped), None))
            }
            None => None,
        }
    });
    Body::from_stream(steps)
}

/// The whole body, a few bytes at a time.
pub(crate) fn drip(whole: Bytes, chunk: usize, every: Duration) -> Body {
    let chunk = chunk.max(1);
    let steps = stream::unfold(whole, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(every).await;
        let next = rest.split_to(chunk.min(rest.len()));
        Some((Ok::<_, Dropped>(next), rest))
    });
    Body::from_stream(steps)
}

/// A list that never closes, of exactly `bytes` bytes.
pub(crate) fn huge(bytes: u64) -> Body {
    const HEAD: &[u8] = b"{\"kind\":\"youtube#videoListResponse\",\"etag\":\"huge\",\"items\":[";
    const ITEM: &[u8] = b"{\"kind\":\"youtube#video\",\"etag\":\"huge\",\"id\":\"aaaaaaaaaaa\"},";
    let block = Bytes::from(ITEM.repeat(1000));
    let steps = stream::unfold((bytes, true), move |(left, first)| {
        let mut next = if first { Bytes::from_static(HEAD) } else { block.clone() };
        next.truncate(usize::try_from(left).unwrap_or(usize::MAX).min(next.len()));
        let left = left - next.len() as u64;
        std::future::ready((!next.is_empty()).then_some((Ok::<_, Dropped>(next), (left, false))))
    });
    Body::from_stream(steps)
}

/// White space in gzip: one compressed mebibyte, repeated, which is cheap to produce.
pub(crate) fn gzip_bomb(mebibytes: u32) -> Body {
    const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    const LAST_BLOCK: &[u8] = &[3, 0];
    let plain = vec![b' '; 1 << 20];
    let mut packed = Vec::with_capacity(1 << 16);
    // Compressed separately and flushed to a byte boundary, so that it can be repeated.
    let result = Compress::new(Compression::fast(), false).compress_vec(
        &plain,
        &mut packed,
        FlushCompress::Sync,
    );
    debug_assert!(matches!(result, Ok(Status::Ok)), "the buffer is large enough");
    let (mut one, mut whole) = (Crc::new(), Crc::new());
    one.update(&plain);
    (0..mebibytes).for_each(|_| whole.combine(&one));
    let trailer = [LAST_BLOCK, &whole.sum().to_le_bytes(), &whole.amount().to_le_bytes()].concat();
    let packed = Bytes::from(packed);
    let blocks = (0..mebibytes).map(move |_| packed.clone());
    let all =
        std::iter::once(Bytes::from_static(HEADER)).chain(blocks).chain([Bytes::from(trailer)]);
    Body::from_stream(stream::iter(all.map(Ok::<_, Dropped>)))
}

/// A compressed list of `count` empty items.
pub(crate) fn gzip_items(count: usize) -> Body {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let items = "{},".repeat(count);
    let list = ["{\"items\":[", items.trim_end_matches(','), "]}"].concat();
    let written = encoder.write_all(list.as_bytes());
    debug_assert!(written.is_ok(), "memory accepts everything");
    Body::from(encoder.finish().unwrap_or_default())
}

/// The content type and the bytes of a wrong body.
pub(crate) fn junk(kind: Junk, right: &Bytes) -> (&'static str, Bytes) {
    const JSON: &str = "application/json; charset=UTF-8";
    match kind {
        Junk::Html => ("text/html; charset=UTF-8", Bytes::from_static(b"<!DOCTYPE html><html><head><title>Sorry</title></head><body>Unusual traffic</body></html>")),
        Junk::Text => ("text/plain", Bytes::from_static(b"upstream connect error or disconnect/reset before headers")),
        Junk::Empty => (JSON, Bytes::new()),
        Junk::Truncated => (JSON, right.slice(..right.len() / 2)),
        Junk::OtherShape => (JSON, Bytes::from_static(b"[{\"items\": \"none\"}, 42]")),
        Junk::NotUtf8 => (JSON, Bytes::from_static(b"{\"items\": [\"\xff\xfe\"]}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[tokio::test]
    async fn gzip_bomb_is_small_and_decompresses_to_its_size() {
        let packed = axum::body::to_bytes(gzip_bomb(3), usize::MAX).await.expect("no error in it");
        assert!(packed.len() < 1 << 17, "{} bytes", packed.len());
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut plain).expect("valid gzip");
        assert_eq!(plain.len(), 3 << 20);
    }
}
