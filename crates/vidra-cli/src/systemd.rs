//! The service manager: inherited sockets, notifications and the watchdog. Without systemd nothing happens here.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};

/// The sockets that systemd opened for the service, as its `.socket` unit lists them.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// The first socket: for callers.
    pub(crate) service: Option<TcpListener>,
    /// The second socket: for the operator.
    pub(crate) admin: Option<TcpListener>,
}

impl Inherited {
    /// Takes the sockets that `LISTEN_FDS` announces.
    ///
    /// # Errors
    ///
    /// A message if one of them is no TCP socket, or if there are more than two.
    pub(crate) fn take() -> Result<Self, String> {
        let mut sockets = ListenFd::from_env();
        if sockets.len() > 2 {
            return Err(
                "the .socket unit may list two sockets: of the service and of the operator".into(),
            );
        }
        let mut socket = |at| {
            let taken = sockets.take_tcp_listener(at);
            let taken = taken.map_err(|error| format!("inherited socket: {error}"))?;
            if let Some(socket) = &taken {
                // The runtime requires it, and systemd leaves it to the service.
                socket.set_nonblocking(true).map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(taken)
        };
        Ok(Self { service: socket(0)?, admin: socket(1)? })
    }

    /// The address of the service: of its socket, or else the `configured` one.
    pub(crate) fn service_address(&self, configured: SocketAddr) -> SocketAddr {
        let inherited = self.service.as_ref().and_then(|socket| socket.local_addr().ok());
        inherited.unwrap_or(configured)
    }
}

/// The service accepts requests.
pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// The service reads its files again. [`ready`] ends it.
pub(crate) fn reloading() {
    // systemd uses the time to recognize the matching `READY=1`.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

/// The service shuts down.
pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Starts to ping the watchdog, if systemd has one for this service. Each ping passes through this runtime and that of the
/// connections: if one of them hangs, systemd restarts the service.
pub(crate) fn watch(connections: Handle) {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return;
    };
    // Twice as often as required, as systemd recommends.
    let mut pings = interval((limit / 2).max(Duration::from_millis(1)));
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::spawn(async move {
        loop {
            pings.tick().await;
            if connections.spawn(async {}).await.is_ok() {
                notify(&[NotifyState::Watchdog]);
            }
        }
    });
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}
