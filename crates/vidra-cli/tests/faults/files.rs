//! F28: no open files are left.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::callers::{Caller, LONG};
use crate::platform::{Platform, Running};
use crate::process::Service;

const ASK: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Sends a request on a connection of its own.
fn ask(service: &Service) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(ASK.as_bytes()).unwrap();
    stream
}

/// Reads one response to its end, so that the next one is read from its beginning. The end of the connection is
/// no response.
fn response(stream: &mut TcpStream) -> io::Result<(u16, String)> {
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.expect("a length").parse().unwrap()];
    stream.read_exact(&mut body)?;
    let status = head.strip_prefix("http/1.1 ").expect("a status line")[..3].parse().unwrap();
    Ok((status, String::from_utf8(body).unwrap()))
}

fn status(stream: &mut TcpStream) -> u16 {
    response(stream).expect("a response").0
}

fn prlimit(arguments: &[&str]) {
    assert!(Command::new("prlimit").args(arguments).status().unwrap().success());
}

#[test]
fn f28_with_few_files_there_are_few_places_and_the_platform_is_still_asked() {
    let platform = Platform::new();
    let inner = platform.command(&[]);
    let mut command = Command::new("prlimit");
    command.args(["--nofile=256:256", "--"]).arg(inner.get_program());
    command.current_dir(platform.folder()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let service = Running(Service::start(&mut command));
    // Half of them and no more than 128 are for other things.
    let mut lucky = Caller::of(service.address);
    assert_eq!(lucky.get("/healthz").unwrap().status, 200);
    let mut inside: Vec<_> = (1..128).map(|_| ask(&service)).collect();
    for stream in &mut inside {
        assert_eq!(status(stream), 200);
    }
    for _ in 0..10 {
        assert_eq!(status(&mut ask(&service)), 503);
    }
    // Whoever is inside gets what has to be fetched: that takes files too.
    assert_eq!(lucky.get("/api/playlist/PLsize500").unwrap().status, 200);
    // Each of them is still served, with one response for one request.
    for stream in &mut inside {
        stream.write_all(ASK.as_bytes()).unwrap();
        assert_eq!(status(stream), 200);
    }
    drop(inside);
    let begun = Instant::now();
    while status(&mut ask(&service)) != 200 {
        assert!(begun.elapsed() < LONG, "the slots are not given back");
    }
}

#[test]
fn f28_where_none_is_left_it_waits_quietly_and_goes_on_later() {
    let platform = Platform::new();
    let service = platform.service(&[]);
    // On a connection that it has already, the service reports that it cannot accept another.
    let mut operator = Caller::of(service.address);
    let mut accepts_none = || {
        let page = String::from_utf8(operator.get("/metrics").unwrap().body).unwrap();
        let sample = "vidra_connections_refused_total{reason=\"no_resources\"} ";
        page.lines().find_map(|line| line.strip_prefix(sample)).is_some_and(|count| count != "0")
    };
    assert!(!accepts_none());
    // Taken away while it runs, so that it has more places than files.
    let limit = service.open_files() + 8;
    let pid = service.child.id().to_string();
    prlimit(&["--pid", &pid, &format!("--nofile={limit}:{limit}")]);
    let mut inside = vec![];
    let begun = Instant::now();
    let mut outside = loop {
        let stream = ask(&service);
        stream.set_nonblocking(true).unwrap();
        let mut first = [0];
        let is_answered = loop {
            // Whether it accepts is asked first: a response after that was accepted before it.
            let is_full = accepts_none();
            match stream.peek(&mut first) {
                Ok(length) => break length == 1,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => panic!("{error}"),
                Err(_) if is_full => break false,
                Err(_) => assert!(begun.elapsed() < LONG, "neither served nor refused"),
            }
        };
        stream.set_nonblocking(false).unwrap();
        if !is_answered {
            break stream;
        }
        inside.push(stream);
        assert_eq!(status(inside.last_mut().unwrap()), 200);
        assert!(inside.len() < 100, "there is a limit");
    };
    assert!(!inside.is_empty());
    // A second of waiting for what does not come, by the clock that passed meanwhile.
    let (before, begun) = (service.cpu(), Instant::now());
    outside.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let waited = response(&mut outside).unwrap_err();
    assert!(matches!(waited.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    let busy = 10 * (service.cpu() - before) as u128 * 100 / begun.elapsed().as_millis();
    println!("{} inside; {busy} % of a core in a second without files", inside.len());
    assert!(busy < 5, "{busy} % of a core");
    // Those inside are answered as ever, each with one response and no more.
    for stream in &mut inside {
        for _ in 0..2 {
            stream.write_all(ASK.as_bytes()).unwrap();
            assert_eq!(status(stream), 200);
        }
    }

    drop(inside);
    outside.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(status(&mut outside), 200, "who waited is answered");
    assert_eq!(Caller::of(service.address).get("/healthz").unwrap().status, 200);
    assert!(accepts_none());
    let (_, log) = service.0.stop();
    assert_eq!(log.matches("cannot accept connections").count(), 1, "once a minute: {log}");
}
