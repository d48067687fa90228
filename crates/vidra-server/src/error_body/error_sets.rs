//! The error responses of each kind of operation.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{RefOr, Response};

use super::responses::references;

macro_rules! error_sets {
    ($($(#[$doc:meta])+ $set:ident: $($name:ident),+;)+) => {$(
        $(#[$doc])+
        pub(crate) enum $set {}

        impl IntoResponses for $set {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                references(&[$(stringify!($name)),+])
            }
        }
    )+};
}

error_sets! {
    /// The errors of an operation that calls YouTube.
    FetchErrors: InvalidRequest, AccessDenied, NotFound, LimitReached, Internal, UpstreamFailed, Unavailable, TimedOut;
    /// The errors of an operation that takes a JSON body.
    BodyErrors: InvalidBody, BodyTimeout, BodyTooLarge, UnsupportedMediaType;
    /// The errors of an operation that fetches the captions of a video, as far as they differ from [`FetchErrors`].
    TranscriptErrors: VideoDenied, TranscriptNotFound, TranscriptLimitReached, TranscriptFailed;
    /// The errors of a playlist batch that differ from those of other operations. Errors of single videos are in
    /// the results.
    BatchErrors: InvalidBatch, PlaylistDenied, PlaylistNotFound;
    /// The errors of a batch with a source in its body that differ from those of other operations.
    TranscriptBatchErrors: InvalidBatch, PlaylistDenied, NotFound;
    /// The errors of the start of a job that differ from those of other operations.
    StartErrors: InvalidJob, LibraryOff, BodyTimeout, BodyTooLarge, JobTypeUnsupported, IdempotencyKeyReused, JobLimitReached;
    /// The errors of an operation on one job.
    JobErrors: InvalidJobQuery, JobNotFound, Internal, LibraryUnavailable;
    /// The errors of the list of jobs.
    JobListErrors: InvalidJobQuery, LibraryOff, Internal, LibraryUnavailable;
    /// The error of a change of a job.
    JobChangeErrors: JobStateConflict;
    /// The errors of an operation on one collection.
    CollectionErrors: InvalidJobQuery, OperatorKeyRequired, CollectionNotFound, Internal, LibraryUnavailable;
    /// The errors of the list of collections.
    CollectionListErrors: InvalidJobQuery, LibraryOff, Internal, LibraryUnavailable;
    /// The errors of the creation of a collection that differ from those of other operations.
    PutCollectionErrors: InvalidCollection, CollectionLimitReached;
    /// The errors of a search in the library.
    SearchErrors: InvalidSearch, OperatorKeyRequired, LibraryPartNotFound, SearchLimitReached, Internal, UpstreamFailed, LibraryUnavailable, SearchTimedOut;
    /// The error of an operation for operators.
    OperatorErrors: OperatorKeyRequired;
    /// The error of readiness.
    ReadinessErrors: ShuttingDown;
}
