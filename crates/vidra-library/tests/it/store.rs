//! The file: migrations, locks, checks, exports.

use std::time::Duration;

use vidra::{Pacing, Reason};
use vidra_library::{Access, Library, Limits};

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
    assert_eq!(job.state, vidra_library::JobState::Paused);
    let check = library.check(false).await.unwrap();
    assert!(check.faults.is_empty() && check.damaged.is_empty(), "{check:?}");
    let backup = folder.path().join("backup.db");
    library.backup(&backup).await.unwrap();
    assert_eq!(library.backup(&backup).await.unwrap_err().reason(), Reason::LibraryUnavailable);
    let copy = Library::open(&backup, Limits::default()).unwrap();
    assert_eq!(copy.job(id, &Access::All).await.unwrap().version, job.version);
    library.vacuum().await.unwrap();
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

#[tokio::test(start_paused = true)]
async fn an_export_can_be_imported() {
    let world = World::new();
    let library = world.library();
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let id = library.create(create(&["PLsize50"])).await.unwrap().job.id;
    let job = settled(&library, id).await;
    worker.stop().await;
    let other = World::new();
    let copy = other.library();
    let (mut after, mut total) = (0, 0);
    loop {
        let (lines, last) = library.export(after).await.unwrap();
        if lines.is_empty() {
            break;
        }
        total += copy.import(&lines).await.unwrap();
        assert_eq!(copy.import(&lines).await.unwrap(), 0, "known tracks stay");
        after = last;
    }
    assert_eq!(total, job.progress.succeeded);
    assert_eq!(copy.stats().await.unwrap().transcripts, total);
    let error = copy.import(&["{}".to_owned()]).await.unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidInput);
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
