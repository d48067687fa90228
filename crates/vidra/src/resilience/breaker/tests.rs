use super::*;
use crate::resilience::circuit::PROBE_TIME;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: BreakerPolicy = BreakerPolicy {
    failures: 5,
    first_pause: Duration::from_secs(30),
    longest_pause: Duration::from_secs(300),
};
/// No jitter.
const EVEN: fn() -> f64 = || 0.5;

fn breaker(policy: BreakerPolicy) -> (Counting, Instant) {
    let now = Instant::now();
    (Counting::new(policy, now), now)
}

/// Admits a call and records its outcome.
fn call(breaker: &mut Counting, is_failure: Option<bool>, now: Instant) -> Option<Change> {
    let admission = breaker.circuit.admit(now).unwrap();
    breaker.end(admission, is_failure, now, EVEN)
}

#[test]
fn five_consecutive_failures_open_the_breaker() {
    let (mut breaker, now) = breaker(POLICY);
    for is_failure in [true, true, true, true, false, true, true, true, true] {
        assert_eq!(call(&mut breaker, Some(is_failure), now), None);
    }
    // An outcome that says nothing does not count.
    assert_eq!(call(&mut breaker, None, now), None);
    let pause = 30 * SECOND;
    assert_eq!(call(&mut breaker, Some(true), now), Some(Change::Opened { times: 1, pause }));
    assert_eq!(breaker.circuit.admit(now), Err(((), pause)));
    assert_eq!(breaker.circuit.admit(now + 29 * SECOND), Err(((), SECOND)));
    assert_eq!(breaker.circuit.state(now), BreakerState::Open);
}

#[test]
fn ten_failures_of_twenty_calls_within_ten_seconds_open_the_breaker() {
    // Failures and successes in turn, the number of seconds, and whether the breaker opens.
    let table = [
        (1, 1, 0, true),
        (1, 1, 9, true),
        (1, 1, 30, false),
        (4, 5, 0, false),
        (4, 4, 0, true),
        (1, 9, 0, false),
    ];
    for (failures, answers, seconds, opens) in table {
        let (mut breaker, start) = breaker(POLICY);
        let rounds = 40 / (failures + answers);
        let mut opened = None;
        for round in 0..rounds {
            let now = start + SECOND * seconds * round / rounds;
            for is_failure in (0..answers).map(|_| false).chain((0..failures).map(|_| true)) {
                if let Ok(admission) = breaker.circuit.admit(now) {
                    opened = opened.or(breaker.end(admission, Some(is_failure), now, EVEN));
                }
            }
        }
        let case = format!("{failures} of {} in {seconds} s", failures + answers);
        assert_eq!(opened.is_some(), opens, "{case}");
    }
}

/// The window has whole seconds: calls of second 0 count until the end of second 9.
#[test]
fn calls_of_ten_seconds_ago_no_longer_count() {
    let millis = Duration::from_millis;
    // The time of 19 mixed calls, the time of the 20th failure, and whether the breaker opens.
    let table = [
        (millis(0), millis(9_999), true),
        (millis(999), millis(9_999), true),
        (millis(0), millis(10_000), false),
        (millis(999), millis(10_000), false),
        (millis(1_000), millis(10_999), true),
        (millis(1_000), millis(11_000), false),
        (millis(25_000), millis(34_999), true),
        (millis(25_000), millis(35_000), false),
        (millis(0), millis(3_600_000), false),
    ];
    for (first, last, opens) in table {
        let (mut breaker, start) = breaker(POLICY);
        for number in 0..19 {
            assert_eq!(call(&mut breaker, Some(number % 2 == 0), start + first), None);
        }
        assert_eq!(call(&mut breaker, Some(false), start + last), None);
        let opened = call(&mut breaker, Some(true), start + last);
        assert_eq!(opened.is_some(), opens, "{first:?} and {last:?}");
        // The window alone, without the last call, which would replace the oldest slot.
        let mut recent = Recent::new(start);
        for _ in 0..20 {
            recent.add(true, start + first);
        }
        assert_eq!(recent.is_bad(start + last), opens, "{first:?} until {last:?}");
    }
}

#[test]
fn after_the_pause_one_call_probes_and_each_failure_lengthens_the_pause() {
    let (mut breaker, mut now) = breaker(POLICY);
    for _ in 0..5 {
        call(&mut breaker, Some(true), now);
    }
    for (times, pause) in (2..).zip([60, 90, 120, 150, 180, 210, 240, 270, 300, 300]) {
        now += breaker.circuit.admit(now).unwrap_err().1;
        assert_eq!(breaker.circuit.state(now), BreakerState::HalfOpen);
        let probe = breaker.circuit.admit(now).unwrap();
        assert!(probe.is_probe);
        assert_eq!(breaker.circuit.admit(now), Err(((), PROBE_TIME)), "one at a time");
        let opened = Some(Change::Opened { times, pause: pause * SECOND });
        assert_eq!(breaker.end(probe, Some(true), now, EVEN), opened);
    }
    now += breaker.circuit.admit(now).unwrap_err().1;
    // A cancelled probe lets the next call probe.
    assert_eq!(call(&mut breaker, None, now), None);
    assert_eq!(breaker.circuit.state(now), BreakerState::HalfOpen);
    assert_eq!(call(&mut breaker, Some(false), now), Some(Change::Closed));
    for _ in 0..4 {
        assert_eq!(call(&mut breaker, Some(true), now), None, "the count starts from zero");
    }
    let opened = call(&mut breaker, Some(true), now);
    assert_eq!(opened, Some(Change::Opened { times: 1, pause: 30 * SECOND }));
}

#[test]
fn a_call_admitted_before_opening_is_ignored() {
    let (mut breaker, now) = breaker(POLICY);
    let admissions: Vec<Admission> = (0..20).map(|_| breaker.circuit.admit(now).unwrap()).collect();
    let (early, late) = admissions.split_at(10);
    let fail = |breaker: &mut Counting, admission: &Admission, now| {
        breaker.end(*admission, Some(true), now, EVEN)
    };
    let changes: Vec<_> =
        early.iter().map(|admission| fail(&mut breaker, admission, now)).collect();
    assert_eq!(changes.iter().flatten().count(), 1);
    assert_eq!(breaker.end(early[0], Some(false), now, EVEN), None);
    assert_eq!(breaker.circuit.refusal(now), Some(((), 30 * SECOND)));
    // Also after the breaker has closed again.
    let over = now + 30 * SECOND;
    assert_eq!(call(&mut breaker, Some(false), over), Some(Change::Closed));
    for admission in late {
        assert_eq!(fail(&mut breaker, admission, over), None);
    }
    assert_eq!(breaker.circuit.state(over), BreakerState::Closed);
}

#[test]
fn pauses_are_jittered_by_a_fifth_at_most() {
    let seed = 7;
    let mut random = fastrand::Rng::with_seed(seed);
    let pauses: Vec<f64> =
        (0..10_000).map(|_| POLICY.pause(1, random.f64()).as_secs_f64()).collect();
    assert!(pauses.iter().all(|pause| (24.0..=36.0).contains(pause)), "seed {seed}");
    assert!(pauses.iter().any(|pause| *pause < 25.0) && pauses.iter().any(|pause| *pause > 35.0));
}

#[test]
fn without_a_pause_the_breaker_never_opens() {
    let (mut breaker, now) = breaker(BreakerPolicy { first_pause: Duration::ZERO, ..POLICY });
    for _ in 0..1_000 {
        assert_eq!(call(&mut breaker, Some(true), now), None);
    }
}

#[tokio::test]
async fn a_dropped_pass_releases_the_probe() {
    let policy = BreakerPolicy { first_pause: Duration::from_nanos(1), ..POLICY };
    let breaker = Arc::new(Breaker::new("test", policy, Instant::now()));
    for _ in 0..5 {
        breaker.admit(Instant::now()).unwrap().end(CallOutcome::TimedOut, false);
    }
    let later = Instant::now() + SECOND;
    let probe = breaker.admit(later).unwrap();
    assert!(breaker.admit(later).is_err());
    drop(probe);
    breaker.admit(later).unwrap().end(CallOutcome::Refused, false);
    assert_eq!(breaker.state(later), BreakerState::Closed);
}

#[tokio::test]
async fn failed_retries_count_only_as_probes() {
    let policy = BreakerPolicy { first_pause: SECOND, longest_pause: SECOND, ..POLICY };
    let now = Instant::now();
    let breaker = Arc::new(Breaker::new("test", policy, now));
    let fail = |is_retry, now| breaker.admit(now).unwrap().end(CallOutcome::Failed, is_retry);
    for is_retry in [false, true, true, true, false, true, false, false, true] {
        fail(is_retry, now);
    }
    assert_eq!(breaker.state(now), BreakerState::Closed, "four have failed");
    fail(false, now);
    assert_eq!(breaker.state(now), BreakerState::Open);
    let later = now + 2 * SECOND;
    assert_eq!(breaker.state(later), BreakerState::HalfOpen);
    fail(true, later);
    let again = breaker.lock().circuit.openings();
    assert_eq!(again, 2, "the probe failed");
}
