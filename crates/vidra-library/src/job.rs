//! The models of jobs. They do no I/O and read no clock.

mod event;
mod id;
mod parse;
mod request;
mod time;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vidra::{Reason, VideoId};

pub use event::{ItemEvent, JobEvent, ListedEvent, NumberedEvent, StateEvent};
pub use id::JobId;
pub use parse::is_webhook_name;
pub(crate) use parse::{
    MAX_LIMIT, MAX_UNITS, captions_member, each_member, finish, object, sources, webhook,
};
pub use request::{JobRequest, JobSource};
pub(crate) use request::{serialize_captions, transcript_key};
pub(crate) use time::{iso, optional_iso};

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum JobState {
    /// It has not started.
    Queued,
    /// Its playlists and channels are being listed. Transcripts of listed videos are already fetched.
    Listing,
    /// Its transcripts are being fetched.
    Running,
    /// It waits for a resource, and continues by itself.
    Waiting,
    /// Its owner paused it, or its owner's key was revoked.
    Paused,
    /// Every item has succeeded or failed.
    Completed,
    /// Its owner cancelled it.
    Cancelled,
    /// A source does not exist, or the unit budget ended. Listed items were finished first.
    Failed,
}

impl JobState {
    /// All states, with their words in requests.
    pub const ALL: [(&'static str, Self); 8] = [
        ("queued", Self::Queued),
        ("listing", Self::Listing),
        ("running", Self::Running),
        ("waiting", Self::Waiting),
        ("paused", Self::Paused),
        ("completed", Self::Completed),
        ("cancelled", Self::Cancelled),
        ("failed", Self::Failed),
    ];

    /// The state of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, state)| *state)
    }

    /// The word of this state in requests and answers.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, state)| *state == self).map_or("", |(word, _)| word)
    }

    /// Whether a worker continues the job by itself.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Queued | Self::Listing | Self::Running | Self::Waiting)
    }

    /// Whether the job has ended. Only a retry starts it again.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

/// The resource that a job waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Wait {
    /// Why it is unavailable.
    pub reason: Reason,
    /// When it is expected to be available again.
    #[serde(serialize_with = "time::iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
}

/// Why a job or an item failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Failure {
    /// The reason, as a code.
    pub reason: Reason,
    /// The reason, as a sentence.
    pub message: String,
}

impl From<&vidra::Error> for Failure {
    fn from(error: &vidra::Error) -> Self {
        Self { reason: error.reason(), message: error.message().to_owned() }
    }
}

/// The counts of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The number of items. `null` until all sources are listed.
    pub total: Option<u64>,
    /// The number of items with a transcript.
    pub succeeded: u64,
    /// The number of failed items, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// The number of listed items that have neither succeeded nor failed.
    pub pending: u64,
    /// The quota units that the job has cost.
    pub units: u64,
    /// The estimated seconds until the job completes. `null` if that is unknown.
    pub eta_seconds: Option<u64>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "0f8fad5bd9cb469fa16570867728950e"))]
    pub id: JobId,
    /// The name that its owner gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub name: Option<String>,
    /// The name of the key that started it. Absent if the service requires no keys.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub owner: String,
    /// The name of the collection that it syncs. Absent for other jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub collection: Option<String>,
    /// The state.
    pub state: JobState,
    /// The resource that it waits for. Absent in other states than `waiting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub waiting: Option<Wait>,
    /// Why it failed. Absent in other states than `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub error: Option<Failure>,
    /// The counts.
    #[serde(flatten)]
    pub progress: Progress,
    /// The number of the last event. It grows with every change.
    pub version: u64,
    /// The request, without its sources.
    pub options: JobRequest,
    /// The number of its sources.
    pub source_count: u64,
    /// When it was created.
    #[serde(serialize_with = "time::iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When it started. Absent before.
    #[serde(serialize_with = "time::optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub started_at: Option<Timestamp>,
    /// When it ended. Absent before.
    #[serde(serialize_with = "time::optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub finished_at: Option<Timestamp>,
}

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ItemState {
    /// It waits for its turn, or is being fetched.
    Pending,
    /// Its transcript is in the library.
    Succeeded,
    /// It has no transcript.
    Failed,
}

impl ItemState {
    /// All states, with their words in requests.
    pub const ALL: [(&'static str, Self); 3] =
        [("pending", Self::Pending), ("succeeded", Self::Succeeded), ("failed", Self::Failed)];

    /// The state of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, state)| *state)
    }

    /// The word of this state in requests and answers.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, state)| *state == self).map_or("", |(word, _)| word)
    }
}

/// A video of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The position in the job, counted from 1.
    pub position: u64,
    /// The video's id. Absent if YouTube does not reveal it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, nullable = false, required = false))]
    pub video_id: Option<VideoId>,
    /// The title. Absent until the transcript is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub title: Option<String>,
    /// The state.
    pub state: ItemState,
    /// Why it failed, as a code. A pending item has the reason of its last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub reason: Option<Reason>,
    /// Why it failed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub error: Option<String>,
    /// When it succeeded or failed.
    #[serde(serialize_with = "time::optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub finished_at: Option<Timestamp>,
}
