//! A caller's share of the day: what it pays for, and that its end is nobody else's trouble.

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
fn is_about_the_share(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::QuotaExhausted, "{error:?}");
    assert!(error.message().starts_with("The daily budget of "), "{error}");
    assert!(error.retry_after().is_some_and(|wait| wait <= Duration::from_secs(25 * 3600)));
}

#[tokio::test]
async fn it_pays_for_each_attempt_and_ends_before_anything_is_sent() {
    let sim = Simulator::new();
    let (vidra, allowance) = (builder(&sim).build().unwrap(), units(3));
    let caller = vidra.on_allowance(allowance.clone()).metered();
    sim.inject(Fault::any(Action::status(503)).once());
    caller.video(video("quirkNoLike")).await.unwrap();
    assert_eq!((used(&allowance), caller.cost().units(), sim.record().calls), (2, 2, 2));
    caller.video(video("quirkNoLike")).await.unwrap();
    assert_eq!(used(&allowance), 2, "what is known costs nothing");
    caller.video(video("quirkNoComm")).await.unwrap();
    is_about_the_share(&caller.video(video("quirkDurDay")).await.unwrap_err());
    assert_eq!((used(&allowance), sim.record().calls), (3, 3));
    assert_eq!(vidra.quota().await.unwrap().buckets[0].used, 3, "the service counted no more");
    vidra.video(video("quirkDurDay")).await.unwrap();
    assert_eq!(used(&allowance), 3, "others pay for themselves");
}

#[tokio::test]
async fn what_was_not_charged_is_given_back() {
    let sim = Simulator::new();
    let allowance = units(5);
    // The service's day ends before the caller's share does.
    let limits = QuotaLimits { default: 1, ..QuotaLimits::default() };
    let caller = builder(&sim).quota(limits).build().unwrap().on_allowance(allowance.clone());
    caller.video(video("quirkNoLike")).await.unwrap();
    let error = caller.video(video("quirkNoComm")).await.unwrap_err();
    assert!(error.message().starts_with("The daily YouTube quota"), "{error}");
    assert_eq!(used(&allowance), 1);
    // A port that is taken and not listened on: every connection is refused, as long as it is held.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let nobody = vidra::Vidra::builder()
        .key(vidra::ApiKey::new("demo-key"))
        .data_api_url(&format!("http://{}/youtube/v3", closed.local_addr().unwrap()))
        .retry(RetryPolicy { retries: 0, delay: Duration::ZERO })
        .build()
        .unwrap()
        .on_allowance(allowance.clone());
    nobody.video(video("quirkNoLike")).await.unwrap_err();
    assert_eq!((used(&allowance), nobody.cost().units()), (1, 0));
    drop(closed);
}

#[tokio::test]
async fn searches_have_a_share_of_their_own() {
    let sim = Simulator::new();
    let allowance = Allowance::new(None, Some(0));
    let caller = builder(&sim).build().unwrap().on_allowance(allowance.clone());
    let name = ChannelRef::parse("youtube.com/c/NobodyHasThisName").unwrap();
    is_about_the_share(&caller.channel(&name).await.unwrap_err());
    assert_eq!(sim.record().calls_to(Endpoint::Search), 0);
    assert!(used(&allowance) > 0, "what was looked up before that is paid");
}

#[tokio::test(start_paused = true)]
async fn who_has_something_left_asks_in_the_place_of_who_has_not() {
    let asks = [
        Lookup::Video(video("quirkNoLike")),
        Lookup::Channel(ChannelRef::parse("@fermata").unwrap()),
        Lookup::Playlist(PlaylistId::parse("PLsize51").unwrap()),
    ];
    for ask in asks {
        let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
        let vidra = builder(&sim).build().unwrap();
        let poor = [(); 5].map(|()| vidra.on_allowance(units(0)));
        let rich = [(); 5].map(|()| vidra.on_allowance(units(100)));
        let (refused, served) = tokio::join!(
            join_all(poor.iter().map(|caller| caller.lookup(&ask))),
            join_all(rich.iter().map(|caller| caller.lookup(&ask))),
        );
        for error in refused.into_iter().filter_map(Result::err) {
            is_about_the_share(&error);
        }
        for answer in served {
            assert!(answer.is_ok(), "{ask:?}: {answer:?}");
        }
        sim.reset_record();
        assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Hit, "{ask:?}");
        assert_eq!(sim.record().calls, 0, "{ask:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_cannot_pay_does_not_fail_those_it_was_gathered_with() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let share = units(1);
    let (poor, rich) = (vidra.on_allowance(units(0)), vidra.on_allowance(share.clone()));
    let ids = ["quirkNoLike", "quirkNoComm", "quirkDurDay", "quirkHtmlCm"].map(video);
    let before = vidra.clone();
    let first = tokio::spawn(async move { before.video(video("txManualAsr")).await });
    sim.until(|record| record.in_flight == 1).await;
    // Gathered while the first is under way, those who cannot pay in front.
    let (a, b, c, d) = tokio::join!(
        poor.video(ids[0]),
        poor.video(ids[1]),
        rich.video(ids[2]),
        rich.video(ids[3]),
    );
    first.await.unwrap().unwrap();
    is_about_the_share(&a.unwrap_err());
    is_about_the_share(&b.unwrap_err());
    assert_eq!([c.unwrap().id, d.unwrap().id], [ids[2], ids[3]]);
    assert_eq!((used(&share), sim.record().calls), (1, 2), "one call for both");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_another_could_not_pay_for_is_asked_for_anew() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).build().unwrap();
    let (poor, rich) = (vidra.on_allowance(units(0)), vidra.on_allowance(units(1)));
    let ids = ["quirkNoLike", "quirkNoComm", "quirkDurDay"].map(video);
    let (refused, served) = tokio::join!(poor.videos(&ids), rich.videos(&ids));
    is_about_the_share(&refused.unwrap_err());
    assert_eq!(served.unwrap().len(), 3);
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn that_it_is_used_up_is_remembered_for_nobody() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let poor = vidra.on_allowance(units(0));
    is_about_the_share(&poor.video(video("quirkNoLike")).await.unwrap_err());
    vidra.video(video("quirkNoLike")).await.unwrap();
    poor.video(video("quirkNoLike")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_known_is_given_to_who_cannot_pay() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let (poor, ask) = (vidra.on_allowance(units(0)), Lookup::Video(video("quirkNoLike")));
    vidra.lookup(&ask).await.unwrap();
    // Past its grace: it would have to be asked for.
    advance(Duration::from_secs(2 * 3600)).await;
    for _ in 0..10 {
        assert_eq!(poor.lookup(&ask).await.unwrap().outcome, CacheOutcome::Stale);
    }
    assert_eq!(sim.record().calls, 1);
    assert!(!vidra.is_platform_failing(), "it is the caller who has nothing left");
    assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Miss);
    // In grace it is renewed on nobody's bill.
    advance(Duration::from_secs(20 * 60)).await;
    assert_eq!(poor.lookup(&ask).await.unwrap().outcome, CacheOutcome::Stale);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(poor.lookup(&ask).await.unwrap().outcome, CacheOutcome::Hit);
}
