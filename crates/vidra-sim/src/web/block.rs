//! Blocks: an egress with too many player calls gets the bot wall until a test lifts it.

use crate::route::Endpoint;
use std::collections::BTreeMap;

/// The limit of player calls and their count, per egress.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The limit of every egress without its own.
    after: Option<u64>,
    after_by_egress: BTreeMap<String, u64>,
    player_calls: BTreeMap<String, u64>,
}

impl Blocks {
    pub(crate) fn all_after(&mut self, calls: u64) {
        self.player_calls.clear();
        self.after = Some(calls);
    }

    pub(crate) fn one_after(&mut self, egress: &str, calls: u64) {
        self.player_calls.remove(egress);
        self.after_by_egress.insert(egress.to_owned(), calls);
    }

    pub(crate) fn lift(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn lift_one(&mut self, egress: &str) {
        self.player_calls.remove(egress);
        self.after_by_egress.remove(egress);
    }

    /// Counts a call. Returns whether it is blocked.
    pub(crate) fn count(&mut self, endpoint: Endpoint, egress: &str) -> bool {
        let Some(after) = self.after_by_egress.get(egress).copied().or(self.after) else {
            return false;
        };
        let calls = self.player_calls.entry(egress.to_owned()).or_default();
        match endpoint {
            Endpoint::Player => {
                *calls += 1;
                *calls > after
            }
            // The captions of the last allowed player call are still served.
            Endpoint::TimedText | Endpoint::Watch => *calls > after,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn egresses_are_counted_separately() {
        let mut blocks = Blocks::default();
        assert!(!blocks.count(Endpoint::Player, "a"));
        blocks.all_after(2);
        blocks.one_after("b", 0);
        let calls: Vec<_> = (0..4).map(|_| blocks.count(Endpoint::Player, "a")).collect();
        assert_eq!(calls, [false, false, true, true]);
        assert!(blocks.count(Endpoint::TimedText, "a") && !blocks.count(Endpoint::TimedText, "c"));
        assert!(blocks.count(Endpoint::Player, "b"));
        blocks.lift_one("b");
        assert!(!blocks.count(Endpoint::Player, "b"));
        blocks.lift();
        assert!(!blocks.count(Endpoint::Player, "a"));
    }
}
