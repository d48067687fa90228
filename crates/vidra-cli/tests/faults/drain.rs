//! F21: told to stop with much under way.

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

/// How long what is slow takes: not so long that the platform is given up, which is after 10 seconds.
fn slow() -> Duration {
    Duration::from_secs(if is_long() { 9 } else { 4 })
}

/// A service with so many requests under way that take their time, and those who wait for them.
fn with_slow_misses(
    platform: &Platform,
    action: Action,
) -> (Running, Vec<thread::JoinHandle<Option<u16>>>) {
    let service = platform.service(&[]);
    assert_eq!(service.get(KNOWN).0, 200);
    platform.sim.inject(Fault::on(Endpoint::Player, action));
    let videos = Platform::videos(&service, "PLsize50");
    let waiting = videos.iter().take(SLOW).map(|path| {
        let path = path.replace("/api/video/", "/api/transcript/");
        let mut caller = Caller::of(service.address);
        thread::spawn(move || Some(caller.get(&path).ok()?.status))
    });
    let waiting = waiting.collect();
    let all = platform.sim.until(|record| record.calls_to(Endpoint::Player) >= SLOW as u64);
    platform.runtime.block_on(all);
    (service, waiting)
}

#[test]
fn f21_told_to_stop_under_load() {
    let platform = Platform::new();
    let (service, slow) = with_slow_misses(&platform, Action::delay(slow()));
    let (answered, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Each asks until the door is closed, on a new connection where the old one ends.
    let address = service.address;
    let ask = || {
        let mut caller = Caller::of(address);
        loop {
            if caller.is_free()
                && let Err(error) = caller.connect()
            {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "the door is closed");
                return;
            }
            let heard = caller.get(KNOWN).expect("nobody is cut off");
            assert_eq!(heard.status, 200);
            answered.fetch_add(1, Ordering::Relaxed);
            told.fetch_add(usize::from(caller.is_free()), Ordering::Relaxed);
        }
    };
    let (code, took) = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(ask)).collect();
        while answered.load(Ordering::Relaxed) < 1_000 {
            thread::yield_now();
        }
        assert_eq!(told.load(Ordering::Relaxed), 0, "nothing ends before it is told to stop");
        service.log_until("stopping", "-TERM");
        let begun = Instant::now();
        for slow in slow {
            assert_eq!(slow.join().unwrap(), Some(200), "what was under way is answered");
        }
        for caller in callers {
            caller.join().unwrap();
        }
        (service.ended(), begun.elapsed())
    });
    println!(
        "{} answers, {} of them the last on their connection, {SLOW} slow ones, no other end; over \
         after {took:?}",
        answered.into_inner(),
        told.into_inner()
    );
    assert_eq!(code, Some(0));
    assert!(took <= Duration::from_secs(25), "{took:?}");
}

#[test]
fn f21_a_second_signal_ends_at_once() {
    let platform = Platform::new();
    let (service, _slow) = with_slow_misses(&platform, Action::Hang);
    service.log_until("stopping", "-TERM");
    let begun = Instant::now();
    service.signal("-TERM");
    assert_eq!(service.ended(), Some(0));
    let took = begun.elapsed();
    println!("over {took:?} after the second signal");
    // Without it the service waits 25 s for what hangs. Most of this is for a busy machine.
    assert!(took <= Duration::from_secs(10), "{took:?}");
}
