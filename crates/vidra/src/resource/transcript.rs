//! Transcripts through the cache.

pub(crate) mod record;

use std::sync::Arc;

use crate::cache::Cached;
use crate::context::Context;
use crate::error::Result;
use crate::ident::VideoId;
use crate::resource::Services;
use crate::resource::lookup::Lookup;
use crate::transcript::{FullTranscript, TranscriptQuery};

/// Reads a transcript with all its data.
pub(crate) async fn full(
    services: &Arc<Services>,
    ctx: &Context,
    id: VideoId,
    query: &TranscriptQuery,
) -> Result<Cached<FullTranscript>> {
    let record = services.read_record(ctx, &Lookup::Transcript(id, query.clone())).await?;
    let transcript = record::decode(&record.body)?;
    Ok(record.with_body(transcript))
}
