//! Commands on a terminal: the question about the cost, and the pager.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::process::vidra;

/// Which streams of a command are the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// Standard input and standard error.
    Questions,
    /// All three.
    Everything,
}

/// A terminal: the side of the user, and that of programs.
fn open() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, vec![]).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    (File::from(master), slave)
}

/// Runs a command on a terminal, on which the user types `typed`. Returns the exit code, the text on the terminal,
/// and standard output if it is no terminal.
fn on_terminal(mut command: Command, on: On, typed: &str) -> (i32, String, String) {
    let (mut master, slave) = open();
    let stream = || Stdio::from(slave.try_clone().unwrap());
    command.stdin(stream()).stderr(stream());
    command.stdout(if on == On::Everything { stream() } else { Stdio::piped() });
    let mut child = command.spawn().unwrap();
    // Its copies of the terminal keep it open.
    drop((command, slave));
    master.write_all(typed.as_bytes()).unwrap();
    let output = child.stdout.take().map(|mut stdout| {
        std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        })
    });
    let (mut shown, mut buffer) = (vec![], [0; 4096]);
    // The terminal fails once its last program has ended.
    while let Ok(length) = master.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
    }
    let code = child.wait().unwrap().code().unwrap();
    let output = output.map(|thread| thread.join().unwrap()).unwrap_or_default();
    (code, String::from_utf8_lossy(&shown).replace("\r\n", "\n"), output)
}

fn demo(folder: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("TERM", "dumb").args(args);
    command
}

const QUESTION: &str = "a list of 5000 entries can cost up to 200 units. Continue? [y/N]";

#[test]
fn users_4_an_expensive_command_asks_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let playlist = ["playlist", "PLsize5000", "--json"];
    for typed in ["n\n", "\n", "\u{4}"] {
        let (code, shown, output) = on_terminal(demo(&folder, &playlist), On::Questions, typed);
        assert_eq!((code, output.as_str()), (1, ""), "{shown}");
        assert!(shown.contains(QUESTION) && shown.contains("vidra: stopped"), "{shown}");
        assert!(shown.ends_with("vidra: cost: 1 unit\n"), "the number of entries: {shown}");
    }
    let pages = demo(&folder, &["playlist", "PLsize5000", "--all", "--csv"]);
    let (code, shown, output) = on_terminal(pages, On::Questions, "n\n");
    assert_eq!((code, output.as_str(), shown.contains(QUESTION)), (1, "", true), "{shown}");
    let (code, shown, output) = on_terminal(demo(&folder, &playlist), On::Questions, "y\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains(QUESTION) && output.contains("\"videoCount\""), "{shown}");
    assert!(shown.contains("vidra: cost: 201 units\n"), "{shown}");
    let agreed = [&playlist[..], &["--yes", "--quiet"]].concat();
    let (code, shown, _) = on_terminal(demo(&folder, &agreed), On::Questions, "");
    assert_eq!((code, shown.as_str()), (0, ""));
}

#[test]
fn users_4_cheap_commands_and_scripts_are_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (code, shown, _) =
        on_terminal(demo(&folder, &["playlist", "PLsize50", "--json"]), On::Questions, "");
    assert_eq!((code, shown.as_str()), (0, "vidra: cost: 3 units\n"));
    let mut script = demo(&folder, &["playlist", "PLsize5000", "--json"]);
    let output = script.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), "vidra: cost: 201 units\n"));
}

#[test]
fn the_cost_of_comments_is_estimated_from_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let comments = |video, typed| {
        let args = ["comments", video, "--limit", "2000", "--replies", "all", "--json"];
        on_terminal(demo(&folder, &args), On::Questions, typed)
    };
    // The flags alone would allow 2,020 units.
    let (code, shown, _) = comments("quirkHtmlCm", "");
    assert_eq!((code, shown.as_str()), (0, "vidra: cost: 3 units\n"));
    // It has 1,220 comments.
    let (code, shown, output) = comments("H_zlEUqv8_M", "n\n");
    assert_eq!((code, output.as_str()), (1, ""), "{shown}");
    let question = "the comments on 1 video can cost up to 199 units. Continue? [y/N]";
    assert!(shown.contains(question) && shown.ends_with("vidra: cost: 1 unit\n"), "{shown}");
}

#[test]
fn users_13_long_output_goes_through_the_pager() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |pager: &str, args: &[&str]| {
        let mut command = demo(&folder, args);
        command.env("PAGER", pager);
        // The pager itself has to be found.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let (code, shown, _) = on_terminal(command, On::Everything, "");
        assert_eq!(code, 0, "{shown}");
        shown
    };
    let list = ["playlist", "PLsize50", "-q"];
    let paged = shown("sed s/^/PAGED:/", &list);
    assert!(
        paged.lines().count() > 50 && paged.lines().all(|it| it.starts_with("PAGED:")),
        "{paged}"
    );
    // A reader that leaves early is no error.
    let left = shown("head -n 1", &list);
    assert!(left.lines().count() == 1 && !left.contains("vidra:"), "{left}");
    for (pager, args) in [
        ("sed s/^/PAGED:/", &["playlist", "PLsize50", "-q", "--no-pager"][..]),
        ("sed s/^/PAGED:/", &["playlist", "PLsize50", "--info", "-q"]),
        ("sed s/^/PAGED:/", &["playlist", "PLsize50", "--ndjson", "-q"]),
        ("", &list),
        ("cat", &list),
        ("no-such-pager", &list),
    ] {
        let shown = shown(pager, args);
        assert!(
            !shown.contains("PAGED:") && shown.contains("PLsize50"),
            "{pager} {args:?}: {shown}"
        );
    }
}

#[test]
fn users_16_sighup_ends_only_a_command_whose_terminal_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let (master, slave) = open();
    let mut command = vidra(folder.path());
    command.args(["sim", "--listen", ":0"]).stdin(slave).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("http://127.0.0.1:"), "{line}");
    let hang_up = || Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(hang_up().success());
    // It still answers.
    let address = line.trim_start_matches("http://").split('/').next().unwrap();
    TcpStream::connect(address).unwrap();
    drop(master);
    hang_up();
    assert_eq!(child.wait().unwrap().code(), Some(129));
}
