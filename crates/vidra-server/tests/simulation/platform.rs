//! The platform of a world: the simulator behind a network that fails, and a log of every exchange. The log
//! is what the invariants are judged by; the code under test is never asked.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use axum::http::{HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use futures_util::future::poll_fn;
use tokio::time::Instant;
use vidra::transport::{Answer, BoxFuture, Failure, Transport};
use vidra::{Bucket, InProcess};
use vidra_sim::{Action, Fault, Simulator};

use crate::events::Events;
use crate::operation::BOT_WALL;
use crate::plan::{FaultWindow, Trouble};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Videos,
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
}

impl Kind {
    pub(crate) fn of(path: &str) -> Self {
        match path.rsplit('/').next().unwrap_or_default() {
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
            _ => Self::Other,
        }
    }

    /// The bucket that the platform bills; `None` for what needs no key.
    pub(crate) fn bucket(self) -> Option<Bucket> {
        match self {
            Self::Search => Some(Bucket::Search),
            Self::Player | Self::Watch | Self::TimedText => None,
            _ => Some(Bucket::Default),
        }
    }

    /// Whether an address sends it at its pace.
    pub(crate) fn is_paced(self) -> bool {
        matches!(self, Self::Player | Self::Watch)
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered(StatusCode),
    Broken,
    NotSent,
    /// The caller did not wait for the end.
    Dropped,
}

/// One exchange.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) kind: Kind,
    pub(crate) egress: usize,
    /// Its subject: ids of videos, or the whole query.
    pub(crate) subjects: Vec<String>,
    pub(crate) start: Instant,
    pub(crate) end: Option<(Instant, Ended)>,
    /// Whether a fault struck it, or it was refused or cut off.
    pub(crate) is_trouble: bool,
    /// Whether a fault struck it: whatever follows is not the doing of a caller.
    pub(crate) is_fault: bool,
    /// Whether the platform turned against the address.
    pub(crate) is_block: bool,
    pub(crate) is_translation: bool,
    /// The pause that the platform requested.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) says_quota_is_spent: bool,
    /// Whether the Data API limits the rate.
    pub(crate) is_limit: bool,
    /// The pause that the Data API requested because of that.
    pub(crate) asks_for_pause: Option<Duration>,
}

impl Exchange {
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none()
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
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
    struck: u32,
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
    pub(crate) fn wire(&self, egress: usize) -> Wire {
        Wire { platform: self.clone(), egress }
    }

    /// The world changes: every text is a new one from now on.
    pub(crate) fn change(&self) {
        self.state().editions.push(Instant::now());
    }

    pub(crate) fn inject(&self, window: FaultWindow) {
        let until = Instant::now() + window.lasts;
        self.state().faults.push(ActiveFault { window, until, struck: 0 });
    }

    /// All is well from now on.
    pub(crate) fn heal(&self) {
        self.state().faults.clear();
        self.0.sim.unblock();
    }

    /// Looks at the log.
    pub(crate) fn log<T>(&self, look: impl FnOnce(&[Exchange]) -> T) -> T {
        look(&self.state().log)
    }

    /// Whether the world was of this edition at some time between `from` and `to`.
    pub(crate) fn was_edition(&self, edition: usize, from: Instant, to: Instant) -> bool {
        let state = self.state();
        let Some(began) = state.editions.get(edition) else { return false };
        let over = state.editions.get(edition + 1);
        *began <= to && over.is_none_or(|over| *over >= from)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// The fault that strikes an exchange of this kind that begins now.
    fn trouble(&self, kind: Kind) -> Option<Trouble> {
        let now = Instant::now();
        let mut state = self.state();
        state.faults.retain(|fault| fault.until > now);
        for fault in &mut state.faults {
            let is_meant = fault.window.kind.is_none_or(|meant| meant == kind);
            let is_left = fault.struck < fault.window.most;
            if is_meant && is_left && fastrand::u8(..100) < fault.window.percent {
                fault.struck += 1;
                return Some(fault.window.trouble.clone());
            }
        }
        None
    }
}

/// A way to the platform from one address.
#[derive(Clone)]
pub(crate) struct Wire {
    platform: Platform,
    egress: usize,
}

impl Transport for Wire {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(self.clone().carry(request))
    }
}

impl Wire {
    async fn carry(self, mut request: Request<Bytes>) -> Result<Answer, Failure> {
        let Self { platform, egress } = self;
        let (events, sim) = (&platform.0.events, &platform.0.sim);
        let kind = Kind::of(request.uri().path());
        let subjects = subjects(kind, &request);
        let trouble = platform.trouble(kind);
        let open = Open::begin(&platform, kind, egress, subjects, &request);
        if let Some(trouble) = &trouble {
            events.count(trouble.name());
            open.change(|exchange| (exchange.is_trouble, exchange.is_fault) = (true, true));
        }
        sim.clear_faults();
        let is_rate_limit = matches!(
            &trouble,
            Some(Trouble::Action(Action::Error { reason, .. })) if reason == "rateLimitExceeded"
        );
        // A late answer is the right one all the same.
        let is_late = matches!(&trouble, Some(Trouble::Action(Action::Delay { .. })));
        let has_trouble = trouble.is_some() && !is_late;
        match trouble {
            Some(Trouble::NotSent) => {
                open.end(Ended::NotSent);
                return Err(Failure::NotSent("simulated".to_owned()));
            }
            Some(Trouble::Action(action)) => {
                if let Action::Error { reason, .. } = &action {
                    let is_spent = matches!(&**reason, "quotaExceeded" | "searchQuota");
                    open.change(|exchange| exchange.says_quota_is_spent = is_spent);
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
        // The simulator decides what becomes of a call when it is first polled.
        let first = poll_fn(|context| Poll::Ready(answering.as_mut().poll(context))).await;
        let record = sim.record();
        if record.blocked > blocked && !has_trouble {
            events.count("block");
            open.change(|exchange| (exchange.is_trouble, exchange.is_block) = (true, true));
        }
        if record.refused_for_quota > refused {
            events.count("quota spent");
            open.change(|exchange| {
                (exchange.is_trouble, exchange.says_quota_is_spent) = (true, true);
            });
        }
        let answered = match first {
            Poll::Ready(answered) => answered,
            Poll::Pending => answering.await,
        };
        match answered {
            Ok(mut answer) => {
                answer.body = platform.stamped(&answer.body);
                let sorry = answer.headers.get(header::LOCATION);
                let sorry =
                    sorry.and_then(|to| to.to_str().ok()).is_some_and(|to| to.contains("sorry"));
                let retry_after = answer.headers.get(header::RETRY_AFTER);
                let retry_after = retry_after.and_then(|it| it.to_str().ok()?.parse().ok());
                open.change(|exchange| {
                    exchange.is_trouble |= !answer.status.is_success();
                    let is_limit = answer.status == StatusCode::TOO_MANY_REQUESTS;
                    let is_wall =
                        kind == Kind::Player && exchange.subjects[0] == BOT_WALL && !has_trouble;
                    // A page for people instead of captions is a wall too.
                    let is_page = kind == Kind::TimedText && answer.body.starts_with(b"<!");
                    let is_page =
                        is_page || kind == Kind::Watch && answer.status == StatusCode::FORBIDDEN;
                    let is_keyless = kind.bucket().is_none();
                    exchange.is_trouble |= is_wall || is_page;
                    exchange.is_block |= is_keyless && (sorry || is_limit || is_wall || is_page);
                    exchange.retry_after = retry_after.map(Duration::from_secs);
                    let is_limit = is_limit || is_rate_limit;
                    exchange.is_limit = is_limit && !is_keyless;
                    exchange.asks_for_pause =
                        exchange.retry_after.filter(|_| is_limit && !is_keyless);
                });
                open.end(Ended::Answered(answer.status));
                Ok(answer)
            }
            Err(failure) => {
                open.change(|exchange| exchange.is_trouble = true);
                open.end(Ended::Broken);
                Err(failure)
            }
        }
    }
}

/// An exchange under way: its entry in the log, ended in any case.
struct Open<'a> {
    platform: &'a Platform,
    index: usize,
}

impl<'a> Open<'a> {
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
            is_trouble: false,
            is_fault: false,
            is_block: false,
            is_translation,
            retry_after: None,
            says_quota_is_spent: false,
            is_limit: false,
            asks_for_pause: None,
        };
        let index = {
            let mut state = platform.state();
            state.log.push(exchange.clone());
            state.log.len() - 1
        };
        let Exchange { subjects, .. } = exchange;
        platform.0.events.tell(format_args!(
            "  #{index} {kind:?} from {egress}: {}",
            subjects.join(",").chars().take(60).collect::<String>()
        ));
        Self { platform, index }
    }

    fn change(&self, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.platform.state().log[self.index]);
    }

    fn end(&self, ended: Ended) {
        self.change(|exchange| exchange.end = Some((Instant::now(), ended)));
        let index = self.index;
        self.platform.0.events.tell(format_args!("  #{index} ended: {ended:?}"));
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.platform.state().log[self.index].is_open() {
            self.change(|exchange| exchange.is_trouble = true);
            self.end(Ended::Dropped);
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

/// The texts of an answer that are stamped with the edition of the world, as they begin in it.
const STAMPED: [&str; 6] = [
    "\"title\": \"",
    "\"textDisplay\": \"",
    "\"textOriginal\": \"",
    "\"name\": \"",
    "\"utf8\":\"",
    "\"utf8\": \"",
];

/// Titles by which the platform says that there is nothing.
const NOTHING: [&str; 2] = ["Private video", "Deleted video"];

impl Platform {
    /// The body with the edition of the world before every text: `e7|`.
    fn stamped(&self, body: &Bytes) -> Bytes {
        let edition = self.state().editions.len() - 1;
        let Ok(text) = std::str::from_utf8(body) else { return body.clone() };
        let mut out = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some((at, mark)) = next_mark(rest) {
            let (before, after) = rest.split_at(at + mark.len());
            out.push_str(before);
            if !NOTHING.iter().any(|nothing| after.starts_with(nothing)) {
                out.push_str(&format!("e{edition}|"));
            }
            rest = after;
        }
        out.push_str(rest);
        out.into()
    }
}

fn next_mark(text: &str) -> Option<(usize, &'static str)> {
    let mut from = 0;
    // Nearly all quotes begin something else; the first letter of a name tells most of them apart.
    while let Some(at) = text[from..].find('"') {
        let at = from + at;
        if let Some(mark) = STAMPED.iter().find(|mark| text[at..].starts_with(**mark)) {
            return Some((at, mark));
        }
        from = at + 1;
    }
    None
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
