//! The record of a video: its JSON, a line break, and the JSON of its details. JSON has no line breaks of its own, so
//! that the answer without details is a part of the record and is never copied.

use bytes::Bytes;

use crate::cache::Cached;
use crate::error::{Error, Result};
use crate::resource::lookup;
use crate::store::to_exact_bytes;
use crate::video::{Include, Video, VideoDetails};

/// The record of a video with its details.
pub(crate) fn encode(mut video: Video) -> Result<Bytes> {
    let details = video.details.take().unwrap_or_default();
    let mut record = serde_json::to_vec(&video).map_err(Error::internal)?;
    record.push(b'\n');
    serde_json::to_writer(&mut record, &details).map_err(Error::internal)?;
    Ok(to_exact_bytes(&record))
}

/// Where the JSON without details ends.
fn border(record: &[u8]) -> usize {
    // From the end, because details are short.
    record.iter().rposition(|byte| *byte == b'\n').unwrap_or(record.len())
}

/// Whether this is the record of a video.
pub(crate) fn is_valid(record: &[u8]) -> bool {
    let (video, details) = record.split_at(border(record));
    let is_video = serde_json::from_slice::<Video>(video).is_ok();
    is_video && serde_json::from_slice::<VideoDetails>(details).is_ok()
}

/// The video of a record, with the requested members.
pub(crate) fn decode(record: &Cached, include: Include) -> Result<Video> {
    let (video, details) = record.body.split_at(border(&record.body));
    let mut video: Video = serde_json::from_slice(video).map_err(Error::internal)?;
    if include.details {
        video.details = serde_json::from_slice(details).map_err(Error::internal)?;
    }
    include.apply(&mut video);
    Ok(video)
}

/// The JSON of a record with the requested members.
pub(crate) fn answer(record: Cached, include: Include) -> Result<Cached> {
    let body = match include == Include::default() {
        true => record.body.slice(..border(&record.body)),
        false => lookup::json(&decode(&record, include)?)?,
    };
    Ok(record.with_body(body))
}
