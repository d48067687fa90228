//! One world from its beginning to its end.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use vidra::clock::Clock;
use vidra::{
    Allowance, ApiKey, Bucket, Held, LedgerDouble, Life, Lifetimes, Pace, Pacing, QuotaLimits,
    Resource, RetryPolicy, SearchBilling, Vidra,
};
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_server::{App, Config};
use vidra_sim::Simulator;

use crate::caller;
use crate::check::{Checker, LedgerCount, Payer, Spending};
use crate::clock::SimClock;
use crate::events::{Events, Report};
use crate::plan::{IncidentKind, Plan, Settings};
use crate::platform::Platform;
use crate::store::{Mode, SimStore};

/// The peer address of requests: not loopback, where batches are not counted by address.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// A budget that no world can spend.
const UNLIMITED: u32 = 1_000_000;

/// The service that callers use. A restart replaces it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) app: App,
    pub(crate) vidra: Vidra,
    /// The budget of each key in the library.
    pub(crate) allowances: Vec<Allowance>,
}

/// The parts of a world.
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) platform: Platform,
    pub(crate) events: Events,
    pub(crate) checker: Checker,
    clock: SimClock,
    store: SimStore,
    ledger: LedgerDouble,
    keys: Arc<Keys>,
    /// All services since the beginning; callers use the last one.
    services: Mutex<Vec<Service>>,
}

/// Longer than all operations of a world.
const LONGEST_WORLD: Duration = Duration::from_secs(7 * 24 * 3600);
/// A world that takes longer in real time counts as endless.
const LONGEST_RUN: Duration = Duration::from_secs(300);

thread_local! {
    /// The panics of this thread's world. The runtime catches those of detached tasks.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(vec![]) };
}

/// Collects panics instead of printing them.
pub(crate) fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // A thread that ends has no thread-local storage any more.
        let _ = PANICS.try_with(|panics| panics.borrow_mut().push(panic.to_string()));
        eprintln!("{panic}");
    }));
}

/// Runs a world on its own thread, so that the thread's random number generator starts from the seed.
pub(crate) fn run(plan: &Plan, is_traced: bool) -> Report {
    let run = || {
        fastrand::seed(plan.seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(plan, is_traced))
    };
    let (ended, has_ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let world = scope.spawn(move || {
            // Dropped when the world ends, also by a panic.
            let _ended = ended;
            run()
        });
        if has_ended.recv_timeout(LONGEST_RUN) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("VIDRA_SEED={} breaks every world ends: still running", plan.seed);
            std::process::exit(1);
        }
        world.join().expect("a world does not panic")
    })
}

async fn play(plan: &Plan, is_traced: bool) -> Report {
    let world = Arc::new(World::new(plan, is_traced));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, caller) in plan.callers.iter().enumerate() {
        let (world, caller) = (Arc::clone(&world), caller.clone());
        tasks.spawn(async move {
            sleep_until(began + caller.at).await;
            caller::call(&world, number, &caller).await;
        });
    }
    for incident in plan.incidents.clone() {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            sleep_until(began + incident.at).await;
            world.apply(&incident.kind);
        });
    }
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                world.events.check("no panic", false, || error.to_string());
            }
        }
    };
    // If a caller waits forever, no timer is left and the world would hang instead of failing.
    match timeout(LONGEST_WORLD, all).await {
        Ok(()) => world.settle().await,
        Err(_) => world.checker.never_ended(),
    }
    for panic in PANICS.take() {
        world.events.check("no panic", false, || panic);
    }
    world.events.end()
}

impl World {
    fn new(plan: &Plan, is_traced: bool) -> Self {
        let (settings, events) = (plan.settings.clone(), Events::new(is_traced));
        let limits = (u64::from(settings.quota), u64::from(settings.searches));
        let sim = Simulator::builder()
            .latency(settings.latency)
            .limits(limits.0, limits.1)
            .keep_requests(0)
            .build();
        let platform = Platform::new(sim, events.clone());
        // Midnight in Los Angeles is at 8:00 UTC in winter.
        let midnight: Timestamp = "2027-01-15T08:00:00Z".parse().unwrap();
        let clock = SimClock::new(midnight - Duration::from_secs(settings.to_midnight));
        let store = SimStore::new(events.clone());
        let most = settings.ledger_delay.unwrap_or(0);
        let ledger = LedgerDouble::new(move || {
            let delay = || Duration::from_millis(fastrand::u64(..=most));
            (delay(), delay())
        });
        let mut file = KeyFile::default();
        for (number, units) in settings.budgets.iter().enumerate() {
            // The service reports usage only for keys with a budget.
            let units = Some(units.unwrap_or(UNLIMITED));
            let limits = KeyLimits { units, searches: Some(UNLIMITED), ..KeyLimits::default() };
            let name = format!("caller-{number}").parse().unwrap();
            file.add(name, &key(number), limits, std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        let keys = Arc::new(Keys::new(&file));
        let checker = Checker::new(&settings, &events, &platform);
        let services = Mutex::default();
        let world =
            Self { settings, platform, events, checker, clock, store, ledger, keys, services };
        world.start();
        world
    }

    /// Starts a service, which replaces the current one.
    fn start(&self) {
        let it = &self.settings;
        let mut builder = Vidra::builder()
            .key(ApiKey::new("demo-key"))
            .data_api_url("http://sim.invalid/youtube/v3")
            .web_url("http://sim.invalid")
            .transport(self.platform.transport(0))
            .proxies(
                (0..it.egresses).map(|egress| self.platform.transport(egress)).collect::<Vec<_>>(),
            )
            .clock(self.clock.clone())
            .quota(
                QuotaLimits::default()
                    .with_default(it.quota)
                    .with_search(SearchBilling::OwnBucket(it.searches)),
            )
            .retry(RetryPolicy { retries: it.retries, delay: it.retry_delay })
            .attempt_timeout(it.attempt_timeout)
            .deadline(it.deadline)
            .batch_deadline(it.batch_deadline)
            .pacing(
                it.pace
                    .map_or(Pacing::Off, |(burst, per_hour)| Pacing::At(Pace { burst, per_hour })),
            )
            .max_misses(it.max_misses)
            .max_batches(it.max_batches)
            .cache_bytes(it.cache_bytes)
            .lifetimes(lifetimes(it.lifetime_divisor))
            .breaker_pause(it.breaker_pause)
            .block_pause(it.block_pause);
        if it.has_store {
            builder = builder.store(Arc::new(self.store.clone()));
        }
        if it.ledger_delay.is_some() {
            builder = builder.ledger_double(self.ledger.clone());
        }
        let vidra = builder.build().unwrap();
        let config = Config {
            response_cache_bytes: it.response_cache_bytes,
            batches_per_caller: it.batches_per_caller,
            mcp: false,
            gate: Rules { keys: Some(Arc::clone(&self.keys)), ..Rules::default() },
            ..Config::default()
        };
        let app = App::new(vidra.clone(), config);
        let allowances = it.budgets.iter().map(|units| Allowance::new(*units, None)).collect();
        self.services.lock().unwrap().push(Service { app, vidra, allowances });
    }

    /// The current service.
    pub(crate) fn service(&self) -> Service {
        self.services.lock().unwrap().last().unwrap().clone()
    }

    /// Applies an incident to the world.
    fn apply(&self, kind: &IncidentKind) {
        self.events.record(format_args!("incident: {kind:?}"));
        match kind {
            IncidentKind::Faults(windows) => {
                windows.iter().for_each(|window| self.platform.inject(window.clone()));
            }
            IncidentKind::NewEdition => self.platform.change(),
            IncidentKind::Latency(latency) => self.platform.sim().set_latency(*latency),
            IncidentKind::Store(mode) => self.store.set(*mode),
            IncidentKind::Block { egress, after } => {
                self.platform.sim().block_egress_after(&format!("egress-{egress}"), *after);
            }
            IncidentKind::Unblock => self.platform.sim().unblock(),
            IncidentKind::ClockJump(seconds) => {
                self.events.count("clock jump");
                self.checker.clock_was_set();
                self.checker.jumped();
                self.clock.jump(SignedDuration::from_secs(*seconds));
            }
            IncidentKind::Suspend(seconds) => {
                self.events.count("suspend");
                self.checker.clock_was_set();
                self.checker.suspended(Duration::from_secs(*seconds));
                self.clock.suspend(Duration::from_secs(*seconds));
            }
            IncidentKind::Restart => {
                self.events.count("restart");
                self.checker.restarted();
                self.service().app.drain();
                self.start();
            }
        }
    }

    /// Ends all faults and waits. Without callers, nothing must be held any more.
    async fn settle(&self) {
        self.platform.heal();
        self.store.set(Mode::Good);
        self.platform.sim().set_latency(Duration::ZERO);
        let it = &self.settings;
        // All callers have ended, so that only background refreshes are running. One that a batch began has the
        // deadline of the batch: it may wait long for the pace.
        sleep(it.deadline.max(it.batch_deadline) + Duration::from_secs(70)).await;
        let services = self.services.lock().unwrap().clone();
        for (number, service) in services.iter().enumerate() {
            let held = service.vidra.held();
            self.events.check("no resource is held at the end", held == Held::default(), || {
                format!("service {number}: {held:?}")
            });
            let held = service.app.held();
            self.events.check("no resource is held at the end", held == (0, 0), || {
                format!("service {number}: requests and batches {held:?}")
            });
        }
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        self.events.check("no task is running at the end", tasks == 0, || format!("{tasks} tasks"));
        let vidra = &services.last().unwrap().vidra;
        let (at, quota) = loop {
            // A slow ledger may exceed the deadline of an operation.
            let at = Instant::now();
            if let Ok(quota) = vidra.quota().await {
                break (at, quota);
            }
        };
        let used = |name: &str| {
            quota.buckets.iter().find(|bucket| bucket.name == name).map_or(0, |it| it.used)
        };
        // Without a file each service has its own count.
        let is_whole = it.ledger_delay.is_some() || services.len() == 1;
        let ledger =
            is_whole.then(|| LedgerCount { at, default: used("default"), search: used("search") });
        self.checker.finish(ledger, &self.spending(&services).await);
    }

    /// The spending of each payer: router callers by key, and library callers.
    async fn spending(&self, services: &[Service]) -> Vec<Spending> {
        let now = self.clock.now();
        let mut spending = vec![];
        for number in 0..self.settings.budgets.len() {
            let used = |service: &Service, bucket| service.allowances[number].used(bucket, now);
            let units = services.iter().map(|service| used(service, Bucket::Default));
            let searches = services.iter().map(|service| used(service, Bucket::Search));
            let spent = units.clone().chain(searches).sum();
            let payer = Payer { key: number, uses_library: true };
            spending.push(Spending { payer, spent, most: units.max().unwrap_or_default() });
            let (units, searches) = self.spent_by_key(services.last().unwrap(), number).await;
            let payer = Payer { key: number, uses_library: false };
            spending.push(Spending { payer, spent: units + searches, most: units });
        }
        spending
    }

    /// The units and searches that a key has spent, according to `/api/quota`.
    async fn spent_by_key(&self, service: &Service, number: usize) -> (u32, u32) {
        let quota = loop {
            let answer = caller::quota(service, number).await;
            if answer.status == 200 {
                break answer.body;
            }
        };
        let quota: serde_json::Value = serde_json::from_str(&quota).unwrap();
        let buckets = quota["yours"]["buckets"].as_array().expect("every key has a budget");
        let used = |name: &str| {
            let bucket = buckets.iter().find(|bucket| bucket["name"] == name);
            let used = bucket.and_then(|bucket| bucket["used"].as_u64()).unwrap_or(0);
            u32::try_from(used).unwrap()
        };
        (used("default"), used("search"))
    }
}

/// The key of a caller.
pub(crate) fn key(number: usize) -> String {
    format!("vk_simulated_{number}")
}

fn lifetimes(over: u32) -> Lifetimes {
    Resource::ALL.into_iter().fold(Lifetimes::default(), |lifetimes, resource| {
        lifetimes.with_life(resource, life(resource, over))
    })
}

/// The lifetime of a record, in a world where all lifetimes are divided by `over`.
pub(crate) fn life(resource: Resource, over: u32) -> Life {
    let hours = |hours: u64| Duration::from_secs(hours * 3600) / over;
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60) / over;
    let (ttl, grace, stale_if_error) = match resource {
        Resource::Video | Resource::Playlist => (minutes(15), hours(1), hours(168)),
        Resource::Channel => (hours(1), hours(6), hours(168)),
        Resource::Uploads | Resource::Comments => (minutes(10), hours(1), hours(24)),
        Resource::Chart => (minutes(15), hours(1), hours(24)),
        Resource::Feed => (minutes(10), hours(1), hours(48)),
        Resource::Search => (hours(6), hours(6), hours(48)),
        Resource::Regions => (hours(168), hours(72), hours(240)),
        Resource::Tracks => (hours(24), hours(6), hours(720)),
        _ => (hours(168), hours(24), hours(720)),
    };
    Life { ttl, grace, stale_if_error }
}
