//! The platform of a world: the simulator behind an unreliable network, and a log of every exchange. The
//! invariants are checked against this log, not against state of the code under test.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use bytes::Bytes;
use futures_util::future::poll_fn;
use tokio::time::Instant;
use vidra::transport::{Answer, BoxFuture, Failure, Transport};
use vidra::{Bucket, InProcess};
use vidra_sim::{Action, Fault, Simulator};

use crate::events::Events;
use crate::operation::BOT_WALL;
use crate::plan::{FaultKind, FaultWindow};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Videos,
    Chart,
    Channels,
    Playlists,
    PlaylistItems,
    CommentThreads,
    Comments,
    Search,
    Other,
    Player,
    Watch,
    TimedText,
    Feed,
}

impl Kind {
    pub(crate) fn of(uri: &Uri) -> Self {
        match uri.path().rsplit('/').next().unwrap_or_default() {
            "videos" if uri.query().is_some_and(|query| query.contains("chart=")) => Self::Chart,
            "videos" => Self::Videos,
            "channels" => Self::Channels,
            "playlists" => Self::Playlists,
            "playlistItems" => Self::PlaylistItems,
            "commentThreads" => Self::CommentThreads,
            "comments" => Self::Comments,
            "search" => Self::Search,
            "player" => Self::Player,
            "watch" => Self::Watch,
            "timedtext" => Self::TimedText,
            "videos.xml" => Self::Feed,
            _ => Self::Other,
        }
    }

    /// The bucket that the platform bills; `None` for a request that needs no key.
    pub(crate) fn bucket(self) -> Option<Bucket> {
        match self {
            Self::Search => Some(Bucket::Search),
            Self::Player | Self::Watch | Self::TimedText | Self::Feed => None,
            _ => Some(Bucket::Default),
        }
    }

    /// Whether it is a part of a transcript, so that the limits of an address apply to it.
    pub(crate) fn is_of_transcript(self) -> bool {
        matches!(self, Self::Player | Self::Watch | Self::TimedText)
    }

    /// Whether the pace of an address applies to it.
    pub(crate) fn is_paced(self) -> bool {
        matches!(self, Self::Player | Self::Watch)
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExchangeEnd {
    Answered(StatusCode),
    Broken,
    NotSent,
    /// The client dropped the exchange before its end.
    Dropped,
}

/// One exchange.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) kind: Kind,
    pub(crate) egress: usize,
    /// The ids of its videos, or the whole query.
    pub(crate) subjects: Vec<String>,
    pub(crate) start: Instant,
    pub(crate) end: Option<(Instant, ExchangeEnd)>,
    /// Whether it failed: by a fault, a refusal, or because it was dropped.
    pub(crate) is_failed: bool,
    /// Whether an injected fault affected it, so that no caller caused the failure.
    pub(crate) is_fault: bool,
    /// Whether the platform blocked the address.
    pub(crate) is_block: bool,
    pub(crate) is_translation: bool,
    /// The pause that the platform requested.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) reports_quota_spent: bool,
    /// Whether the Data API limits the rate.
    pub(crate) is_limit: bool,
    /// The pause that the Data API requested because of that.
    pub(crate) requested_pause: Option<Duration>,
}

impl Exchange {
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none()
    }

    pub(crate) fn ended(&self) -> Option<ExchangeEnd> {
        self.end.map(|(_, ended)| ended)
    }

    pub(crate) fn lasted(&self, now: Instant) -> Duration {
        self.end.map_or(now, |(end, _)| end) - self.start
    }
}

/// The platform. Clones share it.
#[derive(Clone)]
pub(crate) struct Platform(Arc<Inner>);

struct Inner {
    sim: Simulator,
    events: Events,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Vec<Exchange>,
    /// When each edition of the world began.
    editions: Vec<Instant>,
    faults: Vec<ActiveFault>,
}

struct ActiveFault {
    window: FaultWindow,
    until: Instant,
    applied: u32,
}

impl Platform {
    pub(crate) fn new(sim: Simulator, events: Events) -> Self {
        let state = State { editions: vec![Instant::now()], ..State::default() };
        Self(Arc::new(Inner { sim, events, state: Mutex::new(state) }))
    }

    pub(crate) fn sim(&self) -> &Simulator {
        &self.0.sim
    }

    /// The network from one address.
    pub(crate) fn transport(&self, egress: usize) -> SimTransport {
        SimTransport { platform: self.clone(), egress }
    }

    /// Begins a new edition: every text of the platform changes.
    pub(crate) fn change(&self) {
        self.state().editions.push(Instant::now());
    }

    pub(crate) fn inject(&self, window: FaultWindow) {
        let until = Instant::now() + window.duration;
        self.state().faults.push(ActiveFault { window, until, applied: 0 });
    }

    /// Removes all faults and blocks.
    pub(crate) fn heal(&self) {
        self.state().faults.clear();
        self.0.sim.unblock();
    }

    /// Reads the log.
    pub(crate) fn log<T>(&self, read: impl FnOnce(&[Exchange]) -> T) -> T {
        read(&self.state().log)
    }

    /// Whether this edition was current at some time between `from` and `to`.
    pub(crate) fn was_edition(&self, edition: usize, from: Instant, to: Instant) -> bool {
        let state = self.state();
        let Some(began) = state.editions.get(edition) else { return false };
        let over = state.editions.get(edition + 1);
        *began <= to && over.is_none_or(|over| *over >= from)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// Picks the fault, if any, of an exchange of this kind that begins now.
    fn pick_fault(&self, kind: Kind) -> Option<FaultKind> {
        let now = Instant::now();
        let mut state = self.state();
        state.faults.retain(|fault| fault.until > now);
        for fault in &mut state.faults {
            let is_affected = fault.window.kind.is_none_or(|affected| affected == kind);
            let is_active = fault.applied < fault.window.most;
            if is_affected && is_active && fastrand::u8(..100) < fault.window.percent {
                fault.applied += 1;
                return Some(fault.window.fault.clone());
            }
        }
        None
    }
}

/// The transport from one address to the platform.
#[derive(Clone)]
pub(crate) struct SimTransport {
    platform: Platform,
    egress: usize,
}

impl Transport for SimTransport {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(self.clone().send(request))
    }
}

impl SimTransport {
    async fn send(self, mut request: Request<Bytes>) -> Result<Answer, Failure> {
        let Self { platform, egress } = self;
        let (events, sim) = (&platform.0.events, &platform.0.sim);
        let kind = Kind::of(request.uri());
        let subjects = subjects(kind, &request);
        let fault = platform.pick_fault(kind);
        let open = OpenExchange::begin(&platform, kind, egress, subjects, &request);
        if let Some(fault) = &fault {
            events.count(fault.name());
            open.change(|exchange| (exchange.is_failed, exchange.is_fault) = (true, true));
        }
        sim.clear_faults();
        let is_rate_limit = matches!(
            &fault,
            Some(FaultKind::Action(Action::Error { reason, .. })) if reason == "rateLimitExceeded"
        );
        // A delayed answer is still the right one.
        let is_late = matches!(&fault, Some(FaultKind::Action(Action::Delay { .. })));
        let has_fault = fault.is_some() && !is_late;
        match fault {
            Some(FaultKind::NotSent) => {
                open.end(ExchangeEnd::NotSent);
                return Err(Failure::NotSent("simulated".to_owned()));
            }
            Some(FaultKind::Action(action)) => {
                if let Action::Error { reason, .. } = &action {
                    let is_spent = matches!(&**reason, "quotaExceeded" | "searchQuota");
                    open.change(|exchange| exchange.reports_quota_spent = is_spent);
                }
                sim.inject(Fault::any(action).once());
            }
            None => {}
        }
        if kind.bucket().is_none() {
            let name = HeaderValue::try_from(format!("egress-{egress}")).unwrap();
            request.headers_mut().insert("x-sim-egress", name);
        }
        let (blocked, refused) = {
            let it = sim.record();
            (it.blocked, it.refused_for_quota)
        };
        let transport = InProcess(sim.clone());
        let mut answering = transport.exchange(request);
        // The simulator decides the outcome of a call when it is first polled.
        let first = poll_fn(|context| Poll::Ready(answering.as_mut().poll(context))).await;
        let record = sim.record();
        if record.blocked > blocked && !has_fault {
            events.count("block");
            open.change(|exchange| (exchange.is_failed, exchange.is_block) = (true, true));
        }
        if record.refused_for_quota > refused {
            events.count("quota spent");
            open.change(|exchange| {
                (exchange.is_failed, exchange.reports_quota_spent) = (true, true);
            });
        }
        let answered = match first {
            Poll::Ready(answered) => answered,
            Poll::Pending => answering.await,
        };
        match answered {
            Ok(mut answer) => {
                answer.body = platform.stamped(&answer.body);
                let location = answer.headers.get(header::LOCATION);
                let is_sorry_page =
                    location.and_then(|to| to.to_str().ok()).is_some_and(|to| to.contains("sorry"));
                let retry_after = answer.headers.get(header::RETRY_AFTER);
                let retry_after = retry_after.and_then(|it| it.to_str().ok()?.parse().ok());
                open.change(|exchange| {
                    exchange.is_failed |= !answer.status.is_success();
                    let is_limit = answer.status == StatusCode::TOO_MANY_REQUESTS;
                    let is_wall =
                        kind == Kind::Player && exchange.subjects[0] == BOT_WALL && !has_fault;
                    // An HTML page instead of captions is a bot wall too.
                    let is_page = kind == Kind::TimedText && answer.body.starts_with(b"<!");
                    let is_page =
                        is_page || kind == Kind::Watch && answer.status == StatusCode::FORBIDDEN;
                    let is_keyless = kind.bucket().is_none();
                    exchange.is_failed |= is_wall || is_page;
                    exchange.is_block |= kind.is_of_transcript()
                        && (is_sorry_page || is_limit || is_wall || is_page);
                    exchange.retry_after = retry_after.map(Duration::from_secs);
                    let is_limit = is_limit || is_rate_limit;
                    exchange.is_limit = is_limit && !is_keyless;
                    exchange.requested_pause =
                        exchange.retry_after.filter(|_| is_limit && !is_keyless);
                });
                open.end(ExchangeEnd::Answered(answer.status));
                Ok(answer)
            }
            Err(failure) => {
                open.change(|exchange| exchange.is_failed = true);
                open.end(ExchangeEnd::Broken);
                Err(failure)
            }
        }
    }
}

/// An exchange in flight: its entry in the log, which ends even if the exchange is dropped.
struct OpenExchange<'a> {
    platform: &'a Platform,
    index: usize,
}

impl<'a> OpenExchange<'a> {
    fn begin(
        platform: &'a Platform,
        kind: Kind,
        egress: usize,
        subjects: Vec<String>,
        request: &Request<Bytes>,
    ) -> Self {
        let is_translation = request.uri().query().is_some_and(|query| query.contains("tlang="));
        let exchange = Exchange {
            kind,
            egress,
            subjects,
            start: Instant::now(),
            end: None,
            is_failed: false,
            is_fault: false,
            is_block: false,
            is_translation,
            retry_after: None,
            reports_quota_spent: false,
            is_limit: false,
            requested_pause: None,
        };
        let index = {
            let mut state = platform.state();
            state.log.push(exchange.clone());
            state.log.len() - 1
        };
        let Exchange { subjects, .. } = exchange;
        platform.0.events.record(format_args!(
            "  #{index} {kind:?} from {egress}: {}",
            subjects.join(",").chars().take(60).collect::<String>()
        ));
        Self { platform, index }
    }

    fn change(&self, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.platform.state().log[self.index]);
    }

    fn end(&self, ended: ExchangeEnd) {
        self.change(|exchange| exchange.end = Some((Instant::now(), ended)));
        let index = self.index;
        self.platform.0.events.record(format_args!("  #{index} ended: {ended:?}"));
    }
}

impl Drop for OpenExchange<'_> {
    fn drop(&mut self) {
        if self.platform.state().log[self.index].is_open() {
            self.change(|exchange| exchange.is_failed = true);
            self.end(ExchangeEnd::Dropped);
        }
    }
}

/// The subjects of a request: the videos that it names, or its whole query.
fn subjects(kind: Kind, request: &Request<Bytes>) -> Vec<String> {
    let query = request.uri().query().unwrap_or_default();
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    match kind {
        Kind::Videos => {
            let ids = parameter("id").unwrap_or_default().replace("%2C", ",");
            ids.split(',').map(str::to_owned).collect()
        }
        Kind::Player => {
            let body: serde_json::Value =
                serde_json::from_slice(request.body()).unwrap_or_default();
            vec![body["videoId"].as_str().unwrap_or_default().to_owned()]
        }
        Kind::Watch | Kind::TimedText => vec![parameter("v").unwrap_or_default()],
        _ => vec![query.to_owned()],
    }
}

/// The beginnings of the texts that are stamped with the edition of the world, in JSON and in feeds.
const STAMPED: [&str; 6] = [
    "\"title\": \"",
    "\"textDisplay\": \"",
    "\"textOriginal\": \"",
    "\"name\": \"",
    "\"utf8\":\"",
    "\"utf8\": \"",
];
const STAMPED_ELEMENT: &str = "<title>";

/// Titles that mark unavailable videos.
const UNAVAILABLE_TITLES: [&str; 2] = ["Private video", "Deleted video"];

impl Platform {
    /// The body with the edition of the world before every text: `e7|`.
    fn stamped(&self, body: &Bytes) -> Bytes {
        let edition = self.state().editions.len() - 1;
        let Ok(text) = std::str::from_utf8(body) else { return body.clone() };
        let mut out = String::with_capacity(text.len() + 64);
        let mut from = 0;
        for to in stamped_texts(text) {
            out.push_str(&text[from..to]);
            if !UNAVAILABLE_TITLES.iter().any(|title| text[to..].starts_with(title)) {
                out.push_str(&format!("e{edition}|"));
            }
            from = to;
        }
        out.push_str(&text[from..]);
        out.into()
    }
}

/// Where the texts begin that are stamped, in order. It reads most of a body with searches of the standard library, which are
/// optimised in every build.
fn stamped_texts(body: &str) -> Vec<usize> {
    let begins = |at: usize| matches!(body.as_bytes().get(at + 1), Some(b't' | b'n' | b'u'));
    let quotes = body.match_indices('"').map(|(at, _)| at).filter(|at| begins(*at));
    let in_json = quotes.filter_map(|at| {
        let mark = STAMPED.iter().find(|mark| body[at..].starts_with(**mark))?;
        Some(at + mark.len())
    });
    let mut texts: Vec<usize> = in_json.collect();
    texts.extend(body.match_indices(STAMPED_ELEMENT).map(|(at, mark)| at + mark.len()));
    texts.sort_unstable();
    texts
}

/// The editions that are stamped into an answer.
pub(crate) fn editions(body: &str) -> Vec<usize> {
    let mut found = vec![];
    for (at, _) in body.match_indices('|') {
        let digits = body[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let start = at - digits;
        if digits > 0 && body[..start].ends_with('e') {
            found.extend(body[start..at].parse::<usize>());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
