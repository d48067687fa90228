//! `vidra keys`, and a service that requires keys.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::process::{Service, vidra};

/// Bypasses the cache, so that the request costs one unit each time.
const NO_CACHE: &str = "cache-control: no-cache\r\n";

/// Runs a command to its end: exit code, standard output, standard error.
pub(crate) fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// `vidra keys` with the file `keys.json`.
pub(crate) fn keys(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    run(vidra(folder).env("VIDRA_CALLER_KEYS_FILE", "keys.json").arg("keys").args(args))
}

/// Makes a key.
pub(crate) fn new_key(folder: &Path, args: &[&str]) -> String {
    let (code, key, error) = keys(folder, &[&["add"], args].concat());
    assert_eq!(code, Some(0), "{error}");
    let key = key.strip_suffix('\n').expect("one line").to_owned();
    assert!(key.starts_with("vk_") && key.len() == 67 && !key.contains('\n'), "{key}");
    key
}

/// A demo that requires keys.
pub(crate) fn demo(folder: &Path) -> Command {
    let mut command = vidra(folder);
    command
        .env("VIDRA_DEMO", "1")
        .env("VIDRA_CALLER_KEYS_FILE", "keys.json")
        .env("VIDRA_STATE_DIR", "state");
    command
}

/// Requests a video with a key and returns the status.
fn status_with_key(service: &Service, key: &str, headers: &str) -> u16 {
    let headers = format!("x-api-key: {key}\r\n{headers}");
    service.get_with("/api/video/quirkNoLike", &headers).0
}

#[test]
fn keys_are_added_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let alice = new_key(folder, &["alice", "--rate", "60/m", "--units", "500", "--searches", "0"]);
    let bob = new_key(folder, &["bob", "--operator"]);
    let file = folder.join("keys.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let stored = fs::read_to_string(&file).unwrap();
    assert!(!stored.contains(&alice[3..]) && !stored.contains(&bob[3..]), "only hashes: {stored}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "no other file is left there");

    let (code, table, _) = keys(folder, &["list"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!((code, lines.len()), (Some(0), 3), "{table}");
    assert_eq!(lines[0], ["name", "rate", "units/day", "searches", "operator", "created"]);
    assert_eq!(lines[1][..5], ["alice", "60/m", "500", "0", "-"]);
    assert_eq!(lines[2][..5], ["bob", "-", "-", "-", "yes"]);

    let (code, output, error) = keys(folder, &["add", "alice"]);
    assert!(code == Some(2) && output.is_empty(), "{output}");
    assert_eq!(error, "vidra: there is a key named alice already: revoke it first\n");
    assert_eq!(keys(folder, &["revoke", "alice"]).0, Some(0));
    let (code, _, error) = keys(folder, &["revoke", "alice"]);
    assert_eq!((code, error.as_str()), (Some(2), "vidra: there is no key named alice\n"));
    assert!(!keys(folder, &["list"]).1.contains("alice"));
}

#[test]
fn key_errors_are_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |args: &[&str], expected: &str| {
        let (code, output, error) = keys(folder, args);
        assert!(code == Some(2) && output.is_empty(), "{output}");
        assert!(error.contains(expected), "{expected}: {error}");
    };
    refused(&["list"], "vidra: keys.json does not exist");
    refused(&["add", "a b"], "a name has 1 to 64");
    refused(&["add", "a", "--rate", "fast"], "such as 100/s");
    refused(&["add", "a", "--units", "many"], "--units");
    refused(&["add", "a", "--caller-keys-file", "no/keys.json"], "cannot use the folder no");
    let (code, _, error) = run(vidra(folder).args(["keys", "list"]));
    assert!(code == Some(2) && error.contains("--caller-keys-file"), "{error}");
    fs::write(folder.join("keys.json"), "{\"keys\": [\n{\"name\": \"a\", \"secret\": 1}]}")
        .unwrap();
    refused(&["list"], "keys.json: this is no file of caller keys: missing field `sha256`");
    refused(&["add", "b"], "line 2");
}

#[test]
fn keys_are_accepted_until_they_are_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (alice, bob) = (new_key(folder, &["alice"]), new_key(folder, &["bob", "--rate", "1/h"]));
    let service = Service::start(&mut demo(folder));
    assert_eq!(service.get("/healthz").0, 200);
    let (status, head, body) = service.get_with("/api/video/quirkNoLike", "");
    assert!(status == 401 && body.contains("\"code\":401"), "{body}");
    assert!(head.contains("www-authenticate: Bearer realm=\"vidra\""), "{head}");
    let (status, head, _) =
        service.get_with("/api/video/quirkNoLike", &format!("authorization: Bearer {bob}\r\n"));
    assert!(status == 200 && head.contains("ratelimit-limit: 1\r\n"), "{head}");
    assert_eq!(status_with_key(&service, &bob, ""), 429);
    assert_eq!(status_with_key(&service, &alice, ""), 200);

    // A file that cannot be read changes nothing.
    let good = fs::read(folder.join("keys.json")).unwrap();
    fs::write(folder.join("keys.json"), "{").unwrap();
    let line = service.log_until("reload failed", "-HUP");
    assert!(line.contains("line 1"), "{line}");
    assert_eq!(status_with_key(&service, &alice, ""), 200);
    fs::write(folder.join("keys.json"), good).unwrap();

    assert_eq!(keys(folder, &["revoke", "alice"]).0, Some(0));
    let carol = new_key(folder, &["carol"]);
    service.log_until("file reloaded", "-HUP");
    assert_eq!(status_with_key(&service, &alice, ""), 401);
    assert_eq!(status_with_key(&service, &carol, ""), 200);
    assert_eq!(status_with_key(&service, &bob, ""), 429, "the rate limit survives the reload");
    assert_eq!(service.stop().0, Some(0));
}

#[test]
fn cache_stats_of_a_keyed_service_require_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let alice = new_key(folder, &["alice"]);
    let service = Service::start(&mut demo(folder));
    let stats = |key: Option<&str>, flags: &[&str]| {
        let mut command = vidra(folder);
        command.envs(key.map(|key| ("VIDRA_TOKEN", key)));
        command.args(["cache", "stats", "--server", &format!("http://{}", service.address)]);
        run(command.args(flags))
    };
    let (code, output, _) = stats(Some(&alice), &[]);
    assert!(code == Some(0) && output.contains("hit ratio: 0.0 %"), "{output}");
    let (code, output, _) = stats(Some(&alice), &["--json"]);
    assert!(code == Some(0) && output.contains("hitRatio"), "{output}");
    for key in [None, Some("vk_wrong"), Some("")] {
        let (code, _, error) = stats(key, &[]);
        assert!(code == Some(2) && error.contains("--token or VIDRA_TOKEN"), "{error}");
        assert!(!error.contains("vk_"), "{error}");
    }
}

#[test]
fn caller_spending_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (alice, bob) = (new_key(folder, &["alice", "--units", "2"]), new_key(folder, &["bob"]));
    for (status, used) in [(200, 1), (200, 2), (429, 2)] {
        let service = Service::start(&mut demo(folder));
        // `no-cache` makes each request cost a unit.
        assert_eq!(status_with_key(&service, &alice, NO_CACHE), status);
        let (_, _, quota) = service.get_with("/api/quota", &format!("x-api-key: {alice}\r\n"));
        let yours = format!(
            "\"yours\":{{\"name\":\"alice\",\"buckets\":[{{\"name\":\"default\",\"limit\":2,\"used\":{used},"
        );
        assert!(quota.contains(&yours), "{quota}");
        assert_eq!(service.stop().0, Some(0));
    }
    let service = Service::start(&mut demo(folder));
    assert_eq!(status_with_key(&service, &bob, NO_CACHE), 200, "other callers keep their budget");
    let stored = fs::read_to_string(folder.join("state/callers.json")).unwrap();
    assert!(stored.contains("\"alice\"") && !stored.contains("vk_"), "{stored}");
}

/// Two processes, as in an upgrade without a pause.
#[test]
fn review_o2_two_services_with_one_state_folder_lose_no_spending() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = ["alice", "bob"];
    let [alice, bob] = names.map(|name| new_key(folder, &[name, "--units", "9"]));
    let (old, new) = (Service::start(&mut demo(folder)), Service::start(&mut demo(folder)));
    // A request that arrives at the end of another one's fetch shares it, and costs nothing.
    let cost = |service: &Service, key: &str| {
        let headers = format!("x-api-key: {key}\r\n{NO_CACHE}");
        let (_, head, _) = service.get_with("/api/video/quirkNoLike", &headers);
        let cost = head.lines().find_map(|line| line.strip_prefix("x-quota-cost: "));
        cost.unwrap().trim().parse::<u32>().unwrap()
    };
    let mut bobs: u32 = (0..3).map(|_| cost(&old, &bob)).sum();
    let alices = cost(&new, &alice);
    bobs += cost(&new, &bob);
    assert!(alices == 1 && bobs >= 3, "{alices} {bobs}");
    for service in [old, new] {
        assert_eq!(service.stop().0, Some(0));
    }
    let service = Service::start(&mut demo(folder));
    for (name, key, used) in [("alice", alice, alices), ("bob", bob, bobs)] {
        let (_, _, quota) = service.get_with("/api/quota", &format!("x-api-key: {key}\r\n"));
        let yours = format!(
            "\"yours\":{{\"name\":\"{name}\",\"buckets\":[{{\"name\":\"default\",\"limit\":9,\"used\":{used},"
        );
        assert!(quota.contains(&yours), "{quota}");
    }
}

#[test]
fn caller_keys_appear_in_no_log_response_or_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (good, gone) = (new_key(folder, &["good", "--rate", "4/h"]), new_key(folder, &["gone"]));
    assert_eq!(keys(folder, &["revoke", "gone"]).0, Some(0));
    let mut command = demo(folder);
    let service = Service::start(command.env("RUST_LOG", "trace").env("VIDRA_CACHE", "fs:cache"));
    let mut answers = String::new();
    for key in [&good, &gone] {
        for path in
            ["/api/video/quirkNoLike", "/api/video/nope", "/nothing", "/api/quota", "/api/cache"]
        {
            for header in ["x-api-key:", "authorization: Bearer"] {
                let (_, head, body) = service.get_with(path, &format!("{header} {key}\r\n"));
                answers += &(head + &body);
            }
        }
    }
    service.log_until("file reloaded", "-HUP");
    let (_, log) = service.stop();
    assert!(log.contains("\"level\":\"DEBUG\""), "the log has the highest verbosity");
    assert!(answers.contains("\"code\":429") && answers.contains("\"code\":401"));
    for secret in [&good[3..], &gone[3..]] {
        assert!(!log.contains(secret) && !answers.contains(secret));
        for file in walk(folder) {
            let text = fs::read(&file).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{}", file.display());
        }
    }
}

/// All files in a folder and below it.
pub(crate) fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn public_addresses_require_keys_or_the_public_flag() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for more in [&[][..], &["--demo"], &["--rate-limit", "1/s"]] {
        let args = [&["serve", "--listen", "0.0.0.0:0"], more].concat();
        let (code, _, error) = run(vidra(folder).args(args));
        assert!(code == Some(2) && error.starts_with("vidra: anyone who can reach"), "{error}");
        assert!(error.contains("--caller-keys-file") && error.contains("--public"), "{error}");
    }
    let args = ["serve", "--demo", "--caller-keys-file", "keys.json"];
    let (code, _, error) = run(vidra(folder).args(args));
    let expected = "vidra: keys.json does not exist: create it with vidra keys add NAME --caller-keys-file keys.json\n";
    assert_eq!((code, error.as_str()), (Some(2), expected));
    for (flag, value, expected) in [
        ("--cors-origin", "*", "every page"),
        ("--cors-origin", "null", "sandboxed"),
        ("--cors-origin", "https://a.example/x", "without a path"),
        ("--allowed-host", "https://a.example", "without scheme"),
        ("--trusted-proxy", "proxy.example", "10.0.0.0/8"),
        ("--rate-limit", "fast", "600/m"),
    ] {
        let (code, _, error) = run(vidra(folder).args(["serve", "--demo", flag, value]));
        assert!(code == Some(2) && error.contains(expected), "{flag} {value}: {error}");
    }

    let mut command = vidra(folder);
    command.env("VIDRA_DEMO", "1").env("VIDRA_PUBLIC", "1");
    let service = Service::start_at(&mut command, "0.0.0.0:0");
    let (status, head, _) = service.get_with("/api/video/quirkNoLike", "");
    assert!(status == 200 && head.contains("ratelimit-limit: 600\r\n"), "{head}");
}

#[test]
fn loopback_rejects_foreign_hosts_and_origins_unless_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command
        .env("VIDRA_DEMO", "1")
        .env("VIDRA_ALLOWED_HOST", "vidra.example.org,other.example.org")
        .env("VIDRA_CORS_ORIGIN", "https://app.example.org,https://b.example.org");
    let service = Service::start(&mut command);
    for (host, origin, status) in [
        ("localhost", "", 200),
        ("other.example.org", "", 200),
        ("evil.example", "", 421),
        ("localhost", "origin: https://b.example.org\r\n", 200),
        ("localhost", "origin: https://evil.example\r\n", 403),
    ] {
        let (got, head, body) = service.get_at_host(host, "/healthz", origin);
        assert_eq!(got, status, "{host} {origin}: {body}");
        let allowed = head.contains("access-control-allow-origin: https://b.example.org\r\n");
        assert_eq!(allowed, origin.contains("b.example.org"), "{head}");
    }
}
