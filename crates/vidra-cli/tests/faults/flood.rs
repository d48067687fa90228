//! F20: a flood of misses beside cache hits. `vidra-bench` measures the latency of the hits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::callers::Caller;
use crate::platform::Platform;

const FLOOD: usize = 10_000;
const CALLERS: usize = 64;

#[test]
fn f20_hits_succeed_during_ten_thousand_misses() {
    let platform = Platform::new();
    // Fewer slots than callers, so that some requests are rejected.
    let service = platform.service(&[("VIDRA_MAX_MISSES", "16")]);
    service.get("/api/playlist/PLsize50");
    let known = Platform::videos(&service, "PLsize50");
    for path in &known {
        service.get(path);
    }
    platform.sim.set_latency(Duration::from_millis(20));
    let address = service.address;
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let flood = || {
        let (mut caller, mut statuses) = (Caller::new(address), BTreeMap::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= FLOOD {
                return statuses;
            }
            let response = caller.get(&format!("/api/video/flood-{number:05}")).unwrap();
            if response.status == 503 {
                assert!(response.header("retry-after").is_some());
            }
            *statuses.entry(response.status).or_insert(0) += 1;
        }
    };
    let hits = || {
        let (mut caller, mut count) = (Caller::new(address), 0);
        while !is_over.load(Ordering::Relaxed) {
            for path in &known {
                let response = caller.get(path).unwrap();
                assert_eq!((response.status, response.header("x-cache")), (200, Some("hit")));
                count += 1;
            }
        }
        count
    };
    thread::scope(|scope| {
        let hits: Vec<_> = (0..4).map(|_| scope.spawn(hits)).collect();
        let floods: Vec<_> = (0..CALLERS).map(|_| scope.spawn(flood)).collect();
        let mut statuses = BTreeMap::new();
        for flood in floods {
            for (status, count) in flood.join().unwrap() {
                *statuses.entry(status).or_insert(0) += count;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let hits: usize = hits.into_iter().map(|hits| hits.join().unwrap()).sum();
        println!("{hits} hits without an error beside {FLOOD} misses: {statuses:?}");
        assert!(hits > FLOOD / 100, "{hits}");
        assert!(statuses.keys().all(|status| matches!(status, 404 | 503)), "{statuses:?}");
        assert!(statuses.len() == 2, "some are answered and some rejected: {statuses:?}");
    });
}
