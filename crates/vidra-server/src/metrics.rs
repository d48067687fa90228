//! The page for Prometheus: what the service and its client count.

mod process;
mod table;
mod text;
mod upstream;

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use vidra::store::Usage;
use vidra::{CacheReport, Quota, Vidra};

use crate::counters::{Counters, METHODS, OTHER, STATUSES};
use crate::state::AppState;
use text::Page;

/// How long the quota ledger or the store may take to report. The page leaves out what comes later.
pub(crate) const REPORT_TIMEOUT: Duration = Duration::from_millis(250);

/// Renders all metrics.
pub(crate) async fn page(state: &AppState, vidra: &Vidra) -> Response {
    let (cache, quota) = tokio::join!(
        timeout(REPORT_TIMEOUT, vidra.cache_report()),
        timeout(REPORT_TIMEOUT, vidra.quota())
    );
    let mut page = Page::default();
    write_build(&mut page);
    write_service(&mut page, &state.counters);
    if let Ok(report) = cache {
        write_cache(&mut page, &report, state.responses.usage());
    }
    upstream::write(&mut page, &vidra.upstream_report());
    if let Ok(Ok(quota)) = quota {
        write_quota(&mut page, &quota);
    }
    process::write(&mut page);
    let headers = [(CONTENT_TYPE, text::CONTENT_TYPE), (CACHE_CONTROL, "no-store")];
    (headers, page.into_text()).into_response()
}

fn write_cache(page: &mut Page, report: &CacheReport, rendered: Usage) {
    let mut answers = page.family(&table::CACHE_ANSWERS);
    for (resource, counts, _) in &report.resources {
        for (outcome, count) in [
            ("hit", counts.hits),
            ("stale", counts.stale),
            ("miss", counts.misses),
            ("coalesced", counts.coalesced),
        ] {
            answers.sample(&[("resource", resource), ("outcome", outcome)], count);
        }
    }
    let mut tiers = vec![("memory", report.memory), ("ready", rendered)];
    tiers.extend(report.far.map(|usage| ("store", usage)));
    let mut bytes = page.family(&table::CACHE_BYTES);
    for (tier, usage) in &tiers {
        bytes.sample(&[("tier", tier)], usage.bytes);
    }
    let mut entries = page.family(&table::CACHE_ENTRIES);
    for (tier, usage) in &tiers {
        entries.sample(&[("tier", tier)], usage.entries);
    }
    if let Some(failures) = report.far_failures {
        let mut family = page.family(&table::STORE_FAILURES);
        for (operation, count) in [
            ("read", failures.reads),
            ("write", failures.writes),
            ("skipped", failures.skipped),
            ("damaged", failures.corrupt),
        ] {
            family.sample(&[("operation", operation)], count);
        }
    }
    page.one(&table::STALE_AGE, report.oldest_stale.as_secs_f64());
    page.one(&table::RENEWAL_FAILURES, report.renewal_failures);
}

fn write_build(page: &mut Page) {
    page.family(&table::BUILD_INFO).sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
}

fn write_quota(page: &mut Page, quota: &Quota) {
    let mut used = page.family(&table::QUOTA_USED);
    for bucket in &quota.buckets {
        used.sample(&[("bucket", bucket.name)], bucket.used);
    }
    let mut limit = page.family(&table::QUOTA_LIMIT);
    for bucket in &quota.buckets {
        limit.sample(&[("bucket", bucket.name)], bucket.limit);
    }
}

fn write_service(page: &mut Page, counters: &Counters) {
    write_requests(page, counters);
    let mut times = page.family(&table::REQUEST_DURATION);
    for route in &counters.routes {
        let histogram = route.times.cumulative();
        if histogram.count() > 0 {
            times.histogram(&[("route", &route.template)], &histogram);
        }
    }
    page.one(&table::REQUESTS_IN_FLIGHT, counters.in_flight.load(Ordering::Relaxed));
    page.one(&table::CONNECTIONS_OPEN, counters.connections.open.load(Ordering::Relaxed));
    for (metric, counts) in [
        (&table::CONNECTIONS_REFUSED, &counters.connections.refused),
        (&table::LIMITED, &counters.rejected),
    ] {
        let mut family = page.family(metric);
        for (reason, count) in counts.counts() {
            family.sample(&[("reason", reason)], count);
        }
    }
}

fn write_requests(page: &mut Page, counters: &Counters) {
    let mut requests = page.family(&table::REQUESTS);
    let statuses = STATUSES.map(|status| status.to_string());
    let mut others = counters.overflow.load(Ordering::Relaxed);
    for route in &counters.routes {
        for (at, counts) in route.requests.iter().enumerate() {
            let method = METHODS.get(at).map_or(OTHER, |method| method.as_str());
            for (at, count) in counts.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                let status = statuses.get(at).map_or(OTHER, String::as_str);
                if [&*route.template, method, status] == [OTHER; 3] {
                    others += count;
                } else if count > 0 {
                    let labels =
                        [("route", &*route.template), ("method", method), ("status", status)];
                    requests.sample(&labels, count);
                }
            }
        }
    }
    if others > 0 {
        requests.sample(&[("route", OTHER), ("method", OTHER), ("status", OTHER)], others);
    }
}
