//! Composites: answers that are assembled from several records. Concurrent callers share one
//! assembly. A composite is not stored, because its parts are records of their own.

use tokio::time::{Instant, timeout_at};

use super::flight::{LeaderGone, Role};
use super::freshness::FOREVER;
use super::{Cache, CacheOutcome, Cached, Key};
use crate::context::waiters::Waiters;
use crate::context::{CacheMode, Context, no_waiters};
use crate::error::{Error, Result};
use crate::spool::Body;
use crate::transport::{BoxFuture, traced};

impl Cache {
    /// Assembles a composite, or joins a running assembly.
    pub(crate) async fn share(
        &self,
        key: &Key,
        ctx: &Context,
        assemble: impl Fn(Context) -> BoxFuture<'static, Result<Cached<Body>>>,
    ) -> Result<Cached<Body>> {
        let assembled = self.join_or_assemble(key, ctx, assemble).await;
        let outcome = assembled.as_ref().map_or(CacheOutcome::Miss, |assembled| assembled.outcome);
        self.note(key, outcome, ctx);
        assembled
    }

    async fn join_or_assemble(
        &self,
        key: &Key,
        ctx: &Context,
        assemble: impl Fn(Context) -> BoxFuture<'static, Result<Cached<Body>>>,
    ) -> Result<Cached<Body>> {
        // An operation that bypasses the cache must not get an answer from it.
        let text = match ctx.mode {
            CacheMode::Normal => key.text.clone(),
            CacheMode::Refresh => super::refresh_text(key),
        };
        let mut has_panicked = false;
        loop {
            let nothing_stored = || None::<()>;
            let (joined, is_leader) =
                match self.composites.join_or_lead(&text, FOREVER, ctx.urgency, nothing_stored) {
                    Ok(Role::Lead(lead, joined)) => {
                        let waiters = Waiters::new([lead.waiters.clone()]).part_of(&ctx.waiters);
                        // Shared work does not inherit the limits of one caller.
                        let deadline = ctx.deadline.max(Instant::now() + self.fetch_time);
                        let assembling = assemble(Context { deadline, waiters, ..ctx.for_parts() });
                        traced::spawn(async move { lead.complete(assembling.await) });
                        (joined, true)
                    }
                    Ok(Role::Join(joined)) => (joined, false),
                    Ok(Role::Failed(error)) => return Err(error),
                    Err(()) => unreachable!("nothing is stored"),
                };
            let ended = tokio::select! {
                biased;
                ended = timeout_at(ctx.deadline, joined.wait()) => ended,
                () = ctx.waiters.gone() => return Err(no_waiters()),
            };
            match ended {
                Ok(Ok(assembled)) if is_leader => return assembled,
                Ok(Ok(assembled)) => return assembled.map(Cached::for_follower),
                Ok(Err(LeaderGone::Left)) if is_leader => return Err(Error::overloaded()),
                Ok(Err(LeaderGone::Panicked)) if has_panicked => {
                    return Err(Error::internal("two leaders panicked"));
                }
                Ok(Err(LeaderGone::Panicked)) => has_panicked = true,
                // The leader's limits are not ours, so we start again.
                Ok(Err(LeaderGone::ForItself | LeaderGone::Left | LeaderGone::Overdue(_))) => {}
                Err(_elapsed) => return Err(Error::past_deadline()),
            }
        }
    }
}

impl Cached<Body> {
    /// The answer for a follower of a shared fetch.
    fn for_follower(self) -> Self {
        let outcome = match self.outcome {
            CacheOutcome::Miss => CacheOutcome::Coalesced,
            outcome => outcome,
        };
        Self { outcome, ..self }
    }
}
