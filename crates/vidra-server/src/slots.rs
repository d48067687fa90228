//! Slots that are counted by key: the connections of an address, the batches of a caller.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the slots that each key holds.
pub(crate) struct Slots<K>(Mutex<HashMap<K, usize>>);

/// One slot. Dropping it returns the slot.
pub(crate) struct Slot<K: Hash + Eq> {
    slots: Arc<Slots<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Slots<K> {
    /// Takes a slot; `None` if the key already holds `max`.
    pub(crate) fn take(self: &Arc<Self>, key: K, max: usize) -> Option<Slot<K>> {
        let mut taken = self.lock();
        if taken.get(&key).is_some_and(|count| *count >= max) {
            return None;
        }
        *taken.entry(key.clone()).or_default() += 1;
        Some(Slot { slots: Arc::clone(self), key })
    }
}

impl<K> Slots<K> {
    /// The slots of all keys together.
    pub(crate) fn total(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_slots() {
        let slots = Arc::new(Slots::default());
        let first = slots.take("alice", 2).unwrap();
        let _second = slots.take("alice", 2).unwrap();
        assert!(slots.take("alice", 2).is_none());
        assert!(slots.take("bob", 2).is_some());
        assert_eq!(slots.total(), 2);
        drop(first);
        assert!(slots.take("alice", 2).is_some());
        assert_eq!(slots.lock().len(), 1, "keys without slots are removed");
    }
}
