//! Paged lists and their formats, over the demo service.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::process::{Service, vidra};

/// Runs a command over the demo. Returns its output and its errors.
#[track_caller]
fn demo(args: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    let command = command.env("VIDRA_DEMO", "1");
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, errors) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    (out, errors)
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn users_8_a_limit_pays_for_its_page_and_names_the_cursor() {
    let first = ["playlist", "PLsize5000", "--videos", "--limit", "2", "--json"];
    let (output, errors) = demo(&first);
    let page = document(&output);
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    let more = format!("there is more: --cursor {cursor} continues the list, --all fetches");
    assert!(errors.starts_with(&format!("vidra: {more}")), "{errors}");
    assert!(errors.ends_with("vidra: cost: 2 units\n"), "{errors}");
    let positions = |page: &Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["position"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(positions(&page), [1, 2]);

    let next = ["playlist", "PLsize5000", "--cursor", &cursor, "-l", "3", "--json", "-q"];
    let (output, errors) = demo(&next);
    assert_eq!((positions(&document(&output)), errors.as_str()), (vec![3, 4, 5], ""));
    let (table, _) = demo(&["playlist", "PLsize5000", "--videos", "-l", "2", "-q"]);
    let id = page["items"][0]["id"].as_str().unwrap();
    assert!(table.contains(id) && table.lines().count() >= 2, "{table}");
}

#[test]
fn users_8_all_follows_the_pages_and_csv_has_one_header_row() {
    let args = ["playlist", "PLsize5000", "--all", "--csv", "--fields", "position,id"];
    let (output, errors) = demo(&args);
    let mut rows = output.split_terminator("\r\n");
    assert_eq!(rows.next(), Some("position,id"));
    let positions: Vec<&str> = rows.map(|row| row.split_once(',').unwrap().0).collect();
    let expected: Vec<String> = (1..=5_000).map(|position: u32| position.to_string()).collect();
    assert_eq!(positions, expected);
    assert_eq!(errors, "vidra: cost: 200 units\n");
    let whole = ["playlist", "PLsize120", "--csv", "--fields", "id", "-q"];
    assert_eq!(demo(&whole).0.lines().count(), 121, "a playlist is complete without a flag");
}

#[test]
fn users_13_fields_choose_the_members_of_each_item() {
    let args = ["playlist", "PLsize120", "--all", "--fields", "position", "-q"];
    let expected: Vec<Value> = (1..=120).map(|position| json!({"position": position})).collect();
    assert_eq!(document(&demo(&args).0), json!({"items": expected}));
    let lines = ["playlist", "PLsize120", "--all", "--ndjson", "--jq", ".position", "-q"];
    let expected: String = (1..=120).map(|position| format!("{position}\n")).collect();
    assert_eq!(demo(&lines).0, expected);
}

#[test]
fn users_8_uploads_of_a_time_are_the_same_from_a_running_service() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let url = format!("http://{}", service.address);
    let fields = ["--fields", "id,publishedAt", "-q"];
    let (newest, _) = demo(&[&["uploads", "@fermata", "--limit", "60"], &fields[..]].concat());
    let newest = document(&newest)["items"].as_array().unwrap().clone();
    let day = |upload: &Value| upload["publishedAt"].as_str().unwrap()[..10].to_owned();
    let since = day(&newest[newest.len() / 2]);
    let expected: Vec<Value> =
        newest.iter().filter(|upload| day(upload) >= since).cloned().collect();
    assert!(expected.len() < newest.len(), "some are older than {since}");

    let args = [&["uploads", "@fermata", "--since", &since, "--all"], &fields[..]].concat();
    let (output, _) = demo(&args);
    assert_eq!(document(&output), json!({"items": expected}));
    let mut remote = vidra(folder.path());
    let remote = remote.args(&args).args(["--server", &url]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(remote.stdout).unwrap(), output);
}
