//! What to do after a failed attempt. Pure.

use std::time::Duration;

use vidra::{Error, Reason};

/// The decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
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
pub(super) fn verdict(error: &Error, attempts: u32) -> Verdict {
    let wait = || Verdict::Wait(error.retry_after().unwrap_or(UNKNOWN_WAIT));
    let retry = |most| match attempts + 1 >= most {
        true => Verdict::Fail,
        false => Verdict::Retry(FIRST_PAUSE * 2_u32.saturating_pow(attempts.min(10))),
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
        _ => Verdict::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_an_item_itself_count() {
        let seconds = |it| Duration::from_secs(it);
        let table = [
            (Reason::Blocked, Some(900), 9, Verdict::Wait(seconds(900))),
            (Reason::Paced, None, 0, Verdict::Wait(seconds(60))),
            (Reason::QuotaExhausted, Some(7), 0, Verdict::Wait(seconds(7))),
            (Reason::UpstreamFailed, Some(1), 0, Verdict::Retry(seconds(30))),
            (Reason::TimedOut, None, 2, Verdict::Retry(seconds(120))),
            (Reason::TimedOut, None, 3, Verdict::Fail),
            (Reason::PlatformChanged, None, 0, Verdict::Retry(seconds(30))),
            (Reason::PlatformChanged, None, 1, Verdict::Fail),
            (Reason::CaptionsDisabled, None, 0, Verdict::Fail),
            (Reason::NotStarted, None, 0, Verdict::Fail),
            (Reason::VideoPrivate, None, 0, Verdict::Fail),
        ];
        for (reason, after, attempts, expected) in table {
            let error = Error::new(reason, "").with_retry_after(after.map(seconds));
            assert_eq!(verdict(&error, attempts), expected, "{reason} {attempts}");
        }
    }
}
