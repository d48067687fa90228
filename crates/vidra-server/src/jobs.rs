//! Runs the jobs of the library as a part of the service, and sends its messages to webhooks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::sleep;
use vidra::{Error, Vidra};
use vidra_library::{Payers, Worker};

use crate::library::LibraryConfig;
use crate::state::AppState;

/// How long the worker waits after it has failed.
const RESTART: Duration = Duration::from_secs(30);

/// Runs jobs, stores the transcripts of other requests, and sends messages to webhooks, until graceful shutdown begins. Then it gives back what it
/// has not finished. Returns at once if the service has no library.
pub(crate) async fn run(state: AppState) {
    let Some(LibraryConfig { file, worker: config, fetched, .. }) = &state.library else { return };
    let shutdown = || state.drain.clone().has_lasted(Duration::ZERO);
    let library = tokio::select! {
        biased;
        library = file.opened() => library,
        () = shutdown() => return,
    };
    let worker = Worker::new(library.clone(), state.vidra.clone(), payers(&state), *config);
    let jobs = async {
        // A full disk prevents the start, and may have room later. A bug must not stop all jobs for ever.
        loop {
            let run = AssertUnwindSafe(worker.run(shutdown())).catch_unwind().await;
            match run.unwrap_or_else(|_| Err(Error::internal("the job worker panicked"))) {
                Ok(()) => return,
                Err(error) => note_failure(&error),
            }
            file.note_worker(true);
            tokio::select! {
                biased;
                () = shutdown() => return,
                () = sleep(RESTART) => {}
            }
            file.note_worker(false);
        }
    };
    let others = async {
        if let Some(fetched) = fetched {
            fetched.store(&library, shutdown()).await;
        }
    };
    let clock = std::sync::Arc::clone(state.vidra.clock());
    let messages = state.webhooks.deliver(&library, &*clock, shutdown());
    tokio::join!(jobs, others, messages);
}

fn note_failure(error: &vidra::Error) {
    let source = std::error::Error::source(error);
    tracing::error!(
        reason = error.reason().code(),
        source,
        "job worker stopped, it starts again in 30 seconds"
    );
}

/// The client that pays for the jobs of a caller.
fn payers(state: &AppState) -> Payers {
    let (vidra, keys, open) = (state.vidra.clone(), state.keys.clone(), state.open_account.clone());
    let on = |vidra: &Vidra, account| Some(vidra.on_allowance(account));
    Arc::new(move |owner: &str| match (&keys, owner) {
        // Without keys all callers have one account.
        (None, _) => open.clone().map_or_else(|| Some(vidra.clone()), |open| on(&vidra, open)),
        // Jobs without an owner were started by the operator, on the machine of the service.
        (Some(_), "") => Some(vidra.clone()),
        (Some(keys), owner) => on(&vidra, keys.allowance_of(owner)?),
    })
}
