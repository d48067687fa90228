//! The events of a job.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vidra::{Reason, VideoId};

use super::{Failure, JobState, Wait};

/// A change of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum JobEvent {
    /// The job has another state.
    State(StateEvent),
    /// A page of a source was listed.
    Listed(ListedEvent),
    /// An item succeeded or failed.
    Item(ItemEvent),
}

/// The new state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StateEvent {
    /// The state.
    pub state: JobState,
    /// The resource that the job waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub waiting: Option<Wait>,
    /// Why the job failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub error: Option<Failure>,
}

/// A listed page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListedEvent {
    /// The number of new items.
    pub added: u64,
    /// The number of items of the job so far.
    pub items: u64,
    /// The cost of the page in quota units.
    pub units: u64,
}

/// The end of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ItemEvent {
    /// The position in the job.
    pub position: u64,
    /// The video's id. Absent if YouTube does not reveal it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, nullable = false, required = false))]
    pub video_id: Option<VideoId>,
    /// Why it failed. Absent if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub reason: Option<Reason>,
}

/// An event as it is stored: its number in its job, its time, and its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedEvent {
    /// The number, from 1 without gaps.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// A [`JobEvent`] as JSON.
    pub json: String,
}
