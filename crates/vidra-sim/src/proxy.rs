//! A tiny forward proxy for tests: plain HTTP, tunnels, and SOCKS5 on the same port.
//!
//! It names itself to the simulator in the header `X-Sim-Egress`, so that a test can see which way
//! a call came and block one way and not the other.

mod relay;
mod socks;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A proxy that listens on this machine. It stops when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: AbortHandle,
}

/// What a proxy does to those who come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// Forwards requests and opens tunnels.
    #[default]
    Willing,
    /// Forwards requests, refuses tunnels with 403.
    NoTunnels,
    /// Answers every request with that status.
    Refusing(u16),
    /// Closes every connection at once.
    Dead,
}

#[derive(Debug)]
struct State {
    name: String,
    /// Forward everything here, whatever host is asked for.
    towards: Option<SocketAddr>,
    mood: Mutex<Mood>,
    requests: AtomicU64,
    tunnels: AtomicU64,
    connections: AtomicU64,
}

impl State {
    fn mood(&self) -> MutexGuard<'_, Mood> {
        self.mood.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a connection to a host and port really goes.
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
    /// Listens on a free port of this machine; forwards to the host a request names.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn listen(egress: &str) -> io::Result<Self> {
        Self::start(egress, None).await
    }

    /// The same, but every request and every tunnel goes to one address, as if that address were
    /// the whole internet.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn listen_towards(egress: &str, addr: SocketAddr) -> io::Result<Self> {
        Self::start(egress, Some(addr)).await
    }

    async fn start(egress: &str, towards: Option<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State {
            name: egress.to_owned(),
            towards,
            mood: Mutex::default(),
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

    /// `socks5://127.0.0.1:PORT`; with `h` after the 5 for clients that tell the two apart.
    pub fn socks_url(&self) -> String {
        format!("socks5://{}", self.addr)
    }

    /// What it calls itself in `X-Sim-Egress`.
    pub fn egress(&self) -> &str {
        &self.state.name
    }

    /// Requests it read, the refused ones included.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// Tunnels it was asked for, by `CONNECT` or by SOCKS5, the refused ones included.
    pub fn tunnels(&self) -> u64 {
        self.state.tunnels.load(Ordering::SeqCst)
    }

    /// Connections it took.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// From now on it does this to those who come.
    pub fn set_mood(&self, mood: Mood) {
        *self.state.mood() = mood;
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

/// One connection. The first byte tells SOCKS5 from HTTP; an error closes it.
async fn serve(state: Arc<State>, mut stream: TcpStream) {
    if *state.mood() == Mood::Dead {
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
