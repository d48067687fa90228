//! The `.env` file of an untrusted folder must not redirect a key or a token.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::vidra;
use crate::serve::{CANARY, Platform, platform};

/// Every command except `serve`, also with words that look like another command. `sim` and `mcp` run until
/// their input ends or they are stopped, so they get a flag that ends them after the environment is read.
const COMMANDS: [&[&str]; 54] = [
    &["video", "fda4eREcaTQ"],
    &["video", "serve"],
    &["videos", "fda4eREcaTQ"],
    &["channel", "cache"],
    &["channel", "health"],
    &["channel", "mcp"],
    &["channel", "serve"],
    &["uploads", "@keys"],
    &["playlists", "@keys"],
    &["feed", "PLsize51"],
    &["playlist", "PLsize51"],
    &["query", "PLsize51"],
    &["search-videos", "serve"],
    &["popular"],
    &["comments", "fda4eREcaTQ", "--search", "keys"],
    &["comments", "fda4eREcaTQ", "--search", "serve"],
    &["replies", "Ugab"],
    &["tracks", "fda4eREcaTQ"],
    &["transcript", "fda4eREcaTQ"],
    &["document", "fda4eREcaTQ"],
    &["chunks", "fda4eREcaTQ"],
    &["transcripts", "PLsize51"],
    &["transcripts", "--job", "0f8fad", "--out", "serve"],
    &["job", "start", "PLsize51", "--dry-run"],
    &["collection", "add", "news", "@fermata"],
    &["search", "serve"],
    &["grep", "serve", "txManualAsr"],
    &["trends", "serve"],
    &["library", "reindex"],
    &["job", "list"],
    &["job", "show", "0f8fad"],
    &["job", "results", "0f8fad"],
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
    &["library", "stats"],
    &["library", "forget", "fda4eREcaTQ"],
    &["health"],
    &["config", "path"],
    &["config", "show"],
    &["keys", "add", "serve", "--caller-keys-file", "keys.json"],
    &["keys", "list", "--caller-keys-file", "keys.json"],
    &["keys", "revoke", "serve", "--caller-keys-file", "keys.json"],
    &["sim", "--help"],
    &["completions", "bash"],
    &["man"],
];

/// Sends no request beyond this machine. A flag wins over a variable, so the trap would miss a leak of these
/// two; the poisoned variable below does not.
const NOWHERE: [&str; 4] =
    ["--data-api-url", "http://127.0.0.1:1", "--web-url", "http://127.0.0.1:1"];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = vidra(folder);
    command.env("YOUTUBE_API_KEY", CANARY).env("VIDRA_TOKEN", CANARY).args(arguments);
    command.stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
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

/// Most of these values are invalid, so a command that reads one of them ends with another exit code.
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
                | "library"
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

/// A virtual environment of Python may have this name, and a FIFO would make every command wait.
#[test]
fn review_s1_an_env_file_that_is_no_regular_file_stops_no_command() {
    for kind in ["folder", "fifo", "zeros"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        match kind {
            "folder" => fs::create_dir(&path).unwrap(),
            "fifo" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
            _ => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
        }
        let link = vidra(folder.path()).args(["link", "fda4eREcaTQ"]).output().unwrap();
        let error = String::from_utf8_lossy(&link.stderr).into_owned();
        assert_eq!(link.status.code(), Some(0), "{kind}: {error}");
        let serve = vidra(folder.path()).args(["serve", "--demo"]).output().unwrap();
        let error = String::from_utf8_lossy(&serve.stderr).into_owned();
        assert!(error.contains("cannot read .env: not a regular file"), "{kind}: {error}");
    }
}

/// The key in a stranger's file must not become another secret of the user.
#[test]
fn review_s1_a_key_in_an_env_file_names_no_other_variable() {
    let platform = platform();
    let url = platform.listening.data_api_url();
    for line in ["YOUTUBE_API_KEY=${VIDRA_TOKEN}", "YOUTUBE_API_KEY=$VIDRA_TOKEN"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".env"), line).unwrap();
        let mut command = vidra(folder.path());
        command.args(["video", "fda4eREcaTQ", "--data-api-url", &url]);
        let output = command.env("VIDRA_TOKEN", CANARY).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("has no key for the YouTube Data API"), "{error}");
    }
}

/// An address that must receive nothing. It closes every connection at once, so that no command waits.
struct Trap {
    address: SocketAddr,
    connections: Receiver<SocketAddr>,
}

impl Trap {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((_, caller)) = listener.accept() {
                if sender.send(caller).is_err() {
                    return;
                }
            }
        });
        Self { address, connections }
    }

    /// The number of connections since the last call.
    fn caught(&self) -> usize {
        // Connections are accepted in their order: a last one ends the count.
        let last = TcpStream::connect(self.address).unwrap().local_addr().unwrap();
        let next = || self.connections.recv_timeout(Duration::from_secs(30)).expect("a connection");
        std::iter::repeat_with(next).take_while(|caller| *caller != last).count()
    }

    /// Every variable that can redirect traffic, each with a valid value.
    fn variables(&self) -> Vec<(String, String)> {
        let address = self.address;
        let url = format!("http://{address}");
        let ours = [
            ("VIDRA_SERVER", url.clone()),
            ("VIDRA_DATA_API_URL", url.clone()),
            ("VIDRA_WEB_URL", url.clone()),
            ("VIDRA_PROXY", url.clone()),
            ("VIDRA_POT_PROVIDER", url.clone()),
            ("VIDRA_OTLP_ENDPOINT", url.clone()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.clone()),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url.clone()),
            ("VIDRA_CACHE", format!("redis://{address}")),
            ("VIDRA_LISTEN", address.to_string()),
            ("VIDRA_ADMIN_LISTEN", address.to_string()),
        ];
        let ours = ours.map(|(name, value)| (name.to_owned(), value));
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].into_iter();
        let proxies = proxies.flat_map(|name| [name.to_owned(), name.to_lowercase()]);
        ours.into_iter().chain(proxies.map(|name| (name, url.clone()))).collect()
    }
}

/// How far a command gets if nothing redirects it.
enum Reach {
    /// It sends a request to the simulator and succeeds.
    Simulator,
    /// It succeeds without a request.
    Output,
    /// It fails with this text.
    Error(&'static str),
}

use Reach::{Error, Output as Prints, Simulator};

/// Every command except `serve`, how far it gets, and whether one of the variables would redirect it. `SIM` stands
/// for the address of the simulator.
const RUNS: [(&[&str], Reach, bool); 41] = [
    (&["video", "quirkNoLike"], Simulator, true),
    (&["videos", "quirkNoLike"], Simulator, true),
    (&["channel", "@fermata"], Simulator, true),
    (&["uploads", "@fermata"], Simulator, true),
    (&["playlists", "@fermata"], Simulator, true),
    (&["feed", "PLsize51"], Simulator, true),
    (&["playlist", "PLsize51"], Simulator, true),
    (&["query", "PLsize51"], Simulator, true),
    (&["search-videos", "session"], Simulator, true),
    (&["popular"], Simulator, true),
    (&["comments", "quirkHtmlCm"], Simulator, true),
    (&["replies", "Ugwc2n4LcZtI2UljWK64AaABAg"], Simulator, true),
    (&["tracks", "txManualAsr"], Simulator, true),
    (&["transcript", "txManualAsr"], Simulator, true),
    (&["document", "txManualAsr"], Simulator, true),
    (&["chunks", "txManualAsr"], Simulator, true),
    (&["transcripts", "PLsize1"], Simulator, true),
    (&["job", "start", "txManualAsr"], Simulator, true),
    (&["job", "list"], Prints, true),
    (&["collection", "list"], Prints, true),
    (&["search", "the"], Prints, true),
    (&["grep", "the", "txManualAsr"], Simulator, true),
    (&["trends", "the"], Prints, true),
    (&["library", "stats"], Prints, false),
    (&["regions"], Simulator, true),
    (&["languages"], Simulator, true),
    (&["categories", "--region", "US"], Simulator, true),
    (&["link", "quirkNoLike"], Prints, true),
    (&["quota"], Prints, true),
    (&["mcp"], Simulator, true),
    (&["tools"], Prints, false),
    (&["cache", "stats"], Prints, true),
    (&["cache", "clear"], Prints, true),
    (&["health", "--listen", "SIM"], Error("answered 403"), true),
    (&["config", "path"], Prints, false),
    (&["config", "show"], Prints, false),
    (&["keys", "add", "me", "--caller-keys-file", "keys.json"], Prints, false),
    (&["keys", "list", "--caller-keys-file", "keys.json"], Prints, false),
    (&["sim", "--listen", "SIM"], Error("in use"), false),
    (&["completions", "bash"], Prints, false),
    (&["man"], Prints, false),
];

/// The arguments with the addresses of the simulator. Flags win over variables: the trap would miss a variable that
/// names the same, and the help of the command shows it instead.
fn at(platform: &Platform, arguments: &[&str], is_data: bool) -> Vec<String> {
    let address = platform.listening.addr().to_string();
    let mut given: Vec<String> = arguments
        .iter()
        .map(|it| if *it == "SIM" { address.clone() } else { (*it).to_owned() })
        .collect();
    if is_data {
        given.extend(["--data-api-url".to_owned(), platform.listening.data_api_url()]);
        given.extend(["--web-url".to_owned(), platform.listening.web_url()]);
        if given[0] != "mcp" {
            given.push("--refresh".to_owned());
        }
    }
    given
}

/// Runs a command to its end. `mcp` gets a call of a tool.
fn complete(mut command: Command) -> Output {
    if !command.get_args().any(|argument| argument == "mcp") {
        return command.output().unwrap();
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "get_video", "arguments": {"video": "quirkNoLike"}}}));
    // The end of its input would cancel the call.
    let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let answer = output.into_iter().find(|line| line.contains("\"id\":1"));
    drop(input);
    let mut ended = child.wait_with_output().unwrap();
    ended.stdout = answer.unwrap_or_default().into_bytes();
    ended
}

#[test]
fn review_s1_commands_send_their_requests_past_an_untrusted_folder() {
    let (trap, platform) = (Trap::new(), platform());
    let (clean, hostile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let variables = trap.variables();
    let lines = variables.iter().map(|(name, value)| format!("{name}={value}\n"));
    fs::write(hostile.path().join(".env"), lines.collect::<String>()).unwrap();
    for (arguments, reach, is_redirected) in RUNS {
        let is_data = matches!(reach, Simulator) || ["link", "quota"].contains(&arguments[0]);
        let given = at(&platform, arguments, is_data);
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        platform.sim.reset_record();
        let done = complete(command(hostile.path(), &given));
        let (code, said) = (done.status.code(), String::from_utf8_lossy(&done.stderr));
        assert_eq!(trap.caught(), 0, "{given:?} reached the trap: {said}");
        match reach {
            Simulator => {
                assert_eq!(code, Some(0), "{given:?}: {said}");
                assert!(platform.sim.record().calls > 0, "{given:?} sent no request: {said}");
                assert!(!done.stdout.is_empty(), "{given:?}: {said}");
            }
            Prints => {
                assert_eq!(code, Some(0), "{given:?}: {said}");
                assert!(!done.stdout.is_empty(), "{given:?}: {said}");
            }
            Error(text) => assert!(said.contains(text), "{given:?}: {said}"),
        }

        // The help names the value of every variable that the command has read, except for secrets.
        let help = |folder| run(folder, &[given[0], "--help"]).stdout;
        assert_eq!(help(clean.path()), help(hostile.path()), "{given:?}");

        // The same variables in the environment are used: the trap works.
        let mut control = command(clean.path(), &given);
        control.envs(variables.iter().map(|(name, value)| (name, value)));
        let _ = complete(control);
        assert_eq!(trap.caught() > 0, is_redirected, "{given:?} with the variables");
    }
}

#[test]
fn review_s1_every_address_in_a_variable_leads_to_the_trap() {
    let folder = tempfile::tempdir().unwrap();
    let names: BTreeSet<String> = Trap::new().variables().into_iter().map(|(it, _)| it).collect();
    let mut found = 0;
    for name in ["serve", "video", "mcp", "health"] {
        let help = String::from_utf8(run(folder.path(), &[name, "--help"]).stdout).unwrap();
        for flag in help.split("\n      --") {
            let is_address = ["<URL>", "<ADDRESS>", "<LISTEN>", "<WHERE>"];
            let first = flag.lines().next().unwrap_or_default();
            let variable =
                flag.split_once("[env: ").and_then(|(_, rest)| rest.split(['=', ']']).next());
            if is_address.iter().any(|value| first.contains(value)) {
                let variable = variable.unwrap_or_else(|| panic!("{flag}"));
                assert!(names.contains(variable), "{variable}");
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn review_s1_every_command_is_run() {
    let of = |all: &[&[&str]]| -> BTreeSet<String> {
        all.iter().map(|arguments| arguments[0].to_owned()).collect()
    };
    let run: Vec<&[&str]> = RUNS.iter().map(|(arguments, ..)| *arguments).collect();
    assert_eq!(of(&run), of(&COMMANDS));
}
