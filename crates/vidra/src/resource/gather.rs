//! Gathers concurrent single lookups into calls of up to fifty ids.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::context::waiters::Waiters;
use crate::context::{Context, no_waiters};
use crate::error::Result;
use crate::resource::wrong_item_error;
use crate::transport::BoxFuture;

/// The maximum number of ids in one call.
pub(crate) const MAX_IDS: usize = 50;

/// The maximum wait of an id while a call is running. A call that hangs must not stop all lookups.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// How often other tasks run after a call, if its callers may have more lookups for the next one. It
/// takes no time, only turns of the runtime.
const TURNS: usize = 16;

/// One call for many ids. It returns the items by id.
type Call<Id, T> =
    Box<dyn Fn(Context, Vec<Id>) -> BoxFuture<'static, Result<HashMap<Id, T>>> + Send + Sync>;

/// Gathers ids into calls. A call starts at once if none is running. Otherwise it starts when the
/// last call returns, after [`MAX_WAIT`], or with fifty ids.
pub(crate) struct Gather<Id, T> {
    what: &'static str,
    call: Call<Id, T>,
    state: Mutex<State<Id, T>>,
}

struct State<Id, T> {
    waiting: Vec<Waiting<Id, T>>,
    /// The number of running calls.
    calls: usize,
    /// Counts started calls, so that a timer knows whether its batch has started.
    started: u64,
}

struct Waiting<Id, T> {
    id: Id,
    ctx: Context,
    reply: oneshot::Sender<Result<Option<T>>>,
}

impl<Id, T> Gather<Id, T>
where
    Id: Clone + Eq + Hash + Send + Sync + 'static,
    T: Clone + Send + 'static,
{
    pub(crate) fn new(
        what: &'static str,
        call: impl Fn(Context, Vec<Id>) -> BoxFuture<'static, Result<HashMap<Id, T>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let state = State { waiting: vec![], calls: 0, started: 0 };
        Self { what, call: Box::new(call), state: Mutex::new(state) }
    }

    /// Looks up one id. `None` if YouTube does not have it. The first waiter that can pay is
    /// charged for the call.
    ///
    /// # Panics
    ///
    /// Panics if the call panics.
    pub(crate) async fn get(self: &Arc<Self>, ctx: &Context, id: Id) -> Result<Option<T>> {
        let (reply, replied) = oneshot::channel();
        let (batch, first_of) = {
            let mut state = self.lock();
            state.waiting.push(Waiting { id, ctx: ctx.clone(), reply });
            let is_time = state.calls == 0 || state.waiting.len() == MAX_IDS;
            let is_first = !is_time && state.waiting.len() == 1;
            let started = state.started;
            (is_time.then(|| state.take_waiting()).flatten(), is_first.then_some(started))
        };
        self.start_call(batch);
        if let Some(started) = first_of {
            self.start_call_after_wait(started);
        }
        // The panic is passed on, so that a follower retries instead of getting an internal error.
        replied.await.expect("a gathered call panicked")
    }

    /// Starts a call. It does not hold the lock: a runtime in shutdown drops a spawned task at
    /// once, which runs `CallGuard`.
    fn start_call(self: &Arc<Self>, batch: Option<Vec<Waiting<Id, T>>>) {
        let Some(mut batch) = batch else { return };
        let guard = CallGuard(Arc::clone(self));
        let count = batch.len();
        crate::transport::traced::spawn(async move {
            loop {
                for gone in batch.extract_if(.., |waiting| waiting.ctx.waiters.is_gone()) {
                    let _ = gone.reply.send(Err(no_waiters()));
                }
                let Some(payer) = batch.first().map(|waiting| waiting.ctx.clone()) else { break };
                let deadline = batch.iter().map(|waiting| waiting.ctx.deadline).max();
                let waiters = Waiters::together(batch.iter().map(|waiting| &waiting.ctx.waiters));
                let deadline = deadline.unwrap_or(payer.deadline);
                let ctx = Context { deadline, waiters, ..payer.clone() };
                let ids: Vec<Id> = batch.iter().map(|waiting| waiting.id.clone()).collect();
                let outcome = (guard.0.call)(ctx, ids).await;
                let replied = match &outcome {
                    // The others retry without the caller that cannot pay.
                    Err(error) if error.is_for_one_caller() => {
                        let is_same_payer = |waiting: &mut Waiting<Id, T>| {
                            waiting.ctx.bill.has_same_budget(&payer.bill)
                        };
                        batch.extract_if(.., is_same_payer).collect()
                    }
                    _ => std::mem::take(&mut batch),
                };
                deliver(replied, outcome, guard.0.what);
            }
            // A caller with a result often has its next lookup ready. If others wait, that lookup
            // joins their call.
            let has_others = count > 1 || !guard.0.lock().waiting.is_empty();
            if has_others {
                for _ in 0..TURNS {
                    yield_now().await;
                }
            }
            drop(guard);
        });
    }

    fn start_call_after_wait(self: &Arc<Self>, started: u64) {
        let gather = Arc::clone(self);
        crate::transport::traced::spawn(async move {
            sleep(MAX_WAIT).await;
            let batch = {
                let mut state = gather.lock();
                if state.started == started { state.take_waiting() } else { None }
            };
            gather.start_call(batch);
        });
    }
}

impl<Id, T> State<Id, T> {
    /// Takes all waiting ids as one call. `None` if there are none.
    fn take_waiting(&mut self) -> Option<Vec<Waiting<Id, T>>> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.is_empty() {
            return None;
        }
        self.calls += 1;
        self.started += 1;
        Some(batch)
    }
}

impl<Id, T> Gather<Id, T> {
    /// The number of waiting ids plus running calls.
    pub(crate) fn held(&self) -> usize {
        let state = self.lock();
        state.waiting.len() + state.calls
    }

    fn lock(&self) -> MutexGuard<'_, State<Id, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a call, even after a panic. After the last one, the gathered ids start the next call.
struct CallGuard<Id, T>(Arc<Gather<Id, T>>)
where
    Id: Clone + Eq + Hash + Send + Sync + 'static,
    T: Clone + Send + 'static;

impl<Id, T> Drop for CallGuard<Id, T>
where
    Id: Clone + Eq + Hash + Send + Sync + 'static,
    T: Clone + Send + 'static,
{
    fn drop(&mut self) {
        let batch = {
            let mut state = self.0.lock();
            state.calls -= 1;
            // While others run, ids gather until the last call returns. Otherwise more calls would
            // return sooner and carry fewer ids each.
            if state.calls == 0 { state.take_waiting() } else { None }
        };
        self.0.start_call(batch);
    }
}

/// Passes the results to the waiters. If YouTube sent an item that was not requested, a missing
/// item is an error: it may be the one that was meant, and must not pass for "not found".
fn deliver<Id: Eq + Hash, T: Clone>(
    batch: Vec<Waiting<Id, T>>,
    outcome: Result<HashMap<Id, T>>,
    what: &str,
) {
    let outcome = outcome.map(|found| {
        let is_requested = |id: &Id| batch.iter().any(|waiting| waiting.id == *id);
        let has_unrequested = !found.keys().all(is_requested);
        (found, has_unrequested)
    });
    for waiting in batch {
        let answer = match &outcome {
            Err(error) => Err(error.clone()),
            Ok((found, has_unrequested)) => match found.get(&waiting.id) {
                Some(item) => Ok(Some(item.clone())),
                None if *has_unrequested => Err(wrong_item_error(what)),
                None => Ok(None),
            },
        };
        // A cancelled caller needs no result.
        let _ = waiting.reply.send(answer);
    }
}
