//! How much one caller may hold of what is scarce: the others shall have some left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rate::Neighbourhood;

/// One who is counted as one: by key, or else by address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Key(Arc<str>),
    Address(Neighbourhood),
}

/// What each holds now.
pub(crate) struct Shares {
    most: usize,
    held: Mutex<HashMap<Who, usize>>,
}

/// A part that is held, until it is dropped.
pub(crate) struct Held {
    shares: Arc<Shares>,
    who: Who,
}

impl Shares {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, held: Mutex::default() }
    }

    /// One more for `who`; `None` where it holds its share already.
    pub(crate) fn hold(self: &Arc<Self>, who: Who) -> Option<Held> {
        let mut held = self.lock();
        if held.get(&who).is_some_and(|count| *count >= self.most) {
            return None;
        }
        *held.entry(who.clone()).or_default() += 1;
        Some(Held { shares: Arc::clone(self), who })
    }

    /// How much all hold together.
    pub(crate) fn held(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Who, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.shares.lock();
        if let Some(count) = held.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_its_share_and_the_others_theirs() {
        let shares = Arc::new(Shares::new(2));
        let [alice, bob] = ["alice", "bob"].map(|name| Who::Key(name.into()));
        let first = shares.hold(alice.clone()).unwrap();
        let _second = shares.hold(alice.clone()).unwrap();
        assert!(shares.hold(alice.clone()).is_none());
        assert!(shares.hold(bob).is_some());
        drop(first);
        assert!(shares.hold(alice).is_some());
        assert_eq!(shares.lock().len(), 1, "nothing is kept of those who hold nothing");
    }
}
