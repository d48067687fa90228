//! Jobs, their items and estimates as text for people.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use vidra::Reason;
use vidra::format::span;

use super::cards::{joined, or_nothing};
use super::table::Table;
use crate::terminal::{FAINT, TITLE, one_line, styled};

/// How many characters of an id are shown. Commands accept a part of an id.
const SHOWN_ID: usize = 10;

/// A job, as the service sends it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobView {
    pub(crate) id: String,
    name: Option<String>,
    owner: Option<String>,
    collection: Option<String>,
    pub(crate) state: String,
    waiting: Option<Wait>,
    error: Option<Failed>,
    total: Option<u64>,
    succeeded: u64,
    failed: BTreeMap<String, u64>,
    pending: u64,
    pub(crate) units: u64,
    eta_seconds: Option<u64>,
    pub(crate) version: u64,
    source_count: u64,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Wait {
    reason: String,
    until: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Failed {
    message: String,
}

impl JobView {
    /// Whether the job does not continue by itself.
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(self.state.as_str(), "completed" | "cancelled" | "failed" | "paused")
    }

    /// Whether it waits for a resource that is still unavailable. A stored wait may be over, if nobody works on the job.
    pub(crate) fn waits(&self) -> bool {
        let until = self.waiting.as_ref().and_then(|wait| wait.until.parse::<Timestamp>().ok());
        self.state == "waiting" && until.is_none_or(|until| until > Timestamp::now())
    }

    /// The number of items that have ended.
    pub(crate) fn done(&self) -> u64 {
        self.succeeded + self.failed_count()
    }

    /// The number of items that are known so far.
    pub(crate) fn known(&self) -> u64 {
        self.total.unwrap_or(self.done() + self.pending)
    }

    fn failed_count(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The reason of a wait or of a failure.
    pub(crate) fn explanation(&self) -> Option<String> {
        let waiting = self.waiting.as_ref().map(|Wait { reason, until }| {
            let known = Reason::from_code(reason).map(|it| match it {
                // Other requests may still have their reserve.
                Reason::QuotaExhausted => "Jobs have used their share of today's quota",
                it => it.meaning().trim_end_matches('.'),
            });
            format!("waits until {}: {}", minute(until), known.unwrap_or(reason))
        });
        waiting.or_else(|| self.error.as_ref().map(|error| error.message.clone()))
    }

    /// The reasons of failed videos with their numbers, the most frequent first.
    fn failures(&self) -> Option<String> {
        let mut failed: Vec<(&String, &u64)> = self.failed.iter().collect();
        failed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let failed: Vec<String> =
            failed.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        (!failed.is_empty()).then(|| failed.join(", "))
    }

    /// One line about the job: its state, its counts and the rest.
    pub(crate) fn summary(&self) -> String {
        let eta = self.eta_seconds.filter(|_| self.state == "running" || self.state == "listing");
        let eta = eta.map(|seconds| format!("about {} left", span(seconds)));
        let failed =
            Some(self.failed_count()).filter(|it| *it > 0).map(|it| format!("{it} failed"));
        // The explanation of a waiting job begins with its state.
        let state = Some(self.state.clone()).filter(|_| self.waiting.is_none());
        let parts = [state, self.explanation(), failed, eta].into_iter().flatten();
        one_line(&parts.collect::<Vec<_>>().join(" · "))
    }

    fn progress(&self) -> String {
        match self.total {
            Some(total) => format!("{} of {total} videos", self.done()),
            None if self.known() == 0 => "no video is listed yet".to_owned(),
            None => format!("{} of {} or more videos", self.done(), self.known()),
        }
    }
}

/// A job with all that is known about it.
pub(crate) fn job(job: &JobView, _: Option<usize>) -> String {
    let sync = job.collection.as_deref().map(|name| format!("sync of {name}"));
    let title = job.name.as_deref().or(sync.as_deref()).unwrap_or("job");
    let counted = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let counts = joined(&[
        job.progress(),
        format!("{} transcripts", job.succeeded),
        counted(job.units, "unit"),
        counted(job.source_count, "source"),
    ]);
    let time = |label: &str, at: Option<&String>| {
        at.map(|at| format!("{label} {}", minute(at))).unwrap_or_default()
    };
    let times = joined(&[
        time("created", Some(&job.created_at)),
        time("started", job.started_at.as_ref()),
        time("ended", job.finished_at.as_ref()),
        job.owner.as_deref().map(|owner| format!("by {owner}")).unwrap_or_default(),
    ]);
    let failed = job.failures().map(|it| format!("failed: {it}")).unwrap_or_default();
    let lines = [job.summary(), counts, failed, times];
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: String = lines.map(|line| format!("{}\n", one_line(line))).collect();
    format!("{}  {}\n{lines}", styled(TITLE, one_line(title)), styled(FAINT, &job.id))
}

/// Jobs, one a line.
pub(crate) fn jobs(jobs: &[JobView], width: Option<usize>) -> String {
    let table = Table::new(jobs)
        .word("id", |job| job.id.chars().take(SHOWN_ID).collect::<String>())
        .word("state", |job| job.state.clone())
        .number("done", |job| job.done())
        .number("of", |job| job.total.map_or("?".to_owned(), |total| total.to_string()))
        .number("failed", |job| job.failed_count())
        .number("units", |job| job.units)
        .word("created", |job| minute(&job.created_at))
        .text("name", |job| job.name.clone().or(job.collection.clone()).unwrap_or_default());
    or_nothing(jobs, table.written(width))
}

/// An item of a job.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemView {
    position: u64,
    video_id: Option<String>,
    title: Option<String>,
    state: String,
    error: Option<String>,
}

/// The items of a job, one a line.
pub(crate) fn items(items: &[ItemView], width: Option<usize>) -> String {
    let table = Table::new(items)
        .number("#", |item| item.position)
        .word("id", |item| item.video_id.clone().unwrap_or_default())
        .word("state", |item| item.state.clone())
        .text("title", |item| item.title.clone().unwrap_or_default())
        .text("error", |item| item.error.clone().unwrap_or_default());
    or_nothing(items, table.written(width))
}

/// The estimated cost of a job.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EstimateView {
    pub(crate) videos: u64,
    pub(crate) units: u64,
    hours: f64,
    quota_days: u64,
}

pub(crate) fn estimate(estimate: &EstimateView, _: Option<usize>) -> String {
    let EstimateView { videos, units, hours, quota_days } = estimate;
    format!(
        "videos      {videos}\nunits       {units}\nhours       {hours}\nquota days  {quota_days}\n"
    )
}

/// A time to the minute.
pub(super) fn minute(iso: &str) -> String {
    let at: Option<Timestamp> = iso.parse().ok();
    let shown = at.map(|at| at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string());
    shown.unwrap_or_else(|| one_line(iso))
}
