//! The page for Prometheus: the counters of the service and of its client.

mod process;
mod table;
mod text;

use std::sync::atomic::Ordering;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use vidra::store::Usage;
use vidra::{BreakerState, CacheReport, Calls, UpstreamReport, Vidra};
use vidra_library::{CollectionFigures, JobFigures, Library};

use crate::counters::{Counters, METHODS, OTHER, STATUSES};
use crate::degraded::{self, REPORT_TIMEOUT};
use crate::hot::Observers;
use crate::reloads::Reloads;
use crate::state::AppState;
use crate::tls::Tls;
use crate::webhooks::Webhooks;
use text::Page;

/// The maximum number of egress addresses with series of their own. The log has the others.
const MAX_ADDRESSES: usize = 50;

/// Renders all metrics.
pub(crate) async fn page(state: &AppState, vidra: &Vidra) -> Response {
    let library = state.library.as_ref().and_then(|config| config.file.get().ok());
    // The page leaves out what comes too late.
    let (cache, quota, figures) = tokio::join!(
        timeout(REPORT_TIMEOUT, vidra.cache_report()),
        degraded::quota(vidra),
        timeout(REPORT_TIMEOUT, library_figures(library)),
    );
    let mut page = Page::default();
    page.each(&table::BUILD_INFO, [(env!("CARGO_PKG_VERSION"), 1)]);
    let Observers { counters, access_log } = &state.observers;
    write_service(&mut page, counters);
    let dropped = access_log.as_ref().map_or(0, |log| log.sink.dropped());
    page.family(&table::LOG_DROPPED).sample(&[], dropped);
    let (memory, files) = vidra.answer_bytes();
    page.each(&table::ANSWER_BYTES, [("memory", memory), ("file", files)]);
    if let Ok(report) = cache {
        write_cache(&mut page, &report, state.responses.usage());
    }
    write_upstream(&mut page, &vidra.upstream_report());
    let degraded = degraded::degraded(state, quota.as_ref());
    let is_degraded = |part: &str| u64::from(degraded.iter().any(|it| it.what == part));
    page.each(&table::DEGRADED, degraded::PARTS.map(|part| (part, is_degraded(part))));
    if let Some(quota) = quota {
        let buckets = || quota.buckets.iter();
        page.each(&table::QUOTA_USED, buckets().map(|bucket| (bucket.name, bucket.used)));
        page.each(&table::QUOTA_LIMIT, buckets().map(|bucket| (bucket.name, bucket.limit)));
        let exhausted = buckets().map(|bucket| (bucket.name, u32::from(bucket.remaining == 0)));
        page.each(&table::QUOTA_EXHAUSTED, exhausted);
    }
    if let Some(shared) = vidra.shared_quota() {
        let units = [("taken", shared.taken), ("returned", shared.returned)];
        page.each(&table::QUOTA_GRANT_UNITS, units);
        if let Some(machines) = vidra.egress_machines() {
            page.family(&table::EGRESS_MACHINES).sample(&[], machines);
        }
        page.family(&table::DATABASE_FAILURES).sample(&[], shared.failures);
    }
    if let Some(sharing) = vidra.fetch_sharing() {
        let outcomes = [
            ("fetched", sharing.fetched),
            ("waited", sharing.waited),
            ("taken_over", sharing.taken_over),
            ("alone", sharing.alone),
        ];
        page.each(&table::SHARED_FETCHES, outcomes);
    }
    if let Some(fetched) = state.library.as_ref().and_then(|config| config.fetched.as_ref()) {
        page.each(&table::LIBRARY_KEPT, fetched.outcomes());
    }
    write_webhooks(&mut page, &state.webhooks);
    if let Some(library) = library {
        write_library(&mut page, library, &state.webhooks, figures.ok().flatten().as_ref());
    }
    write_reloads(&mut page, &state.reloads);
    let mut family = page.family(&table::CERTIFICATE_EXPIRY);
    if let Some(expires) = state.tls.as_ref().and_then(Tls::expires) {
        family.sample(&[], expires);
    }
    process::write(&mut page);
    let headers = [(CONTENT_TYPE, text::CONTENT_TYPE), (CACHE_CONTROL, "no-store")];
    (headers, page.into_text()).into_response()
}

fn write_cache(page: &mut Page, report: &CacheReport, rendered: Usage) {
    let mut answers = page.family(&table::CACHE_ANSWERS);
    for (resource, counts, _) in &report.resources {
        answers.sample(&[resource, "hit"], counts.hits);
        answers.sample(&[resource, "stale"], counts.stale);
        answers.sample(&[resource, "miss"], counts.misses);
        answers.sample(&[resource, "coalesced"], counts.coalesced);
    }
    let mut tiers = vec![("memory", report.memory), ("ready", rendered)];
    tiers.extend(report.store.map(|usage| ("store", usage)));
    page.each(&table::CACHE_BYTES, tiers.iter().map(|(tier, usage)| (tier, usage.bytes)));
    page.each(&table::CACHE_ENTRIES, tiers.iter().map(|(tier, usage)| (tier, usage.entries)));
    if let Some(failures) = report.store_failures {
        let failures = [
            ("read", failures.reads),
            ("write", failures.writes),
            ("skipped", failures.skipped),
            ("damaged", failures.corrupt),
        ];
        page.each(&table::STORE_FAILURES, failures);
    }
    page.one(&table::STALE_AGE, report.oldest_stale.as_secs_f64());
    page.one(&table::RENEWAL_FAILURES, report.renewal_failures);
}

fn write_service(page: &mut Page, counters: &Counters) {
    write_requests(page, counters);
    for (family, is_long) in [(&table::REQUEST_DURATION, false), (&table::STREAM_DURATION, true)] {
        let mut times = page.family(family);
        for route in counters.routes.iter().filter(|route| route.is_long == is_long) {
            let histogram = route.times.cumulative();
            if histogram.count() > 0 {
                times.histogram(&[&route.template], &histogram);
            }
        }
    }
    let Counters { in_flight, connections, refused, .. } = counters;
    page.one(&table::REQUESTS_IN_FLIGHT, in_flight.load(Ordering::Relaxed));
    page.one(&table::CONNECTIONS_OPEN, connections.open.load(Ordering::Relaxed));
    page.each(&table::CONNECTIONS_REFUSED, connections.refused.counts());
    page.each(&table::LIMITED, refused.counts());
}

/// Figures that are read from the library file.
struct LibraryFigures {
    jobs: JobFigures,
    collections: Vec<CollectionFigures>,
    /// The messages that wait, by webhook.
    messages: Vec<(String, u64)>,
    /// The size of the file.
    bytes: u64,
}

/// Reads the figures of the library. `None` without a library, or if it cannot be read.
async fn library_figures(library: Option<&Library>) -> Option<LibraryFigures> {
    let library = library?;
    Some(LibraryFigures {
        jobs: library.job_figures().await.ok()?,
        collections: library.collection_figures().await.ok()?,
        messages: library.waiting_messages().await.ok()?,
        bytes: library.file_bytes().await,
    })
}

fn write_collections(page: &mut Page, collections: &[CollectionFigures]) {
    let mut family = page.family(&table::COLLECTION_VIDEOS);
    for it in collections {
        for (state, count) in &it.videos {
            family.sample(&[&it.owner, &it.name, state], count);
        }
    }
    let mut family = page.family(&table::COLLECTION_UNITS);
    for it in collections {
        family.sample(&[&it.owner, &it.name], it.units_today);
    }
    let mut family = page.family(&table::COLLECTION_SYNCED);
    for it in collections {
        family.sample(&[&it.owner, &it.name], u8::from(it.is_synced));
    }
    let mut family = page.family(&table::COLLECTION_LAST_SYNC);
    for it in collections {
        if let Some(at) = it.last_sync {
            family.sample(&[&it.owner, &it.name], at.as_second());
        }
    }
    let mut family = page.family(&table::COLLECTION_NEXT_SYNC);
    for it in collections {
        if let Some(at) = it.next_sync {
            family.sample(&[&it.owner, &it.name], at.as_second());
        }
    }
}

fn write_webhooks(page: &mut Page, webhooks: &Webhooks) {
    let mut family = page.family(&table::WEBHOOK_ATTEMPTS);
    for (name, outcomes) in webhooks.outcomes() {
        for (outcome, count) in outcomes {
            family.sample(&[name, outcome], count);
        }
    }
}

fn write_library(
    page: &mut Page,
    library: &Library,
    webhooks: &Webhooks,
    figures: Option<&LibraryFigures>,
) {
    if let Some(LibraryFigures { jobs, collections, messages, bytes }) = figures {
        let JobFigures { jobs, items, waiting, .. } = jobs;
        page.one(&table::LIBRARY_BYTES, *bytes);
        write_collections(page, collections);
        let unsent = |name: &str| messages.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
        let removed = messages.iter().map(|it| it.0.as_str()).filter(|name| !webhooks.has(name));
        let names = webhooks.names().chain(removed);
        page.each(&table::WEBHOOK_WAITING, names.map(|name| (name, unsent(name))));
        page.each(&table::JOBS, jobs.iter().map(|(state, count)| (state.word(), count)));
        page.each(&table::JOB_ITEMS, items.iter().map(|(state, count)| (state.word(), count)));
        let waiting = waiting.iter().map(|(reason, count)| (reason.code(), count));
        page.each(&table::JOB_RESOURCES, waiting);
    }
    let health = library.health();
    page.one(&table::LIBRARY_TRANSACTIONS, health.commits);
    page.one(&table::LIBRARY_WRITES, health.writes);
    page.one(&table::LIBRARY_SLOW, health.slow);
}

/// Both outcomes of each file, so that the first failure is an increase.
fn write_reloads(page: &mut Page, reloads: &Reloads) {
    let mut family = page.family(&table::RELOADS);
    for (file, outcomes) in reloads.outcomes() {
        family.sample(&[file, "success"], outcomes.succeeded);
        family.sample(&[file, "failure"], outcomes.failed);
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
                let labels =
                    [&*route.template, method, statuses.get(at).map_or(OTHER, String::as_str)];
                if labels == [OTHER; 3] {
                    others += count;
                } else if count > 0 {
                    requests.sample(&labels, count);
                }
            }
        }
    }
    if others > 0 {
        requests.sample(&[OTHER; 3], others);
    }
}

fn write_upstream(page: &mut Page, report: &UpstreamReport) {
    let UpstreamReport { calls, retries, breakers, addresses, slots, waiting, batches, .. } =
        report;
    write_calls(page, calls);
    page.one(&table::UPSTREAM_RETRIES, retries);
    let breakers = breakers.iter().take(3 + 2 * MAX_ADDRESSES).map(|(domain, state)| {
        let state = match state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        (domain, state)
    });
    page.each(&table::BREAKER_STATE, breakers);
    let addresses = addresses.iter().take(MAX_ADDRESSES).zip(1..);
    let blocked = addresses.map(|(reason, at)| (at.to_string(), u8::from(reason.is_some())));
    page.each(&table::EGRESS_BLOCKED, blocked);
    page.each(&table::SLOTS_TAKEN, slots.iter().map(|slots| (slots.name, slots.taken)));
    page.each(&table::SLOTS, slots.iter().map(|slots| (slots.name, slots.limit)));
    page.each(&table::WAITING, waiting.iter().copied());
    page.one(&table::BATCHES, batches.running);
    let entries =
        [("listed", batches.entries), ("success", batches.succeeded), ("failed", batches.failed)];
    page.each(&table::BATCH_ENTRIES, entries);
}

/// Only for endpoints that were called.
fn write_calls(page: &mut Page, calls: &[Calls]) {
    let mut family = page.family(&table::UPSTREAM_CALLS);
    for Calls { endpoint, outcomes, .. } in calls {
        for (outcome, count) in outcomes.iter().filter(|(_, count)| *count > 0) {
            family.sample(&[endpoint, outcome.name()], count);
        }
    }
    let mut family = page.family(&table::UPSTREAM_DURATION);
    for Calls { endpoint, time, .. } in calls.iter().filter(|calls| calls.time.count() > 0) {
        family.histogram(&[endpoint], time);
    }
}
