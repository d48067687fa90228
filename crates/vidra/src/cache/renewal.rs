//! How much is renewed while nobody has to wait for it: with something at hand to give out, a platform
//! in trouble is left alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The most that are under way together: one full call of single videos.
const MOST: usize = 50;

/// So many failures in a row are no accident.
const TOLERATED: u32 = 5;

/// The pause after that many, doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Decides whether something is renewed now.
pub(crate) struct Renewals {
    places: Arc<Semaphore>,
    trouble: Mutex<Trouble>,
}

#[derive(Default)]
struct Trouble {
    in_a_row: u32,
    /// Before this nothing is renewed.
    not_before: Option<Instant>,
}

/// A renewal that is under way.
pub(crate) struct Renewal {
    of: Arc<Renewals>,
    /// Whether it finds out if the trouble is over.
    is_probe: bool,
    /// `None` where somebody waits for it, who is not to be turned away because others do not.
    _place: Option<OwnedSemaphorePermit>,
}

impl Default for Renewals {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MOST)), trouble: Mutex::default() }
    }
}

impl Renewals {
    /// Begins one in the background. `None` where it has to wait for another occasion.
    pub(crate) fn begin(self: &Arc<Self>, now: Instant) -> Option<Renewal> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut renewal = self.begin_waited_for(now)?;
        renewal._place = Some(place);
        Some(renewal)
    }

    /// Begins one that somebody waits for. After a pause one at a time finds out whether the trouble
    /// is over.
    pub(crate) fn begin_waited_for(self: &Arc<Self>, now: Instant) -> Option<Renewal> {
        let mut trouble = self.lock();
        if trouble.not_before.is_some_and(|not_before| now < not_before) {
            return None;
        }
        let is_probe = trouble.in_a_row >= TOLERATED;
        if is_probe {
            trouble.not_before = Some(now + trouble.pause());
        }
        Some(Renewal { of: Arc::clone(self), is_probe, _place: None })
    }

    /// Whether nothing is renewed now, because too much has failed.
    pub(crate) fn are_paused(&self) -> bool {
        self.lock().in_a_row >= TOLERATED
    }

    fn lock(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Renewal {
    /// What came of it, as far as it tells about the platform.
    pub(crate) fn end(mut self, is_trouble: bool) {
        self.is_probe = false;
        let mut trouble = self.of.lock();
        if is_trouble {
            trouble.in_a_row = trouble.in_a_row.saturating_add(1);
            if trouble.in_a_row >= TOLERATED {
                trouble.not_before = Some(Instant::now() + trouble.pause());
            }
        } else {
            *trouble = Trouble::default();
        }
    }
}

impl Drop for Renewal {
    /// One that was finding out and found nothing leaves that to the next.
    fn drop(&mut self) {
        if self.is_probe {
            self.of.lock().not_before = None;
        }
    }
}

impl Trouble {
    fn pause(&self) -> Duration {
        let doublings = self.in_a_row.saturating_sub(TOLERATED).min(16);
        FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_five_failures_one_at_a_time_finds_out() {
        let renewals = Arc::new(Renewals::default());
        let begin = || renewals.begin(Instant::now());
        for _ in 0..5 {
            begin().unwrap().end(true);
        }
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            assert!(begin().is_none());
            tokio::time::advance(Duration::from_secs(pause)).await;
            let probe = begin().unwrap();
            assert!(begin().is_none(), "one is finding out");
            probe.end(true);
        }
        tokio::time::advance(LONGEST_PAUSE).await;
        begin().unwrap().end(false);
        let many: Vec<_> = (0..MOST).map(|_| begin().unwrap()).collect();
        assert!(begin().is_none(), "all places are taken");
        drop(many);
        assert!(begin().is_some());
    }
}
