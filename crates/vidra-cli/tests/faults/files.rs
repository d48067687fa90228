//! F28: the process has no file descriptors left.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::callers::{Caller, LONG};
use crate::platform::{Platform, Running};
use crate::process::Service;

const REQUEST: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Sends a request on a connection of its own.
fn send_request(service: &Service) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(REQUEST.as_bytes()).unwrap();
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
fn f28_connection_limit_leaves_files_for_upstream_requests() {
    let platform = Platform::new();
    let inner = platform.command(&[]);
    let mut command = Command::new("prlimit");
    command.args(["--nofile=256:256", "--"]).arg(inner.get_program());
    command.current_dir(platform.folder()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let service = Running(Service::start(&mut command));
    // Half of the files, at most 128, are reserved for other uses.
    let mut lucky = Caller::new(service.address);
    assert_eq!(lucky.get("/healthz").unwrap().status, 200);
    let mut inside: Vec<_> = (1..128).map(|_| send_request(&service)).collect();
    for stream in &mut inside {
        assert_eq!(status(stream), 200);
    }
    for _ in 0..10 {
        assert_eq!(status(&mut send_request(&service)), 503);
    }
    // An accepted caller gets an answer that has to be fetched, which needs files too.
    assert_eq!(lucky.get("/api/playlist/PLsize500").unwrap().status, 200);
    // Each accepted connection is still served, with one response per request.
    for stream in &mut inside {
        stream.write_all(REQUEST.as_bytes()).unwrap();
        assert_eq!(status(stream), 200);
    }
    drop(inside);
    let begun = Instant::now();
    while status(&mut send_request(&service)) != 200 {
        assert!(begun.elapsed() < LONG, "the slots are not released");
    }
}

#[test]
fn f28_accepting_pauses_without_open_files_and_resumes() {
    let platform = Platform::new();
    let service = platform.service(&[]);
    // Over an open connection the service reports that it cannot accept another one.
    let mut operator = Caller::new(service.address);
    let mut accepts_none = || {
        let page = String::from_utf8(operator.get("/metrics").unwrap().body).unwrap();
        let sample = "vidra_connections_refused_total{reason=\"no_resources\"} ";
        page.lines().find_map(|line| line.strip_prefix(sample)).is_some_and(|count| count != "0")
    };
    assert!(!accepts_none());
    // Lowered at run time, so that the service has more connection slots than files.
    let limit = service.open_files() + 8;
    let pid = service.child.id().to_string();
    prlimit(&["--pid", &pid, &format!("--nofile={limit}:{limit}")]);
    let mut inside = vec![];
    let begun = Instant::now();
    let (mut outside, busy) = loop {
        let stream = send_request(&service);
        stream.set_nonblocking(true).unwrap();
        let mut first = [0];
        let is_answered = loop {
            // The metric is read first: a response after that belongs to a connection accepted before.
            let is_full = accepts_none();
            match stream.peek(&mut first) {
                Ok(length) => break length == 1,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => panic!("{error}"),
                Err(_) if is_full => break false,
                Err(_) => assert!(begun.elapsed() < LONG, "neither served nor refused"),
            }
        };
        stream.set_nonblocking(false).unwrap();
        assert!(inside.len() < 100, "there is a limit");
        if is_answered {
            inside.push(stream);
            assert_eq!(status(inside.last_mut().unwrap()), 200);
            continue;
        }
        // Waits one second without a response and measures the CPU time used meanwhile.
        let (before, begun) = (service.cpu(), Instant::now());
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut stream = stream;
        match response(&mut stream) {
            // The service had closed a file of its own meanwhile.
            Ok((answered, _)) => {
                assert_eq!(answered, 200);
                stream.set_read_timeout(None).unwrap();
                inside.push(stream);
            }
            Err(error) => {
                use io::ErrorKind::{TimedOut, WouldBlock};
                assert!(matches!(error.kind(), WouldBlock | TimedOut), "{error}");
                let busy = 10 * (service.cpu() - before) as u128 * 100;
                break (stream, busy / begun.elapsed().as_millis());
            }
        }
    };
    assert!(!inside.is_empty());
    println!("{} inside; {busy} % of a core in a second without files", inside.len());
    assert!(busy < 5, "{busy} % of a core");
    // Accepted connections are still served, with one response per request.
    for stream in &mut inside {
        for _ in 0..2 {
            stream.write_all(REQUEST.as_bytes()).unwrap();
            assert_eq!(status(stream), 200);
        }
    }

    drop(inside);
    outside.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(status(&mut outside), 200, "the waiting caller is answered");
    assert_eq!(Caller::new(service.address).get("/healthz").unwrap().status, 200);
    assert!(accepts_none());
    let (_, log) = service.0.stop();
    assert_eq!(log.matches("cannot accept connections").count(), 1, "once a minute: {log}");
}
