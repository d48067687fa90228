//! The data commands: over the demo world, over a platform, and over a running service.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::process::{Service, vidra};
use crate::serve::{CANARY, Platform, platform};

/// Runs `vidra` until it exits.
fn run(command: &mut Command, args: &[&str]) -> Output {
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// The exit code, standard output and standard error of a run in the demo world.
fn demo(args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(vidra(folder.path()).env("VIDRA_DEMO", "1").env("VIDRA_QUIET", "1"), args);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the demo leaves no files");
    result_of(&output)
}

fn result_of(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// `vidra` that uses the platform directly.
fn direct(platform: &Platform, folder: &Path) -> Command {
    let mut command = vidra(folder);
    command
        .env("YOUTUBE_API_KEY", CANARY)
        .env("VIDRA_QUIET", "1")
        .env("VIDRA_DATA_API_URL", platform.listening.data_api_url())
        .env("VIDRA_WEB_URL", platform.listening.web_url());
    command
}

#[test]
fn output_is_equal_for_platform_service_and_demo() {
    let folder = tempfile::tempdir().unwrap();
    let platform = platform();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let url = format!("http://{}", service.address);
    let table: &[&[&str]] = &[
        &["video", "https://youtu.be/fda4eREcaTQ", "quirkNoLike"],
        &["videos", "fda4eREcaTQ", "zzzzzzzzzzz"],
        &["channel", "@fermata"],
        &["uploads", "@fermata", "--limit=3"],
        &["playlist", "PLquirkMixed"],
        &["playlist", "PLquirkMixed", "--info"],
        &["playlist", "PLquirkMixed", "--ids"],
        &["query", "PLquirkMixed", "--sort=views", "--min-duration=2:00", "--to=3"],
        &["query", "PLquirkDetails", "--shorts", "--sort=title", "--include=details"],
        &["video", "chapPlain__", "--include=details,chapters"],
        &["playlists", "@fermata", "--limit=3"],
        &["feed", "@fermata"],
        &["feed", "PLsize50", "UCB-2_pXPtFYDifLXZF-S8PA"],
        &["search-videos", "session", "--limit=3"],
        &["search-videos", "season", "--type=playlist", "--limit=3"],
        &["popular", "--region=DE", "--limit=3"],
        &["comments", "quirkHtmlCm", "--all"],
        &["comments", "quirkHtmlCm", "--limit=5", "--order=time"],
        &["replies", "Ugwc2n4LcZtI2UljWK64AaABAg"],
        &["tracks", "txManualAsr"],
        &["transcript", "txManualAsr", "--lang=en"],
        &["transcript", "txManualAsr", "--captions=auto", "--start=0:30", "--end=60"],
        &["document", "txManualAsr", "--captions=auto", "--words", "--end=9"],
        &["document", "txManualAsr", "txOneCue___"],
        &["chunks", "chapPlain__", "--by=chapters"],
        &["transcripts", "PLquirkMixed", "--from=1", "--to=4"],
        &["transcripts", "txManualAsr", "nope", "txOneCue___", "--translate=fr"],
        &["regions", "--hl=de"],
        &["languages"],
        &["categories", "--region=DE"],
        &["link", "https://youtu.be/fda4eREcaTQ?list=PLa", "nope"],
        &["video", "zzzzzzzzzzz"],
        &["transcript", "txNoCaption"],
    ];
    for args in table {
        for form in [&[][..], &["--json"], &["--ndjson"]] {
            let args = [args, form].concat();
            let demo = demo(&args);
            let home = tempfile::tempdir().unwrap();
            let direct = result_of(&run(&mut direct(&platform, home.path()), &args));
            let remote = result_of(&run(
                vidra(folder.path()).env("VIDRA_QUIET", "1").args(&args),
                &["--server", &url],
            ));
            // The order of the transcripts of a playlist is not fixed.
            let sorted = |(code, output, error): &(i32, String, String)| {
                let mut lines: Vec<String> = output.lines().map(str::to_owned).collect();
                if args[0] == "transcripts" {
                    lines.sort();
                }
                (*code, lines, error.clone())
            };
            assert_eq!(sorted(&demo), sorted(&direct), "{args:?}");
            assert_eq!(sorted(&demo), sorted(&remote), "{args:?}");
            assert!(demo.0 <= 1 && (demo.0 == 1 || demo.2.is_empty()), "{args:?}: {demo:?}");
        }
    }
}

#[test]
fn each_outcome_has_an_exit_code_and_an_error_line() {
    let table: &[(&[&str], i32, &str)] = &[
        (&["video", "--demo", "fda4eREcaTQ"], 0, ""),
        (&["video", "--demo", "zzzzzzzzzzz"], 1, "vidra: Video not found: zzzzzzzzzzz\n"),
        (&["transcript", "--demo", "txNoCaption"], 1, "has no captions"),
        (&["video", "--demo", "-q", "fda4eREcaTQ", "--jq", ".id.x"], 2, "--jq: cannot index"),
        (&["video", "--demo", "nope"], 2, "expected an 11-character video id"),
        (&["video", "--demo", ""], 2, "an id or URL is empty"),
        (
            &["video", "--demo"],
            2,
            "required arguments were not provided: <ID>...; see vidra video --help",
        ),
        (&["video", "-abcdefghij"], 2, "begins with a hyphen after --"),
        (&["video", "x", "--jsn"], 2, "the nearest is '--json'"),
        (&["video", "--demo", "--server=http://127.0.0.1:1", "x"], 2, "cannot be used together"),
        (&["video", "--server=http://me:secret@host", "x"], 2, "--server: expected"),
        (&["transcript", "--demo", "a", "b", "--format=srt"], 2, "vidra transcripts"),
        (&["transcripts", "--demo", "PLa", "--from=3", "--to=2"], 2, "--from is greater"),
        (&["video", "fda4eREcaTQ"], 3, "set YOUTUBE_API_KEY"),
        (&["transcript", "--demo", "plBotWall__"], 3, "--proxy"),
        (
            &["video", "--server=http://127.0.0.1:1", "fda4eREcaTQ"],
            4,
            "is a service running there?",
        ),
    ];
    for (args, code, line) in table {
        let folder = tempfile::tempdir().unwrap();
        let mut command = vidra(folder.path());
        let (exit, output, error) = result_of(&run(command.env("VIDRA_QUIET", "1"), args));
        assert_eq!(exit, *code, "{args:?}: {error}");
        assert!(error.contains(line) && !error.contains("secret"), "{args:?}: {error}");
        assert_eq!(output.is_empty(), *code != 0, "{args:?}: {output}");
        assert!(error.lines().count() <= 1, "{args:?}: {error}");
    }
}

#[test]
fn users_4_the_cost_is_the_last_line_of_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let table: [(&[&str], &str); 9] = [
        (&["video", "fda4eREcaTQ"], "vidra: cost: 1 unit\n"),
        (
            &["transcripts", "@nobodyhere", "--to", "1"],
            "vidra: Channel not found: @nobodyhere\nvidra: cost: 1 unit\n",
        ),
        (&["query", "PLnope1234"], "vidra: Playlist not found: PLnope1234\nvidra: cost: 1 unit\n"),
        (
            &["videos", "quirkNoLike", "yyyyyyyyyyy"],
            "vidra: Videos not found: yyyyyyyyyyy\nvidra: cost: 1 unit\n",
        ),
        (&["playlist", "PLsize120"], "vidra: cost: 7 units\n"),
        (&["video", "zzzzzzzzzzz"], "vidra: Video not found: zzzzzzzzzzz\nvidra: cost: 1 unit\n"),
        (&["transcripts", "PLsize51", "--json"], "vidra: cost: 2 units\n"),
        (&["video", "fda4eREcaTQ", "--quiet"], ""),
        (&["link", "fda4eREcaTQ"], ""),
    ];
    for (args, errors) in table {
        let mut command = vidra(folder.path());
        let (_, _, error) = result_of(&run(command.env("VIDRA_DEMO", "1"), args));
        assert_eq!(error, errors, "{args:?}");
    }
}

#[test]
fn users_14_the_shape_of_json_depends_on_the_command_line_only() {
    let folder = tempfile::tempdir().unwrap();
    let ids = folder.path().join("ids.txt");
    std::fs::write(&ids, "# one video\n\nfda4eREcaTQ\n").unwrap();
    let shape = |args: &[&str]| {
        let input = std::fs::File::open(&ids).unwrap();
        let mut command = vidra(folder.path());
        let output = command.args(args).args(["--demo", "-q"]).stdin(input).output().unwrap();
        let (code, output, error) = result_of(&output);
        assert_eq!((code, error.as_str()), (0, ""), "{args:?}");
        output
    };
    let id = serde_json::from_str::<Value>(&shape(&["video", "fda4eREcaTQ", "--json"])).unwrap();
    assert_eq!(id["id"], "fda4eREcaTQ");
    for args in [&["video", "-", "--json"][..], &["video", "--ids-file", "ids.txt", "--json"]] {
        let list: Vec<Value> = serde_json::from_str(&shape(args)).unwrap();
        assert_eq!(list, std::slice::from_ref(&id), "{args:?}");
    }
    // A filter sees the same document.
    assert_eq!(shape(&["video", "fda4eREcaTQ", "--jq", ".id"]), "fda4eREcaTQ\n");
    assert_eq!(shape(&["video", "-", "--jq", "map(.id) | length"]), "1\n");
    assert_eq!(shape(&["video", "-", "--ndjson", "--jq", ".id"]), "fda4eREcaTQ\n");
}

#[test]
fn users_14_an_id_of_another_kind_leads_to_its_command() {
    let table: [(&[&str], &str); 3] = [
        (&["playlist", "fda4eREcaTQ"], "; that is a video: vidra video fda4eREcaTQ\n"),
        (&["channel", "fda4eREcaTQ"], "; that is a video: vidra video fda4eREcaTQ\n"),
        (&["query", "@fermata"], "; that is a channel: vidra uploads @fermata\n"),
    ];
    for (args, hint) in table {
        let (code, _, error) = demo(args);
        assert!(code > 0 && error.ends_with(hint), "{args:?}: {error}");
    }
}

#[test]
fn users_14_old_words_are_aliases() {
    let comments = |flags: &[&str]| demo(&[&["comments", "quirkHtmlCm", "--json"], flags].concat());
    assert_eq!(comments(&["--order=new"]), comments(&["--order=time"]));
    assert_eq!(comments(&["--order=top"]), comments(&["--order=relevance"]));
    assert_eq!(comments(&["--all-replies"]), comments(&["--replies=all"]));
    assert_ne!(comments(&["--order=time"]), comments(&["--order=relevance"]));
}

#[test]
fn users_14_a_start_past_the_end_is_not_silence() {
    for form in [&[][..], &["--format=srt"], &["--format=vtt"], &["--json"], &["--csv"]] {
        let args = [&["transcript", "txManualAsr", "--start=5h"], form].concat();
        let expected = (1, String::new(), "vidra: nothing is said after 5:00:00\n".to_owned());
        assert_eq!(demo(&args), expected, "{form:?}");
    }
}

#[test]
fn unreachable_platform_exits_with_the_network_code() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["video", "transcript"] {
        let mut command = vidra(folder.path());
        command.envs([
            ("YOUTUBE_API_KEY", CANARY),
            ("VIDRA_DATA_API_URL", "http://127.0.0.1:1"),
            ("VIDRA_WEB_URL", "http://127.0.0.1:1"),
            ("VIDRA_RETRIES", "0"),
        ]);
        let (code, _, error) = result_of(&run(&mut command, &[name, "fda4eREcaTQ"]));
        assert_eq!(code, 4, "{name}: {error}");
        assert!(error.contains("could not be reached"), "{name}: {error}");
    }
}

#[test]
fn a_feed_needs_no_key() {
    let (folder, platform) = (tempfile::tempdir().unwrap(), platform());
    for (id, code) in [("PLsize50", 0), ("UCB-2_pXPtFYDifLXZF-S8PA", 0), ("@fermata", 3)] {
        let mut command = direct(&platform, folder.path());
        let args = ["feed", id, "--jq", "[.source, (.items | length)] | @csv"];
        let output = run(command.env_remove("YOUTUBE_API_KEY"), &args);
        let (exit, output, error) = result_of(&output);
        assert_eq!(exit, code, "{id}: {error}");
        assert_eq!(output, if code == 0 { "\"feed\",15\n" } else { "" }, "{id}");
    }
}

#[test]
fn ids_from_standard_input_fail_independently() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = vidra(folder.path())
        .args(["video", "-", "--demo", "--ndjson", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ids = "https://youtu.be/fda4eREcaTQ\n\nzzzzzzzzzzz\n quirkNoLike \n";
    child.stdin.take().unwrap().write_all(ids.as_bytes()).unwrap();
    let (code, output, error) = result_of(&child.wait_with_output().unwrap());
    let ids: Vec<String> = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((code, ids), (1, vec!["fda4eREcaTQ".to_owned(), "quirkNoLike".to_owned()]));
    assert_eq!(error, "vidra: Video not found: zzzzzzzzzzz\n");
}

#[test]
fn invalid_id_does_not_discard_the_others() {
    let (code, output, error) = demo(&["videos", "fda4eREcaTQ", "bad id", "zzzzzzzzzzz", "--json"]);
    let found: Vec<Value> = serde_json::from_str(&output).unwrap();
    assert_eq!((code, found.len()), (1, 1));
    assert!(error.contains("bad id") && error.contains("Videos not found: zzzzzzzzzzz"), "{error}");
    let (code, output, _) = demo(&["video", "bad id", "worse", "--json"]);
    assert_eq!((code, output.as_str()), (2, "[]\n"));
}

#[test]
fn env_file_cannot_redirect_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        "VIDRA_DATA_API_URL=http://127.0.0.1:1\nVIDRA_SERVER=http://127.0.0.1:1\nnot a line\n";
    std::fs::write(folder.path().join(".env"), settings).unwrap();
    let (code, _, error) = result_of(&run(vidra(folder.path()).arg("link"), &["fda4eREcaTQ"]));
    assert_eq!((code, error.as_str()), (0, ""));
    let (platform, key) = (platform(), format!("YOUTUBE_API_KEY={CANARY}\n"));
    std::fs::write(folder.path().join(".env"), key + settings).unwrap();
    let mut command = direct(&platform, folder.path());
    command.env_remove("YOUTUBE_API_KEY");
    let (code, _, error) = result_of(&run(&mut command, &["video", "fda4eREcaTQ"]));
    assert_eq!((code, error.as_str()), (0, ""), "the key may be in .env");
}

#[test]
fn flags_override_environment_variables() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let url = format!("http://{}", service.address);
    let table: [(&str, &str, &[&str]); 3] = [
        ("VIDRA_SERVER", "http://127.0.0.1:1", &["--demo"]),
        ("VIDRA_DEMO", "1", &["--server", &url]),
        ("VIDRA_SERVER", "", &["--demo"]),
    ];
    for (name, value, flags) in table {
        let mut command = vidra(folder.path());
        let (code, output, error) = result_of(&run(command.env(name, value).arg("quota"), flags));
        assert!(code == 0 && output.contains("10000"), "{name}: {error}");
    }
}

#[test]
fn closed_stderr_does_not_change_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = vidra(folder.path())
        .args(["video", "bad", "worse", "--demo"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn elements_of_several_lists_name_their_source() {
    let (code, output, _) =
        demo(&["tracks", "txManualAsr", "txNoCaption", "txManyLang_", "--json"]);
    let tracks: Vec<Value> = serde_json::from_str(&output).unwrap();
    let from: Vec<&str> = tracks.iter().map(|track| track["from"].as_str().unwrap()).collect();
    assert_eq!(
        (code, &from[..2], *from.last().unwrap()),
        (1, &["txManualAsr"; 2][..], "txManyLang_")
    );
    let (code, output, _) = demo(&["tracks", "txManualAsr", "--ndjson"]);
    assert_eq!((code, output.lines().count()), (0, 2));
    assert!(output.starts_with(r#"{"languageCode":"en","#), "{output}");
}

#[test]
fn rows_of_several_lists_name_their_source() {
    let table: [(&[&str], &str, &[&str]); 4] = [
        (
            &["playlist", "PLsize50", "PLsize120", "--limit=1", "--fields=id,position"],
            "from,id,position",
            &["PLsize50,rskSlyTUdug,1", "PLsize120,rskSlyTUdug,1"],
        ),
        (
            &["uploads", "@fermata", "@fermata", "--limit=1", "--fields=id,from"],
            "from,id",
            &["@fermata,", "@fermata,"],
        ),
        (
            &["uploads", "@fermata", "@fermata", "--until=2030-01-01", "--limit=1", "--fields=id"],
            "from,id",
            &["@fermata,", "@fermata,"],
        ),
        (
            &["tracks", "txManualAsr", "txOneCue___", "--fields=from,languageCode"],
            "from,languageCode",
            &["txManualAsr,en", "txManualAsr,en", "txOneCue___,en"],
        ),
    ];
    for (args, header, rows) in table {
        let (code, output, error) = demo(&[args, &["--csv"]].concat());
        assert_eq!(code, 0, "{args:?}: {error}");
        let mut lines = output.lines();
        assert_eq!(lines.next(), Some(header), "{args:?}");
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), rows.len(), "{args:?}: {output}");
        assert!(lines.iter().zip(rows).all(|(line, row)| line.starts_with(row)), "{output}");
    }
    let (_, output, _) = demo(&["transcript", "txManualAsr", "txOneCue___", "--csv"]);
    assert!(output.starts_with("from,text,") && output.contains("\ntxOneCue___,"), "{output}");
    let (_, output, _) =
        demo(&["playlist", "PLsize50", "PLsize120", "--limit=1", "--fields=from,id"]);
    let items: Vec<Value> = serde_json::from_str(&output).unwrap();
    assert_eq!(items[1], serde_json::json!({"from": "PLsize120", "id": "rskSlyTUdug"}));
    // The only list needs no such column.
    let (_, output, _) = demo(&["tracks", "txManualAsr", "--csv"]);
    assert!(output.starts_with("languageCode,"), "{output}");
    let (code, output, error) = demo(&["tracks", "txManualAsr", "--fields=from"]);
    assert!(code == 2 && output.is_empty() && error.contains("no such member: from"), "{error}");
    let (code, output, error) = demo(&["tracks", "txManualAsr", "txOneCue___", "--fields=from"]);
    assert!(code == 2 && output.is_empty() && error.contains("--fields from,id"), "{error}");
}

#[test]
fn a_query_has_chosen_members_and_csv() {
    let (_, listed, _) = demo(&["playlist", "PLquirkMixed", "--csv"]);
    let names = listed.lines().next().unwrap().replace(",position", "");
    let (_, listed, _) = demo(&["playlist", "PLquirkMixed", "--csv", "--fields", &names]);
    assert!(listed.lines().count() > 5, "{listed}");
    let (code, queried, error) = demo(&["query", "PLquirkMixed", "--csv"]);
    assert_eq!((code, queried), (0, listed), "{error}");
    let sorted = ["query", "PLsize50", "--sort=views", "--to=2"];
    let (_, csv, _) = demo(&[&sorted[..], &["--csv", "--fields=views,id"]].concat());
    assert!(csv.starts_with("views,id\r\n") && csv.lines().count() == 3, "{csv}");
    let (_, chosen, _) = demo(&[&sorted[..], &["--fields=id", "--jq=.videos"]].concat());
    let chosen: Vec<Value> = serde_json::from_str(&chosen).unwrap();
    assert!(chosen.len() == 2 && chosen[0].as_object().unwrap().len() == 1, "{chosen:?}");
}

#[test]
fn uploads_have_days_and_times_as_bounds() {
    let listed = |flags: &[&str]| {
        let (code, ids, error) =
            demo(&[&["uploads", "@fermata", "--all", "--jq=.items[].id"], flags].concat());
        assert_eq!(code, 0, "{flags:?}: {error}");
        ids
    };
    let newest = demo(&["uploads", "@fermata", "--limit=1", "--jq=.[0].publishedAt"]).1;
    let (day, _) = newest.trim().split_once('T').unwrap();
    let (start, end) = (format!("{day}T00:00:00Z"), format!("{day}T23:59:59.999Z"));
    let of_day = listed(&["--since", day, "--until", day]);
    assert!(!of_day.is_empty());
    assert_eq!(listed(&["--since", &start, "--until", &end]), of_day);
    assert_eq!(listed(&["--since", day, "--until", &start]), "");
}

#[test]
fn help_lists_only_flags_that_work() {
    for name in ["video", "channel", "document", "chunks", "transcripts", "link", "quota"] {
        let (_, help, _) = demo(&[name, "--help"]);
        assert!(help.contains("--jq") && !help.contains("--csv\n"), "{name}: {help}");
        assert!(!help.contains("--fields <"), "{name}: {help}");
        let id = if name == "quota" { &[][..] } else { &["fda4eREcaTQ"] };
        for flags in [&["--csv"][..], &["--fields", "id"]] {
            let (code, _, error) = demo(&[&[name][..], id, flags].concat());
            assert!(code == 2 && error.contains("work only with lists: use "), "{name}: {error}");
        }
    }
    for name in ["videos", "uploads", "playlist", "query", "tracks", "regions"] {
        let (_, help, _) = demo(&[name, "--help"]);
        assert!(help.contains("--csv\n") && help.contains("--fields <"), "{name}: {help}");
    }
}

#[test]
fn closed_stdout_is_not_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = vidra(folder.path())
        .args(["playlist", "PLsize5000", "--demo", "-q"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Documented"), "{line}");
    let (code, _, error) = result_of(&child.wait_with_output().unwrap());
    assert_eq!((code, error.as_str()), (0, ""));
}

#[test]
fn tables_fit_the_width_and_are_coloured_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |variables: &[(&str, &str)]| {
        let mut command = vidra(folder.path());
        command.envs(variables.iter().copied());
        result_of(&run(&mut command, &["playlist", "--demo", "PLquirkMixed"])).1
    };
    let plain = shown(&[("COLUMNS", "60")]);
    // All its characters have the width of a letter.
    assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
    assert!(plain.contains('…') && !plain.contains('\u{1b}'), "{plain}");
    let coloured = shown(&[("CLICOLOR_FORCE", "1")]);
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
    assert!(!shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn commands_share_the_cache() {
    let (platform, folder) = (platform(), tempfile::tempdir().unwrap());
    let upstream_calls = |flags: &[&str]| {
        let args = [&["video", "fda4eREcaTQ", "--json"], flags].concat();
        assert_eq!(result_of(&run(&mut direct(&platform, folder.path()), &args)).0, 0);
        platform.sim.record().calls
    };
    let cache = format!("--cache=fs:{}", folder.path().join("cache").display());
    let shared = [cache.as_str()];
    let refreshed = [&*cache, "--refresh"];
    assert_eq!(
        (upstream_calls(&shared), upstream_calls(&shared), upstream_calls(&refreshed)),
        (1, 1, 2)
    );
    let clear = ["cache", "clear", &cache];
    let (code, text, _) = result_of(&run(&mut vidra(folder.path()), &clear));
    assert_eq!((code, text.as_str(), upstream_calls(&shared)), (0, "cleared\n", 3));
    assert_eq!(upstream_calls(&["--cache=off"]), 4);
    // The user's cache has only data of YouTube itself.
    assert_eq!((upstream_calls(&[]), upstream_calls(&[])), (5, 6));
    assert!(!folder.path().join(".cache").exists());
}

#[test]
fn completions_and_man_pages_are_valid() {
    let (code, script, _) = demo(&["completions", "bash"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vidra.bash");
    std::fs::write(&file, &script).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&file).status().unwrap().success());
    assert!(script.contains("transcripts") && script.contains("--max-chars"));
    for shell in ["zsh", "fish"] {
        assert!(demo(&["completions", shell]).1.contains("transcripts"), "{shell}");
    }
    assert!(demo(&["man"]).1.contains("Exit codes"));
    let pages = folder.path().join("man");
    let written = run(&mut vidra(folder.path()), &["man", "--out", pages.to_str().unwrap()]);
    assert!(written.status.success());
    for name in ["vidra.1", "vidra-transcripts.1", "vidra-cache-clear.1"] {
        assert!(std::fs::read_to_string(pages.join(name)).unwrap().contains(".TH"), "{name}");
    }
}

#[test]
fn short_help_is_short() {
    for (name, most) in [("video", 39), ("transcripts", 40), ("query", 46), ("search-videos", 46)] {
        let (code, help, _) = demo(&[name, "-h"]);
        assert!(code == 0 && help.lines().count() <= most, "{help}");
        let (_, help, _) = demo(&[name, "--help"]);
        assert!(help.contains("--egress-pace"), "{help}");
    }
}
