//! Blocks: an egress with too many player calls gets the bot wall, for a time or until a test lifts it.

use crate::route::Endpoint;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// A rule that blocks one egress or all of them, each by its own count and its own time.
///
/// A blocked egress gets the bot wall from the player, and 429 for watch pages and timed text. Feeds are
/// served. The egress of a call is the value of the header `X-Sim-Egress`, which a [`crate::proxy::Proxy`]
/// adds, or `direct`.
///
/// ```
/// use std::time::Duration;
/// use vidra_sim::{Block, Simulator};
/// // After 20 player calls `a` is blocked until it sends nothing for ten minutes.
/// let block = Block::after(20).egress("a").lasting(Duration::from_secs(600)).extending();
/// Simulator::new().block(block);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    after: u64,
    egress: Option<String>,
    lasts: Option<Duration>,
    extends: bool,
    repeats: bool,
}

impl Block {
    /// Blocks every egress after that many player calls, until it is lifted.
    pub fn after(player_calls: u64) -> Self {
        Self { after: player_calls, egress: None, lasts: None, extends: false, repeats: false }
    }

    /// Only this egress.
    pub fn egress(mut self, name: impl Into<String>) -> Self {
        self.egress = Some(name.into());
        self
    }

    /// The block ends by itself, so long after the first refused call by the simulator's clock.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasts = Some(time);
        self
    }

    /// Every refused call starts the time of the block anew.
    pub fn extending(mut self) -> Self {
        self.extends = true;
        self
    }

    /// After its end the rule counts player calls again, and blocks again.
    pub fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }
}

/// The rules, and the state of each egress.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The rule of every egress without its own.
    all: Option<Block>,
    by_egress: BTreeMap<String, Block>,
    states: BTreeMap<String, State>,
}

#[derive(Debug, Default)]
struct State {
    player_calls: u64,
    /// The end of the block, if it has begun and ends by itself.
    until: Option<Timestamp>,
    /// The block has ended and does not come back.
    is_over: bool,
}

impl Blocks {
    /// Adds a rule in place of an earlier one for the same egress, and resets the state of its egresses.
    pub(crate) fn add(&mut self, block: Block) {
        match &block.egress {
            Some(egress) => {
                self.states.remove(egress);
                self.by_egress.insert(egress.clone(), block);
            }
            None => {
                self.states.clear();
                self.all = Some(block);
            }
        }
    }

    pub(crate) fn lift(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn lift_one(&mut self, egress: &str) {
        self.states.remove(egress);
        self.by_egress.remove(egress);
    }

    /// Counts a call. Returns whether it is blocked.
    pub(crate) fn count(&mut self, endpoint: Endpoint, egress: &str, now: Timestamp) -> bool {
        let Some(rule) = self.by_egress.get(egress).or(self.all.as_ref()) else { return false };
        let state = self.states.entry(egress.to_owned()).or_default();
        if state.until.is_some_and(|until| until <= now) {
            *state = State { is_over: !rule.repeats, ..State::default() };
        }
        match endpoint {
            _ if state.is_over => return false,
            Endpoint::Player => state.player_calls += 1,
            // The captions of the last allowed player call are still served.
            Endpoint::TimedText | Endpoint::Watch => {}
            _ => return false,
        }
        let is_blocked = state.player_calls > rule.after;
        if let Some(time) = rule.lasts.filter(|_| is_blocked)
            && (state.until.is_none() || rule.extends)
        {
            state.until = Some(now.checked_add(time).unwrap_or(Timestamp::MAX));
        }
        is_blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn player(blocks: &mut Blocks, egress: &str, second: i64) -> bool {
        let now = Timestamp::from_second(second).expect("a time");
        blocks.count(Endpoint::Player, egress, now)
    }

    #[test]
    fn egresses_are_counted_separately() {
        let mut blocks = Blocks::default();
        assert!(!player(&mut blocks, "a", 0));
        blocks.add(Block::after(2));
        blocks.add(Block::after(0).egress("b"));
        let calls: Vec<_> = (0..4).map(|_| player(&mut blocks, "a", 0)).collect();
        assert_eq!(calls, [false, false, true, true]);
        assert!(blocks.count(Endpoint::TimedText, "a", NOW));
        assert!(!blocks.count(Endpoint::TimedText, "c", NOW));
        assert!(player(&mut blocks, "b", 0));
        blocks.lift_one("b");
        assert!(!player(&mut blocks, "b", 0));
        blocks.lift();
        assert!(!player(&mut blocks, "a", 0));
    }

    #[test]
    fn a_block_lasts_from_the_first_refused_call() {
        let mut blocks = Blocks::default();
        blocks.add(Block::after(1).lasting(Duration::from_secs(60)));
        let calls = [0, 100, 130, 159, 160, 400].map(|at| player(&mut blocks, "a", at));
        assert_eq!(calls, [false, true, true, true, false, false]);
        // Each egress has its own time.
        assert_eq!([150, 150, 209].map(|at| player(&mut blocks, "b", at)), [false, true, true]);
        assert!(!player(&mut blocks, "b", 210));
    }

    #[test]
    fn refused_calls_extend_a_block_on_request() {
        let mut blocks = Blocks::default();
        blocks.add(Block::after(0).lasting(Duration::from_secs(60)).extending());
        let calls = [0, 59, 118, 177, 237].map(|at| player(&mut blocks, "a", at));
        assert_eq!(calls, [true, true, true, true, false]);
    }

    #[test]
    fn a_repeating_block_counts_again_after_its_end() {
        let mut blocks = Blocks::default();
        blocks.add(Block::after(1).lasting(Duration::from_secs(60)).repeating());
        let calls = [0, 0, 60, 61, 120, 121, 122].map(|at| player(&mut blocks, "a", at));
        assert_eq!(calls, [false, true, false, true, true, false, true]);
    }
}
