//! The service itself: quota, health, readiness.

use axum::Extension;
use serde::Serialize;
use utoipa::ToSchema;
use vidra::{Quota, Vidra};

use crate::reply::{Answer, Reply};

/// What is left of the day's quota. Asks nobody.
#[utoipa::path(
    get, path = "/api/quota", tag = "Service",
    responses((status = 200, description = "The buckets and their reset", body = Quota))
)]
pub(super) async fn get_quota(Extension(vidra): Extension<Vidra>) -> Answer<Quota> {
    Ok(Reply(vidra.quota().await?))
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
    degraded: Vec<&'static str>,
}

/// The process is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "Service",
    responses((status = 200, description = "It answers", body = Health))
)]
pub(super) async fn get_health() -> Reply<Health> {
    Reply(Health { status: "ok", degraded: vec![] })
}

/// The service takes requests.
#[utoipa::path(
    get, path = "/readyz", tag = "Service",
    responses((status = 200, description = "It takes requests; `degraded` names what does not work", body = Health))
)]
pub(super) async fn get_readiness(Extension(vidra): Extension<Vidra>) -> Reply<Health> {
    let quota = vidra.quota().await;
    let is_spent =
        quota.is_ok_and(|quota| quota.buckets.iter().any(|bucket| bucket.remaining == 0));
    let degraded = [
        (!vidra.has_key(), "data-api: no key is configured"),
        (vidra.key_was_rejected(), "data-api: the key was rejected"),
        (is_spent, "data-api: a bucket of the day's quota is used up"),
    ];
    let degraded = degraded.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what);
    Reply(Health { status: "ready", degraded: degraded.collect() })
}
