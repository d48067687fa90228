//! What the client tells of its dealings with the platform.

use vidra::{BOUNDS, BatchReport, Calls, Histogram, Standing, UpstreamReport};

use super::histogram::Cumulated;
use super::text::{Kind, Page};

/// Addresses beyond these are left out: each is a few series, and who has more of them looks at the
/// log.
const MOST_ADDRESSES: usize = 50;

pub(super) fn write(page: &mut Page, report: &UpstreamReport) {
    write_calls(page, &report.calls);
    let help = "Attempts beyond the first.";
    page.one("vidra_upstream_retries_total", Kind::Counter, help, report.retries);
    let help = "Whether what fails is left alone: 0 closed, 1 half-open, 2 open.";
    let mut breakers = page.family("vidra_breaker_state", Kind::Gauge, help);
    for (domain, standing) in report.breakers.iter().take(2 + 2 * MOST_ADDRESSES) {
        let state = match standing {
            Standing::Closed => 0,
            Standing::HalfOpen => 1,
            Standing::Open => 2,
        };
        breakers.sample(&[("domain", domain)], state);
    }
    let help = "1 where the platform, or the proxy, turns an address away.";
    let mut addresses = page.family("vidra_egress_blocked", Kind::Gauge, help);
    for (at, trouble) in report.addresses.iter().take(MOST_ADDRESSES).enumerate() {
        let number = (at + 1).to_string();
        addresses.sample(&[("egress", &number)], u8::from(trouble.is_some()));
    }
    write_batches(page, &report.batches);
}

/// Of endpoints that were asked: most services never ask some of them.
fn write_calls(page: &mut Page, calls: &[Calls]) {
    let help = "Calls of the platform, by how they ended.";
    let mut family = page.family("vidra_upstream_calls_total", Kind::Counter, help);
    for Calls { endpoint, endings, .. } in calls {
        for (ending, count) in endings.iter().filter(|(_, count)| *count > 0) {
            family.sample(&[("endpoint", endpoint), ("outcome", ending.name())], count);
        }
    }
    let help = "How long calls of the platform took.";
    let mut family = page.family("vidra_upstream_call_duration_seconds", Kind::Histogram, help);
    for Calls { endpoint, time, .. } in calls {
        let times = cumulated(time);
        if times.count() > 0 {
            family.histogram(&[("endpoint", endpoint)], &times);
        }
    }
}

fn write_batches(page: &mut Page, batches: &BatchReport) {
    let help = "Playlists whose transcripts are being fetched.";
    page.one("vidra_batches_under_way", Kind::Gauge, help, batches.under_way);
    let help = "Entries of playlists: listed, and of these what has become of them.";
    let mut entries = page.family("vidra_batch_entries_total", Kind::Counter, help);
    entries.sample(&[("status", "listed")], batches.entries);
    entries.sample(&[("status", "success")], batches.succeeded);
    entries.sample(&[("status", "failed")], batches.failed);
}

fn cumulated(Histogram { sum, at_most }: &Histogram) -> Cumulated {
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    Cumulated { up_to: bounds.zip(at_most.iter().copied()).collect(), seconds: sum.as_secs_f64() }
}
