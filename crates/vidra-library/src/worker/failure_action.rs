//! What to do after a failed attempt. Pure.

use std::time::Duration;

use vidra::{Error, Reason};

/// The decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureAction {
    /// A resource is unavailable. The attempt does not count.
    Wait(Duration),
    /// Try again after this time. The attempt counts.
    Retry(Duration),
    /// The item has failed.
    Fail,
}

/// The pause of a resource whose error names no time.
const UNKNOWN_WAIT: Duration = Duration::from_secs(60);

/// The pause after the first failed attempt. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// How often an item is tried if YouTube fails.
const ATTEMPTS: u32 = 4;

/// How often an item is tried if its own answer seems to be the cause.
const FEW_ATTEMPTS: u32 = 2;

/// Decides about an attempt that failed with `error`, after `attempts` earlier ones that counted.
pub(super) fn action_after(error: &Error, attempts: u32) -> FailureAction {
    let wait = || FailureAction::Wait(error.retry_after().unwrap_or(UNKNOWN_WAIT));
    let retry = |most| match attempts + 1 >= most {
        true => FailureAction::Fail,
        false => FailureAction::Retry(FIRST_PAUSE * 2_u32.saturating_pow(attempts.min(10))),
    };
    match error.reason() {
        Reason::QuotaExhausted
        | Reason::SearchQuotaExhausted
        | Reason::CallerBudgetExhausted
        | Reason::UpstreamRateLimited
        | Reason::TranslationLimited
        | Reason::Paced
        | Reason::Blocked
        | Reason::Failing
        | Reason::Overloaded
        | Reason::ShuttingDown
        | Reason::Unreachable
        | Reason::UpstreamKeyMissing
        | Reason::UpstreamKeyRejected
        | Reason::DatabaseUnavailable
        | Reason::LibraryUnavailable => wait(),
        Reason::UpstreamFailed | Reason::TimedOut => retry(ATTEMPTS),
        Reason::PlatformChanged
        | Reason::PoTokenRequired
        | Reason::NoPoToken
        | Reason::Internal => retry(FEW_ATTEMPTS),
        _ => FailureAction::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_an_item_itself_count() {
        let seconds = |it| Duration::from_secs(it);
        let table = [
            (Reason::Blocked, Some(900), 9, FailureAction::Wait(seconds(900))),
            (Reason::Paced, None, 0, FailureAction::Wait(seconds(60))),
            (Reason::QuotaExhausted, Some(7), 0, FailureAction::Wait(seconds(7))),
            (Reason::UpstreamFailed, Some(1), 0, FailureAction::Retry(seconds(30))),
            (Reason::TimedOut, None, 2, FailureAction::Retry(seconds(120))),
            (Reason::TimedOut, None, 3, FailureAction::Fail),
            (Reason::PlatformChanged, None, 0, FailureAction::Retry(seconds(30))),
            (Reason::PlatformChanged, None, 1, FailureAction::Fail),
            (Reason::CaptionsDisabled, None, 0, FailureAction::Fail),
            (Reason::NotStarted, None, 0, FailureAction::Fail),
            (Reason::VideoPrivate, None, 0, FailureAction::Fail),
        ];
        for (reason, after, attempts, expected) in table {
            let error = Error::new(reason, "").with_retry_after(after.map(seconds));
            assert_eq!(action_after(&error, attempts), expected, "{reason} {attempts}");
        }
    }
}
