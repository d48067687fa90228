//! Failures of a command: an exit code for scripts, and one line for people.

mod groups;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use vidra::{ErrorKind, Reason};

use crate::terminal::one_line;

pub(crate) use groups::{FailedItem, FailureGroups, ItemKind};

/// The exit codes of failures. They are documented, and scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Not found or not accessible, or some of several items failed.
    Missing = 1,
    /// Invalid usage.
    Usage = 2,
    /// YouTube or the service failed or refused the request, for example because of a block or a quota. Also if
    /// some of several items failed for such a reason.
    Upstream = 3,
    /// YouTube or the service is unreachable, or did not answer in time.
    Network = 4,
}

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The cause and the remedy, on one line.
    Message(Exit, String),
    /// An error of the service.
    Refused(Refused),
    /// The command has printed its errors already.
    Reported(Exit),
    /// The reader of standard output closed the pipe, which is no error.
    ReaderGone,
    /// The user did not agree to the cost.
    Declined,
}

/// An error of the service.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) exit: Exit,
    /// `None` for a reason of another release.
    pub(crate) reason: Option<Reason>,
    /// The cause and the remedy, on one line.
    pub(crate) message: String,
    /// The time until a retry can help.
    pub(crate) retry_after: Option<Duration>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.retry_after.map_or(Ok(()), |wait| write!(f, "; {}", try_again(wait)))
    }
}

/// When to try again. The time of day lets a reader judge a line that is some minutes old.
fn try_again(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let at = Timestamp::now().checked_add(wait).map(|at| {
        // Within a day the time is unambiguous.
        let form = if seconds < 86_400 { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        format!(" (at {} UTC)", at.to_zoned(TimeZone::UTC).strftime(form))
    });
    format!("try again in {}{}", vidra::format::span(seconds), at.unwrap_or_default())
}

/// Whether a reason concerns the service, so that all items fail alike until it has passed.
pub(crate) fn concerns_service(reason: Reason) -> bool {
    matches!(
        reason.kind(),
        ErrorKind::QuotaExhausted
            | ErrorKind::RateLimited
            | ErrorKind::UpstreamKey
            | ErrorKind::Blocked
            | ErrorKind::Unavailable
    )
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Message(Exit::Usage, message.into())
    }

    /// Adds the id of the item that failed, unless the message contains it.
    pub(crate) fn about(self, id: &str) -> Self {
        self.map_message(|message| match message.contains(id) {
            true => message,
            false => format!("{id}: {message}"),
        })
    }

    /// Adds what the user can do.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        self.map_message(|message| format!("{message}; {hint}"))
    }

    /// Changes the message, if there is one.
    pub(crate) fn map_message(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Message(exit, message) => Self::Message(exit, change(message)),
            Self::Refused(refused) => {
                let message = change(refused.message);
                Self::Refused(Refused { message, ..refused })
            }
            other => other,
        }
    }

    /// Prints the message, if there is one, and returns the exit code of the process.
    pub(crate) fn code(self) -> ExitCode {
        self.report().map_or(ExitCode::SUCCESS, |exit| ExitCode::from(exit as u8))
    }

    /// Prints the message, if there is one, so that other lines can follow it.
    pub(crate) fn reported(self) -> Self {
        match self {
            Self::ReaderGone => Self::ReaderGone,
            other => other.report().map_or(Self::ReaderGone, Self::Reported),
        }
    }

    /// Prints the message, if there is one, and returns the kind of failure.
    pub(crate) fn report(self) -> Option<Exit> {
        match self {
            Self::Message(exit, message) => {
                print_error(&message);
                Some(exit)
            }
            Self::Refused(refused) => {
                print_error(&refused.to_string());
                Some(refused.exit)
            }
            Self::Reported(exit) => Some(exit),
            Self::ReaderGone => None,
            Self::Declined => {
                print_error("stopped; --yes skips the question");
                Some(Exit::Missing)
            }
        }
    }
}

/// Prints one line to standard error. Ignores a closed pipe.
pub(crate) fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "vidra: {}", one_line(message));
}

/// An error before the first request is an error of usage.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::usage(message)
    }
}

/// An error of the library before the first request: an invalid identifier.
impl From<vidra::Error> for Failure {
    fn from(error: vidra::Error) -> Self {
        Self::usage(described(&error))
    }
}

/// The message and the details of an error on one line.
pub(crate) fn described(error: &vidra::Error) -> String {
    [&[error.message().to_owned()], error.details()].concat().join("; ")
}

/// An error while writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Message(Exit::Missing, format!("cannot write: {error}")),
        }
    }
}

/// The exit code for an error response of the REST interface: by its reason, or by its status if the reason is of
/// another release.
pub(crate) fn exit_code(status: u16, reason: Option<Reason>) -> Exit {
    match (reason.map(|reason| (reason, reason.kind())), status) {
        // The command was given a wrong key, or the address of something else than this service.
        (Some((Reason::CallerKeyMissing | Reason::CallerKeyInvalid, _)), _)
        | (Some((Reason::OriginNotAllowed | Reason::RouteNotFound, _)), _) => Exit::Usage,
        (Some((Reason::BodyTimeout, _)), _) | (None, 408 | 504) => Exit::Network,
        (Some((_, ErrorKind::Unreachable | ErrorKind::Timeout)), _) => Exit::Network,
        (Some((_, ErrorKind::InvalidInput)), _) => Exit::Usage,
        (Some((_, ErrorKind::NotFound | ErrorKind::Forbidden)), _) | (None, 403 | 404) => {
            Exit::Missing
        }
        (Some(_), _) | (None, 429 | 500..) => Exit::Upstream,
        (None, _) => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_statuses_map_to_exit_codes() {
        let table = [
            (400, Exit::Usage),
            (401, Exit::Usage),
            (403, Exit::Missing),
            (404, Exit::Missing),
            (408, Exit::Network),
            (413, Exit::Usage),
            (429, Exit::Upstream),
            (500, Exit::Upstream),
            (502, Exit::Upstream),
            (503, Exit::Upstream),
            (504, Exit::Network),
        ];
        for (status, exit) in table {
            assert_eq!(exit_code(status, None), exit, "{status}");
        }
    }

    #[test]
    fn reasons_map_to_exit_codes() {
        let table = [
            (Reason::InvalidInput, Exit::Usage),
            (Reason::UpstreamRejected, Exit::Usage),
            (Reason::NotAcceptable, Exit::Usage),
            (Reason::UnknownHost, Exit::Usage),
            (Reason::CallerKeyInvalid, Exit::Usage),
            (Reason::RouteNotFound, Exit::Usage),
            (Reason::VideoNotFound, Exit::Missing),
            (Reason::CaptionsDisabled, Exit::Missing),
            (Reason::VideoPrivate, Exit::Missing),
            (Reason::CommentsDisabled, Exit::Missing),
            (Reason::QuotaExhausted, Exit::Upstream),
            (Reason::CallerBudgetExhausted, Exit::Upstream),
            (Reason::Paced, Exit::Upstream),
            (Reason::UpstreamKeyMissing, Exit::Upstream),
            (Reason::Blocked, Exit::Upstream),
            (Reason::UpstreamFailed, Exit::Upstream),
            (Reason::Overloaded, Exit::Upstream),
            (Reason::Internal, Exit::Upstream),
            (Reason::BodyTimeout, Exit::Network),
            (Reason::Unreachable, Exit::Network),
            (Reason::TimedOut, Exit::Network),
        ];
        for (reason, exit) in table {
            // The reason decides, whatever the status is.
            assert_eq!(exit_code(418, Some(reason)), exit, "{reason}");
        }
    }

    #[test]
    fn broken_pipe_is_not_reported() {
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::from(error).report(), None);
    }
}
