//! The config file: flags win over variables, and variables over the file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Service, vidra};

/// Runs `vidra` with this config file in its home folder. Returns the exit code, standard output and standard error.
fn run(config: &str, variables: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), config);
    result_of(vidra(home.path()).envs(variables.iter().copied()).args(args))
}

fn write(home: &Path, config: &str) {
    let folder = home.join(".config/vidra");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config).unwrap();
}

fn result_of(command: &mut Command) -> (i32, String, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn count(output: &str) -> usize {
    serde_json::from_str::<Vec<Value>>(output).unwrap().len()
}

#[test]
fn users_13_the_file_sets_flags_of_all_commands_and_of_one() {
    let config = "demo = true\nquiet = true\njson = true\n\n[uploads]\nlimit = 2\n";
    let (code, output, error) = run(config, &[], &["uploads", "@fermata"]);
    assert_eq!((code, count(&output), error.as_str()), (0, 2, ""));
    let (code, output, _) = run(config, &[], &["uploads", "@fermata", "--limit", "3"]);
    assert_eq!((code, count(&output)), (0, 3), "a flag wins");
    let (code, output, _) = run(config, &[], &["uploads", "@fermata", "--ndjson"]);
    assert_eq!(
        (code, output.lines().count()),
        (0, 2),
        "a flag wins over a setting that it excludes"
    );
    let (code, _, error) = run(config, &[("VIDRA_DEMO", "0")], &["video", "fda4eREcaTQ"]);
    assert!(code == 3 && error.contains("YOUTUBE_API_KEY"), "a variable wins: {error}");
    let lists = "demo = true\n[transcripts]\nformat = [\"srt\", \"vtt\"]\nlang = [\"en\"]\nout = \"talks\"\n";
    let (code, output, error) = run(lists, &[], &["transcripts", "txManualAsr"]);
    assert_eq!((code, output.as_str()), (0, "done: 1 transcripts in talks, 0 failed\n"), "{error}");
}

#[test]
fn users_13_server_and_demo_of_the_file_give_way() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(home.path()).env("VIDRA_DEMO", "1"));
    let url = format!("http://{}", service.address);
    let (server, demo) = (format!("server = \"{url}\"\n"), "demo = true\n");
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let table: [Row<'_>; 5] = [
        (&server, &[], &["quota"]),
        (&server, &[], &["quota", "--demo"]),
        (demo, &[], &["quota", "--server", &url]),
        (demo, &[("VIDRA_SERVER", &url)], &["quota"]),
        ("server = \"http://127.0.0.1:1\"\n", &[("VIDRA_SERVER", &url)], &["quota"]),
    ];
    for (config, variables, args) in table {
        let (code, output, error) = run(config, variables, args);
        assert!(code == 0 && output.contains("10000"), "{config} {args:?}: {error}");
    }
}

#[test]
fn users_13_unknown_keys_and_wrong_values_are_errors() {
    let table = [
        ("dmeo = true", "there is no setting 'dmeo'; the nearest is 'demo'"),
        ("servr = \"x\"", "there is no setting 'servr'; the nearest is 'server'"),
        ("serv = 1", "there is no setting 'serv'; the nearest is 'server'"),
        ("[servr]\nlisten = 1", "there is no setting 'servr'; the nearest is 'serve'"),
        ("xyzzy = 1", "there is no setting 'xyzzy'"),
        ("[srve]\nlisten = 1", "there is no setting 'srve'; the nearest is 'serve'"),
        (
            "listen = \":3000\"",
            "listen is not a global setting: move it to [serve] or [health] or [sim]",
        ),
        ("[uploads]\nlimits = 2", "there is no setting 'limits'; the nearest is 'limit'"),
        ("[keys.add]\nunit = 2", "there is no setting 'unit'; the nearest is 'units'"),
        ("config = \"x\"", "there is no setting 'config'"),
        ("demo = \"yes\"", "demo: expected true or false"),
        ("cache-ttl = true", "cache-ttl: expected a string or a number"),
        ("demo = true\ndemo = ", "line 2 is not valid TOML"),
        ("[link]\nretries = 99", "invalid value '99' for '--retries"),
    ];
    for (config, message) in table {
        let (code, output, error) = run(config, &[], &["link", "fda4eREcaTQ"]);
        assert_eq!((code, output.as_str()), (2, ""), "{config}: {error}");
        assert!(error.contains(message) && error.lines().count() == 1, "{config}: {error}");
    }
    // The command that finds the file works nevertheless, and so does help.
    for args in [&["config", "path"][..], &["video", "--help"]] {
        assert_eq!(run("dmeo = true", &[], args).0, 0, "{args:?}");
    }
}

#[test]
fn users_13_secrets_are_refused_and_never_repeated() {
    for config in [
        "token = \"hunter2\"",
        "api-key = \"hunter2\"",
        "youtube-api-key = \"hunter2\"",
        "key = \"hunter2\"",
        "[video]\ntoken = \"hunter2\"",
        "proxy = [\"http://me:hunter2@proxy:8080\"]",
        "cache = \"redis://me:hunter2@host\"",
        "server = \"https://me:hunter2@host\"",
        "cache-ttl = \"vk_hunter2\"",
        "web-url = \"AIzahunter2\"",
        "token = \"hunter2",
        "\"hunter2",
    ] {
        let (code, output, error) = run(config, &[], &["link", "fda4eREcaTQ"]);
        assert_eq!((code, output.as_str()), (2, ""), "{config}");
        assert!(!error.contains("hunter2") && error.contains("config.toml"), "{config}: {error}");
    }
}

#[test]
fn users_13_the_current_folder_has_no_config_file() {
    let (home, hostile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["config.toml", "vidra.toml", ".vidra.toml", "vidra/config.toml"] {
        fs::create_dir_all(hostile.path().join("vidra")).unwrap();
        fs::write(hostile.path().join(name), "broken").unwrap();
    }
    write(hostile.path(), "broken");
    // A folder that is not absolute would be below the current one.
    for folder in [".", ".config", ""] {
        let mut command = vidra(home.path());
        command.current_dir(hostile.path()).env("XDG_CONFIG_HOME", folder);
        let (code, _, error) = result_of(command.args(["link", "fda4eREcaTQ"]));
        assert_eq!((code, error.as_str()), (0, ""), "{folder}");
    }
    let mut named = vidra(hostile.path());
    let (code, _, error) = result_of(named.args(["link", "--config", "vidra.toml", "fda4eREcaTQ"]));
    assert!(code == 2 && error.contains("vidra.toml: line 1 is not valid TOML"), "{error}");
}

#[test]
fn users_13_config_path_and_show() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".config/vidra/config.toml");
    let (code, path, _) = result_of(vidra(home.path()).args(["config", "path"]));
    assert_eq!((code, path), (0, format!("{}\n", file.display())));
    let (_, shown, _) = result_of(vidra(home.path()).args(["config", "show"]));
    assert!(shown.contains("(does not exist)") && !shown.contains("  file\n"), "{shown}");
    write(home.path(), "demo = true\n[serve]\nlisten = \":4000\"\n");
    let mut serve = vidra(home.path());
    serve.env("VIDRA_PROXY", "http://me:hunter2@proxy:1").env("VIDRA_TOKEN", "hunter2");
    let (code, shown, error) = result_of(serve.args(["config", "show", "serve"]));
    assert_eq!((code, error.as_str()), (0, ""));
    let line = |name: &str| {
        let is_it = |line: &&str| line.split_whitespace().next() == Some(name);
        let line = shown.lines().find(is_it).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("listen"), "listen :4000 file");
    assert_eq!(line("demo"), "demo true file");
    assert_eq!(line("retries"), "retries 2 default");
    assert_eq!(line("proxy"), "proxy *** VIDRA_PROXY");
    assert!(!shown.contains("hunter2"), "{shown}");
    let (_, shown, _) =
        result_of(vidra(home.path()).env("VIDRA_TOKEN", "hunter2").args(["config", "show"]));
    assert!(shown.contains("token") && !shown.contains("hunter2"), "{shown}");
}
