//! Transcripts through the cache.

use std::sync::Arc;

use bytes::Bytes;

use crate::cache::Cached;
use crate::context::Context;
use crate::error::Result;
use crate::ident::VideoId;
use crate::resource::Services;
use crate::resource::lookup::Lookup;
use crate::transcript::{FullTranscript, TranscriptQuery};

/// The JSON of the lines, which is a part of the record and is not copied.
pub(crate) fn lines(record: &Bytes) -> Bytes {
    record.slice_ref(FullTranscript::lines_of_record(record))
}

/// Whether this is the record of a transcript.
pub(crate) fn is_valid(record: &[u8]) -> bool {
    FullTranscript::from_record(record).is_ok()
}

/// Reads a transcript with all its data.
pub(crate) async fn full(
    services: &Arc<Services>,
    ctx: &Context,
    id: VideoId,
    query: &TranscriptQuery,
) -> Result<Cached<FullTranscript>> {
    let record = services.read_record(ctx, &Lookup::Transcript(id, query.clone())).await?;
    let transcript = FullTranscript::from_record(&record.body)?;
    Ok(record.with_body(transcript))
}
