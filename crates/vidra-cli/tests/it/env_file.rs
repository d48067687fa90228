//! The `.env` file of an untrusted folder must not redirect a key or a token.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::process::vidra;
use crate::serve::CANARY;

/// Every command except `serve`, also with words that look like another command. `sim` and `mcp` run until
/// their input ends or they are stopped, so they get a flag that ends them after the environment is read.
const COMMANDS: [&[&str]; 36] = [
    &["video", "fda4eREcaTQ"],
    &["video", "serve"],
    &["videos", "fda4eREcaTQ"],
    &["channel", "cache"],
    &["channel", "health"],
    &["channel", "mcp"],
    &["channel", "serve"],
    &["uploads", "@keys"],
    &["playlist", "PLsize51"],
    &["query", "PLsize51"],
    &["comments", "fda4eREcaTQ", "--search", "keys"],
    &["comments", "fda4eREcaTQ", "--search", "serve"],
    &["replies", "Ugab"],
    &["tracks", "fda4eREcaTQ"],
    &["transcript", "fda4eREcaTQ"],
    &["transcripts", "PLsize51"],
    &["regions"],
    &["languages"],
    &["categories", "--region", "US"],
    &["link", "fda4eREcaTQ"],
    &["link", "serve"],
    &["quota"],
    &["mcp"],
    &["mcp", "--web-url", "http://127.0.0.1:1"],
    &["tools"],
    &["cache", "stats"],
    &["cache", "clear"],
    &["health"],
    &["config", "path"],
    &["config", "show"],
    &["keys", "list", "--file", "serve"],
    &["keys", "add", "serve", "--file", "keys.json"],
    &["keys", "revoke", "serve", "--file", "keys.json"],
    &["sim", "--help"],
    &["completions", "bash"],
    &["man"],
];

/// Sends no request beyond this machine. A flag wins over a variable, so the trap would miss a leak of these
/// two; the poisoned variable below does not.
const NOWHERE: [&str; 4] =
    ["--data-api-url", "http://127.0.0.1:1", "--web-url", "http://127.0.0.1:1"];

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = vidra(folder);
    command.env("YOUTUBE_API_KEY", CANARY).env("VIDRA_TOKEN", CANARY).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Every variable that the manual names, and the usual ones of proxies.
fn variables() -> Vec<String> {
    let page = fs::read_to_string("../../docs/reference/configuration.md").unwrap();
    let is_name = |word: &&str| word.starts_with("VIDRA_") && !word.contains('=');
    let ours = page.split('`').filter(is_name).map(str::to_owned);
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let proxies = proxies.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    let others = ["VIDRA_SERVER", "VIDRA_TOKEN", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    ours.chain(proxies).chain(others.map(str::to_owned)).collect()
}

#[test]
fn review_s1_an_untrusted_folder_redirects_no_command() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let url = format!("http://{}", trap.local_addr().unwrap());
    let (clean, hostile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let variables = variables();
    assert!(variables.len() > 50, "{variables:?}");
    let lines: String = variables.iter().map(|name| format!("{name}={url}\n")).collect();
    fs::write(hostile.path().join(".env"), lines).unwrap();
    for arguments in COMMANDS {
        let takes_urls = !matches!(
            arguments[0],
            "tools"
                | "cache"
                | "config"
                | "health"
                | "keys"
                | "sim"
                | "completions"
                | "man"
                | "link"
        );
        let mut arguments = arguments.to_vec();
        if takes_urls && !arguments.contains(&"--web-url") {
            arguments.extend(NOWHERE);
        }
        let text = |output: &Output| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            // Log lines begin with their time.
            text.split_once("\"level\"").map_or(text.clone(), |(_, rest)| rest.to_owned())
        };
        let (here, there) = (run(clean.path(), &arguments), run(hostile.path(), &arguments));
        assert_eq!(here.status.code(), there.status.code(), "{arguments:?}: {}", text(&there));
        assert!(!text(&there).contains("VIDRA_"), "{arguments:?}: {}", text(&there));
        assert!(trap.accept().is_err(), "{arguments:?} reached the trap");
    }
}

#[test]
fn review_s1_every_command_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    // A description continues on a line without a name.
    let names = names.filter_map(|line| line.strip_prefix("  ")).filter(|it| !it.starts_with(' '));
    for name in names.filter_map(|line| line.split(' ').next()) {
        let is_tried = COMMANDS.iter().any(|arguments| arguments[0] == name);
        assert!(is_tried || matches!(name, "serve" | "help"), "{name}");
    }
}
