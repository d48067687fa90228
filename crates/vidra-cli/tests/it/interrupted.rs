//! Commands that a block or an exhausted quota interrupts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use vidra_sim::{Action, Endpoint, Fault, Listening, Simulator};

use crate::process::vidra;
use crate::transcripts::{KEY, names, slow_platform};

struct World {
    sim: Simulator,
    platform: Listening,
    home: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl World {
    fn new() -> Self {
        let (sim, platform, runtime) = slow_platform(Duration::ZERO);
        Self { sim, platform, home: tempfile::tempdir().unwrap(), _runtime: runtime }
    }

    fn command(&self) -> Command {
        let mut command = vidra(self.home.path());
        command
            .env("YOUTUBE_API_KEY", KEY)
            .env("VIDRA_DATA_API_URL", self.platform.data_api_url())
            .env("VIDRA_WEB_URL", self.platform.web_url())
            .env("VIDRA_CACHE", "memory")
            .env("VIDRA_BLOCK_PAUSE", "15m")
            // No state of the quota survives: every run begins a new day.
            .env("VIDRA_STATE_DIR", tempfile::tempdir_in(self.home.path()).unwrap().keep());
        command
    }

    /// Runs a command. Returns its exit code, standard output and the lines on standard error.
    fn run(&self, args: &[&str]) -> (Option<i32>, String, Vec<String>) {
        let Output { status, stdout, stderr } = self.command().args(args).output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        let lines = stderr.lines().filter(|line| !is_progress(line)).map(str::to_owned);
        (status.code(), String::from_utf8(stdout).unwrap(), lines.collect())
    }
}

/// Lines that are no errors: the progress and the cost.
fn is_progress(line: &str) -> bool {
    line.starts_with("vidra: ") && (line.ends_with(" videos") || line.starts_with("vidra: cost: "))
}

fn transcripts_in(folder: &Path) -> usize {
    names(folder).iter().filter(|name| name.ends_with(".txt")).count()
}

#[test]
fn users_6_a_folder_keeps_what_came_before_the_quota_ran_out() {
    let world = World::new();
    let out = world.home.path().join("out");
    let args = ["transcripts", "PLsize500", "--out", "out", "--concurrency", "20"];
    let pages = Fault::on(Endpoint::PlaylistItems, Action::quota_exceeded());
    world.sim.inject(pages.from_call(6));
    let (code, stdout, errors) = world.run(&args);
    assert_eq!(code, Some(3), "{errors:?}");
    assert_eq!(stdout, "250 transcripts in out, 0 failed\n");
    assert_eq!(errors.len(), 1, "{errors:?}");
    for part in ["quota", "run the same command again for the rest", "try again in ", " UTC)"] {
        assert!(errors[0].contains(part), "{part}: {errors:?}");
    }
    assert_eq!(transcripts_in(&out), 250);
    let manifest: Value =
        serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["succeeded"], &manifest["totalVideos"]), (&250.into(), &500.into()));

    // The next run fetches only the rest, and lists the playlist once.
    world.sim.clear_faults();
    world.sim.reset_record();
    let (code, stdout, errors) = world.run(&args);
    assert_eq!(
        (code, &*stdout),
        (Some(0), "done: 500 transcripts in out, 0 failed\n"),
        "{errors:?}"
    );
    let record = world.sim.record();
    assert_eq!(record.calls_to(Endpoint::PlaylistItems), 10);
    assert_eq!(record.calls_to(Endpoint::TimedText), 250);
    assert_eq!(transcripts_in(&out), 500);
}

#[test]
fn users_6_a_table_shows_what_came_before_the_quota_ran_out() {
    let world = World::new();
    let pages = Fault::on(Endpoint::PlaylistItems, Action::quota_exceeded());
    world.sim.inject(pages.from_call(2));
    let (code, stdout, errors) = world.run(&["transcripts", "PLsize100"]);
    assert_eq!((code, errors.len()), (Some(3), 1), "{errors:?}");
    let counts = "50 transcripts, 0 failed, of the part of the playlist that was listed";
    assert!(stdout.contains(counts), "{stdout}");
    // JSON is one document, which would be incomplete. NDJSON ends with the error.
    world.sim.clear_faults();
    let pages = Fault::on(Endpoint::PlaylistItems, Action::quota_exceeded());
    world.sim.inject(pages.from_call(2));
    let (code, stdout, errors) = world.run(&["transcripts", "PLsize100", "--ndjson"]);
    assert_eq!((code, errors.len()), (Some(3), 1), "{errors:?}");
    let lines: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_type = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((of_type("result"), of_type("error"), of_type("summary")), (50, 1, 0));
    let error = &lines.last().unwrap()["error"];
    assert_eq!(error["reason"], "quota_exhausted");
    assert!(error["retryAfter"].as_u64().is_some_and(|seconds| seconds > 0), "{error}");
}

/// Whether the only line is about so many entries, with the reason and the time.
fn is_block(errors: &[String], count: &str) -> bool {
    let [line] = errors else { return false };
    line.starts_with(&format!("vidra: {count} failed: YouTube "))
        && (line.contains("; try again in 15m (at ") || line.contains("; try again in 14m 5"))
        && line.ends_with(" UTC)")
}

#[test]
fn users_7_a_block_is_one_line_and_exit_code_3() {
    let world = World::new();
    world.sim.block_after(16);
    let args = ["transcripts", "PLsize50", "--out", "out", "--concurrency", "1"];
    let (code, stdout, errors) = world.run(&args);
    assert_eq!(code, Some(3), "{errors:?}");
    assert!(is_block(&errors, "34 entries"), "{errors:#?}");
    assert_eq!(stdout, "done: 16 transcripts in out, 34 failed\n");
    // The block is over.
    world.sim.unblock();
    let (code, stdout, errors) = world.run(&args);
    assert_eq!(
        (code, &*stdout),
        (Some(0), "done: 50 transcripts in out, 0 failed\n"),
        "{errors:?}"
    );

    // The same for a table, a document, and transcripts of several videos.
    for form in [&[][..], &["--json"], &["--ndjson"]] {
        world.sim.block_after(16);
        let args = [&["transcripts", "PLsize50", "--concurrency", "1"], form].concat();
        let (code, stdout, errors) = world.run(&args);
        assert_eq!(code, Some(3), "{errors:?}");
        assert!(is_block(&errors, "34 entries"), "{form:?}: {errors:#?}");
        if form.is_empty() {
            assert_eq!(stdout.lines().count(), 1 + 16 + 2, "{stdout}");
            assert!(stdout.contains("16 transcripts, 34 failed, of a playlist of 50"), "{stdout}");
        }
    }
    world.sim.block_after(0);
    let (code, _, errors) =
        world.run(&["transcript", "txManualAsr", "txOneCue___", "txForeign1_", "txManyLang_"]);
    assert_eq!(code, Some(3), "{errors:?}");
    assert!(is_block(&errors, "4 requests"), "{errors:#?}");
}

#[test]
fn users_7_a_block_of_one_entry_is_reported_like_that_of_many() {
    let world = World::new();
    let advice = "; use another address: --proxy takes one or several";
    for form in [&["--out", "out"][..], &[], &["--json"], &["--ndjson"]] {
        world.sim.block_after(2);
        let args = [&["transcripts", "PLsize50", "--to", "3", "--concurrency", "1"], form].concat();
        let (code, _, errors) = world.run(&args);
        assert_eq!(code, Some(3), "{errors:?}");
        assert!(is_block(&errors, "1 entry"), "{form:?}: {errors:#?}");
        assert!(errors[0].contains(&format!("{advice} (3. ")), "{errors:?}");
    }
    // One of several videos, and a video by itself, which needs no count.
    world.sim.block_after(0);
    let (code, _, errors) = world.run(&["transcript", "txManualAsr", "nope"]);
    assert_eq!((code, errors.len()), (Some(3), 2), "{errors:?}");
    assert!(is_block(&errors[1..], "1 request"), "{errors:#?}");
    assert!(errors[1].contains(&format!("{advice} (txManualAsr)")), "{errors:?}");
    let (code, _, errors) = world.run(&["transcript", "txManualAsr"]);
    assert_eq!((code, errors.len()), (Some(3), 1), "{errors:?}");
    assert!(errors[0].contains(advice) && errors[0].ends_with(" UTC)"), "{errors:?}");
}

#[test]
fn users_7_many_videos_without_a_transcript_are_one_line() {
    let world = World::new();
    // No video has captions in this language.
    let args = ["transcripts", "PLsize50", "--out", "out", "--lang", "tlh"];
    let (code, _, errors) = world.run(&args);
    assert_eq!((code, errors.len()), (Some(1), 1), "{errors:#?}");
    let start = "vidra: 50 entries failed: The video has no captions in the requested language (";
    assert!(errors[0].starts_with(start) && errors[0].ends_with(", …)"), "{errors:?}");
}
