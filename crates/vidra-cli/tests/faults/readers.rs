//! F18: callers that read their response very slowly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::callers::Caller;
use crate::is_long;
use crate::platform::{Platform, Running};

const READERS: usize = 500;

/// A response of four megabytes, which is more than the buffers of a connection hold.
const LARGE: &str = "/api/playlist/PLsize5000";

/// A caller that has read one byte of its response, with the smallest possible receive buffer.
fn reader(platform: &Platform, service: &Running) -> TcpStream {
    let mut stream = platform.runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        socket.connect(service.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {LARGE} HTTP/1.1\r\nhost: {}\r\n\r\n", service.address).unwrap();
    read_a_byte(&mut stream);
    stream
}

fn read_a_byte(stream: &mut TcpStream) {
    stream.read_exact(&mut [0]).unwrap();
}

#[test]
fn f18_slow_readers_do_not_affect_other_callers() {
    let platform = Platform::new();
    let service = platform.service(&[]);
    let body = service.get(LARGE).1.len() as u64;
    assert!(body > 4_000_000, "{body}");
    let video = "/api/video/quirkNoLike";
    let mut others = Caller::new(service.address);
    let mut get_from_others = || {
        for _ in 0..200 {
            assert_eq!(others.get(video).unwrap().status, 200);
        }
    };
    get_from_others();
    let before = service.memory();

    let mut readers: Vec<_> = (0..READERS).map(|_| reader(&platform, &service)).collect();
    for _ in 0..5 {
        readers.iter_mut().for_each(read_a_byte);
        get_from_others();
    }
    let after = service.memory();
    println!("{READERS} readers of {body} B: {before} KB before, {after} KB with them");
    assert!(after <= before + READERS as u64 * 64 + body / 1024, "{before} KB to {after} KB");
    let open = || service.metric("vidra_connections_open ");
    assert!(open() >= READERS as f64);

    if is_long() {
        let begun = Instant::now();
        while open() >= READERS as f64 / 100.0 {
            assert!(begun.elapsed() < Duration::from_secs(45), "{} are still there", open());
            pause();
            for reader in &mut readers {
                let _ = reader.read(&mut [0]);
            }
            get_from_others();
        }
        println!("disconnected after {:?}", begun.elapsed());
    } else {
        // Disconnects are noticed, and their connections are closed.
        readers.clear();
        let begun = Instant::now();
        while open() > 10.0 {
            assert!(begun.elapsed() < Duration::from_secs(30), "{} are still there", open());
        }
    }
}

/// The readers take one byte per second.
#[expect(clippy::disallowed_methods, reason = "only in the long form, and nothing else takes time")]
fn pause() {
    std::thread::sleep(Duration::from_secs(1));
}
