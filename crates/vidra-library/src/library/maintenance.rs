//! Maintenance of a library file.

use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use vidra::transcript::FullTranscript;
use vidra::{Error, Result, TranscriptQuery, VideoId};

use super::Library;
use crate::job::transcript_key;
use crate::store::index::build;
use crate::store::transcripts::{self, NewTranscript};
use crate::store::{Check, JobFigures, Stats, maintenance, outbox, retention};

/// How many transcripts one transaction reads or removes.
const PAGE: usize = 100;

impl Library {
    /// Reads the figures of the file.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn stats(&self) -> Result<Stats> {
        self.database().long_read(maintenance::stats).await
    }

    /// The size of the file in bytes, with its write-ahead log.
    pub async fn file_bytes(&self) -> u64 {
        self.database().bytes().await
    }

    /// Reads the figures of all jobs, for metrics. It reads no item.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn job_figures(&self) -> Result<JobFigures> {
        let now = self.now();
        self.database().read(move |it| maintenance::job_figures(it, now)).await
    }

    /// Checks the structure of the file, the search index, and the checksum of every text. With `repair` it builds a
    /// faulty index again, removes damaged texts, and makes the items that had them pending.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn check(&self, repair: bool) -> Result<Check> {
        let mut check = self.database().long_read(maintenance::check_structure).await?;
        if repair && !check.index_faults.is_empty() {
            // An unfinished index may be the faulty one.
            self.database().write(build::abandon).await?;
            self.reindex(|_| ()).await?;
        }
        let mut after = 0;
        loop {
            let page = move |it: &_| maintenance::check_texts(it, after, PAGE);
            let page = self.database().read(page).await?;
            check.transcripts += page.count;
            for (number, video) in page.damaged {
                check.damaged.push(video);
                if repair {
                    let now = self.now();
                    let remove = move |it: &_| maintenance::remove_damaged(it, number, now);
                    check.renewed_items += self.database().write(remove).await?;
                }
            }
            match page.last {
                Some(last) => after = last,
                None => return Ok(check),
            }
        }
    }

    /// Copies the library to a new file, while it is in use.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable) if the file exists or cannot be written.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        self.database().backup(to).await
    }

    /// A page of stored transcripts as JSON lines, after the line with number `after`. Returns the lines and the number
    /// of the last one. An empty page is the last one. [`Library::import`] reads the lines back.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryDamaged`](vidra::Reason::LibraryDamaged) if a text is damaged.
    pub async fn export(&self, after: i64) -> Result<(Vec<String>, i64)> {
        let page = move |it: &_| transcripts::export_page(it, after, PAGE);
        let page = self.database().read(page).await?;
        let last = page.last().map_or(after, |it| it.number);
        let line = |it: &transcripts::StoredTranscript| {
            let text = String::from_utf8(it.text.text()?).map_err(Error::internal)?;
            let (lines, rest) = text.split_once('\n').unwrap_or((&text, "null"));
            let requests = json!(it.requests);
            Ok(format!(r#"{{"requests":{requests},"lines":{lines},"rest":{rest}}}"#))
        };
        let write_all = move || page.iter().map(line).collect::<Result<_>>();
        Ok((self.database().compute(write_all).await?, last))
    }

    /// Stores exported transcripts. Tracks that the library already has stay as they are. Returns the number of new
    /// ones. `skipped` is the number of lines before these, for errors.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput) if a line is not an exported transcript. Nothing is stored
    /// then.
    pub async fn import(&self, lines: &[String], skipped: usize) -> Result<u64> {
        let read = move |(number, line): (usize, &String)| {
            exported(line).ok_or_else(|| {
                let fault = format!("line {}: is not an exported transcript", skipped + number + 1);
                Error::invalid("The file is not an export of a library", vec![fault])
            })
        };
        let lines = lines.to_vec();
        let read_all = move || lines.iter().enumerate().map(read).collect::<Result<Vec<_>>>();
        let read: Vec<(NewTranscript, Vec<String>)> = self.database().compute(read_all).await?;
        let now = self.now();
        let write = move |it: &_| {
            let mut added = 0;
            for (new, requests) in &read {
                added += u64::from(transcripts::import(it, new, requests, now)?);
            }
            Ok(added)
        };
        self.database().write(write).await
    }

    /// Removes the transcripts and the data of these videos, also from the index and the free space of the file. Jobs
    /// still name their ids. Returns the number of removed transcripts.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn forget(&self, videos: Vec<VideoId>) -> Result<u64> {
        let removed = self.database().write(move |it| maintenance::forget(it, &videos)).await?;
        if removed > 0 {
            self.merge_index().await?;
        }
        self.database().checkpoint().await?;
        Ok(removed)
    }

    /// Changes [`Limits::file_bytes`](crate::Limits::file_bytes) for this process.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn limit_bytes(&self, bytes: Option<u64>) -> Result<()> {
        self.database().limit_bytes(bytes).await
    }

    /// Rewrites the file without free space. Other processes wait meanwhile.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable) if the disk has no room for a second copy.
    pub async fn vacuum(&self) -> Result<()> {
        self.database().vacuum().await
    }

    /// Stores a transcript that was fetched without a job ([`vidra::Builder::on_transcript`]).
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn store_transcript(&self, query: &TranscriptQuery, record: Bytes) -> Result<()> {
        let new = self.database().compute(move || NewTranscript::new(&record)).await?;
        let (request, now) = (transcript_key(query), self.now());
        self.database()
            .write_shared(move |it| transcripts::store_fetched(it, &new, &request, now))
            .await
    }

    /// Removes what is left of deleted jobs and collections, everything that has expired (values of the Data API,
    /// idempotency keys, jobs of collections, units and messages of past days), and at most 100 transcripts that were
    /// stored before `older_than`. Returns the number of removed transcripts: if there are any, call it again.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable).
    pub async fn expire(&self, older_than: Option<Timestamp>) -> Result<u64> {
        let now = self.now();
        let expire = move |it: &_| {
            retention::expire_keys(it, now)?;
            retention::expire_dates(it, now)?;
            retention::expire_syncs(it, now)?;
            retention::expire_units(it, now)?;
            outbox::expire(it, now)
        };
        self.database().write(expire).await?;
        self.purge_deleted().await?;
        let Some(time) = older_than else { return Ok(0) };
        let purge = move |it: &_| retention::purge_older(it, time, PAGE);
        Ok(self.database().write(purge).await? as u64)
    }
}

/// Reads a line of an export.
fn exported(line: &str) -> Option<(NewTranscript, Vec<String>)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let record = format!("{}\n{}", value.get("lines")?, value.get("rest")?);
    let transcript = FullTranscript::from_record(record.as_bytes()).ok()?;
    let requests = value.get("requests")?.as_array()?.iter();
    let requests = requests.map(|it| it.as_str().map(str::to_owned)).collect::<Option<_>>()?;
    // With its members in the usual order, which JSON alone does not keep.
    Some((NewTranscript::new(&transcript.to_record()).ok()?, requests))
}
