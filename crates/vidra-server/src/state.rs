//! The state that all handlers share.

use std::sync::Arc;

use axum::extract::FromRef;
use utoipa::openapi::OpenApi;
use vidra::Vidra;
use vidra_mcp::BatchLimit;

use crate::config::Config;
use crate::counters::Counters;
use crate::drain::Drain;
use crate::gate::{CallerId, CallerLimit};
use crate::hot::ResponseCache;

/// The shared state of the public and the admin routes. Clones share it.
#[derive(Clone)]
pub(crate) struct AppState {
    /// The client without a caller. Handlers use the handle that bills their request instead, which
    /// is an extension of the request.
    pub(crate) vidra: Vidra,
    pub(crate) counters: Arc<Counters>,
    pub(crate) responses: Arc<ResponseCache>,
    pub(crate) drain: Drain,
    /// The batches that each caller runs.
    pub(crate) batches: Arc<CallerLimit>,
    /// The document that `GET /openapi.json` serves.
    pub(crate) document: Arc<OpenApi>,
}

impl AppState {
    pub(crate) fn new(
        vidra: Vidra,
        counters: Counters,
        document: OpenApi,
        config: &Config,
    ) -> Self {
        let responses = ResponseCache::new(config.ready_bytes, Arc::clone(vidra.clock()));
        Self {
            vidra,
            counters: Arc::new(counters),
            responses: Arc::new(responses),
            drain: Drain::default(),
            batches: Arc::new(CallerLimit::new(config.batches_per_caller)),
            document: Arc::new(document),
        }
    }

    /// The slots that a caller's tools take for their batches.
    pub(crate) fn batch_slots(&self, caller: CallerId) -> BatchLimit {
        let batches = Arc::clone(&self.batches);
        BatchLimit::new(move || Some(Box::new(batches.take(caller.clone())?)))
    }
}

impl FromRef<AppState> for Arc<Counters> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.counters)
    }
}

impl FromRef<AppState> for Arc<ResponseCache> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.responses)
    }
}
