//! Attacks by their number in the security table of docs/testing.md. These need a whole process: they
//! check its output, its files, its memory and that it starts no other process.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use vidra_sim::proxy::{Proxy, ProxyMode};
use vidra_sim::{Action, Endpoint, Fault, Junk};

use crate::callers::{keys, new_key, run, walk};
use crate::process::{Service, send, vidra};
use crate::serve::{CANARY, platform, vidra_at};

/// A request to every kind of route, and invalid ones.
const TOUR: [&str; 24] = [
    "/api/video/quirkNoLike",
    "/api/video/quirkNoLike/title",
    "/api/videos?ids=quirkNoLike,quirkNoView,________404",
    "/api/channel/@fermata",
    "/api/channel/@fermata/videos",
    "/api/channel/https://www.youtube.com/c/LanternBayTapes",
    "/api/playlist/PLsize51",
    "/api/playlist/PLsize51/info",
    "/api/playlist/PLsize51/ids",
    "/api/playlist/PLquirkPrivate",
    "/api/comments/quirkNoLike",
    "/api/comments/quirkNoComm",
    "/api/transcript/txNeedsPot_?format=vtt",
    "/api/transcript/plNeedsPage",
    "/api/transcript/txManualAsr/tracks",
    "/api/i18n/regions",
    "/api/video-categories?region=US",
    "/api/video/errKey__400",
    "/api/video/nope",
    "/nothing",
    "/api/quota",
    "/api/cache",
    "/readyz",
    "/openapi.json",
];

/// Faults of the platform, some with the API key in its response.
fn platform_faults() -> Vec<Action> {
    let echo = |status: u16| {
        let error = format!(
            r#"{{"error":{{"code":{status},"message":"Consumer 'api_key:{CANARY}' was here","errors":[{{"reason":"{CANARY}","message":"{CANARY}"}}],"details":[{{"reason":"{CANARY}"}}]}}}}"#
        );
        Action::Status { status, body: error, retry_after: None }
    };
    vec![
        Action::status(500),
        echo(400),
        echo(403),
        echo(503),
        Action::Status { status: 200, body: CANARY.to_owned(), retry_after: None },
        Action::Status { status: 403, body: CANARY.to_owned(), retry_after: None },
        Action::error("keyInvalid"),
        Action::error("backendError"),
        Action::Reset,
        Action::Cut,
        Action::Junk { kind: Junk::Html },
        Action::Junk { kind: Junk::Truncated },
        Action::Junk { kind: Junk::NotUtf8 },
        Action::Redirect { location: format!("http://127.0.0.1:1/?key={CANARY}") },
        Action::WrongId { id: "quirkDurDay".to_owned() },
        Action::Hang,
        // Last, because no call is sent for ten minutes after it.
        Action::status(429).retry_after("600"),
    ]
}

#[test]
fn s5_secrets_appear_in_no_output() {
    for cache in ["fs:cache", "off"] {
        tour(cache);
    }
}

/// Without a cache every fault reaches the caller; with a cache there are files to check.
fn tour(cache: &str) {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let (folder, sim) = (folder.path(), &platform.sim);
    let caller = new_key(folder, &["caller"]);
    let gone = new_key(folder, &["gone"]);
    assert_eq!(keys(folder, &["revoke", "gone"]).0, Some(0));
    let towards = Proxy::listen_towards("a", platform.listening.addr());
    let proxy = platform.runtime.block_on(towards).unwrap();
    let mut command = vidra_at(&platform, folder);
    command
        .env("RUST_LOG", "trace")
        .env("YOUTUBE_API_KEY", CANARY)
        .env("VIDRA_CACHE", cache)
        .env("VIDRA_BREAKER_PAUSE", "1ms")
        .env("VIDRA_STATE_DIR", "state")
        .env("VIDRA_CALLER_KEYS_FILE", "keys.json")
        .env("VIDRA_ADMIN_LISTEN", "127.0.0.1:0")
        .env("VIDRA_WEB_URL", platform.listening.web_url())
        .env("VIDRA_PROXY", proxy.url().replace("http://", "http://user:CANARYPASS@"))
        .env("VIDRA_POT_PROVIDER", platform.listening.url())
        .env("VIDRA_RETRIES", "1")
        .env("VIDRA_RETRY_DELAY", "1ms")
        .env("VIDRA_REQUEST_TIMEOUT", "1s")
        .env("VIDRA_UPSTREAM_TIMEOUT", "200ms");
    #[cfg(feature = "otel")]
    let (collector, posted) = crate::traces::collector();
    #[cfg(feature = "otel")]
    command.env("VIDRA_OTLP_ENDPOINT", format!("http://{collector}"));
    let service = Service::start(&mut command);
    let mut answers = String::new();
    let mut get_status = |path: &str, more: &str| {
        let (status, head, body) = service.get_with(path, more);
        answers += &(head + &body);
        status
    };

    let known = format!("x-api-key: {caller}\r\n");
    // Every way to send a key, including invalid ones.
    let credentials = [
        known.clone(),
        format!("authorization: Bearer {caller}\r\n"),
        format!("authorization: Bearer {gone}\r\n"),
        format!("authorization: Basic {caller}\r\n"),
        format!("x-api-key: {caller}\r\nx-api-key: {gone}\r\n"),
        format!("cookie: key={caller}\r\n"),
        String::new(),
    ];
    for headers in &credentials {
        for path in ["/api/video/quirkNoLike", "/api/quota", &format!("/api/quota?key={caller}")] {
            get_status(path, headers);
        }
    }
    let no_cache = format!("{known}cache-control: no-cache\r\n");
    let mut statuses: Vec<u16> = TOUR.iter().map(|path| get_status(path, &no_cache)).collect();
    for fault in platform_faults() {
        sim.inject(Fault::any(fault));
        statuses.extend(TOUR.iter().step_by(3).map(|path| get_status(path, &no_cache)));
        statuses.push(get_status("/api/transcript/txNeedsPot_", &no_cache));
        sim.clear_faults();
    }
    for mode in [ProxyMode::Refusing(407), ProxyMode::Refusing(502), ProxyMode::Dead] {
        proxy.set_mode(mode);
        statuses.push(get_status("/api/transcript/txNeedsPot_", &no_cache));
    }
    let expected: &[u16] = if cache == "off" {
        &[200, 400, 403, 404, 429, 502, 503, 504]
    } else {
        &[200, 400, 403, 404]
    };
    for expected in expected {
        assert!(statuses.contains(expected), "no {expected} among {statuses:?}");
    }
    for accept in ["application/json", "application/x-ndjson", "text/event-stream"] {
        let headers = format!("{known}accept: {accept}\r\ncontent-length: 0\r\n");
        answers +=
            &send(service.address, "POST", "/api/playlist/PLquirkMixed/transcript", &headers).1;
    }
    for path in ["/metrics", "/readyz", "/nothing"] {
        answers += &send(service.admin.unwrap(), "GET", path, "").1;
    }
    // The other commands, beside the running service.
    let listen = service.address.to_string();
    for command in [&["cache", "stats"][..], &["keys", "list"], &["health", "--listen", &listen]] {
        let mut vidra = vidra(folder);
        vidra.env("VIDRA_CACHE", "fs:cache").env("VIDRA_CALLER_KEYS_FILE", "keys.json");
        let vidra = vidra.env("YOUTUBE_API_KEY", CANARY).env("RUST_LOG", "trace").args(command);
        let (_, output, error) = run(vidra);
        answers += &(output + &error);
    }
    service.log_until("file reloaded", "-HUP");
    let (code, output, log) = service.stop_with_output();
    assert_eq!(code, Some(0));

    // All of these features have been used.
    assert!(log.contains("\"level\":\"TRACE\""), "the log has the highest verbosity");
    let record = sim.record();
    assert!(record.requests.iter().any(|seen| seen.header("x-goog-api-key") == Some(CANARY)));
    assert!(record.key_in_url == 0 && record.by_egress["a"] > 5);
    let (token, visitor) = (sim.po_token("txNeedsPot_"), sim.visitor_data());
    let mut outputs = vec![("answers", answers), ("output", output), ("log", log)];
    for file in walk(folder) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        outputs.push(("a file", format!("{} {text}", file.display())));
    }
    assert!(outputs.len() > if cache == "off" { 5 } else { 20 }, "there are files");
    #[cfg(feature = "otel")]
    {
        let spans: Vec<String> = posted
            .try_iter()
            .map(|(_, body)| String::from_utf8_lossy(&body).into_owned())
            .collect();
        assert!(spans.concat().contains("/api/video/{id}"), "there are traces");
        outputs.push(("traces", spans.concat()));
    }
    // The password as plain text and as base64.
    let secrets =
        [CANARY, &caller[3..], &gone[3..], "CANARYPASS", "dXNlcjpDQU5BUllQQVNT", &token, &visitor];
    for (source, text) in outputs {
        for secret in secrets {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} in {source}");
        }
    }
}

/// Only the user can read written files, whatever the umask.
#[test]
fn s9_written_files_are_private_to_their_user() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let folder = folder.path();
    let key = new_key(folder, &["caller", "--units", "10"]);
    let mut command = vidra_at(&platform, folder);
    command
        .env("YOUTUBE_API_KEY", CANARY)
        .env("VIDRA_CACHE", "fs:kept/cache")
        .env("VIDRA_STATE_DIR", "kept/state")
        .env("VIDRA_CALLER_KEYS_FILE", "keys.json");
    let service = Service::start(&mut command);
    let (status, ..) = service.get_with("/api/video/quirkNoLike", &format!("x-api-key: {key}\r\n"));
    assert_eq!(status, 200);
    assert_eq!(service.stop().0, Some(0));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = walk(&folder.join("kept"));
    let has = |name: &str| files.iter().any(|file| file.to_string_lossy().contains(name));
    assert!(has("quota-") && has("callers.json") && has("/cache/"), "{files:?}");
    for file in files.iter().chain([&folder.join("keys.json")]) {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    let folders: Vec<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    for below in folders.into_iter().filter(|it| it.starts_with(folder) && *it != folder) {
        assert_eq!(mode(below), 0o700, "{}", below.display());
    }
}

/// A number of `/proc/PID/status`, in kilobytes.
fn memory(service: &Service, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", service.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// An oversized response is never in memory as a whole.
#[test]
fn s10_decompression_bombs_use_bounded_memory() {
    let bomb = || Action::GzipBomb { mebibytes: 100 };
    let table = [
        (Endpoint::Videos, bomb(), "/api/video/quirkNoView"),
        (Endpoint::Player, bomb(), "/api/transcript/txManualAsr"),
        (Endpoint::TimedText, bomb(), "/api/transcript/txManualOnl"),
        (Endpoint::Channels, Action::Huge { bytes: 1 << 34 }, "/api/channel/@fermata"),
    ];
    for (endpoint, action, path) in table {
        let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
        let mut command = vidra_at(&platform, folder.path());
        command
            .env("YOUTUBE_API_KEY", CANARY)
            .env("VIDRA_WEB_URL", platform.listening.web_url())
            .env("VIDRA_CACHE", "off")
            .env("VIDRA_RETRIES", "0");
        let service = Service::start(&mut command);
        for path in TOUR {
            service.get(path);
        }
        let before = memory(&service, "VmRSS");
        platform.sim.inject(Fault::on(endpoint, action));
        let (status, body) = service.get(path);
        assert_eq!(status, 502, "{path}: {body}");
        let grown = memory(&service, "VmHWM").saturating_sub(before);
        println!("{endpoint:?}: {} MB more at most, {} MB before", grown >> 10, before >> 10);
        assert!(grown < 64 << 10, "{endpoint:?}: {grown} KB");
    }
}

/// Sends raw bytes and returns the response.
fn send_raw(service: &Service, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A caller can put neither terminal escapes nor forged lines into the log.
#[test]
fn s13_callers_cannot_inject_into_the_log() {
    let payloads: [&[u8]; 6] = [
        b"%1b%5b31m%0d%0aINFO%20forged",
        b"%e2%80%a8forged",
        b"\x1b[31mforged",
        b"\xc2\x9b31mforged",
        b"\xe2\x80\xae\xe2\x80\xa8forged",
        b"\xff\xfeforged",
    ];
    for format in ["text", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = vidra(folder.path());
        command.env("VIDRA_DEMO", "1").env("RUST_LOG", "trace").env("VIDRA_LOG_FORMAT", format);
        let service = Service::start(&mut command);
        for bytes in payloads {
            for (before, after) in [
                ("GET /api/video/", " HTTP/1.1\r\n"),
                ("GET /", " HTTP/1.1\r\n"),
                ("GET /api/comments/quirkNoLike?search=", " HTTP/1.1\r\n"),
                ("GET /healthz HTTP/1.1\r\nx-request-id: ", "\r\n"),
                ("GET /healthz HTTP/1.1\r\nuser-agent: ", "\r\n"),
                ("GET /healthz HTTP/1.1\r\ntraceparent: ", "\r\n"),
                ("", " /healthz HTTP/1.1\r\n"),
            ] {
                let end = b"host: localhost\r\nconnection: close\r\n\r\n";
                send_raw(&service, &[before.as_bytes(), bytes, after.as_bytes(), end].concat());
            }
        }
        let (_, log) = service.stop();
        assert!(log.contains("forged"), "the payloads are logged");
        let bad = |c: char| c.is_control() && c != '\n' || "\u{2028}\u{2029}\u{202e}".contains(c);
        let line = log.lines().find(|line| line.contains(bad));
        assert_eq!(line, None, "{format}");
        let is_ours = |line: &str| match format {
            "json" => line.starts_with("{\"timestamp\":\"") && line.ends_with('}'),
            _ => line.starts_with("20"),
        };
        assert_eq!(log.lines().find(|line| !is_ours(line)), None, "{format}");
    }
}

/// No input can become a command, because the code starts no process but the pager of a user on a terminal. Its text
/// comes from that user's environment alone.
#[test]
fn s25_only_the_pager_is_ever_started() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = std::collections::BTreeMap::new();
    for folder in fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        // Benchmarks start processes, and the checks of layers run in tests only. Neither is shipped,
        // and no shipped crate depends on them: see the test of the order of crates in vidra-rooms.
        if ["vidra-bench", "vidra-engines", "vidra-rooms"].contains(&&*name) {
            continue;
        }
        assert!(!manifest.contains("vidra-bench"), "{name} depends on it");
        let mut files = walk(&folder.join("src"));
        files.extend(Some(folder.join("build.rs")).filter(|file| file.exists()));
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            if file.ends_with("vidra-cli/src/output/pager.rs") {
                assert_eq!(text.matches("Command::new(").count(), 1);
                assert!(text.contains("env::var(\"PAGER\")"));
                continue;
            }
            for word in ["process::Command", "Command::new", "libc::exec", "posix_spawn"] {
                assert!(!text.contains(word), "{word} in {}", file.display());
            }
        }
        seen.insert(name, files.len());
    }
    let names: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["vidra", "vidra-cli", "vidra-library", "vidra-mcp", "vidra-server", "vidra-sim"]
    );
    assert!(seen.values().all(|files| *files > 10), "{seen:?}");
}

/// Every test in the table exists, and every numbered test is in the table.
#[test]
fn security_table_matches_the_tests() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let code: String = walk(&crates)
        .iter()
        .filter(|file| file.extension().is_some_and(|it| it == "rs"))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let document = include_str!("../../../../docs/testing.md");
    let (_, table) = document.split_once("\n## Security tests\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let names: Vec<&str> = table
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|quoted| quoted.rsplit_once("::"))
        .map(|(_, name)| name)
        .collect();
    assert!(names.len() > 50, "{names:?}");
    for name in &names {
        assert!(code.contains(&format!("fn {name}(")), "there is no test {name}");
    }
    for line in code.lines().filter_map(|line| line.trim().split_once("fn s")) {
        let name = line.1.split('(').next().unwrap();
        let is_numbered = name.starts_with(|c: char| c.is_ascii_digit());
        let name = format!("s{name}");
        assert!(!is_numbered || names.contains(&&*name), "{name} is not in the table");
    }
}
