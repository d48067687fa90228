//! The budget of a caller: what is charged to it, and that its end does not affect other callers.

use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::time::{advance, sleep};
use vidra::{
    Allowance, Bucket, Builder, CacheOutcome, ChannelRef, Error, ErrorKind, Lookup, PlaylistId,
    QuotaLimits, RetryPolicy, VideoId,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .cache_bytes(1 << 20)
        .retry(RetryPolicy { retries: 2, delay: Duration::from_millis(100) })
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn units(limit: u32) -> Allowance {
    Allowance::new(Some(limit), Some(limit))
}

fn used(allowance: &Allowance) -> u32 {
    allowance.used(Bucket::Default, Timestamp::now())
}

#[track_caller]
fn assert_budget_exhausted(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::QuotaExhausted, "{error:?}");
    assert!(error.message().starts_with("The daily budget of "), "{error}");
    assert!(error.retry_after().is_some_and(|wait| wait <= Duration::from_secs(25 * 3600)));
}

#[tokio::test]
async fn every_attempt_is_charged_and_a_spent_allowance_sends_nothing() {
    let sim = Simulator::new();
    let (vidra, allowance) = (builder(&sim).build().unwrap(), units(3));
    let caller = vidra.on_allowance(allowance.clone()).metered();
    sim.inject(Fault::any(Action::status(503)).once());
    caller.video(video("quirkNoLike")).await.unwrap();
    assert_eq!((used(&allowance), caller.cost().units(), sim.record().calls), (2, 2, 2));
    caller.video(video("quirkNoLike")).await.unwrap();
    assert_eq!(used(&allowance), 2, "a cache hit costs nothing");
    caller.video(video("quirkNoComm")).await.unwrap();
    assert_budget_exhausted(&caller.video(video("quirkDurDay")).await.unwrap_err());
    assert_eq!((used(&allowance), sim.record().calls), (3, 3));
    assert_eq!(vidra.quota().await.unwrap().buckets[0].used, 3, "the ledger counts the same");
    vidra.video(video("quirkDurDay")).await.unwrap();
    assert_eq!(used(&allowance), 3, "other callers do not spend it");
}

#[tokio::test]
async fn requests_that_are_not_sent_are_refunded() {
    let sim = Simulator::new();
    let allowance = units(5);
    // The quota of the service is smaller than the allowance of the caller.
    let limits = QuotaLimits::default().with_default(1);
    let caller = builder(&sim).quota(limits).build().unwrap().on_allowance(allowance.clone());
    caller.video(video("quirkNoLike")).await.unwrap();
    let error = caller.video(video("quirkNoComm")).await.unwrap_err();
    assert!(error.message().starts_with("The daily YouTube quota"), "{error}");
    assert_eq!(used(&allowance), 1);
    // A bound port without a listener: every connection is refused while the socket exists.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let unreachable = vidra::Vidra::builder()
        .key(vidra::ApiKey::new("demo-key"))
        .data_api_url(&format!("http://{}/youtube/v3", closed.local_addr().unwrap()))
        .retry(RetryPolicy { retries: 0, delay: Duration::ZERO })
        .build()
        .unwrap()
        .on_allowance(allowance.clone());
    unreachable.video(video("quirkNoLike")).await.unwrap_err();
    assert_eq!((used(&allowance), unreachable.cost().units()), (1, 0));
    drop(closed);
}

#[tokio::test]
async fn searches_have_a_limit_of_their_own() {
    let sim = Simulator::new();
    let allowance = Allowance::new(None, Some(0));
    let caller = builder(&sim).build().unwrap().on_allowance(allowance.clone());
    let name = ChannelRef::parse("youtube.com/c/NobodyHasThisName").unwrap();
    assert_budget_exhausted(&caller.channel(&name).await.unwrap_err());
    assert_eq!(sim.record().calls_to(Endpoint::Search), 0);
    assert!(used(&allowance) > 0, "the lookups before the search are charged");
}

#[tokio::test(start_paused = true)]
async fn a_follower_with_a_budget_replaces_a_leader_without_one() {
    let lookups = [
        Lookup::Video(video("quirkNoLike")),
        Lookup::Channel(ChannelRef::parse("@fermata").unwrap()),
        Lookup::Playlist(PlaylistId::parse("PLsize51").unwrap()),
    ];
    for lookup in lookups {
        let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
        let vidra = builder(&sim).build().unwrap();
        let poor = [(); 5].map(|()| vidra.on_allowance(units(0)));
        let rich = [(); 5].map(|()| vidra.on_allowance(units(100)));
        let (refused, served) = tokio::join!(
            join_all(poor.iter().map(|caller| caller.lookup(&lookup))),
            join_all(rich.iter().map(|caller| caller.lookup(&lookup))),
        );
        for error in refused.into_iter().filter_map(Result::err) {
            assert_budget_exhausted(&error);
        }
        for answer in served {
            assert!(answer.is_ok(), "{lookup:?}: {answer:?}");
        }
        sim.reset_record();
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit, "{lookup:?}");
        assert_eq!(sim.record().calls, 0, "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_spent_allowance_does_not_fail_other_lookups_of_the_same_call() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let allowance = units(1);
    let (poor, rich) = (vidra.on_allowance(units(0)), vidra.on_allowance(allowance.clone()));
    let ids = ["quirkNoLike", "quirkNoComm", "quirkDurDay", "quirkHtmlCm"].map(video);
    let before = vidra.clone();
    let first = tokio::spawn(async move { before.video(video("txManualAsr")).await });
    sim.until(|record| record.in_flight == 1).await;
    // Gathered while the first call is in flight, the callers without a budget first.
    let (a, b, c, d) = tokio::join!(
        poor.video(ids[0]),
        poor.video(ids[1]),
        rich.video(ids[2]),
        rich.video(ids[3]),
    );
    first.await.unwrap().unwrap();
    assert_budget_exhausted(&a.unwrap_err());
    assert_budget_exhausted(&b.unwrap_err());
    assert_eq!([c.unwrap().id, d.unwrap().id], [ids[2], ids[3]]);
    assert_eq!((used(&allowance), sim.record().calls), (1, 2), "one call for both");
}

#[tokio::test(start_paused = true)]
async fn a_follower_fetches_the_list_that_its_leader_could_not_pay_for() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let (poor, rich) = (vidra.on_allowance(units(0)), vidra.on_allowance(units(1)));
    let ids = ["quirkNoLike", "quirkNoComm", "quirkDurDay"].map(video);
    let (refused, served) = tokio::join!(poor.videos(&ids), rich.videos(&ids));
    assert_budget_exhausted(&refused.unwrap_err());
    assert_eq!(served.unwrap().len(), 3);
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_spent_allowance_is_not_cached_as_a_failure() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let poor = vidra.on_allowance(units(0));
    assert_budget_exhausted(&poor.video(video("quirkNoLike")).await.unwrap_err());
    vidra.video(video("quirkNoLike")).await.unwrap();
    poor.video(video("quirkNoLike")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn cached_records_are_served_on_a_spent_allowance() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let (poor, lookup) = (vidra.on_allowance(units(0)), Lookup::Video(video("quirkNoLike")));
    vidra.lookup(&lookup).await.unwrap();
    // Past its grace: a caller with a budget would fetch it.
    advance(Duration::from_secs(2 * 3600)).await;
    for _ in 0..10 {
        assert_eq!(poor.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
    }
    assert_eq!(sim.record().calls, 1);
    assert!(!vidra.is_platform_failing(), "only the caller's budget is spent");
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss);
    // In grace its renewal is charged to no caller.
    advance(Duration::from_secs(20 * 60)).await;
    assert_eq!(poor.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(poor.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit);
}
