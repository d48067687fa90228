//! How many units each caller may spend on `Cache-Control: no-cache`. Beyond that the cache answers: repeating an
//! expensive request must not use up the quota of all others.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::gate::CallerId;

/// The time after which a caller has its whole budget again.
const WINDOW: Duration = Duration::from_secs(3600);

/// The maximum number of callers that are remembered.
const MAX_CALLERS: usize = 10_000;

/// The units that callers have spent on bypassing the cache.
pub(crate) struct RefreshBudget {
    max_units: u32,
    callers: Mutex<HashMap<CallerId, Window>>,
}

struct Window {
    began: Instant,
    units: u32,
}

impl RefreshBudget {
    /// A budget of so many units an hour for each caller.
    pub(crate) fn new(max_units: u32) -> Self {
        Self { max_units, callers: Mutex::default() }
    }

    /// Whether the caller may bypass the cache now.
    pub(crate) fn allows(&self, caller: &CallerId) -> bool {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MAX_CALLERS {
            callers.retain(|_, window| window.began.elapsed() < WINDOW);
        }
        match callers.get(caller) {
            Some(window) if window.began.elapsed() < WINDOW => window.units < self.max_units,
            Some(_) => self.max_units > 0,
            None => self.max_units > 0 && callers.len() < MAX_CALLERS,
        }
    }

    /// Counts the units of a request that has bypassed the cache.
    pub(crate) fn spend(&self, caller: CallerId, units: u32) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let window = callers.entry(caller).or_insert(Window { began: now, units: 0 });
        if now.saturating_duration_since(window.began) >= WINDOW {
            *window = Window { began: now, units: 0 };
        }
        window.units = window.units.saturating_add(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> CallerId {
        CallerId::Key(name.into())
    }

    #[tokio::test(start_paused = true)]
    async fn review_s11_each_caller_has_its_own_budget_for_an_hour() {
        let budget = RefreshBudget::new(100);
        for _ in 0..2 {
            assert!(budget.allows(&key("alice")));
            budget.spend(key("alice"), 60);
        }
        assert!(!budget.allows(&key("alice")));
        assert!(budget.allows(&key("bob")));
        tokio::time::advance(WINDOW).await;
        assert!(budget.allows(&key("alice")));
        budget.spend(key("alice"), 99);
        assert!(budget.allows(&key("alice")));
    }

    #[tokio::test(start_paused = true)]
    async fn review_s11_many_callers_do_not_fill_the_memory() {
        let budget = RefreshBudget::new(100);
        for number in 0..MAX_CALLERS {
            budget.spend(key(&number.to_string()), 1);
        }
        assert!(!budget.allows(&key("one more")) && budget.allows(&key("7")));
        tokio::time::advance(WINDOW).await;
        assert!(budget.allows(&key("one more")));
        assert_eq!(budget.callers.lock().unwrap().len(), 0);
    }
}
