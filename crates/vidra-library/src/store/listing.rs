//! Listing: pages of sources become items.

use jiff::Timestamp;
use vidra::{QuotaDay, Reason, Result, VideoId};

use super::discovery::{DateSource, FoundVideo, store_date};
use super::items::{self, NewItem};
use super::leases::Lease;
use super::sql::{Connection, params};
use super::{events, jobs};
use crate::job::{Failure, JobEvent, JobState, ListedEvent, StateEvent};

/// A listed video.
#[derive(Debug, Clone)]
pub(crate) struct ListedVideo {
    /// `None` if YouTube does not reveal it.
    pub(crate) video: Option<VideoId>,
    /// Why it cannot have a transcript.
    pub(crate) reason: Option<Reason>,
    pub(crate) published: Option<Timestamp>,
}

/// A listed page.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListedPage {
    /// The videos of the page.
    pub(crate) videos: Vec<ListedVideo>,
    /// The cursor of this page. `None` for the first one.
    pub(crate) cursor: Option<String>,
    /// The cursor of the next page. `None` after the last one.
    pub(crate) next: Option<String>,
    /// The cost of the page.
    pub(crate) charge: Charge,
}

/// The units of a call. A write may be repeated, and its units count once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Charge {
    /// The number of the call under its lease.
    pub(crate) call: u64,
    pub(crate) units: u64,
    /// When it was made.
    pub(crate) at: Timestamp,
}

/// Adds the videos of a page as items, and stores the cursor of the next page. A page that was already added changes
/// nothing. Returns whether listing continues, which it does not after a lost lease.
pub(crate) fn add_page(
    connection: &Connection,
    lease: &Lease,
    limit: Option<u64>,
    page: &ListedPage,
    now: Timestamp,
) -> Result<bool> {
    let at = now.as_millisecond();
    let Lease { job, position, fence } = *lease;
    // Also after a lost lease: the call was made.
    count_units(connection, lease, page.charge)?;
    let update = "UPDATE sources SET cursor = ?1, is_listed = ?2, attempts = 0, not_before = 0,
            lease = CASE WHEN ?2 THEN NULL ELSE lease END, process = CASE WHEN ?2 THEN NULL ELSE process END
        WHERE job = ?3 AND position = ?4 AND lease = ?5 AND cursor IS NOT DISTINCT FROM ?6";
    let is_last = page.next.is_none();
    let parameters = params![page.next, is_last, job, position, fence, page.cursor];
    if connection.execute(update, parameters)? == 0 {
        let is_added = "SELECT EXISTS (SELECT 1 FROM sources
            WHERE job = ? AND position = ? AND lease = ? AND cursor IS NOT DISTINCT FROM ?)";
        let parameters = params![job, position, fence, page.next];
        return connection.query_row(is_added, parameters, |row| row.get(0));
    }
    for it in &page.videos {
        if let (Some(id), Some(_), None) = (it.video, it.published, it.reason) {
            let found =
                FoundVideo { id, title: String::new(), published: it.published, gone: None };
            store_date(connection, &found, DateSource::DataApi, now)?;
        }
    }
    let new = page.videos.iter().map(|it| NewItem {
        video: it.video,
        failure: it.reason.map(|reason| (reason, message(it.video, reason))),
    });
    let (added, is_full) = items::add(connection, job, limit, new, at)?;
    let items = "SELECT items FROM jobs WHERE number = ?";
    let items: i64 = connection.query_row(items, [job], |row| row.get(0))?;
    let listed = ListedEvent { added, items: items as u64, units: page.charge.units };
    events::add(connection, job, at, &JobEvent::Listed(listed))?;
    if is_full {
        end(connection, job)?;
    }
    finish_if_listed(connection, job, at)?;
    if is_last || is_full {
        return Ok(false);
    }
    let is_active =
        "SELECT state IN ('queued', 'listing', 'running', 'waiting') FROM jobs WHERE number = ?";
    let is_active: bool = connection.query_row(is_active, [job], |row| row.get(0))?;
    if !is_active {
        // The job was paused or cancelled meanwhile.
        postpone_source(connection, lease, Charge::default(), now, false)?;
    }
    Ok(is_active)
}

/// Counts the units of a call, unless they were counted.
pub(super) fn count_units(connection: &Connection, lease: &Lease, charge: Charge) -> Result<()> {
    let (Lease { job, position, fence }, Charge { call, units, at }) = (*lease, charge);
    if units == 0 {
        return Ok(());
    }
    let mark = "UPDATE sources SET charged_lease = ?1, charged_call = ?2
        WHERE job = ?3 AND position = ?4 AND NOT (charged_lease IS NOT DISTINCT FROM ?1
            AND charged_call IS NOT DISTINCT FROM ?2)";
    let parameters = params![fence, call as i64, job, position];
    if connection.execute(mark, parameters)? > 0 {
        let update = "UPDATE jobs SET units = units + ? WHERE number = ?";
        connection.execute(update, params![units as i64, job])?;
        let of_collection = "INSERT INTO collection_units (collection, day, units)
            SELECT collection, ?1, ?2 FROM jobs WHERE number = ?3 AND collection IS NOT NULL
            ON CONFLICT (collection, day) DO UPDATE SET units = collection_units.units + excluded.units";
        let parameters = params![QuotaDay::of(at).date, units as i64, job];
        connection.execute(of_collection, parameters)?;
    }
    Ok(())
}

/// Whether a lease is valid.
pub(super) fn is_held(connection: &Connection, lease: &Lease) -> Result<bool> {
    let Lease { job, position, fence } = *lease;
    let held = "SELECT EXISTS (SELECT 1 FROM sources WHERE job = ? AND position = ? AND lease = ?)";
    connection.query_row(held, params![job, position, fence], |row| row.get(0))
}

/// Ends a source: there is nothing more to list.
pub(crate) fn end_source(connection: &Connection, lease: &Lease, now: Timestamp) -> Result<()> {
    let Lease { job, position, fence } = *lease;
    let listed = "UPDATE sources SET is_listed = TRUE, attempts = 0, lease = NULL, process = NULL
        WHERE job = ? AND position = ? AND lease = ?";
    connection.execute(listed, params![job, position, fence])?;
    finish_if_listed(connection, job, now.as_millisecond())
}

/// The sentence for a video that a list shows as unavailable.
fn message(video: Option<VideoId>, reason: Reason) -> String {
    let state = if reason == Reason::VideoPrivate { "private" } else { "deleted" };
    match video {
        Some(id) => format!("YouTube lists the video as {state}: {id}"),
        None => format!("YouTube lists a video without its id as {state}"),
    }
}

/// Fails the listing of a source. The job fails when everything else has ended: the other sources are listed first,
/// unless the job has no units left. `charge` is the cost of the failed call.
pub(crate) fn fail_source(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    failure: &Failure,
    now: Timestamp,
) -> Result<()> {
    let Lease { job, position, .. } = *lease;
    count_units(connection, lease, charge)?;
    if !is_held(connection, lease)? {
        return Ok(());
    }
    // The first failure is the one that people should look at.
    let error = "UPDATE jobs SET error_reason = ?, error_message = ? WHERE number = ? AND error_reason IS NULL";
    connection.execute(error, params![failure.reason.code(), failure.message, job])?;
    match failure.reason {
        Reason::UnitBudgetExhausted => end(connection, job)?,
        _ => {
            let listed = "UPDATE sources SET is_listed = TRUE, lease = NULL, process = NULL
                WHERE job = ? AND position = ?";
            connection.execute(listed, params![job, position])?;
        }
    }
    finish_if_listed(connection, job, now.as_millisecond())
}

/// Ends the listing of all sources of a job.
fn end(connection: &Connection, job: i64) -> Result<()> {
    let end = "UPDATE sources SET is_listed = TRUE, lease = NULL, process = NULL WHERE job = ?";
    connection.execute(end, [job])?;
    Ok(())
}

/// Notes that all sources are listed.
fn finish_if_listed(connection: &Connection, job: i64, at: i64) -> Result<()> {
    let update = "UPDATE jobs SET is_listed = TRUE WHERE number = ?1 AND NOT is_listed
        AND NOT EXISTS (SELECT 1 FROM sources WHERE job = ?1 AND NOT is_listed) RETURNING state";
    let listed: Vec<String> = connection.query_map(update, [job], |row| row.get(0))?;
    if listed.iter().any(|state| state == JobState::Listing.word()) {
        let running = StateEvent { state: JobState::Running, waiting: None, error: None };
        jobs::set_state(connection, job, &running, at)?;
    }
    jobs::complete_if_done(connection, job, at)
}

/// Gives a source back, to be listed again at `not_before`. `charge` is the cost of the failed call. `is_failed` counts
/// it as a failed attempt.
pub(crate) fn postpone_source(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    not_before: Timestamp,
    is_failed: bool,
) -> Result<()> {
    let update =
        "UPDATE sources SET lease = NULL, process = NULL, not_before = ?, attempts = attempts + ?
        WHERE job = ? AND position = ? AND lease = ?";
    let Lease { job, position, fence } = *lease;
    let parameters =
        params![not_before.as_millisecond(), i64::from(is_failed), job, position, fence];
    count_units(connection, lease, charge)?;
    connection.execute(update, parameters)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobId, JobRequest, JobSource};
    use crate::store::jobs::NewJob;
    use crate::store::{leases, processes, sqlite};

    /// A write whose caller gave up may have been made, and is repeated.
    #[test]
    fn a_repeated_page_changes_nothing() {
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        sqlite::migrate(&mut connection).unwrap();
        let connection: &Connection = &connection;
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let new = NewJob {
            id: JobId::random().unwrap(),
            owner: String::new(),
            request: JobRequest::default(),
            sources: vec![JobSource::parse("PLsize120").unwrap()],
            idempotency: None,
            max_unfinished: None,
            max_bytes: None,
        };
        jobs::create(connection, &new, now).unwrap();
        let process = processes::add_process(connection, now).unwrap();
        let source = leases::lease_source(connection, process, 1, now).unwrap().unwrap();
        let video = |n: u32| {
            let video = VideoId::parse(&format!("video{n:06}")).ok();
            ListedVideo { video, reason: None, published: Some(now) }
        };
        let hidden =
            ListedVideo { video: None, reason: Some(Reason::VideoNotFound), published: None };
        let page = |n: u32, cursor: Option<&str>, next: Option<&str>| ListedPage {
            videos: vec![video(n), hidden.clone()],
            cursor: cursor.map(str::to_owned),
            next: next.map(str::to_owned),
            charge: Charge { call: u64::from(n), units: 1, at: now },
        };
        let add = |page: &ListedPage| add_page(connection, &source.lease, None, page, now).unwrap();
        let first = page(1, None, Some("b"));
        assert!(add(&first) && add(&first), "listing continues");
        let last = page(2, Some("b"), None);
        assert!(!add(&last) && !add(&last));
        let job = jobs::by_number(connection, 1).unwrap().job;
        assert_eq!((job.progress.total, job.progress.units), (Some(4), 2));
        // A call that failed after the lease was lost still cost its units, once.
        let charge = Charge { call: 3, units: 1, at: now };
        for _ in 0..2 {
            postpone_source(connection, &source.lease, charge, now, false).unwrap();
        }
        assert_eq!(jobs::by_number(connection, 1).unwrap().job.progress.units, 3);
    }
}
