//! Which work starts next. Pure: the time and the waits are parameters.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use vidra::{QuotaDay, Reason};

use crate::job::{Job, JobState, Wait};
use crate::store::work::Work;

/// A kind of work, by the resource that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// The Data API.
    Listing,
    /// Public feeds.
    Feeds,
    /// An egress address.
    Item,
}

/// The work of a job that runs in this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) items: usize,
    pub(super) is_listing: bool,
}

/// The limits of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) items: usize,
}

/// How many jobs are listed at once.
const LISTINGS: usize = 4;

/// A shorter wait for the pace is a part of running.
const SHORT_WAIT: Duration = Duration::from_secs(10);

/// The work of one job that starts now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) lists: bool,
    pub(super) items: usize,
}

/// The work that starts now, by the index of the active job.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) starts: Vec<(usize, Start)>,
    /// The changed waits of jobs. `None` for a job that no longer waits.
    pub(super) waits: Vec<(usize, Option<Wait>)>,
    /// When the next plan is due.
    pub(super) wake: Option<Timestamp>,
}

/// Takes turns among callers, and among the jobs of each caller.
#[derive(Debug, Default)]
pub(super) struct Planner {
    last_owner: String,
    /// The number of the last job of each owner.
    last_jobs: HashMap<String, i64>,
}

/// One job while a plan is made.
struct Candidate {
    can_list: bool,
    can_fetch: bool,
    /// The waits of its work.
    waits: Vec<Wait>,
    start: Start,
}

impl Planner {
    /// Plans the next work. `wait` returns the wait of a job's listing or of its items.
    pub(super) fn plan(
        &mut self,
        active: &[Work],
        running: &HashMap<i64, Running>,
        limits: Limits,
        now: Timestamp,
        wait: impl Fn(&Job, WorkKind) -> Option<Wait>,
    ) -> Plan {
        let running_of = |work: &Work| running.get(&work.row.number).copied().unwrap_or_default();
        let mut jobs: Vec<Candidate> =
            active.iter().map(|work| candidate(work, running_of(work), now, &wait)).collect();
        let listings = running.values().filter(|it| it.is_listing).count();
        let mut free_listings = LISTINGS.saturating_sub(listings);
        let items: usize = running.values().map(|it| it.items).sum();
        let mut free_items = limits.items.saturating_sub(items);
        let mut turns = self.turns(active);
        while free_listings > 0 || free_items > 0 {
            let mut has_started = false;
            for (owner, ring) in &mut turns {
                let lists = |index: usize| {
                    jobs[index].can_list && !jobs[index].start.lists && free_listings > 0
                };
                let fetches = |index: usize| {
                    let work = &active[index];
                    let count = running_of(work).items + jobs[index].start.items;
                    jobs[index].can_fetch
                        && free_items > 0
                        && count < work.row.job.options.concurrency
                };
                let next = ring.iter().position(|index| lists(*index) || fetches(*index));
                let Some(place) = next else { continue };
                let (index, lists) = (ring[place], lists(ring[place]));
                let start = &mut jobs[index].start;
                match lists {
                    true => (start.lists, free_listings) = (true, free_listings - 1),
                    false => (start.items, free_items) = (start.items + 1, free_items - 1),
                }
                self.last_owner.clone_from(owner);
                self.last_jobs.insert(owner.clone(), active[index].row.number);
                // The next turn of this owner belongs to the job after this one.
                ring.rotate_left(place + 1);
                has_started = true;
            }
            if !has_started {
                break;
            }
        }
        self.last_jobs.retain(|owner, _| active.iter().any(|work| work.row.job.owner == *owner));
        finish(active, &jobs, running_of, now)
    }

    /// The jobs of each owner in the order of their turns, and the owners in the order of theirs.
    fn turns(&self, active: &[Work]) -> Vec<(String, Vec<usize>)> {
        let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, work) in active.iter().enumerate() {
            owners.entry(&work.row.job.owner).or_default().push(index);
        }
        let mut turns: Vec<(String, Vec<usize>)> =
            owners.into_iter().map(|(owner, ring)| (owner.to_owned(), ring)).collect();
        let start = turns.partition_point(|(owner, _)| *owner <= self.last_owner);
        turns.rotate_left(start);
        for (owner, ring) in &mut turns {
            let last = self.last_jobs.get(owner).copied().unwrap_or(0);
            let start = ring.partition_point(|index| active[*index].row.number <= last);
            ring.rotate_left(start);
        }
        turns
    }
}

fn candidate(
    work: &Work,
    running: Running,
    now: Timestamp,
    wait: impl Fn(&Job, WorkKind) -> Option<Wait>,
) -> Candidate {
    let mut waits = vec![];
    let mut can = |next: Option<Timestamp>, kind: WorkKind| {
        let Some(next) = next else { return false };
        let blocked = match next > now {
            // A failed attempt is repeated after a while.
            true => Some(Wait { reason: Reason::UpstreamFailed, until: next }),
            false if kind == WorkKind::Item && work.is_out_of_room => {
                Some(Wait { reason: Reason::LibraryLimitReached, until: next_hour(now) })
            }
            false if kind == WorkKind::Listing && work.is_over_budget => {
                let until = QuotaDay::of(now).end;
                Some(Wait { reason: Reason::UnitBudgetExhausted, until })
            }
            false => wait(&work.row.job, kind),
        };
        let is_free = blocked.is_none();
        waits.extend(blocked);
        is_free
    };
    let listing = if work.is_free_source { WorkKind::Feeds } else { WorkKind::Listing };
    let can_list = can(work.next_source, listing) && !running.is_listing;
    let can_fetch = can(work.next_item, WorkKind::Item);
    Candidate { can_list, can_fetch, waits, start: Start::default() }
}

/// The next full hour. Nobody knows when there will be room, and a time that moved would be an event each time.
fn next_hour(now: Timestamp) -> Timestamp {
    const HOUR: i64 = 3600;
    Timestamp::from_second((now.as_second().div_euclid(HOUR) + 1) * HOUR).unwrap_or(Timestamp::MAX)
}

fn finish(
    active: &[Work],
    jobs: &[Candidate],
    running_of: impl Fn(&Work) -> Running,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    for (index, (work, job)) in active.iter().zip(jobs).enumerate() {
        if job.start != Start::default() {
            plan.starts.push((index, job.start));
        }
        let soonest = job.waits.iter().min_by_key(|wait| wait.until);
        plan.wake = plan.wake.into_iter().chain(soonest.map(|wait| wait.until)).min();
        let is_busy = running_of(work) != Running::default() || job.can_list || job.can_fetch;
        let is_short = |wait: &&Wait| {
            wait.reason == Reason::Paced
                && Duration::try_from(wait.until.duration_since(now)).unwrap_or_default()
                    < SHORT_WAIT
        };
        let shown = soonest.filter(|wait| !is_busy && !is_short(wait));
        if shown.is_some() || work.row.job.state == JobState::Waiting {
            plan.waits.push((index, shown.cloned()));
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobId, JobRequest, Progress};
    use crate::store::jobs::JobRow;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// An active job with free items.
    fn work(number: i64, owner: &str, concurrency: usize) -> Work {
        let options = JobRequest { concurrency, ..JobRequest::default() };
        let job = Job {
            id: JobId::parse(&format!("{number:032x}")).unwrap(),
            name: None,
            owner: owner.to_owned(),
            collection: None,
            state: JobState::Running,
            waiting: None,
            error: None,
            progress: Progress::default(),
            version: 1,
            options,
            source_count: 1,
            created_at: at(0),
            started_at: None,
            finished_at: None,
        };
        let row = JobRow { number, job, is_listed: true, collection: None };
        Work {
            row,
            next_item: Some(at(0)),
            next_source: None,
            is_free_source: false,
            is_out_of_room: false,
            is_over_budget: false,
        }
    }

    /// How many items of each job start.
    fn starts(planner: &mut Planner, active: &[Work], free: usize) -> Vec<usize> {
        let plan =
            planner.plan(active, &HashMap::new(), Limits { items: free }, at(0), |_, _| None);
        let count = |index| plan.starts.iter().find(|it| it.0 == index).map_or(0, |it| it.1.items);
        (0..active.len()).map(count).collect()
    }

    #[test]
    fn callers_take_turns_and_then_their_jobs() {
        let active =
            [work(1, "anna", 20), work(2, "anna", 20), work(3, "anna", 20), work(4, "ben", 20)];
        assert_eq!(starts(&mut Planner::default(), &active, 8), [2, 1, 1, 4]);
        // One slot at a time goes around: ben is not behind the jobs of anna.
        let mut planner = Planner::default();
        let mut order = vec![];
        for _ in 0..6 {
            let started = starts(&mut planner, &active, 1);
            order.push(started.iter().position(|count| *count == 1).unwrap() + 1);
        }
        assert_eq!(order, [1, 4, 2, 4, 3, 4]);
    }

    #[test]
    fn a_job_runs_no_more_items_than_it_may() {
        let active = [work(1, "", 3), work(2, "", 20)];
        assert_eq!(starts(&mut Planner::default(), &active, 10), [3, 7]);
        let running = HashMap::from([(1, Running { items: 3, is_listing: false })]);
        let mut planner = Planner::default();
        let plan = planner.plan(&active[..1], &running, Limits { items: 10 }, at(0), |_, _| None);
        assert!(plan.starts.is_empty() && plan.waits.is_empty());
    }

    #[test]
    fn a_job_waits_only_if_nothing_of_it_can_run() {
        let blocked = Wait { reason: Reason::Blocked, until: at(900) };
        let quota = Wait { reason: Reason::QuotaExhausted, until: at(5_000) };
        let wait = |_: &Job, kind| match kind {
            WorkKind::Item => Some(blocked.clone()),
            WorkKind::Listing => Some(quota.clone()),
            WorkKind::Feeds => None,
        };
        let mut job = work(1, "", 4);
        job.next_source = Some(at(0));
        let limits = Limits { items: 4 };
        let plan = Planner::default().plan(&[job.clone()], &HashMap::new(), limits, at(0), wait);
        assert_eq!(plan.waits, [(0, Some(blocked.clone()))], "the first that ends");
        assert_eq!(plan.wake, Some(at(900)));
        // Its listing can run, so it does not wait.
        let wait = |_: &Job, kind| (kind == WorkKind::Item).then(|| blocked.clone());
        let plan = Planner::default().plan(&[job.clone()], &HashMap::new(), limits, at(0), wait);
        assert_eq!(plan.starts, [(0, Start { lists: true, items: 0 })]);
        assert!(plan.waits.is_empty());
        // A job that waited and can run again says so.
        job.row.job.state = JobState::Waiting;
        let plan =
            Planner::default().plan(&[job.clone()], &HashMap::new(), limits, at(0), |_, _| None);
        assert_eq!(plan.waits, [(0, None)]);
        // A failed attempt is repeated later.
        job.next_source = None;
        job.next_item = Some(at(30));
        let plan =
            Planner::default().plan(&[job.clone()], &HashMap::new(), limits, at(0), |_, _| None);
        let later = Wait { reason: Reason::UpstreamFailed, until: at(30) };
        assert_eq!((plan.waits, plan.wake), (vec![(0, Some(later))], Some(at(30))));
        // A short wait for the pace is a part of running.
        job.row.job.state = JobState::Running;
        job.next_item = Some(at(0));
        let paced = |_: &Job, _| Some(Wait { reason: Reason::Paced, until: at(4) });
        let plan = Planner::default().plan(&[job], &HashMap::new(), limits, at(0), paced);
        assert_eq!((plan.waits, plan.wake), (vec![], Some(at(4))));
    }
}
