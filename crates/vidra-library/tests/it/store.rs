//! The file: migrations, locks, checks, exports.

use std::time::Duration;

use vidra::{Pacing, Reason, TranscriptQuery, VideoId};
use vidra_library::{Access, Create, JobState, Library, Limits};
use vidra_sim::Endpoint;

use crate::{World, create, settled};

#[tokio::test]
async fn a_file_survives_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let id = {
        let library = Library::open(&path, Limits::default()).unwrap();
        library.create(create(&["PLsize50"])).await.unwrap().job.id
    };
    let library = Library::open(&path, Limits::default()).unwrap();
    assert_eq!(library.job(id, &Access::All).await.unwrap().id, id);
    // Two processes may use the file.
    let other = Library::open(&path, Limits::default()).unwrap();
    other.pause(id, &Access::All).await.unwrap();
    let job = library.changed_job(id, &Access::All, 1, Duration::from_secs(10)).await.unwrap();
    assert_eq!(job.state, JobState::Paused);
    let check = library.check(false).await.unwrap();
    assert!(check.faults.is_empty() && check.damaged.is_empty(), "{check:?}");
    let backup = folder.path().join("backup.db");
    library.backup(&backup).await.unwrap();
    assert_eq!(library.backup(&backup).await.unwrap_err().reason(), Reason::LibraryUnavailable);
    let copy = Library::open(&backup, Limits::default()).unwrap();
    assert_eq!(copy.job(id, &Access::All).await.unwrap().version, job.version);
    library.vacuum().await.unwrap();
}

/// Writes to a file that has no name any more would be lost with the process.
#[tokio::test]
async fn a_file_that_was_removed_or_replaced_gets_no_writes() {
    let folder = tempfile::tempdir().unwrap();
    let [path, away] = ["library.db", "away.db"].map(|name| folder.path().join(name));
    let library = Library::open(&path, Limits::default()).unwrap();
    std::fs::rename(&path, &away).unwrap();
    for other in [None, Some("another file")] {
        other.iter().for_each(|text| std::fs::write(&path, text).unwrap());
        let error = library.create(create(&["PLsize1"])).await.unwrap_err();
        assert_eq!(error.reason(), Reason::LibraryUnavailable, "{error}");
        assert!(library.health().is_failing);
    }
    std::fs::rename(&away, &path).unwrap();
    library.create(create(&["PLsize1"])).await.unwrap();
    assert!(!library.health().is_failing);
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    std::fs::write(&path, "no database, and long enough to have a header").unwrap();
    let error = Library::open(&path, Limits::default()).err().unwrap();
    assert_eq!(error.reason(), Reason::LibraryDamaged);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 45, "the file is not touched");
    let error = Library::open(&path.join("library.db"), Limits::default()).err().unwrap();
    assert_eq!(error.reason(), Reason::LibraryUnavailable);
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    drop(Library::open(&path, Limits::default()).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Library::open(&path, Limits::default()).err().unwrap();
    assert_eq!(error.reason(), Reason::LibraryTooNew);
    assert!(error.message().contains("schema 99"), "{error}");
}

#[test]
fn a_file_in_use_is_not_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let in_use = Library::open(&path, Limits::default()).unwrap();
    // As if the file had an older schema.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 0).unwrap();
    let error = Library::open(&path, Limits::default()).err().unwrap();
    assert_eq!(error.reason(), Reason::LibraryInUse);
    connection.pragma_update(None, "user_version", 4).unwrap();
    drop(in_use);
    Library::open(&path, Limits::default()).unwrap();
}

/// A file of the first schema, with a job and a transcript, is upgraded without a loss.
#[tokio::test]
async fn older_schemas_are_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../migrations/sqlite/0001-jobs.sql")).unwrap();
    let rows = "PRAGMA application_id = 0x76696472; PRAGMA user_version = 1;
        INSERT INTO jobs (id, owner, options, state, created_at, source_count, is_listed, items, succeeded)
            VALUES ('0f8fad5bd9cb469fa16570867728950e', '', '{}', 'completed', 1, 1, 1, 1, 1);
        INSERT INTO videos (id, title, channel, duration) VALUES ('txManualAsr', 'T', 'C', 60);
        INSERT INTO transcripts (video, language, is_auto_generated, translated_from, stored_at, owner, length, checksum, text)
            VALUES ('txManualAsr', 'en', 0, '', 1, '', 1, 1, x'00');
        INSERT INTO items (job, position, video, state, transcript) VALUES (1, 1, 'txManualAsr', 1, 1);";
    old.execute_batch(rows).unwrap();
    drop(old);
    let library = Library::open(&path, Limits::default()).unwrap();
    let stats = library.stats().await.unwrap();
    assert_eq!((stats.jobs, stats.items, stats.transcripts, stats.collections), (1, 1, 1, 0));
    let (jobs, _) = library.jobs(&Access::All, None, None, 10).await.unwrap();
    assert_eq!((jobs[0].state, &jobs[0].collection), (JobState::Completed, &None));
    let put = crate::collections::put(&["@crowd007"], serde_json::json!({}));
    library.put_collection(put).await.unwrap();
    // The damaged text stays out of searches, and does not stop the index.
    assert_eq!(library.complete_index(|_| ()).await.unwrap(), 1);
    assert_eq!(library.complete_index(|_| ()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_damaged_text_is_found_and_fetched_again() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let library = Library::open(&path, Limits::default()).unwrap();
    let worker = world.work(&library, world.client().build().unwrap());
    let id = library.create(create(&["txManualAsr", "fda4eREcaTQ"])).await.unwrap().job.id;
    let job = settled(&library, id).await;
    assert_eq!(job.progress.succeeded, 2, "{job:?}");
    worker.stop().await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE transcripts SET text = CAST(substr(text, 1, length(text) - 1) || x'00' AS BLOB) WHERE video = 'txManualAsr'";
    assert_eq!(connection.execute(damage, []).unwrap(), 1);
    let results = library.results(id, &Access::All, 0, 10).await.unwrap();
    let broken = results.iter().filter(|it| matches!(it.transcript, Some(Err(_)))).count();
    assert_eq!(broken, 1, "a damaged text is never shown");
    let check = library.check(false).await.unwrap();
    assert_eq!((check.transcripts, check.damaged.as_slice()), (2, &["txManualAsr".to_owned()][..]));
    assert_eq!(library.check(true).await.unwrap().renewed_items, 1);
    assert!(library.check(false).await.unwrap().faults.is_empty());
    let worker = world.work(&library, world.client().build().unwrap());
    let job = settled(&library, id).await;
    assert_eq!((job.state, job.progress.succeeded), (JobState::Completed, 2));
    worker.stop().await;
}

/// A file with its largest size is a full disk for SQLite.
#[tokio::test(start_paused = true)]
async fn a_job_waits_while_there_is_no_room_and_goes_on_then() {
    let world = World::new();
    let library = world.library().await;
    library.limit_bytes(Some(300 << 10)).await.unwrap();
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let id = library.create(create(&["PLsize120"])).await.unwrap().job.id;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let job = library.job(id, &Access::All).await.unwrap();
    assert!(job.state.is_active() && job.progress.pending > 0, "{job:?}");
    let error = library.create(create(&["PLsize500"])).await.err();
    assert!(error.is_none_or(|error| error.reason() == Reason::LibraryUnavailable));
    assert!(library.check(false).await.unwrap().faults.is_empty());
    library.limit_bytes(None).await.unwrap();
    let job = settled(&library, id).await;
    assert_eq!((job.state, job.progress.pending), (JobState::Completed, 0));
    let check = library.check(false).await.unwrap();
    assert!(check.faults.is_empty() && check.damaged.is_empty(), "{check:?}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_export_can_be_imported() {
    let world = World::new();
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let id = library.create(create(&["PLsize50"])).await.unwrap().job.id;
    let job = settled(&library, id).await;
    worker.stop().await;
    let other = World::new();
    let copy = other.library().await;
    let (mut after, mut total) = (0, 0);
    loop {
        let (lines, last) = library.export(after).await.unwrap();
        if lines.is_empty() {
            break;
        }
        total += copy.import(&lines, 0).await.unwrap();
        assert_eq!(copy.import(&lines, 0).await.unwrap(), 0, "known tracks stay");
        after = last;
    }
    assert_eq!(total, job.progress.succeeded);
    assert_eq!(copy.stats().await.unwrap().transcripts, total);
    let error = copy.import(&["{}".to_owned()], 200).await.unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidInput);
    assert_eq!(error.details(), ["line 201: is not an exported transcript"]);
    // A job over the copy fetches nothing that it has.
    let worker = other.work(&copy, other.client().pacing(Pacing::Off).build().unwrap());
    let id = copy.create(create(&["PLsize50"])).await.unwrap().job.id;
    settled(&copy, id).await;
    let fetched = other.platform.record().calls_to(vidra_sim::Endpoint::TimedText);
    assert_eq!(fetched, 0);
    worker.stop().await;
    let forgotten = copy.forget(vec![vidra::VideoId::parse("fda4eREcaTQ").unwrap()]).await.unwrap();
    assert!(forgotten <= 1);
}

/// Services that start together must not refuse each other while one of them creates the file.
#[test]
fn processes_that_start_at_the_same_moment_share_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let path = folder.path().join(format!("library-{round}.db"));
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    Library::open(&path, Limits::default()).unwrap();
                });
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_without_room_waits_and_goes_on_then() {
    let world = World::new();
    let limits = Limits::default().with_caller_bytes(Some(1));
    let library = world.library_with(limits).await;
    let of = |owner: &str| Create { owner: owner.to_owned(), ..create(&["PLsize50"]) };
    let id = library.create(of("ann")).await.unwrap().job.id;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    tokio::time::sleep(Duration::from_secs(120)).await;
    let job = library.job(id, &Access::All).await.unwrap();
    let waiting = job.waiting.as_ref().map(|wait| wait.reason);
    assert_eq!(waiting, Some(Reason::LibraryLimitReached), "{job:?}");
    assert!((1..50).contains(&job.progress.succeeded), "items in flight ended: {job:?}");
    let error = library.create(of("ann")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LibraryLimitReached);
    assert!(error.retry_after().is_some());
    library.create(of("ben")).await.unwrap();
    worker.stop().await;
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    assert_eq!(settled(&library, id).await.progress.pending, 0);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_job_is_gone_at_once_and_its_key_is_free() {
    let world = World::new();
    let library = world.library().await;
    let keyed = || Create { idempotency_key: Some("night".to_owned()), ..create(&["PLsize500"]) };
    let id = library.create(keyed()).await.unwrap().job.id;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    assert_eq!(settled(&library, id).await.progress.pending, 0);
    library.delete(id, &Access::All).await.unwrap();
    assert_eq!(library.job(id, &Access::All).await.unwrap_err().reason(), Reason::JobNotFound);
    let stats = library.stats().await.unwrap();
    assert_eq!((stats.jobs, stats.items), (0, 0));
    assert!(stats.transcripts > 400, "transcripts stay");
    assert!(library.check(false).await.unwrap().faults.is_empty());
    let again = library.create(keyed()).await.unwrap();
    assert!(again.is_new && again.job.id != id);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn transcripts_without_a_job_are_known_to_later_jobs() {
    let world = World::new();
    let library = world.library().await;
    let vidra = world.client().pacing(Pacing::Off).build().unwrap();
    let (video, query) = (VideoId::parse("txManualAsr").unwrap(), TranscriptQuery::default());
    let record = vidra.transcript_record(video, &query).await.unwrap().body;
    library.store_transcript(&query, record).await.unwrap();
    let players = || world.platform.record().calls_to(Endpoint::Player);
    let before = players();
    let id = library.create(create(&["txManualAsr"])).await.unwrap().job.id;
    let worker = world.work(&library, vidra);
    assert_eq!(settled(&library, id).await.progress.succeeded, 1);
    assert_eq!(players(), before);
    worker.stop().await;
}
