//! The videos of collections: pages, counts, and what happens after an attempt.

use vidra::{Reason, Result, VideoId};

use crate::collection::schedule::{Outlook, outlook};
use crate::collection::{CollectionRequest, CollectionVideo, Coverage, VideoState};
use crate::job::Failure;
use crate::store::jobs::{reason, timestamp};
use crate::store::sql::{Connection, Row, ToValue, params};

/// Counts the videos of a collection, by what is known about them.
pub(super) fn coverage(connection: &Connection, collection: i64) -> Result<Coverage> {
    let counts = "SELECT state, reason, count(*) FROM collection_videos WHERE collection = ? GROUP BY state, reason";
    let mut coverage = Coverage::default();
    connection.query_while(counts, [collection], |row| {
        let count = row.get::<_, i64>(2)? as u64;
        coverage.videos += count;
        match VideoState::from_number(row.get(0)?) {
            VideoState::Pending => coverage.pending += count,
            VideoState::Transcribed => coverage.transcribed += count,
            VideoState::Gone => coverage.gone += count,
            VideoState::Failed => {
                let code: Option<String> = row.get(1)?;
                let code = reason(&code.unwrap_or_default()).code();
                *coverage.failed.entry(code).or_default() += count;
            }
        }
        Ok(true)
    })?;
    let retrying = "SELECT count(*) FROM collection_videos WHERE collection = ? AND next_try IS NOT NULL AND state = 2";
    let retrying: i64 = connection.query_row(retrying, [collection], |row| row.get(0))?;
    coverage.retrying = retrying as u64;
    Ok(coverage)
}

/// The filter of a page of videos.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct VideoQuery {
    pub(crate) state: Option<VideoState>,
    pub(crate) reason: Option<Reason>,
    /// Only videos after the one with this number.
    pub(crate) after: i64,
    pub(crate) limit: usize,
}

/// A page of the videos of a collection with their numbers, in the order in which they were found.
pub(crate) fn videos(
    connection: &Connection,
    collection: i64,
    query: VideoQuery,
) -> Result<Vec<(i64, CollectionVideo)>> {
    let mut text = "SELECT number, video, state, reason, next_try, found_at, title, channel, published_at, published_source
        FROM collection_videos LEFT JOIN videos ON videos.id = video WHERE collection = ? AND number > ?"
        .to_owned();
    let (state, code) = (query.state.map(VideoState::number), query.reason.map(Reason::code));
    let mut parameters: Vec<&dyn ToValue> = vec![&collection, &query.after];
    if let Some(state) = &state {
        text += " AND state = ?";
        parameters.push(state);
    }
    if let Some(code) = &code {
        text += " AND reason = ?";
        parameters.push(code);
    }
    let limit = query.limit as i64;
    text += " ORDER BY number LIMIT ?";
    parameters.push(&limit);
    let rows = connection.query_map(&text, &*parameters, read_video)?;
    Ok(rows.into_iter().flatten().collect())
}

/// `None` for an id that this release cannot read.
fn read_video(row: &Row) -> Result<Option<(i64, CollectionVideo)>> {
    let Ok(video_id) = VideoId::parse(&row.get::<_, String>("video")?) else { return Ok(None) };
    let time = |name: &str| row.get::<_, Option<i64>>(name).map(|it| it.map(timestamp));
    let title: Option<String> = row.get("title")?;
    let video = CollectionVideo {
        video_id,
        title: title.filter(|title| !title.is_empty()),
        channel: row.get::<_, Option<String>>("channel")?.filter(|it| !it.is_empty()),
        published_at: time("published_at")?,
        published_source: row.get("published_source")?,
        state: VideoState::from_number(row.get("state")?),
        reason: row.get::<_, Option<String>>("reason")?.map(|code| reason(&code)),
        next_try: time("next_try")?,
        found_at: timestamp(row.get("found_at")?),
    };
    Ok(Some((row.get("number")?, video)))
}

/// Notes the end of an item for the collection that its job syncs. The item of a job that began before the collection
/// requested other captions says nothing about it, and neither does a video that an operator removed.
pub(crate) fn note_item(
    connection: &Connection,
    job: i64,
    video: &str,
    failure: Option<&Failure>,
    at: i64,
) -> Result<()> {
    let collection = "SELECT collection, jobs.options, collections.options FROM jobs
        JOIN collections ON collections.number = jobs.collection WHERE jobs.number = ?";
    let collection: Option<(i64, String, String)> =
        connection
            .query_optional(collection, [job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some((collection, of_job, of_collection)) = collection else { return Ok(()) };
    let requested = CollectionRequest::from_stored(&of_collection).transcript;
    if CollectionRequest::from_stored(&of_job).transcript != requested {
        return Ok(());
    }
    let removed = Reason::TranscriptRemoved.code();
    let Some(failure) = failure else {
        let done = "UPDATE collection_videos SET state = 1, reason = NULL, tries = 0, next_try = NULL, doubted_at = NULL
            WHERE collection = ? AND video = ? AND reason IS DISTINCT FROM ?";
        connection.execute(done, params![collection, video, removed])?;
        return Ok(());
    };
    let known = "SELECT appeared_at, tries FROM collection_videos
        WHERE collection = ? AND video = ? AND reason IS DISTINCT FROM ?";
    let known: Option<(Option<i64>, u32)> =
        connection.query_optional(known, params![collection, video, removed], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let Some((appeared, tries)) = known else { return Ok(()) };
    // A broadcast appears when it ends, whenever it was announced.
    let is_broadcast = matches!(failure.reason, Reason::NotStarted | Reason::NotEnded);
    let appeared = if is_broadcast { Some(at) } else { appeared };
    let next = outlook(failure.reason, appeared.map(timestamp), tries, timestamp(at));
    let (state, next) = match next {
        Outlook::Gone => (VideoState::Gone, None),
        Outlook::Never => (VideoState::Failed, None),
        Outlook::At(time) => (VideoState::Failed, Some(time.as_millisecond())),
    };
    // The next verification removes the transcripts of a video that is gone, if the operator wants that.
    let doubted = (state == VideoState::Gone).then_some(at);
    let update = "UPDATE collection_videos SET state = ?, reason = ?, tries = tries + 1, next_try = ?, appeared_at = ?,
            doubted_at = ?
        WHERE collection = ? AND video = ?";
    let code = failure.reason.code();
    let parameters = params![state.number(), code, next, appeared, doubted, collection, video];
    connection.execute(update, parameters)?;
    Ok(())
}

/// Whether a video of a job was tried before by the collection that the job syncs. The cache may remember that it had no
/// captions then.
pub(crate) fn was_tried(connection: &Connection, job: i64, video: &str) -> Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM collection_videos WHERE video = ? AND tries > 0
        AND collection = (SELECT collection FROM jobs WHERE number = ?))";
    connection.query_row(query, params![video, job], |row| row.get(0))
}
