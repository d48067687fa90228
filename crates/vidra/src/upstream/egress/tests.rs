use super::*;
use crate::upstream::transport::Network;

const MINUTE: Duration = Duration::from_secs(60);

/// Addresses that may ask once a minute.
fn egresses(count: usize, now: Instant) -> Egresses {
    let requests = Some(Pace { burst: 1, per_hour: 60 });
    let failures = Pauses { first: MINUTE, longest: MINUTE };
    let care = Care { requests, translations: None, failures, pause: 10 * MINUTE };
    let one = || Egress::new("one".to_owned(), 1, Arc::new(Network::new()), care, now);
    Egresses::new(std::iter::repeat_with(one).take(count).collect())
}

/// Which one is chosen; it takes a turn.
fn chosen(egresses: &Egresses, now: Instant) -> usize {
    let in_use = egresses.choose(Load::Captions, now).ok().unwrap();
    in_use.pacer.turn(now, Duration::MAX).unwrap();
    egresses.all.iter().position(|egress| std::ptr::eq(egress, in_use.egress)).unwrap()
}

#[tokio::test]
async fn who_may_ask_soonest_is_chosen_and_equals_in_turn() {
    let now = Instant::now();
    let egresses = egresses(3, now);
    egresses.all[1].pacer.turn(now, Duration::MAX).unwrap();
    egresses.all[1].pacer.turn(now, Duration::MAX).unwrap();
    let order: Vec<usize> = (0..7).map(|_| chosen(&egresses, now)).collect();
    assert_eq!(order, [0, 2, 2, 0, 1, 2, 0]);
}

#[tokio::test]
async fn where_captions_fail_only_players_are_asked() {
    let now = Instant::now();
    let egresses = egresses(2, now);
    for _ in 0..5 {
        let pass = egresses.all[0].breaker(Load::Translation).admit(now);
        pass.unwrap().tell(Some(true));
    }
    let chosen = |load| {
        let in_use = egresses.choose(load, now).ok().unwrap();
        egresses.all.iter().position(|egress| std::ptr::eq(egress, in_use.egress)).unwrap()
    };
    let order = [Load::Captions, Load::Captions, Load::Player, Load::Translation].map(chosen);
    assert_eq!(order, [1, 1, 0, 1]);
    assert!(!egresses.are_failing(Load::Captions, now));
}

#[tokio::test]
async fn finding_out_does_not_begin_by_waiting_for_a_turn() {
    let now = Instant::now();
    let egresses = egresses(1, now);
    let egress = egresses.choose(Load::Captions, now).ok().unwrap();
    for _ in 0..12 {
        egress.pacer.turn(now, Duration::MAX).unwrap();
    }
    assert_eq!(egress.blocked(Reason::RateLimited, None, now), 10 * MINUTE);
    drop(egress);
    let blocked = |now| egresses.report(now).blocked;
    assert_eq!((blocked(now), blocked(now + 11 * MINUTE)), (1, 0));
    let refused = |now| egresses.choose(Load::Captions, now).err();
    assert_eq!(refused(now + 9 * MINUTE), Some((Reason::RateLimited, MINUTE)));
    let over = now + 11 * MINUTE;
    assert_eq!(refused(over), Some((Reason::RateLimited, MINUTE)), "until its turn comes");
    let probe = egresses.choose(Load::Captions, over + MINUTE).ok().unwrap();
    assert_eq!(probe.pacer.turn(over + MINUTE, Duration::ZERO), Ok(Duration::ZERO));
    assert_eq!(refused(over + MINUTE), Some((Reason::RateLimited, MINUTE)), "and the next turn");
    assert_eq!(refused(over + 2 * MINUTE), Some((Reason::RateLimited, PROBE_TIME)));
    probe.trusted();
    assert!(egresses.choose(Load::Captions, over + 2 * MINUTE).is_ok());
}
