//! Everything that a seed decides, as plain data: the settings of the service, the callers and their requests, and
//! the incidents. A plan can be reduced and run again, which is how a failure is shrunk.

use std::time::Duration;

use fastrand::Rng;
use vidra_sim::{Action, Junk};

use crate::operation::Operation;
use crate::platform::Kind;
use crate::store::Mode;

/// A world before it begins.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) callers: Vec<Caller>,
    pub(crate) incidents: Vec<Incident>,
}

/// The configuration of the service and of the platform.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) deadline: Duration,
    pub(crate) batch_deadline: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) retry_delay: Duration,
    /// Burst and requests an hour; `None` sets no pace.
    pub(crate) pace: Option<(u32, u32)>,
    pub(crate) egresses: usize,
    pub(crate) max_misses: usize,
    pub(crate) max_batches: usize,
    pub(crate) batches_per_caller: usize,
    pub(crate) cache_bytes: u64,
    pub(crate) response_cache_bytes: u64,
    /// Lifetimes are divided by this.
    pub(crate) lifetime_divisor: u32,
    pub(crate) breaker_pause: Duration,
    pub(crate) block_pause: Duration,
    pub(crate) latency: Duration,
    /// The day's quota, of the platform and in the service's settings.
    pub(crate) quota: u32,
    pub(crate) searches: u32,
    pub(crate) has_store: bool,
    /// The maximum delay of the ledger's file before and after each access, in milliseconds; `None` for no file.
    pub(crate) ledger_delay: Option<u64>,
    /// The daily budget of each key.
    pub(crate) budgets: Vec<Option<u32>>,
    /// Seconds to midnight in Los Angeles when the world begins.
    pub(crate) to_midnight: u64,
}

/// One caller: when it starts, what it requests, and when it disconnects.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) at: Duration,
    pub(crate) key: usize,
    pub(crate) interface: Interface,
    pub(crate) operation: Operation,
    pub(crate) timeout: Option<Duration>,
    pub(crate) no_cache: bool,
    /// Whether it sends the `ETag` of an earlier answer.
    pub(crate) is_conditional: bool,
    pub(crate) departure: Departure,
    /// How long the caller takes to read each item of a stream.
    pub(crate) read_delay: Duration,
}

/// The interface that a caller uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    Router,
    /// A tool for models, if there is one for the operation.
    Tool,
    Library,
}

/// When a caller disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    Never,
    After(Duration),
    /// After this many polls of its request: a caller can disconnect at every await.
    AfterPolls(u32),
}

/// Something that happens to the service or to its environment.
#[derive(Debug, Clone)]
pub(crate) struct Incident {
    pub(crate) at: Duration,
    pub(crate) kind: IncidentKind,
}

#[derive(Debug, Clone)]
pub(crate) enum IncidentKind {
    /// Faults that belong together.
    Faults(Vec<FaultWindow>),
    /// Every text of the platform changes.
    NewEdition,
    Latency(Duration),
    Store(Mode),
    /// The platform blocks an address after this many further player calls.
    Block {
        egress: usize,
        after: u64,
    },
    Unblock,
    /// The wall clock jumps by this many seconds.
    ClockJump(i64),
    /// The machine is suspended for this many seconds.
    Suspend(u64),
    /// The service drains, and another one takes over on the same store and ledger.
    Restart,
}

/// A fault that affects some exchanges for a limited time.
#[derive(Debug, Clone)]
pub(crate) struct FaultWindow {
    pub(crate) duration: Duration,
    /// The kind of requests that it affects; `None` for all kinds.
    pub(crate) kind: Option<Kind>,
    pub(crate) percent: u8,
    pub(crate) most: u32,
    pub(crate) fault: FaultKind,
}

#[derive(Debug, Clone)]
pub(crate) enum FaultKind {
    /// The connection fails.
    NotSent,
    /// The platform misbehaves in this way.
    Action(Action),
}

impl FaultKind {
    /// Its name in the counts of a run.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::NotSent => "no connection",
            Self::Action(action) => match action {
                Action::Status { status: 400, .. } => "player 400",
                Action::Status { status: 429, retry_after: None, .. } => "429",
                Action::Status { status: 429, .. } => "429 with Retry-After",
                Action::Status { .. } => "error status",
                Action::Error { reason, .. } if reason.contains("uota") => "quota spent",
                Action::Error { retry_after: Some(_), .. } => "429 with Retry-After",
                Action::Error { .. } => "error reason",
                Action::Delay { .. } => "delay",
                Action::Hang => "hang",
                Action::Reset => "reset",
                Action::Cut => "cut body",
                Action::Junk { .. } => "junk body",
                Action::Redirect { .. } => "redirect",
                Action::Drip { .. } => "dripping body",
                _ => "other fault",
            },
        }
    }
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Swarm testing: a seed switches whole classes of operations and faults off, because worlds with fewer kinds of
/// events find more mistakes.
struct Swarm {
    faults: bool,
    blocks: bool,
    store: bool,
    clock: bool,
    midnight: bool,
    restarts: bool,
    departures: bool,
    short_timeouts: bool,
    batches: bool,
    /// All callers transcribe the same few videos, and many disconnect.
    crowding: bool,
    pace: bool,
    data_api: bool,
    transcripts: bool,
    editions: bool,
    budgets: bool,
    listings: bool,
}

impl Swarm {
    fn random(rng: &mut Rng) -> Self {
        let mut on = |percent: u8| rng.u8(..100) < percent;
        let mut swarm = Self {
            faults: on(65),
            blocks: on(25),
            store: on(40),
            clock: on(20),
            midnight: on(20),
            restarts: on(20),
            departures: on(70),
            short_timeouts: on(50),
            batches: on(50),
            crowding: on(12),
            pace: on(50),
            data_api: on(75),
            transcripts: on(60),
            editions: on(50),
            budgets: on(30),
            listings: on(40),
        };
        if swarm.crowding {
            (swarm.data_api, swarm.transcripts, swarm.batches) = (false, true, true);
            (swarm.departures, swarm.listings) = (true, false);
        }
        if !swarm.data_api && !swarm.transcripts && !swarm.batches && !swarm.listings {
            swarm.data_api = true;
        }
        swarm
    }
}

impl Plan {
    pub(crate) fn from_seed(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let swarm = Swarm::random(rng);
        let mut settings = settings(rng, &swarm);
        if swarm.crowding {
            // Fetches last long enough for callers to disconnect, and no other limit interferes.
            settings.latency = MS * pick(rng, &[200, 1_000]);
            (settings.pace, settings.max_batches, settings.batches_per_caller) = (None, 32, 8);
        }
        // Some worlds are small and easy to understand, some are crowded.
        let most = pick(rng, &[6, 6, 15, 15, 15, 40, 40, 40, 120, 300]);
        let span = SECOND * pick(rng, &[1, 5, 30, 300, 3_600]);
        let callers = callers(rng, &swarm, &settings, most, span);
        let incidents = incidents(rng, &swarm, &settings, span);
        let mut plan = Self { seed, settings, callers, incidents };
        // A second generator, so that the plans of the other worlds do not change.
        let rng = &mut Rng::with_seed(!seed);
        if rng.u8(..100) < 5 {
            plan.exhaust_retries(rng);
        }
        plan
    }

    /// Most calls for transcripts fail, for many different videos, and circuit breakers are off: hardly anything but the retry
    /// budget limits the retries. A restart would begin a new budget.
    fn exhaust_retries(&mut self, rng: &mut Rng) {
        let settings = &mut self.settings;
        (settings.retries, settings.retry_delay) = (3, MS * 10);
        (settings.breaker_pause, settings.pace) = (Duration::ZERO, None);
        (settings.max_misses, settings.cache_bytes) = (1_000, 12 << 20);
        self.incidents.retain(|incident| !matches!(incident.kind, IncidentKind::Restart));
        let failing = FaultWindow {
            duration: SECOND * 3_600,
            kind: Some(Kind::Player),
            percent: pick(rng, &[70, 90]),
            most: 1_000,
            fault: FaultKind::Action(pick(rng, &[Action::status(503), Action::Reset])),
        };
        self.incidents
            .insert(0, Incident { at: Duration::ZERO, kind: IncidentKind::Faults(vec![failing]) });
        let callers = Operation::different_transcripts().into_iter().map(|operation| Caller {
            at: MS * 10,
            key: 0,
            interface: pick(rng, &[Interface::Router, Interface::Library]),
            operation,
            timeout: None,
            no_cache: false,
            is_conditional: false,
            departure: Departure::Never,
            read_delay: Duration::ZERO,
        });
        self.callers.extend(callers);
        self.callers.sort_by_key(|caller| caller.at);
    }
}

fn settings(rng: &mut Rng, swarm: &Swarm) -> Settings {
    let deadline = SECOND * pick(rng, &[2, 5, 15, 30, 120]);
    let attempt_timeout = (SECOND * pick(rng, &[1, 3, 10])).min(deadline);
    let pace = swarm.pace.then(|| {
        let burst = pick(rng, &[1, 2, 5, 20, 300]);
        (burst, pick(rng, &[60, 360, 1_000, 3_600, 36_000]))
    });
    let budgets = 1 + rng.usize(..3);
    let budgets =
        (0..budgets).map(|_| (swarm.budgets && rng.bool()).then(|| pick(rng, &[0, 1, 3, 20])));
    let budgets = budgets.collect();
    Settings {
        deadline,
        batch_deadline: deadline * pick(rng, &[1, 4, 30]),
        attempt_timeout,
        retries: rng.u32(..4),
        retry_delay: MS * pick(rng, &[10, 300, 1_000]),
        pace,
        egresses: pick(rng, &[1, 1, 1, 2, 3]),
        max_misses: pick(rng, &[1, 3, 10, 1_000]),
        max_batches: pick(rng, &[1, 4, 32]),
        batches_per_caller: pick(rng, &[1, 2, 8]),
        cache_bytes: pick(rng, &[0, 60_000, 12 << 20, 12 << 20]),
        response_cache_bytes: pick(rng, &[0, 60_000, 52 << 20]),
        lifetime_divisor: pick(rng, &[1, 10, 100, 1_000]),
        breaker_pause: MS * pick(rng, &[0, 1_000, 5_000, 30_000]),
        block_pause: SECOND * pick(rng, &[1, 30, 900]),
        latency: MS * pick(rng, &[0, 1, 20, 200, 1_000]),
        quota: if rng.u8(..100) < 15 { rng.u32(1..30) } else { 10_000 },
        searches: pick(rng, &[2, 100]),
        has_store: rng.bool(),
        ledger_delay: if rng.bool() { Some(pick(rng, &[0, 5, 300, 3_000])) } else { None },
        budgets,
        to_midnight: if swarm.midnight { pick(rng, &[1, 20, 300]) } else { 40_000 },
    }
}

fn callers(
    rng: &mut Rng,
    swarm: &Swarm,
    settings: &Settings,
    most: usize,
    span: Duration,
) -> Vec<Caller> {
    let kinds = Operation::kinds(swarm.data_api, swarm.transcripts, swarm.batches, swarm.listings);
    let count = rng.usize(2..=most);
    // Callers arrive in a few bursts, because concurrency finds most mistakes.
    let bursts: Vec<Duration> = (0..rng.usize(1..6)).map(|_| random_offset(rng, span)).collect();
    let refreshes = rng.u8(..20);
    let mut callers: Vec<Caller> = (0..count)
        .map(|_| {
            let at = match rng.u8(..10) {
                0..=6 => pick(rng, &bursts) + MS * below(rng, &[1, 20, 500]),
                _ => random_offset(rng, span),
            };
            let operation = match swarm.crowding {
                true => Operation::crowded(rng),
                false => Operation::random(rng, &kinds),
            };
            let is_batch = matches!(operation, Operation::Batch { .. });
            let departure = match rng.u8(..10) {
                _ if !swarm.departures => Departure::Never,
                0..=6 if swarm.crowding => Departure::After(MS * below(rng, &[500, 3_000])),
                0..=1 => Departure::After(MS * below(rng, &[5, 300, 5_000, 60_000])),
                2..=3 => Departure::AfterPolls(below(rng, &[4, 12, 40])),
                _ => Departure::Never,
            };
            let timeout = (swarm.short_timeouts && rng.u8(..10) < 3)
                .then(|| MS * pick(rng, &[1, 50, 300, 1_000, 5_000]));
            Caller {
                at,
                key: rng.usize(..settings.budgets.len()),
                interface: pick(
                    rng,
                    &[
                        Interface::Router,
                        Interface::Router,
                        Interface::Tool,
                        Interface::Library,
                        Interface::Library,
                        Interface::Library,
                    ],
                ),
                operation,
                timeout,
                no_cache: rng.u8(..100) < refreshes,
                is_conditional: rng.u8(..5) == 0,
                departure,
                read_delay: if is_batch && rng.u8(..4) == 0 {
                    MS * pick(rng, &[50, 1_000, 10_000])
                } else {
                    Duration::ZERO
                },
            }
        })
        .collect();
    callers.sort_by_key(|caller| caller.at);
    callers
}

fn incidents(rng: &mut Rng, swarm: &Swarm, settings: &Settings, span: Duration) -> Vec<Incident> {
    let mut all = vec![];
    let mut add = |rng: &mut Rng, count: usize, make: &dyn Fn(&mut Rng) -> IncidentKind| {
        for _ in 0..count {
            let at = random_offset(rng, span);
            let kind = make(rng);
            all.push(Incident { at, kind });
        }
    };
    if swarm.faults {
        let count = rng.usize(1..6);
        add(rng, count, &|rng| IncidentKind::Faults(faults(rng, span, swarm.listings)));
    }
    if swarm.editions {
        let count = rng.usize(1..8);
        add(rng, count, &|_| IncidentKind::NewEdition);
    }
    if swarm.blocks {
        let count = rng.usize(1..4);
        add(rng, count, &|rng| IncidentKind::Block {
            egress: rng.usize(..settings.egresses),
            after: rng.u64(..4),
        });
        add(rng, 1, &|_| IncidentKind::Unblock);
    }
    if swarm.store && settings.has_store {
        let count = rng.usize(1..5);
        add(rng, count, &|rng| {
            let slow = Mode::Slow(pick(rng, &[20, 60, 400, 2_000]));
            IncidentKind::Store(pick(
                rng,
                &[Mode::Good, slow, Mode::Failing, Mode::Full, Mode::Wrong],
            ))
        });
    }
    if swarm.clock {
        let count = rng.usize(1..3);
        add(rng, count, &|rng| match rng.bool() {
            true => IncidentKind::ClockJump(pick(rng, &[-86_400, -3_700, -60, 60, 3_700, 86_400])),
            false => IncidentKind::Suspend(pick(rng, &[5, 600, 7_200])),
        });
    }
    if rng.u8(..4) == 0 {
        add(rng, 1, &|rng| IncidentKind::Latency(MS * pick(rng, &[1, 300, 3_000])));
    }
    if swarm.restarts {
        add(rng, 1, &|_| IncidentKind::Restart);
    }
    all.sort_by_key(|incident| incident.at);
    all
}

/// One fault; or a player that requires a watch page, and a watch page that fails.
fn faults(rng: &mut Rng, span: Duration, has_listings: bool) -> Vec<FaultWindow> {
    let first = fault(rng, span, has_listings);
    let mut all = vec![first];
    if all[0].kind == Some(Kind::Player) && all[0].fault.name() == "player 400" {
        let failing = [Action::status(503), Action::Hang, Action::Reset];
        all[0].most = pick(rng, &[5, 20, 1_000]);
        all.push(FaultWindow {
            kind: Some(Kind::Watch),
            percent: pick(rng, &[50, 100]),
            most: pick(rng, &[1, 2, 1_000]),
            fault: FaultKind::Action(pick(rng, &failing)),
            ..all[0].clone()
        });
    }
    all
}

fn fault(rng: &mut Rng, span: Duration, has_listings: bool) -> FaultWindow {
    let mut keyed = vec![None, Some(Kind::Videos), Some(Kind::PlaylistItems), Some(Kind::Channels)];
    let mut keyless = vec![Some(Kind::Player), Some(Kind::Watch), Some(Kind::TimedText)];
    if has_listings {
        keyed.extend([Some(Kind::Search), Some(Kind::Chart), Some(Kind::CommentThreads)]);
        keyless.extend([Some(Kind::Feed), Some(Kind::Feed)]);
    }
    let all = [&keyed[..], &keyless[..]].concat();
    let status = |status: u16, retry_after: Option<&str>| {
        let action = Action::status(status);
        FaultKind::Action(match retry_after {
            Some(wait) => action.retry_after(wait),
            None => action,
        })
    };
    let wait = pick(rng, &["1", "7", "60", "0", "99999999"]);
    let limited = Action::error("rateLimitExceeded").retry_after(wait);
    let hang = FaultKind::Action(Action::Hang);
    let (kinds, fault): (&[Option<Kind>], FaultKind) = match rng.u8(..17) {
        0 => (&all, FaultKind::NotSent),
        1 | 2 => (&all, status(503, None)),
        3 => (&all, hang),
        4 => (&all, FaultKind::Action(Action::Reset)),
        5 => (&all, FaultKind::Action(Action::Cut)),
        6 => (&all, FaultKind::Action(Action::Junk { kind: Junk::Truncated })),
        7 => (&all, FaultKind::Action(Action::Junk { kind: Junk::Html })),
        8 => (&keyless, status(429, rng.bool().then_some(wait))),
        9 => (&keyed, FaultKind::Action(limited)),
        10 => (&keyed, status(429, None)),
        11 => (&keyed, FaultKind::Action(Action::quota_exceeded())),
        12 | 13 => (&keyless[..1], status(400, None)),
        14 => (&all, FaultKind::Action(Action::delay(MS * pick(rng, &[100, 2_000, 20_000])))),
        15 => (
            &all,
            FaultKind::Action(Action::Redirect {
                location: "https://elsewhere.example/".to_owned(),
            }),
        ),
        _ => (&keyless, FaultKind::Action(Action::Junk { kind: Junk::Empty })),
    };
    // Often the fault affects all kinds of requests, if it can.
    let is_everything = kinds.contains(&None) && rng.u8(..3) == 0;
    FaultWindow {
        duration: (MS * pick(rng, &[100, 2_000, 20_000])).max(random_offset(rng, span)),
        kind: if is_everything { None } else { pick(rng, kinds) },
        percent: pick(rng, &[10, 50, 100]),
        most: pick(rng, &[1, 2, 5, 1_000]),
        fault,
    }
}

pub(crate) fn pick<T: Clone>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())].clone()
}

/// A random number below one of these limits.
fn below(rng: &mut Rng, limits: &[u32]) -> u32 {
    let limit = pick(rng, limits);
    rng.u32(..limit)
}

/// A random time within the span.
fn random_offset(rng: &mut Rng, span: Duration) -> Duration {
    MS * rng.u32(..=u32::try_from(span.as_millis()).unwrap())
}
