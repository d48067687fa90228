//! F21: SIGTERM with many requests in flight.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vidra_sim::{Action, Endpoint, Fault};

use crate::callers::Caller;
use crate::is_long;
use crate::platform::{Platform, Running};

const KNOWN: &str = "/api/video/quirkNoLike";
const CALLERS: usize = 16;
const SLOW: usize = 20;

/// The delay of slow answers. It is below the upstream timeout of 10 seconds.
fn slow() -> Duration {
    Duration::from_secs(if is_long() { 9 } else { 4 })
}

/// A service with [`SLOW`] misses in flight, and the threads that wait for them.
fn with_slow_misses(
    platform: &Platform,
    action: Action,
) -> (Running, Vec<thread::JoinHandle<Option<u16>>>) {
    let service = platform.service(&[("VIDRA_DRAIN_DELAY", "1s")]);
    assert_eq!(service.get(KNOWN).0, 200);
    platform.sim.inject(Fault::on(Endpoint::Player, action));
    let videos = Platform::videos(&service, "PLsize50");
    let waiting = videos.iter().take(SLOW).map(|path| {
        let path = path.replace("/api/video/", "/api/transcript/");
        let mut caller = Caller::new(service.address);
        thread::spawn(move || Some(caller.get(&path).ok()?.status))
    });
    let waiting = waiting.collect();
    let all = platform.sim.until(|record| record.calls_to(Endpoint::Player) >= SLOW as u64);
    platform.runtime.block_on(all);
    (service, waiting)
}

#[test]
fn f21_sigterm_under_load_breaks_no_connection() {
    let platform = Platform::new();
    let (service, slow) = with_slow_misses(&platform, Action::delay(slow()));
    let (answered, closed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Each caller sends requests until the listener is closed. It reconnects when a connection ends.
    let address = service.address;
    let send_requests = || {
        let mut caller = Caller::new(address);
        loop {
            if caller.is_disconnected()
                && let Err(error) = caller.connect()
            {
                // The system resets a connection that it was about to complete. It has carried no request.
                let closed = [io::ErrorKind::ConnectionRefused, io::ErrorKind::ConnectionReset];
                assert!(closed.contains(&error.kind()), "the listener is closed: {error}");
                return;
            }
            let response = caller.get(KNOWN).expect("no connection breaks");
            assert_eq!(response.status, 200);
            answered.fetch_add(1, Ordering::Relaxed);
            closed.fetch_add(usize::from(caller.is_disconnected()), Ordering::Relaxed);
        }
    };
    let (code, took) = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(send_requests)).collect();
        while answered.load(Ordering::Relaxed) < 1_000 {
            thread::yield_now();
        }
        assert_eq!(closed.load(Ordering::Relaxed), 0, "no connection is closed before SIGTERM");
        service.log_until("stopping", "-TERM");
        let begun = Instant::now();
        for slow in slow {
            assert_eq!(slow.join().unwrap(), Some(200), "requests in flight are answered");
        }
        for caller in callers {
            caller.join().unwrap();
        }
        (service.ended(), begun.elapsed())
    });
    println!(
        "{} answers, {} of them the last on their connection, {SLOW} slow ones, no broken \
         connection; stopped after {took:?}",
        answered.into_inner(),
        closed.into_inner()
    );
    assert_eq!(code, Some(0));
    assert!(took <= Duration::from_secs(25), "{took:?}");
}

#[test]
fn f21_second_signal_stops_at_once() {
    let platform = Platform::new();
    let (service, _slow) = with_slow_misses(&platform, Action::Hang);
    service.log_until("stopping", "-TERM");
    let begun = Instant::now();
    service.signal("-TERM");
    assert_eq!(service.ended(), Some(0));
    let took = begun.elapsed();
    println!("stopped {took:?} after the second signal");
    // Without the second signal the service waits 25 s for hanging requests. The bound leaves room for a busy
    // machine.
    assert!(took <= Duration::from_secs(10), "{took:?}");
}
