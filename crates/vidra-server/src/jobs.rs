//! Runs the jobs of the library as a part of the service.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use vidra::Vidra;
use vidra_library::{Payers, Worker};

use crate::library::LibraryConfig;
use crate::state::AppState;

/// How long the worker waits after it could not start.
const RESTART: Duration = Duration::from_secs(30);

/// Runs jobs until graceful shutdown begins. Then it gives back what it has not finished. Returns at once if the service
/// has no library.
pub(crate) async fn run(state: AppState) {
    let Some(LibraryConfig { file, worker: config }) = &state.library else { return };
    let shutdown = || state.drain.clone().has_lasted(Duration::ZERO);
    let library = tokio::select! {
        biased;
        library = file.opened() => library,
        () = shutdown() => return,
    };
    let worker = Worker::new(library, state.vidra.clone(), payers(&state), *config);
    // A full disk prevents the start, and may have room later.
    while let Err(error) = worker.run(shutdown()).await {
        note_failure(&error);
        tokio::select! {
            biased;
            () = shutdown() => return,
            () = sleep(RESTART) => {}
        }
    }
}

fn note_failure(error: &vidra::Error) {
    let source = std::error::Error::source(error);
    tracing::error!(reason = error.reason().code(), source, "job worker not started");
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
