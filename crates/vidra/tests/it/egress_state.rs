//! The waits of transcripts, and the state of egress addresses that survives a restart.

use std::time::Duration;

use tokio::time::{Instant, advance, sleep};
use vidra::{
    Builder, EgressBlock, EgressState, LanguageCode, Network, Pace, Pacing, Reason, RetryPolicy,
    TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

const SECOND: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(900);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .block_pause(PAUSE)
        .breaker_pause(Duration::from_secs(100))
        .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() })
}

async fn fetch(vidra: &Vidra) -> vidra::Result<()> {
    let id = VideoId::parse("txManualAsr").unwrap();
    vidra.transcript(id, &TranscriptQuery::default()).await.map(drop)
}

async fn translate(vidra: &Vidra) -> vidra::Result<()> {
    let id = VideoId::parse("txManualAsr").unwrap();
    let german = TranscriptQuery::default().with_translation(LanguageCode::parse("de").unwrap());
    vidra.transcript(id, &german).await.map(drop)
}

/// A new client with the state of an earlier one.
fn restarted(old: &Vidra, sim: &Simulator) -> Vidra {
    let vidra = builder(sim).build().unwrap();
    vidra.restore_egress_states(&old.egress_states());
    vidra
}

#[tokio::test(start_paused = true)]
async fn a_blocked_address_stays_blocked_after_a_restart() {
    let sim = Simulator::new();
    sim.block_after(0);
    let old = builder(&sim).build().unwrap();
    assert_eq!(fetch(&old).await.unwrap_err().reason(), Reason::Blocked);
    sim.unblock();
    advance(100 * SECOND).await;
    let calls = sim.record().calls;
    let vidra = restarted(&old, &sim);
    assert_eq!(vidra.transcript_wait(false), Some((Reason::Blocked, PAUSE - 100 * SECOND)));
    for _ in 0..8 {
        let error = fetch(&vidra).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Blocked);
        advance(100 * SECOND - Duration::from_millis(1)).await;
    }
    assert_eq!(sim.record().calls, calls, "nothing is sent until the pause ends");
    advance(Duration::from_millis(8)).await;
    assert_eq!(vidra.transcript_wait(false), None);
    fetch(&vidra).await.unwrap();
    assert!(vidra.egress_states()[0].blocked.is_none());
}

#[tokio::test(start_paused = true)]
async fn consecutive_blocks_are_counted_over_restarts() {
    let sim = Simulator::new();
    sim.block_after(0);
    let mut vidra = builder(&sim).build().unwrap();
    for times in 1..=3 {
        fetch(&vidra).await.unwrap_err();
        let expected = EgressBlock { reason: Reason::Blocked, times, left: PAUSE * times };
        assert_eq!(vidra.egress_states()[0].blocked, Some(expected));
        // The pause is over, but no probe has succeeded.
        advance(PAUSE * times).await;
        vidra = restarted(&vidra, &sim);
        assert_eq!(vidra.transcript_wait(false), None);
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_and_limited_translations_survive_a_restart() {
    let sim = Simulator::new();
    let old = builder(&sim).build().unwrap();
    sim.inject(Fault::on(Endpoint::TimedText, Action::status(429)).when("tlang", "de").once());
    assert_eq!(translate(&old).await.unwrap_err().reason(), Reason::TranslationLimited);
    let vidra = restarted(&old, &sim);
    assert_eq!(vidra.transcript_wait(true), Some((Reason::TranslationLimited, 60 * SECOND)));
    assert_eq!(vidra.transcript_wait(false), None);
    for endpoint in [Endpoint::Player, Endpoint::TimedText] {
        let old = builder(&sim).build().unwrap();
        sim.inject(Fault::on(endpoint, Action::status(503)));
        for _ in 0..5 {
            fetch(&old).await.unwrap_err();
        }
        sim.clear_faults();
        let calls = sim.record().calls;
        let vidra = restarted(&old, &sim);
        let state = &vidra.egress_states()[0];
        let is_open = (state.player.is_some(), state.timedtext.is_some());
        assert_eq!(is_open, (endpoint == Endpoint::Player, endpoint == Endpoint::TimedText));
        let (reason, wait) = vidra.transcript_wait(false).unwrap();
        assert_eq!(reason, Reason::Failing);
        assert!((80 * SECOND..=120 * SECOND).contains(&wait), "{wait:?}");
        assert_eq!(fetch(&vidra).await.unwrap_err().reason(), Reason::Failing);
        assert_eq!(sim.record().calls, calls);
        advance(wait).await;
        fetch(&vidra).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_spent_pace_survives_a_restart() {
    let sim = Simulator::new();
    let pace = Pace { burst: 30, per_hour: 3600 };
    let client = || builder(&sim).pacing(Pacing::At(pace)).build().unwrap();
    let old = client();
    assert_eq!(old.transcript_pace(), Some(pace));
    for _ in 0..20 {
        fetch(&old).await.unwrap();
    }
    for _ in 0..3 {
        translate(&old).await.unwrap();
    }
    let state = &old.egress_states()[0];
    assert_eq!((state.spent, state.translations_spent), (23 * SECOND, 30 * SECOND));
    let vidra = client();
    vidra.restore_egress_states(&old.egress_states());
    assert_eq!(vidra.in_background(0).transcript_wait(false), None);
    fetch(&vidra).await.unwrap();
    assert_eq!(vidra.in_background(0).transcript_wait(false), Some((Reason::Paced, SECOND)));
    assert_eq!(vidra.transcript_wait(false), None);
    assert_eq!(vidra.transcript_wait(true), Some((Reason::Paced, 10 * SECOND)));
    // An older state lowers nothing.
    vidra.restore_egress_states(&[EgressState::new("direct")]);
    assert_eq!(vidra.egress_states()[0].spent, 24 * SECOND);
    let started = Instant::now();
    for _ in 0..7 {
        fetch(&vidra).await.unwrap();
    }
    assert_eq!(started.elapsed(), SECOND, "six of the burst were left");
}

#[tokio::test(start_paused = true)]
async fn a_restored_state_shortens_no_pause_and_unknown_addresses_are_ignored() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let blocked = |address: &str, reason, times, left| {
        let mut state = EgressState::new(address);
        state.blocked = Some(EgressBlock { reason, times, left });
        state
    };
    let restore = |state| {
        vidra.restore_egress_states(&[state]);
        vidra.egress_states()[0].blocked
    };
    assert_eq!(restore(blocked("socks5://other:1", Reason::Blocked, 1, PAUSE)), None);
    assert_eq!(vidra.egress_states(), [EgressState::new("direct")]);
    let first = restore(blocked("direct", Reason::UpstreamRateLimited, 2, PAUSE)).unwrap();
    assert_eq!((first.reason, first.times, first.left), (Reason::UpstreamRateLimited, 2, PAUSE));
    assert_eq!(restore(blocked("direct", Reason::Blocked, 1, SECOND)), Some(first));
    let longest = restore(blocked("direct", Reason::Internal, 9, Duration::MAX)).unwrap();
    assert_eq!((longest.reason, longest.times), (Reason::Blocked, 9));
    assert_eq!(longest.left, Duration::from_secs(2 * 3600), "no longer than the client pauses");
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_a_probe_starts_no_other() {
    let sim = Simulator::builder().latency(10 * SECOND).build();
    sim.block_after(0);
    let vidra = builder(&sim).build().unwrap();
    fetch(&vidra).await.unwrap_err();
    sim.unblock();
    advance(PAUSE).await;
    let (calls, wait) = (sim.record().calls, || vidra.transcript_wait(false));
    for _ in 0..5 {
        assert_eq!(wait(), None, "a probe is due");
    }
    assert_eq!((sim.record().calls, vidra.held().probes), (calls, 0));
    let during = async {
        sleep(SECOND).await;
        assert_eq!(wait(), Some((Reason::Blocked, SECOND)), "the usual time of a probe");
    };
    let (probed, ()) = tokio::join!(fetch(&vidra), during);
    probed.unwrap();
    assert_eq!(wait(), None);
}

#[tokio::test(start_paused = true)]
async fn changes_of_addresses_are_counted_and_permits_are_not() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let mut changes = vidra.egress_changes();
    let mut has_changed = || {
        let has_changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        has_changed
    };
    fetch(&vidra).await.unwrap();
    assert!(!has_changed());
    sim.block_after(0);
    fetch(&vidra).await.unwrap_err();
    assert!(has_changed(), "blocked");
    fetch(&vidra).await.unwrap_err();
    assert!(!has_changed());
    sim.unblock();
    advance(PAUSE).await;
    assert!(!has_changed());
    fetch(&vidra).await.unwrap();
    assert!(has_changed(), "resumed");
    sim.inject(Fault::on(Endpoint::TimedText, Action::status(503)));
    for failures in 1..=5 {
        fetch(&vidra).await.unwrap_err();
        assert_eq!(has_changed(), failures == 5, "the breaker opens");
    }
    sim.clear_faults();
    advance(120 * SECOND).await;
    fetch(&vidra).await.unwrap();
    assert!(has_changed(), "the breaker closes");
}

#[tokio::test]
async fn proxies_are_known_by_their_urls_without_credentials() {
    let urls = [
        "http://user:secret@proxy.example:3128",
        "http://other:word@proxy.example:3128/",
        "socks5h://127.0.0.1",
        "https://[2001:db8::1]",
    ];
    let proxies = urls.iter().map(|url| Network::through(url).unwrap()).collect();
    let vidra = Vidra::builder().proxies(proxies).build().unwrap();
    let states = vidra.egress_states();
    let addresses: Vec<&str> = states.iter().map(|state| &*state.address).collect();
    let expected = [
        "http://proxy.example:3128",
        "http://proxy.example:3128#2",
        "socks5h://127.0.0.1:1080",
        "https://[2001:db8::1]:443",
    ];
    assert_eq!(addresses, expected);
    let blocked = EgressBlock { reason: Reason::Blocked, times: 1, left: PAUSE };
    let mut second = EgressState::new(expected[1]);
    second.blocked = Some(blocked);
    vidra.restore_egress_states(&[second]);
    assert_eq!((vidra.addresses().blocked, vidra.transcript_wait(false)), (1, None));
}
