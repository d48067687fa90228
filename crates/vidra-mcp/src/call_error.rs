//! Why a tool call failed, as text that a model can act on.

use std::error::Error as _;
use std::fmt::Write;
use std::sync::Arc;

use vidra::{Error, ErrorKind, Reason};

/// Why a call failed.
#[derive(Debug, Clone)]
pub enum CallError {
    /// No tool has this name.
    UnknownTool(String),
    /// The arguments do not match the tool's input schema: one line per fault. The call cost nothing, except
    /// for a cursor beyond the end, which only the answer reveals.
    BadArguments(Vec<String>),
    /// The arguments are valid, and the call failed.
    Failed(Error),
}

/// Called with the error of each failed tool call, for counters. A request of the HTTP service carries it as an
/// extension.
#[derive(Clone)]
pub struct OnFailure(Arc<dyn Fn(&Error) + Send + Sync>);

impl OnFailure {
    /// Wraps a function.
    pub fn new(hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(crate) fn call(&self, error: &Error) {
        (self.0)(error);
    }
}

/// Refuses the calls of a request, because of the rate limit of its caller for example. A request of the HTTP service
/// carries it as an extension. The result of a call is then this error, so that the model reads its cause and how
/// long to wait.
#[derive(Debug, Clone)]
pub struct CallRefusal(pub Error);

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl CallError {
    /// An error for one fault of the arguments.
    pub(crate) fn bad(fault: impl Into<String>) -> Self {
        Self::BadArguments(vec![fault.into()])
    }

    /// The cause and the remedy, for a model.
    pub fn for_model(&self) -> String {
        match self {
            Self::UnknownTool(name) => format!("There is no tool named {name}."),
            Self::BadArguments(faults) => {
                format!(
                    "The arguments are not valid, and nothing was fetched:\n- {}",
                    faults.join("\n- ")
                )
            }
            Self::Failed(error) => failure(error),
        }
    }

    /// The remedy, if the call itself failed.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::UnknownTool(_) | Self::BadArguments(_) => None,
            Self::Failed(error) => Some(advice(error.reason())),
        }
    }
}

/// The cause of a failure and its remedy, on several lines.
pub(crate) fn failure(error: &Error) -> String {
    let mut text = format!("{}.", error.message().trim_end_matches('.'));
    for line in error.details() {
        let _ = write!(text, "\n- {line}");
    }
    let _ = write!(text, "\n{}", what_to_do(error));
    text
}

/// The message and the details of an error on one line.
pub(crate) fn described(error: &Error) -> String {
    [&[error.message().trim_end_matches('.').to_owned()], error.details()].concat().join("; ")
}

/// The cause of a failure and its remedy on one line: for one video of several.
pub(crate) fn failure_line(error: &Error) -> String {
    format!("{}. {}", described(error), what_to_do(error))
}

fn what_to_do(error: &Error) -> String {
    let advice = advice(error.reason());
    match error.retry_after() {
        Some(wait) => {
            let wait = vidra::format::span(wait.as_secs().max(1));
            format!("What to do: {advice} Not before {wait} have passed.")
        }
        None => format!("What to do: {advice}"),
    }
}

/// Logs a failed call. Videos that do not exist or are private are no reason for a warning, and neither is a caller
/// over its limit.
pub(crate) fn log(error: &Error) {
    let (reason, source) = (error.reason().code(), error.source());
    match error.kind() {
        _ if error.reason() == Reason::CallerRateLimited => tracing::debug!(reason, "{error}"),
        ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::Forbidden => {
            tracing::debug!(reason, source, "{error}");
        }
        _ => tracing::warn!(reason, source, "{error}"),
    }
}

/// The remedy, for a model. The match on kinds is exhaustive, so that a new kind needs advice to compile.
fn advice(reason: Reason) -> &'static str {
    match reason {
        Reason::LanguageUnavailable => {
            return "request one of the languages that the video has, or omit lang; translate lets \
                    YouTube translate one of them.";
        }
        Reason::CaptionsKindUnavailable => {
            return "request one of the tracks that the video has, or omit captions.";
        }
        Reason::CaptionsDisabled => {
            return "this video has no captions and therefore no transcript; the description may \
                    help (get_videos).";
        }
        Reason::TranslationLimited => {
            return "call again without translate, and translate yourself.";
        }
        Reason::SearchQuotaExhausted => {
            return "the searches of the day are used up; all other tools still work, and so does a \
                    search that was made in the last hours.";
        }
        Reason::LibraryOff => {
            return "the operator of vidra has to switch the library on (--database); get_transcript works without it.";
        }
        Reason::JobNotFound => return "get_job without arguments lists your jobs.",
        Reason::CollectionNotFound => {
            return "check the name: only collections that exist on this service can be searched.";
        }
        Reason::NotStarted => return "it has not begun; ask again once it has.",
        Reason::NotEnded => return "it is on air; ask again once it has ended.",
        // The kind decides for all others.
        _ => {}
    }
    match reason.kind() {
        ErrorKind::InvalidInput => "correct the arguments.",
        ErrorKind::NotFound => {
            "check the id with the user: it may be mistyped, deleted or private. The same call will \
             fail again."
        }
        ErrorKind::Forbidden => {
            "YouTube does not show this to the public; tell the user. The same call will fail again."
        }
        ErrorKind::QuotaExhausted => {
            "the day's quota is used up; get_transcript and search_library need none and still work, and so does a job, \
             which waits for the next day."
        }
        ErrorKind::RateLimited => "wait, and request less at a time.",
        ErrorKind::UpstreamKey => {
            "the operator of vidra has to set a YouTube API key; until then only get_transcript, search_library and \
             search_transcripts for single videos work."
        }
        ErrorKind::Upstream => "YouTube answered with an error; a retry in a minute may help.",
        ErrorKind::Unreachable => "YouTube cannot be reached; a retry in a minute may help.",
        ErrorKind::Blocked => {
            "YouTube takes this machine for a bot, and an immediate retry makes it worse. The \
             operator of vidra can set a proxy."
        }
        ErrorKind::Timeout => "retry, or request less at a time; start_job does long work.",
        ErrorKind::Unavailable => "wait a little, then retry.",
        ErrorKind::Internal => "this is a bug in vidra; the same call will likely fail again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_text_includes_advice() {
        let error = Error::new(Reason::VideoNotFound, "Video not found: dQw4w9WgXcQ");
        let text = CallError::from(error).for_model();
        assert!(
            text.starts_with("Video not found: dQw4w9WgXcQ.\nWhat to do: check the id"),
            "{text}"
        );
    }

    #[test]
    fn failure_of_one_video_gets_the_advice_of_its_reason() {
        let error = Error::new(Reason::NotStarted, "Live stream has not started yet: dQw4w9WgXcQ");
        assert_eq!(
            failure_line(&error),
            "Live stream has not started yet: dQw4w9WgXcQ. What to do: it has not begun; ask again once it has."
        );
    }
}
