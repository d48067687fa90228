//! Answers by the age of the record and the state of the platform.

use tokio::time::{Instant, advance};
use vidra::store::{Memory, Record, Store};
use vidra::{CacheOutcome, ErrorKind, Life, Lifetimes, TranscriptQuery};
use vidra_sim::{Action, Endpoint, Fault, Junk};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_record_is_served_renewed_and_fetched_by_its_age() {
    let world = Changing::new();
    let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
    let lookup = async || edition(&vidra, id).await.unwrap();
    let calls = || world.sim.record().calls;

    let (first, number) = lookup().await;
    assert_eq!((first.outcome, number, calls()), (CacheOutcome::Miss, 1, 1));
    // Ages are whole milliseconds.
    let ttl = Duration::from_millis(first.life.ttl.as_millis() as u64);
    advance(ttl - SECOND).await;
    let (fresh, number) = lookup().await;
    assert_eq!((fresh.outcome, number, calls()), (CacheOutcome::Hit, 1, 1));
    assert_eq!((fresh.age, fresh.fresh_for().as_millis()), (ttl - SECOND, 1_000));

    advance(2 * SECOND).await;
    let (before, started) = (calls(), Instant::now());
    for _ in 0..3 {
        let (grace, number) = lookup().await;
        assert_eq!((grace.outcome, number), (CacheOutcome::Stale, 1), "the old one, at once");
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    settle().await;
    assert_eq!(calls(), before + 1, "renewed once");
    assert_eq!(vidra.cost().units(), 1, "on no caller's bill");
    let (renewed, number) = lookup().await;
    assert_eq!(
        (renewed.outcome, number, renewed.age),
        (CacheOutcome::Hit, 2, Duration::from_millis(1))
    );

    advance(STALE).await;
    let (late, number) = lookup().await;
    assert_eq!((late.outcome, number), (CacheOutcome::Miss, 3), "one attempt, which succeeds");
    advance(GONE).await;
    let (gone, number) = lookup().await;
    assert_eq!((gone.outcome, number, calls()), (CacheOutcome::Miss, 4, 4));
}

/// Every state of the platform with every age of the record.
#[tokio::test(start_paused = true)]
async fn answers_by_fault_and_age_of_the_record() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Observed {
        Old,
        New,
        Error(ErrorKind),
    }
    use Observed::{Error, New, Old};
    let fresh = Duration::from_secs(60);
    let faults = [Action::status(503), Action::Reset, Action::Hang];
    let [erroring, down, hanging] = faults.map(Some);
    let patience = Duration::from_millis(250);
    let deadline = 10 * SECOND;
    let none = Duration::ZERO;
    // Fault, age of the record, the first answer and its latency, and an answer a while later.
    let table = [
        (None, Some(fresh), Old, none, Old),
        (None, Some(IN_GRACE), Old, none, New),
        (None, Some(STALE), New, none, New),
        (None, None, New, none, New),
        (erroring.clone(), Some(fresh), Old, none, Old),
        (erroring.clone(), Some(IN_GRACE), Old, none, Old),
        (erroring.clone(), Some(STALE), Old, none, Old),
        (erroring.clone(), None, Error(ErrorKind::Upstream), none, Error(ErrorKind::Upstream)),
        (erroring, Some(GONE), Error(ErrorKind::Upstream), none, Error(ErrorKind::Upstream)),
        (down.clone(), Some(fresh), Old, none, Old),
        (down.clone(), Some(IN_GRACE), Old, none, Old),
        (down.clone(), Some(STALE), Old, none, Old),
        (down.clone(), None, Error(ErrorKind::Upstream), none, Error(ErrorKind::Upstream)),
        (down, Some(GONE), Error(ErrorKind::Upstream), none, Error(ErrorKind::Upstream)),
        (hanging.clone(), Some(fresh), Old, none, Old),
        (hanging.clone(), Some(IN_GRACE), Old, none, Old),
        (hanging.clone(), Some(STALE), Old, patience, Old),
        (hanging.clone(), None, Error(ErrorKind::Timeout), deadline, Error(ErrorKind::Timeout)),
        (hanging, Some(GONE), Error(ErrorKind::Timeout), deadline, Error(ErrorKind::Timeout)),
    ];
    for (fault, age, first, after, later) in table {
        let case = format!("{fault:?}, entry {age:?}");
        let world = Changing::new();
        let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
        if let Some(age) = age {
            edition(&vidra, id).await.unwrap();
            advance(age).await;
        }
        let known = world.answers.load(Ordering::Relaxed);
        if let Some(fault) = fault.clone() {
            world.sim.inject(Fault::any(fault));
        }
        world.sim.reset_record();
        let started = Instant::now();
        let lookup = async || match edition(&vidra, id).await {
            Ok((cached, number)) if number == known => {
                let expected =
                    if age == Some(fresh) { CacheOutcome::Hit } else { CacheOutcome::Stale };
                assert_eq!(cached.outcome, expected, "{case}");
                assert!(cached.age >= age.unwrap(), "{case}: {:?}", cached.age);
                Old
            }
            Ok(_) => New,
            Err(error) => Error(error.kind()),
        };
        assert_eq!((lookup().await, started.elapsed()), (first, after), "{case}");
        settle().await;
        assert_eq!(world.sim.record().calls, u64::from(age != Some(fresh)), "{case}");
        // Until a hanging call has timed out.
        sleep(11 * SECOND).await;
        assert_eq!(lookup().await, later, "{case}, later");
        assert!(world.sim.record().calls <= 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_cached_without_waiters() {
    let world = Changing::new();
    let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
    edition(&vidra, id).await.unwrap();
    advance(STALE).await;
    world.sim.set_latency(Duration::from_millis(400));
    let started = Instant::now();
    let (stale, number) = edition(&vidra, id).await.unwrap();
    assert_eq!((stale.outcome, number), (CacheOutcome::Stale, 1));
    assert_eq!(started.elapsed(), Duration::from_millis(250));
    sleep(Duration::from_millis(151)).await;
    let (hit, number) = edition(&vidra, id).await.unwrap();
    assert_eq!((hit.outcome, number, world.sim.record().calls), (CacheOutcome::Hit, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_fault_never_replaces_a_good_record() {
    let faults = [
        Action::status(500),
        Action::status(503),
        // HTML pages of a wall in front of the platform, which say nothing about the video.
        Action::status(403),
        Action::status(404),
        Action::status(429),
        Action::status(302),
        Action::error("backendError"),
        Action::error("rateLimitExceeded"),
        Action::error("quotaExceeded"),
        Action::error("accessNotConfigured"),
        Action::error("API_KEY_INVALID"),
        Action::Reset,
        Action::Cut,
        Action::Junk { kind: Junk::Html },
        Action::Junk { kind: Junk::Text },
        Action::Junk { kind: Junk::Empty },
        Action::Junk { kind: Junk::Truncated },
        Action::Junk { kind: Junk::OtherShape },
        Action::Junk { kind: Junk::NotUtf8 },
        Action::WrongId { id: "quirkDurDay".to_owned() },
    ];
    for fault in faults {
        let case = format!("{fault:?}");
        let world = Changing::new();
        let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
        edition(&vidra, id).await.unwrap();
        let is_spent = fault == Action::error("quotaExceeded");
        world.sim.inject(Fault::any(fault));
        for age in [IN_GRACE, STALE] {
            advance(age).await;
            for _ in 0..2 {
                let (stale, number) = edition(&vidra, id).await.unwrap();
                assert_eq!((stale.outcome, number), (CacheOutcome::Stale, 1), "{case}");
                advance(2 * SECOND).await;
            }
        }
        world.sim.clear_faults();
        if !is_spent {
            let answers = world.answers.load(Ordering::Relaxed);
            let (new, number) = edition(&vidra, id).await.unwrap();
            assert_eq!((new.outcome, number), (CacheOutcome::Miss, answers + 1), "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_never_replaces_a_transcript() {
    let sim = Simulator::new();
    let vidra = builder(&sim).block_pause(MINUTE).build().unwrap();
    let lookup = Lookup::Transcript(video("txManualAsr"), TranscriptQuery::default());
    let known = vidra.lookup(&lookup).await.unwrap();
    sim.block_after(0);
    advance(7 * DAY + 20 * HOUR).await;
    for _ in 0..3 {
        let stale = vidra.lookup(&lookup).await.unwrap();
        assert_eq!((stale.outcome, &stale.body), (CacheOutcome::Stale, &known.body));
        advance(20 * HOUR).await;
    }
    assert!(sim.record().blocked >= 1);
    sim.unblock();
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn missing_resources_are_cached_for_minutes() {
    let sim = Simulator::new();
    let (vidra, id) = (client(&sim), video("quirkAbsent"));
    let first = vidra.video(id).await.unwrap_err();
    let kinds = [(269, 1), (62, 2), (269, 2), (62, 3)];
    for (seconds, calls) in kinds {
        advance(Duration::from_secs(seconds)).await;
        let again = vidra.video(id).await.unwrap_err();
        assert_eq!((again.kind(), again.message()), (ErrorKind::NotFound, first.message()));
        assert_eq!(sim.record().calls, calls);
    }
    let disabled = Lookup::Transcript(video("txNoCaption"), TranscriptQuery::default());
    let comments = Lookup::Comments(video("quirkNoComm"), vidra::CommentQuery::default());
    for lookup in [disabled, comments] {
        let first = vidra.lookup(&lookup).await.unwrap_err();
        sim.reset_record();
        let again = vidra.lookup(&lookup).await.unwrap_err();
        assert_eq!((again.kind(), again.message()), (first.kind(), first.message()));
        assert_eq!((again.details(), again.reason()), (first.details(), first.reason()));
        assert_eq!(sim.record().calls, 0, "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_video_is_not_found_and_may_come_back() {
    let world = Changing::new();
    let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
    edition(&vidra, id).await.unwrap();
    world.is_empty.store(true, Ordering::Relaxed);
    advance(IN_GRACE).await;
    assert_eq!(edition(&vidra, id).await.unwrap().0.outcome, CacheOutcome::Stale);
    settle().await;
    let gone = |error: vidra::Error| assert_eq!(error.kind(), ErrorKind::NotFound);
    gone(edition(&vidra, id).await.unwrap_err());
    world.is_empty.store(false, Ordering::Relaxed);
    advance(4 * MINUTE).await;
    gone(edition(&vidra, id).await.unwrap_err());
    // An expired "not found" is not served in place of an error.
    advance(2 * MINUTE).await;
    world.sim.inject(Fault::any(Action::status(503)).once());
    assert_eq!(edition(&vidra, id).await.unwrap_err().kind(), ErrorKind::Upstream);
    advance(2 * SECOND).await;
    assert_eq!(edition(&vidra, id).await.unwrap().1, 3);
}

#[tokio::test(start_paused = true)]
async fn nothing_from_the_data_api_is_older_than_thirty_days() {
    let sim = Simulator::new();
    let forever = Life { ttl: 90 * DAY, grace: 90 * DAY, stale_if_error: 900 * DAY };
    let lifetimes = Resource::ALL
        .into_iter()
        .fold(Lifetimes::default(), |all, resource| all.with_life(resource, forever));
    let vidra = builder(&sim).lifetimes(lifetimes).breaker_pause(Duration::ZERO).build().unwrap();
    let lookups = [
        Lookup::Video(video("quirkNoLike")),
        Lookup::Channel(channel("@fermata")),
        Lookup::Uploads(channel("@fermata")),
        Lookup::Playlist(playlist("PLsize1")),
        Lookup::PlaylistInfo(playlist("PLsize49")),
        Lookup::PlaylistEntries(playlist("PLsize49")),
        Lookup::Comments(video("quirkHtmlCm"), vidra::CommentQuery::default()),
        Lookup::Regions(None),
    ];
    for lookup in &lookups {
        vidra.lookup(lookup).await.unwrap();
    }
    // Fresh for ten days, so that composites of it that are stored for twenty are not too old.
    sim.reset_record();
    advance(10 * DAY - SECOND).await;
    for lookup in &lookups {
        assert_eq!(vidra.lookup(lookup).await.unwrap().outcome, CacheOutcome::Hit, "{lookup:?}");
    }
    assert_eq!(sim.record().calls, 0);
    sim.inject(Fault::any(Action::status(503)));
    advance(10 * DAY).await;
    for lookup in &lookups {
        assert_eq!(vidra.lookup(lookup).await.unwrap().outcome, CacheOutcome::Stale, "{lookup:?}");
    }
    advance(SECOND).await;
    for lookup in &lookups {
        assert_eq!(
            vidra.lookup(lookup).await.unwrap_err().kind(),
            ErrorKind::Upstream,
            "{lookup:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_from_a_clock_ahead_is_new_and_still_ages() {
    let sim = Simulator::new();
    let store = Arc::new(Memory::new(1 << 20));
    let client_with = |store: &Arc<Memory>| builder(&sim).store(store.clone()).build().unwrap();
    let (id, key) = (video("quirkNoLike"), "video/quirkNoLike");
    let vidra = client_with(&store);
    vidra.video(id).await.unwrap();
    vidra.settled().await;
    let record = store.get(key).await.unwrap().expect("it was stored");
    let hour = 3_600_000;
    let ahead = Record {
        stored_at: record.stored_at + hour,
        keep_until: record.keep_until + hour,
        ..record
    };
    store.put(key, &ahead).await.unwrap();
    sim.reset_record();
    // The same store, read by a machine whose clock is an hour behind.
    let vidra = client_with(&store);
    let lookup = async || vidra.lookup(&Lookup::Video(id)).await.unwrap();
    let new = lookup().await;
    assert_eq!((new.outcome, new.age), (CacheOutcome::Hit, Duration::ZERO));
    advance(HOUR + IN_GRACE).await;
    assert_eq!(lookup().await.outcome, CacheOutcome::Stale);
    settle().await;
    assert_eq!(sim.record().calls, 1);
    assert_eq!(lookup().await.outcome, CacheOutcome::Hit, "renewed by the clock of this machine");
}

#[tokio::test(start_paused = true)]
async fn hits_do_not_wait_for_misses() {
    let sim = Simulator::new();
    let ids = videos(&sim, 1_100).await;
    let (known, unknown) = ids.split_at(100);
    let vidra = client(&sim);
    vidra.videos(known).await.unwrap();
    sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let misses: Vec<_> = unknown
        .iter()
        .map(|id| {
            let (vidra, id) = (vidra.clone(), *id);
            tokio::spawn(async move { vidra.video(id).await })
        })
        .collect();
    sim.until(|record| record.in_flight >= 20).await;
    let started = Instant::now();
    for id in known.iter().cycle().take(2_000) {
        assert_eq!(vidra.lookup(&Lookup::Video(*id)).await.unwrap().outcome, CacheOutcome::Hit);
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(misses.iter().all(|miss| !miss.is_finished()));
    for miss in misses {
        assert_eq!(miss.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    }
}
