//! `vidra library`: the care of the file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rusqlite::Connection;

use crate::jobs::World;

/// A world whose library has three transcripts of one job.
fn filled() -> (World, String) {
    let world = World::new(Duration::ZERO);
    let job = world.json(&["job", "start", "fda4eREcaTQ", "txManualAsr", "txOneCue___", "--json"]);
    assert_eq!(job["succeeded"], 3, "{job}");
    let id = job["id"].as_str().unwrap().to_owned();
    (world, id)
}

#[test]
fn a_library_is_exported_imported_and_copied() {
    let (world, _) = filled();
    let stats = world.json(&["library", "stats", "--json"]);
    assert_eq!((&stats["transcripts"], &stats["jobs"]), (&3.into(), &1.into()));
    assert!(stats["fileBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{stats}");
    let (code, _, errors) = world.run(&["library", "export", "all.ndjson"]);
    assert_eq!((code, &*errors), (Some(0), "vidra: exported 3 transcripts\n"));
    let import = ["library", "import", "all.ndjson", "--database", "sqlite:other.db"];
    assert_eq!(world.run(&import).1, "3 transcripts, 3 new\n");
    assert_eq!(world.run(&import).1, "3 transcripts, 0 new\n");
    let export = ["library", "export", "--database", "sqlite:other.db"];
    let exported = fs::read_to_string(world.home.path().join("all.ndjson")).unwrap();
    assert_eq!(world.run(&export).1, exported);

    assert_eq!(world.run(&["library", "backup", "copy.db"]).1, "copied to copy.db\n");
    let (code, _, errors) = world.run(&["library", "backup", "copy.db"]);
    assert_eq!((code, &*errors), (Some(2), "vidra: copy.db exists; name a new file\n"));
    let copy = world.json(&["library", "stats", "--json", "--database", "sqlite:copy.db"]);
    assert_eq!((&copy["transcripts"], &copy["jobs"]), (&3.into(), &1.into()));
    assert_eq!(world.run(&["library", "vacuum"]).0, Some(0));
    for file in [world.file(), world.home.path().join("copy.db")] {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
}

#[test]
fn a_damaged_text_is_found_and_repaired() {
    let (world, id) = filled();
    assert_eq!(
        world.run(&["library", "check"]).1,
        "3 transcripts, 0 damaged; the search index is whole\n"
    );
    let file = Connection::open(world.file()).unwrap();
    let damage = "UPDATE transcripts SET checksum = checksum + 1 WHERE video = 'txManualAsr'";
    assert_eq!(file.execute(damage, []).unwrap(), 1);
    drop(file);
    let (code, text, errors) = world.run(&["library", "check"]);
    assert_eq!((code, &*text), (Some(1), "3 transcripts, 1 damaged; the search index is whole\n"));
    assert!(errors.contains("damaged: txManualAsr; --repair removes them"), "{errors}");
    let (code, text, _) = world.run(&["library", "check", "--repair"]);
    let repaired = "3 transcripts, 1 damaged; removed, and 1 videos of jobs are pending again; the search index is whole\n";
    assert_eq!((code, &*text), (Some(0), repaired));
    let (code, card, errors) = world.run(&["job", "watch", &id]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(card.contains("3 transcripts"), "{card}");
    assert_eq!(
        world.run(&["library", "check"]).1,
        "3 transcripts, 0 damaged; the search index is whole\n"
    );
}

#[test]
fn videos_are_forgotten() {
    let (world, _) = filled();
    let cached = ["video", "fda4eREcaTQ", "--cache", "fs:cache"];
    assert_eq!(world.run(&cached).0, Some(0));
    let forget = ["library", "forget", "https://youtu.be/fda4eREcaTQ", "--cache", "fs:cache"];
    let (code, text, errors) = world.run(&forget);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(text, "removed 1 transcript of 1 video\ncleared the cache store\n");
    assert_eq!(world.run(&["cache", "stats", "--cache", "fs:cache"]).1, "0 answers, 0 bytes\n");
    assert!(!world.run(&["library", "export"]).1.contains("fda4eREcaTQ"));
}

#[test]
fn unusable_files_have_clear_messages() {
    let (world, _) = filled();
    let stats = |file: &str| {
        let database = format!("sqlite:{file}");
        let (code, _, errors) = world.run(&["library", "stats", "--database", &database]);
        (code, errors)
    };
    let (code, errors) = stats("none.db");
    let none = "vidra: there is no library at none.db yet; vidra grep, vidra job start and vidra collection add create it\n";
    assert_eq!((code, &*errors), (Some(1), none));
    fs::write(world.home.path().join("notes.txt"), "not a database").unwrap();
    let (code, errors) = stats("notes.txt");
    assert!(code == Some(3) && errors.contains("notes.txt: The file is not a library"), "{errors}");
    let other = Connection::open(world.home.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    let (code, errors) = stats("other.db");
    assert!(code == Some(3) && errors.contains("other.db: "), "{errors}");
    let file = Connection::open(world.file()).unwrap();
    file.execute_batch("PRAGMA user_version = 99").unwrap();
    let (code, _, errors) = world.run(&["job", "list"]);
    assert!(
        code == Some(3) && errors.contains("schema 99") && errors.contains("update vidra"),
        "{errors}"
    );
    let (code, _, errors) = world.run(&["library", "stats", "--database", "off"]);
    assert!(code == Some(2) && errors.contains("switched off"), "{errors}");
}
