//! One HTTP request through the proxy. The connection ends after it, which keeps the proxy simple.

use super::{ProxyMode, State};
use std::io;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional};
use tokio::net::TcpStream;

/// The most bytes of a request head.
const LONGEST_HEAD: usize = 1 << 16;

/// Serves one request. Inside a SOCKS5 tunnel the target is known and the path has no host.
pub(super) async fn serve(
    state: &State,
    client: &mut TcpStream,
    target: Option<(String, u16)>,
) -> io::Result<()> {
    let (head, rest) = read_head(client).await?;
    state.requests.fetch_add(1, Ordering::SeqCst);
    let line = head.lines().next().unwrap_or_default().to_owned();
    let mut words = line.split(' ');
    let (method, uri) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mode = *state.mode();
    if let ProxyMode::Refusing(status) = mode {
        return refuse(client, status).await;
    }
    if method == "CONNECT" {
        state.tunnels.fetch_add(1, Ordering::SeqCst);
        return match mode {
            ProxyMode::NoTunnels => refuse(client, 403).await,
            _ => tunnel(state, client, uri).await,
        };
    }
    let (host, port, path) = match (target, absolute(uri)) {
        (Some((host, port)), _) => (host, port, uri.to_owned()),
        (None, Some(parts)) => parts,
        (None, None) => return refuse(client, 400).await,
    };
    let Ok(mut server) = state.connect(&host, port).await else {
        return refuse(client, 502).await;
    };
    server.write_all(rewritten(&head, method, &path, &state.name).as_bytes()).await?;
    let body = length(&head).saturating_sub(rest.len() as u64);
    server.write_all(&rest).await?;
    copy(&mut (&mut *client).take(body), &mut server).await?;
    // In both directions, so that a client that disconnects is noticed at once.
    copy_bidirectional(client, &mut server).await.map(|_| ())
}

/// Copies bytes in both directions, without a header: a tunnel may be encrypted.
async fn tunnel(state: &State, client: &mut TcpStream, to: &str) -> io::Result<()> {
    let (host, port) = to.rsplit_once(':').unwrap_or((to, "443"));
    let Ok(mut server) = state.connect(host, port.parse().unwrap_or(443)).await else {
        return refuse(client, 502).await;
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(client, &mut server).await.map(|_| ())
}

async fn refuse(client: &mut TcpStream, status: u16) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status} Refused by the proxy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// The head of a request, and the part of the body that arrived with it.
async fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut received = Vec::new();
    loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = received.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&received).into_owned(), rest));
        }
        if received.len() > LONGEST_HEAD || client.read_buf(&mut received).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Host, port and path of `http://host:port/path`.
fn absolute(uri: &str) -> Option<(String, u16, String)> {
    let uri: http::Uri = uri.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    Some((host, uri.port_u16().unwrap_or(80), path.to_owned()))
}

fn length(head: &str) -> u64 {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    };
    head.lines().find_map(value).unwrap_or(0)
}

/// The head for the server: the path only, the name of the proxy, and no keep-alive.
fn rewritten(head: &str, method: &str, path: &str, egress: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    for line in head.lines().skip(1).filter(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(name.as_str(), "connection" | "x-sim-egress") && !name.starts_with("proxy-") {
            text.push_str(line);
            text.push_str("\r\n");
        }
    }
    text + &format!("X-Sim-Egress: {egress}\r\nConnection: close\r\n\r\n")
}
