//! Why a transcript could not be had. Told apart, because each asks for something else to be done,
//! and "no captions" is only one of them.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// Why a transcript could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The video is gone, or never was.
    VideoUnavailable,
    /// Its owner keeps it private.
    Private,
    /// The platform wants a grown-up to sign in.
    AgeRestricted,
    /// It is not shown in the country that the request came from.
    RegionBlocked,
    /// It is for paying members only.
    MembersOnly,
    /// A broadcast or premiere that has not begun.
    NotStarted,
    /// The platform will not play it, for a reason that is none of the others.
    Unplayable,
    /// There are no captions, because they are switched off or were never made.
    CaptionsDisabled,
    /// There are captions, in other languages.
    LanguageUnavailable,
    /// The platform wants a proof-of-origin token.
    PoTokenRequired,
    /// The platform takes this address for a bot.
    Blocked,
    /// The platform says "too many requests".
    RateLimited,
    /// The platform says "too many requests" to translations, which it limits far harder.
    TranslationLimited,
    /// We hold back ourselves, so that the platform does not block this address.
    Paced,
    /// There is no way to the platform, or to the proxy before it.
    Unreachable,
    /// The platform failed, or the connection to it broke, also after retries.
    UpstreamFailed,
    /// The platform has failed so often that it is left alone for a while.
    Failing,
    /// The platform did not answer in time.
    TimedOut,
    /// The operator's provider of proof-of-origin tokens gave none.
    NoPoToken,
    /// The platform's answer is not what it used to be.
    PlatformChanged,
}

impl Reason {
    /// The machine's word for it, as it stands in the details of an error.
    pub fn code(self) -> &'static str {
        match self {
            Self::VideoUnavailable => "video_unavailable",
            Self::Private => "video_private",
            Self::AgeRestricted => "age_restricted",
            Self::RegionBlocked => "region_blocked",
            Self::MembersOnly => "members_only",
            Self::NotStarted => "not_started",
            Self::Unplayable => "unplayable",
            Self::CaptionsDisabled => "captions_disabled",
            Self::LanguageUnavailable => "language_unavailable",
            Self::PoTokenRequired => "po_token_required",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate_limited",
            Self::TranslationLimited => "translation_rate_limited",
            Self::Paced => "paced",
            Self::Unreachable => "unreachable",
            Self::UpstreamFailed => "upstream_failed",
            Self::Failing => "upstream_failing",
            Self::TimedOut => "timed_out",
            Self::NoPoToken => "no_po_token",
            Self::PlatformChanged => "platform_changed",
        }
    }

    const ALL: [Self; 20] = [
        Self::VideoUnavailable,
        Self::Private,
        Self::AgeRestricted,
        Self::RegionBlocked,
        Self::MembersOnly,
        Self::NotStarted,
        Self::Unplayable,
        Self::CaptionsDisabled,
        Self::LanguageUnavailable,
        Self::PoTokenRequired,
        Self::Blocked,
        Self::RateLimited,
        Self::TranslationLimited,
        Self::Paced,
        Self::Unreachable,
        Self::UpstreamFailed,
        Self::Failing,
        Self::TimedOut,
        Self::NoPoToken,
        Self::PlatformChanged,
    ];

    /// The reason of a code.
    ///
    /// ```
    /// use vidra::Reason;
    /// assert_eq!(Reason::from_code("captions_disabled"), Some(Reason::CaptionsDisabled));
    /// ```
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// Whether it says something about the video, which the next request will not change.
    pub fn is_lasting(self) -> bool {
        matches!(self.kind(), ErrorKind::NotFound | ErrorKind::Forbidden)
    }

    /// What can be done about it, in the library's terms.
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::VideoUnavailable
            | Self::NotStarted
            | Self::CaptionsDisabled
            | Self::LanguageUnavailable => ErrorKind::NotFound,
            Self::Private
            | Self::AgeRestricted
            | Self::RegionBlocked
            | Self::MembersOnly
            | Self::Unplayable => ErrorKind::Forbidden,
            Self::Blocked => ErrorKind::Blocked,
            Self::RateLimited | Self::TranslationLimited | Self::Paced => ErrorKind::RateLimited,
            Self::Failing => ErrorKind::Unavailable,
            Self::TimedOut => ErrorKind::Timeout,
            Self::PoTokenRequired
            | Self::Unreachable
            | Self::UpstreamFailed
            | Self::NoPoToken
            | Self::PlatformChanged => ErrorKind::Upstream,
        }
    }

    /// What the operator can do, where it is in the operator's hands.
    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Blocked => Some("ask through another address: --proxy takes one or several"),
            Self::RateLimited => Some("ask for less, or through several addresses with --proxy"),
            Self::TranslationLimited => Some("the captions themselves may still be had"),
            Self::Paced => Some("--egress-pace and --egress-burst set the pace"),
            Self::PoTokenRequired => Some("--pot-provider names a service that makes such tokens"),
            Self::PlatformChanged => {
                Some("--clients-file can bring newer clients without a new release")
            }
            _ => None,
        }
    }

    /// The error of a video that has this reason, in words that say more than its own; what the
    /// operator can do is then not what it usually is.
    pub(crate) fn error_saying(self, words: &str, id: impl fmt::Display) -> Error {
        Error::no_transcript(self, format!("{words}: {id}"))
    }

    /// The error of a video that has this reason.
    pub(crate) fn error(self, id: impl fmt::Display) -> Error {
        let error = Error::no_transcript(self, self.message(id));
        match self.hint() {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// What people are told as a rule, about the video `id`.
    pub fn message(self, id: impl fmt::Display) -> String {
        match self {
            Self::VideoUnavailable => format!("Video not found: {id}"),
            Self::Private => format!("Video is private: {id}"),
            Self::AgeRestricted => format!("Video is age-restricted: {id}"),
            Self::RegionBlocked => {
                format!("Video is not available in this service's country: {id}")
            }
            Self::MembersOnly => format!("Video is for members only: {id}"),
            Self::NotStarted => format!("Broadcast has not started yet: {id}"),
            Self::Unplayable => format!("Video cannot be played: {id}"),
            Self::CaptionsDisabled => format!("Video has no captions: {id}"),
            Self::LanguageUnavailable => format!("Video has no captions in that language: {id}"),
            Self::PoTokenRequired => format!("YouTube asks for a proof-of-origin token: {id}"),
            Self::Blocked => "YouTube blocks requests from this service's address".to_owned(),
            Self::RateLimited => "YouTube limits requests from this service's address".to_owned(),
            Self::TranslationLimited => {
                "YouTube limits translations for this service's address".to_owned()
            }
            Self::Paced => "Transcripts are asked for slowly, so that YouTube does not block this \
                            service's address"
                .to_owned(),
            Self::Unreachable => format!("YouTube could not be reached: {id}"),
            Self::UpstreamFailed => format!("YouTube answered with an error: {id}"),
            Self::Failing => "YouTube fails; it is asked again in a moment".to_owned(),
            Self::TimedOut => format!("YouTube did not answer in time: {id}"),
            Self::NoPoToken => format!("The provider of proof-of-origin tokens gave none: {id}"),
            Self::PlatformChanged => format!("YouTube's answer could not be understood: {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_of_one_reason() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
        }
        assert_eq!(Reason::from_code("because"), None);
    }
}
