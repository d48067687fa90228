//! Observability of a running service: metrics, request ids, the operator's address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{Service, address_in, exit_code_within, send, vidra};

/// How long the service may take to count a line, or to end.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The value of the first sample with this prefix.
fn value(page: &str, sample: &str) -> f64 {
    let line = page.lines().find(|line| line.starts_with(sample));
    let line = line.unwrap_or_else(|| panic!("{sample} in {page}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn metrics_are_public_without_an_admin_address() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    let (status, page) = service.get("/metrics");
    assert_eq!((status, service.admin), (200, None));
    let requests = "vidra_requests_total{route=\"/api/video/{id}\",method=\"GET\",status=\"200\"}";
    assert_eq!(value(&page, requests), 1.0);
    // The connection of the request before may just be closing.
    assert!((1.0..=2.0).contains(&value(&page, "vidra_connections_open")), "{page}");
}

#[test]
fn admin_address_serves_metrics_but_not_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_ADMIN_LISTEN", "127.0.0.1:0");
    let service = Service::start(&mut command);
    let admin = service.admin.expect("the log names the address");
    let get_admin = |path| send(admin, "GET", path, "");
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    assert_eq!(service.get("/metrics").0, 404);
    let (status, page) = get_admin("/metrics");
    assert_eq!(status, 200);
    let requests = "vidra_requests_total{route=\"/api/video/{id}\",method=\"GET\",status=\"200\"}";
    assert_eq!(value(&page, requests), 1.0);
    for path in ["/healthz", "/readyz"] {
        assert_eq!((get_admin(path).0, service.get(path).0), (200, 200), "{path}");
    }
    assert_eq!(get_admin("/api/video/quirkNoLike").0, 404);
    assert_eq!(service.stop().0, Some(0));
}

#[test]
fn failed_request_is_logged_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    assert_eq!(service.get("/api/transcript/plBotWall__").0, 502);
    assert_eq!(service.get("/api/video/quirkUnknwn").0, 404);
    let (_, log) = service.stop();
    let failed: Vec<&str> =
        log.lines().filter(|line| line.contains("\"level\":\"WARN\"")).collect();
    let of_request: Vec<_> = failed.iter().filter(|line| line.contains("request failed")).collect();
    assert_eq!(of_request.len(), 1, "404 is not logged as a failure: {failed:?}");
    for part in ["\"request_id\":\"", "\"status\":502", "\"error\":\"YouTube blocks requests"] {
        assert!(of_request[0].contains(part), "{part}: {}", of_request[0]);
    }
}

#[test]
fn requests_are_logged_with_their_id() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    // A miss, a hit, and a rejected request.
    for path in ["/api/video/quirkNoLike", "/api/video/quirkNoLike", "/api/video/nope"] {
        send(service.address, "GET", path, "x-request-id: from-outside\r\n");
    }
    send(service.address, "GET", "/none", "x-request-id: two words\r\n");
    let (_, log) = service.stop();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        lines("\"request_id\":\"from-outside\",\"client\":\"127.0.0.1\",\"method\":\"GET\""),
        3,
        "{log}"
    );
    assert!(lines("two words") == 0 && lines("\"request_id\":\"") == 4, "{log}");
}

/// The log of the service goes into a pipe that nobody reads.
#[test]
fn review_s6_a_stuck_log_blocks_neither_requests_nor_the_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").args(["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    let address = loop {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "the process ended");
        if let Some(address) = address_in("address", &line) {
            break address;
        }
    };
    // Lines of 1.4 KB: more than the pipe and the buffer of the service hold.
    let path = format!("/{}", "x".repeat(1_000));
    let send_many = |count| {
        for _ in 0..count {
            assert_eq!(send(address, "GET", &path, "").0, 404);
        }
    };
    let mut pages = 0;
    let mut dropped = || {
        pages += 1;
        let (status, page) = send(address, "GET", "/metrics", "");
        assert_eq!(status, 200);
        value(&page, "vidra_log_lines_dropped_total")
    };
    send_many(1_500);
    let before = dropped();
    assert!(before > 0.0);
    // The buffer is full, so every further line is dropped and counted. The page itself may have a line too, and a
    // line is counted shortly after its response.
    send_many(100);
    let deadline = Instant::now() + WAIT_LIMIT;
    let mut after = dropped();
    while after < before + 100.0 {
        assert!(Instant::now() < deadline, "{before} dropped lines became {after}, 100 expected");
        after = dropped();
    }
    assert!(after <= before + 100.0 + f64::from(pages), "{before} became {after}");
    assert_eq!(send(address, "GET", "/api/video/quirkNoLike", "").0, 200);

    // The process ends by itself, while nobody reads.
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let code = exit_code_within(WAIT_LIMIT, &mut child, || "the log is stuck".to_owned());
    assert_eq!(code, Some(0));
    // The pipe holds the oldest lines, each complete except for the last one. All others were dropped or in the buffer.
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(rest.lines().all(|line| line.len() < 4_096));
    let complete = &rest[..rest.rfind('\n').unwrap()];
    for line in complete.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["status"], 404, "{line}");
    }
    let written = complete.lines().count();
    assert!(written > 10 && written as f64 + after <= 1_600.0 + f64::from(pages), "{written}");
}

/// A large answer from a file is complete when its last byte is sent, not when it begins.
#[test]
fn review_o9_an_abandoned_download_of_a_large_answer_is_logged_as_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    let service =
        Service::start(command.env("VIDRA_DEMO", "1").env("VIDRA_MAX_ANSWER_MEMORY", "0"));
    // More than the buffers of a connection hold.
    let path = "/api/playlist/PLsize5000";
    let mut caller = TcpStream::connect(service.address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    caller.write_all(head.as_bytes()).unwrap();
    caller.read_exact(&mut [0; 16]).unwrap();
    drop(caller);
    let (status, body) = service.get(path);
    assert_eq!((status, service.get("/api/playlist/PLsize1").0), (200, 200));
    assert_eq!(send(service.address, "HEAD", path, "").0, 200);
    let (_, log) = service.stop();
    let lines = |message: &str| -> Vec<Value> {
        let message = format!("\"message\":\"{message}\"");
        let lines = log.lines().filter(|line| line.contains(&message));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let abandoned = lines("request abandoned by its caller");
    assert_eq!(abandoned.len(), 1, "{log}");
    assert!(abandoned[0]["bytes"].as_u64() < Some(body.len() as u64), "{}", abandoned[0]);
    let complete = lines("request");
    assert_eq!(complete.len(), 3, "{log}");
    assert_eq!(complete[0]["bytes"], body.len(), "{}", complete[0]);
}

#[test]
fn the_access_log_has_every_fact_of_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    for _ in 0..2 {
        assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    }
    assert_eq!(service.batch("PLsize1", "application/x-ndjson").0, 200);
    assert_eq!(service.get("/api/video/quirkUnknwn").0, 404);
    assert_eq!(service.get("/healthz").0, 200);
    let (_, log) = service.stop();
    let lines = log.lines().filter(|line| line.contains("\"message\":\"request\""));
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "probes are logged at the level DEBUG: {log}");
    let facts = |line: &Value| {
        ["route", "cache", "status", "cost", "upstream_calls", "reason"]
            .map(|name| line[name].clone())
    };
    let expected = [
        json!(["/api/video/{id}", "miss", 200, 1, 1, null]),
        json!(["/api/video/{id}", "hit", 200, 0, 0, null]),
        json!(["/api/playlist/{id}/transcript", null, 200, 1, 3, null]),
        json!(["/api/video/{id}", null, 404, 1, 1, "video_not_found"]),
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!(json!(facts(line)), expected, "{line}");
        assert_eq!(line["client"], "127.0.0.1");
        assert!(line["bytes"].as_u64() > Some(100) && line["elapsed_ms"].is_number());
        assert!(line["first_byte_ms"].as_f64() <= line["elapsed_ms"].as_f64());
        assert!(line["cost"] == 0 || line["upstream_ms"].as_f64() > Some(0.0), "{line}");
    }
}

#[test]
fn debug_lines_have_the_request_id() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    let service = Service::start(command.env("VIDRA_DEMO", "1").env("RUST_LOG", "debug"));
    send(service.address, "GET", "/api/video/quirkNoLike", "x-request-id: from-outside\r\n");
    let (_, log) = service.stop();
    let line = log.lines().find(|line| line.contains("sending request")).expect("a debug line");
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["request_id"], "from-outside", "{line}");
}
