//! The closed list of reasons why an operation fails.

use std::fmt;

use super::ErrorKind;

/// Defines [`Reason`] from one table: the code, the kind, the meaning (its documentation) and the
/// advice of each.
macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $name:ident = $code:literal, $kind:ident, $advice:literal;)+) => {
        /// Why an operation failed.
        ///
        /// Callers that handle two conditions differently get two reasons. The list includes the reasons of the
        /// interfaces above this library, so that a word means the same everywhere. It grows with releases.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl Reason {
            /// All reasons, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word in responses: `captions_disabled`.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The class of errors that it belongs to.
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$name => ErrorKind::$kind,)+ }
            }

            /// One sentence that explains it.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($meaning),+).trim_ascii(),)+ }
            }

            /// The advice for a caller.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)+ }
            }
        }
    };
}

reasons! {
    /// The request is not valid. `details` has one line for each fault.
    InvalidInput = "invalid_input", InvalidInput, "Correct the request.";
    /// The cursor is damaged, has expired, or belongs to another list.
    InvalidCursor = "invalid_cursor", InvalidInput, "Begin again without a cursor.";
    /// YouTube does not accept this request.
    UpstreamRejected = "rejected_by_upstream", InvalidInput, "Correct the request; `details` has YouTube's reason.";
    /// The request names a host that the service does not serve.
    UnknownHost = "unknown_host", InvalidInput, "Use a host name that the operator has allowed.";
    /// The route does not support the method.
    MethodNotAllowed = "method_not_allowed", InvalidInput, "Use a method from the `Allow` header.";
    /// The request body did not arrive in time.
    BodyTimeout = "body_timeout", InvalidInput, "Send the body faster.";
    /// The request body is too large.
    BodyTooLarge = "body_too_large", InvalidInput, "Send a smaller body.";
    /// The service has no representation that the `Accept` header allows.
    NotAcceptable = "not_acceptable", InvalidInput, "Accept `application/json`.";
    /// The request names more sources than a job may have.
    TooManySources = "too_many_sources", InvalidInput, "Send fewer sources, or start several jobs.";
    /// The `Idempotency-Key` was used for another request in the last 24 hours.
    IdempotencyKeyReused = "idempotency_key_reused", InvalidInput, "Use a new key for a new request.";
    /// The job has ended, or is in a state that does not allow this.
    JobStateConflict = "job_state_conflict", InvalidInput, "Read the state of the job first.";
    /// The request body has the wrong media type.
    UnsupportedMediaType = "unsupported_media_type", InvalidInput, "Send `application/json`.";

    /// The service requires a caller key, and the request has none.
    CallerKeyMissing = "caller_key_missing", Forbidden, "Send your key.";
    /// The caller key is not valid.
    CallerKeyInvalid = "caller_key_invalid", Forbidden, "Check your key, or ask the operator for a new one.";
    /// The request needs the key of an operator.
    OperatorKeyRequired = "operator_key_required", Forbidden, "Use the key of an operator.";
    /// Web pages of this origin may not use the service.
    OriginNotAllowed = "origin_not_allowed", Forbidden, "Ask the operator to allow the origin.";

    /// YouTube has no such video.
    VideoNotFound = "video_not_found", NotFound, "Check the id.";
    /// YouTube has no such channel.
    ChannelNotFound = "channel_not_found", NotFound, "Check the id or the handle.";
    /// YouTube has no such playlist.
    PlaylistNotFound = "playlist_not_found", NotFound, "Check the id.";
    /// YouTube has no such comment.
    CommentNotFound = "comment_not_found", NotFound, "Check the id.";
    /// YouTube has no such video category.
    CategoryNotFound = "category_not_found", NotFound, "Check the id or the region.";
    /// YouTube has no chart of this category in this region.
    ChartNotFound = "chart_not_found", NotFound, "Use another category, or none.";
    /// YouTube does not have what the request names.
    NotFound = "not_found", NotFound, "Check the request.";
    /// The service has no such route.
    RouteNotFound = "route_not_found", NotFound, "Check the path against `/docs`.";
    /// The service has no such tool.
    ToolNotFound = "tool_not_found", NotFound, "Check the name with `vidra tools` or in `docs/tools.json`.";
    /// There is no such job, or it belongs to another caller.
    JobNotFound = "job_not_found", NotFound, "Check the id, and use the key that started the job.";
    /// There is no such collection, or it belongs to another caller.
    CollectionNotFound = "collection_not_found", NotFound, "Check the name, and use the key that created the collection.";
    /// The library no longer has the transcript.
    TranscriptRemoved = "transcript_removed", NotFound, "Start a job for the video again.";
    /// The operator has switched the library off, or the service has no caller keys and does not listen on loopback.
    LibraryOff = "library_off", NotFound, "Ask the operator to switch on the library.";
    /// The live stream or premiere has not started.
    NotStarted = "not_started", NotFound, "Repeat the request after it has ended.";
    /// The live stream or premiere has not ended, and its captions cannot be read before.
    NotEnded = "not_ended", NotFound, "Repeat the request after it has ended.";
    /// The video has no captions.
    CaptionsDisabled = "captions_disabled", NotFound, "There is no transcript.";
    /// The video has no captions in the requested language.
    LanguageUnavailable = "language_unavailable", NotFound, "Request a language from `details`, or a translation.";
    /// The video has no captions of the requested kind in the requested language.
    CaptionsKindUnavailable = "captions_kind_unavailable", NotFound, "Request a track from `details`, or both kinds.";

    /// The comments of the video are disabled.
    CommentsDisabled = "comments_disabled", Forbidden, "There are no comments.";
    /// YouTube does not show it to the public, for example a private playlist.
    NotAccessible = "not_accessible", Forbidden, "Ask its owner to publish it.";
    /// The video is private.
    VideoPrivate = "video_private", Forbidden, "Ask its owner to publish it.";
    /// YouTube shows the video only to signed-in adults.
    AgeRestricted = "age_restricted", Forbidden, "The service cannot sign in.";
    /// The video is blocked in the country of the service.
    RegionBlocked = "region_blocked", Forbidden, "Use a service in another country.";
    /// The video is for paying members only.
    MembersOnly = "members_only", Forbidden, "The service cannot sign in.";
    /// YouTube does not play the video, for another reason.
    Unplayable = "unplayable", Forbidden, "The message says why.";

    /// The daily quota of the service is used up.
    QuotaExhausted = "quota_exhausted", QuotaExhausted, "Wait until midnight Pacific time (`Retry-After`). Transcripts of single videos still work.";
    /// The daily quota for searches is used up.
    SearchQuotaExhausted = "search_quota_exhausted", QuotaExhausted, "Wait until midnight Pacific time (`Retry-After`), or use ids and handles.";
    /// The daily budget of this caller is used up.
    CallerBudgetExhausted = "caller_budget_exhausted", QuotaExhausted, "Wait until midnight Pacific time (`Retry-After`), or ask the operator for a larger budget.";
    /// The unit budget of the job, or that of the collection for this day, is used up.
    UnitBudgetExhausted = "unit_budget_exhausted", QuotaExhausted, "Start another job with a larger `unitBudget`. A collection continues by itself on the next day.";

    /// This caller sends too many requests.
    CallerRateLimited = "caller_rate_limited", RateLimited, "Wait for `Retry-After`.";
    /// Too many batches are running.
    TooManyBatches = "too_many_batches", RateLimited, "Wait for `Retry-After`.";
    /// This caller has too many unfinished jobs.
    TooManyJobs = "too_many_jobs", RateLimited, "Wait until a job has ended, or cancel one.";
    /// This caller has too many collections.
    TooManyCollections = "too_many_collections", RateLimited, "Delete a collection, or add the sources to another one.";
    /// This caller follows too many jobs at the same time.
    TooManyFollowers = "too_many_followers", RateLimited, "Close other connections that follow jobs.";
    /// This caller downloads too many results of jobs at the same time.
    TooManyDownloads = "too_many_downloads", RateLimited, "Wait until a download has ended.";
    /// This caller runs too many searches in the library at the same time.
    TooManySearches = "too_many_searches", RateLimited, "Wait until a search has ended.";
    /// The transcripts of this caller have used up their share of the library.
    LibraryLimitReached = "library_limit_reached", RateLimited, "Ask the operator for more room. Jobs continue by themselves when there is room.";
    /// YouTube limits the requests of this service.
    UpstreamRateLimited = "upstream_rate_limited", RateLimited, "Wait for `Retry-After`.";
    /// YouTube limits the translations of this service.
    TranslationLimited = "translation_rate_limited", RateLimited, "Wait for `Retry-After`, or request the captions without a translation.";
    /// The service delays its own requests, so that YouTube does not block its address.
    Paced = "paced", RateLimited, "Wait for `Retry-After`, or allow more time.";

    /// The service has no key for the YouTube Data API.
    UpstreamKeyMissing = "upstream_key_missing", UpstreamKey, "The operator has to configure a key. Transcripts of single videos work without one.";
    /// YouTube rejected the key of the service.
    UpstreamKeyRejected = "upstream_key_rejected", UpstreamKey, "The operator has to check the key, its restrictions, and that the YouTube Data API v3 is enabled.";

    /// YouTube takes the address of the service for a bot.
    Blocked = "blocked", Blocked, "Wait for `Retry-After`. The operator can configure other addresses.";
    /// YouTube requires a proof-of-origin token.
    PoTokenRequired = "po_token_required", Upstream, "The operator can configure a token provider.";
    /// The configured provider of proof-of-origin tokens failed.
    NoPoToken = "no_po_token", Upstream, "The operator has to check the token provider.";
    /// YouTube answered with an error.
    UpstreamFailed = "upstream_failed", Upstream, "Repeat the request later.";
    /// YouTube's answer has a format that this release cannot read.
    PlatformChanged = "platform_changed", Upstream, "Update vidra, or report the video.";
    /// The service cannot reach YouTube, or its proxy.
    Unreachable = "unreachable", Unreachable, "Repeat the request later.";

    /// The circuit breaker is open: YouTube fails again and again.
    Failing = "upstream_failing", Unavailable, "Wait for `Retry-After`.";
    /// The service is at its limit.
    Overloaded = "overloaded", Unavailable, "Wait for `Retry-After`.";
    /// The database that this service shares with other machines does not answer. Cached answers are served as ever.
    DatabaseUnavailable = "database_unavailable", Unavailable, "Wait for `Retry-After`. The operator has to check the database.";
    /// The library cannot be used now, for example because the disk is full, or because its database does not answer.
    LibraryUnavailable = "library_unavailable", Unavailable, "Wait for `Retry-After`. The operator has to check the disk, or the database.";
    /// The library file is damaged.
    LibraryDamaged = "library_damaged", Unavailable, "The operator has to check the file, or restore a backup.";
    /// The library file belongs to a newer release.
    LibraryTooNew = "library_too_new", Unavailable, "The operator has to update vidra.";
    /// Another process uses the library file.
    LibraryInUse = "library_in_use", Unavailable, "The operator has to stop the other process first.";
    /// The service is shutting down.
    ShuttingDown = "shutting_down", Unavailable, "Wait for `Retry-After`.";
    /// YouTube did not answer before the deadline.
    TimedOut = "timed_out", Timeout, "Repeat the request, or allow more time.";
    /// A search in the library took longer than 2 seconds.
    SearchTimedOut = "search_timed_out", Timeout, "Use rarer words, longer prefixes, or filters.";
    /// A bug in vidra.
    Internal = "internal", Internal, "Report it with the request id.";
}

impl Reason {
    /// The reason with this code. `None` for codes of other releases.
    ///
    /// ```
    /// use vidra::Reason;
    /// assert_eq!(Reason::from_code("captions_disabled"), Some(Reason::CaptionsDisabled));
    /// assert_eq!(Reason::from_code("a_later_word"), None);
    /// ```
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }

    /// Whether the same request can succeed later without any change.
    pub fn is_retryable(self) -> bool {
        match self.kind() {
            ErrorKind::QuotaExhausted
            | ErrorKind::RateLimited
            | ErrorKind::Blocked
            | ErrorKind::Unreachable
            | ErrorKind::Unavailable
            | ErrorKind::Timeout => true,
            _ => matches!(
                self,
                Self::NotStarted | Self::NotEnded | Self::UpstreamFailed | Self::BodyTimeout
            ),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl serde::Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(feature = "openapi")]
mod openapi {
    use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};

    use super::Reason;

    impl utoipa::PartialSchema for Reason {
        fn schema() -> RefOr<Schema> {
            ObjectBuilder::new()
                .schema_type(Type::String)
                .enum_values(Some(Reason::ALL.iter().map(|reason| reason.code())))
                .description(Some(
                    "Why an operation failed, in one word. The list grows with releases: clients must accept \
                     unknown words.",
                ))
                .into()
        }
    }

    impl utoipa::ToSchema for Reason {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_belongs_to_one_reason() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
            let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(reason.code().bytes().all(is_word), "{reason}");
        }
    }

    #[test]
    fn a_lasting_condition_is_not_retryable() {
        for reason in [
            Reason::VideoNotFound,
            Reason::VideoPrivate,
            Reason::InvalidInput,
            Reason::UpstreamKeyMissing,
        ] {
            assert!(!reason.is_retryable(), "{reason}");
        }
        for reason in
            [Reason::NotStarted, Reason::Blocked, Reason::QuotaExhausted, Reason::UpstreamFailed]
        {
            assert!(reason.is_retryable(), "{reason}");
        }
    }
}
