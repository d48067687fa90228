//! The videos of the library.

use vidra::Result;

use super::candidates::Condition;
use super::hits::Cursor;
use super::page::{VIDEO, read_video};
use crate::search::{LibraryFilter, LibraryVideo, SearchSort};
use crate::store::sql::{Connection, OwnedValue, Row};

/// A page of the videos that a filter includes, in the order of their publication, and the cursor of the next page.
/// Videos without a date come last.
pub(crate) fn videos(
    connection: &Connection,
    filter: &LibraryFilter,
    sort: SearchSort,
    cursor: Option<Cursor>,
    limit: usize,
) -> Result<(Vec<LibraryVideo>, Option<Cursor>)> {
    let condition = Condition::new(connection, filter)?;
    let Cursor { last, offset } = Cursor::or_first(cursor, connection)?;
    let order = if sort == SearchSort::Oldest { "ASC" } else { "DESC" };
    let query = format!(
        "SELECT {VIDEO}, t.transcript, t.duration, t.words, it.translated_from, it.stored_at
        FROM search_tracks AS t JOIN transcripts AS it ON it.number = t.transcript
            LEFT JOIN videos ON videos.id = t.video
        WHERE t.transcript <= ? AND {}
        ORDER BY t.published_at IS NULL, t.published_at {order}, t.transcript LIMIT ? OFFSET ?",
        condition.sql
    );
    let page = [limit.saturating_add(1), offset].map(|it| OwnedValue::from(it as i64));
    let values = std::iter::once(last.into()).chain(condition.values).chain(page);
    let values: Vec<OwnedValue> = values.collect();
    let mut videos: Vec<LibraryVideo> = connection.query_map(&query, &*values, video)?;
    let has_more = videos.len() > limit;
    videos.truncate(limit);
    Ok((videos, has_more.then_some(Cursor { last, offset: offset + limit })))
}

fn video(row: &Row) -> Result<LibraryVideo> {
    let video = read_video(row)?;
    let from: String = row.get("translated_from")?;
    let stored_at: i64 = row.get("stored_at")?;
    Ok(LibraryVideo {
        url: video.video_id.url(),
        video,
        duration: row.get::<_, i64>("duration")? as u64,
        translated_from: Some(from).filter(|it| !it.is_empty()),
        words: row.get::<_, i64>("words")? as u64,
        stored_at: jiff::Timestamp::from_millisecond(stored_at).unwrap_or_default(),
    })
}
