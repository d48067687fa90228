//! The videos of the library.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use vidra::Result;

use super::candidates::Condition;
use super::page::{PLACE, read_place};
use crate::search::{LibraryFilter, LibraryVideo, SearchSort};
use crate::store::error::sql;

/// A page of the videos that a filter includes, in the order of their publication. Videos without a date come last.
pub(crate) fn videos(
    connection: &Connection,
    filter: &LibraryFilter,
    sort: SearchSort,
    offset: usize,
    limit: usize,
) -> Result<Vec<LibraryVideo>> {
    let condition = Condition::new(connection, filter)?;
    let order = if sort == SearchSort::Oldest { "ASC" } else { "DESC" };
    let query = format!(
        "SELECT {PLACE}, t.transcript, t.duration, t.words, it.is_auto_generated, it.translated_from, it.stored_at
        FROM search_tracks AS t JOIN transcripts AS it ON it.number = t.transcript
            LEFT JOIN videos ON videos.id = t.video
        WHERE {}
        ORDER BY t.published_at IS NULL, t.published_at {order}, t.transcript LIMIT ? OFFSET ?",
        condition.sql
    );
    let page = [Value::from(limit as i64), Value::from(offset as i64)];
    let values = condition.values.into_iter().chain(page);
    let mut query = connection.prepare_cached(&query).map_err(sql)?;
    let rows = query.query_map(params_from_iter(values), video).map_err(sql)?;
    rows.collect::<rusqlite::Result<_>>().map_err(sql)
}

fn video(row: &Row) -> rusqlite::Result<LibraryVideo> {
    let place = read_place(row)?;
    let from: String = row.get("translated_from")?;
    let stored_at: i64 = row.get("stored_at")?;
    Ok(LibraryVideo {
        url: place.video_id.url(),
        place,
        duration: row.get::<_, i64>("duration")? as u64,
        is_auto_generated: row.get("is_auto_generated")?,
        translated_from: Some(from).filter(|it| !it.is_empty()),
        words: row.get::<_, i64>("words")? as u64,
        stored_at: jiff::Timestamp::from_millisecond(stored_at).unwrap_or_default(),
    })
}
