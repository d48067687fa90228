//! The state that all handlers share.

use std::sync::{Arc, LazyLock};

use utoipa::openapi::OpenApi;
use vidra::{Allowance, Allowances, Reason, Vidra};
use vidra_mcp::BatchLimit;

use crate::config::Config;
use crate::counters::Counters;
use crate::drain::Drain;
use crate::gate::{CallerId, Keys};
use crate::hot::{Observers, ResponseCache, StaticBody};
use crate::library::LibraryConfig;
use crate::refresh_budget::RefreshBudget;
use crate::reloads::Reloads;
use crate::respond::JSON;
use crate::slots::{Slot, Slots};
use crate::tls::Tls;
use crate::webhooks::Webhooks;

/// The shared state of the public and the admin routes. Clones share it.
#[derive(Clone)]
pub(crate) struct AppState {
    /// The client without a caller. Handlers use the handle that bills their request instead, which
    /// is an extension of the request.
    pub(crate) vidra: Vidra,
    /// The counters and the access log.
    pub(crate) observers: Observers,
    pub(crate) responses: Arc<ResponseCache>,
    pub(crate) drain: Drain,
    /// The batches that each caller runs.
    pub(crate) batches: Arc<Slots<CallerId>>,
    batches_per_caller: usize,
    /// The connections with which each caller follows jobs.
    followers: Arc<Slots<Option<CallerId>>>,
    /// The downloads of results of jobs.
    downloads: SharedSlots,
    /// The uploads of lists of sources.
    uploads: SharedSlots,
    /// The searches that each caller runs.
    searches: Arc<Slots<Option<CallerId>>>,
    /// `None` if callers may not bypass the cache.
    pub(crate) refreshes: Option<RefreshBudget>,
    /// Budgets and usage of callers, which may have a file.
    pub(crate) allowances: Arc<Allowances>,
    /// The account of all callers together; `None` if the service requires keys.
    pub(crate) open_account: Option<Allowance>,
    /// The valid keys; `None` if the service requires none.
    pub(crate) keys: Option<Arc<Keys>>,
    /// Whether only this machine can reach the service.
    pub(crate) on_loopback: bool,
    /// `None` if the library is switched off.
    pub(crate) library: Option<LibraryConfig>,
    /// The destinations of messages about jobs and collections.
    pub(crate) webhooks: Webhooks,
    /// The certificate, whose expiry is a metric.
    pub(crate) tls: Option<Tls>,
    pub(crate) reloads: Reloads,
    /// The document that `GET /openapi.json` serves, rendered at the first request.
    pub(crate) document: Arc<LazyLock<StaticBody, RenderDocument>>,
    /// The text that `GET /llms.txt` serves.
    pub(crate) llms: Arc<LazyLock<StaticBody, RenderDocument>>,
}

/// How many jobs a caller can follow at the same time. Each connection reads the file at least once a second.
const FOLLOWERS_PER_CALLER: usize = 50;

/// How many results of jobs a caller can download at the same time, and all callers together. Each download holds a
/// rendered page of several megabytes while its reader is slow.
const DOWNLOADS_PER_CALLER: usize = 4;
const DOWNLOADS: usize = 16;

/// How many searches a caller can run at the same time. The library runs fewer, and the others wait.
const SEARCHES_PER_CALLER: usize = 8;

/// How many lists of sources a caller, and all callers together, can send at the same time. Each can have 4 MB.
const UPLOADS_PER_CALLER: usize = 4;
const UPLOADS: usize = 8;

/// Slots of each caller, and of all callers together. Without keys all callers of this machine are one caller.
#[derive(Clone, Default)]
struct SharedSlots {
    of_caller: Arc<Slots<Option<CallerId>>>,
    of_all: Arc<Slots<()>>,
}

/// A slot of a caller and of all callers. Dropping it returns both.
pub(crate) struct SharedSlot {
    _of_caller: Slot<Option<CallerId>>,
    _of_all: Slot<()>,
}

impl SharedSlots {
    /// # Errors
    ///
    /// `too_many` if the caller has too many, and [`Reason::Overloaded`] if all callers together have too many.
    fn take(
        &self,
        caller: Option<CallerId>,
        (per_caller, in_all): (usize, usize),
        too_many: Reason,
    ) -> Result<SharedSlot, Reason> {
        let of_caller = self.of_caller.take(caller, per_caller).ok_or(too_many)?;
        let of_all = self.of_all.take((), in_all).ok_or(Reason::Overloaded)?;
        Ok(SharedSlot { _of_caller: of_caller, _of_all: of_all })
    }
}

type RenderDocument = Box<dyn FnOnce() -> StaticBody + Send>;

impl AppState {
    pub(crate) fn new(
        vidra: Vidra,
        counters: Counters,
        document: OpenApi,
        llms: String,
        config: &Config,
    ) -> Self {
        let responses = ResponseCache::new(config.response_cache_bytes, Arc::clone(vidra.clock()));
        let document =
            move || StaticBody::new(JSON, serde_json::to_vec(&document).unwrap_or_default().into());
        let llms = move || StaticBody::new("text/plain; charset=utf-8", llms.into());
        Self {
            vidra,
            observers: Observers {
                counters: Arc::new(counters),
                access_log: config.access_log.clone(),
            },
            responses: Arc::new(responses),
            drain: Drain::default(),
            batches: Arc::default(),
            batches_per_caller: config.batches_per_caller,
            followers: Arc::default(),
            downloads: SharedSlots::default(),
            uploads: SharedSlots::default(),
            searches: Arc::default(),
            refreshes: config.callers_may_refresh.then(|| RefreshBudget::new(config.refresh_units)),
            allowances: Arc::clone(config.gate.allowances()),
            open_account: config.gate.open_account(),
            keys: config.gate.keys.clone(),
            on_loopback: config.gate.on_loopback,
            library: config.library.clone(),
            webhooks: config.webhooks.clone(),
            tls: config.tls.clone(),
            reloads: config.reloads.clone(),
            document: Arc::new(LazyLock::new(Box::new(document))),
            llms: Arc::new(LazyLock::new(Box::new(llms))),
        }
    }

    /// Takes a slot for a batch, so that one caller cannot take the slots of all others.
    pub(crate) fn batch_slot(&self, caller: CallerId) -> Option<Slot<CallerId>> {
        self.batches.take(caller, self.batches_per_caller)
    }

    /// Takes a slot for a connection that follows a job, which may last for days.
    /// All callers of this machine without keys are one caller.
    pub(crate) fn follower_slot(&self, caller: Option<CallerId>) -> Option<Slot<Option<CallerId>>> {
        self.followers.take(caller, FOLLOWERS_PER_CALLER)
    }

    /// Takes a slot for a download of the results of a job.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManyDownloads`], and [`Reason::Overloaded`] if all callers together have too many.
    pub(crate) fn download_slot(&self, caller: Option<CallerId>) -> Result<SharedSlot, Reason> {
        let limits = (DOWNLOADS_PER_CALLER, DOWNLOADS);
        self.downloads.take(caller, limits, Reason::TooManyDownloads)
    }

    /// Takes a slot for the upload of a list of sources.
    ///
    /// # Errors
    ///
    /// [`Reason::Overloaded`].
    pub(crate) fn upload_slot(&self, caller: Option<CallerId>) -> Result<SharedSlot, Reason> {
        self.uploads.take(caller, (UPLOADS_PER_CALLER, UPLOADS), Reason::Overloaded)
    }

    /// Takes a slot for a search in the library. All callers of this machine without keys are one caller.
    pub(crate) fn search_slot(&self, caller: Option<CallerId>) -> Option<Slot<Option<CallerId>>> {
        self.searches.take(caller, SEARCHES_PER_CALLER)
    }

    /// The slots that a caller's tools take for their batches.
    pub(crate) fn batch_slots(&self, caller: CallerId) -> BatchLimit {
        let state = self.clone();
        BatchLimit::new(move || Some(Box::new(state.batch_slot(caller.clone())?)))
    }
}
