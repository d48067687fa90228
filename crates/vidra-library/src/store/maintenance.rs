//! Maintenance of the file: figures, checks, backups.

use jiff::Timestamp;
use serde::Serialize;
use vidra::{Reason, Result, VideoId};

use super::jobs;
use super::sql::{Connection, Dialect, params};
use super::{index, resources, transcripts};
use crate::job::{ItemState, JobState, StateEvent};

/// Figures of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stats {
    /// Videos with a transcript.
    pub videos: u64,
    /// Transcripts. A video can have several.
    pub transcripts: u64,
    /// Seconds of video with a transcript.
    pub seconds: u64,
    /// Bytes of all texts before compression.
    pub text_bytes: u64,
    /// Bytes of all texts in the file.
    pub stored_bytes: u64,
    /// Jobs.
    pub jobs: u64,
    /// Jobs that have not ended.
    pub unfinished_jobs: u64,
    /// Items of all jobs.
    pub items: u64,
    /// Collections.
    pub collections: u64,
    /// Videos of all collections.
    pub collection_videos: u64,
}

/// Reads the figures of the whole file.
pub(crate) fn stats(connection: &Connection) -> Result<Stats> {
    let numbers = |query: &str| {
        connection.query_row(query, (), |row| {
            let number = |index| row.get::<_, Option<i64>>(index).map(|it| it.unwrap_or(0) as u64);
            Ok((number(0)?, number(1)?, number(2)?))
        })
    };
    let (transcripts, text_bytes, stored_bytes) = numbers(
        "SELECT count(*), CAST(sum(length) AS BIGINT), CAST(sum(length(text)) AS BIGINT) FROM transcripts",
    )?;
    let (videos, seconds, _) = numbers(
        "SELECT count(*), CAST(sum(duration) AS BIGINT), 0 FROM videos
        WHERE id IN (SELECT video FROM transcripts)",
    )?;
    let (jobs, items, unfinished_jobs) = numbers(
        "SELECT count(*), CAST(sum(items) AS BIGINT),
        count(*) FILTER (WHERE state NOT IN ('completed', 'cancelled', 'failed')) FROM jobs WHERE NOT is_deleted",
    )?;
    let (collections, collection_videos, _) = numbers(
        "SELECT (SELECT count(*) FROM collections WHERE NOT is_deleted), count(*), 0 FROM collection_videos",
    )?;
    Ok(Stats {
        videos,
        transcripts,
        seconds,
        text_bytes,
        stored_bytes,
        jobs,
        unfinished_jobs,
        items,
        collections,
        collection_videos,
    })
}

/// The number of jobs in each state.
pub(crate) fn job_counts(connection: &Connection) -> Result<Vec<(JobState, u64)>> {
    let counts = "SELECT state, count(*) FROM jobs WHERE NOT is_deleted GROUP BY state";
    let rows = connection.query_map(counts, (), |row| {
        let state = JobState::from_word(&row.get::<_, String>(0)?);
        Ok(state.map(|state| (state, row.get::<_, i64>(1).unwrap_or(0) as u64)))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

/// Figures of all jobs in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobFigures {
    /// The number of jobs in each state.
    pub jobs: Vec<(JobState, u64)>,
    /// The number of items in each state.
    pub items: Vec<(ItemState, u64)>,
    /// The number of resources that are unavailable, by reason.
    pub waiting: Vec<(Reason, u64)>,
}

/// Reads the figures of all jobs. It reads no item.
pub(crate) fn job_figures(connection: &Connection, now: Timestamp) -> Result<JobFigures> {
    let counts = job_counts(connection)?;
    let count = |state| counts.iter().find(|(it, _)| *it == state).map_or(0, |(_, count)| *count);
    let jobs = JobState::ALL.iter().map(|(_, state)| (*state, count(*state))).collect();
    let sums =
        "SELECT CAST(sum(items - succeeded - failed) AS BIGINT), CAST(sum(succeeded) AS BIGINT),
        CAST(sum(failed) AS BIGINT) FROM jobs
        WHERE NOT is_deleted";
    let [pending, succeeded, failed] = connection.query_row(sums, (), |row| {
        let number = |index| row.get::<_, Option<i64>>(index).map(|it| it.unwrap_or(0) as u64);
        Ok([number(0)?, number(1)?, number(2)?])
    })?;
    let items = vec![
        (ItemState::Pending, pending),
        (ItemState::Succeeded, succeeded),
        (ItemState::Failed, failed),
    ];
    let mut waiting: Vec<(Reason, u64)> = vec![];
    for resource in resources::all(connection)?.iter().filter(|it| it.available_at > now) {
        match waiting.iter_mut().find(|(reason, _)| *reason == resource.reason) {
            Some((_, count)) => *count += 1,
            None => waiting.push((resource.reason, 1)),
        }
    }
    Ok(JobFigures { jobs, items, waiting })
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
    /// The number of transcripts that were read.
    pub transcripts: u64,
    /// The videos of damaged transcripts.
    pub damaged: Vec<String>,
    /// Other faults, one sentence each.
    pub faults: Vec<String>,
    /// Faults of the search index, one sentence each. A repair builds it again.
    pub index_faults: Vec<String>,
    /// The number of items that will be fetched again.
    pub renewed_items: u64,
}

/// Checks the structure of the file and of the index, and that the counts of jobs agree with their items.
pub(crate) fn check_structure(connection: &Connection) -> Result<Check> {
    let mut faults: Vec<String> = match connection.dialect() {
        Dialect::Sqlite => connection.query_map("PRAGMA integrity_check", (), |row| row.get(0))?,
        // PostgreSQL has tools of its own.
        Dialect::Postgres => vec![],
    };
    faults.retain(|line| line != "ok");
    let index_faults = index::faults(connection, &mut faults)?;
    let counts = "SELECT jobs.id FROM jobs LEFT JOIN
            (SELECT job, count(*) AS all_items, count(*) FILTER (WHERE state = 1) AS good,
                count(*) FILTER (WHERE state = 2) AS bad FROM items GROUP BY job)
            AS counted ON counted.job = jobs.number
        WHERE NOT is_deleted
            AND (jobs.items <> coalesce(all_items, 0) OR succeeded <> coalesce(good, 0) OR failed <> coalesce(bad, 0))";
    for id in connection.query_map(counts, (), |row| row.get::<_, String>(0))? {
        faults.push(format!("the counts of job {id} do not agree with its items"));
    }
    Ok(Check { faults, index_faults, ..Check::default() })
}

/// Removes a damaged transcript. Items that succeeded with it become pending, so that a worker fetches it again.
pub(crate) fn remove_damaged(connection: &Connection, number: i64, now: Timestamp) -> Result<u64> {
    let jobs = "SELECT job, count(*) FROM items WHERE transcript = ? GROUP BY job";
    let jobs: Vec<(i64, i64)> =
        connection.query_map(jobs, [number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let items =
        "UPDATE items SET state = 0, transcript = NULL, finished_at = NULL WHERE transcript = ?";
    let renewed = connection.execute(items, [number])?;
    for (job, count) in jobs {
        let counts = "UPDATE jobs SET succeeded = succeeded - ? WHERE number = ?";
        connection.execute(counts, params![count, job])?;
        let state = jobs::by_number(connection, job)?.job.state;
        if matches!(state, JobState::Completed | JobState::Failed) {
            let running = StateEvent { state: JobState::Running, waiting: None, error: None };
            jobs::set_state(connection, job, &running, now.as_millisecond())?;
        }
    }
    let again = "UPDATE collection_videos SET state = 0, next_try = ? WHERE state = 1
        AND video = (SELECT video FROM transcripts WHERE number = ?)";
    connection.execute(again, params![now.as_millisecond(), number])?;
    index::remove(connection, number)?;
    connection.execute("DELETE FROM transcripts WHERE number = ?", [number])?;
    Ok(renewed as u64)
}

/// The checked texts of a page of transcripts.
#[derive(Debug, Default)]
pub(crate) struct CheckedPage {
    /// The numbers and videos of damaged transcripts.
    pub(crate) damaged: Vec<(i64, String)>,
    /// The number of the last transcript. `None` after the last page.
    pub(crate) last: Option<i64>,
    /// How many were read.
    pub(crate) count: u64,
}

/// Checks the texts of a page of transcripts.
pub(crate) fn check_texts(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<CheckedPage> {
    let page = transcripts::export_page(connection, after, limit)?;
    let (last, count) = (page.last().map(|it| it.number), page.len() as u64);
    let is_damaged = |it: &transcripts::StoredTranscript| {
        it.text.transcript().is_err_and(|error| error.reason() == Reason::LibraryDamaged)
    };
    let damaged = page.into_iter().filter(is_damaged).map(|it| (it.number, it.video)).collect();
    Ok(CheckedPage { damaged, last, count })
}

/// Removes the transcripts and the data of these videos. Returns the number of removed transcripts.
pub(crate) fn forget(connection: &Connection, videos: &[VideoId]) -> Result<u64> {
    let mut removed = 0;
    for video in videos {
        let video = video.to_string();
        removed += remove_texts(connection, &video)?;
        // Collections must not fetch it again.
        let never =
            "UPDATE collection_videos SET state = 2, reason = ?, next_try = NULL WHERE video = ?";
        connection.execute(never, params![Reason::TranscriptRemoved.code(), video])?;
    }
    Ok(removed as u64)
}

/// Removes the transcripts and the data of a video. Returns the number of removed transcripts.
pub(super) fn remove_texts(connection: &Connection, video: &str) -> Result<usize> {
    index::remove_video(connection, video)?;
    let removed = connection.execute("DELETE FROM transcripts WHERE video = ?", [video])?;
    connection.execute("DELETE FROM videos WHERE id = ?", [video])?;
    Ok(removed)
}
