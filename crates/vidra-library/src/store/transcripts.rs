//! Stored transcripts, and the data of their videos.

use jiff::Timestamp;
use vidra::transcript::{FullTranscript, TranscriptInfo};
use vidra::{Reason, Result};

use super::index;
use super::sql::{Connection, Row, params};
use crate::passage::IndexRows;
use crate::transcript::PackedText;

/// The columns of [`packed`].
pub(super) const PACKED: &str = "length, checksum, text";

pub(super) fn packed(row: &Row) -> Result<PackedText> {
    Ok(PackedText {
        length: row.get::<_, i64>("length")? as u64,
        checksum: row.get::<_, i64>("checksum")? as u32,
        compressed: row.get("text")?,
    })
}

/// A transcript to store.
#[derive(Debug, Clone)]
pub(crate) struct NewTranscript {
    pub(crate) info: TranscriptInfo,
    pub(crate) text: PackedText,
    pub(crate) rows: IndexRows,
}

impl NewTranscript {
    /// Compresses the record of a transcript and divides it into tokens, which takes a millisecond or more.
    pub(crate) fn new(record: &[u8]) -> vidra::Result<Self> {
        let transcript = FullTranscript::from_record_without_words(record)?;
        let rows = IndexRows::new(&transcript);
        Ok(Self { info: transcript.info, text: PackedText::new(record)?, rows })
    }
}

/// Stores a transcript and the data of its video, and returns its number. Its size counts for `owner`, and it
/// answers `request`.
pub(super) fn store(
    connection: &Connection,
    new: &NewTranscript,
    owner: &str,
    request: Option<&str>,
    at: i64,
) -> Result<i64> {
    let NewTranscript { info, text, rows } = new;
    let video = info.video_id.to_string();
    store_video(connection, info, at)?;
    let insert = "INSERT INTO transcripts
            (video, language, is_auto_generated, translated_from, stored_at, owner, length, checksum, text)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (video, language, is_auto_generated, translated_from) DO UPDATE SET
            stored_at = excluded.stored_at, length = excluded.length, checksum = excluded.checksum,
            text = excluded.text
        RETURNING number";
    let parameters = params![
        video,
        info.track.language_code,
        info.track.is_auto_generated,
        info.track.translated_from.as_deref().unwrap_or_default(),
        at,
        owner,
        text.length as i64,
        i64::from(text.checksum),
        text.compressed,
    ];
    let number: i64 = connection.query_row(insert, parameters, |row| row.get(0))?;
    index::add(connection, number, info, rows)?;
    // A removed transcript that somebody has fetched again.
    let again = "UPDATE collection_videos SET state = 1, reason = NULL WHERE video = ? AND state = 2 AND reason = ?";
    let removed = Reason::TranscriptRemoved.code();
    connection.execute(again, params![video, removed])?;
    if let Some(request) = request {
        let insert = "INSERT INTO transcript_requests (video, request, transcript) VALUES (?, ?, ?)
            ON CONFLICT (video, request) DO UPDATE SET transcript = excluded.transcript";
        connection.execute(insert, params![video, request, number])?;
    }
    Ok(number)
}

/// Stores the data of a video. An answer without a date does not remove a known one.
fn store_video(connection: &Connection, info: &TranscriptInfo, at: i64) -> Result<()> {
    let published = info.published_at.as_ref().and_then(|moment| moment.timestamp());
    let source = published.is_some().then_some("player");
    let upsert = "INSERT INTO videos
            (id, title, channel, channel_id, duration, published_at, published_source, published_stored_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET
            title = excluded.title, channel = excluded.channel, channel_id = excluded.channel_id,
            duration = excluded.duration,
            published_at = coalesce(excluded.published_at, videos.published_at),
            published_source = coalesce(excluded.published_source, videos.published_source),
            refresh_at = CASE WHEN excluded.published_at IS NULL THEN videos.refresh_at END,
            published_stored_at = CASE WHEN excluded.published_at IS NULL THEN videos.published_stored_at
                ELSE excluded.published_stored_at END";
    let parameters = params![
        info.video_id.to_string(),
        info.title,
        info.channel,
        info.channel_id.as_ref().map(ToString::to_string),
        info.duration as i64,
        published.map(Timestamp::as_millisecond),
        source,
        at,
    ];
    connection.execute(upsert, parameters)?;
    Ok(())
}

/// The transcript that the library has for a request.
pub(super) fn find(connection: &Connection, video: &str, request: &str) -> Result<Option<i64>> {
    let query = "SELECT transcript FROM transcript_requests WHERE video = ? AND request = ?";
    connection.query_optional(query, params![video, request], |row| row.get(0))
}

/// A stored transcript with its number.
#[derive(Debug, Clone)]
pub(crate) struct StoredTranscript {
    pub(crate) number: i64,
    pub(crate) video: String,
    /// The requests that it answers.
    pub(crate) requests: Vec<String>,
    pub(crate) text: PackedText,
}

/// A page of all transcripts, in the order of their numbers.
pub(crate) fn export_page(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredTranscript>> {
    let query = format!(
        "SELECT number, video, {PACKED} FROM transcripts WHERE number > ? ORDER BY number LIMIT ?"
    );
    let requests = "SELECT request FROM transcript_requests WHERE transcript = ? ORDER BY request";
    connection.query_map(&query, params![after, limit as i64], |row| {
        let number: i64 = row.get("number")?;
        Ok(StoredTranscript {
            number,
            video: row.get("video")?,
            requests: connection.query_map(requests, [number], |row| row.get(0))?,
            text: packed(row)?,
        })
    })
}

/// Stores a transcript that the service fetched for `request` without a job.
pub(crate) fn store_fetched(
    connection: &Connection,
    new: &NewTranscript,
    request: &str,
    now: Timestamp,
) -> Result<()> {
    store(connection, new, "", Some(request), now.as_millisecond()).map(drop)
}

/// The bytes of the transcripts of an owner.
pub(super) fn bytes_of(connection: &Connection, owner: &str) -> Result<u64> {
    let query = "SELECT bytes FROM owner_bytes WHERE owner = ?";
    let bytes: Option<i64> = connection.query_optional(query, [owner], |row| row.get(0))?;
    Ok(bytes.map_or(0, |bytes| u64::try_from(bytes).unwrap_or(0)))
}

/// Stores an exported transcript, unless the library already has that track.
pub(crate) fn import(
    connection: &Connection,
    new: &NewTranscript,
    requests: &[String],
    now: Timestamp,
) -> Result<bool> {
    let TranscriptInfo { video_id, track, .. } = &new.info;
    let known = "SELECT number FROM transcripts
        WHERE video = ? AND language = ? AND is_auto_generated = ? AND translated_from = ?";
    let from = track.translated_from.as_deref().unwrap_or_default();
    let parameters =
        params![video_id.to_string(), track.language_code, track.is_auto_generated, from];
    let known: Option<i64> = connection.query_optional(known, parameters, |row| row.get(0))?;
    let number = match known {
        Some(number) => number,
        None => store(connection, new, "", None, now.as_millisecond())?,
    };
    let insert = "INSERT INTO transcript_requests (video, request, transcript) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    for request in requests {
        connection.execute(insert, params![video_id.to_string(), request, number])?;
    }
    Ok(known.is_none())
}
