//! Workers that end and start again, and two workers on one file.

use std::collections::HashMap;
use std::time::Duration;

use vidra::Pacing;
use vidra_library::{Access, ItemFilter, JobState};
use vidra_sim::{Endpoint, Simulator};

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

crate::on_each_store!(a_killed_worker_loses_nothing, two_workers_share_the_items);
