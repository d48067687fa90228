//! One error type for everything the library can fail at.
//!
//! An [`Error`] is cheap to clone, because one failure may have to be told to many. Its
//! [`ErrorKind`] says what the caller can do about it; doors onto the library (HTTP, command line,
//! tools) map kinds, never texts.

#[cfg(feature = "client")]
mod client;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::transcript::Reason;

/// What went wrong, by what can be done about it.
///
/// Not `#[non_exhaustive]` on purpose: a new kind must not compile until every door knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller's input cannot be right, as we or the platform see it. Correct it and ask again.
    InvalidInput,
    /// The platform does not know what was asked for.
    NotFound,
    /// It exists and the platform does not show it: comments disabled, private playlist.
    Forbidden,
    /// The day's units are spent, or the caller's share of them. [`Error::retry_after`] is the time to the reset.
    QuotaExhausted,
    /// The platform asked us to slow down, also after retries.
    RateLimited,
    /// The upstream key is missing or was rejected: the operator has to set a valid one.
    UpstreamKey,
    /// The platform answered with an error, or with something that is not what it promises.
    Upstream,
    /// The platform takes this address for a bot. Another address or a pause is needed.
    Blocked,
    /// The platform did not answer within the request's deadline.
    Timeout,
    /// Not now: the platform fails and is left alone for a while, or the service has too much to do.
    /// [`Error::retry_after`] says when to come again; nothing was sent or charged.
    Unavailable,
    /// A bug of ours.
    Internal,
}

/// A failed operation: its kind, a sentence for people, and what else is known.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    details: Vec<String>,
    retry_after: Option<Duration>,
    /// Why a transcript could not be had, where that is what failed.
    reason: Option<Reason>,
    /// Whether it is about whoever asked, so that it is nobody else's failure.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only a client is asked"))]
    is_of_the_asker: bool,
    /// What the platform or the network said; for the log, never for the caller.
    cause: Option<String>,
}

impl Error {
    /// An error of this kind. The message is a sentence for people that names the subject.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let inner = Inner {
            kind,
            message: message.into(),
            details: vec![],
            retry_after: None,
            reason: None,
            is_of_the_asker: false,
            cause: None,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Bad input: `details` holds one line per fault, `field: what is wrong`.
    pub fn invalid(message: impl Into<String>, details: Vec<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message).with(|inner| inner.details = details)
    }

    /// `Video not found: dQw4w9WgXcQ`.
    pub fn not_found(what: &str, id: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotFound, format!("{what} not found: {id}"))
    }

    /// A transcript that could not be had: the machine's word for it is the first of the details.
    pub(crate) fn no_transcript(reason: Reason, message: String) -> Self {
        Self::new(reason.kind(), message).with(|inner| {
            inner.reason = Some(reason);
            inner.details.push(format!("reason: {}", reason.code()));
        })
    }

    /// Adds a line that says what to do about it.
    pub(crate) fn hint(self, hint: &str) -> Self {
        self.with(|inner| inner.details.push(hint.to_owned()))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }

    /// What went wrong, by what can be done about it.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// A sentence for people; never holds the upstream key, a path or a stack.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// More lines where there are any; for bad input one line per fault.
    pub fn details(&self) -> &[String] {
        &self.inner.details
    }

    /// How long to wait before asking again can help, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// Why a transcript could not be had, where that is what failed.
    pub fn reason(&self) -> Option<Reason> {
        self.inner.reason
    }

    /// What the platform or the network said. For logs only: it is upstream's text, not ours.
    pub fn cause(&self) -> Option<&str> {
        self.inner.cause.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl std::error::Error for Error {}

/// The result of every operation of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
