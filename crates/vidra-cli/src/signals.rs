//! Signals. The first SIGTERM or Ctrl-C starts a graceful shutdown, the second ends it at once. SIGHUP
//! reloads files of the service and does nothing to commands.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Counts SIGTERM and Ctrl-C. Clones share the count.
#[derive(Clone)]
pub(crate) struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Starts to listen.
    pub(crate) fn listen() -> Result<Self, String> {
        let (mut terminate, mut interrupt) =
            (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        let (count, signals) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                // Both count the same. A signal that arrives meanwhile is received in the next round.
                tokio::select! {
                    biased;
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                count.send_modify(|signals| *signals += 1);
            }
        });
        Ok(Self(signals))
    }

    /// Resolves at the first signal.
    pub(crate) fn first(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().at(1)
    }

    /// Resolves at the second signal.
    pub(crate) fn second(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().at(2)
    }

    async fn at(mut self, count: u32) {
        // Cannot fail: the sender lives as long as the runtime.
        let _ = self.0.wait_for(|signals| *signals >= count).await;
    }
}

/// Receives SIGHUP. Without it, the signal ends the process.
pub(crate) struct Hangups(Signal);

impl Hangups {
    /// Starts to listen.
    pub(crate) fn listen() -> Result<Self, String> {
        listen(SignalKind::hangup()).map(Self)
    }

    /// Runs `work` at each SIGHUP since [`Hangups::listen`], on a thread on which it may block. Several signals that arrive
    /// together count as one.
    pub(crate) fn each(mut self, work: impl Fn() + Send + Sync + 'static) {
        let work = Arc::new(work);
        tokio::spawn(async move {
            while self.0.recv().await.is_some() {
                let work = Arc::clone(&work);
                let _ = tokio::task::spawn_blocking(move || work()).await;
            }
        });
    }
}

/// Lets a command survive SIGHUP, which people send to all processes of the name `vidra` to reload the service. If
/// the terminal was closed, which sends the same signal, the process ends.
pub(crate) fn survive_reload() -> Result<(), String> {
    let had_terminal = io::stdin().is_terminal();
    Hangups::listen()?.each(move || {
        // A closed terminal is no longer one.
        if had_terminal && !io::stdin().is_terminal() {
            std::process::exit(HANGUP_EXIT);
        }
    });
    Ok(())
}

/// The exit code of a process that SIGHUP ended, as a shell reports it.
const HANGUP_EXIT: i32 = 128 + 1;

fn listen(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| format!("cannot listen for signals: {error}"))
}
