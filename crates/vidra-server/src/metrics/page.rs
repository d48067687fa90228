//! The page of metrics: what the service counted, and what the client tells of itself. Made without
//! waiting for anybody.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use vidra::{CacheReport, Quota, Vidra};

use super::text::{self, Kind, Page};
use super::{METHODS, Metrics, OTHER, STATUSES, process, upstream};
use crate::drain::Drain;
use crate::gate::Shares;
use crate::ready::Shelf;

/// What the service knows of itself, and shares with its operator's side.
pub(crate) struct Inside {
    pub(crate) metrics: Metrics,
    pub(crate) shelf: Shelf,
    pub(crate) drain: Drain,
    /// Of playlists that are being transcribed.
    pub(crate) batches: Arc<Shares>,
}

/// How long a ledger or a store may take to tell of itself; what comes later is left out.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

impl Inside {
    pub(crate) async fn page(self: &Arc<Self>, vidra: &Vidra) -> Response {
        let (cache, quota) =
            tokio::join!(timeout(PATIENCE, vidra.cache_report()), timeout(PATIENCE, vidra.quota()));
        let mut page = Page::default();
        build(&mut page);
        self.metrics.write(&mut page);
        if let Ok(report) = cache {
            self.write_cache(&mut page, &report);
        }
        upstream::write(&mut page, &vidra.upstream_report());
        if let Ok(Ok(quota)) = quota {
            write_quota(&mut page, &quota);
        }
        process::write(&mut page);
        let headers = [(CONTENT_TYPE, text::CONTENT_TYPE), (CACHE_CONTROL, "no-store")];
        (headers, page.into_text()).into_response()
    }

    fn write_cache(&self, page: &mut Page, report: &CacheReport) {
        let help = "Answers by kind, and by how they came about.";
        let mut answers = page.family("vidra_cache_answers_total", Kind::Counter, help);
        for (resource, counts, _) in &report.resources {
            for (outcome, count) in [
                ("hit", counts.hits),
                ("stale", counts.stale),
                ("miss", counts.misses),
                ("coalesced", counts.coalesced),
            ] {
                answers.sample(&[("resource", resource.name()), ("outcome", outcome)], count);
            }
        }
        let mut tiers = vec![("memory", report.memory), ("ready", self.shelf.usage())];
        tiers.extend(report.far.map(|usage| ("store", usage)));
        let mut bytes = page.family("vidra_cache_bytes", Kind::Gauge, "What is kept, in bytes.");
        for (tier, usage) in &tiers {
            bytes.sample(&[("tier", tier)], usage.bytes);
        }
        let mut entries = page.family("vidra_cache_entries", Kind::Gauge, "Answers that are kept.");
        for (tier, usage) in &tiers {
            entries.sample(&[("tier", tier)], usage.entries);
        }
        if let Some(failures) = report.far_failures {
            let help = "What went wrong with the store of answers; to callers it is a miss.";
            let mut family = page.family("vidra_cache_store_failures_total", Kind::Counter, help);
            for (operation, count) in [
                ("read", failures.reads),
                ("write", failures.writes),
                ("skipped", failures.skipped),
                ("damaged", failures.corrupt),
            ] {
                family.sample(&[("operation", operation)], count);
            }
        }
        let help = "The greatest age of an answer that was lately sent although it was not fresh.";
        let age = report.oldest_stale.as_secs_f64();
        page.one("vidra_stale_age_seconds", Kind::Gauge, help, age);
        let help = "Renewals that have failed one after the other.";
        page.one("vidra_renewal_failures_in_a_row", Kind::Gauge, help, report.renewal_failures);
    }
}

fn build(page: &mut Page) {
    let mut build = page.family("vidra_build_info", Kind::Gauge, "The version; always 1.");
    build.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
}

fn write_quota(page: &mut Page, quota: &Quota) {
    let help = "Upstream units spent since the platform's day began.";
    let mut used = page.family("vidra_quota_used", Kind::Gauge, help);
    for bucket in &quota.buckets {
        used.sample(&[("bucket", bucket.name)], bucket.used);
    }
    let help = "Upstream units that the platform grants a day.";
    let mut limit = page.family("vidra_quota_limit", Kind::Gauge, help);
    for bucket in &quota.buckets {
        limit.sample(&[("bucket", bucket.name)], bucket.limit);
    }
}

impl Metrics {
    fn write(&self, page: &mut Page) {
        self.write_requests(page);
        let help = "How long requests took, streams to their end.";
        let mut times = page.family("vidra_request_duration_seconds", Kind::Histogram, help);
        for route in &self.routes {
            let told = route.times.cumulated();
            if told.count() > 0 {
                times.histogram(&[("route", &route.template)], &told);
            }
        }
        let help = "Requests without an answer yet, and streams that have not ended.";
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        page.one("vidra_requests_in_flight", Kind::Gauge, help, in_flight);
        let open = self.connections.open.load(Ordering::Relaxed);
        page.one("vidra_connections_open", Kind::Gauge, "Connections that are open.", open);
        for (name, help, counts) in [
            (
                "vidra_connections_refused_total",
                "Connections that were not taken, or ended by us.",
                &self.connections.refused,
            ),
            ("vidra_limited_total", "Requests that were turned away by a limit.", &self.limited),
        ] {
            let mut family = page.family(name, Kind::Counter, help);
            for (reason, count) in counts.told() {
                family.sample(&[("reason", reason)], count);
            }
        }
    }

    fn write_requests(&self, page: &mut Page) {
        let help = "Requests that are over; 499 where the caller left before there was an answer.";
        let mut requests = page.family("vidra_requests_total", Kind::Counter, help);
        let statuses = STATUSES.map(|status| status.to_string());
        let mut others = self.uncounted.load(Ordering::Relaxed);
        for route in &self.routes {
            for (at, counts) in route.counts.iter().enumerate() {
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
}
