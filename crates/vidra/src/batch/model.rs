//! The query, the events and the results of a batch.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ident::VideoId;
use crate::list::SourceId;
use crate::transcript::{
    Chunk, ChunkQuery, Languages, TimeRange, Transcript, TranscriptLine, TranscriptQuery,
};

/// The entries of the source that a batch transcribes, and the form of their transcripts.
///
/// ```
/// use vidra::{BatchQuery, Languages};
/// let query = BatchQuery::default().with_to(50).with_concurrency(8).with_languages(Languages::parse("de,en")?);
/// assert_eq!((query.from, query.to, query.concurrency), (None, Some(50), 8));
/// # Ok::<_, vidra::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchQuery {
    /// The number of concurrent transcripts, from 1 to 20. The default is 3.
    pub concurrency: usize,
    /// The first position in the source, counted from 1.
    pub from: Option<u64>,
    /// The last position, included. A position beyond the end means the end.
    pub to: Option<u64>,
    /// The earliest publication time. It excludes entries without a date, and so all entries of a list of videos. The
    /// uploads of a channel are sorted by time, so the batch stops listing at the first page with only older uploads.
    pub since: Option<Timestamp>,
    /// The languages and the kind of captions.
    pub transcript: TranscriptQuery,
    /// The part of each video.
    pub range: TimeRange,
    /// Divides the transcripts into chunks.
    pub chunks: Option<ChunkQuery>,
    /// Videos to skip, because the caller already has them. They send no request, produce no result
    /// and count only in `totalVideos`.
    pub skip: HashSet<VideoId>,
}

impl BatchQuery {
    /// Sets the number of concurrent transcripts, from 1 to 20.
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Sets the first position, counted from 1.
    pub fn with_from(self, from: impl Into<Option<u64>>) -> Self {
        Self { from: from.into(), ..self }
    }

    /// Sets the last position, included.
    pub fn with_to(self, to: impl Into<Option<u64>>) -> Self {
        Self { to: to.into(), ..self }
    }

    /// Sets the earliest publication time.
    pub fn with_since(self, since: impl Into<Option<Timestamp>>) -> Self {
        Self { since: since.into(), ..self }
    }

    /// Sets the accepted languages, in order of preference.
    pub fn with_languages(self, languages: Languages) -> Self {
        Self { transcript: self.transcript.with_languages(languages), ..self }
    }

    /// Sets the languages and the kind of captions.
    pub fn with_transcript(self, transcript: TranscriptQuery) -> Self {
        Self { transcript, ..self }
    }

    /// Sets the part of each video.
    pub fn with_range(self, range: TimeRange) -> Self {
        Self { range, ..self }
    }

    /// Divides the transcripts into chunks.
    pub fn with_chunks(self, chunks: impl Into<Option<ChunkQuery>>) -> Self {
        Self { chunks: chunks.into(), ..self }
    }

    /// Sets the videos to skip.
    pub fn with_skip(self, skip: impl IntoIterator<Item = VideoId>) -> Self {
        Self { skip: skip.into_iter().collect(), ..self }
    }
}

impl Default for BatchQuery {
    fn default() -> Self {
        Self {
            concurrency: 3,
            from: None,
            to: None,
            since: None,
            transcript: TranscriptQuery::default(),
            range: TimeRange::default(),
            chunks: None,
            skip: HashSet::new(),
        }
    }
}

/// The result of one entry of a batch.
///
/// Its JSON has a `status`, and the `lines`, the `chunks` or the `error`, its `reason` and `retryAfter`. An error that was
/// read from JSON has its details in its message. The `reason` of a newer release is read as
/// [`Reason::UpstreamFailed`](crate::Reason::UpstreamFailed).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VideoTranscript {
    /// The video's id. `None` if YouTube does not reveal it; in JSON it is empty then.
    pub video_id: Option<VideoId>,
    /// The title. Empty if the video is private or deleted, and on a failed result of a list of videos.
    pub title: String,
    /// The position in the whole source, counted from 1.
    pub position: u64,
    /// The transcript, or why there is none.
    pub transcript: Result<BatchTranscript, Error>,
}

impl VideoTranscript {
    /// The result of an entry.
    ///
    /// ```
    /// use vidra::{Error, Reason, VideoTranscript};
    /// let error = Error::new(Reason::VideoPrivate, "Video is private");
    /// let result = VideoTranscript::new(None, String::new(), 7, Err(error));
    /// let json = serde_json::to_value(result)?;
    /// assert_eq!((&json["status"], &json["reason"]), (&"failed".into(), &"video_private".into()));
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    pub fn new(
        video_id: Option<VideoId>,
        title: String,
        position: u64,
        transcript: Result<BatchTranscript, Error>,
    ) -> Self {
        Self { video_id, title, position, transcript }
    }
}

/// A transcript of a batch, in the form that its query requests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchTranscript {
    /// The lines.
    Lines(Transcript),
    /// The chunks, if the query divides the transcripts.
    Chunks(Vec<Chunk>),
}

impl BatchTranscript {
    /// The lines. Empty if the query divides the transcripts.
    pub fn lines(&self) -> &[TranscriptLine] {
        if let Self::Lines(lines) = self { lines } else { &[] }
    }
}

/// The totals of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BatchSummary {
    /// The source of the videos.
    pub source: SourceId,
    /// The number of entries in the source. With `to` or `since` it is YouTube's own count, unless the batch
    /// read the list to its end.
    pub total_videos: u64,
    /// The first and last requested position.
    #[cfg_attr(feature = "openapi", schema(example = json!([1, 25])))]
    pub requested_range: [u64; 2],
    /// The number of successful results.
    pub succeeded: u64,
    /// The number of failed results.
    pub failed: u64,
}

/// An event of a batch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BatchEvent {
    /// The first page of the source has arrived. This is the first event.
    #[non_exhaustive]
    Started {
        /// The number of entries in the source: exact if the list is cached or has one page, otherwise YouTube's
        /// own count. `None` if YouTube sends none.
        total_videos: Option<u64>,
    },
    /// An entry is done. Results arrive in the order of completion, and each has its position.
    Result(VideoTranscript),
    /// An entry waits this long for the rate limiter, which protects the address from a block. The
    /// batch reports the first wait, and then at most one every 15 seconds.
    Waiting(Duration),
    /// The batch is complete. This is the last event.
    Done(BatchSummary),
}
