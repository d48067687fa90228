//! `vidra serve`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use vidra_sim::proxy::{Proxy, ProxyMode};
use vidra_sim::{Action, Endpoint, Fault, Listening, Simulator};

use crate::process::{Service, vidra};

pub(crate) const CANARY: &str = "AIzaSyCANARY-0123456789-abcdefghijklmn";

/// A simulator on loopback, on a runtime that lives as long as the test.
pub(crate) struct Platform {
    pub(crate) sim: Simulator,
    pub(crate) listening: Listening,
    pub(crate) runtime: tokio::runtime::Runtime,
}

pub(crate) fn platform() -> Platform {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sim = Simulator::builder().key(CANARY).build();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = runtime.block_on(sim.listen(loopback)).unwrap();
    Platform { sim, listening, runtime }
}

/// `vidra` pointed at the platform.
pub(crate) fn vidra_at(platform: &Platform, folder: &std::path::Path) -> Command {
    let mut command = vidra(folder);
    command.env("VIDRA_DATA_API_URL", platform.listening.data_api_url());
    command
}

/// The exit code and standard error of a run that ends by itself.
fn refused(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn demo_needs_no_configuration_and_its_urls_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let paths = service.printed_paths();
    assert!(paths.len() >= 10, "{paths:?}");
    for path in paths {
        let (status, body) = service.get(&path);
        // Examples of errors in the tour.
        let expected = match path.as_str() {
            "/api/playlist/PLquirkPrivate" => 403,
            "/api/transcript/plBotWall__" => 502,
            _ => 200,
        };
        assert_eq!(status, expected, "{path}: {body}");
    }
    assert_eq!(service.stop().0, Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the demo leaves no files");
}

#[test]
fn spent_quota_survives_restart_and_kill() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let start = || {
        let mut command = vidra_at(&platform, folder.path());
        Service::start(command.env("YOUTUBE_API_KEY", CANARY))
    };
    let used = |service: &Service| {
        let (_, body) = service.get("/api/quota");
        body.split("\"used\":").nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    let first = start();
    assert_eq!(first.get("/api/playlist/PLsize51").0, 200);
    first.kill();
    let second = start();
    assert_eq!(used(&second), "5");
    assert_eq!(second.get("/api/video/quirkNoLike").0, 200);
    assert_eq!(second.stop().0, Some(0));
    assert_eq!(used(&start()), "6");
    assert_eq!(platform.sim.record().units.default, 6, "the platform's bill");
    assert!(folder.path().join(".local/state/vidra").is_dir());
}

#[test]
fn api_key_appears_in_no_log_response_or_file() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let mut command = vidra_at(&platform, folder.path());
    let cache = folder.path().join("cache");
    command.env("VIDRA_CACHE", format!("fs:{}", cache.display()));
    let service = Service::start(command.env("YOUTUBE_API_KEY", CANARY).env("RUST_LOG", "trace"));
    let mut answers = String::new();
    platform.sim.inject(Fault::any(Action::status(500)).once());
    platform.sim.inject(Fault::any(Action::Reset).from_call(2).once());
    for path in ["/api/video/quirkNoLike", "/api/playlist/PLsize1", "/api/video/errKey__400"] {
        answers += &service.get(path).1;
    }
    let (_, log) = service.stop();
    assert!(log.contains("\"level\":\"TRACE\""), "the log has the highest verbosity");
    assert!(!log.contains(CANARY) && !answers.contains(CANARY));
    let record = platform.sim.record();
    assert!(record.calls > 3 && record.key_in_url == 0);
    let state = files_in(&folder.path().join(".local/state/vidra"));
    let cached = files_in(&cache);
    assert!(!state.is_empty() && !cached.is_empty(), "files were written");
    for file in state.iter().chain(&cached) {
        let text = fs::read(file).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(CANARY), "{}", file.display());
        assert!(!file.to_string_lossy().contains(CANARY));
    }
}

/// All files in a folder and below it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_in(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn transcript_secrets_appear_in_no_log_response_or_file() {
    for scheme in ["http", "socks5"] {
        check_secrets_through_a_proxy(scheme);
    }
}

fn check_secrets_through_a_proxy(scheme: &str) {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let sim = &platform.sim;
    let towards = Proxy::listen_towards("a", platform.listening.addr());
    let proxy = platform.runtime.block_on(towards).unwrap();
    let with_password = proxy.url().replace("http://", &format!("{scheme}://user:CANARYPASS@"));
    let mut command = vidra_at(&platform, folder.path());
    command
        .env("RUST_LOG", "trace")
        .env("YOUTUBE_API_KEY", CANARY)
        .env("VIDRA_CACHE", "off")
        .env("VIDRA_WEB_URL", platform.listening.web_url())
        .env("VIDRA_PROXY", with_password)
        .env("VIDRA_POT_PROVIDER", platform.listening.url())
        .env("VIDRA_CACHE", "off")
        .env("VIDRA_RETRY_DELAY", "1ms");
    let service = Service::start(&mut command);
    let get_transcript = |id: &str, expected: &str| {
        let (_, body) = service.get(&format!("/api/transcript/{id}"));
        assert!(body.contains(expected), "{expected}: {body}");
        body
    };
    let mut answers =
        get_transcript("txNeedsPot_", "\"lang\"") + &get_transcript("plNeedsPage", "\"lang\"");
    for fault in [Action::status(500), Action::Reset, Action::Cut] {
        for endpoint in [Endpoint::Player, Endpoint::TimedText] {
            sim.inject(Fault::on(endpoint, fault.clone()).once());
            answers += &get_transcript("txNeedsPot_", "\"lang\"");
        }
        sim.inject(Fault::on(Endpoint::PotProvider, fault));
        answers += &get_transcript("txNeedsPot_", "no_po_token");
        sim.clear_faults();
    }
    for accept in ["application/json", "application/x-ndjson", "text/event-stream"] {
        answers += &service.batch("PLquirkMixed", accept).1;
    }
    for (mode, expected) in [
        (ProxyMode::Refusing(407), "unreachable"),
        (ProxyMode::Refusing(502), "upstream_failed"),
        (ProxyMode::Dead, "\"code\":502"),
    ] {
        proxy.set_mode(mode);
        answers += &get_transcript("txNeedsPot_", expected);
    }
    drop(proxy);
    // The proxy is unreachable, or paused by now.
    answers += &get_transcript("txNeedsPot_", "\"code\":50");
    answers += &service.batch("PLquirkMixed", "application/x-ndjson").1;
    let (_, log) = service.stop();

    assert!(log.contains("\"level\":\"TRACE\""), "the log has the highest verbosity");
    let record = sim.record();
    let (token, visitor) = (sim.po_token("txNeedsPot_"), sim.visitor_data());
    let mut captions = record.requests_to(Endpoint::TimedText);
    assert!(captions.any(|request| request.parameter("pot") == Some(&token)));
    let mut players = record.requests_to(Endpoint::Player);
    assert!(players.any(|request| request.header("x-goog-visitor-id") == Some(&visitor)));
    assert!(record.by_egress["a"] > 20, "these requests used the proxy");
    let file = folder.path().join(".local/state/vidra");
    let file = fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_to_string(file).unwrap();
    // The password as plain text and as base64.
    for secret in ["CANARYPASS", "dXNlcjpDQU5BUllQQVNT", CANARY, &token, &visitor] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} in the log");
        assert!(!answers.contains(secret), "{secret} in an answer");
        assert!(!file.contains(secret), "{secret} in the ledger");
    }
}

#[test]
fn each_request_is_logged_as_one_json_line() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    service.get("/api/video/quirkNoLike");
    service.get("/api/video/quirkNoLike?token=secret");
    service.get("/api/channel/https://www.youtube.com/@fermata?si=secret");
    let (_, log) = service.stop();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("\"request\"")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert!(lines[1].contains("\"status\":400"), "an unknown parameter");
    assert!(lines[2].contains("\"path\":\"/api/channel/https://www.youtube.com/@fermata\""));
    for part in [
        "\"method\":\"GET\"",
        "\"path\":\"/api/video/quirkNoLike\"",
        "\"status\":200",
        "\"cost\":1",
        "\"elapsed_ms\":",
    ] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    assert!(!log.contains("secret"), "queries are not logged");
}

#[test]
fn paused_egress_addresses_are_logged_by_number() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let towards = |name| Proxy::listen_towards(name, platform.listening.addr());
    let proxies = ["a", "b", "c"].map(|name| platform.runtime.block_on(towards(name)).unwrap());
    let urls = proxies.each_ref().map(|proxy| proxy.url().replace("//", "//user:CANARYPASS@"));
    let mut command = vidra_at(&platform, folder.path());
    command
        .env("VIDRA_WEB_URL", platform.listening.web_url())
        .env("VIDRA_BLOCK_PAUSE", "60s")
        .env("VIDRA_PROXY", urls.join(","));
    let service = Service::start(&mut command);
    let get_each = || {
        for id in ["txOneCue___", "txManualAsr", "txManualOnl"] {
            assert_eq!(service.get(&format!("/api/transcript/{id}")).0, 200);
        }
    };
    platform.sim.block_egress_after("b", 0);
    proxies[2].set_mode(ProxyMode::Refusing(407));
    get_each();
    let ready = service.get("/readyz").1;
    for part in ["1 of 3 addresses is blocked by YouTube", "1 of 3 addresses is out of reach"] {
        assert!(ready.contains(&format!("\"transcripts: {part}\"")), "{ready}");
    }
    let (_, log) = service.stop();
    for (address, reason, seconds) in
        [("proxy 2 of 3", "blocked", "60.0"), ("proxy 3 of 3", "unreachable", "5.0")]
    {
        let fields =
            format!("\"address\":\"{address}\",\"reason\":\"{reason}\",\"pause_s\":{seconds}");
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&fields)).collect();
        assert!(lines.len() == 1 && lines[0].contains("\"WARN\""), "{fields}: {log}");
    }
    assert!(!log.contains("CANARYPASS"));
}

#[test]
fn resumed_egress_address_is_logged() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let mut command = vidra_at(&platform, folder.path());
    command.env("VIDRA_WEB_URL", platform.listening.web_url()).env("VIDRA_BLOCK_PAUSE", "1ms");
    let service = Service::start(&mut command);
    assert_eq!(service.get("/api/transcript/plBotWall__").0, 502);
    // Repeated until it succeeds: the pause is usually shorter than a request.
    while service.get("/api/transcript/txOneCue___").0 != 200 {}
    let (_, log) = service.stop();
    let resumed = "\"egress address resumed\",\"address\":\"this machine's address\"";
    assert!(log.lines().any(|line| line.contains(resumed)), "{log}");
}

#[test]
fn disconnected_stream_is_logged_as_abandoned() {
    use std::io::{Read, Write};
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    platform.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
    let mut command = vidra_at(&platform, folder.path());
    command.env("YOUTUBE_API_KEY", CANARY).env("VIDRA_WEB_URL", platform.listening.web_url());
    let service = Service::start(&mut command);
    let mut caller = std::net::TcpStream::connect(service.address).unwrap();
    let head = "POST /api/playlist/PLsize50/transcript HTTP/1.1\r\nhost: localhost\r\n\
                accept: text/event-stream\r\ncontent-length: 0\r\n\r\n";
    caller.write_all(head.as_bytes()).unwrap();
    caller.read_exact(&mut [0; 16]).unwrap();
    drop(caller);
    assert_eq!(service.batch("PLsize0", "text/event-stream").0, 200);
    let mut caller = std::net::TcpStream::connect(service.address).unwrap();
    let head = "HEAD /api/playlist/PLsize120/videos HTTP/1.1\r\nhost: localhost\r\n\
                accept: application/x-ndjson\r\nconnection: close\r\n\r\n";
    caller.write_all(head.as_bytes()).unwrap();
    let mut response = String::new();
    caller.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    let (_, log) = service.stop();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(lines("\"request abandoned by its caller\""), 1, "{log}");
    assert_eq!(lines("\"request\""), 2, "the other requests are logged as complete: {log}");
}

#[test]
fn api_key_is_read_from_a_file_or_dot_env() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let file = folder.path().join("key.txt");
    fs::write(&file, format!("{CANARY}\n")).unwrap();
    let by_file =
        Service::start(vidra_at(&platform, folder.path()).env("VIDRA_API_KEY_FILE", &file));
    assert_eq!(by_file.get("/api/video/quirkNoLike").0, 200);

    fs::write(folder.path().join(".env"), format!("YOUTUBE_API_KEY={CANARY}\n")).unwrap();
    let by_env = Service::start(&mut vidra_at(&platform, folder.path()));
    assert_eq!(by_env.get("/api/video/quirkNoLike").0, 200);
}

#[test]
fn transcripts_need_no_key_and_clients_are_read_from_a_file() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    let players = r#"[{"name": "MWEB", "id": 2, "version": "2.20260708.05.00", "userAgent": "Mozilla/5.0 (iPad)"}]"#;
    fs::write(folder.path().join("players.json"), players).unwrap();
    let mut command = vidra_at(&platform, folder.path());
    command.env("VIDRA_WEB_URL", platform.listening.web_url());
    let service = Service::start(command.env("VIDRA_CLIENTS_FILE", "players.json"));
    let (status, body) = service.get("/api/transcript/txManualAsr?format=vtt");
    assert!(status == 200 && body.starts_with("WEBVTT"), "{body}");
    let record = platform.sim.record();
    let player = record.requests_to(vidra_sim::Endpoint::Player).next().unwrap();
    assert_eq!(player.client_name().as_deref(), Some("MWEB"));
}

#[test]
fn service_starts_without_a_key_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&mut vidra(folder.path()));
    let (status, body) = service.get("/api/video/quirkNoLike");
    assert_eq!(status, 503);
    assert!(body.contains("upstream_key_missing"), "{body}");
    assert_eq!(service.get("/readyz").0, 200);
}

#[test]
fn invalid_configuration_exits_with_2_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let vidra = || vidra(folder.path());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();

    let (code, error) = refused(vidra().args(["serve", "--demo", "--listen", &taken]));
    let last = error.lines().last().unwrap();
    assert!(code == Some(4) && last.starts_with("vidra: cannot listen on"), "{error}");
    let (code, error) = refused(vidra().args(["serve", "--api-key-file", "missing.txt"]));
    assert!(code == Some(2) && error.contains("cannot read missing.txt"), "{error}");
    let (code, error) = refused(vidra().args(["serve", "--retry-delay", "soon"]));
    assert!(code == Some(2) && error.contains("300ms"), "{error}");
    let (code, error) = refused(vidra().args(["serve", "--egress-burst", "0"]));
    assert!(code == Some(2) && error.contains("expected 1 to 4294967295"), "{error}");
    let (code, error) = refused(vidra().args(["serve", "--proxy", "ftp://user:word@x"]));
    assert!(code == Some(2) && error.contains("proxy 1") && !error.contains("word"), "{error}");
    fs::write(folder.path().join("clients.json"), "[]").unwrap();
    let (code, error) = refused(vidra().args(["serve", "--clients-file", "clients.json"]));
    assert!(code == Some(2) && error.contains("at least one client"), "{error}");
    let (code, error) = refused(vidra().args(["serve", "--data-api-url", "ftp://x"]));
    assert!(code == Some(2) && error.contains("http"), "{error}");
    for absurd in ["0", "18446744073709551615s"] {
        let (code, error) = refused(vidra().args(["serve", "--request-timeout", absurd]));
        assert_eq!(code, Some(2), "{error}");
    }
    let (code, error) = refused(vidra().env("YOUTUBE_API_KEY", "two\nlines").arg("serve"));
    assert!(code == Some(2) && !error.contains("two"), "{error}");
    fs::write(folder.path().join(".env"), format!("YOUTUBE_API_KEY=\"{CANARY}\n")).unwrap();
    let (code, error) = refused(vidra().arg("serve"));
    assert!(code == Some(2) && !error.contains(CANARY), "{error}");
}

#[test]
fn sighup_reloads_files_without_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let plain = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    plain.log_until("reloading files", "-HUP");
    assert_eq!(plain.get("/healthz").0, 200);

    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&certificate, issued.cert.pem()).unwrap();
    fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_TLS_CERT", &certificate).env("VIDRA_TLS_KEY", &key);
    let encrypted = Service::start(&mut command);
    fs::write(&certificate, "nonsense").unwrap();
    let line = encrypted.log_until("reload failed", "-HUP");
    assert!(line.contains("cert.pem"), "{line}");
    assert_eq!(encrypted.stop().0, Some(0));
    let (code, error) = refused(&mut command);
    assert!(code == Some(2) && error.contains("TLS: ") && error.contains("cert.pem"), "{error}");
}

#[test]
fn stalled_client_does_not_block_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let mut stalled = std::net::TcpStream::connect(service.address).unwrap();
    std::io::Write::write_all(&mut stalled, b"GET /healthz HTTP/1.1\r\nhost:").unwrap();
    // This response shows that the stalled connection was accepted before.
    assert_eq!(service.get("/healthz").0, 200);
    // Two signals at once would be one.
    service.log_until("stopping", "-TERM");
    let (code, log) = service.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("stopped with requests in flight"), "{log}");
}

#[test]
fn quota_flags_reach_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command
        .env("VIDRA_DEMO", "1")
        .env("VIDRA_QUOTA_LIMIT", "150")
        .env("VIDRA_QUOTA_MODEL", "legacy");
    let legacy = Service::start(&mut command);
    let search = "/api/channel/https://www.youtube.com/c/LanternBayTapes";
    assert_eq!(legacy.get(search).0, 200);
    assert!(
        legacy
            .get("/api/quota")
            .1
            .contains("[{\"name\":\"default\",\"limit\":150,\"used\":103,\"remaining\":47}]")
    );

    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_SEARCH_LIMIT", "7").env("VIDRA_NO_SEARCH", "true");
    let without = Service::start(&mut command);
    assert_eq!(without.get(search).0, 404);
    assert!(
        without
            .get("/api/quota")
            .1
            .contains("{\"name\":\"search\",\"limit\":7,\"used\":0,\"remaining\":7}")
    );
}
