//! The simulator on a socket.

use crate::response::Dropped;
use crate::simulator::Simulator;
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A listening simulator. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub struct Listening {
    addr: SocketAddr,
    accepting: AbortHandle,
}

impl Listening {
    /// The address, with the actual port if the requested one was 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// `http://127.0.0.1:PORT`: the origin of watch pages, player and timed text.
    pub fn web_url(&self) -> String {
        self.url()
    }

    /// `http://127.0.0.1:PORT/youtube/v3`: the base of all methods of the Data API.
    pub fn data_api_url(&self) -> String {
        format!("{}/youtube/v3", self.url())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The connections live in the accepting task and end with it.
        self.accepting.abort();
    }
}

impl Simulator {
    /// Listens on an address until the returned value is dropped.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn listen(&self, addr: SocketAddr) -> std::io::Result<Listening> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let accepting = tokio::spawn(accept(self.clone(), listener)).abort_handle();
        Ok(Listening { addr, accepting })
    }
}

async fn accept(simulator: Simulator, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(simulator.clone(), stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection. An error of the service closes it without an answer, like a reset.
async fn serve(simulator: Simulator, stream: TcpStream) {
    // Nagle's algorithm would only add latency to small answers on one machine.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(simulator.clone(), request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    simulator: Simulator,
    request: Request<Incoming>,
) -> Result<Response<Body>, Dropped> {
    let (head, body) = request.into_parts();
    let body: Bytes = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    simulator.call(Request::from_parts(head, body)).await
}
