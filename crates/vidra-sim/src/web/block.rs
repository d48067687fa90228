//! Blocks: an address that asked too often gets the bot wall, until somebody lifts it.

use crate::route::Endpoint;
use std::collections::BTreeMap;

/// How often each egress may call the player, and how often it did.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// For every egress that has no number of its own.
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

    /// Counts a call; whether it meets the wall.
    pub(crate) fn meet(&mut self, endpoint: Endpoint, egress: &str) -> bool {
        let Some(after) = self.after_by_egress.get(egress).copied().or(self.after) else {
            return false;
        };
        let calls = self.player_calls.entry(egress.to_owned()).or_default();
        match endpoint {
            Endpoint::Player => {
                *calls += 1;
                *calls > after
            }
            // The text of the last good player answer is still served.
            Endpoint::TimedText | Endpoint::Watch => *calls > after,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_egress_is_counted_by_itself() {
        let mut blocks = Blocks::default();
        assert!(!blocks.meet(Endpoint::Player, "a"));
        blocks.all_after(2);
        blocks.one_after("b", 0);
        let calls: Vec<_> = (0..4).map(|_| blocks.meet(Endpoint::Player, "a")).collect();
        assert_eq!(calls, [false, false, true, true]);
        assert!(blocks.meet(Endpoint::TimedText, "a") && !blocks.meet(Endpoint::TimedText, "c"));
        assert!(blocks.meet(Endpoint::Player, "b"));
        blocks.lift_one("b");
        assert!(!blocks.meet(Endpoint::Player, "b"));
        blocks.lift();
        assert!(!blocks.meet(Endpoint::Player, "a"));
    }
}
