//! The one error type of the library.
//!
//! An [`Error`] is cheap to clone, because many callers may share one failed fetch. Its [`Reason`] is a word of a
//! closed list, and its [`ErrorKind`] is the class of that reason. The interfaces above the library map reasons
//! and kinds; none of them reads the text of a message.

#[cfg(feature = "client")]
mod client;
mod reason;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use reason::Reason;

/// The class of an error, by what can be done about it.
///
/// It is deliberately not `#[non_exhaustive]`: a new kind does not compile until every interface handles it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request cannot be right. Correct it.
    InvalidInput,
    /// The requested object does not exist.
    NotFound,
    /// The object exists, but the caller may not see it.
    Forbidden,
    /// The daily quota is used up, or the budget of the caller. [`Error::retry_after`] is the time to the reset.
    QuotaExhausted,
    /// The caller sends too many requests, or YouTube limits this service.
    RateLimited,
    /// The key for the Data API is missing or was rejected. The operator has to set a valid one.
    UpstreamKey,
    /// YouTube answered with an error, or with something unreadable.
    Upstream,
    /// YouTube could not be reached.
    Unreachable,
    /// YouTube takes this address for a bot. Another address or a pause is needed.
    Blocked,
    /// YouTube did not answer before the deadline.
    Timeout,
    /// Not now: a circuit breaker is open, or the service is at its limit. Nothing was sent or charged.
    Unavailable,
    /// A bug in vidra.
    Internal,
}

/// A failed operation: its reason, a message for people, and details.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    reason: Reason,
    message: String,
    details: Vec<String>,
    retry_after: Option<Duration>,
    /// Whether the error concerns one caller only. Followers of the shared fetch must not get it.
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "only a client shares fetches")
    )]
    is_for_one_caller: bool,
    /// The error of the platform or the network; for the log, never for callers.
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// How many faults of one input an error names. Each can be as long as the name of a member.
const MAX_FAULTS: usize = 100;

impl Error {
    /// An error with this reason. The message is one sentence for people and names the subject.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let inner = Inner {
            reason,
            message: message.into(),
            details: vec![],
            retry_after: None,
            is_for_one_caller: false,
            source: None,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns an error for invalid input. `details` has one line for each fault: `field: what is
    /// wrong`. After a hundred of them one line has the number of the others.
    pub fn invalid(message: impl Into<String>, mut details: Vec<String>) -> Self {
        let others = details.len().saturating_sub(MAX_FAULTS);
        if others > 0 {
            details.truncate(MAX_FAULTS);
            details.push(format!("and {others} more"));
        }
        Self::new(Reason::InvalidInput, message).with(|inner| inner.details = details)
    }

    /// Adds a line to the details.
    pub fn with_detail(self, line: impl Into<String>) -> Self {
        self.with(|inner| inner.details.push(line.into()))
    }

    /// Sets the cause. Logs show it, and callers of a service never see it.
    pub fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.with(|inner| inner.source = Some(Arc::from(source.into())))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }

    /// Why the operation failed.
    pub fn reason(&self) -> Reason {
        self.inner.reason
    }

    /// The class of the reason.
    pub fn kind(&self) -> ErrorKind {
        self.inner.reason.kind()
    }

    /// A sentence for people. It never contains the key for the Data API, a path or a stack trace.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// More lines; for invalid input one line for each fault.
    pub fn details(&self) -> &[String] {
        &self.inner.details
    }

    /// How long to wait before a retry can help, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// [`Error::retry_after`] in whole seconds, rounded up.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let round_up = |wait: Duration| wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.retry_after().map(round_up)
    }

    /// Whether the same request can succeed later without any change.
    pub fn is_retryable(&self) -> bool {
        self.reason().is_retryable()
    }
}

/// Two errors are equal if their reason, message, details and wait are. The source is not compared.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (&*self.inner, &*other.inner);
        one.reason == two.reason
            && one.message == two.message
            && one.details == two.details
            && one.retry_after == two.retry_after
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

/// The source is the error of the platform or the network. It is for logs only, because its text is
/// not under our control.
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_ref().map(|source| &**source as _)
    }
}

/// The result of every operation of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
