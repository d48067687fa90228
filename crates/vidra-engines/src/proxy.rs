//! A TCP proxy that delays, drops and cuts what it forwards.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How the proxy treats its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// It forwards them.
    Pass,
    /// It forwards each piece after this time.
    Delay(Duration),
    /// It keeps them open, and forwards nothing until this changes, as a network that loses all packets.
    Hold,
    /// It closes them, and refuses new ones.
    Cut,
}

/// A proxy in front of a server. It ends with the process.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    traffic: Mutex<Traffic>,
    changed: Condvar,
    connections: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Starts a proxy in front of the server at `target`, on a free port.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let traffic = Mutex::new(Traffic::Pass);
        let state =
            Arc::new(State { traffic, changed: Condvar::new(), connections: Mutex::default() });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.get() == Traffic::Cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(target) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let state = Arc::clone(&shared);
                    thread::spawn(move || state.forward(from, to));
                }
                shared.lock_connections().extend([client, server]);
            }
        });
        Self { address, state }
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what it does, also with open connections.
    pub fn set(&self, traffic: Traffic) {
        *self.state.lock() = traffic;
        if traffic == Traffic::Cut {
            for connection in self.state.lock_connections().drain(..) {
                // It may be closed already.
                let _ = connection.shutdown(Shutdown::Both);
            }
        }
        self.state.changed.notify_all();
    }
}

impl State {
    fn get(&self) -> Traffic {
        *self.lock()
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if let Traffic::Delay(time) = self.get() {
                // A change ends the delay.
                drop(self.changed.wait_timeout(self.lock(), time));
            }
            let held = self.changed.wait_while(self.lock(), |traffic| *traffic == Traffic::Hold);
            drop(held.unwrap_or_else(PoisonError::into_inner));
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        for connection in [from, to] {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_connections(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that returns what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
        address
    }

    fn exchange(stream: &mut TcpStream) -> std::io::Result<[u8; 4]> {
        let mut answer = [0; 4];
        stream.write_all(b"ping")?;
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn it_passes_holds_and_cuts_connections() {
        let proxy = Proxy::start(echo());
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(exchange(&mut stream).unwrap(), *b"ping");
        proxy.set(Traffic::Delay(Duration::from_millis(1)));
        assert_eq!(exchange(&mut stream).unwrap(), *b"ping");
        proxy.set(Traffic::Hold);
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        exchange(&mut stream).unwrap_err();
        stream.set_read_timeout(None).unwrap();
        proxy.set(Traffic::Pass);
        let mut late = [0; 4];
        stream.read_exact(&mut late).unwrap();
        assert_eq!(late, *b"ping", "nothing is lost");
        proxy.set(Traffic::Cut);
        exchange(&mut stream).unwrap_err();
        let mut refused = TcpStream::connect(proxy.address()).unwrap();
        exchange(&mut refused).unwrap_err();
        proxy.set(Traffic::Pass);
        let mut again = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(exchange(&mut again).unwrap(), *b"ping");
    }
}
