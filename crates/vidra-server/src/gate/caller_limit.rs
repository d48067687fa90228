//! How many batches one caller may run at once, so that others can run some too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rate::ClientNetwork;

/// A caller: its key, or its address without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallerId {
    Key(Arc<str>),
    Address(ClientNetwork),
}

/// Counts the slots that each caller holds.
pub(crate) struct CallerLimit {
    max: usize,
    taken: Mutex<HashMap<CallerId, usize>>,
}

/// A slot of a caller. Dropping it returns the slot.
pub(crate) struct CallerSlot {
    limit: Arc<CallerLimit>,
    caller: CallerId,
}

impl CallerLimit {
    /// Each caller gets `max` slots.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, taken: Mutex::default() }
    }

    /// Takes a slot; `None` if the caller holds all of its slots.
    pub(crate) fn take(self: &Arc<Self>, caller: CallerId) -> Option<CallerSlot> {
        let mut taken = self.lock();
        if taken.get(&caller).is_some_and(|count| *count >= self.max) {
            return None;
        }
        *taken.entry(caller.clone()).or_default() += 1;
        Some(CallerSlot { limit: Arc::clone(self), caller })
    }

    /// The slots of all callers together.
    pub(crate) fn total(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallerId, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut taken = self.limit.lock();
        if let Some(count) = taken.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_its_own_slots() {
        let limit = Arc::new(CallerLimit::new(2));
        let [alice, bob] = ["alice", "bob"].map(|name| CallerId::Key(name.into()));
        let first = limit.take(alice.clone()).unwrap();
        let _second = limit.take(alice.clone()).unwrap();
        assert!(limit.take(alice.clone()).is_none());
        assert!(limit.take(bob).is_some());
        drop(first);
        assert!(limit.take(alice).is_some());
        assert_eq!(limit.lock().len(), 1, "callers without slots are forgotten");
    }
}
