//! The resources that jobs wait for. They are stored, so that a restart does not forget a pause.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vidra::{Bucket, Error, Reason, Result, Vidra};

use super::plan::WorkKind;
use super::{Payers, Worker, egress};
use crate::job::{Job, Wait};
use crate::library::Library;
use crate::store::resources::{self as stored, Resource};

/// The longest plausible wait: the longest day of the quota. A longer one comes from a wall clock that was set back.
const LONGEST: SignedDuration = SignedDuration::from_hours(26);

/// A wait whose end moves by less is the same wait.
const TOLERANCE: Duration = Duration::from_secs(5);

/// The resources of a worker.
pub(super) struct Resources(Blocked);

/// The resources that are unavailable, by name. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Blocked(Arc<Mutex<BTreeMap<String, Wait>>>);

/// The name of the resource of calls to the Data API.
const DATA_API: &str = "data_api";

fn budget_of(owner: &str) -> String {
    format!("budget/{owner}")
}

impl Blocked {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Wait>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call of `owner` to the Data API has to wait.
    pub(super) async fn note_data_api(
        &self,
        library: &Library,
        owner: &str,
        error: &Error,
        wait: Duration,
    ) -> Result<()> {
        let name = match error.reason() {
            Reason::CallerBudgetExhausted => budget_of(owner),
            _ => DATA_API.to_owned(),
        };
        let until = library.now().checked_add(wait).unwrap_or(Timestamp::MAX);
        let (reason, now) = (error.reason(), library.now());
        self.lock().insert(name.clone(), Wait { reason, until });
        let resource = Resource { name, reason, available_at: until, detail: None };
        library.database().write(move |it| stored::set(it, &resource, now)).await
    }
}

impl Resources {
    /// Reads the stored resources, and restores the pauses of egress addresses. Budgets and the quota are known without
    /// a call, so a wait for them ends if the key, the reserve or a budget has changed since.
    pub(super) async fn restore(Worker { library, vidra, config, .. }: &Worker) -> Self {
        let blocked = Blocked::default();
        let is_paid = match vidra.quota().await {
            Ok(quota) => quota.buckets.iter().any(|bucket| {
                bucket.name == Bucket::Default.name() && bucket.remaining > config.reserve_units
            }),
            Err(_) => false,
        };
        let is_over = |it: &Resource| {
            it.reason == Reason::CallerBudgetExhausted
                || (it.reason == Reason::QuotaExhausted && is_paid)
        };
        let now = library.now();
        match library.database().read(stored::all).await {
            Ok(all) => {
                if !library.database().is_on_a_server() {
                    vidra.restore_egress_states(&egress::states(&all, now));
                }
                let others = all.into_iter().filter(|it| !egress::is_address(it) && !is_over(it));
                let waits =
                    others.map(|it| (it.name, Wait { reason: it.reason, until: it.available_at }));
                blocked.lock().extend(waits);
            }
            Err(error) => {
                tracing::error!(reason = error.reason().code(), "stored pauses cannot be read");
            }
        }
        Self(blocked)
    }

    /// A handle with which tasks report unavailable resources.
    pub(super) fn handle(&self) -> Blocked {
        self.0.clone()
    }

    /// The wait of a job's listing or of its items. `None` if they can start now.
    pub(super) fn wait(
        &self,
        payers: &Payers,
        job: &Job,
        kind: WorkKind,
        now: Timestamp,
    ) -> Option<Wait> {
        let Some(payer) = payers(&job.owner) else {
            // Its jobs are paused when they are read again.
            let until = now.checked_add(super::POLL).unwrap_or(Timestamp::MAX);
            return Some(Wait { reason: Reason::CallerKeyInvalid, until });
        };
        match kind {
            WorkKind::Listing => {
                let blocked = self.0.lock();
                let of = |name: &str| blocked.get(name).filter(|wait| wait.until > now).cloned();
                of(DATA_API).into_iter().chain(of(&budget_of(&job.owner))).max_by_key(|it| it.until)
            }
            WorkKind::Feeds => None,
            WorkKind::Item => {
                let is_translated = job.options.transcript.translate.is_some();
                let (reason, wait) = payer.in_background(0).transcript_wait(is_translated)?;
                let until = now.checked_add(wait).unwrap_or(Timestamp::MAX);
                Some(Wait { reason, until })
            }
        }
    }

    /// Forgets resources that are available again.
    pub(super) async fn drop_expired(&mut self, library: &Library, now: Timestamp) -> Result<()> {
        let is_over = |wait: &Wait| wait.until <= now || wait.until.duration_since(now) > LONGEST;
        let over: Vec<String> = {
            let mut blocked = self.0.lock();
            let over = blocked.iter().filter(|(_, wait)| is_over(wait));
            let names: Vec<String> = over.map(|(name, _)| name.clone()).collect();
            names.iter().for_each(|name| _ = blocked.remove(name));
            names
        };
        if over.is_empty() {
            return Ok(());
        }
        let remove = move |it: &_| over.iter().try_for_each(|name| stored::remove(it, name));
        library.database().write(remove).await
    }

    /// Stores the pauses and the pace of all egress addresses, unless machines share them already.
    pub(super) async fn save_egress(&self, library: &Library, vidra: &Vidra) {
        if library.database().is_on_a_server() {
            return;
        }
        let all = egress::resources(&vidra.egress_states(), library.now());
        let now = library.now();
        let save = move |it: &_| all.iter().try_for_each(|state| stored::set(it, state, now));
        if let Err(error) = library.database().write(save).await {
            tracing::warn!(reason = error.reason().code(), "pauses of egress addresses not stored");
        }
    }
}

/// Whether two waits differ too little to report the change.
pub(super) fn is_same_wait(one: Option<&Wait>, other: Option<&Wait>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let moved = one.until.duration_since(other.until).unsigned_abs();
            one.reason == other.reason && moved < TOLERANCE
        }
        _ => false,
    }
}
