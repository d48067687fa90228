//! How the command ends when it fails: a number that scripts can act on, and one line for people.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::output::text::one_line;

/// Why it did not go well. The numbers are documented, and scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// It is not there or not shown, or some of what was asked for is not.
    Missing = 1,
    /// It was asked for in a way that cannot be right.
    Usage = 2,
    /// The platform or the service failed, refused, or has no quota left.
    Upstream = 3,
    /// The platform or the service could not be reached, or did not answer in time.
    Network = 4,
}

/// The end of a command that did not go well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Why, and what to do, in one line.
    Because(Exit, String),
    /// The lines about it have been written.
    Told(Exit),
    /// Whoever reads what we write reads no further, and has what was wanted.
    ReaderGone,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Because(Exit::Usage, message.into())
    }

    /// The same as a failure of one of several things: it names which, where it does not already.
    pub(crate) fn about(self, id: &str) -> Self {
        match self {
            Self::Because(exit, message) if !message.contains(id) => {
                Self::Because(exit, format!("{id}: {message}"))
            }
            other => other,
        }
    }

    /// Ends the process: with the line, where there is one, and the number.
    pub(crate) fn code(self) -> ExitCode {
        self.tell().map_or(ExitCode::SUCCESS, |exit| ExitCode::from(exit as u8))
    }

    /// Writes the line, where there is one, and gives the number.
    pub(crate) fn tell(self) -> Option<Exit> {
        match self {
            Self::Because(exit, message) => {
                say(&message);
                Some(exit)
            }
            Self::Told(exit) => Some(exit),
            Self::ReaderGone => None,
        }
    }
}

/// Writes one line to standard error. Nobody may be reading, which is nobody's fault.
pub(crate) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "vidra: {}", one_line(message));
}

/// What is wrong before anybody was asked is how it was asked for.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::usage(message)
    }
}

/// Of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Because(Exit::Missing, format!("cannot write: {error}")),
        }
    }
}

/// What an answer of the REST interface that is no success comes down to.
pub(crate) fn exit_of(status: u16, details: &[String]) -> Exit {
    let is_unreachable = || details.iter().any(|line| line == "reason: unreachable");
    match status {
        403 | 404 => Exit::Missing,
        408 | 504 => Exit::Network,
        502 if is_unreachable() => Exit::Network,
        429 | 500.. => Exit::Upstream,
        _ => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_number() {
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
            assert_eq!(exit_of(status, &[]), exit, "{status}");
        }
        assert_eq!(exit_of(502, &["reason: unreachable".to_owned()]), Exit::Network);
    }

    #[test]
    fn a_reader_who_is_gone_is_no_failure() {
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::from(error).tell(), None);
    }
}
