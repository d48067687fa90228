//! Random sequences of lookups and faults for one video, compared with a model.

use proptest::prelude::*;
use tokio::time::{Instant, sleep_until};
use vidra::{CacheOutcome, ErrorKind, Life, Lifetimes};
use vidra_sim::{Action, Fault};

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Pass(Duration),
    Platform(Platform),
    Lookup,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Platform {
    Healthy,
    Failing,
    /// Answers after 400 ms.
    Slow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let platform =
        prop_oneof![Just(Platform::Healthy), Just(Platform::Failing), Just(Platform::Slow)];
    let times = [10, 120, 260, 500, 999, 1_001, 5_000, 30_000, 60_000, 200_000];
    let step = prop_oneof![
        3 => prop::sample::select(times.to_vec()).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
        1 => platform.prop_map(Step::Platform),
        5 => Just(Step::Lookup),
    ];
    prop::collection::vec(step, 1..60)
}

/// The expected state of the cache.
#[derive(Default)]
struct Model {
    /// The time of the fetch, the number of the answer, and its life.
    entry: Option<(Instant, u64, Life)>,
    /// Until when a failure is cached.
    failed_until: Option<Instant>,
    /// When the call in flight ends, and whether it succeeds.
    call: Option<(Instant, bool)>,
    calls: u64,
    answers: u64,
}

#[derive(Debug, PartialEq)]
enum Observed {
    /// The number of the answer, and the outcome of the lookup.
    Video(u64, CacheOutcome),
    Failure,
}

const LIFE: Life = Life { ttl: MINUTE, grace: MINUTE, stale_if_error: Duration::from_secs(300) };
const SLOW: Duration = Duration::from_millis(400);
const STALE_WAIT: Duration = Duration::from_millis(250);

impl Model {
    /// Applies a call that has ended by now. The life of a record has a jitter, so it is read from the answer.
    async fn apply_ended_call(&mut self, vidra: &Vidra, id: VideoId) {
        if self.call.is_some_and(|(at, _)| at == Instant::now()) {
            // Timers of one moment run in any order: the answer may not have arrived yet.
            settle().await;
        }
        if self.call.is_some_and(|(at, succeeds)| succeeds && at <= Instant::now()) {
            let (cached, _) = edition(vidra, id).await.unwrap();
            assert_eq!(cached.outcome, CacheOutcome::Hit);
            self.end_call(cached.life);
        } else if self.call.is_some_and(|(at, _)| at <= Instant::now()) {
            self.end_call(LIFE);
        }
    }

    fn end_call(&mut self, life: Life) {
        let (at, succeeds) = self.call.take().unwrap();
        if succeeds {
            self.answers += 1;
            self.entry = Some((at, self.answers, life));
        } else {
            self.failed_until = Some(at + SECOND);
        }
    }

    /// Starts a call unless one is in flight or has just failed.
    fn start_call(&mut self, now: Instant, platform: Platform) -> bool {
        if self.call.is_some() || self.failed_until.is_some_and(|until| now < until) {
            return false;
        }
        self.calls += 1;
        let takes = if platform == Platform::Slow { SLOW } else { Duration::ZERO };
        self.call = Some((now + takes, platform != Platform::Failing));
        true
    }

    /// The state of the entry: 0 is fresh, 1 in grace, 2 stale.
    fn state(&self, now: Instant) -> Option<(usize, u64)> {
        let (at, number, Life { ttl, grace, stale_if_error }) = self.entry?;
        let ends = [ttl, ttl + grace, ttl + grace + stale_if_error];
        let age = now.duration_since(at);
        ends.iter().position(|end| age < *end).map(|state| (state, number))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn random_sequences_match_the_model(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps));
    }
}

async fn play(steps: Vec<Step>) {
    let world = Changing::new();
    let lifetimes = Lifetimes::default().with_life(Resource::Video, LIFE);
    // The circuit breaker has its own tests.
    let builder = world.builder().lifetimes(lifetimes).breaker_pause(Duration::ZERO);
    let (vidra, id) = (builder.build().unwrap(), video("quirkNoLike"));
    let mut platform = Platform::Healthy;
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Pass(time) => {
                let until = Instant::now() + time;
                if let Some((at, _)) = model.call.filter(|(at, _)| *at < until) {
                    sleep_until(at).await;
                    settle().await;
                    model.apply_ended_call(&vidra, id).await;
                }
                sleep_until(until).await;
            }
            Step::Platform(new) => {
                platform = new;
                world.sim.clear_faults();
                match new {
                    Platform::Healthy => {}
                    Platform::Failing => world.sim.inject(Fault::any(Action::status(503))),
                    Platform::Slow => world.sim.inject(Fault::any(Action::delay(SLOW))),
                }
            }
            Step::Lookup => check_lookup(&vidra, id, platform, &mut model).await,
        }
        settle().await;
        model.apply_ended_call(&vidra, id).await;
        assert_eq!(world.sim.record().calls, model.calls, "calls");
    }
}

async fn check_lookup(vidra: &Vidra, id: VideoId, platform: Platform, model: &mut Model) {
    let now = Instant::now();
    let observed = edition(vidra, id).await;
    let took = now.elapsed();
    let life = observed.as_ref().map_or(LIFE, |(cached, _)| cached.life);
    let zero = Duration::ZERO;
    let (expected, wait) = match model.state(now) {
        Some((0, number)) => (Observed::Video(number, CacheOutcome::Hit), zero),
        Some((1, number)) => {
            model.start_call(now, platform);
            (Observed::Video(number, CacheOutcome::Stale), zero)
        }
        Some((_, number)) => {
            let (calls, old) = (model.calls, Observed::Video(number, CacheOutcome::Stale));
            model.start_call(now, platform);
            let how =
                if model.calls > calls { CacheOutcome::Miss } else { CacheOutcome::Coalesced };
            match model.call {
                None => (old, zero),
                Some((at, _)) if at >= now + STALE_WAIT => (old, STALE_WAIT),
                Some((at, succeeds)) => {
                    model.end_call(life);
                    (if succeeds { Observed::Video(model.answers, how) } else { old }, at - now)
                }
            }
        }
        None => {
            let how = match model.start_call(now, platform) {
                true => CacheOutcome::Miss,
                false => CacheOutcome::Coalesced,
            };
            match model.call {
                None => (Observed::Failure, zero),
                Some((at, succeeds)) => {
                    model.end_call(life);
                    let observed = Observed::Video(model.answers, how);
                    (if succeeds { observed } else { Observed::Failure }, at - now)
                }
            }
        }
    };
    let observed = match observed {
        Ok((cached, number)) => {
            assert!(cached.life.ttl + cached.life.grace + cached.life.stale_if_error > cached.age);
            Observed::Video(number, cached.outcome)
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Upstream);
            Observed::Failure
        }
    };
    assert_eq!((observed, took), (expected, wait));
}
