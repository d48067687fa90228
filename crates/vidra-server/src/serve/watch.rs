//! Connections that are told when they are to end.
//!
//! What hyper-util has for this asks at each turn of a connection whether the end has come, which takes
//! a lock that all connections share. Here a connection asks once, is woken when it comes, and meanwhile
//! looks at no more than whether the service is about to end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Waker;

use hyper_util::server::graceful::GracefulConnection;
use tokio::sync::watch;

use crate::drain::Drain;

/// Connections that end together.
pub(super) struct Connections {
    end: watch::Sender<()>,
    drain: Drain,
}

/// Has one of them end with the others.
pub(super) struct Watcher {
    end: watch::Receiver<()>,
    drain: Drain,
}

impl Connections {
    /// None yet. They are not told to end before `drain` has begun.
    pub(super) fn new(drain: Drain) -> Self {
        Self { end: watch::Sender::new(()), drain }
    }

    pub(super) fn watcher(&self) -> Watcher {
        Watcher { end: self.end.subscribe(), drain: self.drain.clone() }
    }

    pub(super) fn count(&self) -> usize {
        self.end.receiver_count()
    }

    /// Has them end after what they have under way, and waits until all are gone.
    pub(super) async fn shutdown(self) {
        debug_assert!(self.drain.has_begun(), "nobody would look");
        let _ = self.end.send(());
        self.end.closed().await;
    }
}

impl Watcher {
    /// Serves a connection to its end.
    pub(super) async fn watch<C: GracefulConnection>(self, connection: C) -> C::Output {
        // Held until the connection is gone, which is how that is known.
        let Self { mut end, drain } = self;
        let mut connection = pin!(connection);
        let mut end = pin!(end.changed());
        let mut is_ending = false;
        let mut wakes: Option<Waker> = None;
        poll_fn(|cx| {
            let will_wake = wakes.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
            if !is_ending && (!will_wake || drain.has_begun()) {
                wakes = Some(cx.waker().clone());
                if end.as_mut().poll(cx).is_ready() {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
            connection.as_mut().poll(cx)
        })
        .await
    }
}
