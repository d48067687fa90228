//! The state of a walk.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::entries::{Entry, EntryList};
use crate::cache::Turn;
use crate::context::Context;
use crate::data_api::pages::Pages;
use crate::error::{Error, Result};

pub(super) struct State {
    /// The pages so far, each with its token.
    pub(super) pages: Vec<(String, Arc<Vec<Entry>>)>,
    /// YouTube's own count of the entries.
    pub(super) reported_total: Option<usize>,
    /// The time of the first page. All data of the walk are at most this old.
    pub(super) listed_at: Option<Instant>,
    /// `None` while a page is being fetched.
    pub(super) position: Option<Pages>,
    /// The token of the page after `pages`. `None` past the last page.
    pub(super) next_token: Option<String>,
    /// `Some` past the last page, or after an error that concerns all followers.
    pub(super) end: Option<Result<()>>,
    /// The followers that wait for the next page, in order of arrival. The first one pays for it.
    pub(super) requests: Vec<PageRequest>,
    /// The number of the next waiting follower.
    pub(super) next: u64,
    pub(super) has_panicked: bool,
    /// The turn of this machine to list the playlist. It ends with the walk, or with the last follower that needs the
    /// whole list.
    pub(super) turn: Option<Turn>,
    pub(super) whole_followers: usize,
    /// Whether the turn ended before the walk.
    pub(super) has_lost_turn: bool,
    /// Whether it waits for another machine that lists the playlist.
    pub(super) is_waiting: bool,
    /// Whether another machine listed the playlist.
    pub(super) is_from_another_machine: bool,
}

impl State {
    pub(super) fn age(&self) -> Duration {
        self.listed_at.map_or(Duration::ZERO, |listed_at| listed_at.elapsed())
    }

    pub(super) fn listed(&self) -> EntryList {
        EntryList::from_pages(&self.pages)
    }

    pub(super) fn total(&self) -> usize {
        let listed = self.pages.iter().map(|(_, page)| page.len()).sum();
        match self.end {
            Some(Ok(())) => listed,
            _ => self.reported_total.map_or(listed, |total| listed.max(total)),
        }
    }

    pub(super) fn is_total_known(&self) -> bool {
        self.reported_total.is_some() || matches!(self.end, Some(Ok(())))
    }
}

/// A follower that waits for the next page.
pub(super) struct PageRequest {
    pub(super) number: u64,
    pub(super) ctx: Context,
    /// An error that concerns this follower only: its budget is exhausted, or its deadline has
    /// passed.
    pub(super) error: Option<Error>,
}
