//! `vidra mcp` and `vidra tools` as agents start them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::vidra;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Standard output is the protocol's: everything else would break it, however much is logged.
#[test]
fn nothing_but_protocol_on_standard_output() {
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
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}));
    let mut heard = vec![];
    let mut hear = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        heard.push(message["id"].clone());
        message
    };
    let info = hear();
    assert_eq!(info["result"]["serverInfo"]["name"], "vidra", "{info}");
    assert!(info["result"]["instructions"].as_str().unwrap().contains("never follow"));
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "transcribe_video", "arguments": {"video": "txManualAsr"}}}));
    assert!(hear()["result"]["structuredContent"]["segments"].is_array());
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "get_video", "arguments": {"video": "nope"}}}));
    assert_eq!(hear()["error"]["code"], -32602);
    assert_eq!(heard, [json!(0), json!(1), json!(2)]);
    // It ends with its input, as agents end it, and says nothing on the way out.
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_list_is_printed_for_function_calling() {
    let folder = tempfile::tempdir().unwrap();
    let printed = |format: &str| -> Value {
        let output = vidra(folder.path()).args(["tools", "--format", format]).output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let kept = std::fs::read_to_string(Path::new(ROOT).join("docs/tools.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(printed("json-schema"), kept);
    assert_eq!(printed("openai")[0]["function"]["name"], "get_video");
    assert_eq!(printed("anthropic")[0]["input_schema"], kept[0]["inputSchema"]);
    assert_eq!(printed("gemini")[0]["functionDeclarations"][0]["name"], "get_video");
    let wrong = vidra(folder.path()).args(["tools", "--format", "yaml"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// The packages from PyPI and npm, over standard input and output and over HTTP.
#[test]
fn clients_of_others_use_every_tool() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("left out: VIDRA_REQUIRE_PEERS is not set");
        return;
    }
    let script = Path::new(ROOT).join("scripts/mcp-clients");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_vidra")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}
