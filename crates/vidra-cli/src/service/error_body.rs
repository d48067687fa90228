//! Error responses of the REST interface.

use serde::Deserialize;
use vidra::Reason;

/// The body of every error response.
#[derive(Deserialize)]
pub(super) struct ErrorBody {
    pub(super) error: ErrorInfo,
}

#[derive(Deserialize)]
pub(super) struct ErrorInfo {
    /// A code, which this release may not know.
    pub(super) reason: Option<String>,
    pub(super) message: String,
    pub(super) details: Vec<String>,
    /// Seconds, in the last line of a stream.
    #[serde(rename = "retryAfter")]
    pub(super) retry_after: Option<u64>,
}

/// Advice for the user of a command.
pub(super) fn advice(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::UpstreamKeyMissing => Some(
            "set YOUTUBE_API_KEY or --api-key-file, use a service with --server, or try --demo",
        ),
        Reason::UpstreamKeyRejected => Some(
            "check the key, its restrictions, and that the YouTube Data API v3 is enabled for it",
        ),
        Reason::Blocked => Some("use another address: --proxy takes one or several"),
        Reason::UpstreamRateLimited => Some("request less, or use several addresses with --proxy"),
        Reason::Paced => Some("--egress-pace and --egress-burst set the pace"),
        Reason::PoTokenRequired => Some("--pot-provider names a service that makes such tokens"),
        Reason::NoPoToken => Some("check the service that --pot-provider names"),
        Reason::PlatformChanged => {
            Some("--clients-file can bring newer clients without a new release")
        }
        _ => None,
    }
}
