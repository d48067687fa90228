//! A library file is copied into PostgreSQL.

use std::time::Duration;

use vidra::{Database, Pacing, Reason, VideoId};
use vidra_library::{Access, Create, JobState, Library, Limits, PutCollection};

use crate::search::{page, request};
use crate::{World, collections, create, settled};

async fn server() -> Option<Database> {
    let server = vidra_engines::shared_postgres()?;
    Some(Database::connect(&server.url(&server.database())).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_continues_after_an_interruption_and_is_complete() {
    let Some(database) = server().await else { return };
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let source = Library::open(&folder.path().join("library.db"), Limits::default()).unwrap();
    let worker = world.work(&source, world.client().pacing(Pacing::Off).build().unwrap());
    let job = source.create(create(&["PLsize500", "fda4eREcaTQ"])).await.unwrap().job.id;
    let put: PutCollection = collections::put(&["PLsize50"], serde_json::json!({}));
    source.put_collection(put).await.unwrap();
    let before = settled(&source, job).await;
    let synced = source.sync_collection("", &collections::name()).await.unwrap();
    settled(&source, synced.id).await;

    // An owner without transcripts.
    let of_ann = Create { owner: "ann".to_owned(), ..create(&["txManualAsr"]) };
    let of_ann = source.create(of_ann).await.unwrap().job.id;
    settled(&source, of_ann).await;
    source.forget(vec![VideoId::parse("txManualAsr").unwrap()]).await.unwrap();

    let target = Library::open_in_postgres(&database, Limits::default()).await.unwrap();
    let error = target.copy_from(&source, |_| ()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LibraryInUse, "a worker uses the source");
    worker.stop().await;
    // Interrupted at several places.
    for steps in [1, 4, 9] {
        let (from, to) = (source.clone(), target.clone());
        let (sender, mut steps_made) = tokio::sync::mpsc::unbounded_channel();
        let copy = tokio::spawn(async move {
            to.copy_from(&from, |step| _ = sender.send(step)).await.map(drop)
        });
        for _ in 0..steps {
            steps_made.recv().await.unwrap();
        }
        copy.abort();
        let _ = copy.await;
    }
    let payer = world.client().build().unwrap();
    let worker = vidra_library::Worker::new(
        target.clone(),
        payer.clone(),
        std::sync::Arc::new(move |_: &str| Some(payer.clone())),
        world.config,
    );
    let error = worker.run(std::future::pending()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LibraryInUse, "nobody works on half a library");
    let copied = target.copy_from(&source, |_| ()).await.unwrap();
    let rows = |name: &str| copied.tables.iter().find(|it| it.0 == name).unwrap().1;
    assert_eq!((rows("collections"), rows("collection_videos")), (1, 50));
    assert_eq!(copied.indexed, rows("transcripts"));

    assert_eq!(target.stats().await.unwrap(), source.stats().await.unwrap());
    let after = target.job(job, &Access::All).await.unwrap();
    assert_eq!((after.state, after.version), (JobState::Completed, before.version));
    let details = target.collection("", &collections::name()).await.unwrap();
    assert_eq!(details.collection.last_sync.unwrap().job_id, Some(synced.id));
    for query in ["the", "\"of the\"", "th* -is", "title:video"] {
        let (one, other) =
            (page(&target, &request(query)).await, page(&source, &request(query)).await);
        assert_eq!(serde_json::to_value(one).unwrap(), serde_json::to_value(other).unwrap());
    }
    // New rows get new numbers.
    let new = target.create(create(&["txManualAsr"])).await.unwrap();
    assert!(new.is_new);
    let error = target.copy_from(&source, |_| ()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidInput, "the target is not empty");
    tokio::time::timeout(Duration::from_secs(60), target.vacuum()).await.unwrap().unwrap();
}
