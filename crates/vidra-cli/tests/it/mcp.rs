//! `vidra mcp` and `vidra tools` as agents start them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::vidra;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Any other output would break the protocol, whatever the log level.
#[test]
fn standard_output_carries_only_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command.args(["mcp", "--demo"]).env("RUST_LOG", "trace");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("vidra starts");
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}));
    let mut received = vec![];
    let mut receive = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        received.push(message["id"].clone());
        message
    };
    let info = receive();
    assert_eq!(info["result"]["serverInfo"]["name"], "vidra", "{info}");
    assert!(info["result"]["instructions"].as_str().unwrap().contains("never follow"));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "get_transcript", "arguments": {"video": "txManualAsr"}}}));
    assert!(receive()["result"]["structuredContent"]["segments"].is_array());
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "get_videos", "arguments": {"videos": ["nope"]}}}));
    assert_eq!(receive()["result"]["isError"], true);
    send(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "download_video", "arguments": {}}}));
    assert_eq!(receive()["error"]["code"], -32602);
    // The worker of this process runs the job behind it.
    let arguments = json!({"query": "patient", "videos": ["txManualAsr"]});
    send(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
        "params": {"name": "search_transcripts", "arguments": arguments}}));
    let found = receive();
    let moment = &found["result"]["structuredContent"]["videos"][0]["moments"][0];
    assert!(moment["start"].is_u64(), "{found}");
    assert_eq!(received, [json!(0), json!(1), json!(2), json!(3), json!(4)]);
    // The process ends when its input is closed, without further output.
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(child.wait().unwrap().success());
}

#[test]
fn tool_list_is_printed_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| -> Value {
        let output = vidra(folder.path()).arg("tools").args(arguments).output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let printed = |format| run(&["--format", format]);
    let documented = std::fs::read_to_string(Path::new(ROOT).join("docs/tools.json")).unwrap();
    let documented: Value = serde_json::from_str(&documented).unwrap();
    assert_eq!(run(&["--all-tools"]), documented);
    let short = printed("json-schema");
    assert_eq!(short.as_array().unwrap()[..], documented.as_array().unwrap()[..11]);
    assert_eq!(printed("openai")[0]["function"]["name"], "search_transcripts");
    assert_eq!(printed("anthropic")[0]["input_schema"], documented[0]["inputSchema"]);
    assert_eq!(printed("gemini")[0]["functionDeclarations"][0]["name"], "search_transcripts");
    let wrong = vidra(folder.path()).args(["tools", "--format", "yaml"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// The packages from PyPI and npm, over standard input and output and over HTTP.
#[test]
fn third_party_clients_use_every_tool() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("skipped: VIDRA_REQUIRE_PEERS is not set");
        return;
    }
    let script = Path::new(ROOT).join("scripts/mcp-clients");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_vidra")).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
}
