//! Counts the waiters of a fetch. A fetch without waiters charges nothing more.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::select_all;
use tokio::sync::Notify;

/// The callers that wait for one flight, or for several flights that share a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiters {
    flights: Vec<Waiting>,
    /// Whether the work continues without waiters, as renewals do.
    runs_without_waiters: bool,
}

/// The waiters of one flight.
#[derive(Debug, Clone)]
struct Waiting {
    count: WaiterCount,
    /// For a nested flight: the waiters of the outer one, for which the leader waits here.
    parent: Option<Arc<Waiters>>,
}

impl Waiting {
    fn is_gone(&self) -> bool {
        let is_parent_gone = self.parent.as_ref().is_some_and(|parent| parent.is_gone());
        let leaders = if is_parent_gone { 0 } else { self.count.0.leaders.load(Ordering::Relaxed) };
        self.count.0.followers.load(Ordering::Relaxed) + leaders == 0
    }
}

/// The number of waiters of one flight.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaiterCount(Arc<Taken>);

#[derive(Debug, Default)]
struct Taken {
    /// The number of guards of the leader. Each guard counts either here or among the followers, so that no order of
    /// changes can hide a guard that is there.
    leaders: AtomicUsize,
    followers: AtomicUsize,
    /// The number of single requests.
    interactive: AtomicUsize,
    /// The number of batch entries.
    batch: AtomicUsize,
    /// Wakes work that ends without waiters, or that waits for more urgent ones.
    changed: Notify,
}

/// How urgent a waiter is. The least urgent comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// A background job.
    Background,
    /// An entry of a batch.
    Batch,
    /// A single request.
    Interactive,
}

/// Counts as one waiter until it is dropped.
#[derive(Debug)]
pub(crate) struct WaiterGuard {
    count: WaiterCount,
    urgency: Urgency,
    is_leader: bool,
}

impl WaiterCount {
    pub(crate) fn take(&self, urgency: Urgency) -> WaiterGuard {
        self.add(urgency, false)
    }

    /// Counts the leader of the flight as one of its waiters.
    pub(crate) fn take_as_leader(&self, urgency: Urgency) -> WaiterGuard {
        self.add(urgency, true)
    }

    fn add(&self, urgency: Urgency, is_leader: bool) -> WaiterGuard {
        self.0.guards(is_leader).fetch_add(1, Ordering::Relaxed);
        let others = self.0.of(urgency).map(|count| count.fetch_add(1, Ordering::Relaxed));
        if others == Some(0) {
            // The fetch may have become more urgent.
            self.0.changed.notify_waiters();
        }
        WaiterGuard { count: self.clone(), urgency, is_leader }
    }

    pub(crate) fn taken(&self) -> usize {
        let counts = [&self.0.leaders, &self.0.followers];
        counts.into_iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The urgency of the most urgent waiter. `None` without waiters.
    fn urgency(&self) -> Option<Urgency> {
        let has = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        match &*self.0 {
            Taken { interactive, .. } if has(interactive) => Some(Urgency::Interactive),
            Taken { batch, .. } if has(batch) => Some(Urgency::Batch),
            _ => (self.taken() > 0).then_some(Urgency::Background),
        }
    }
}

impl Taken {
    fn guards(&self, is_leader: bool) -> &AtomicUsize {
        if is_leader { &self.leaders } else { &self.followers }
    }

    /// The count of this urgency. Background jobs are counted only among all waiters.
    fn of(&self, urgency: Urgency) -> Option<&AtomicUsize> {
        match urgency {
            Urgency::Interactive => Some(&self.interactive),
            Urgency::Batch => Some(&self.batch),
            Urgency::Background => None,
        }
    }
}

impl Clone for WaiterGuard {
    fn clone(&self) -> Self {
        self.count.add(self.urgency, self.is_leader)
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        self.count.0.guards(self.is_leader).fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = self.count.0.of(self.urgency) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        self.count.0.changed.notify_waiters();
    }
}

impl Waiters {
    /// The waiters of any of these flights.
    pub(crate) fn new(flights: impl IntoIterator<Item = WaiterCount>) -> Self {
        let waiting = |count| Waiting { count, parent: None };
        Self { flights: flights.into_iter().map(waiting).collect(), runs_without_waiters: false }
    }

    /// Marks the flights as nested in the work that `parent` waits for.
    pub(crate) fn part_of(mut self, parent: &Self) -> Self {
        if !parent.runs_without_waiters && !parent.flights.is_empty() {
            let parent = Arc::new(parent.clone());
            self.flights.iter_mut().for_each(|it| it.parent = Some(Arc::clone(&parent)));
        }
        self
    }

    /// The waiters of work that continues without them.
    pub(crate) fn detached(flights: impl IntoIterator<Item = WaiterCount>) -> Self {
        Self { runs_without_waiters: true, ..Self::new(flights) }
    }

    /// Whether all waiters have left. `false` if there never were any.
    pub(crate) fn is_gone(&self) -> bool {
        !self.runs_without_waiters
            && !self.flights.is_empty()
            && self.flights.iter().all(Waiting::is_gone)
    }

    /// Waits until all waiters have left. It never returns if the work continues without waiters.
    pub(crate) async fn gone(&self) {
        if self.runs_without_waiters || self.flights.is_empty() {
            return pending().await;
        }
        self.wait_until(Self::is_gone).await;
    }

    /// Waits until a waiter that is more urgent than this joins. It never returns if the work has no flights.
    pub(crate) async fn more_urgent_than(&self, urgency: Urgency) {
        if self.flights.is_empty() {
            return pending().await;
        }
        self.wait_until(|waiters| waiters.urgency() > Some(urgency)).await;
    }

    async fn wait_until(&self, is_true: impl Fn(&Self) -> bool) {
        let mut notifies = vec![];
        self.collect(&mut notifies);
        loop {
            let changed = notifies.iter().map(|changed| Box::pin(changed.notified()));
            let mut changed: Vec<_> = changed.collect();
            // Enabled before the check, so that no wake-up is lost between the two.
            for changed in &mut changed {
                changed.as_mut().enable();
            }
            if is_true(self) {
                return;
            }
            select_all(changed).await;
        }
    }

    fn collect<'a>(&'a self, notifies: &mut Vec<&'a Notify>) {
        for Waiting { count, parent } in &self.flights {
            notifies.push(&count.0.changed);
            if let Some(parent) = parent {
                parent.collect(notifies);
            }
        }
    }

    /// The urgency of the most urgent waiter. `None` without waiters.
    pub(crate) fn urgency(&self) -> Option<Urgency> {
        self.flights.iter().filter_map(|it| it.count.urgency()).max()
    }

    /// Combines waiters. The work continues without waiters if it does for one of them.
    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut together = Self::default();
        for waiters in all {
            together.runs_without_waiters |=
                waiters.runs_without_waiters || waiters.flights.is_empty();
            together.flights.extend_from_slice(&waiters.flights);
        }
        together
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn waiters_are_gone_when_the_last_guard_is_dropped() {
        let (one, other) = (WaiterCount::default(), WaiterCount::default());
        let take = |count: &WaiterCount| count.take(Urgency::Interactive);
        let (first, second) = (take(&one), take(&other));
        let of_one = Waiters::new([one]);
        let without_callers = Waiters::default();
        let both = Waiters::together([&of_one, &Waiters::new([other])].into_iter());
        let any = Waiters::together([&both, &without_callers].into_iter());
        let again = first.clone();
        drop(first);
        assert!(!of_one.is_gone());
        drop(again);
        assert!(of_one.is_gone() && !both.is_gone());
        drop(second);
        assert!(both.is_gone() && !any.is_gone() && !without_callers.is_gone());
    }

    #[test]
    fn waiters_of_the_whole_wait_for_its_parts() {
        let (whole, part) = (WaiterCount::default(), WaiterCount::default());
        let caller = whole.take(Urgency::Interactive);
        let for_the_whole = part.take_as_leader(Urgency::Interactive);
        let of_part = Waiters::new([part.clone()]).part_of(&Waiters::new([whole]));
        assert!(!of_part.is_gone());
        drop(caller);
        assert!(of_part.is_gone(), "the guard of the whole no longer counts");
        let other = part.take(Urgency::Interactive);
        assert!(!of_part.is_gone(), "a caller waits for the part itself");
        drop(for_the_whole);
        assert!(!of_part.is_gone(), "it still waits when the leader has left");
        drop(other);
        assert!(of_part.is_gone());
    }

    /// The guards of a leader come and go on another thread, while a follower waits all the time.
    #[test]
    fn a_follower_is_never_overlooked() {
        let (whole, part) = (WaiterCount::default(), WaiterCount::default());
        let of_part = Waiters::new([part.clone()]).part_of(&Waiters::new([whole]));
        let _follower = part.take(Urgency::Interactive);
        std::thread::scope(|scope| {
            let leaders = scope.spawn(|| {
                for _ in 0..200_000 {
                    drop(part.take_as_leader(Urgency::Interactive));
                }
            });
            while !leaders.is_finished() {
                assert!(!of_part.is_gone());
            }
        });
    }

    #[test]
    fn the_most_urgent_waiter_counts() {
        let count = WaiterCount::default();
        let waiters = Waiters::detached([count.clone()]);
        assert_eq!(waiters.urgency(), None);
        let background = count.take(Urgency::Background);
        assert_eq!(waiters.urgency(), Some(Urgency::Background));
        let batch = count.take(Urgency::Batch);
        let single = count.take(Urgency::Interactive);
        let again = single.clone();
        drop(single);
        assert_eq!(waiters.urgency(), Some(Urgency::Interactive));
        drop(again);
        assert_eq!(waiters.urgency(), Some(Urgency::Batch));
        drop((background, batch));
        assert_eq!(waiters.urgency(), None);
        assert!(!waiters.is_gone(), "it runs without waiters");
    }

    #[tokio::test]
    async fn work_notices_that_it_became_more_urgent() {
        let count = WaiterCount::default();
        let waiters = Waiters::new([count.clone()]);
        let _background = count.take(Urgency::Background);
        let mut joined = Box::pin(waiters.more_urgent_than(Urgency::Background));
        assert!((&mut joined).now_or_never().is_none());
        let _other = count.take(Urgency::Background);
        assert!((&mut joined).now_or_never().is_none(), "no more urgent than before");
        let _single = count.take(Urgency::Interactive);
        joined.await;
    }
}
