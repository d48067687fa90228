//! The part of SOCKS5 that clients use: `CONNECT`, with any password or none.

use super::{ProxyMode, State, relay};
use std::io;
use std::net::Ipv6Addr;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

/// An HTTP request begins with a capital letter, a TLS session does not.
const TLS: u8 = 0x16;

/// Performs the handshake, connects, and relays: plain HTTP with the header added, anything else unchanged.
pub(super) async fn serve(state: &State, client: &mut TcpStream) -> io::Result<()> {
    greet(client).await?;
    let (host, port) = read_target(client).await?;
    state.tunnels.fetch_add(1, Ordering::SeqCst);
    if *state.mode() == ProxyMode::NoTunnels {
        // "Connection not allowed by ruleset".
        return client.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]).await;
    }
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut first = [0];
    if client.peek(&mut first).await? == 1 && first != [TLS] {
        return relay::serve(state, client, Some((host, port))).await;
    }
    let mut server = state.connect(&host, port).await?;
    copy_bidirectional(client, &mut server).await.map(|_| ())
}

/// Accepts any user and password.
async fn greet(client: &mut TcpStream) -> io::Result<()> {
    let methods = read_text(client, true).await?;
    if methods.contains(&0) {
        return client.write_all(&[5, 0]).await;
    }
    client.write_all(&[5, 2]).await?;
    let _user = read_text(client, true).await?;
    let _password = read_text(client, false).await?;
    client.write_all(&[1, 0]).await
}

/// Reads bytes that follow their length.
async fn read_text(client: &mut TcpStream, versioned: bool) -> io::Result<Vec<u8>> {
    if versioned {
        client.read_u8().await?;
    }
    let mut text = vec![0; client.read_u8().await?.into()];
    client.read_exact(&mut text).await?;
    Ok(text)
}

async fn read_target(client: &mut TcpStream) -> io::Result<(String, u16)> {
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let host = match head[3] {
        1 => std::net::Ipv4Addr::from(client.read_u32().await?).to_string(),
        3 => String::from_utf8_lossy(&read_text(client, false).await?).into_owned(),
        4 => Ipv6Addr::from(client.read_u128().await?).to_string(),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok((host, client.read_u16().await?))
}
