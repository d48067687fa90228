//! Who still waits for what is being asked for: with nobody left, nothing more is charged for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Those who wait for an answer, of one flight or of several that are asked for together. What is asked
/// for its own sake, as renewals are, has none, and is never given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audience(Vec<Seats>);

/// The seats at one flight, by how many are taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seats(Arc<AtomicUsize>);

/// A place among those who wait, free as soon as it is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Seats);

impl Seats {
    pub(crate) fn take(&self) -> Seat {
        self.0.fetch_add(1, Ordering::Relaxed);
        Seat(self.clone())
    }
}

impl Clone for Seat {
    fn clone(&self) -> Self {
        self.0.take()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Audience {
    /// Those who wait for any of these flights.
    pub(crate) fn of(flights: impl IntoIterator<Item = Seats>) -> Self {
        Self(flights.into_iter().collect())
    }

    /// Whether there was somebody, and nobody is left.
    pub(crate) fn is_gone(&self) -> bool {
        let is_empty = |Seats(taken): &Seats| taken.load(Ordering::Relaxed) == 0;
        !self.0.is_empty() && self.0.iter().all(is_empty)
    }

    /// All of these together; what one of them is asked for its own sake, all are.
    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let all: Option<Vec<&[Seats]>> =
            all.map(|Self(flights)| (!flights.is_empty()).then_some(&flights[..])).collect();
        Self(all.map(|flights| flights.concat()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_when_the_last_seat_is_free() {
        let (one, other) = (Seats::default(), Seats::default());
        let (first, second) = (one.take(), other.take());
        let of_one = Audience::of([one]);
        let own_sake = Audience::default();
        let both = Audience::together([&of_one, &Audience::of([other])].into_iter());
        let any = Audience::together([&both, &own_sake].into_iter());
        let again = first.clone();
        drop(first);
        assert!(!of_one.is_gone());
        drop(again);
        assert!(of_one.is_gone() && !both.is_gone());
        drop(second);
        assert!(both.is_gone() && !any.is_gone() && !own_sake.is_gone());
    }
}
