//! F28: no open files are left.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::callers::{Caller, LONG};
use crate::platform::{Platform, Running};
use crate::process::Service;

const ASK: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// One who asks and waits so long for the answer.
fn ask(service: &Service, patience: Duration) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    stream.write_all(ASK.as_bytes()).unwrap();
    stream
}

/// The start of what is said; `None` where nothing is.
fn said(stream: &mut TcpStream) -> Option<String> {
    let mut start = [0; 64];
    let length = stream.read(&mut start).ok()?;
    Some(String::from_utf8_lossy(&start[..length]).into_owned())
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
    let mut inside: Vec<_> = (1..128).map(|_| ask(&service, LONG)).collect();
    for stream in &mut inside {
        assert!(said(stream).unwrap().starts_with("HTTP/1.1 200"));
    }
    for _ in 0..10 {
        let refused = said(&mut ask(&service, LONG)).unwrap();
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    }
    // Whoever is inside gets what has to be fetched: that takes files too.
    assert_eq!(lucky.get("/api/playlist/PLsize500").unwrap().status, 200);
    drop(inside);
    while !said(&mut ask(&service, LONG)).unwrap().starts_with("HTTP/1.1 200") {}
}

#[test]
fn f28_where_none_is_left_it_waits_quietly_and_goes_on_later() {
    let platform = Platform::new();
    let service = platform.service(&[]);
    assert_eq!(service.get("/healthz").0, 200);
    // Taken away while it runs, so that it has more places than files.
    let limit = service.open_files() + 8;
    let pid = service.child.id().to_string();
    prlimit(&["--pid", &pid, &format!("--nofile={limit}:{limit}")]);
    let mut inside = vec![];
    let mut outside = loop {
        let mut stream = ask(&service, Duration::from_secs(1));
        match said(&mut stream) {
            Some(answer) => assert!(answer.starts_with("HTTP/1.1 200"), "{answer}"),
            None => break stream,
        }
        inside.push(stream);
        assert!(inside.len() < 100, "there is a limit");
    };
    assert!(!inside.is_empty());
    // A second of waiting for what does not come.
    let before = service.cpu();
    assert_eq!(said(&mut outside), None);
    let busy = service.cpu() - before;
    println!("{} inside; {busy} % of a core in a second without files", inside.len());
    assert!(busy < 5, "{busy} % of a core");
    // Those inside are answered as ever.
    let known = inside.first_mut().unwrap();
    known.write_all(ASK.as_bytes()).unwrap();
    assert!(said(known).is_some());

    drop(inside);
    outside.set_read_timeout(Some(LONG)).unwrap();
    assert!(said(&mut outside).unwrap().starts_with("HTTP/1.1 200"), "who waited is answered");
    assert_eq!(Caller::of(service.address).get("/healthz").unwrap().status, 200);
    assert!(service.metric("vidra_connections_refused_total{reason=\"no_resources\"} ") >= 10.0);
    let (_, log) = service.0.stop();
    assert_eq!(log.matches("no connection can be taken in").count(), 1, "once a minute: {log}");
}
