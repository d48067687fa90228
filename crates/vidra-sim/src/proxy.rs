//! A minimal forward proxy for tests: plain HTTP, tunnels, and SOCKS5 on the same port.
//!
//! It adds its name to requests in the header `X-Sim-Egress`, so that a test can see the egress of a call and
//! block one of several.

mod relay;
mod socks;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A proxy that listens on this machine until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: AbortHandle,
}

/// The behaviour of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyMode {
    /// Forwards requests and opens tunnels.
    #[default]
    Willing,
    /// Forwards requests, and rejects tunnels with 403.
    NoTunnels,
    /// Answers every request with this status.
    Refusing(u16),
    /// Closes every connection at once.
    Dead,
}

#[derive(Debug)]
struct State {
    name: String,
    /// The target of all requests, whatever host they name.
    towards: Option<SocketAddr>,
    mode: Mutex<ProxyMode>,
    requests: AtomicU64,
    tunnels: AtomicU64,
    connections: AtomicU64,
}

impl State {
    fn mode(&self) -> MutexGuard<'_, ProxyMode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to a host and port, or to the fixed target.
    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let stream = match self.towards {
            Some(addr) => TcpStream::connect(addr).await?,
            None => TcpStream::connect((host, port)).await?,
        };
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Proxy {
    /// Listens on a free port of this machine, and forwards each request to the host that it names.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn listen(egress: &str) -> io::Result<Self> {
        Self::start(egress, None).await
    }

    /// Listens on a free port of this machine, and forwards every request and every tunnel to one address,
    /// whatever host it names.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn listen_towards(egress: &str, addr: SocketAddr) -> io::Result<Self> {
        Self::start(egress, Some(addr)).await
    }

    async fn start(egress: &str, towards: Option<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State {
            name: egress.to_owned(),
            towards,
            mode: Mutex::default(),
            requests: AtomicU64::default(),
            tunnels: AtomicU64::default(),
            connections: AtomicU64::default(),
        });
        let accepting = tokio::spawn(accept(state.clone(), listener)).abort_handle();
        Ok(Self { addr, state, accepting })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// `socks5://127.0.0.1:PORT`; some clients need `socks5h` to let the proxy resolve names.
    pub fn socks_url(&self) -> String {
        format!("socks5://{}", self.addr)
    }

    /// Its name in `X-Sim-Egress`.
    pub fn egress(&self) -> &str {
        &self.state.name
    }

    /// The number of requests, including rejected ones.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The number of tunnels that clients requested, by `CONNECT` or SOCKS5, including rejected ones.
    pub fn tunnels(&self) -> u64 {
        self.state.tunnels.load(Ordering::SeqCst)
    }

    /// The number of accepted connections.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Changes the behaviour for new requests.
    pub fn set_mode(&self, mode: ProxyMode) {
        *self.state.mode() = mode;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The connections live in the accepting task and end with it.
        self.accepting.abort();
    }
}

async fn accept(state: Arc<State>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    state.connections.fetch_add(1, Ordering::SeqCst);
                    connections.spawn(serve(state.clone(), stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection. The first byte distinguishes SOCKS5 from HTTP. An error closes the connection.
async fn serve(state: Arc<State>, mut stream: TcpStream) {
    if *state.mode() == ProxyMode::Dead {
        return;
    }
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let _ = match stream.peek(&mut first).await {
        Ok(1) if first == [5] => socks::serve(&state, &mut stream).await,
        Ok(1) => relay::serve(&state, &mut stream, None).await,
        _ => Ok(()),
    };
}
