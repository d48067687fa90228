//! Workers that end and start again, and two workers on one file.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::yield_now;
use vidra::Pacing;
use vidra_library::{Access, Create, ItemFilter, JobState, Library, Limits};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::{Store, World, create, settled};

/// How often each video was fetched.
fn fetches(platform: &Simulator) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for request in platform.record().requests_to(Endpoint::Player) {
        *counts.entry(request.video_id().unwrap_or_default()).or_default() += 1;
    }
    counts
}

async fn a_killed_worker_loses_nothing(store: Store) {
    let platform =
        Simulator::builder().latency(Duration::from_millis(80)).keep_requests(20_000).build();
    let world = World::over(platform).on(store);
    let library = world.library().await;
    let mut random = fastrand::Rng::with_seed(17);
    let id = library.create(create(&["PLsize500"])).await.unwrap().job.id;
    let mut kills = 0;
    loop {
        let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
        let time = Duration::from_millis(random.u64(50..2_000));
        tokio::time::sleep(time).await;
        let job = library.job(id, &Access::All).await.unwrap();
        if job.state.is_finished() {
            worker.stop().await;
            break;
        }
        worker.kill();
        kills += 1;
        // In memory nobody sees that the process has died: its successor frees the leases.
        library.release_all_leases().await.unwrap();
    }
    let job = library.job(id, &Access::All).await.unwrap();
    assert_eq!(
        (job.state, job.progress.total, job.progress.pending),
        (JobState::Completed, Some(500), 0)
    );
    assert!(kills > 3, "{kills}");
    let (items, _) =
        library.items(id, &Access::All, ItemFilter::default(), None, 1_000).await.unwrap();
    assert!(items.iter().map(|item| item.position).eq(1..=500), "every item exactly once");
    let in_flight = world.config.concurrency * kills;
    let twice: usize = fetches(&world.platform).values().map(|count| count.saturating_sub(1)).sum();
    assert!(twice <= in_flight, "{twice} fetched twice, {in_flight} were in flight");
}

async fn two_workers_share_the_items(store: Store) {
    let platform =
        Simulator::builder().latency(Duration::from_millis(30)).keep_requests(20_000).build();
    let world = World::over(platform).on(store);
    let (one, other) = (world.library().await, world.library().await);
    let client = || world.client().pacing(Pacing::Off).build().unwrap();
    let workers = [world.work(&one, client()), world.work(&other, client())];
    let id = one.create(create(&["PLsize500"])).await.unwrap().job.id;
    let job = settled(&one, id).await;
    assert_eq!((job.state, job.progress.total), (JobState::Completed, Some(500)));
    let most = fetches(&world.platform).values().copied().max();
    assert_eq!(most, Some(1), "no item twice");
    for worker in workers {
        worker.stop().await;
    }
}

/// Jobs of earlier processes and new ones share the slots of one session.
async fn one_session_runs_all_unattended_jobs(store: Store) {
    let platform = Simulator::builder().latency(Duration::from_millis(80)).build();
    let mut world = World::over(platform).on(store);
    world.config = world.config.with_concurrency(4);
    let library = world.library().await;
    let mut ids = vec![];
    for source in ["PLsize50", "PLsize120", "@fermata"] {
        ids.push(library.create(create(&[source])).await.unwrap().job.id);
    }
    let of_anna = Create { owner: "anna".to_owned(), ..create(&["txNoCaption"]) };
    let of_anna = library.create(of_anna).await.unwrap().job.id;
    let client = world.client().pacing(Pacing::Off).build().unwrap();
    let worker = world.work_unattended(&library, client);
    ids.push(library.create(create(&["txManualAsr"])).await.unwrap().job.id);
    for id in ids {
        assert_eq!(settled(&library, id).await.state, JobState::Completed);
    }
    assert_eq!(world.platform.record().peak_keyless, 4);
    assert_eq!(library.job(of_anna, &Access::All).await.unwrap().state, JobState::Queued);
    // After a pause without jobs it runs the next one.
    let next = library.create(create(&["txNoCaption"])).await.unwrap().job.id;
    assert_eq!(settled(&library, next).await.state, JobState::Completed);
    worker.stop().await;
}

/// One process runs a job that never ends, until it is killed. The other one leaves the job alone before, and runs it then.
async fn a_process_takes_over(one: Library, other: Library, mut look: impl AsyncFnMut(&Library)) {
    let hanging = World::new();
    hanging.platform.inject(Fault::on(Endpoint::Player, Action::Hang));
    let worker = hanging.work_unattended(&one, hanging.client().build().unwrap());
    let id = one.create(create(&["PLsize50"])).await.unwrap().job.id;
    while !other.has_worker(id).await.unwrap() {
        yield_now().await;
    }
    let world = World::new();
    let successor = world.work_unattended(&other, world.client().build().unwrap());
    let own = other.create(create(&["txManualAsr"])).await.unwrap().job.id;
    assert_eq!(settled(&other, own).await.state, JobState::Completed);
    assert_eq!(fetches(&world.platform).len(), 1, "the job of the other process runs there");
    worker.task.abort();
    let _ = worker.task.await;
    look(&other).await;
    let job = settled(&other, id).await;
    assert_eq!((job.state, job.progress.total), (JobState::Completed, Some(50)));
    successor.stop().await;
}

#[tokio::test]
async fn a_process_takes_over_from_another_one_with_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let open = || Library::open(&path, Limits::default()).unwrap();
    // A request wakes the worker before its interval.
    let wake = async |library: &Library| {
        library.create(create(&["txNoCaption"])).await.unwrap();
    };
    a_process_takes_over(open(), open(), wake).await;
}

#[tokio::test]
async fn a_process_takes_over_from_another_one_with_the_same_server() {
    let Some(store) = Store::postgres().await else { return };
    tokio::time::pause();
    let world = World::new().on(store);
    // It looks every few seconds.
    a_process_takes_over(world.library().await, world.library().await, async |_: &Library| {})
        .await;
}

crate::on_each_store!(
    a_killed_worker_loses_nothing,
    two_workers_share_the_items,
    one_session_runs_all_unattended_jobs,
);
