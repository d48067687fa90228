//! The newest videos of channels and playlists: from feeds, or from the Data API if YouTube serves none.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::advance;
use vidra::{
    BreakerState, CacheOutcome, ChannelRef, FeedAnswer, FeedItem, FeedSource, InProcess, Lookup,
    Pace, Pacing, PlaylistId, QuotaLimits, Reason, RetryPolicy, TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client};

/// The id of `@fermata`.
const FERMATA: &str = "UCB-2_pXPtFYDifLXZF-S8PA";

fn channel(id: &str) -> ChannelRef {
    ChannelRef::parse(id).unwrap()
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn units(sim: &Simulator) -> u64 {
    sim.record().units.default
}

fn cached(sim: &Simulator) -> Vidra {
    builder(sim).cache_bytes(16 << 20).build().unwrap()
}

fn without_key(sim: &Simulator) -> Vidra {
    Vidra::builder()
        .cache_bytes(16 << 20)
        .web_url("http://sim.invalid")
        .transport(InProcess(sim.clone()))
        .build()
        .unwrap()
}

fn ids(items: &[FeedItem]) -> Vec<VideoId> {
    items.iter().map(|item| item.id).collect()
}

async fn feed(vidra: &Vidra, id: &str) -> FeedAnswer {
    match id.starts_with("PL") {
        true => vidra.playlist_feed(&playlist(id)).await.unwrap(),
        false => vidra.channel_feed(&channel(id)).await.unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_feed_needs_no_key_and_costs_nothing() {
    let sim = Simulator::new();
    let vidra = without_key(&sim);
    let newest = feed(&vidra, FERMATA).await;
    assert_eq!((newest.source, newest.items.len()), (FeedSource::Feed, 15));
    let first = feed(&vidra, "PLsize50").await;
    assert_eq!((first.source, first.items.len()), (FeedSource::Feed, 15));
    let record = sim.record();
    assert_eq!((record.calls, record.units.default, record.calls_to(Endpoint::Feed)), (2, 0, 2));
    assert!(record.violations.is_empty(), "{:?}", record.violations);

    // The same videos as those of the Data API.
    let keyed = client(&sim);
    let uploads = keyed.channel_videos(&channel(FERMATA), 15).await.unwrap();
    assert_eq!(ids(&newest.items), uploads.iter().map(|video| video.id).collect::<Vec<_>>());
    let listed = keyed.playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    assert_eq!(ids(&first.items), listed[..15]);
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_looked_up_first() {
    let sim = Simulator::new();
    let vidra = cached(&sim);
    let by_handle = vidra.metered();
    let newest = by_handle.channel_feed(&channel("@fermata")).await.unwrap();
    assert_eq!((newest.source, by_handle.cost().units(), units(&sim)), (FeedSource::Feed, 1, 1));
    assert_eq!(feed(&vidra, FERMATA).await, newest);
    let again = vidra.lookup(&Lookup::ChannelFeed(channel("@Fermata"))).await.unwrap();
    assert_eq!((again.outcome, units(&sim)), (CacheOutcome::Hit, 1));
    assert_eq!(sim.record().calls_to(Endpoint::Feed), 1);
    let error = without_key(&sim).channel_feed(&channel("@fermata")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamKeyMissing);
}

/// Every feed of the simulator that is odd: where the videos come from, and the cost.
#[tokio::test(start_paused = true)]
async fn odd_feeds_are_read_or_replaced() {
    use FeedSource::{DataApi, Feed};
    let table = [
        ("UCquirkFeedMissing000000", DataApi),
        ("UCquirkFeedBackSoon00000", DataApi),
        ("UCquirkFeedBroken0000000", DataApi),
        ("UCquirkFeedBrokenOnce000", Feed),
        ("UCquirkFeedEmpty00000000", DataApi),
        ("UCquirkFeedTruncated0000", DataApi),
        ("UCquirkFeedHtml000000000", DataApi),
        ("UCquirkFeedNewline000000", Feed),
        ("UCquirkFeedNoId000000000", Feed),
        ("UCquirkFeedOldId00000000", Feed),
        ("UCquirkFeedDoctype000000", DataApi),
        ("UCquirkFeedStale00000000", Feed),
        ("PLquirkFeedMissing", DataApi),
        ("PLquirkFeedBroken", DataApi),
    ];
    for (id, source) in table {
        let sim = Simulator::new();
        let vidra = cached(&sim);
        let got = feed(&vidra, id).await;
        assert_eq!(got.source, source, "{id}");
        assert_eq!(units(&sim), if source == DataApi { 2 } else { 0 }, "{id}");
        assert!((1..=15).contains(&got.items.len()), "{id}: {}", got.items.len());
        let expected: Vec<VideoId> = match id.starts_with("PL") {
            true => client(&sim).playlist_ids(&playlist(id)).await.unwrap().video_ids,
            false => {
                let newest = client(&sim).channel_videos(&channel(id), 50).await.unwrap();
                newest.into_iter().map(|video| video.id).collect()
            }
        };
        // The feed of one channel lacks the newest videos, which nobody can know.
        let skipped = if id.contains("Stale") { 3 } else { 0 };
        let expected: Vec<_> = expected.into_iter().skip(skipped).take(15).collect();
        assert_eq!(ids(&got.items), expected, "{id}");
        // Both kinds of answers are cached.
        let before = sim.record().calls;
        assert_eq!(feed(&vidra, id).await, got, "{id}");
        assert_eq!(sim.record().calls, before, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn transport_faults_are_replaced_too() {
    let faults = [
        Action::Hang,
        Action::Reset,
        Action::Cut,
        Action::status(429),
        Action::Huge { bytes: 5 << 20 },
        Action::Redirect { location: "http://elsewhere.invalid/feeds/videos.xml".to_owned() },
        Action::Redirect { location: "https://www.google.com/sorry/index".to_owned() },
    ];
    for action in faults {
        let sim = Simulator::new();
        sim.inject(Fault::on(Endpoint::Feed, action.clone()));
        let started = tokio::time::Instant::now();
        let got = feed(&client(&sim), FERMATA).await;
        assert_eq!((got.source, got.items.len()), (FeedSource::DataApi, 15), "{action:?}");
        assert_eq!(units(&sim), 2, "{action:?}");
        assert!(started.elapsed() < Duration::from_secs(12), "{action:?}: {:?}", started.elapsed());
        assert!(sim.record().calls_to(Endpoint::Feed) <= 2, "{action:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_404_of_a_feed_proves_nothing() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let table = [
        ("UCaaaaaaaaaaaaaaaaaaaaaa", Reason::ChannelNotFound),
        ("@nobodyHasThis", Reason::ChannelNotFound),
    ];
    for (id, reason) in table {
        assert_eq!(vidra.channel_feed(&channel(id)).await.unwrap_err().reason(), reason, "{id}");
    }
    let table =
        [("PLquirkUnknown", Reason::PlaylistNotFound), ("PLquirkPrivate", Reason::NotAccessible)];
    for (id, reason) in table {
        assert_eq!(vidra.playlist_feed(&playlist(id)).await.unwrap_err().reason(), reason, "{id}");
    }
    // A channel without videos exists, and so does an empty playlist.
    let none = feed(&vidra, "UCquirkNoUploads00000000").await;
    assert_eq!((none.source, none.items.len()), (FeedSource::DataApi, 0));
    assert_eq!(feed(&vidra, "PLquirkEmpty").await.items.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_key_or_quota_the_error_is_that_of_the_data_api() {
    let sim = Simulator::new();
    let error = without_key(&sim).channel_feed(&channel("UCquirkFeedMissing000000")).await;
    let error = error.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamKeyMissing);
    assert_eq!(error.details(), ["feed: YouTube does not serve the feed"]);
    let spent = builder(&sim).quota(QuotaLimits::default().with_default(0)).build().unwrap();
    let error = spent.playlist_feed(&playlist("PLquirkFeedBroken")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::QuotaExhausted);
    assert!(error.retry_after().is_some());
    // Nobody can say that an empty feed is wrong.
    let empty = feed(&without_key(&sim), "UCquirkFeedEmpty00000000").await;
    assert_eq!((empty.source, empty.items.len()), (FeedSource::Feed, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stale_feed_is_better_than_none() {
    let sim = Simulator::new();
    let vidra = without_key(&sim);
    let newest = feed(&vidra, FERMATA).await;
    sim.inject(Fault::on(Endpoint::Feed, Action::status(404)));
    advance(Duration::from_secs(12 * 3600)).await;
    let stale = vidra.lookup(&Lookup::ChannelFeed(channel(FERMATA))).await.unwrap();
    assert_eq!(stale.outcome, CacheOutcome::Stale);
    assert_eq!(stale.decode::<FeedAnswer>().unwrap(), newest);
}

/// Renewals of other records pause if the quota is used up. A feed needs none.
#[tokio::test(start_paused = true)]
async fn feeds_are_renewed_without_quota() {
    let sim = Simulator::new();
    let limits = QuotaLimits::default().with_default(6);
    let vidra = builder(&sim).cache_bytes(16 << 20).quota(limits).build().unwrap();
    let videos = ["quirkNoLike", "quirkNoView", "quirkNoTags", "quirkThumb3", "quirkThumb4"];
    for id in videos.iter().chain(&["quirkDurSec"]) {
        vidra.video(VideoId::parse(id).unwrap()).await.unwrap();
    }
    feed(&vidra, FERMATA).await;
    advance(Duration::from_secs(20 * 60)).await;
    for id in videos {
        vidra.video(VideoId::parse(id).unwrap()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    feed(&vidra, FERMATA).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let renewed = vidra.lookup(&Lookup::ChannelFeed(channel(FERMATA))).await.unwrap();
    assert_eq!((renewed.outcome, sim.record().calls_to(Endpoint::Feed)), (CacheOutcome::Hit, 2));
}

#[tokio::test(start_paused = true)]
async fn concurrent_readers_share_one_feed() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Feed, Action::Delay { millis: 300 }));
    let vidra = cached(&sim);
    join_all((0..8).map(|_| feed(&vidra, FERMATA))).await;
    assert_eq!(sim.record().calls, 1);
    join_all((0..8).map(|_| feed(&vidra, "UCquirkFeedMissing000000"))).await;
    assert_eq!((sim.record().calls_to(Endpoint::Feed), units(&sim)), (2, 2));
    advance(Duration::from_secs(299 * 9 / 10)).await;
    feed(&vidra, FERMATA).await;
    assert_eq!(sim.record().calls_to(Endpoint::Feed), 2, "fresh for about five minutes");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_of_its_own_spares_feeds_that_fail() {
    let sim = Simulator::new();
    let retry = RetryPolicy { retries: 0, delay: Duration::ZERO };
    let vidra = builder(&sim).retry(retry).build().unwrap();
    sim.inject(Fault::on(Endpoint::Feed, Action::status(503)));
    for _ in 0..7 {
        assert_eq!(feed(&vidra, FERMATA).await.source, FeedSource::DataApi);
    }
    assert_eq!(sim.record().calls_to(Endpoint::Feed), 5);
    let report = vidra.upstream_report();
    let open: Vec<_> =
        report.breakers.iter().filter(|(_, state)| *state == BreakerState::Open).collect();
    assert_eq!(open.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["feed"]);
    // Transcripts do not notice.
    let query = TranscriptQuery::default();
    vidra.transcript(VideoId::parse("txManualAsr").unwrap(), &query).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_pauses_feeds_and_nothing_else() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    sim.inject(Fault::on(Endpoint::Feed, Action::status(429)).once());
    for id in [FERMATA, "UCquirkFeedStale00000000"] {
        assert_eq!(feed(&vidra, id).await.source, FeedSource::DataApi);
    }
    assert_eq!(sim.record().calls_to(Endpoint::Feed), 1);
    assert_eq!(vidra.addresses().blocked, 0);
    advance(Duration::from_secs(61)).await;
    assert_eq!(feed(&vidra, FERMATA).await.source, FeedSource::Feed);
}

#[tokio::test(start_paused = true)]
async fn feeds_take_nothing_from_the_pace_of_transcripts() {
    let sim = Simulator::new();
    let pace = Pace { burst: 1, per_hour: 1 };
    let vidra = builder(&sim).pacing(Pacing::At(pace)).build().unwrap();
    for _ in 0..10 {
        feed(&vidra, FERMATA).await;
    }
    let started = tokio::time::Instant::now();
    let query = TranscriptQuery::default();
    vidra.transcript(VideoId::parse("txManualAsr").unwrap(), &query).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(1));
    // And none of it is left, but feeds do not wait.
    feed(&vidra, FERMATA).await;
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_replaced_feed_is_as_old_as_its_parts() {
    for id in ["PLquirkFeedMissing", "UCquirkFeedMissing000000"] {
        let sim = Simulator::new();
        let vidra = cached(&sim);
        let lookup = match id.starts_with("PL") {
            true => {
                vidra.playlist_videos_page(&playlist(id), None, 50).await.unwrap();
                Lookup::PlaylistFeed(playlist(id))
            }
            false => {
                vidra.lookup(&Lookup::Uploads(channel(id))).await.unwrap();
                Lookup::ChannelFeed(channel(id))
            }
        };
        // The parts are stale now, and the cache serves them at once.
        let time = Duration::from_secs(1800);
        advance(time).await;
        let replaced = vidra.lookup(&lookup).await.unwrap();
        assert!(replaced.age >= time, "{id}: {:?}", replaced.age);
    }
}
