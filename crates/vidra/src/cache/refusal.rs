//! Cached refusals: lasting errors about the requested object, such as "not found".

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Reason};
use crate::store::to_exact_bytes;

#[derive(Serialize, Deserialize)]
struct Refusal {
    reason: String,
    message: String,
    details: Vec<String>,
}

/// `None` for a temporary error, or one that concerns the service and not the requested object.
pub(super) fn encode(error: &Error) -> Option<Bytes> {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden) {
        return None;
    }
    let refusal = Refusal {
        reason: error.reason().code().to_owned(),
        message: error.message().to_owned(),
        details: error.details().to_vec(),
    };
    serde_json::to_vec(&refusal).ok().map(|body| to_exact_bytes(&body))
}

/// Whether `decode` can read the body.
pub(crate) fn is_refusal_body(body: &[u8]) -> bool {
    let refusal = serde_json::from_slice::<Refusal>(body);
    refusal.is_ok_and(|refusal| Reason::from_code(&refusal.reason).is_some())
}

pub(super) fn decode(body: &[u8]) -> Error {
    let Ok(Refusal { reason, message, details }) = serde_json::from_slice(body) else {
        return Error::internal("a stored refusal cannot be read");
    };
    match Reason::from_code(&reason) {
        Some(reason) => Error::from_stored(reason, message, details),
        None => Error::internal(format!("a stored refusal has the unknown reason {reason}")),
    }
}
