//! The README and the guides: their shell commands succeed against the demo, and every link leads to a
//! file and a heading that exist.
//!
//! A block that is marked `sh` is executed, with the blocks of one document as one script. A block that
//! needs Docker, root, the internet or a compiler is marked `sh no_run`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Service, vidra};

/// The address in the documents. The test replaces it by that of its demo.
const SERVICE: &str = "127.0.0.1:3000";

/// The port of services that the commands start themselves.
const OTHER_PORT: &str = ":3001";

/// Makes curl fail for an error of the service, and kills background processes of the commands.
const PRELUDE: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() { command curl --fail-with-body --silent --show-error --max-time 60 "$@"; }
"#;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn markdown_in(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|it| it == "md")).collect();
    files.sort();
    files
}

/// A fenced block: its info string, the number of its first line, and its lines.
struct Block {
    info: String,
    line: usize,
    text: String,
}

/// The fenced blocks of a document, and its other lines.
fn parts(document: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut prose, mut open) = (vec![], vec![], None::<Block>);
    for (number, line) in (1..).zip(document.lines()) {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let info = info.trim().to_owned();
                open = Some(Block { info, line: number + 1, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text += &format!("{}\n", line.trim_start()),
            (None, None) => prose.push(line),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    (blocks, prose)
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok()
}

#[test]
fn the_commands_of_the_guides_succeed() {
    if let Some(missing) = ["bash", "curl", "jq"].into_iter().find(|name| !is_installed(name)) {
        assert!(std::env::var_os("VIDRA_REQUIRE_PEERS").is_none(), "{missing} is not installed");
        eprintln!("SKIPPED: {missing} is not installed");
        return;
    }
    let mut executed = 0;
    for file in [vec![root().join("README.md")], markdown_in("docs/guide")].concat() {
        let document = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        let (blocks, _) = parts(&document);
        let shell = blocks.iter().filter(|block| block.info.split(' ').next() == Some("sh"));
        let mut script = PRELUDE.to_owned();
        for block in shell {
            match block.info.as_str() {
                "sh" => {
                    executed += 1;
                    script += &format!("echo '{name}:{}' >&2\n{}", block.line, block.text);
                }
                "sh no_run" => {}
                other => panic!("{name}:{}: {other}", block.line),
            }
        }
        if script != PRELUDE {
            succeeds(&name, &script);
        }
    }
    assert!(executed > 15, "{executed}");
}

/// Runs a script in a folder of its own, beside a service of its own.
fn succeeds(name: &str, script: &str) {
    let folder = tempfile::tempdir().unwrap();
    // The demo has no state folder, and so no library of its own.
    let demo = [("VIDRA_DEMO", "1"), ("VIDRA_DATABASE", "sqlite:library.db")];
    let service = Service::start(vidra(folder.path()).envs(demo));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = script
        .replace(SERVICE, &service.address.to_string())
        .replace(OTHER_PORT, &format!(":{port}"));
    let programs = Path::new(env!("CARGO_BIN_EXE_vidra")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &script])
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{errors}", output.status);
}

/// A folder belongs to one source and one choice of languages, so that a reader who runs all examples in one place
/// needs a folder for each.
#[test]
fn examples_of_transcripts_have_a_folder_each() {
    let guides = [vec![root().join("README.md")], markdown_in("docs/guide")].concat();
    for files in [guides, vec![root().join("docs/reference/cli.md")]] {
        let mut commands: HashMap<String, String> = HashMap::new();
        for file in files {
            for block in parts(&fs::read_to_string(&file).unwrap()).0 {
                for line in block.text.lines().filter(|line| line.contains("vidra transcripts ")) {
                    let Some((_, folder)) = line.split_once("--out ") else { continue };
                    let folder = folder.split_whitespace().next().unwrap().to_owned();
                    let command = commands.entry(folder).or_insert_with(|| line.to_owned());
                    assert_eq!(command, line, "both use one folder");
                }
            }
        }
        assert!(commands.len() >= 3, "{commands:?}");
    }
}

#[test]
fn every_link_resolves() {
    let root = root();
    let mut files =
        [".", "docs", "docs/guide", "docs/reference", "docs/decisions"].map(markdown_in).concat();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|it| it.unwrap().path());
    files.extend(crates.map(|folder| folder.join("README.md")).filter(|file| file.exists()));
    let mut links = 0;
    for file in &files {
        let document = fs::read_to_string(file).unwrap();
        for line in parts(&document).1 {
            // Without code in backticks.
            let line: String = line.split('`').step_by(2).collect();
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                links += 1;
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let there = match path {
                    "" => file.clone(),
                    path => file.parent().unwrap().join(path),
                };
                let shown = file.strip_prefix(&root).unwrap().display();
                assert!(there.exists(), "{shown}: {target}");
                if !anchor.is_empty() {
                    let anchors = anchors(&fs::read_to_string(there).unwrap());
                    assert!(anchors.contains(anchor), "{shown}: {target}");
                }
            }
        }
    }
    assert!(links > 50, "{links}");
}

/// The anchors of headings, as GitHub makes them.
fn anchors(document: &str) -> HashSet<String> {
    let headings = parts(document).1.into_iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        heading.chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 200, "{lines} lines: the details belong to docs/guide");
}
