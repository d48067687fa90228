//! The answer of a handler from the cache.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use vidra::{AnswerMemory, Cached, Lookup, Resource, Vidra};

use crate::error_body::ApiError;
use crate::respond::JSON;

/// Copies a rendered body, because the response cache would keep its spare capacity.
pub(crate) fn exact_bytes(body: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(body.as_ref())
}

/// A body to send, and how it came out of the cache.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) content_type: &'static str,
    pub(crate) resource: Resource,
    pub(crate) cached: Cached,
    /// How long the body is correct, if it contains relative times such as "3 weeks ago".
    pub(crate) valid_for: Option<Duration>,
    /// Whether the body depends on `Accept`.
    pub(crate) varies_by_accept: bool,
    /// More headers of the response.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The memory of a large body, held until it is sent.
    pub(crate) memory: Option<Arc<AnswerMemory>>,
}

impl Answer {
    /// An answer whose body is sent as the cache holds it.
    pub(crate) fn new(resource: Resource, cached: Cached) -> Self {
        Self {
            content_type: JSON,
            resource,
            cached,
            valid_for: None,
            varies_by_accept: false,
            headers: vec![],
            memory: None,
        }
    }

    /// Reads `lookup` through the cache.
    pub(crate) async fn fetch(vidra: &Vidra, lookup: Lookup) -> Result<Self, ApiError> {
        Ok(Self::new(lookup.resource(), vidra.lookup(&lookup).await?))
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.cached.body).map_err(ApiError::internal)
    }

    /// Replaces the body.
    pub(crate) fn with_json(mut self, value: &impl Serialize) -> Result<Self, ApiError> {
        let body = serde_json::to_vec(value).map_err(ApiError::internal)?;
        self.cached.body = exact_bytes(body);
        Ok(self)
    }
}
