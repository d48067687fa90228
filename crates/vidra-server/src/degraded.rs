//! The parts of the service that do not work as they should, for `/readyz` and for the metrics.

use std::time::Duration;

use tokio::time::timeout;
use vidra::{Addresses, BreakerState, BucketUse, Quota, Vidra};

use crate::reloads::Outcomes;
use crate::state::AppState;

/// How long a report waits for the ledger and the store. A disk that hangs must not make the service look dead.
pub(crate) const REPORT_TIMEOUT: Duration = Duration::from_millis(250);

/// A part that does not work: its name in metrics, and a message for the operator.
pub(crate) struct Degraded {
    pub(crate) what: &'static str,
    pub(crate) message: String,
}

/// The names of all parts that can be degraded.
pub(crate) const PARTS: [&str; 18] = [
    "key_missing",
    "key_rejected",
    "quota_exhausted",
    "searches_exhausted",
    "ledger_failing",
    "ledger_incomplete",
    "spending_failing",
    "spending_incomplete",
    "database_failing",
    "store_failing",
    "spool_failing",
    "library_failing",
    "addresses_blocked",
    "addresses_unreachable",
    "breaker_open",
    "certificate_expiring",
    "certificate_expired",
    "reload_failed",
];

/// The certificate counts as a problem this long before it expires, in seconds.
const EXPIRES_SOON: i64 = 7 * 86_400;

/// The day's quota; `None` if the ledger does not answer in time.
pub(crate) async fn quota(vidra: &Vidra) -> Option<Quota> {
    timeout(REPORT_TIMEOUT, vidra.quota()).await.ok()?.ok()
}

/// The parts that do not work now.
pub(crate) fn degraded(state: &AppState, quota: Option<&Quota>) -> Vec<Degraded> {
    let vidra = &state.vidra;
    let ledger = vidra.ledger_health();
    let now = vidra.clock().now();
    let spending = state.allowances.health(now);
    let is_spent = |name: &str| {
        let is_empty = |bucket: &BucketUse| bucket.name == name && bucket.remaining == 0;
        quota.is_some_and(|quota| quota.buckets.iter().any(is_empty))
    };
    let states = [
        (!vidra.has_key(), "key_missing", "data-api: no key is configured"),
        (vidra.key_was_rejected(), "key_rejected", "data-api: the key was rejected"),
        (is_spent("default"), "quota_exhausted", "data-api: the day's quota is used up"),
        (is_spent("search"), "searches_exhausted", "data-api: the day's searches are used up"),
        (
            ledger.is_failing,
            "ledger_failing",
            "ledger: its file cannot be written; the quota is counted in memory",
        ),
        (
            quota.is_none() && !ledger.is_failing,
            "ledger_failing",
            "ledger: its file does not answer",
        ),
        (
            ledger.is_incomplete,
            "ledger_incomplete",
            "ledger: its file was unreadable; earlier calls of today are not counted",
        ),
        (
            spending.is_failing,
            "spending_failing",
            "callers: the file of their spending cannot be written; it is counted in memory",
        ),
        (
            spending.is_incomplete,
            "spending_incomplete",
            "callers: the file of their spending was unreadable; earlier spending of today is not counted",
        ),
        (
            vidra.shared_quota().is_some_and(|shared| shared.is_failing),
            "database_failing",
            "database: it does not answer; requests that need quota fail when this machine has spent its units",
        ),
        (
            vidra.is_store_failing(),
            "store_failing",
            "cache: the store behind memory does not answer",
        ),
        (
            vidra.is_spool_failing(),
            "spool_failing",
            "answers: temporary files cannot be written; large answers that do not fit into memory are refused",
        ),
        (
            is_library_failing(state),
            "library_failing",
            "library: its file cannot be used; jobs wait",
        ),
    ];
    let states = states.into_iter().filter(|(is_so, ..)| *is_so);
    let states = states.map(|(_, what, message)| Degraded { what, message: message.to_owned() });
    states
        .chain(unusable_addresses(vidra.addresses()))
        .chain(open_breakers(vidra.upstream_report().breakers))
        .chain(expiring_certificate(state))
        .chain(failed_reloads(state))
        .collect()
}

fn is_library_failing(state: &AppState) -> bool {
    state.library.as_ref().is_some_and(|config| config.file.is_failing())
}

/// The certificate, if it expires soon or has expired.
fn expiring_certificate(state: &AppState) -> Option<Degraded> {
    let expires = state.tls.as_ref()?.expires()?;
    let left = expires - state.vidra.clock().now().as_second();
    let (what, message) = match left {
        ..=0 => ("certificate_expired", "tls: the certificate has expired".to_owned()),
        1..=EXPIRES_SOON => {
            let days = left / 86_400;
            let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
            ("certificate_expiring", format!("tls: the certificate expires in {days}"))
        }
        _ => return None,
    };
    Some(Degraded { what, message })
}

/// The files whose last reload failed.
fn failed_reloads(state: &AppState) -> impl Iterator<Item = Degraded> {
    let failed = |(file, outcomes): (&str, Outcomes)| {
        let message = format!("reload: the {} could not be read again", file.replace('_', " "));
        outcomes.last_failed.then_some(Degraded { what: "reload_failed", message })
    };
    state.reloads.outcomes().into_iter().filter_map(failed)
}

/// The egress addresses that cannot fetch transcripts.
fn unusable_addresses(
    Addresses { all, blocked, unreachable, .. }: Addresses,
) -> impl Iterator<Item = Degraded> {
    let faults = [
        (blocked, "addresses_blocked", "blocked by YouTube"),
        (unreachable, "addresses_unreachable", "out of reach"),
    ];
    let faults = faults.into_iter().filter(|(count, ..)| *count > 0);
    faults.map(move |(count, what, fault)| {
        let message = match (all, count) {
            (1, _) => format!("transcripts: the address is {fault}"),
            (_, 1) => format!("transcripts: 1 of {all} addresses is {fault}"),
            _ => format!("transcripts: {count} of {all} addresses are {fault}"),
        };
        Degraded { what, message }
    })
}

/// The circuit breakers that are not closed.
fn open_breakers(breakers: Vec<(String, BreakerState)>) -> impl Iterator<Item = Degraded> {
    breakers.into_iter().filter_map(|(domain, state)| {
        let state = match state {
            BreakerState::Closed => return None,
            BreakerState::HalfOpen => "half-open",
            BreakerState::Open => "open",
        };
        let message = format!("{domain}: failing; the circuit breaker is {state}");
        Some(Degraded { what: "breaker_open", message })
    })
}
