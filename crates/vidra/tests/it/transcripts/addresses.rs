//! Egress addresses: pace, blocks, proxies.

use std::time::Duration;

use tokio::time::Instant;
use vidra::{LanguageCode, Network, Pace, Pacing, Reason, TranscriptQuery};
use vidra_sim::proxy::{Proxy, ProxyMode};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use super::video;
use crate::sim::builder;

#[tokio::test(start_paused = true)]
async fn after_a_block_nothing_is_sent_until_the_pause_is_over() {
    let sim = Simulator::new();
    sim.block_after(1);
    let vidra = builder(&sim).block_pause(Duration::from_secs(900)).build().unwrap();
    let fetch = async || vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await;
    fetch().await.unwrap();
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::Blocked);
    let calls = sim.record().calls;
    for _ in 0..10 {
        let error = fetch().await.unwrap_err();
        assert_eq!(error.reason(), Reason::Blocked);
        assert!(error.retry_after().is_some_and(|wait| wait <= Duration::from_secs(900)));
    }
    assert_eq!(sim.record().calls, calls, "no further call");
    // One probe is sent and fails; the next pause is longer.
    tokio::time::advance(Duration::from_secs(901)).await;
    fetch().await.unwrap_err();
    assert_eq!(sim.record().calls, calls + 1);
    tokio::time::advance(Duration::from_secs(901)).await;
    fetch().await.unwrap_err();
    assert_eq!(sim.record().calls, calls + 1);
    sim.unblock();
    tokio::time::advance(Duration::from_secs(900)).await;
    fetch().await.unwrap();
    fetch().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_the_platform_extends_the_pause() {
    // `Retry-After`, the configured pause, and the resulting pause, in seconds.
    for (header, configured, pause) in [("1800", 60, 1800), ("30", 900, 900), ("999999", 60, 7200)]
    {
        let sim = Simulator::new();
        let too_many = Action::status(429).retry_after(header);
        sim.inject(Fault::on(Endpoint::Player, too_many).once());
        let vidra = builder(&sim).block_pause(Duration::from_secs(configured)).build().unwrap();
        let fetch = async || vidra.transcript(video("txManualAsr"), &DEFAULT_QUERY).await;
        let error = fetch().await.unwrap_err();
        let actual = (error.reason(), error.retry_after());
        assert_eq!(actual, (Reason::UpstreamRateLimited, Some(Duration::from_secs(pause))));
        tokio::time::advance(Duration::from_secs(pause - 1)).await;
        let early = fetch().await.unwrap_err();
        assert_eq!(early.retry_after(), Some(Duration::from_secs(1)));
        assert_eq!(sim.record().calls, 1, "nothing is sent before");
        tokio::time::advance(Duration::from_secs(1)).await;
        fetch().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_is_repeated_by_the_next_request() {
    let sim = Simulator::builder().latency(Duration::from_secs(1)).build();
    sim.block_after(0);
    let vidra = builder(&sim).block_pause(Duration::from_secs(900)).build().unwrap();
    let fetch = async || vidra.transcript(video("txManualAsr"), &DEFAULT_QUERY).await;
    fetch().await.unwrap_err();
    sim.unblock();
    tokio::time::advance(Duration::from_secs(901)).await;
    let gone = tokio::time::timeout(Duration::from_millis(10), fetch()).await;
    assert!(gone.is_err(), "the caller leaves before the answer");
    fetch().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn while_translations_are_limited_none_is_sent() {
    let sim = Simulator::new();
    let vidra = builder(&sim).block_pause(Duration::from_secs(900)).build().unwrap();
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    let fetch = async |query| vidra.transcript(video("txManualAsr"), query).await;
    let too_many = |seconds: Option<&str>| {
        let action = Action::status(429);
        let action = seconds.map_or(action.clone(), |seconds| action.retry_after(seconds));
        sim.inject(Fault::on(Endpoint::TimedText, action).when("tlang", "de").once());
    };
    let translations = || {
        let record = sim.record();
        record.requests_to(Endpoint::TimedText).filter(|s| s.parameter("tlang").is_some()).count()
    };
    for (named, pause, sent_before) in [(Some("7"), 7, 0), (None, 60, 2)] {
        too_many(named);
        for passed in [0, 2] {
            tokio::time::advance(Duration::from_secs(passed)).await;
            let error = fetch(&german).await.unwrap_err();
            assert_eq!(error.reason(), Reason::TranslationLimited);
            assert_eq!(error.retry_after(), Some(Duration::from_secs(pause - passed)));
            assert_eq!(translations(), sent_before + 1, "once, and not again");
            fetch(&DEFAULT_QUERY).await.unwrap();
        }
        tokio::time::advance(Duration::from_secs(pause - 2)).await;
        fetch(&german).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn transcripts_are_paced() {
    let sim = Simulator::new();
    let pace = Pacing::At(Pace { burst: 3, per_hour: 360 });
    let vidra = builder(&sim).pacing(pace).deadline(Duration::from_secs(25)).build().unwrap();
    let started = Instant::now();
    for _ in 0..5 {
        vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap();
    }
    assert_eq!(started.elapsed().as_secs(), 20, "three at once, then one every ten seconds");
    let ids = ["txManualAsr", "txOneCue___", "txManualOnl", "txAsrOnly__", "txAsrFirst_"];
    let all = ids.map(|id| vidra.transcript(video(id), &DEFAULT_QUERY));
    let results = futures_util::future::join_all(all).await;
    let late: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert_eq!(late.len(), 3, "those whose turn is past their deadline");
    for error in late {
        assert_eq!(error.reason(), Reason::Paced);
        assert!(error.retry_after().is_some_and(|wait| wait > Duration::from_secs(25)));
    }
}

#[tokio::test(start_paused = true)]
async fn translations_have_their_own_pace_of_a_tenth() {
    let sim = Simulator::new();
    let vidra =
        builder(&sim).pacing(Pacing::At(Pace { burst: 20, per_hour: 3600 })).build().unwrap();
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    let timed = async |query: &TranscriptQuery| {
        let started = Instant::now();
        vidra.transcript(video("txManualAsr"), query).await.unwrap();
        started.elapsed().as_secs()
    };
    let mut waits = vec![];
    for _ in 0..4 {
        waits.push(timed(&german).await);
    }
    assert_eq!(waits, [0, 0, 10, 10], "two at once, then one every ten seconds");
    let plain = async {
        let mut waits = vec![];
        for _ in 0..10 {
            waits.push(timed(&DEFAULT_QUERY).await);
        }
        waits
    };
    let (translation, captions) = tokio::join!(timed(&german), plain);
    assert_eq!((translation, captions), (10, vec![0; 10]), "captions do not wait for translations");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_translation_sends_nothing() {
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    let delayed = |error: &vidra::Error| {
        assert_eq!(error.reason(), Reason::Paced);
        error.message().to_owned()
    };
    let limited = |error: &vidra::Error| {
        assert_eq!(error.reason(), Reason::TranslationLimited);
        error.message().to_owned()
    };
    type Check = fn(&vidra::Error) -> String;
    let table: [(bool, Check, &str); 2] = [
        (
            false,
            delayed,
            "The service delays translations, so that YouTube does not limit them: txManualAsr",
        ),
        (true, limited, "YouTube limits translations for the address of this service"),
    ];
    for (by_the_platform, check, message) in table {
        let sim = Simulator::new();
        let vidra = builder(&sim)
            .pacing(Pacing::At(Pace { burst: 10, per_hour: 3600 }))
            .block_pause(Duration::from_secs(900))
            .deadline(Duration::from_secs(5))
            .build()
            .unwrap();
        let fetch = async |query| vidra.transcript(video("txManualAsr"), query).await;
        if by_the_platform {
            sim.inject(Fault::on(Endpoint::TimedText, Action::status(429)).once());
        }
        let _ = fetch(&german).await;
        for _ in 0..20 {
            assert_eq!(check(&fetch(&german).await.unwrap_err()), message);
        }
        assert_eq!(sim.record().calls_to(Endpoint::Player), 1);
        let started = Instant::now();
        for _ in 0..9 {
            fetch(&DEFAULT_QUERY).await.unwrap();
        }
        assert_eq!(started.elapsed().as_secs(), 0, "rejected translations took no turns");
    }
}

static DEFAULT_QUERY: std::sync::LazyLock<TranscriptQuery> =
    std::sync::LazyLock::new(TranscriptQuery::default);

#[tokio::test(start_paused = true)]
async fn a_simulated_platform_is_not_paced() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let started = Instant::now();
    for _ in 0..400 {
        vidra.transcript(video("txOneCue___"), &TranscriptQuery::default()).await.unwrap();
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    let careful = builder(&sim).web_url("https://www.youtube.com").build().unwrap();
    let started = Instant::now();
    for _ in 0..301 {
        careful.transcript(video("txOneCue___"), &TranscriptQuery::default()).await.unwrap();
    }
    assert!(started.elapsed() > Duration::from_secs(3), "300 at once, and then 1,000 an hour");
}

#[tokio::test]
async fn a_blocked_or_dead_proxy_is_skipped() {
    let sim = Simulator::new();
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = sim.listen(loopback).await.unwrap();
    let mut proxies = vec![];
    for name in ["a", "b", "c"] {
        proxies.push(Proxy::listen_towards(name, listening.addr()).await.unwrap());
    }
    let through = [proxies[0].url(), proxies[1].socks_url(), proxies[2].url()];
    let through = through.iter().map(|url| Network::through(url).unwrap()).collect();
    let vidra = builder(&sim)
        .web_url(&listening.web_url())
        .proxies(through)
        .block_pause(Duration::from_secs(900))
        .build()
        .unwrap();
    let fetch = async || vidra.transcript(video("txOneCue___"), &TranscriptQuery::default()).await;
    for _ in 0..6 {
        fetch().await.unwrap();
    }
    assert!(proxies.iter().all(|proxy| proxy.requests() + proxy.tunnels() > 0), "used in turn");
    proxies[2].set_mode(ProxyMode::Dead);
    for _ in 0..6 {
        fetch().await.unwrap();
    }
    let before = proxies[0].requests();
    sim.block_egress_after("a", 0);
    for _ in 0..6 {
        fetch().await.unwrap();
    }
    assert_eq!(proxies[0].requests(), before + 1, "the request that met the block");
}

#[tokio::test]
async fn a_translation_uses_an_address_that_is_not_limited() {
    let sim = Simulator::new();
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = sim.listen(loopback).await.unwrap();
    let a = Proxy::listen_towards("a", listening.addr()).await.unwrap();
    let b = Proxy::listen_towards("b", listening.addr()).await.unwrap();
    let through = [a.url(), b.url()].iter().map(|url| Network::through(url).unwrap()).collect();
    let vidra = builder(&sim)
        .web_url(&listening.web_url())
        .proxies(through)
        .block_pause(Duration::from_secs(900))
        .build()
        .unwrap();
    let too_many = Fault::on(Endpoint::TimedText, Action::status(429)).when("tlang", "de").once();
    sim.inject(too_many);
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    for _ in 0..4 {
        vidra.transcript(video("txManualAsr"), &german).await.unwrap();
    }
    let record = sim.record();
    let translations = record.requests_to(Endpoint::TimedText);
    assert_eq!(translations.count(), 5, "the one that met the limit, and one for each");
}

#[test]
fn proxies_are_configured_by_url() {
    for good in [
        "http://127.0.0.1:8080",
        "https://user:word@proxy.example:3128",
        "socks5://127.0.0.1:1080",
        "socks5h://p.example:1",
    ] {
        assert!(Network::through(good).is_ok(), "{good}");
    }
    for bad in ["", "ftp://x", "127.0.0.1:8080", "http://"] {
        assert!(Network::through(bad).is_err(), "{bad}");
    }
}
