//! The models of collections. They do no I/O and read no clock.

mod name;
mod request;
pub(crate) mod schedule;
mod source;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vidra::{Reason, VideoId};

use crate::job::{Failure, JobId, JobState, Wait, iso, optional_iso};
pub use name::CollectionName;
pub use request::CollectionRequest;
pub use source::CollectionSource;
pub(crate) use source::search_query;

/// A collection: a named set of sources that stays up to date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    /// The name.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "twelve-channels"))]
    pub name: CollectionName,
    /// The name of the key that created it. Absent if the service requires no keys.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub owner: String,
    /// Whether it is synced by itself.
    pub state: CollectionState,
    /// Why it is paused, if not by its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub reason: Option<Reason>,
    /// The request, without its sources.
    pub options: CollectionRequest,
    /// The number of its sources.
    pub source_count: u64,
    /// The number of sources whose videos were not all listed yet.
    pub unlisted_sources: u64,
    /// The number of sources that could not be checked the last time.
    pub failed_sources: u64,
    /// The counts of its videos, with and without a transcript.
    pub coverage: Coverage,
    /// The quota units of the last days, the newest first.
    pub units: Vec<DayUnits>,
    /// The last sync. Absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub last_sync: Option<LastSync>,
    /// When the next sync is due. Absent while it is paused.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub next_sync: Option<Timestamp>,
    /// When it was created.
    #[serde(serialize_with = "iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When its sources or options were changed last.
    #[serde(serialize_with = "iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
}

/// A collection with its sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CollectionDetails {
    /// The collection.
    #[serde(flatten)]
    pub collection: Collection,
    /// Its sources, in the order of the request.
    pub sources: Vec<SourceStatus>,
}

/// Whether a collection is synced by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CollectionState {
    /// It is synced by its schedule.
    Active,
    /// Its owner paused it, or its owner's key was revoked.
    Paused,
}

/// The videos of a collection, by what is known about them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// All videos.
    pub videos: u64,
    /// Those with a transcript.
    pub transcribed: u64,
    /// Those that were not tried yet.
    pub pending: u64,
    /// Those without a transcript, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// Those that are tried again by themselves. They are a part of `failed`.
    pub retrying: u64,
    /// Those that were deleted or made private.
    pub gone: u64,
}

/// The quota units of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DayUnits {
    /// The date of the quota day, which is in Pacific time.
    #[cfg_attr(feature = "openapi", schema(example = "2026-11-17"))]
    pub day: String,
    /// The units.
    pub units: u64,
}

/// The last sync of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastSync {
    /// When it began.
    #[serde(serialize_with = "iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Timestamp,
    /// When it ended. Absent before.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub finished_at: Option<Timestamp>,
    /// The id of its job. Absent after the job was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, nullable = false, required = false))]
    pub job_id: Option<JobId>,
    /// The state of its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub state: Option<JobState>,
    /// The resource that it waits for. Absent if it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub waiting: Option<Wait>,
    /// The number of transcripts that it added.
    pub succeeded: u64,
    /// The quota units that it has cost.
    pub units: u64,
}

/// A source of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// The source, as in a request.
    #[cfg_attr(feature = "openapi", schema(example = "@fermata"))]
    pub source: String,
    /// `video`, `playlist`, `channel` or `search`.
    #[cfg_attr(feature = "openapi", schema(example = "channel"))]
    pub kind: String,
    /// The id of a channel. Absent until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub channel_id: Option<String>,
    /// The title of a channel or playlist. Absent until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub title: Option<String>,
    /// Whether all its videos were listed once.
    pub is_listed: bool,
    /// The number of videos of the collection that it has shown.
    pub videos: u64,
    /// When it was checked last. Absent before.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub checked_at: Option<Timestamp>,
    /// Why it could not be checked the last time. Absent if it could.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub error: Option<Failure>,
}

/// The state of a video in a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VideoState {
    /// It was not tried yet.
    Pending,
    /// Its transcript is in the library.
    Transcribed,
    /// It has no transcript.
    Failed,
    /// It was deleted, or is private.
    Gone,
}

impl VideoState {
    /// All states, with their words in requests. Their positions are their numbers in the file.
    pub const ALL: [(&'static str, Self); 4] = [
        ("pending", Self::Pending),
        ("transcribed", Self::Transcribed),
        ("failed", Self::Failed),
        ("gone", Self::Gone),
    ];

    pub(crate) fn from_number(number: i64) -> Self {
        let known = usize::try_from(number).ok().and_then(|index| Self::ALL.get(index));
        known.map_or(Self::Pending, |(_, state)| *state)
    }

    pub(crate) fn number(self) -> i64 {
        Self::ALL.iter().position(|(_, state)| *state == self).unwrap_or(0) as i64
    }
}

/// A video of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CollectionVideo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub video_id: VideoId,
    /// The title. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub title: Option<String>,
    /// The title of its channel. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub channel: Option<String>,
    /// The publication time. Absent if it is not known.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub published_at: Option<Timestamp>,
    /// Where the publication time comes from: `player`, `feed` or `data_api`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false, example = "feed"))]
    pub published_source: Option<String>,
    /// The state.
    pub state: VideoState,
    /// Why it has no transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub reason: Option<Reason>,
    /// When it is tried again. Absent if it is not.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub next_try: Option<Timestamp>,
    /// When the collection found it.
    #[serde(serialize_with = "iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub found_at: Timestamp,
}
