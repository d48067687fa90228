//! The turn of a machine to list a playlist that other machines need too.

use std::time::Duration;

use tokio::time::Instant;

use super::{EntryList, State, Walk};
use crate::cache::TurnOutcome;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::resource::Services;

impl Walk {
    /// Waits until it is this machine's turn to list the playlist, and returns `None`; or returns the list of another
    /// machine and its age.
    pub(super) async fn turn(
        &self,
        services: &Services,
        ctx: &Context,
    ) -> Result<Option<(EntryList, Duration)>> {
        {
            let mut state = self.lock();
            // After an error of one follower, the turn of this machine continues.
            if !self.is_shared || !state.pages.is_empty() || state.turn.is_some() {
                return Ok(None);
            }
            state.is_waiting = true;
        }
        let outcome = services.cache.turn(&self.key, ctx).await;
        self.lock().is_waiting = false;
        match outcome {
            TurnOutcome::Fetch(turn) => {
                let mut state = self.lock();
                // Its followers may have left meanwhile.
                match state.whole_followers {
                    0 => state.has_lost_turn |= turn.is_some(),
                    _ => state.turn = turn,
                }
                Ok(None)
            }
            TurnOutcome::Ended(list) => {
                let list = list?;
                // A list that cannot be read is fetched again.
                Ok(list.decode().ok().map(|entries| (entries, list.age)))
            }
        }
    }

    /// Takes over the list of another machine.
    pub(super) fn take_over(&self, list: &EntryList, age: Duration) {
        let mut state = self.lock();
        state.pages = list.to_pages();
        state.listed_at = Instant::now().checked_sub(age);
        state.is_from_another_machine = true;
        state.end = Some(Ok(()));
    }

    /// Ends the walk with an error of another machine, which is cached already.
    pub(super) fn fail(&self, error: Error) {
        self.lock().end = Some(Err(error));
    }

    /// Ends the turn after the list is written.
    pub(super) fn end_turn(&self, services: &Services, state: &mut State) {
        if let Some(turn) = state.turn.take() {
            services.cache.end_after_write(turn, vec![self.key.clone()]);
        }
    }
}
