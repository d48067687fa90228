use super::pool::{Closed, Egresses};
use super::*;
use crate::transport::Network;

const MINUTE: Duration = Duration::from_secs(60);

/// Addresses with a rate limit of one request a minute.
pub(super) fn egresses(count: usize, now: Instant) -> Egresses {
    let requests = Some(Pace { burst: 1, per_hour: 60 });
    let breaker = BreakerPolicy { failures: 5, first_pause: MINUTE, longest_pause: MINUTE };
    let settings = EgressLimits { requests, translations: None, breaker, block_pause: 10 * MINUTE };
    let one = |_| EgressAddress {
        name: "one".to_owned(),
        identity: "one".to_owned(),
        transport: Arc::new(Network::new()),
    };
    Egresses::new((0..count).map(one).collect(), settings, now)
}

/// The number of the chosen address, which uses a permit.
fn chosen(egresses: &Egresses, now: Instant) -> usize {
    let in_use =
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now).ok().unwrap();
    in_use.pacer.spend(now);
    egresses.all.iter().position(|egress| std::ptr::eq(egress, in_use.egress)).unwrap()
}

#[tokio::test]
async fn the_earliest_address_is_chosen_and_equal_ones_take_turns() {
    let now = Instant::now();
    let egresses = egresses(3, now);
    egresses.all[1].pacer.spend(now);
    egresses.all[1].pacer.spend(now);
    let order: Vec<usize> = (0..7).map(|_| chosen(&egresses, now)).collect();
    assert_eq!(order, [0, 2, 2, 0, 1, 2, 0]);
}

#[tokio::test]
async fn an_address_with_failing_captions_is_used_only_for_players() {
    let now = Instant::now();
    let egresses = egresses(2, now);
    for _ in 0..5 {
        let pass = egresses.all[0].breaker(WebRequestKind::Translation).admit(now);
        pass.unwrap().record(Some(true));
    }
    let chosen = |kind| {
        let in_use = egresses.choose(kind, Urgency::Interactive, &[], now).ok().unwrap();
        egresses.all.iter().position(|egress| std::ptr::eq(egress, in_use.egress)).unwrap()
    };
    let order = [
        WebRequestKind::Captions,
        WebRequestKind::Captions,
        WebRequestKind::Player,
        WebRequestKind::Translation,
    ]
    .map(chosen);
    assert_eq!(order, [1, 1, 0, 1]);
    assert!(!egresses.are_failing(WebRequestKind::Captions, now));
}

#[tokio::test]
async fn a_probe_does_not_start_before_its_turn() {
    let now = Instant::now();
    let egresses = egresses(1, now);
    let egress =
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now).ok().unwrap();
    for _ in 0..12 {
        egress.pacer.spend(now);
    }
    assert_eq!(egress.blocked(Reason::UpstreamRateLimited, None, now), 10 * MINUTE);
    drop(egress);
    let blocked = |now| egresses.report(now).blocked;
    assert_eq!((blocked(now), blocked(now + 11 * MINUTE)), (1, 0));
    let refused = |now| {
        egresses
            .choose(WebRequestKind::Captions, Urgency::Interactive, &[], now)
            .err()
            .map(|closed| (closed.why, closed.wait))
    };
    assert_eq!(refused(now + 9 * MINUTE), Some((Reason::UpstreamRateLimited, MINUTE)));
    let over = now + 11 * MINUTE;
    assert_eq!(refused(over), Some((Reason::Paced, MINUTE)), "until its turn comes");
    let probe = egresses
        .choose(WebRequestKind::Captions, Urgency::Interactive, &[], over + MINUTE)
        .ok()
        .unwrap();
    assert_eq!(probe.pacer.wait(Urgency::Interactive, over + MINUTE), Duration::ZERO);
    probe.pacer.spend(over + MINUTE);
    assert_eq!(
        refused(over + MINUTE),
        Some((Reason::UpstreamRateLimited, MINUTE)),
        "and the next turn"
    );
    assert_eq!(refused(over + 2 * MINUTE), Some((Reason::UpstreamRateLimited, PROBE_TIME)));
    probe.trusted();
    assert!(
        egresses
            .choose(WebRequestKind::Captions, Urgency::Interactive, &[], over + 2 * MINUTE)
            .is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_succeeds_does_not_end_a_newer_block() {
    let start = Instant::now();
    let egresses = egresses(1, start);
    let choose = |now| egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now);
    let (first, late) = (choose(start).ok().unwrap(), choose(start).ok().unwrap());
    let pause = first.blocked(Reason::Blocked, None, start);
    let over = start + pause;
    let probe = choose(over).ok().unwrap();
    // An earlier request hits another block while the probe is running.
    late.blocked(Reason::Blocked, None, over);
    probe.trusted();
    assert_eq!(choose(over).err().map(|closed| closed.why), Some(Reason::Blocked));
    // An old probe does not end a new one either.
    let again = over + 2 * pause;
    let newer = choose(again).ok().unwrap();
    drop(probe);
    assert!(choose(again).is_err(), "a probe is running");
    newer.trusted();
    assert!(choose(again).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_for_the_first_available_address() {
    let now = Instant::now();
    let egresses = egresses(2, now);
    let (one, other) = (
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now).ok().unwrap(),
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now).ok().unwrap(),
    );
    one.blocked(Reason::Blocked, None, now);
    let over = now + 10 * MINUTE;
    for _ in 0..3 {
        one.pacer.spend(over);
    }
    other.blocked(Reason::Blocked, None, over - 9 * MINUTE);
    let closed =
        |at| egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], at).err();
    let expected = Closed {
        why: Reason::Blocked,
        wait: MINUTE,
        pace_wait: Some(3 * MINUTE),
        is_probed: false,
    };
    assert_eq!(closed(over), Some(expected));
    let probe =
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], over + MINUTE).ok();
    assert!(probe.is_some(), "the second address is open first");
    assert!(closed(over + MINUTE).is_some_and(|closed| closed.is_probed));
}

#[tokio::test(start_paused = true)]
async fn a_request_tries_every_address_once() {
    let now = Instant::now();
    let egresses = egresses(2, now);
    let first =
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, &[], now).ok().unwrap();
    first.blocked(Reason::Blocked, None, now);
    // The pause is over, but the rate limiter delays the second address.
    let over = now + 11 * MINUTE;
    let other = if first.number == 1 { 2 } else { 1 };
    egresses.all[other - 1].pacer.spend(over);
    let chosen = |tried: &[usize]| {
        egresses
            .choose(WebRequestKind::Captions, Urgency::Interactive, tried, over)
            .ok()
            .map(|egress| egress.number)
    };
    assert_eq!(chosen(&[]), Some(first.number));
    assert_eq!(chosen(&[first.number]), Some(other));
    assert_eq!(chosen(&[1, 2]), None);
}

#[tokio::test]
async fn a_probe_of_an_address_that_was_tried_is_not_waited_for() {
    let now = Instant::now();
    let egresses = egresses(2, now);
    let choose = |tried: &[usize], now| {
        egresses.choose(WebRequestKind::Captions, Urgency::Interactive, tried, now)
    };
    for tried in [&[2][..], &[1]] {
        choose(tried, now).ok().unwrap().blocked(Reason::Blocked, None, now);
    }
    let over = now + 10 * MINUTE;
    // Another block of the second address, while the first one is probed.
    let _probe = choose(&[2], over).ok().unwrap();
    choose(&[1], over).ok().unwrap().blocked(Reason::Blocked, None, over);
    let is_probed = |tried: &[usize]| choose(tried, over).err().unwrap().is_probed;
    assert!(is_probed(&[]));
    assert!(!is_probed(&[1]));
}
