//! F9, F10, F11: many failures, and the retries after them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{ErrorKind, InProcess, PlaylistId, QuotaLimits, RetryPolicy, Transport, VideoId};
use vidra_sim::{Action, Fault, Simulator};

use crate::sim;

/// A platform that fails half of all calls at random.
#[derive(Clone)]
struct Flaky {
    sim: Simulator,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Transport for Flaky {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let answer = InProcess(self.sim.clone()).exchange(request).await?;
            if self.random.lock().unwrap().bool() {
                return Ok(answer);
            }
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Ok(Answer { status, headers: HeaderMap::new(), body: Bytes::new() })
        })
    }
}

/// Sends 200 requests a second for a minute: the numbers of successes, attempts and retries.
async fn minute(has_breaker: bool, seed: u64) -> (u64, u64, u64) {
    let sim = Simulator::builder().limits(100_000, 100).build();
    let limits = QuotaLimits::default().with_default(100_000);
    let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
    let flaky = Flaky { sim: sim.clone(), random };
    let builder = sim::builder(&sim).quota(limits).transport(flaky);
    let vidra = match has_breaker {
        true => builder.build().unwrap(),
        false => builder.breaker_pause(Duration::ZERO).build().unwrap(),
    };
    let tasks = (0..12_000).map(|number| {
        let vidra = vidra.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(5 * number)).await;
            // None of them exists, and none is requested twice.
            let id = PlaylistId::parse(&format!("PLstorm{number}")).unwrap();
            vidra.playlist_info(&id).await.unwrap_err().kind() == ErrorKind::NotFound
        })
    });
    let mut succeeded = 0;
    for task in tasks.collect::<Vec<_>>() {
        succeeded += u64::from(task.await.unwrap());
    }
    (succeeded, sim.record().calls, vidra.upstream_report().retries)
}

#[tokio::test(start_paused = true)]
async fn f9_half_of_all_calls_fail_for_a_minute() {
    let seed = 9;
    let (succeeded, attempts, retries) = minute(false, seed).await;
    println!(
        "seed {seed}: {succeeded} of 12,000 succeeded, {attempts} attempts, {retries} retries"
    );
    let flights = attempts - retries;
    assert!(attempts <= flights * 12 / 10 + 3, "seed {seed}: {attempts} for {flights}");
    // Half succeed at once, and half of the retries that the budget allows: a flight that may retry
    // succeeds three times in four.
    assert!(succeeded >= 6_000 + retries * 2 / 5, "seed {seed}: {succeeded}");

    let (succeeded, attempts, _) = minute(true, seed).await;
    println!("seed {seed}, with a breaker: {succeeded} of 12,000 succeeded, {attempts} attempts");
    assert!(attempts <= 12_000 / 10, "seed {seed}: {attempts} attempts at a failing platform");
    assert!(succeeded > 0);
}

/// The waits of three retries: full jitter below 300 ms, doubled each time. Written out here, so that it does not
/// change with the code.
fn model(dice: &mut fastrand::Rng) -> [Duration; 3] {
    [300, 600, 1_200].map(|most| Duration::from_millis(most).mul_f64(dice.f64()))
}

#[test]
fn f10_the_schedule_of_retries_equals_the_model() {
    let policy = RetryPolicy { retries: 3, delay: Duration::from_millis(300) };
    let left = Duration::from_secs(60);
    for seed in 0..10_000 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let waits = [1, 2, 3].map(|failed| policy.wait(failed, None, left, dice.f64()).unwrap());
        assert_eq!(waits, model(&mut fastrand::Rng::with_seed(seed)), "seed {seed}");
        assert_eq!(policy.wait(4, None, left, dice.f64()), None, "seed {seed}");
    }
    let default = RetryPolicy::default();
    assert_eq!((default.retries, default.delay), (2, Duration::from_millis(300)));
}

/// The client follows the model for 500 seeds, and for 10,000 in the long form.
#[tokio::test(start_paused = true)]
async fn f10_the_client_follows_the_schedule_to_the_millisecond() {
    let seeds = if std::env::var_os("VIDRA_LONG").is_some() { 10_000 } else { 500 };
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    for seed in 0..seeds {
        sim.reset_record();
        let policy = RetryPolicy { retries: 3, delay: Duration::from_millis(300) };
        let vidra = sim::builder(&sim).retry(policy).build().unwrap();
        fastrand::seed(seed);
        let started = Instant::now();
        vidra.video(VideoId::parse("quirkNoLike").unwrap()).await.unwrap_err();
        let took = started.elapsed();
        // A timer goes off at the next whole millisecond.
        let whole = |wait: Duration| wait.as_nanos().div_ceil(1_000_000);
        let model: u128 = model(&mut fastrand::Rng::with_seed(seed)).into_iter().map(whole).sum();
        assert_eq!((took.as_millis(), sim.record().calls), (model, 4), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn f11_retry_after_in_all_forms() {
    let date = Timestamp::now() + SignedDuration::from_secs(3600);
    let far = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    // The header, the shortest and the longest wait in milliseconds, and the attempts.
    let table = [
        ("7", 7_000, 7_001, 2),
        ("30", 30_000, 30_001, 2),
        ("31", 0, 0, 1),
        ("86400", 0, 0, 1),
        (far.as_str(), 0, 0, 1),
        (past, 0, 301, 2),
        ("soon", 0, 301, 2),
        ("-3", 0, 301, 2),
        ("", 0, 301, 2),
    ];
    for (value, least, most, attempts) in table {
        for action in [Action::status(503), Action::error("rateLimitExceeded")] {
            let sim = Simulator::new();
            sim.inject(Fault::any(action.retry_after(value)).once());
            let vidra = sim::client(&sim);
            let started = Instant::now();
            let result = vidra.video(VideoId::parse("quirkNoLike").unwrap()).await;
            let took = started.elapsed().as_millis();
            assert!((least..=most).contains(&took), "{value:?}: {took} ms");
            assert_eq!(sim.record().calls, attempts, "{value:?}");
            assert_eq!(result.is_ok(), attempts == 2, "{value:?}");
            if let Err(error) = result {
                let kinds = [ErrorKind::Upstream, ErrorKind::RateLimited];
                assert!(kinds.contains(&error.kind()), "{value:?}: {error:?}");
            }
        }
    }
}
