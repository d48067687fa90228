//! "There is no such thing" as it is kept: an error that says something lasting about what was asked
//! for.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::transcript::Reason;

#[derive(Serialize, Deserialize)]
struct Refusal {
    is_forbidden: bool,
    message: String,
    details: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// `None` for what does not last, or says something about us rather than about what was asked for.
pub(super) fn encode(error: &Error) -> Option<Bytes> {
    let is_forbidden = match error.kind() {
        ErrorKind::NotFound => false,
        ErrorKind::Forbidden => true,
        _ => return None,
    };
    let refusal = Refusal {
        is_forbidden,
        message: error.message().to_owned(),
        details: error.details().to_vec(),
        reason: error.reason().map(|reason| reason.code().to_owned()),
    };
    serde_json::to_vec(&refusal).ok().map(Bytes::from)
}

pub(super) fn decode(body: &[u8]) -> Error {
    let Ok(refusal) = serde_json::from_slice::<Refusal>(body) else {
        return Error::bug("a refusal that cannot be read");
    };
    let kind = if refusal.is_forbidden { ErrorKind::Forbidden } else { ErrorKind::NotFound };
    let reason = refusal.reason.as_deref().and_then(Reason::from_code);
    Error::retold(kind, refusal.message, refusal.details, reason)
}
