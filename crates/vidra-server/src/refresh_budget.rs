//! How many units each caller may spend on `Cache-Control: no-cache`. Beyond that the cache answers: repeating an
//! expensive request must not use up the quota of all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vidra::Cost;

use crate::gate::CallerId;

/// The time after which a caller has its whole budget again.
const WINDOW: Duration = Duration::from_secs(3600);

/// The maximum number of callers that are remembered.
const MAX_CALLERS: usize = 10_000;

/// How many requests of one caller may bypass the cache at once. Their cost is not known before they end.
const MAX_RUNNING: usize = 4;

/// The units that callers have spent on bypassing the cache. Clones share them.
#[derive(Clone)]
pub(crate) struct RefreshBudget {
    max_units: u32,
    callers: Arc<Mutex<HashMap<CallerId, Window>>>,
}

struct Window {
    began: Instant,
    units: u32,
    /// The requests that run.
    running: usize,
}

/// A request that bypasses the cache. Its cost is counted when it ends, also if its caller disconnects.
pub(crate) struct Refresh {
    budget: RefreshBudget,
    caller: CallerId,
    cost: Cost,
}

impl RefreshBudget {
    /// A budget of so many units an hour for each caller.
    pub(crate) fn new(max_units: u32) -> Self {
        Self { max_units, callers: Arc::default() }
    }

    /// Begins a request that bypasses the cache. `None` if the caller may not do so now.
    pub(crate) fn begin(&self, caller: CallerId, cost: Cost) -> Option<Refresh> {
        let now = Instant::now();
        let is_over = |window: &Window| {
            window.running == 0 && now.saturating_duration_since(window.began) >= WINDOW
        };
        let mut callers = self.lock();
        if callers.len() >= MAX_CALLERS {
            callers.retain(|_, window| !is_over(window));
        }
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&caller) {
            return None;
        }
        let new = || Window { began: now, units: 0, running: 0 };
        let window = callers.entry(caller.clone()).or_insert_with(new);
        if is_over(window) {
            *window = new();
        }
        if window.units >= self.max_units || window.running >= MAX_RUNNING {
            return None;
        }
        window.running += 1;
        Some(Refresh { budget: self.clone(), caller, cost })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallerId, Window>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Refresh {
    fn drop(&mut self) {
        if let Some(window) = self.budget.lock().get_mut(&self.caller) {
            window.running -= 1;
            window.units = window.units.saturating_add(self.cost.units());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller that has spent so many units.
    fn spend(budget: &RefreshBudget, name: &str, units: u32) {
        let refresh = budget.begin(key(name), Cost::default());
        assert!(refresh.is_some(), "{name}");
        budget.lock().get_mut(&key(name)).unwrap().units += units;
    }

    fn allows(budget: &RefreshBudget, name: &str) -> bool {
        budget.begin(key(name), Cost::default()).is_some()
    }

    fn key(name: &str) -> CallerId {
        CallerId::Key(name.into())
    }

    #[tokio::test(start_paused = true)]
    async fn review_s11_each_caller_has_its_own_budget_for_an_hour() {
        let budget = RefreshBudget::new(100);
        spend(&budget, "alice", 60);
        spend(&budget, "alice", 60);
        assert!(!allows(&budget, "alice"));
        assert!(allows(&budget, "bob"));
        tokio::time::advance(WINDOW).await;
        spend(&budget, "alice", 99);
        assert!(allows(&budget, "alice"));
        assert!(!allows(&RefreshBudget::new(0), "alice"));
    }

    #[tokio::test(start_paused = true)]
    async fn review_s11_few_requests_of_a_caller_bypass_the_cache_at_once() {
        let budget = RefreshBudget::new(100);
        let running: Vec<_> =
            (0..10).filter_map(|_| budget.begin(key("alice"), Cost::default())).collect();
        assert_eq!(running.len(), MAX_RUNNING);
        assert!(allows(&budget, "bob"));
        drop(running);
        assert!(allows(&budget, "alice"));
    }

    #[tokio::test(start_paused = true)]
    async fn review_s11_many_callers_do_not_fill_the_memory() {
        let budget = RefreshBudget::new(100);
        for number in 0..MAX_CALLERS {
            spend(&budget, &number.to_string(), 1);
        }
        assert!(!allows(&budget, "one more") && allows(&budget, "7"));
        tokio::time::advance(WINDOW).await;
        assert!(allows(&budget, "one more"));
        assert_eq!(budget.lock().len(), 1);
    }
}
