//! `vidra keys list --usage`, and the callers in the log.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::callers::{demo, keys, new_key, run};
use crate::process::{Service, vidra};

/// The words of each line.
fn words(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn users_12_usage_is_listed_from_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let operator = new_key(folder, &["operator", "--operator"]);
    let alice = new_key(folder, &["alice"]);
    let list = |args: &[&str]| {
        let mut command: Command = vidra(folder);
        command.env("VIDRA_CALLER_KEYS_FILE", "keys.json").env("VIDRA_STATE_DIR", "state");
        run(command.args(["keys", "list"]).args(args))
    };
    let (code, output, error) = list(&["--usage"]);
    assert!(code == Some(2) && output.is_empty(), "{output}");
    assert_eq!(
        error,
        "vidra: there is no state/callers.json: a service with that --state-dir writes it\n"
    );
    assert_eq!(list(&["--json"]).0, Some(2), "only usage is written as JSON");

    let service = Service::start(&mut demo(folder));
    let get = |path: &str, key: &str| service.get_with(path, &format!("x-api-key: {key}\r\n"));
    for path in ["/api/video/quirkNoLike", "/api/video/quirkNoLike", "/api/transcript/txManualAsr"]
    {
        assert_eq!(get(path, &alice).0, 200, "{path}");
    }
    let (status, _, body) = get("/api/usage", &alice);
    assert!(status == 403 && body.contains("operator_key_required"), "{body}");
    let (status, _, report) = get("/api/usage", &operator);
    assert_eq!(status, 200, "{report}");
    assert_eq!(service.stop().0, Some(0));

    // Without a service, and the key is gone.
    assert_eq!(keys(folder, &["revoke", "alice"]).0, Some(0));
    let (code, table, error) = list(&["--usage"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let lines = words(&table);
    assert_eq!(lines[0], ["day", "name", "requests", "units", "searches", "transcripts"]);
    assert_eq!(lines[1][1..], ["alice", "4", "1", "0", "1"], "{table}");
    assert_eq!(lines[2][1..], ["operator", "1", "0", "0", "0"], "{table}");
    assert_eq!(lines.len(), 3);
    let (_, json, _) = list(&["--usage", "--json"]);
    let [of_command, of_service]: [Value; 2] =
        [&json, &report].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(of_command, of_service, "the last request was that for the usage");
    assert_eq!(of_command["days"][0]["day"], lines[1][0]);

    fs::write(folder.join("state/callers.json"), "{").unwrap();
    assert_eq!(list(&["--usage"]).1, table, "a synced copy has it too");
    for copy in ["state/callers.json.1", "state/callers.json.2"] {
        fs::write(folder.join(copy), "{").unwrap();
    }
    let (code, _, error) = list(&["--usage"]);
    assert_eq!(code, Some(2));
    assert_eq!(error, "vidra: cannot read state/callers.json: the file is damaged\n");
}

#[test]
fn users_12_usage_without_keys_is_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service =
        Service::start(vidra(folder).env("VIDRA_DEMO", "1").env("VIDRA_STATE_DIR", "state"));
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    assert_eq!(service.get("/healthz").0, 200);
    assert_eq!(service.stop().0, Some(0));
    fs::write(folder.join("keys.json"), "{\"keys\": []}").unwrap();
    let (_, table, error) = keys(folder, &["list", "--usage", "--state-dir", "state"]);
    assert_eq!(words(&table)[1][1..], ["-", "1", "1", "0", "0"], "{table}{error}");
}

/// The line of a request over the limit, and of a call over MCP.
#[test]
fn users_12_every_line_of_a_request_names_its_caller() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let alice = new_key(folder, &["alice", "--rate", "1/h"]);
    let service = Service::start(&mut demo(folder));
    let headers = format!("x-api-key: {alice}\r\n");
    for status in [200, 429] {
        assert_eq!(service.get_with("/api/video/quirkNoLike", &headers).0, status);
    }
    assert_eq!(service.get_with("/api/usage", &headers).0, 429);
    assert_eq!(service.get_with("/mcp", &headers).0, 406, "no stream was requested");
    assert_eq!(service.get_with("/api/video/quirkNoLike", "x-api-key: vk_no\r\n").0, 401);
    let (_, log) = service.stop();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("request_id")).collect();
    let callers: Vec<bool> =
        lines.iter().map(|line| line.contains("\"caller\":\"alice\"")).collect();
    assert_eq!(callers, [true, true, true, true, false], "{log}");
    assert!(lines[1].contains("\"reason\":\"caller_rate_limited\""), "{log}");
    assert!(lines[3].contains("\"route\":\"/mcp\""), "{log}");
}
