//! `vidra transcripts --out`: a folder is written, interrupted, and completed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use vidra_sim::{Endpoint, Listening, Simulator};

use crate::process::{Service, vidra};

pub(crate) const KEY: &str = "demo-key";

/// A platform with latency, so that requests are in flight when the command is stopped.
pub(crate) fn slow_platform(latency: Duration) -> (Simulator, Listening, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sim = Simulator::builder().key(KEY).latency(latency).build();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = runtime.block_on(sim.listen(loopback)).unwrap();
    (sim, listening, runtime)
}

fn transcripts(platform: &Listening, home: &Path, args: &[&str]) -> Command {
    let mut command = vidra(home);
    command
        .env("YOUTUBE_API_KEY", KEY)
        .env("VIDRA_DATA_API_URL", platform.data_api_url())
        .env("VIDRA_WEB_URL", platform.web_url())
        // The folder, not a persistent cache, saves the next run from fetching again.
        .env("VIDRA_CACHE", "memory")
        .arg("transcripts")
        .args(args);
    command
}

pub(crate) fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn folder_has_a_file_per_video_and_format_and_lists_failures() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::ZERO);
    let out = home.path().join("out");
    let args =
        ["PLquirkMixed", "--out", "out", "--format", "srt,vtt,txt,json", "--concurrency", "8"];
    let first = transcripts(&platform, home.path(), &args).output().unwrap();
    let errors = String::from_utf8(first.stderr).unwrap();
    assert_eq!(first.status.code(), Some(1), "{errors}");
    assert!(errors.contains("[txNoCaption]: Video has no captions"), "{errors}");
    let found = names(&out);
    assert_eq!(found.len(), 6 * 4 + 1, "{found:#?}");
    assert!(found.contains("Walking the Outer Hebrides [rskSlyTUdug].en.srt"), "{found:#?}");
    let lines = fs::read(out.join("Walking the Outer Hebrides [rskSlyTUdug].en.json")).unwrap();
    assert!(!serde_json::from_slice::<Vec<Value>>(&lines).unwrap().is_empty());
    let listed = manifest(&out);
    assert_eq!(
        (&listed["succeeded"], &listed["failed"], &listed["totalVideos"]),
        (&6.into(), &6.into(), &12.into())
    );

    // Second run: permanent failures and existing files are skipped.
    let calls_before = sim.record().calls_to(Endpoint::TimedText);
    let again = transcripts(&platform, home.path(), &args).output().unwrap();
    let errors = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(1), "{errors}");
    // A missing token and a broadcast that has not started are retried.
    let failed: Vec<&str> = errors.lines().filter(|line| line.contains("[")).collect();
    assert!(failed.len() == 2 && errors.contains("[ttEmpty____]"), "{errors}");
    assert!(errors.contains("[plUpcoming_]"), "{errors}");
    let text = String::from_utf8(again.stdout).unwrap();
    assert_eq!(
        text,
        "done: 6 transcripts in out, 6 failed; 4 of them earlier, which --retry-failed tries again\n"
    );
    let only_one_has_captions = sim.record().calls_to(Endpoint::TimedText) - calls_before;
    assert!(only_one_has_captions <= 2, "{only_one_has_captions}");
    assert_eq!((names(&out), manifest(&out)), (found.clone(), listed.clone()));
    let retried = [&args[..], &["--retry-failed"]].concat();
    let retried = transcripts(&platform, home.path(), &retried).output().unwrap();
    let errors = String::from_utf8(retried.stderr).unwrap();
    assert!(errors.contains("[txNoCaption]"), "{errors}");

    // A removed file is fetched again, and nothing else.
    let one = ["PLquirkMixed", "--out", "out", "--format", "srt", "--to", "1"];
    fs::remove_file(out.join("Walking the Outer Hebrides [rskSlyTUdug].en.srt")).unwrap();
    let captions = sim.record().calls_to(Endpoint::TimedText);
    let last = transcripts(&platform, home.path(), &one).output().unwrap();
    assert!(out.join("Walking the Outer Hebrides [rskSlyTUdug].en.srt").exists(), "{last:?}");
    assert_eq!(sim.record().calls_to(Endpoint::TimedText), captions + 1);
    assert_eq!((names(&out), manifest(&out)), (found, listed));
}

#[test]
fn ctrl_c_leaves_no_partial_files_and_the_next_run_resumes() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::from_millis(30));
    let out = home.path().join("out");
    let args = ["PLsize50", "--out", "out", "--format", "srt", "--concurrency", "2"];
    let mut child = transcripts(&platform, home.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "vidra: 5 of 50 videos\n");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut rest = String::new();
    while errors.read_line(&mut rest).unwrap() > 0 {}
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("stopped; run the same command again"), "{rest}");
    let found = names(&out);
    let done = found.iter().filter(|name| name.ends_with(".srt")).count();
    assert!((5..50).contains(&done) && found.len() == done + 1, "{found:#?}");
    assert!(found.iter().all(|name| fs::metadata(out.join(name)).unwrap().len() > 0));
    let listed = manifest(&out);
    assert_eq!((&listed["succeeded"], &listed["totalVideos"]), (&done.into(), &50.into()));

    let captions = sim.record().calls_to(Endpoint::TimedText);
    let rest = transcripts(&platform, home.path(), &args).output().unwrap();
    assert_eq!(rest.status.code(), Some(0), "{rest:?}");
    assert_eq!(sim.record().calls_to(Endpoint::TimedText) - captions, 50 - done as u64);
    assert_eq!(names(&out).len(), 51);
    let text = String::from_utf8(rest.stdout).unwrap();
    assert_eq!(text, "done: 50 transcripts in out, 0 failed\n");
}

#[test]
fn killed_run_resumes_from_its_files() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::from_millis(30));
    let out = home.path().join("out");
    let args = ["PLsize50", "--out", "out", "--ndjson"];
    let mut child =
        transcripts(&platform, home.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let done = names(&out).iter().filter(|name| name.ends_with(".txt")).count();
    assert!(done >= 4, "{done}");

    let captions = sim.record().calls_to(Endpoint::TimedText);
    let rest = transcripts(&platform, home.path(), &args).output().unwrap();
    assert_eq!(rest.status.code(), Some(0), "{rest:?}");
    assert_eq!(sim.record().calls_to(Endpoint::TimedText) - captions, 50 - done as u64);
    let listed = manifest(&out);
    let positions: Vec<u64> = listed["videos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["position"].as_u64().unwrap())
        .collect();
    assert_eq!(positions, (1..=50).collect::<Vec<_>>());
    let line = String::from_utf8(rest.stdout).unwrap();
    assert_eq!(line.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), listed);
}

#[test]
fn users_15_a_list_of_ids_becomes_files_and_resumes() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::ZERO);
    let out = home.path().join("out");
    let list =
        "# talks\nhttps://youtu.be/rskSlyTUdug\n\ntxManualAsr  # two tracks\ntxNoCaption\nbad id\n";
    fs::write(home.path().join("ids.txt"), list).unwrap();
    let args = ["--ids-file", "ids.txt", "--out", "out", "--format", "srt", "--lang", "en"];
    let first = transcripts(&platform, home.path(), &args).output().unwrap();
    let errors = String::from_utf8(first.stderr).unwrap();
    assert_eq!(first.status.code(), Some(1), "{errors}");
    assert!(errors.contains("id 4: Not a valid video identifier: bad id"), "{errors}");
    assert!(errors.contains("[txNoCaption]: Video has no captions"), "{errors}");
    // The titles come with the captions.
    assert!(!errors.contains("cost"), "{errors}");
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 0);
    let found = names(&out);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.contains("Walking the Outer Hebrides [rskSlyTUdug].en.srt"), "{found:#?}");
    let listed = manifest(&out);
    assert_eq!((&listed["succeeded"], &listed["failed"]), (&2.into(), &2.into()), "{listed}");

    // The next run, with one more video in the list, fetches that one.
    fs::write(home.path().join("ids.txt"), format!("{list}txOneCue___\n")).unwrap();
    let captions = sim.record().calls_to(Endpoint::TimedText);
    let again = transcripts(&platform, home.path(), &args).output().unwrap();
    assert_eq!(sim.record().calls_to(Endpoint::TimedText), captions + 1, "{again:?}");
    assert_eq!(names(&out).len(), 4);
}

#[test]
fn invalid_ids_of_a_list_are_failures() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = vidra(home.path());
        let output = command.env("VIDRA_DEMO", "1").arg("transcripts").args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let counts = |folder: &str| {
        let manifest = manifest(&home.path().join(folder));
        ["totalVideos", "succeeded", "failed"].map(|name| manifest[name].as_u64().unwrap())
    };
    let (code, text, errors) = run(&["nope", "nope2", "--out", "none"]);
    assert_eq!((code, text.as_str()), (2, "done: 0 transcripts in none, 2 failed\n"), "{errors}");
    assert_eq!(counts("none"), [2, 0, 2]);
    // The second run fetches nothing, and the id is still invalid.
    for _ in 0..2 {
        let (code, text, errors) = run(&["fda4eREcaTQ", "nope", "--out", "some"]);
        assert_eq!((code, text.as_str()), (1, "done: 1 transcripts in some, 1 failed\n"));
        assert!(errors.contains("id 2: Not a valid video identifier: nope"), "{errors}");
        assert_eq!(counts("some"), [2, 1, 1]);
    }
    let (code, text, _) = run(&["fda4eREcaTQ", "--out", "some"]);
    let expected = "nothing was missing: 1 transcripts in some, 0 failed\n";
    assert_eq!((code, text.as_str(), counts("some")), (0, expected, [1, 1, 0]), "it was corrected");

    let (code, text, errors) = run(&["fda4eREcaTQ", "nope"]);
    assert!(code == 1 && text.contains("1 transcripts, 1 failed, of a list of 2\n"), "{text}");
    assert!(errors.ends_with("vidra: 1 of 2 failed\n"), "{errors}");
    let (code, text, _) = run(&["nope", "nope2"]);
    assert_eq!((code, text.as_str()), (2, "0 transcripts, 2 failed, of a list of 2\n"), "no table");
    let (_, text, _) = run(&["nope", "fda4eREcaTQ", "nope2", "--to", "2", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!([&document["totalVideos"], &document["failed"]], [2, 1]);
    assert_eq!(document["results"][0]["reason"], "invalid_input");
    let second = &document["results"][1];
    assert_eq!((&second["videoId"], &second["position"]), (&"fda4eREcaTQ".into(), &2.into()));
}

#[test]
fn earlier_failures_are_not_called_nothing_missing() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::ZERO);
    let args = ["txManualAsr", "txNoCaption", "--out", "out", "-q"];
    let summary = || {
        let output = transcripts(&platform, home.path(), &args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(summary(), "done: 1 transcripts in out, 1 failed\n");
    let hint = "; 1 of them earlier, which --retry-failed tries again";
    assert_eq!(summary(), format!("nothing new to fetch: 1 transcripts in out, 1 failed{hint}\n"));
}

#[test]
fn json_document_is_that_of_the_service() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(home.path()).env("VIDRA_DEMO", "1"));
    let table: [(&[&str], &str); 4] = [
        (&["PLquirkMixed"], r#"{"playlist": "PLquirkMixed"}"#),
        (&["@fermata", "--to", "2"], r#"{"channel": "@fermata", "to": 2}"#),
        (&["txManualAsr", "txNoCaption"], r#"{"videos": ["txManualAsr", "txNoCaption"]}"#),
        (
            &[
                "PLsize50",
                "--to=2",
                "--translate=fr",
                "--captions=manual",
                "--start=9",
                "--end=1:00",
            ],
            r#"{"playlist": "PLsize50", "to": 2, "translate": "fr", "captions": "manual", "start": 9, "end": 60}"#,
        ),
    ];
    for (args, body) in table {
        let (status, expected) = service.transcripts(body);
        assert_eq!(status, 200, "{expected}");
        let mut command = vidra(home.path());
        command.env("VIDRA_DEMO", "1").arg("transcripts").args(args).arg("--json");
        let document = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(document.trim_end(), expected, "{args:?}");
    }
}

#[test]
fn a_list_of_more_than_500_videos_keeps_its_positions() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::ZERO);
    let ids: String = (1..=501).map(|it| format!("zz{it:09}\n")).collect();
    fs::write(home.path().join("ids.txt"), format!("nope\n{ids}txOneCue___\n")).unwrap();
    let args = ["--ids-file", "ids.txt", "--concurrency", "20", "--from", "2"];
    let done = transcripts(&platform, home.path(), &[&args[..], &["--ndjson"]].concat());
    let output = String::from_utf8({ done }.output().unwrap().stdout).unwrap();
    let lines: Vec<Value> = output.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let last = lines.iter().find(|line| line["videoId"] == "txOneCue___").unwrap();
    assert_eq!((&last["position"], &last["status"]), (&503.into(), &"success".into()));
    let summaries: Vec<&Value> = lines.iter().filter(|line| line["type"] == "summary").collect();
    let [summary] = summaries[..] else { panic!("{summaries:?}") };
    assert_eq!((&summary["totalVideos"], &summary["failed"]), (&502.into(), &501.into()));
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 0);
    let mut positions: Vec<u64> =
        lines.iter().filter_map(|line| line["position"].as_u64()).collect();
    positions.sort_unstable();
    assert_eq!(positions, (2..=503).collect::<Vec<_>>());
}

#[test]
fn lists_and_translations_need_no_key() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::ZERO);
    let args = ["txManyLang_", "txManualAsr", "-o", "out", "--translate", "fr"];
    let mut command = transcripts(&platform, home.path(), &args);
    let done = command.env_remove("YOUTUBE_API_KEY").output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let found = names(&home.path().join("out"));
    let title = "txManyLang_ A page fault from scratch [txManyLang_].fr.txt";
    assert!(found.contains(title), "{found:?}");
}

#[test]
fn a_channel_has_uploads_since_a_date() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::ZERO);
    let run = |args: &[&str]| {
        let output = transcripts(&platform, home.path(), args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (_, all, errors) = run(&["@fermata", "--to", "9", "--json"]);
    let all: Value = serde_json::from_str(&all).unwrap_or_else(|_| panic!("{errors}"));
    let uploads = vidra(home.path())
        .env("VIDRA_DEMO", "1")
        .args(["uploads", "@fermata", "--limit=3", "--jq=.[2].publishedAt"])
        .output()
        .unwrap();
    let third = String::from_utf8(uploads.stdout).unwrap();
    let (_, new, errors) = run(&["@fermata", "--since", third.trim(), "--json"]);
    let new: Value = serde_json::from_str(&new).unwrap_or_else(|_| panic!("{errors}"));
    let results = |document: &Value| document["results"].as_array().unwrap().clone();
    assert_eq!(results(&new), results(&all)[..3], "{third}");
    assert_eq!(new["source"]["type"], "channel");

    let calls = sim.record().calls_to(Endpoint::PlaylistItems);
    let (_, text, _) = run(&["@fermata", "--since", third.trim(), "-o", "out", "-q"]);
    assert!(text.starts_with("done: "), "{text}");
    let (_, again, _) = run(&["@fermata", "--since", third.trim(), "-o", "out", "-q"]);
    assert!(again.starts_with("nothing "), "{again}");
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), calls + 2, "one page each");
    let (code, _, errors) = run(&["txManualAsr", "txOneCue___", "--since", "2026-01-01"]);
    assert!(
        code == 2 && errors.contains("--since works only with a playlist or a channel"),
        "{errors}"
    );
}

#[test]
fn a_folder_belongs_to_one_part_of_the_videos() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::ZERO);
    let run = |flags: &[&str]| {
        let args = [&["txManualAsr", "-o", "out"], flags].concat();
        let output = transcripts(&platform, home.path(), &args).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let part = ["--captions", "auto", "--start", "1:00", "--end", "70"];
    assert_eq!(run(&part), (0, "vidra: 1 of 1 videos\n".to_owned()));
    assert_eq!(run(&part), (0, String::new()));
    let (code, error) = run(&["--captions", "auto"]);
    let flags = "no --lang and --captions auto and --start 1:00 and --end 1:10";
    assert!(code == 2 && error.contains(&format!("a list of videos with {flags}")), "{error}");
}

#[test]
fn users_14_a_handle_is_the_playlist_of_its_uploads() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::ZERO);
    let out = home.path().join("out");
    let args = ["@fermata", "-o", "out", "--to", "2", "-q"];
    let done = transcripts(&platform, home.path(), &args).output().unwrap();
    assert!(
        String::from_utf8(done.stdout).unwrap().contains(" transcripts in out"),
        "{:?}",
        done.stderr
    );
    let playlist = manifest(&out)["playlistId"].as_str().unwrap().to_owned();
    assert!(playlist.starts_with("UU"), "{playlist}");
    let channel = playlist.replacen("UU", "UC", 1);
    let again = transcripts(&platform, home.path(), &[&channel, "-o", "out", "--to", "2", "-q"]);
    let again = { again }.output().unwrap();
    assert!(String::from_utf8(again.stdout).unwrap().contains(" in out"), "the same folder");
}

#[test]
fn users_15_several_languages_have_a_folder_each() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::ZERO);
    let args = ["txManyLang_", "-o", "out", "-f", "vtt", "--lang", "de", "--lang", "en", "-q"];
    let done = transcripts(&platform, home.path(), &args).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    for lang in ["de", "en"] {
        let found = names(&home.path().join("out").join(lang));
        assert!(
            found.iter().any(|name| name.ends_with(&format!("[txManyLang_].{lang}.vtt"))),
            "{found:?}"
        );
    }
}

#[test]
fn users_15_a_playlist_can_be_translated() {
    let home = tempfile::tempdir().unwrap();
    let (sim, platform, _runtime) = slow_platform(Duration::ZERO);
    let args = ["PLsize5000", "--from", "2", "--to", "4", "-o", "out", "--translate", "fr", "-q"];
    let done = transcripts(&platform, home.path(), &args).output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{errors}");
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 1, "only the first page");
    let found = names(&home.path().join("out"));
    assert_eq!(found.iter().filter(|name| name.ends_with("].fr.txt")).count(), 3, "{found:?}");
    assert_eq!(manifest(&home.path().join("out"))["translate"], "fr");
}

#[test]
fn users_16_sighup_does_not_end_a_batch() {
    let home = tempfile::tempdir().unwrap();
    let (_, platform, _runtime) = slow_platform(Duration::from_millis(30));
    let args = ["PLsize50", "--out", "out", "--concurrency", "2"];
    let mut child = transcripts(&platform, home.path(), &args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "vidra: 5 of 50 videos\n");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    while errors.read_line(&mut line).unwrap() > 0 {}
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
    assert_eq!(names(&home.path().join("out")).len(), 51);
}
