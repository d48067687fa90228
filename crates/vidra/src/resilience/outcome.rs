//! The outcome of one exchange.

use std::time::Duration;

use http::StatusCode;

use crate::transport::{Answer, Failure};

/// The outcome of one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// A successful response.
    Ok,
    /// An error response about the request, such as not found or not accessible. YouTube works.
    Refused,
    /// YouTube rejected the key of the service. YouTube works.
    KeyRejected,
    /// YouTube reports that the day's quota is used up. YouTube works.
    QuotaExhausted,
    /// The response "too many requests".
    RateLimited,
    /// A bot check.
    Blocked,
    /// A server error, or a broken connection.
    Failed,
    /// An unreadable response.
    Unreadable,
    /// No response before the timeout.
    TimedOut,
    /// No response, but the caller's deadline was too short to blame YouTube.
    CutShort,
    /// No connection, so nothing was sent.
    NotSent,
}

/// A shorter wait without a response says nothing about YouTube.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

impl CallOutcome {
    /// All outcomes.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Refused,
        Self::KeyRejected,
        Self::QuotaExhausted,
        Self::RateLimited,
        Self::Blocked,
        Self::Failed,
        Self::Unreadable,
        Self::TimedOut,
        Self::CutShort,
        Self::NotSent,
    ];

    /// The name for a metric's label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::KeyRejected => "key_rejected",
            Self::QuotaExhausted => "quota_exhausted",
            Self::RateLimited => "rate_limited",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
            Self::TimedOut => "timed_out",
            Self::CutShort => "cut_short",
            Self::NotSent => "not_sent",
        }
    }

    /// The outcome by status alone. The body can say more.
    pub(crate) fn of_answer(answer: &Answer) -> Self {
        match answer.status {
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            status if status.is_server_error() => Self::Failed,
            status if status.is_success() => Self::Ok,
            _ => Self::Refused,
        }
    }

    pub(crate) fn of_failure(failure: &Failure) -> Self {
        match failure {
            Failure::NotSent(_) => Self::NotSent,
            Failure::Broken(_) => Self::Failed,
            Failure::TimedOut => Self::TimedOut,
            Failure::TooLarge => Self::Unreadable,
        }
    }

    /// The outcome without a response within `limit`. `usual` is the configured timeout of an
    /// attempt. An operator who sets it below `LONG_ENOUGH` has decided what counts as a timeout.
    pub(crate) fn out_of_time(limit: Duration, usual: Duration) -> Self {
        if limit < LONG_ENOUGH.min(usual) { Self::CutShort } else { Self::TimedOut }
    }

    /// Whether YouTube or the connection fails. `None` if the outcome says nothing.
    pub(crate) fn is_failure(self) -> Option<bool> {
        match self {
            Self::Ok | Self::Refused | Self::KeyRejected | Self::QuotaExhausted => Some(false),
            Self::Failed | Self::Unreadable | Self::TimedOut | Self::NotSent => Some(true),
            // Rate limits and blocks are handled elsewhere.
            Self::RateLimited | Self::Blocked | Self::CutShort => None,
        }
    }
}
