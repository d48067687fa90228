//! `vidra job` as a process, over the simulator.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use vidra_sim::{Endpoint, Listening, Simulator};

use crate::process::{Service, vidra};
use crate::transcripts::{KEY, names, slow_platform};

/// A platform, and a home folder with a library.
pub(crate) struct World {
    pub(crate) sim: Simulator,
    platform: Listening,
    pub(crate) home: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl World {
    pub(crate) fn new(latency: Duration) -> Self {
        let (sim, platform, runtime) = slow_platform(latency);
        Self { sim, platform, home: tempfile::tempdir().unwrap(), _runtime: runtime }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = vidra(self.home.path());
        command
            .env("YOUTUBE_API_KEY", KEY)
            .env("VIDRA_DATA_API_URL", self.platform.data_api_url())
            .env("VIDRA_WEB_URL", self.platform.web_url())
            // The library, not the cache, saves fetches.
            .env("VIDRA_CACHE", "memory")
            .env("VIDRA_BLOCK_PAUSE", "15m")
            .args(args);
        command
    }

    /// Runs a command. Returns its exit code, standard output and standard error.
    pub(crate) fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }

    /// Runs a command that must succeed, and parses its JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!(code, Some(0), "{args:?}: {stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.home.path().join(".local/state/vidra/library.db")
    }

    /// Starts a command, and waits for so many lines on standard error that contain `part`.
    fn start(&self, args: &[&str], part: &str, count: usize) -> Running {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while seen.matches(part).count() < count {
            assert!(errors.read_line(&mut seen).unwrap() > 0, "{args:?}: {seen}");
        }
        Running { child, errors, seen }
    }

    /// How often the captions of each video were fetched.
    fn fetches(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for request in self.sim.record().requests_to(Endpoint::TimedText) {
            *counts.entry(request.parameter("v").unwrap().to_owned()).or_default() += 1;
        }
        counts
    }
}

/// A command that is running.
struct Running {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    seen: String,
}

impl Running {
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end. Returns the exit code, and standard error.
    fn end(mut self) -> (Option<i32>, String) {
        self.errors.read_to_string(&mut self.seen).unwrap();
        (self.child.wait().unwrap().code(), self.seen)
    }

    /// Waits for a line on standard error that contains `part`.
    fn wait_for(&mut self, part: &str) {
        while !self.seen.contains(part) {
            assert!(self.errors.read_line(&mut self.seen).unwrap() > 0, "{}", self.seen);
        }
    }

    /// The id in the first line.
    fn id(&self) -> String {
        let (_, rest) = self.seen.split_once("started job ").unwrap();
        rest.lines().next().unwrap().to_owned()
    }
}

/// Three videos with captions, and three that fail at once.
const MIXED: [&str; 6] =
    ["rskSlyTUdug", "txNoCaption", "fda4eREcaTQ", "plPrivate__", "txManualAsr", "plAgeGate__"];

#[test]
fn a_job_runs_in_the_foreground_and_its_results_have_every_form() {
    let world = World::new(Duration::ZERO);
    let start = [&["job", "start", "--name", "Mixed", "--json"][..], &MIXED].concat();
    let job = world.json(&start);
    assert_eq!((&job["state"], &job["total"]), (&"completed".into(), &6.into()));
    assert_eq!((&job["succeeded"], &job["pending"]), (&3.into(), &0.into()));
    let id = job["id"].as_str().unwrap();
    let short = &id[..8];

    let (_, table, _) = world.run(&["job", "list"]);
    assert!(table.contains(&id[..10]) && table.contains("completed"), "{table}");
    let (_, card, _) = world.run(&["job", "show", short]);
    assert!(card.contains("Mixed") && card.contains("6 of 6 videos"), "{card}");
    let failed = world.json(&["job", "show", short, "--items", "--state", "failed", "--json"]);
    assert_eq!(failed["items"].as_array().map(Vec::len), Some(3), "{failed}");

    let results = world.json(&["job", "results", short]);
    assert_eq!(results["results"].as_array().map(Vec::len), Some(6));
    let (_, lines, _) = world.run(&["job", "results", short, "--format", "ndjson"]);
    assert_eq!(lines.lines().count(), 7, "{lines}");
    let (_, rows, _) = world.run(&["job", "results", short, "--csv"]);
    assert!(rows.starts_with("position,videoId,title,"), "{rows}");
    let (code, _, errors) =
        world.run(&["job", "results", short, "--out", "talks.zip", "--files", "srt,txt"]);
    assert_eq!(code, Some(0), "{errors}");
    let zip = fs::read(world.home.path().join("talks.zip")).unwrap();
    let name = "Walking the Outer Hebrides [rskSlyTUdug].en.srt";
    assert!(zip.starts_with(b"PK\x03\x04") && String::from_utf8_lossy(&zip).contains(name));

    // A folder of the same files, without a request to the platform.
    world.sim.reset_record();
    let args = ["transcripts", "--job", short, "--out", "talks", "--format", "srt"];
    let (code, text, errors) = world.run(&args);
    assert_eq!((code, &*text), (Some(1), "done: 3 transcripts in talks, 3 failed\n"), "{errors}");
    let files = names(&world.home.path().join("talks"));
    assert!(files.len() == 4 && files.contains(name), "{files:?}");

    // The library has the transcripts.
    let again = world.json(&start);
    assert_eq!(again["succeeded"], 3);
    assert_eq!(world.fetches(), BTreeMap::new());
}

#[test]
fn a_killed_job_continues_without_loss() {
    let world = World::new(Duration::from_millis(30));
    let args = ["job", "start", "PLsize120", "--concurrency", "4"];
    let mut running = world.start(&args, " of 120 videos", 4);
    let id = running.id();
    running.child.kill().unwrap();
    running.end();
    let (code, card, errors) = world.run(&["job", "watch", &id[..6]]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(card.contains("120 of 120 videos · 120 transcripts"), "{card}");
    let fetches = world.fetches();
    let twice = fetches.values().filter(|count| **count > 1).count();
    assert!(fetches.len() == 120 && twice <= 4, "{twice} of {}", fetches.len());
    assert!(fetches.values().all(|count| *count <= 2));
}

#[test]
fn ctrl_c_stops_gracefully_and_says_how_to_continue() {
    let world = World::new(Duration::from_millis(30));
    let running = world.start(&["job", "start", "PLsize50", "--concurrency", "2"], " of 50", 2);
    let id = running.id();
    running.signal("-INT");
    let (code, errors) = running.end();
    assert_eq!(code, Some(1), "{errors}");
    let hint = format!("vidra: stopped; vidra job watch {id} continues the job\n");
    assert!(errors.contains(&hint), "{errors}");
    let (code, _, errors) = world.run(&["job", "watch", &id, "--quiet"]);
    assert_eq!((code, &*errors), (Some(0), ""));
    assert!(world.fetches().len() == 50 && world.fetches().values().all(|count| *count == 1));
}

#[test]
fn a_job_is_paused_resumed_cancelled_and_deleted_from_another_terminal() {
    let world = World::new(Duration::from_millis(50));
    let running = world.start(&["job", "start", "PLsize120", "--concurrency", "1"], " of 120", 1);
    let id = running.id();
    // A second terminal follows the job, and does not work on it.
    let watching = world.start(&["job", "watch", &id], "running", 1);
    assert_eq!(world.json(&["job", "pause", &id, "--json"])["state"], "paused");
    for ended in [running.end(), watching.end()] {
        assert_eq!(ended.0, Some(1), "{}", ended.1);
        assert!(ended.1.contains(&format!("vidra job resume {id} continues it")), "{}", ended.1);
    }
    let paused = world.json(&["job", "list", "--state", "paused", "--json"]);
    assert_eq!(paused["items"][0]["id"], *id, "{paused}");
    let (code, _, errors) = world.run(&["job", "resume", &id]);
    let hint = format!("vidra: no process works on it: vidra job watch {id}\n");
    assert_eq!((code, &*errors), (Some(0), &*hint));
    let (code, _, _) = world.run(&["job", "cancel", &id]);
    assert_eq!(code, Some(0));
    let (code, _, errors) = world.run(&["job", "watch", &id]);
    assert_eq!((code, &*errors), (Some(1), "vidra: the job was cancelled\n"));
    let (code, _, errors) = world.run(&["job", "retry", &id]);
    assert_eq!(code, Some(2), "{errors}");
    let (code, text, _) = world.run(&["job", "delete", &id]);
    assert_eq!((code, text), (Some(0), format!("deleted {id}\n")));
    let (code, _, errors) = world.run(&["job", "show", &id]);
    assert_eq!((code, &*errors), (Some(1), "vidra: There is no such job\n"));
}

#[test]
fn failed_videos_are_tried_again() {
    let world = World::new(Duration::ZERO);
    let job = world.json(&["job", "start", "txNoCaption", "fda4eREcaTQ", "--json"]);
    assert_eq!(job["failed"]["captions_disabled"], 1, "{job}");
    let id = job["id"].as_str().unwrap();
    let retry = |reason| world.json(&["job", "retry", id, "--reason", reason, "--json"]);
    assert_eq!(retry("video_private")["retried"], 0);
    assert_eq!(retry("captions_disabled")["retried"], 1);
    let (code, card, errors) = world.run(&["job", "watch", id]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(card.contains("failed: 1 captions_disabled"), "{card}");
}

#[test]
fn a_dry_run_starts_nothing_and_a_key_starts_one_job() {
    let world = World::new(Duration::ZERO);
    let (code, text, errors) = world.run(&["job", "start", "PLsize120", "--dry-run"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(text, "videos      120\nunits       3\nhours       0\nquota days  1\n");
    assert_eq!(world.json(&["job", "list", "--json"]), serde_json::json!({"items": []}));
    let args = ["job", "start", "fda4eREcaTQ", "--idempotency-key", "night-1", "--json"];
    assert_eq!(world.json(&args)["id"], world.json(&args)["id"]);
    let other = ["job", "start", "txManualAsr", "--idempotency-key", "night-1"];
    assert_eq!(world.run(&other).0, Some(2));
    assert_eq!(world.json(&["job", "list", "--json"])["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_long_list_comes_from_a_file() {
    let world = World::new(Duration::ZERO);
    let lines: String = (0..600).map(|it| format!("list{it:07}  # a comment\n")).collect();
    fs::write(world.home.path().join("ids.txt"), lines).unwrap();
    let job = world.json(&["job", "start", "--file", "ids.txt", "--dry-run", "--json"]);
    assert_eq!((&job["videos"], &job["units"]), (&600.into(), &0.into()));
}

#[test]
fn a_waiting_job_ends_a_command_that_does_not_wait() {
    let world = World::new(Duration::ZERO);
    world.sim.block_after(5);
    let start = ["job", "start", "PLsize50", "--concurrency", "1"];
    let mut running = world.start(&start, "waits until", 1);
    let id = running.id();
    running.child.kill().unwrap();
    running.end();
    // The pause of the address survives the restart.
    let calls = world.sim.record().calls_to(Endpoint::Player);
    let (code, _, errors) = world.run(&["job", "watch", &id, "--no-wait"]);
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("vidra: the job waits until "), "{errors}");
    assert_eq!(world.sim.record().calls_to(Endpoint::Player), calls);
}

#[test]
fn an_ambiguous_part_of_an_id_is_refused() {
    let world = World::new(Duration::ZERO);
    for _ in 0..2 {
        world.json(&["job", "start", "fda4eREcaTQ", "--json"]);
    }
    let file = rusqlite::Connection::open(world.file()).unwrap();
    file.execute("UPDATE jobs SET id = 'abcdef' || substr(id, 7)", []).unwrap();
    let (code, _, errors) = world.run(&["job", "show", "abcdef"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.starts_with("vidra: abcdef is ambiguous: abcdef"), "{errors}");
    assert_eq!(world.run(&["job", "show", "abcde"]).0, Some(2));
    let (code, _, errors) = world.run(&["job", "show", "fedcba"]);
    assert_eq!(code, Some(1), "{errors}");
}

#[test]
fn watch_survives_a_restart_of_the_service_and_prints_what_the_file_has() {
    let world = World::new(Duration::from_millis(30));
    let service = Service::start(&mut world.command(&[]));
    let address = service.address.to_string();
    let url = format!("http://{address}");
    let start = ["job", "start", "PLsize120", "--concurrency", "2", "--detach", "--json"];
    let job = world.json(&[&start[..], &["--server", &url]].concat());
    let id = job["id"].as_str().unwrap();
    let watch = ["job", "watch", &id[..6], "--server", &url];
    let mut watching = world.start(&watch, " of 120 videos", 1);
    // Killed.
    drop(service);
    watching.wait_for("the service does not answer");
    let _service = Service::start_at(&mut world.command(&[]), &address);
    let (code, errors) = watching.end();
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(errors.matches("does not answer").count(), 1, "{errors}");
    let twice = world.fetches().values().filter(|count| **count > 1).count();
    assert!(world.fetches().len() == 120 && twice <= 2, "{twice}");
    for args in [
        &["job", "show", id][..],
        &["job", "show", id, "--json"],
        &["job", "show", id, "--items", "--all", "--csv"],
        &["job", "list", "--ndjson"],
        &["job", "results", id, "--format", "csv"],
    ] {
        let remote = world.run(&[args, &["--server", &url]].concat());
        assert_eq!((remote.0, &remote), (Some(0), &world.run(args)), "{args:?}");
    }
}
