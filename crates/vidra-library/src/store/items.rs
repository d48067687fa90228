//! The items of jobs: pages, results, retries.

use vidra::{Reason, Result, VideoId};

use super::jobs::{reason, timestamp};
use super::sql::{Connection, Row, ToValue, params};
use super::transcripts::{PACKED, packed};
use crate::job::{Item, ItemState};
use crate::transcript::PackedText;

pub(super) const PENDING: i64 = 0;
pub(super) const SUCCEEDED: i64 = 1;
pub(super) const FAILED: i64 = 2;

/// An item to add.
#[derive(Debug, Clone)]
pub(super) struct NewItem {
    pub(super) video: Option<VideoId>,
    /// Why it fails at once: the list says that the video is private or deleted.
    pub(super) failure: Option<(Reason, String)>,
}

impl NewItem {
    pub(super) fn pending(video: VideoId) -> Self {
        Self { video: Some(video), failure: None }
    }
}

/// Adds items to a job, up to its limit. A video that the job already has is left out. Returns the number of added
/// items, and whether the limit is reached.
pub(super) fn add(
    connection: &Connection,
    job: i64,
    limit: Option<u64>,
    new: impl Iterator<Item = NewItem>,
    at: i64,
) -> Result<(u64, bool)> {
    let before =
        format!("SELECT items FROM jobs WHERE number = ?{}", connection.dialect().for_update());
    let before: i64 = connection.query_row(&before, [job], |row| row.get(0))?;
    let limit = limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let insert = "INSERT INTO items (job, position, video, state, reason, message, finished_at)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let (mut count, mut failed) = (before, 0);
    for item in new {
        if count >= limit {
            break;
        }
        let (state, finished) = match &item.failure {
            Some(_) => (FAILED, Some(at)),
            None => (PENDING, None),
        };
        let (code, message) = match &item.failure {
            Some((reason, message)) => (Some(reason.code()), Some(message)),
            None => (None, None),
        };
        let video = item.video.map(|id| id.to_string());
        let added = connection
            .execute(insert, params![job, count + 1, video, state, code, message, finished])?;
        count += added as i64;
        if added > 0
            && let Some(code) = code
        {
            failed += 1;
            count_failure(connection, job, code, 1)?;
        }
    }
    let update = "UPDATE jobs SET items = ?, failed = failed + ?, waiting_since = NULL, is_wait_sent = FALSE WHERE number = ?";
    connection.execute(update, params![count, failed, job])?;
    Ok(((count - before) as u64, count >= limit))
}

/// Adds to the number of failures with a reason.
pub(super) fn count_failure(connection: &Connection, job: i64, code: &str, by: i64) -> Result<()> {
    let count = "INSERT INTO failures (job, reason, count) VALUES (?1, ?2, ?3)
        ON CONFLICT (job, reason) DO UPDATE SET count = failures.count + ?3";
    connection.execute(count, params![job, code, by])?;
    Ok(())
}

/// Makes failed items pending again: those with these reasons, or all. Returns their number.
pub(super) fn renew(connection: &Connection, job: i64, reasons: Option<&[Reason]>) -> Result<u64> {
    let known = "SELECT reason FROM failures WHERE job = ? AND count > 0";
    let known: Vec<String> = connection.query_map(known, [job], |row| row.get(0))?;
    let is_chosen = |code: &String| {
        reasons.is_none_or(|reasons| reasons.iter().any(|reason| reason.code() == code))
    };
    let mut total = 0;
    for code in known.iter().filter(|code| is_chosen(code)) {
        // Without a video there is nothing to retry.
        let update = "UPDATE items SET state = 0, reason = NULL, message = NULL, attempts = 0, not_before = 0,
                finished_at = NULL
            WHERE job = ? AND state = 2 AND reason = ? AND video IS NOT NULL";
        let count = connection.execute(update, params![job, code])? as i64;
        count_failure(connection, job, code, -count)?;
        total += count;
    }
    connection
        .execute("UPDATE jobs SET failed = failed - ? WHERE number = ?", params![total, job])?;
    Ok(total as u64)
}

/// The filter of a page of items.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemQuery {
    pub(crate) state: Option<ItemState>,
    pub(crate) reason: Option<Reason>,
    /// Only items after this position.
    pub(crate) after: u64,
    pub(crate) limit: usize,
}

fn number_of(state: ItemState) -> i64 {
    match state {
        ItemState::Pending => PENDING,
        ItemState::Succeeded => SUCCEEDED,
        ItemState::Failed => FAILED,
    }
}

fn state_of(number: i64) -> ItemState {
    match number {
        SUCCEEDED => ItemState::Succeeded,
        FAILED => ItemState::Failed,
        _ => ItemState::Pending,
    }
}

fn read(row: &Row) -> Result<Item> {
    let video: Option<String> = row.get("video")?;
    Ok(Item {
        position: row.get::<_, i64>("position")? as u64,
        video_id: video.and_then(|id| VideoId::parse(&id).ok()),
        title: row.get("title")?,
        state: state_of(row.get("state")?),
        reason: row.get::<_, Option<String>>("reason")?.map(|code| reason(&code)),
        error: row.get("message")?,
        finished_at: row.get::<_, Option<i64>>("finished_at")?.map(timestamp),
    })
}

/// Items with their titles, in the order of their positions.
const ITEMS: &str = "SELECT items.position, items.video, items.state, items.reason, items.message, items.finished_at,
        items.transcript, videos.title
    FROM items LEFT JOIN videos ON videos.id = items.video AND items.state = 1
    WHERE items.job = ? AND items.position > ?";

/// A page of items.
pub(crate) fn page(connection: &Connection, job: i64, query: &ItemQuery) -> Result<Vec<Item>> {
    let mut text = ITEMS.to_owned();
    let (after, limit) = (query.after as i64, query.limit as i64);
    let (state, code) = (query.state.map(number_of), query.reason.map(Reason::code));
    let mut parameters: Vec<&dyn ToValue> = vec![&job, &after];
    if let Some(state) = &state {
        text += " AND items.state = ?";
        parameters.push(state);
    }
    if let Some(code) = &code {
        text += " AND items.reason = ?";
        parameters.push(code);
    }
    text += " ORDER BY items.position LIMIT ?";
    parameters.push(&limit);
    connection.query_map(&text, &*parameters, read)
}

/// An ended item, with its text if it succeeded.
#[derive(Debug, Clone)]
pub(crate) struct ResultRow {
    pub(crate) item: Item,
    pub(crate) text: Option<PackedText>,
}

/// A page of ended items, with the stored texts. It ends early after about `max_bytes` of compressed text.
pub(crate) fn results(
    connection: &Connection,
    job: i64,
    after: u64,
    limit: usize,
    max_bytes: usize,
) -> Result<Vec<ResultRow>> {
    let query = format!("{ITEMS} AND items.state > 0 ORDER BY items.position LIMIT ?");
    let text = format!("SELECT {PACKED} FROM transcripts WHERE number = ?");
    let (mut found, mut bytes) = (vec![], 0);
    connection.query_while(&query, params![job, after as i64, limit as i64], |row| {
        let text = match row.get::<_, Option<i64>>("transcript")? {
            Some(number) => connection.query_optional(&text, [number], packed)?,
            None => None,
        };
        bytes += text.as_ref().map_or(0, |text| text.compressed.len());
        found.push(ResultRow { item: read(row)?, text });
        Ok(bytes < max_bytes)
    })?;
    Ok(found)
}
