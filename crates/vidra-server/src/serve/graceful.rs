//! Graceful shutdown of connections.
//!
//! hyper-util has `GracefulShutdown`, which takes a lock of all connections on every poll. Here a connection
//! registers once and is woken. On every other poll it reads one atomic.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Waker;

use hyper_util::server::graceful::GracefulConnection;
use tokio::sync::watch;

use crate::drain::Drain;

/// A group of connections that shut down together.
pub(super) struct Connections {
    shutdown: watch::Sender<()>,
    drain: Drain,
}

/// The membership of one connection in a group.
pub(super) struct Membership {
    shutdown: watch::Receiver<()>,
    drain: Drain,
}

impl Connections {
    /// An empty group. It may shut down only after `drain` has begun.
    pub(super) fn new(drain: Drain) -> Self {
        Self { shutdown: watch::Sender::new(()), drain }
    }

    pub(super) fn join(&self) -> Membership {
        Membership { shutdown: self.shutdown.subscribe(), drain: self.drain.clone() }
    }

    /// Waits until all connections are closed.
    pub(super) async fn closed(&self) {
        self.shutdown.closed().await;
    }

    /// Closes each connection after its requests in flight, and waits until all are closed.
    pub(super) async fn shutdown(self) {
        debug_assert!(self.drain.has_begun(), "connections check `drain` first");
        let _ = self.shutdown.send(());
        self.closed().await;
    }
}

impl Membership {
    /// Drives a connection to its end.
    pub(super) async fn drive<C: GracefulConnection>(self, connection: C) -> C::Output {
        // The receiver lives as long as the connection, which is how the group counts its members.
        let Self { mut shutdown, drain } = self;
        let mut connection = pin!(connection);
        let mut shutdown = pin!(shutdown.changed());
        let mut is_shutting_down = false;
        let mut registered: Option<Waker> = None;
        poll_fn(|cx| {
            let will_wake = registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
            if !is_shutting_down && (!will_wake || drain.has_begun()) {
                registered = Some(cx.waker().clone());
                if shutdown.as_mut().poll(cx).is_ready() {
                    is_shutting_down = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
            connection.as_mut().poll(cx)
        })
        .await
    }
}
