//! F1, F2, F3: the platform fails or hangs. The tests of the service cover half a minute and more with a
//! paused clock.

use std::time::{Duration, Instant};

use vidra_sim::{Action, Fault};

use crate::callers::{Caller, Response};
use crate::platform::Platform;

/// Fresh for a second, then in grace for an hour.
const SOON_STALE: (&str, &str) = ("VIDRA_CACHE_TTL", "1s");

/// The length of the outage.
const OUTAGE: Duration = Duration::from_secs(3);

fn is_stale(response: &Response) -> bool {
    response.header("x-cache") == Some("stale")
}

#[test]
fn f1_f2_cached_answers_are_served_while_the_platform_fails_or_hangs() {
    for fault in [Action::status(503), Action::Hang, Action::Reset] {
        let platform = Platform::new();
        let service = platform.service(&[SOON_STALE]);
        service.get("/api/playlist/PLsize50");
        let paths = Platform::videos(&service, "PLsize50");
        let mut caller = Caller::new(service.address);
        platform.sim.inject(Fault::any(fault.clone()));
        platform.sim.reset_record();
        let begun = Instant::now();
        let mut stale = 0;
        while begun.elapsed() < OUTAGE {
            for path in &paths {
                let response = caller.get(path).unwrap();
                assert_eq!(response.status, 200, "{path}, {fault:?}");
                stale += u32::from(is_stale(&response));
                let age: u64 = response.header("age").unwrap().parse().unwrap();
                assert!(age <= begun.elapsed().as_secs() + 5, "{age}");
            }
        }
        let attempts = platform.sim.record().calls;
        assert!(stale > 0 && attempts <= 50, "{stale} stale, {attempts} attempts, {fault:?}");
        println!("{fault:?}: {stale} stale answers, 0 errors, {attempts} attempts");
        // After recovery every requested answer is soon fresh.
        platform.sim.clear_faults();
        let recovered = Instant::now();
        while paths.iter().any(|path| is_stale(&caller.get(path).unwrap())) {
            assert!(recovered.elapsed() < Duration::from_secs(60), "answers stay stale, {fault:?}");
        }
    }
}

#[test]
fn f3_uncached_requests_fail_at_once_with_retry_after() {
    let platform = Platform::new();
    // Retries would only slow the test down.
    let settings =
        [("VIDRA_RETRIES", "0"), ("VIDRA_UPSTREAM_TIMEOUT", "2s"), ("VIDRA_BREAKER_PAUSE", "60s")];
    for fault in [Action::status(503), Action::Hang] {
        let service = platform.service(&settings);
        platform.sim.inject(Fault::any(fault.clone()));
        platform.sim.reset_record();
        let address = service.address;
        let get_channel = move |number: usize| {
            let mut caller = Caller::new(address);
            caller.get(&format!("/api/channel/@nobody{number}")).unwrap()
        };
        // The requests that open the breaker. They run concurrently, because some of them wait.
        std::thread::scope(|scope| {
            let first: Vec<_> =
                (0..5).map(|number| scope.spawn(move || get_channel(number))).collect();
            for response in first.into_iter().map(|handle| handle.join().unwrap()) {
                assert!(matches!(response.status, 502..=504), "{response:?}");
                assert!(response.took < Duration::from_secs(4), "{:?}", response.took);
            }
        });
        let calls = platform.sim.record().calls;
        let (mut took, mut plain) = (vec![], vec![]);
        for number in 5..105 {
            // The duration of a trivial request on this machine at this moment.
            plain.push(Caller::new(address).get("/healthz").unwrap().took);
            let response = get_channel(number);
            assert_eq!(response.status, 503, "{response:?}");
            let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=72).contains(&seconds), "{seconds}");
            let body = String::from_utf8(response.body).unwrap();
            assert!(body.starts_with("{\"error\":{\"code\":503,"), "{body}");
            assert!(!body.contains("status 503"), "the platform's text is not passed on: {body}");
            took.push(response.took);
        }
        assert_eq!(platform.sim.record().calls, calls, "no further call is sent");
        took.sort_unstable();
        plain.sort_unstable();
        println!(
            "{fault:?}: 503 in {:?} (median of 100), {:?} at most; /healthz {:?} and {:?}",
            took[50], took[99], plain[50], plain[99]
        );
        // On top of the duration of a trivial request: the limits for half, nine of ten, and all.
        for (rank, most) in [(50, 10), (90, 50), (99, 1_000)] {
            let most = plain[rank] + Duration::from_millis(most);
            assert!(took[rank] < most, "{fault:?}, {rank} of 100: {:?} of {most:?}", took[rank]);
        }
        platform.sim.clear_faults();
    }
}
