//! Random days of one video, against a model of what should happen.

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
    Well,
    Failing,
    /// Answers after 400 ms.
    Slow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let platform = prop_oneof![Just(Platform::Well), Just(Platform::Failing), Just(Platform::Slow)];
    let times = [10, 120, 260, 500, 999, 1_001, 5_000, 30_000, 60_000, 200_000];
    let step = prop_oneof![
        3 => prop::sample::select(times.to_vec()).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
        1 => platform.prop_map(Step::Platform),
        5 => Just(Step::Lookup),
    ];
    prop::collection::vec(step, 1..60)
}

/// What should be known.
#[derive(Default)]
struct Model {
    /// When it came, its number, and its life.
    entry: Option<(Instant, u64, Life)>,
    /// Until when a failure is told.
    failed_until: Option<Instant>,
    /// When the call under way ends, and whether it goes well.
    call: Option<(Instant, bool)>,
    calls: u64,
    answers: u64,
}

#[derive(Debug, PartialEq)]
enum Told {
    /// The number, and how it came about.
    Video(u64, CacheOutcome),
    Failure,
}

const LIFE: Life = Life { ttl: MINUTE, grace: MINUTE, stale_if_error: Duration::from_secs(300) };
const SLOW: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_millis(250);

impl Model {
    /// What has come by now is known; the life of it is its own and told with it.
    async fn learn(&mut self, vidra: &Vidra, id: VideoId) {
        if self.call.is_some_and(|(at, is_well)| is_well && at <= Instant::now()) {
            let (cached, _) = edition(vidra, id).await.unwrap();
            assert_eq!(cached.outcome, CacheOutcome::Hit);
            self.land(cached.life);
        } else if self.call.is_some_and(|(at, _)| at <= Instant::now()) {
            self.land(LIFE);
        }
    }

    fn land(&mut self, life: Life) {
        let (at, is_well) = self.call.take().unwrap();
        if is_well {
            self.answers += 1;
            self.entry = Some((at, self.answers, life));
        } else {
            self.failed_until = Some(at + SECOND);
        }
    }

    /// Begins a call unless there is one or it has just failed.
    fn begin(&mut self, now: Instant, platform: Platform) -> bool {
        if self.call.is_some() || self.failed_until.is_some_and(|until| now < until) {
            return false;
        }
        self.calls += 1;
        let takes = if platform == Platform::Slow { SLOW } else { Duration::ZERO };
        self.call = Some((now + takes, platform != Platform::Failing));
        true
    }

    /// How far gone the entry is: 0 is fresh, 1 in grace, 2 stale.
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
    fn any_day_goes_as_it_should(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(day(steps));
    }
}

async fn day(steps: Vec<Step>) {
    let world = Changing::new();
    let lifetimes = Lifetimes::default().with_life(Resource::Video, LIFE);
    // That a platform which fails again and again is left alone is tested elsewhere.
    let builder = world.builder().lifetimes(lifetimes).breaker_pause(Duration::ZERO);
    let (vidra, id) = (builder.build().unwrap(), video("quirkNoLike"));
    let mut platform = Platform::Well;
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Pass(time) => {
                let until = Instant::now() + time;
                if let Some((at, _)) = model.call.filter(|(at, _)| *at < until) {
                    sleep_until(at).await;
                    settle().await;
                    model.learn(&vidra, id).await;
                }
                sleep_until(until).await;
            }
            Step::Platform(new) => {
                platform = new;
                world.sim.clear_faults();
                match new {
                    Platform::Well => {}
                    Platform::Failing => world.sim.inject(Fault::any(Action::status(503))),
                    Platform::Slow => world.sim.inject(Fault::any(Action::delay(SLOW))),
                }
            }
            Step::Lookup => ask(&vidra, id, platform, &mut model).await,
        }
        settle().await;
        model.learn(&vidra, id).await;
        assert_eq!(world.sim.record().calls, model.calls, "calls");
    }
}

async fn ask(vidra: &Vidra, id: VideoId, platform: Platform, model: &mut Model) {
    let now = Instant::now();
    let told = edition(vidra, id).await;
    let took = now.elapsed();
    let life = told.as_ref().map_or(LIFE, |(cached, _)| cached.life);
    let zero = Duration::ZERO;
    let (expected, wait) = match model.state(now) {
        Some((0, number)) => (Told::Video(number, CacheOutcome::Hit), zero),
        Some((1, number)) => {
            model.begin(now, platform);
            (Told::Video(number, CacheOutcome::Stale), zero)
        }
        Some((_, number)) => {
            let (calls, old) = (model.calls, Told::Video(number, CacheOutcome::Stale));
            model.begin(now, platform);
            let how =
                if model.calls > calls { CacheOutcome::Miss } else { CacheOutcome::Coalesced };
            match model.call {
                None => (old, zero),
                Some((at, _)) if at >= now + PATIENCE => (old, PATIENCE),
                Some((at, is_well)) => {
                    model.land(life);
                    (if is_well { Told::Video(model.answers, how) } else { old }, at - now)
                }
            }
        }
        None => {
            let how = match model.begin(now, platform) {
                true => CacheOutcome::Miss,
                false => CacheOutcome::Coalesced,
            };
            match model.call {
                None => (Told::Failure, zero),
                Some((at, is_well)) => {
                    model.land(life);
                    let told = Told::Video(model.answers, how);
                    (if is_well { told } else { Told::Failure }, at - now)
                }
            }
        }
    };
    let told = match told {
        Ok((cached, number)) => {
            assert!(cached.life.ttl + cached.life.grace + cached.life.stale_if_error > cached.age);
            Told::Video(number, cached.outcome)
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Upstream);
            Told::Failure
        }
    };
    assert_eq!((told, took), (expected, wait));
}
