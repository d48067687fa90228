//! Jobs from their creation to their end.

use std::time::Duration;

use vidra::{Pace, Pacing, Reason};
use vidra_library::{Access, ItemFilter, ItemState, JobState};
use vidra_sim::Endpoint;

use crate::{Store, World, create, settled};

async fn a_playlist_becomes_transcripts(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().build().unwrap());
    let created = library.create(create(&["PLsize120", "txManualAsr"])).await.unwrap();
    assert!(created.is_new);
    assert_eq!(created.job.state, JobState::Queued);
    let job = settled(&library, created.job.id).await;
    assert_eq!(job.state, JobState::Completed, "{job:?}");
    let failed: u64 = job.progress.failed.values().sum();
    assert_eq!(job.progress.total, Some(job.progress.succeeded + failed));
    assert_eq!((job.progress.total, job.progress.pending), (Some(121), 0));
    assert_eq!(job.progress.units, 3);
    assert_eq!(world.platform.record().units.default, 3);

    // Every item once, in order, and every transcript can be read.
    let (items, next) =
        library.items(job.id, &Access::All, ItemFilter::default(), None, 500).await.unwrap();
    assert_eq!((items.len(), next), (121, None));
    assert!(items.iter().map(|item| item.position).eq(1..=121));
    let (mut after, mut succeeded) = (0, 0);
    loop {
        let page = library.results(job.id, &Access::All, after, 50).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.item.position;
        for result in page {
            let transcript = result.transcript.transpose().unwrap();
            assert_eq!(transcript.is_some(), result.item.state == ItemState::Succeeded);
            assert_eq!(result.item.reason.is_some(), result.item.state == ItemState::Failed);
            if let Some(transcript) = transcript {
                assert_eq!(Some(transcript.info.video_id), result.item.video_id);
                succeeded += 1;
            }
        }
    }
    assert_eq!(succeeded, job.progress.succeeded);

    // The events have no gaps.
    let mut after = 0;
    loop {
        let watch = library.watch(job.id, &Access::All, after, Duration::ZERO).await.unwrap();
        if watch.events.is_empty() {
            break;
        }
        for event in watch.events {
            assert_eq!(event.number, after + 1);
            after = event.number;
        }
    }
    assert_eq!(after, job.version);

    // A second job finds everything in the library.
    let calls = world.platform.record().calls_to(Endpoint::Player);
    let again = library.create(create(&["PLsize120"])).await.unwrap();
    let again = settled(&library, again.job.id).await;
    assert_eq!(again.state, JobState::Completed);
    assert_eq!(again.progress.units, 0, "the pages are cached");
    let more = world.platform.record().calls_to(Endpoint::Player) - calls;
    assert!(more <= failed, "only failed videos are tried again: {more}");
    worker.stop().await;
}

async fn a_missing_source_fails_the_job_after_its_items(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().build().unwrap());
    let created = library.create(create(&["txManualAsr", "PLmissing0000000"])).await.unwrap();
    let job = settled(&library, created.job.id).await;
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.error.unwrap().reason, Reason::PlaylistNotFound);
    assert_eq!(job.progress.succeeded, 1);
    worker.stop().await;
}

async fn a_missing_source_does_not_hide_the_sources_after_it(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().build().unwrap());
    let sources = ["PLmissing0000000", "PLsize50", "PLmissing0000001"];
    let created = library.create(create(&sources)).await.unwrap();
    let job = settled(&library, created.job.id).await;
    assert_eq!((job.state, job.progress.total), (JobState::Failed, Some(50)));
    let error = job.error.unwrap();
    assert!(error.message.starts_with("PLmissing0000000: "), "the first one: {error:?}");
    worker.stop().await;
}

/// The first items are a burst, and say nothing about the pace after it.
async fn the_remaining_time_follows_the_pace(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let pace = Pace { burst: 100, per_hour: 100 };
    let vidra = world.client().pacing(Pacing::At(pace)).build().unwrap();
    let worker = world.work(&library, vidra);
    let id = library.create(create(&["PLsize500"])).await.unwrap().job.id;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let job = library.job(id, &Access::All).await.unwrap();
    assert!(job.progress.succeeded >= 80, "{job:?}");
    let hours = job.progress.eta_seconds.unwrap() as f64 / 3600.0;
    assert!((3.0..5.0).contains(&hours), "{hours}");
    worker.stop().await;
}

async fn a_unit_budget_ends_the_listing(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().build().unwrap());
    let mut new = create(&["PLsize500"]);
    new.request.unit_budget = Some(2);
    let job = library.create(new).await.unwrap().job;
    let job = settled(&library, job.id).await;
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.error.unwrap().reason, Reason::UnitBudgetExhausted);
    assert_eq!((job.progress.units, job.progress.total, job.progress.pending), (2, Some(100), 0));
    assert_eq!(world.platform.record().units.default, 2);
    worker.stop().await;
}

async fn an_idempotency_key_starts_one_job(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let new =
        || vidra_library::Create { idempotency_key: Some("k".to_owned()), ..create(&["PLsize50"]) };
    let first = library.create(new()).await.unwrap();
    let second = library.create(new()).await.unwrap();
    assert_eq!((first.is_new, second.is_new), (true, false));
    assert_eq!(first.job.id, second.job.id);
    let mut other = new();
    other.request.limit = Some(1);
    let error = library.create(other.clone()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::IdempotencyKeyReused);
    // The key belongs to its caller, and lasts a day.
    other.owner = "anna".to_owned();
    assert!(library.create(other.clone()).await.unwrap().is_new);
    other.owner = String::new();
    tokio::time::advance(Duration::from_secs(24 * 3600)).await;
    assert!(library.create(other).await.unwrap().is_new);
}

async fn owners_see_their_own_jobs(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let (anna, ben) = (Access::Owner("anna".to_owned()), Access::Owner("ben".to_owned()));
    let new = vidra_library::Create { owner: "anna".to_owned(), ..create(&["PLsize50"]) };
    let id = library.create(new).await.unwrap().job.id;
    library.job(id, &anna).await.unwrap();
    library.job(id, &Access::All).await.unwrap();
    let refused = [
        library.job(id, &ben).await.map(drop),
        library.items(id, &ben, ItemFilter::default(), None, 1).await.map(drop),
        library.results(id, &ben, 0, 1).await.map(drop),
        library.watch(id, &ben, 0, Duration::ZERO).await.map(drop),
        library.cancel(id, &ben).await.map(drop),
        library.retry(id, &ben, None).await.map(drop),
        library.delete(id, &ben).await,
    ];
    for (index, result) in refused.into_iter().enumerate() {
        assert_eq!(result.unwrap_err().reason(), Reason::JobNotFound, "{index}");
    }
    assert!(library.jobs(&ben, None, None, 10).await.unwrap().0.is_empty());
    assert_eq!(library.jobs(&anna, None, None, 10).await.unwrap().0.len(), 1);
    library.delete(id, &anna).await.unwrap();
    assert_eq!(library.job(id, &anna).await.unwrap_err().reason(), Reason::JobNotFound);
}

async fn states_change_as_their_owner_says(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    let id = library.create(create(&["txManualAsr", "txNoCaption"])).await.unwrap().job.id;
    assert_eq!(library.pause(id, &Access::All).await.unwrap().state, JobState::Paused);
    let worker = world.work(&library, world.client().build().unwrap());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let job = library.job(id, &Access::All).await.unwrap();
    assert_eq!((job.state, job.progress.pending), (JobState::Paused, 2));
    assert_eq!(library.resume(id, &Access::All).await.unwrap().state, JobState::Running);
    let job = settled(&library, id).await;
    assert_eq!(job.state, JobState::Completed);
    assert_eq!(job.progress.failed.get("captions_disabled"), Some(&1));
    for result in [library.pause(id, &Access::All).await, library.cancel(id, &Access::All).await] {
        assert_eq!(result.unwrap_err().reason(), Reason::JobStateConflict);
    }
    // Retry by reason.
    let (_, none) = library.retry(id, &Access::All, Some(vec![Reason::Blocked])).await.unwrap();
    assert_eq!(none, 0);
    let (job, one) =
        library.retry(id, &Access::All, Some(vec![Reason::CaptionsDisabled])).await.unwrap();
    assert_eq!((one, job.state, job.progress.pending), (1, JobState::Running, 1));
    assert_eq!(settled(&library, id).await.state, JobState::Completed);
    // A cancelled job keeps what it has.
    let id = library.create(create(&["PLsize500"])).await.unwrap().job.id;
    assert_eq!(library.cancel(id, &Access::All).await.unwrap().state, JobState::Cancelled);
    assert_eq!(library.cancel(id, &Access::All).await.unwrap().state, JobState::Cancelled);
    worker.stop().await;
}

async fn pages_of_jobs_and_items_have_cursors(store: Store) {
    let world = World::new().on(store);
    let library = world.library().await;
    for _ in 0..5 {
        library.create(create(&["txManualAsr", "txNoCaption", "fda4eREcaTQ"])).await.unwrap();
    }
    let (mut cursor, mut ids) = (None, vec![]);
    loop {
        let (page, next) = library.jobs(&Access::All, None, cursor.as_deref(), 2).await.unwrap();
        ids.extend(page.iter().map(|job| job.id));
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(ids.len(), 5);
    let filter = ItemFilter { state: Some(ItemState::Pending), ..ItemFilter::default() };
    let (first, next) = library.items(ids[0], &Access::All, filter, None, 2).await.unwrap();
    let (last, end) =
        library.items(ids[0], &Access::All, filter, next.as_deref(), 2).await.unwrap();
    assert_eq!((first.len(), last.len(), end), (2, 1, None));
    // Neither another job nor another filter has the same list.
    let foreign = [(ids[1], filter), (ids[0], ItemFilter::default())];
    for (id, filter) in foreign {
        let got = library.items(id, &Access::All, filter, next.as_deref(), 2).await;
        assert_eq!(got.unwrap_err().reason(), Reason::InvalidCursor);
    }
    for wrong in ["", "x", "1", "1-", "-1", "0-00000000"] {
        let error = library.items(ids[0], &Access::All, filter, Some(wrong), 2).await.unwrap_err();
        assert_eq!(error.reason(), Reason::InvalidCursor, "{wrong}");
    }
}

crate::on_each_store!(
    a_playlist_becomes_transcripts,
    a_missing_source_fails_the_job_after_its_items,
    a_missing_source_does_not_hide_the_sources_after_it,
    the_remaining_time_follows_the_pace,
    a_unit_budget_ends_the_listing,
    an_idempotency_key_starts_one_job,
    owners_see_their_own_jobs,
    states_change_as_their_owner_says,
    pages_of_jobs_and_items_have_cursors
);
