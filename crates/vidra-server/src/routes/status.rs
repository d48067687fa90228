//! The service itself: quota, cache, health, readiness, metrics.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use vidra::store::Usage;
use vidra::{Bucket, BucketUse, Counts, Quota, Vidra};

use crate::degraded;
use crate::error_body::{ApiError, ReadinessErrors, Result};
use crate::gate::Caller;
use crate::metrics;
use crate::respond::Tagged;
use crate::state::AppState;

/// The quota of the day, and the caller's budget.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuotaState {
    /// The end of the platform's day in UTC. It is midnight in Los Angeles.
    #[schema(example = "2026-11-16T08:00:00.000Z")]
    resets_at: String,
    /// The buckets of the platform, and what this service has spent of each.
    buckets: Vec<BucketUse>,
    /// The budget of the caller's key; absent if the key has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    yours: Option<Share>,
}

/// The budget of one key.
#[derive(Serialize, ToSchema)]
pub(super) struct Share {
    /// The name of the key.
    #[schema(example = "alice")]
    name: String,
    /// The buckets with a budget, and what the key has spent of each.
    buckets: Vec<BucketUse>,
}

/// The rest of the day's quota.
///
/// The day ends at midnight in Los Angeles. `yours` is the budget of the caller's key.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/quota", tag = "Service",
    responses((status = 200, description = "The buckets and their reset", body = QuotaState))
)]
pub(super) async fn get_quota(
    Extension(vidra): Extension<Vidra>,
    caller: Option<Extension<Arc<Caller>>>,
) -> Result<Tagged<QuotaState>> {
    let Quota { resets_at, buckets, .. } = vidra.quota().await?;
    let yours = caller.and_then(|Extension(caller)| budget_of(&caller, vidra.clock().now()));
    Ok(Tagged(QuotaState { resets_at, buckets, yours }))
}

/// The budget of a caller; `None` if it has no limit.
fn budget_of(caller: &Caller, now: Timestamp) -> Option<Share> {
    let allowance = &caller.account.allowance;
    let limited = |bucket: Bucket| {
        let (limit, used) = (allowance.limit(bucket)?, allowance.used(bucket, now));
        Some(BucketUse { name: bucket.name(), limit, used, remaining: limit.saturating_sub(used) })
    };
    let buckets: Vec<_> =
        [Bucket::Default, Bucket::Search].into_iter().filter_map(limited).collect();
    (!buckets.is_empty()).then(|| Share { name: caller.name.to_string(), buckets })
}

/// The size of the cache, and its hit ratios.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CacheState {
    /// The share of answers from the cache, fresh or stale, from 0 to 1.
    #[schema(minimum = 0, maximum = 1, example = 0.93)]
    hit_ratio: f64,
    /// The cache in memory.
    memory: Held,
    /// The store; absent if there is none or it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    store: Option<Held>,
    /// Counts per resource.
    resources: Vec<ResourceState>,
}

/// The size of a tier of the cache.
#[derive(Serialize, ToSchema)]
pub(super) struct Held {
    /// The number of records.
    entries: u64,
    /// Their size in bytes.
    bytes: u64,
    /// The maximum size in bytes; absent for a store, which has its own limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<u64>,
}

/// The records of one resource, and their hit ratio.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceState {
    /// The name of the resource.
    #[schema(example = "video")]
    name: &'static str,
    /// The number of records in memory.
    entries: u64,
    /// Their size in bytes.
    bytes: u64,
    /// Cache hits: fresh records.
    hits: u64,
    /// Answers with a stale record.
    stale: u64,
    /// Answers that needed a fetch.
    misses: u64,
    /// Answers that joined a fetch in progress.
    coalesced: u64,
    /// The share of answers from the cache, fresh or stale, from 0 to 1.
    #[schema(minimum = 0, maximum = 1, example = 0.93)]
    hit_ratio: f64,
}

/// Rounds to three digits.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// The size of the cache, and its hit ratios.
///
/// Counts begin at the start of the service.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/cache", tag = "Service",
    responses((status = 200, description = "Counts, bytes and hit ratios since the start of the service", body = CacheState))
)]
pub(super) async fn get_cache(Extension(vidra): Extension<Vidra>) -> Tagged<CacheState> {
    let report = vidra.cache_report().await;
    let mut all = Counts::default();
    let resources = report.resources.into_iter().map(|(name, counts, usage)| {
        let Counts { hits, stale, misses, coalesced, .. } = counts;
        all.hits += hits;
        all.stale += stale;
        all.misses += misses;
        all.coalesced += coalesced;
        let (Usage { entries, bytes }, hit_ratio) = (usage, rounded(counts.hit_ratio()));
        ResourceState { name, entries, bytes, hits, stale, misses, coalesced, hit_ratio }
    });
    let resources = resources.collect();
    let held = |Usage { entries, bytes }, limit| Held { entries, bytes, limit };
    Tagged(CacheState {
        hit_ratio: rounded(all.hit_ratio()),
        memory: held(report.memory, Some(report.memory_limit)),
        store: report.store.map(|store| held(store, None)),
        resources,
    })
}

/// The health of the service.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok` or `ready`.
    #[schema(example = "ok")]
    status: &'static str,
    /// The parts that do not work as they should, by name; absent if all do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    degraded: Vec<String>,
}

/// The process is alive.
///
/// It answers whatever `Accept` says, and needs no key.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/healthz", tag = "Service",
    responses((status = 200, description = "The process is alive", body = Health))
)]
pub(super) async fn get_health() -> Tagged<Health> {
    Tagged(Health { status: "ok", degraded: vec![] })
}

/// The service accepts requests.
///
/// `degraded` lists the parts that do not work. It answers whatever `Accept` says, and needs no key.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/readyz", tag = "Service",
    responses(
        (status = 200, description = "The service accepts requests; `degraded` lists the parts that do not work", body = Health),
        ReadinessErrors
    )
)]
pub(super) async fn get_readiness(
    Extension(vidra): Extension<Vidra>,
    State(state): State<AppState>,
) -> Result<Tagged<Health>> {
    if state.drain.has_begun() {
        return Err(ApiError::shutting_down());
    }
    let degraded = degraded::degraded(&state, degraded::quota(&vidra).await.as_ref());
    let degraded = degraded.into_iter().map(|part| part.message).collect();
    Ok(Tagged(Health { status: "ready", degraded }))
}

/// The metrics of the service, in the text format of Prometheus.
///
/// No label names a caller or a requested object. It answers whatever `Accept` says.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/metrics", tag = "Service",
    responses((
        status = 200, description = "Counters, gauges and histograms; no label names a caller or a requested object",
        body = String, content_type = "text/plain",
        example = "# HELP vidra_requests_in_flight Requests without an answer yet, and streams that have not ended.\n# TYPE vidra_requests_in_flight gauge\nvidra_requests_in_flight 1\n"
    ))
)]
pub(super) async fn get_metrics(
    Extension(vidra): Extension<Vidra>,
    State(state): State<AppState>,
) -> Response {
    metrics::page(&state, &vidra).await
}
