//! Jobs wait for resources, and do not burn attempts.

use std::time::Duration;

use vidra::{Pace, Pacing, QuotaLimits, Reason};
use vidra_library::{Access, JobState, WorkerConfig};
use vidra_sim::{Endpoint, Simulator};

use crate::{Store, World, create, settled};

/// The job after this time.
async fn after(world: &World, id: vidra_library::JobId, time: Duration) -> vidra_library::Job {
    tokio::time::sleep(time).await;
    world.library().await.job(id, &Access::All).await.unwrap()
}

async fn the_quota_ends_while_listing_and_the_job_waits_for_midnight(store: Store) {
    let mut world = World::new().on(store);
    world.config = WorkerConfig::default().with_reserve_units(5);
    let library = world.library().await;
    let limits = QuotaLimits::default().with_default(9);
    let vidra = world.client().quota(limits).pacing(Pacing::Off).build().unwrap();
    let worker = world.work(&library, vidra.clone());
    let id = library.create(create(&["PLsize500"])).await.unwrap().job.id;
    let job = after(&world, id, Duration::from_secs(600)).await;
    // Four units of nine: the reserve is for interactive requests.
    assert_eq!((job.state, job.progress.units), (JobState::Waiting, 4), "{job:?}");
    assert_eq!(job.progress.pending, 0, "listed items are fetched meanwhile");
    let wait = job.waiting.unwrap();
    assert_eq!(wait.reason, Reason::QuotaExhausted);
    assert_eq!(wait.until.to_string(), "2026-11-18T08:00:00Z");
    // Interactive requests still have units.
    vidra.video(vidra::VideoId::parse("fda4eREcaTQ").unwrap()).await.unwrap();
    // The quota day passes, and the job goes on by itself.
    let job = settled(&library, id).await;
    assert_eq!(job.state, JobState::Completed);
    assert_eq!((job.progress.total, job.progress.units), (Some(500), 10));
    assert_eq!(
        world.platform.record().units.default,
        11,
        "the units of the job, and one interactive one"
    );
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_from_a_blocked_address_also_after_a_restart() {
    let world = World::new();
    let library = world.library().await;
    let client = || {
        let builder = world.client().pacing(Pacing::Off);
        builder.block_pause(Duration::from_secs(900)).build().unwrap()
    };
    world.platform.block_after(10);
    let worker = world.work(&library, client());
    let id = library.create(create(&["PLsize50"])).await.unwrap().job.id;
    let job = after(&world, id, Duration::from_secs(60)).await;
    assert_eq!((job.state, job.progress.succeeded > 0), (JobState::Waiting, true), "{job:?}");
    assert_eq!(job.waiting.unwrap().reason, Reason::Blocked);
    assert!(job.progress.failed.is_empty() || !job.progress.failed.contains_key("blocked"));
    let sent = || {
        let record = world.platform.record();
        record.calls_to(Endpoint::Player) + record.calls_to(Endpoint::Watch)
    };
    let before = sent();
    worker.kill();
    // A new process with a new client does not knock again.
    let library = world.library().await;
    let worker = world.work(&library, client());
    tokio::time::sleep(Duration::from_secs(800)).await;
    assert_eq!(sent(), before);
    world.platform.unblock();
    let job = settled(&library, id).await;
    assert_eq!((job.state, job.progress.total), (JobState::Completed, Some(50)));
    worker.stop().await;
}

async fn jobs_leave_a_fifth_of_the_burst(store: Store) {
    let world = World::over(Simulator::new()).on(store);
    let library = world.library().await;
    let pace = Pace { burst: 20, per_hour: 60 };
    let vidra = world.client().pacing(Pacing::At(pace)).build().unwrap();
    let worker = world.work(&library, vidra.clone());
    let id = library.create(create(&["PLsize120"])).await.unwrap().job.id;
    let job = after(&world, id, Duration::from_secs(20)).await;
    assert_eq!(job.state, JobState::Waiting, "{job:?}");
    assert_eq!(job.waiting.unwrap().reason, Reason::Paced);
    // An interactive request is served at once.
    let begun = tokio::time::Instant::now();
    vidra.tracks(vidra::VideoId::parse("txManualAsr").unwrap()).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
    let job = settled(&library, id).await;
    assert_eq!(job.state, JobState::Completed);
    worker.stop().await;
}

crate::on_each_store!(
    the_quota_ends_while_listing_and_the_job_waits_for_midnight,
    jobs_leave_a_fifth_of_the_burst
);
