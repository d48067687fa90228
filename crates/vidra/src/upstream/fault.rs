//! Failed attempts, in our words.

use std::fmt;
use std::time::Duration;

use super::call::Call;
use super::quota::{Bucket, Spent};
use crate::error::{Error, ErrorKind};

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: Error,
    /// Whether another attempt may go better.
    pub(crate) transient: bool,
    /// `Retry-After`, where the platform sent one.
    pub(crate) asked_wait: Option<Duration>,
}

impl Fault {
    /// Another attempt may go better.
    pub(crate) fn passing(error: Error) -> Self {
        Self { error, transient: true, asked_wait: None }
    }

    /// Another attempt would end the same way and cost another unit.
    pub(crate) fn lasting(error: Error) -> Self {
        Self { error, transient: false, asked_wait: None }
    }

    pub(super) fn no_key() -> Self {
        let error = Error::new(ErrorKind::UpstreamKey, "No YouTube API key is configured");
        let hint = "set YOUTUBE_API_KEY or --api-key-file and start the service again";
        Self::lasting(error.hint(hint))
    }

    pub(super) fn spent(spent: Spent) -> Self {
        Self::lasting(used_up("The", spent))
    }

    /// Of one caller: the others have theirs.
    pub(super) fn share_spent(spent: Spent) -> Self {
        Self::lasting(used_up("Your share of the", spent).of_the_asker())
    }

    pub(super) fn failing(wait: Duration) -> Self {
        let message = "YouTube fails; it is asked again in a moment";
        Self::lasting(Error::new(ErrorKind::Unavailable, message).retry_in(Some(wait)))
    }

    pub(super) fn timeout(call: &Call) -> Self {
        let message = format!("YouTube did not answer in time ({})", call.endpoint.path());
        Self::passing(Error::new(ErrorKind::Timeout, message))
    }

    /// The operation's own deadline has passed. Followers of the same fetch may have more time.
    pub(super) fn out_of_time(call: &Call) -> Self {
        let Self { error, .. } = Self::timeout(call);
        Self::lasting(error.of_the_asker())
    }

    /// The platform requested a pause that is longer than the caller waits.
    pub(super) fn held(wait: Duration) -> Self {
        Self::lasting(slow_down().retry_in(Some(wait)))
    }

    pub(super) fn unreadable(cause: String) -> Self {
        let message = "YouTube's answer could not be read";
        Self::passing(Error::new(ErrorKind::Upstream, message).because(cause))
    }

    pub(super) fn bug(error: &impl fmt::Display) -> Self {
        Self::lasting(Error::bug(error))
    }
}

fn used_up(whose: &str, Spent { bucket, resets_in }: Spent) -> Error {
    let what = match bucket {
        Bucket::Default => "quota",
        Bucket::Search => "search quota",
    };
    let message =
        format!("{whose} day's YouTube {what} is used up; it is renewed at midnight Pacific time");
    Error::new(ErrorKind::QuotaExhausted, message).retry_in(Some(resets_in))
}

pub(super) fn slow_down() -> Error {
    Error::new(ErrorKind::RateLimited, "YouTube asks this service to slow down")
}

/// Told to nobody: whoever comes meanwhile asks anew.
pub(crate) fn nobody_waits() -> Error {
    Error::new(ErrorKind::Timeout, "Nobody waits for the answer any more").of_the_asker()
}
