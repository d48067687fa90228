//! F18: callers who hardly read what they asked for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::callers::Caller;
use crate::is_long;
use crate::platform::{Platform, Running};

const READERS: usize = 500;

/// Four megabytes, which are more than a connection can hold by itself.
const LARGE: &str = "/api/playlist/PLsize5000";

/// One who asked and has read a byte, with as little room for the rest as the system allows.
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
fn f18_slow_readers_harm_nobody() {
    let platform = Platform::new();
    let service = platform.service(&[]);
    let body = service.get(LARGE).1.len() as u64;
    assert!(body > 4_000_000, "{body}");
    let video = "/api/video/quirkNoLike";
    let mut others = Caller::of(service.address);
    let mut ask_others = || {
        for _ in 0..200 {
            assert_eq!(others.get(video).unwrap().status, 200);
        }
    };
    ask_others();
    let before = service.memory();

    let mut readers: Vec<_> = (0..READERS).map(|_| reader(&platform, &service)).collect();
    for _ in 0..5 {
        readers.iter_mut().for_each(read_a_byte);
        ask_others();
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
            ask_others();
        }
        println!("cut off after {:?}", begun.elapsed());
    } else {
        // Who leaves is noticed, and leaves nothing behind.
        readers.clear();
        let begun = Instant::now();
        while open() > 10.0 {
            assert!(begun.elapsed() < Duration::from_secs(30), "{} are still there", open());
        }
    }
}

/// A byte a second is what it is about.
#[expect(clippy::disallowed_methods, reason = "only in the long form, and nothing else takes time")]
fn pause() {
    std::thread::sleep(Duration::from_secs(1));
}
