//! SIGTERM and Ctrl-C: the first asks the service to finish what is under way, the second to leave it.

use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long what is under way may take once the service has been told to stop.
const DRAIN: Duration = Duration::from_secs(25);

/// Two futures: one resolves at the first signal, the other at the second, or when what is under way
/// has had its time.
pub(crate) fn stop_and_give_up()
-> Result<(impl Future<Output = ()> + Send, impl Future<Output = ()>), String> {
    let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let (count, _) = watch::channel(0_u32);
    let (mut first, mut second) = (count.subscribe(), count.subscribe());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            count.send_modify(|signals| *signals += 1);
        }
    });
    let stop = async move {
        // The sender lives as long as the runtime.
        let _ = first.wait_for(|signals| *signals >= 1).await;
        tracing::info!("stopping");
    };
    let give_up = async move {
        let _ = second.wait_for(|signals| *signals >= 1).await;
        let _ = tokio::time::timeout(DRAIN, second.wait_for(|signals| *signals >= 2)).await;
        tracing::warn!("stopped with requests under way");
    };
    Ok((stop, give_up))
}
