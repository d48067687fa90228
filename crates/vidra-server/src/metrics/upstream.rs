//! Metrics of the client: calls, breakers, egress addresses, batches.

use vidra::{BatchReport, BreakerState, Calls, UpstreamReport};

use super::table;
use super::text::Page;

/// The most egress addresses with series of their own. The log has the others.
const MOST_ADDRESSES: usize = 50;

pub(super) fn write(page: &mut Page, report: &UpstreamReport) {
    write_calls(page, &report.calls);
    page.one(&table::UPSTREAM_RETRIES, report.retries);
    let mut breakers = page.family(&table::BREAKER_STATE);
    for (domain, state) in report.breakers.iter().take(2 + 2 * MOST_ADDRESSES) {
        let state = match state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        breakers.sample(&[("domain", domain)], state);
    }
    let mut addresses = page.family(&table::EGRESS_BLOCKED);
    for (at, trouble) in report.addresses.iter().take(MOST_ADDRESSES).enumerate() {
        let number = (at + 1).to_string();
        addresses.sample(&[("egress", &number)], u8::from(trouble.is_some()));
    }
    write_batches(page, &report.batches);
}

/// Only for endpoints that were called.
fn write_calls(page: &mut Page, calls: &[Calls]) {
    let mut family = page.family(&table::UPSTREAM_CALLS);
    for Calls { endpoint, endings, .. } in calls {
        for (ending, count) in endings.iter().filter(|(_, count)| *count > 0) {
            family.sample(&[("endpoint", endpoint), ("outcome", ending.name())], count);
        }
    }
    let mut family = page.family(&table::UPSTREAM_DURATION);
    for Calls { endpoint, time, .. } in calls {
        if time.count() > 0 {
            family.histogram(&[("endpoint", endpoint)], time);
        }
    }
}

fn write_batches(page: &mut Page, batches: &BatchReport) {
    page.one(&table::BATCHES, batches.under_way);
    let mut entries = page.family(&table::BATCH_ENTRIES);
    entries.sample(&[("status", "listed")], batches.entries);
    entries.sample(&[("status", "success")], batches.succeeded);
    entries.sample(&[("status", "failed")], batches.failed);
}
