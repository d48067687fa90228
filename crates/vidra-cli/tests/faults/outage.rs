//! F1, F2, F3: the platform fails or hangs. The service's own tests have the same for half a minute and
//! more, on a clock that is stopped.

use std::time::{Duration, Instant};

use vidra_sim::{Action, Fault};

use crate::callers::{Caller, Heard};
use crate::platform::Platform;

/// Past its freshness soon, and in grace for an hour.
const SOON_STALE: (&str, &str) = ("VIDRA_CACHE_TTL", "1s");

/// How long the trouble lasts here.
const TROUBLE: Duration = Duration::from_secs(3);

fn is_stale(heard: &Heard) -> bool {
    heard.header("x-cache") == Some("stale")
}

#[test]
fn f1_f2_what_is_known_outlives_a_platform_that_fails_or_hangs() {
    for trouble in [Action::status(503), Action::Hang, Action::Reset] {
        let platform = Platform::new();
        let service = platform.service(&[SOON_STALE]);
        service.get("/api/playlist/PLsize50");
        let paths = Platform::videos(&service, "PLsize50");
        let mut caller = Caller::of(service.address);
        platform.sim.inject(Fault::any(trouble.clone()));
        platform.sim.reset_record();
        let begun = Instant::now();
        let mut stale = 0;
        while begun.elapsed() < TROUBLE {
            for path in &paths {
                let heard = caller.get(path).unwrap();
                assert_eq!(heard.status, 200, "{path}, {trouble:?}");
                stale += u32::from(is_stale(&heard));
                let age: u64 = heard.header("age").unwrap().parse().unwrap();
                assert!(age <= begun.elapsed().as_secs() + 5, "{age}");
            }
        }
        let attempts = platform.sim.record().calls;
        assert!(stale > 0 && attempts <= 50, "{stale} stale, {attempts} attempts, {trouble:?}");
        println!("{trouble:?}: {stale} stale answers, 0 errors, {attempts} attempts");
        // Well again: everything that is asked for is fresh soon after.
        platform.sim.clear_faults();
        let well = Instant::now();
        while paths.iter().any(|path| is_stale(&caller.get(path).unwrap())) {
            assert!(well.elapsed() < Duration::from_secs(60), "it stays stale, {trouble:?}");
        }
    }
}

#[test]
fn f3_what_is_not_known_is_refused_at_once_with_the_time_to_wait() {
    let platform = Platform::new();
    // Retries would be more of the same, and slow.
    let settings =
        [("VIDRA_RETRIES", "0"), ("VIDRA_UPSTREAM_TIMEOUT", "2s"), ("VIDRA_BREAKER_PAUSE", "60s")];
    for trouble in [Action::status(503), Action::Hang] {
        let service = platform.service(&settings);
        platform.sim.inject(Fault::any(trouble.clone()));
        platform.sim.reset_record();
        let address = service.address;
        let ask = move |number: usize| {
            let mut caller = Caller::of(address);
            caller.get(&format!("/api/channel/@nobody{number}")).unwrap()
        };
        // Those who find out: together, because some of them wait.
        std::thread::scope(|scope| {
            let first: Vec<_> = (0..5).map(|number| scope.spawn(move || ask(number))).collect();
            for heard in first.into_iter().map(|asked| asked.join().unwrap()) {
                assert!(matches!(heard.status, 502..=504), "{heard:?}");
                assert!(heard.took < Duration::from_secs(4), "{:?}", heard.took);
            }
        });
        let calls = platform.sim.record().calls;
        let (mut took, mut plain) = (vec![], vec![]);
        for number in 5..105 {
            // The duration of a trivial request on this machine at this moment.
            plain.push(Caller::of(address).get("/healthz").unwrap().took);
            let heard = ask(number);
            assert_eq!(heard.status, 503, "{heard:?}");
            let seconds: u64 = heard.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=72).contains(&seconds), "{seconds}");
            let body = String::from_utf8(heard.body).unwrap();
            assert!(body.starts_with("{\"error\":{\"code\":503,"), "{body}");
            assert!(!body.contains("status 503"), "the platform's words are not passed on: {body}");
            took.push(heard.took);
        }
        assert_eq!(platform.sim.record().calls, calls, "nothing is asked any more");
        took.sort_unstable();
        plain.sort_unstable();
        println!(
            "{trouble:?}: 503 in {:?} (median of 100), {:?} at most; /healthz {:?} and {:?}",
            took[50], took[99], plain[50], plain[99]
        );
        // Beyond what any request takes where others use the machine too: half of them, nine of ten, all.
        for (rank, most) in [(50, 10), (90, 50), (99, 1_000)] {
            let most = plain[rank] + Duration::from_millis(most);
            assert!(took[rank] < most, "{trouble:?}, {rank} of 100: {:?} of {most:?}", took[rank]);
        }
        platform.sim.clear_faults();
    }
}
