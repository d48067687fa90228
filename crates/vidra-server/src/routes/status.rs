//! The service itself: quota, cache, health, readiness, metrics.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;
use vidra::BucketUse;
use vidra::store::Usage;
use vidra::{Addresses, Bucket, Counts, Quota, Resource, Standing, Vidra};

use crate::error_body::{ApiError, ErrorBody, Result};
use crate::gate::Caller;
use crate::metrics::{self, REPORT_TIMEOUT};
use crate::respond::Tagged;
use crate::state::AppState;

/// The day's quota, and the caller's part in it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuotaState {
    /// When the platform's day ends: midnight in Los Angeles, told in UTC.
    #[schema(example = "2026-11-16T08:00:00.000Z")]
    resets_at: String,
    /// The platform's allowances, each with what this service has spent of it.
    buckets: Vec<BucketUse>,
    /// What the key that asks may spend itself; absent where that is all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    yours: Option<Share>,
}

/// What one key may spend.
#[derive(Serialize, ToSchema)]
pub(super) struct Share {
    /// The name of the key.
    #[schema(example = "alice")]
    name: String,
    /// The buckets that it has a budget of, each with what it has spent.
    buckets: Vec<BucketUse>,
}

/// What is left of the day's quota. Asks nobody.
#[utoipa::path(
    get, path = "/api/quota", tag = "Service",
    responses((status = 200, description = "The buckets and their reset", body = QuotaState))
)]
pub(super) async fn get_quota(
    Extension(vidra): Extension<Vidra>,
    caller: Option<Extension<Arc<Caller>>>,
) -> Result<Tagged<QuotaState>> {
    let Quota { resets_at, buckets } = vidra.quota().await?;
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

/// What is kept, and what that was good for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CacheState {
    /// The part of all answers that were there, fresh or stale, from 0 to 1.
    #[schema(minimum = 0, maximum = 1, example = 0.93)]
    hit_ratio: f64,
    /// What memory holds.
    memory: Held,
    /// What the store behind memory holds; absent where there is none or it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    store: Option<Held>,
    /// The same by kind.
    resources: Vec<ResourceState>,
}

/// How much is held.
#[derive(Serialize, ToSchema)]
pub(super) struct Held {
    /// Answers.
    entries: u64,
    /// What they take up.
    bytes: u64,
    /// The most bytes; absent where that is the store's own business.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<u64>,
}

/// What is kept of one kind, and what that was good for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceState {
    /// The kind.
    #[schema(example = "video")]
    name: &'static str,
    /// Answers in memory.
    entries: u64,
    /// What they take up.
    bytes: u64,
    /// Answers that were there and fresh.
    hits: u64,
    /// Answers that were there and not fresh any more.
    stale: u64,
    /// Answers that YouTube was asked for.
    misses: u64,
    /// Answers that YouTube was being asked for already.
    coalesced: u64,
    /// The part that were there, fresh or stale, from 0 to 1.
    #[schema(minimum = 0, maximum = 1, example = 0.93)]
    hit_ratio: f64,
}

impl From<(Resource, Counts, Usage)> for ResourceState {
    fn from((resource, counts, held): (Resource, Counts, Usage)) -> Self {
        Self {
            name: resource.name(),
            entries: held.entries,
            bytes: held.bytes,
            hits: counts.hits,
            stale: counts.stale,
            misses: counts.misses,
            coalesced: counts.coalesced,
            hit_ratio: rounded(counts.hit_ratio()),
        }
    }
}

/// Rounds to three digits.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// What is kept, and what that was good for. Asks nobody.
#[utoipa::path(
    get, path = "/api/cache", tag = "Service",
    responses((status = 200, description = "Counts, bytes and hit ratios since the service began", body = CacheState))
)]
pub(super) async fn get_cache(Extension(vidra): Extension<Vidra>) -> Tagged<CacheState> {
    let report = vidra.cache_report().await;
    let all = report.resources.iter().fold(Counts::default(), |all, (_, counts, _)| Counts {
        hits: all.hits + counts.hits,
        stale: all.stale + counts.stale,
        misses: all.misses + counts.misses,
        coalesced: all.coalesced + counts.coalesced,
    });
    let held = |Usage { entries, bytes }, limit| Held { entries, bytes, limit };
    Tagged(CacheState {
        hit_ratio: rounded(all.hit_ratio()),
        memory: held(report.memory, Some(report.memory_limit)),
        store: report.far.map(|far| held(far, None)),
        resources: report.resources.into_iter().map(ResourceState::from).collect(),
    })
}

/// Whether the service is there.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok` or `ready`.
    #[schema(example = "ok")]
    status: &'static str,
    /// What does not work as it should, by name; absent when all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    degraded: Vec<String>,
}

/// The process is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "Service",
    responses((status = 200, description = "It answers", body = Health))
)]
pub(super) async fn get_health() -> Tagged<Health> {
    Tagged(Health { status: "ok", degraded: vec![] })
}

/// The service takes requests.
#[utoipa::path(
    get, path = "/readyz", tag = "Service",
    responses(
        (status = 200, description = "It takes requests; `degraded` names what does not work", body = Health),
        (status = 503, description = "The service is shutting down", body = ErrorBody, example = json!({"error": {"code": 503, "reason": "shutting_down", "message": "The service is shutting down", "details": []}}))
    )
)]
pub(super) async fn get_readiness(
    Extension(vidra): Extension<Vidra>,
    State(state): State<AppState>,
) -> Result<Tagged<Health>> {
    if state.drain.has_begun() {
        return Err(ApiError::shutting_down());
    }
    // A disk that hangs must not make the service look dead.
    let quota = timeout(REPORT_TIMEOUT, vidra.quota()).await;
    let is_spent = |name: &str| {
        let is_empty = |bucket: &BucketUse| bucket.name == name && bucket.remaining == 0;
        matches!(&quota, Ok(Ok(quota)) if quota.buckets.iter().any(is_empty))
    };
    let degraded = [
        (!vidra.has_key(), "data-api: no key is configured"),
        (vidra.key_was_rejected(), "data-api: the key was rejected"),
        (is_spent("default"), "data-api: the day's quota is used up"),
        (is_spent("search"), "data-api: the day's searches are used up"),
        (vidra.is_store_failing(), "cache: the store behind memory does not answer"),
    ];
    let degraded = degraded.into_iter().filter(|(is_so, _)| *is_so);
    let degraded =
        degraded.map(|(_, what)| what.to_owned()).chain(unusable_addresses(vidra.addresses()));
    let degraded = degraded.chain(open_breakers(vidra.upstream_report().breakers));
    Ok(Tagged(Health { status: "ready", degraded: degraded.collect() }))
}

/// The egress addresses that cannot fetch transcripts.
fn unusable_addresses(
    Addresses { all, blocked, unreachable }: Addresses,
) -> impl Iterator<Item = String> {
    let troubles = [(blocked, "blocked by YouTube"), (unreachable, "out of reach")];
    let troubles = troubles.into_iter().filter(|(count, _)| *count > 0);
    troubles.map(move |(count, what)| {
        let are = if count == 1 { "is" } else { "are" };
        match all {
            1 => format!("transcripts: the address is {what}"),
            _ => format!("transcripts: {count} of {all} addresses {are} {what}"),
        }
    })
}

/// The circuit breakers that are not closed.
fn open_breakers(breakers: Vec<(String, Standing)>) -> impl Iterator<Item = String> {
    let open = breakers.into_iter().filter(|(_, standing)| *standing != Standing::Closed);
    open.map(|(domain, standing)| match standing {
        Standing::HalfOpen => format!("{domain}: failed; whether it still does is being found out"),
        _ => format!("{domain}: fails, and is left alone for a while; what is known is sent"),
    })
}

/// What the service does, in the text that Prometheus reads. Asks nobody.
#[utoipa::path(
    get, path = "/metrics", tag = "Service",
    responses((
        status = 200, description = "Counts, gauges and histograms; none of their labels names a caller or what was asked for",
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
