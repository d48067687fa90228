//! Walks through the pages of a playlist. Concurrent operations on the same playlist follow one
//! walk from its first page, so that each page is fetched once.

mod state;
mod turn;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::entries::{Entry, EntryList};
use super::page::{self, EntryPage};
use crate::cache::Key;
use crate::context::waiters::{WaiterCount, Waiters};
use crate::context::{CacheMode, Context, no_waiters};
use crate::data_api::pages::Pages;
use crate::data_api::wire;
use crate::error::{Error, Result};
use crate::ident::PlaylistId;
use crate::resource::Services;
use crate::resource::lookup::{self, Lookup};
use crate::transport::traced;
use state::{PageRequest, State};

/// The running walks by playlist, and by the entries that the follower who began it needed.
#[derive(Default)]
pub(crate) struct Walks(Mutex<HashMap<(PlaylistId, Needed), Weak<Walk>>>);

/// One walk. It fetches a page on demand of a follower, and ends with its last follower.
struct Walk {
    key: Key,
    began: Instant,
    /// Whether it waits for other machines that list the whole playlist.
    is_shared: bool,
    state: Mutex<State>,
    /// Wakes the followers after a new page or the end of the walk.
    changed: Notify,
    followers: WaiterCount,
}

/// The entries that a follower needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Needed {
    Whole,
    Part,
}

/// A follower of a walk.
pub(crate) struct Follower {
    services: Arc<Services>,
    walk: Arc<Walk>,
    ctx: Context,
    /// The number of pages that it has read.
    read: usize,
    has_begun_walk: bool,
    /// `None` if it needs only a part.
    _whole: Option<WholeFollower>,
}

/// Counts a follower that needs the whole list. The turn of this machine ends with the last of them, because a batch that
/// follows the same walk may take hours.
struct WholeFollower(Arc<Walk>);

impl WholeFollower {
    fn of(walk: &Arc<Walk>) -> Self {
        walk.lock().whole_followers += 1;
        Self(Arc::clone(walk))
    }
}

impl Drop for WholeFollower {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.whole_followers -= 1;
        let ended = if state.whole_followers == 0 { state.turn.take() } else { None };
        state.has_lost_turn |= ended.is_some();
        drop(state);
        drop(ended);
    }
}

impl Walks {
    /// Follows the walk through a playlist from its first page. A refresh starts a new walk. A caller that needs the whole
    /// list waits for another machine that lists it. A caller that needs only a part would wait too long, and starts a walk
    /// of its own.
    pub(crate) fn follow(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
        needed: Needed,
    ) -> Follower {
        let mut walks = services.walks.lock();
        let under_way = |needed| walks.get(&(id.clone(), needed)).and_then(Weak::upgrade);
        // A batch with a slow reader can walk for hours, and its first pages become stale.
        let is_recent = |walk: &Walk| walk.began.elapsed() < services.cache.fetch_time;
        let is_shared = |walk: &Arc<Walk>| {
            ctx.mode != CacheMode::Refresh && !walk.has_ended() && is_recent(walk)
        };
        let suits = |walk: &Arc<Walk>| match needed {
            // Another machine may list it now.
            Needed::Whole => !walk.lock().has_lost_turn,
            Needed::Part => !walk.lock().is_waiting,
        };
        let whole = under_way(Needed::Whole).filter(is_shared).filter(suits);
        let shared = whole.or_else(|| under_way(Needed::Part).filter(is_shared));
        let has_begun_walk = shared.is_none();
        let walk = shared.unwrap_or_else(|| {
            let walk = Arc::new(Walk::new(id, needed == Needed::Whole));
            walks.retain(|_, walk| walk.strong_count() > 0);
            walks.insert((id.clone(), needed), Arc::downgrade(&walk));
            walk
        });
        drop(walks);
        let whole = (needed == Needed::Whole).then(|| WholeFollower::of(&walk));
        let (services, ctx) = (Arc::clone(services), ctx.clone());
        Follower { services, walk, ctx, read: 0, has_begun_walk, _whole: whole }
    }

    /// The number of followers that wait for a page.
    pub(crate) fn held(&self) -> usize {
        let walks = self.lock();
        walks.values().filter_map(Weak::upgrade).map(|walk| walk.followers.taken()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(PlaylistId, Needed), Weak<Walk>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    /// Whether this follower started the walk, and this machine fetches its pages.
    pub(crate) fn has_begun_walk(&self) -> bool {
        self.has_begun_walk && !self.walk.lock().is_from_another_machine
    }

    /// The age of the first page.
    pub(crate) fn age(&self) -> Duration {
        self.walk.lock().age()
    }

    /// The number of entries: exact after the last page, before it YouTube's own count.
    pub(crate) fn total(&self) -> usize {
        self.walk.lock().total()
    }

    /// Waits for the first page, and returns it with the token of the second one.
    pub(crate) async fn first_page(&self) -> Result<EntryPage> {
        self.begin().await?;
        let state = self.walk.lock();
        let entries = state.pages.first().map(|(_, page)| page.to_vec()).unwrap_or_default();
        let next = state.pages.get(1).map(|(token, _)| token).or(state.next_token.as_ref());
        Ok(EntryPage { entries, next: next.cloned() })
    }

    /// All entries of the pages so far.
    pub(crate) fn listed(&self) -> EntryList {
        self.walk.lock().listed()
    }

    /// [`Self::total`], unless YouTube sends no count and the end is not reached.
    pub(crate) fn known_total(&self) -> Option<usize> {
        let state = self.walk.lock();
        state.is_total_known().then(|| state.total())
    }

    /// The pages so far, of a walk that has not reached the end of the list.
    pub(crate) fn unfinished(&self) -> Option<Vec<Arc<Vec<Entry>>>> {
        let state = self.walk.lock();
        let pages = || state.pages.iter().map(|(_, page)| Arc::clone(page)).collect();
        (state.end.is_none() && !state.pages.is_empty()).then(pages)
    }

    /// Waits for the first page without reading it. Its errors are those of the whole list.
    pub(crate) async fn begin(&self) -> Result<()> {
        match self.walk.page(0) {
            Some(page) => page.map(drop),
            None => self.wait().await.map(drop),
        }
    }

    /// Returns the next page. `None` after the last. It waits until the deadline of its operation.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Vec<Entry>>>> {
        let page = match self.walk.page(self.read) {
            Some(page) => page?,
            None => self.wait().await?,
        };
        self.read += usize::from(page.is_some());
        Ok(page)
    }

    /// Waits for the next page, and fetches it unless another follower does.
    async fn wait(&self) -> Result<Option<Arc<Vec<Entry>>>> {
        let Self { services, walk, ctx, .. } = self;
        let _guard = walk.followers.take(ctx.urgency);
        let number = walk.request_page(ctx);
        let _request = PageRequestGuard { walk, number };
        loop {
            let mut changed = pin!(walk.changed.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            changed.as_mut().enable();
            if let Some(page) = walk.page(self.read) {
                return page;
            }
            if let Some(error) = walk.error_of(number) {
                return Err(error);
            }
            walk.fetch_next(services);
            tokio::select! {
                biased;
                changed = timeout_at(ctx.deadline, changed) => changed.map_err(|_| Error::past_deadline())?,
                () = ctx.waiters.gone() => return Err(no_waiters()),
            }
        }
    }
}

/// Withdraws a request when its follower stops waiting.
struct PageRequestGuard<'a> {
    walk: &'a Walk,
    number: u64,
}

impl Drop for PageRequestGuard<'_> {
    fn drop(&mut self) {
        self.walk.lock().requests.retain(|request| request.number != self.number);
    }
}

impl Walk {
    fn new(id: &PlaylistId, is_shared: bool) -> Self {
        let state = State {
            pages: vec![],
            reported_total: None,
            listed_at: None,
            position: Some(Pages::new(page::call(id))),
            next_token: None,
            end: None,
            requests: vec![],
            next: 0,
            has_panicked: false,
            turn: None,
            whole_followers: 0,
            has_lost_turn: false,
            is_waiting: false,
            is_from_another_machine: false,
        };
        Self {
            key: Lookup::PlaylistEntries(id.clone()).key(),
            began: Instant::now(),
            is_shared,
            state: Mutex::new(state),
            changed: Notify::new(),
            followers: WaiterCount::default(),
        }
    }

    /// Whether nobody else may follow it. A complete list is in the cache, where it has an age.
    fn has_ended(&self) -> bool {
        let state = self.lock();
        state.has_panicked || state.end.is_some()
    }

    /// The page at `index`, or the end of the walk. `None` if the page has not arrived.
    ///
    /// # Panics
    ///
    /// Panics if the walk panicked, so that the operation is retried like one that panics itself.
    fn page(&self, index: usize) -> Option<Result<Option<Arc<Vec<Entry>>>>> {
        let state = self.lock();
        assert!(!state.has_panicked, "the walk through a playlist panicked");
        match (state.pages.get(index), &state.end) {
            (Some((_, page)), _) => Some(Ok(Some(Arc::clone(page)))),
            (None, Some(end)) => Some(end.clone().map(|()| None)),
            (None, None) => None,
        }
    }

    fn request_page(&self, ctx: &Context) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.requests.push(PageRequest { number, ctx: ctx.clone(), error: None });
        number
    }

    fn error_of(&self, number: u64) -> Option<Error> {
        let mut state = self.lock();
        let request = state.requests.iter_mut().find(|request| request.number == number)?;
        request.error.take()
    }

    /// Fetches the next page in its own task, unless a fetch is running. A follower that leaves
    /// must not cancel it for others.
    fn fetch_next(self: &Arc<Self>, services: &Arc<Services>) {
        let mut state = self.lock();
        let Some(request) = state.requests.iter().find(|request| request.error.is_none()) else {
            return;
        };
        let (payer, ctx) = (request.number, request.ctx.clone());
        let Some(mut position) = state.position.take() else { return };
        drop(state);
        let token = position.token().unwrap_or_default().to_owned();
        // Shared work does not inherit the limits of one follower.
        let deadline = ctx.deadline.max(Instant::now() + services.cache.fetch_time);
        let waiters = Waiters::new([self.followers.clone()]);
        let ctx = Context { deadline, waiters, ..ctx };
        let (walk, services) = (Arc::clone(self), Arc::clone(services));
        let fetched = Fetched { walk: Arc::clone(self) };
        traced::spawn(async move {
            match walk.turn(&services, &ctx).await {
                Ok(Some(list)) => walk.take_over(&list.0, list.1),
                Ok(None) => {
                    let page = position.next::<wire::PlaylistItem>(&services.data_api, &ctx).await;
                    walk.add_page(&services, token, page, position, payer);
                }
                Err(error) if error.is_for_one_caller() => {
                    walk.add_page(&services, token, Err(error), position, payer);
                }
                Err(error) => walk.fail(error),
            }
            drop(fetched);
        });
    }

    /// Adds a page, or ends the walk.
    fn add_page(
        &self,
        services: &Services,
        token: String,
        page: Result<Option<Vec<wire::PlaylistItem>>>,
        position: Pages,
        payer: u64,
    ) {
        let mut state = self.lock();
        let is_at_end = position.is_at_end();
        state.reported_total = position.total().and_then(|total| usize::try_from(total).ok());
        state.next_token = position.token().map(str::to_owned);
        state.position = Some(position);
        match page {
            Ok(page) => {
                let page = page.unwrap_or_default().into_iter().map(Entry::from_wire);
                state.pages.push((token, Arc::new(page.collect())));
                state.listed_at.get_or_insert_with(Instant::now);
                if is_at_end {
                    state.end = Some(Ok(()));
                    // This serves other requests. A list that cannot be cached is fetched again.
                    let all = lookup::json(&state.listed());
                    let _ = services.cache.store(&self.key, all, state.age());
                    self.end_turn(services, &mut state);
                }
            }
            // Another follower may be able to pay, or may have more time.
            Err(error) if error.is_for_one_caller() => {
                if let Some(request) =
                    state.requests.iter_mut().find(|request| request.number == payer)
                {
                    request.error = Some(error);
                }
            }
            Err(error) => {
                if state.pages.is_empty() {
                    let _ = services.cache.store(&self.key, Err(error.clone()), Duration::ZERO);
                }
                self.end_turn(services, &mut state);
                state.end = Some(Err(error));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the followers after the fetch of a page, even after a panic.
struct Fetched {
    walk: Arc<Walk>,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.walk.lock().has_panicked = true;
        }
        self.walk.changed.notify_waiters();
    }
}
