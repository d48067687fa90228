//! SIGHUP: files of any kind, and a new API key.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::callers::{new_key, run};
use crate::process::{Service, send, vidra};
use crate::serve::{CANARY, platform, vidra_at};

/// Replaces the file by something else.
fn replace(file: &Path, kind: &str) {
    let _ = fs::remove_file(file);
    let _ = fs::remove_dir(file);
    match kind {
        "fifo" => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
        "folder" => fs::create_dir(file).unwrap(),
        "device" => std::os::unix::fs::symlink("/dev/zero", file).unwrap(),
        _ => {}
    }
}

fn status(service: &Service, key: &str) -> u16 {
    service.get_with("/api/video/quirkNoLike", &format!("x-api-key: {key}\r\n")).0
}

#[test]
fn review_s11_a_keys_file_of_any_kind_leaves_later_reloads_working() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let alice = new_key(folder, &["alice"]);
    let good = fs::read(folder.join("keys.json")).unwrap();
    let demo = || {
        let mut command = vidra(folder);
        command.env("VIDRA_DEMO", "1").env("VIDRA_CALLER_KEYS_FILE", "keys.json");
        command
    };
    let service = Service::start(demo().env("VIDRA_ADMIN_LISTEN", "127.0.0.1:0"));
    for kind in ["fifo", "folder", "device", "missing"] {
        replace(&folder.join("keys.json"), kind);
        let line = service.log_until("reload failed", "-HUP");
        assert!(line.contains("\"file\":\"caller_keys\""), "{kind}: {line}");
        assert_eq!(status(&service, &alice), 200, "{kind}: the old keys stay valid");
    }
    replace(&folder.join("keys.json"), "missing");
    fs::write(folder.join("keys.json"), good).unwrap();
    let bob = new_key(folder, &["bob"]);
    service.log_until("file reloaded", "-HUP");
    assert_eq!(status(&service, &bob), 200);
    let (_, metrics) = send(service.admin.unwrap(), "GET", "/metrics", "");
    for (outcome, count) in [("success", 1), ("failure", 4)] {
        let sample =
            format!("vidra_reloads_total{{file=\"caller_keys\",outcome=\"{outcome}\"}} {count}\n");
        assert!(metrics.contains(&sample), "{sample} in {metrics}");
    }
    assert_eq!(service.stop().0, Some(0));
    // A FIFO at the start is an error, not a wait without end.
    replace(&folder.join("keys.json"), "fifo");
    let (code, _, error) = run(demo().arg("serve"));
    assert!(code == Some(2) && error.contains("not a regular file"), "{error}");
}

#[test]
fn a_new_api_key_is_read_on_sighup() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let file = folder.path().join("key");
    fs::write(&file, "AIzaSyREVOKED").unwrap();
    let mut command = vidra_at(&platform, folder.path());
    let service = Service::start(command.env("VIDRA_API_KEY_FILE", &file));
    assert_eq!(service.get("/api/video/quirkNoLike").0, 503);
    assert!(service.get("/readyz").1.contains("the key was rejected"));
    let calls = |outcome: &str| {
        let sample = format!("endpoint=\"videos\",outcome=\"{outcome}\"}} 1");
        service.get("/metrics").1.contains(&sample)
    };
    assert!(calls("key_rejected") && !calls("refused"));

    fs::write(&file, " \n").unwrap();
    service.log_until("reload failed", "-HUP");
    assert!(service.get("/readyz").1.contains("reload: the api key could not be read again"));

    fs::write(&file, CANARY).unwrap();
    service.log_until("file reloaded", "-HUP");
    assert_eq!(service.get("/readyz").1, "{\"status\":\"ready\"}");
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    let (code, log) = service.stop();
    assert_eq!(code, Some(0));
    assert!(!log.contains(CANARY) && !log.contains("REVOKED"), "{log}");
}

#[test]
fn a_reload_during_the_start_does_not_end_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let redis = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_LISTEN", "127.0.0.1:0");
    command.env("VIDRA_CACHE", format!("redis://{}", redis.local_addr().unwrap()));
    command.arg("serve").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let pid = child.id().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, pid.as_str()]).status().unwrap().success());
    };
    // The service waits for an answer, and starts without one.
    let connection = redis.accept().unwrap();
    signal("-HUP");
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut lines = log.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("listening")), "the process has ended");
    signal("-TERM");
    lines.for_each(drop);
    drop(connection);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
