//! Budgets of bytes that all large answers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes that several answers share.
pub(super) struct Budget {
    pub(super) max: u64,
    used: AtomicU64,
}

impl Budget {
    pub(super) fn new(max: u64) -> Arc<Self> {
        Arc::new(Self { max, used: AtomicU64::new(0) })
    }

    /// The bytes that are taken.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// A share of a budget, returned when it is dropped.
pub(crate) struct BudgetShare {
    budget: Arc<Budget>,
    bytes: u64,
}

impl BudgetShare {
    pub(super) fn none(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Takes more of the budget. Returns `false` if it has too little left.
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let Budget { max, used } = &*self.budget;
        let within = |used: u64| used.checked_add(bytes).filter(|sum| sum <= max);
        let has_grown = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok();
        self.bytes += if has_grown { bytes } else { 0 };
        has_grown
    }

    pub(super) fn shrink_to(&mut self, bytes: u64) {
        self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

/// The share of a large answer in the budget of memory ([`Builder::max_answer_memory`](crate::Builder)). Whoever
/// sends the answer holds it until the end; a cache, which has a limit of its own, does not.
pub struct AnswerMemory(#[expect(dead_code, reason = "it is only dropped")] pub(super) BudgetShare);

impl std::fmt::Debug for AnswerMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AnswerMemory")
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
