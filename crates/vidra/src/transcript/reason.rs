//! Errors of videos without a transcript.

use std::fmt;

use crate::error::{Error, Reason};

impl Reason {
    /// The error for the video `id`.
    pub(crate) fn error(self, id: impl fmt::Display) -> Error {
        Error::new(self, self.message(id))
    }

    /// The error for the video `id`, with a specific message.
    pub(crate) fn error_saying(self, words: &str, id: impl fmt::Display) -> Error {
        Error::new(self, format!("{words}: {id}"))
    }

    /// The default message for the video `id`.
    fn message(self, id: impl fmt::Display) -> String {
        let words = match self {
            Self::VideoNotFound => "Video not found",
            Self::VideoPrivate => "Video is private",
            Self::AgeRestricted => "Video is age-restricted",
            Self::RegionBlocked => "Video is not available in the country of this service",
            Self::MembersOnly => "Video is for members only",
            Self::NotStarted => "Live stream has not started yet",
            Self::NotEnded => "Captions of a broadcast cannot be read while it is live",
            Self::Unplayable => "Video cannot be played",
            Self::CaptionsDisabled => "Video has no captions",
            Self::LanguageUnavailable => "Video has no captions in that language",
            Self::CaptionsKindUnavailable => "Video has no captions of that kind",
            Self::PoTokenRequired => "YouTube requires a proof-of-origin token",
            Self::Unreachable => "YouTube could not be reached",
            Self::UpstreamFailed => "YouTube answered with an error",
            Self::TimedOut => "YouTube did not answer in time",
            Self::NoPoToken => "The provider of proof-of-origin tokens failed",
            Self::PlatformChanged => "YouTube's answer could not be read",
            // These concern the service, not the video.
            Self::Blocked => {
                return "YouTube blocks requests from the address of this service".to_owned();
            }
            Self::UpstreamRateLimited => {
                return "YouTube limits requests from the address of this service".to_owned();
            }
            Self::TranslationLimited => {
                return "YouTube limits translations for the address of this service".to_owned();
            }
            Self::Paced => {
                return "The service delays transcript requests, so that YouTube does not block its address"
                    .to_owned();
            }
            Self::Failing => return "YouTube fails; the service retries in a moment".to_owned(),
            other => other.meaning().trim_end_matches('.'),
        };
        format!("{words}: {id}")
    }
}
