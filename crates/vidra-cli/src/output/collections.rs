//! Collections and their videos as text for people.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use vidra::QuotaDay;

use super::cards::{joined, or_nothing};
use super::jobs::minute;
use super::table::Table;
use crate::terminal::{FAINT, TITLE, one_line, styled};

/// A collection, as the service sends it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CollectionView {
    name: String,
    owner: Option<String>,
    state: String,
    reason: Option<String>,
    options: Options,
    source_count: u64,
    unlisted_sources: u64,
    failed_sources: u64,
    coverage: Coverage,
    units: Vec<DayUnits>,
    last_sync: Option<LastSync>,
    next_sync: Option<String>,
    /// Absent in lists.
    sources: Option<Vec<SourceView>>,
}

#[derive(Debug, Deserialize)]
struct Options {
    every: String,
}

#[derive(Debug, Deserialize)]
struct Coverage {
    videos: u64,
    transcribed: u64,
    pending: u64,
    failed: BTreeMap<String, u64>,
    retrying: u64,
    gone: u64,
}

#[derive(Debug, Deserialize)]
struct DayUnits {
    day: String,
    units: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastSync {
    started_at: String,
    state: Option<String>,
    waiting: Option<Waiting>,
    succeeded: u64,
    units: u64,
}

#[derive(Debug, Deserialize)]
struct Waiting {
    reason: String,
    until: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceView {
    source: String,
    title: Option<String>,
    is_listed: bool,
    videos: u64,
    error: Option<SourceError>,
}

#[derive(Debug, Deserialize)]
struct SourceError {
    message: String,
}

impl CollectionView {
    /// The counts of its videos and of sources that have a problem, in words.
    fn coverage(&self) -> String {
        let Coverage { videos, transcribed, pending, failed, retrying, gone } = &self.coverage;
        let counted = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!("{count} {what}"),
        };
        joined(&[
            counted(self.unlisted_sources, "sources not listed yet"),
            counted(self.failed_sources, "sources failed"),
            format!("{transcribed} of {videos} videos have a transcript"),
            counted(*pending, "pending"),
            counted(failed.values().sum(), "without"),
            counted(*retrying, "of them tried again"),
            counted(*gone, "gone"),
        ])
    }

    fn schedule(&self) -> String {
        let next = self.next_sync.as_deref().map(|at| format!("next sync {}", minute(at)));
        let reason = self.reason.as_deref().map(|reason| format!("because of {reason}"));
        joined(&[
            self.state.clone(),
            reason.unwrap_or_default(),
            format!("every {}", self.options.every),
            next.unwrap_or_default(),
        ])
    }

    fn last(&self) -> String {
        let Some(LastSync { started_at, state, waiting, succeeded, units }) = &self.last_sync
        else {
            return "not synced yet".to_owned();
        };
        let state = match waiting {
            Some(Waiting { reason, until }) => {
                format!("waits for {reason} until {}", minute(until))
            }
            None => state.clone().unwrap_or_else(|| "ended".to_owned()),
        };
        joined(&[
            format!("last sync {}", minute(started_at)),
            state,
            plural(*succeeded, "new transcript"),
            plural(*units, "unit"),
        ])
    }

    fn units_today(&self) -> u64 {
        let today = QuotaDay::of(Timestamp::now()).date;
        self.units.iter().find(|it| it.day == today).map_or(0, |it| it.units)
    }
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A collection with its sources.
pub(crate) fn collection(it: &CollectionView, width: Option<usize>) -> String {
    let mut failed: Vec<(&String, &u64)> = it.coverage.failed.iter().collect();
    failed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let failed = failed.iter().map(|(reason, count)| format!("{count} {reason}"));
    let failed = failed.collect::<Vec<_>>().join(", ");
    let failed = if failed.is_empty() { failed } else { format!("without: {failed}") };
    let days = it.units.iter().map(|DayUnits { day, units }| format!("{day} {units}"));
    let days = days.collect::<Vec<_>>().join(", ");
    let days = if days.is_empty() { days } else { format!("units a day: {days}") };
    let lines = [it.schedule(), it.coverage(), failed, it.last(), days];
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: String = lines.map(|line| format!("{}\n", one_line(line))).collect();
    let owner =
        it.owner.as_deref().map(|owner| format!("  {}", styled(FAINT, format!("by {owner}"))));
    let head = format!("{}{}", styled(TITLE, one_line(&it.name)), owner.unwrap_or_default());
    let sources = it.sources.as_deref().map(|all| format!("\n{}", sources(all, width)));
    format!("{head}\n{lines}{}", sources.unwrap_or_default())
}

fn sources(all: &[SourceView], width: Option<usize>) -> String {
    let state = |source: &SourceView| match (&source.error, source.is_listed) {
        (Some(error), _) => error.message.clone(),
        (None, true) => String::new(),
        (None, false) => "not listed yet".to_owned(),
    };
    Table::new(all)
        .word("source", |source| source.source.clone())
        .number("videos", |source| source.videos)
        .text("title", |source| source.title.clone().unwrap_or_default())
        .text("state", state)
        .written(width)
}

/// Collections, one a line.
pub(crate) fn collections(all: &[CollectionView], width: Option<usize>) -> String {
    let minute_of = |at: Option<&String>| at.map(|at| minute(at)).unwrap_or_default();
    let table = Table::new(all)
        .word("name", |it| it.name.clone())
        .word("state", |it| it.state.clone())
        .number("sources", |it| it.source_count)
        .number("videos", |it| it.coverage.videos)
        .number("transcripts", |it| it.coverage.transcribed)
        .number("units today", CollectionView::units_today)
        .word("last sync", |it| minute_of(it.last_sync.as_ref().map(|sync| &sync.started_at)))
        .word("next sync", |it| minute_of(it.next_sync.as_ref()))
        .text("owner", |it| it.owner.clone().unwrap_or_default());
    or_nothing(all, table.written(width))
}

/// A video of a collection.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VideoView {
    video_id: String,
    title: Option<String>,
    published_at: Option<String>,
    state: String,
    reason: Option<String>,
    next_try: Option<String>,
    channel: Option<String>,
}

/// The videos of a collection, one a line.
pub(crate) fn videos(all: &[VideoView], width: Option<usize>) -> String {
    let table = Table::new(all)
        .word("id", |video| video.video_id.clone())
        .word("state", |video| video.state.clone())
        .word("published", |video| {
            video
                .published_at
                .as_deref()
                .map(|at| at.get(..10).unwrap_or(at).to_owned())
                .unwrap_or_default()
        })
        .word("reason", |video| video.reason.clone().unwrap_or_default())
        .word("tried again", |video| video.next_try.as_deref().map(minute).unwrap_or_default())
        .text("channel", |video| video.channel.clone().unwrap_or_default())
        .text("title", |video| video.title.clone().unwrap_or_default());
    or_nothing(all, table.written(width))
}
