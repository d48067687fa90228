//! What came of one exchange, as far as it tells about the platform.

use std::time::Duration;

use http::StatusCode;

use crate::transport::{Answer, Failure};

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// With what was asked for.
    Ok,
    /// With a refusal: not found, not shown, a spent day, a bad key. The platform is well.
    Refused,
    /// With "too many requests".
    RateLimited,
    /// With a wall for bots.
    Blocked,
    /// With an error of the platform's, or a connection that broke.
    Failed,
    /// With something that cannot be read.
    Unreadable,
    /// Without an answer in the time that there was.
    TimedOut,
    /// The same, but the caller's time was too short to blame the platform.
    CutShort,
    /// Without a connection: nothing was sent.
    NotSent,
}

/// No answer within less than this says nothing about the platform.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

impl Ending {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::Refused,
        Self::RateLimited,
        Self::Blocked,
        Self::Failed,
        Self::Unreadable,
        Self::TimedOut,
        Self::CutShort,
        Self::NotSent,
    ];

    /// In a word, for a metric's label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::RateLimited => "rate_limited",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
            Self::TimedOut => "timed_out",
            Self::CutShort => "cut_short",
            Self::NotSent => "not_sent",
        }
    }

    /// By the status alone: what stands in the answer may say more.
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

    /// Nobody answered within `limit`, where an attempt has `usual` as a rule: who set that to less than
    /// is long enough has decided what is too long.
    pub(crate) fn out_of_time(limit: Duration, usual: Duration) -> Self {
        if limit < LONG_ENOUGH.min(usual) { Self::CutShort } else { Self::TimedOut }
    }

    /// Whether the platform, or the way to it, is in trouble; `None` where this does not tell.
    pub(crate) fn is_failure(self) -> Option<bool> {
        match self {
            Self::Ok | Self::Refused => Some(false),
            Self::Failed | Self::Unreadable | Self::TimedOut | Self::NotSent => Some(true),
            // It asks to be left alone, or turned against the address, which is handled elsewhere.
            Self::RateLimited | Self::Blocked | Self::CutShort => None,
        }
    }
}
