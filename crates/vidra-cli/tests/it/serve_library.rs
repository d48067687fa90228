//! `vidra serve` with a library file: the default place, restarts, and files that cannot be used.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Service, exchange, vidra};

fn demo(folder: &Path) -> Command {
    let mut command = vidra(folder);
    command.env("VIDRA_DEMO", "1").env("VIDRA_STATE_DIR", "state");
    command
}

fn start_job(service: &Service, sources: &str) -> Value {
    let body = format!(r#"{{"sources": {sources}}}"#);
    let headers = format!(
        "host: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        service.address,
        body.len()
    );
    let (status, _, text) = exchange(service.address, "POST", "/api/jobs", &headers, &body);
    assert_eq!(status, 202, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn ended(service: &Service, id: &str) -> Value {
    let mut seen = 0;
    loop {
        let (status, body) = service.get(&format!("/api/jobs/{id}?wait=60&seen={seen}"));
        assert_eq!(status, 200, "{body}");
        let job: Value = serde_json::from_str(&body).unwrap();
        if job["state"] == "completed" {
            return job;
        }
        seen = job["version"].as_u64().unwrap();
    }
}

#[test]
fn a_job_survives_a_kill_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&mut demo(folder.path()));
    let job = start_job(&service, r#"["PLsize500"]"#);
    let id = job["id"].as_str().unwrap();
    service.kill();
    assert!(folder.path().join("state/demo-library.db").exists(), "in the state folder");
    let service = Service::start(&mut demo(folder.path()));
    let job = ended(&service, id);
    let failed: u64 = job["failed"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(job["total"], 500, "{job}");
    assert_eq!(job["succeeded"].as_u64().unwrap() + failed, 500);
    let (status, results) = service.get(&format!("/api/jobs/{id}/results?format=csv"));
    assert_eq!((status, results.is_empty()), (200, false));
    let (_, metrics) = service.get("/metrics");
    assert!(metrics.contains("vidra_jobs{state=\"completed\"} 1"), "{metrics}");
    let (code, log) = service.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("job ended"), "{log}");
}

#[test]
fn a_library_can_be_off_or_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(demo(folder.path()).env("VIDRA_DATABASE", "off"));
    let (status, body) = service.get("/api/jobs");
    assert!(status == 404 && body.contains("library_off"), "{body}");
    assert_eq!(service.stop().0, Some(0));
    assert!(!folder.path().join("state/demo-library.db").exists());
    let service = Service::start(demo(folder.path()).env("VIDRA_DATABASE", "sqlite:new/a.db"));
    assert_eq!(service.get("/api/jobs").0, 200);
    assert_eq!(service.stop().0, Some(0));
    assert!(folder.path().join("new/a.db").exists());
    // The demo has no state folder of its own.
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    assert_eq!(service.get("/api/jobs").0, 404);
    let (_, log) = service.stop();
    assert!(log.contains("no state folder: the library is off"), "{log}");
}

#[test]
fn a_file_that_is_no_library_prevents_the_start() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "not a database").unwrap();
    let mut command = demo(folder.path());
    let command =
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", "sqlite:notes.txt"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("notes.txt: The file is not a library"), "{error}");
    assert!(error.contains("--database"), "{error}");
    assert_eq!(fs::read(folder.path().join("notes.txt")).unwrap(), b"not a database");
}

#[test]
fn a_disk_that_fails_does_not_prevent_the_start() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let mut command = demo(folder.path());
    let service = Service::start(command.env("VIDRA_DATABASE", "sqlite:file/library.db"));
    let (status, body) = service.get("/api/jobs");
    assert!(status == 503 && body.contains("library_unavailable"), "{body}");
    assert_eq!(service.get("/api/video/fda4eREcaTQ").0, 200);
    let (status, body) = service.get("/readyz");
    assert!(status == 200 && body.contains("library: its file cannot be used"), "{body}");
    let (code, log) = service.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("library not opened"), "{log}");
}
