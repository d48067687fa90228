//! The invariants. Every operation is checked when it ends, against the platform's log and against models that are
//! simpler than the code: they see the use of a resource, not how the code counts it.

mod exchanges;
mod headers;
mod refusals;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use vidra::Resource;

use crate::caller::Answer;
use crate::events::Events;
use crate::facts::facts;
use crate::operation::listing::Listing;
use crate::operation::{BOT_WALL, Operation, UNKNOWN_CHANNEL, UNKNOWN_PLAYLIST, UNKNOWN_VIDEO};
use crate::plan::{Caller, Interface, Settings};
use crate::platform::{Exchange, Kind, Platform, editions};
use crate::world::life;

/// How long after its deadline an operation may end: it includes reads of a slow store, which time out after 50 ms,
/// and the window in which lookups are gathered into one call.
const TOLERANCE: Duration = Duration::from_secs(1);

/// One operation, from its beginning on.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    number: usize,
    caller: Caller,
    start: Instant,
    /// When its caller expects it to end.
    deadline: Instant,
    /// When it was answered, or its caller left.
    end: Option<Instant>,
    has_left: bool,
    has_failed: bool,
    /// Whether its answer was stale, so that a background refresh may continue after it.
    is_stale: bool,
}

impl Op {
    fn operation(&self) -> &Operation {
        &self.caller.operation
    }

    fn payer(&self) -> Payer {
        let uses_library = self.caller.interface == Interface::Library;
        Payer { key: self.caller.key, uses_library }
    }

    /// Whether it is a call of a tool for models.
    fn is_tool_call(&self) -> bool {
        self.caller.interface == Interface::Tool && self.operation().tool_request().is_some()
    }

    /// Whether a fetch that it began may still be running at `at`. A fetch outlives a caller that left or got another
    /// answer; it ends with the service's deadline.
    fn may_be_running(&self, at: Instant, deadline: Duration) -> bool {
        let outlives = self.has_left || self.has_failed || self.is_stale;
        // The refresh of a batch's list has the deadline of the batch.
        let time = deadline.max(self.deadline.saturating_duration_since(self.start));
        let longer = if outlives { time + TOLERANCE } else { Duration::ZERO };
        self.start <= at && self.end.is_none_or(|end| end + longer >= at)
    }

    /// Whether an exchange may be for this operation.
    fn may_send(&self, exchange: &Exchange) -> bool {
        let mut subjects = exchange.subjects.iter();
        subjects.any(|subject| self.operation().may_send(exchange.kind, subject))
    }

    fn is_live(&self, at: Instant) -> bool {
        self.start <= at && self.end.is_none_or(|end| end >= at)
    }
}

/// An account that requests are charged to: each key has one for the router and one for the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Payer {
    pub(crate) key: usize,
    pub(crate) uses_library: bool,
}

/// The units of both buckets that the ledger counted for the day of `at`.
pub(crate) struct LedgerCount {
    pub(crate) at: Instant,
    pub(crate) default: u32,
    pub(crate) search: u32,
}

/// The units that were charged to an account in the whole world.
#[derive(Debug)]
pub(crate) struct Spending {
    pub(crate) payer: Payer,
    pub(crate) spent: u32,
    /// The most units that one service has charged to it, without searches, which have no budget here. In the library
    /// each service has its own budgets.
    pub(crate) most: u32,
}

/// Checks the invariants of one world.
pub(crate) struct Checker {
    settings: Settings,
    events: Events,
    platform: Platform,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ops: Vec<Op>,
    /// The body of each tag, by target and tag.
    tags: BTreeMap<(String, String), String>,
    clock_was_set: bool,
    /// Whether the wall clock jumped, in contrast to a suspension.
    has_jumped: bool,
    restarts: Vec<Instant>,
    /// When the machine was suspended, and for how long.
    suspensions: Vec<(Instant, Duration)>,
}

impl Checker {
    pub(crate) fn new(settings: &Settings, events: &Events, platform: &Platform) -> Self {
        let (settings, events, platform) = (settings.clone(), events.clone(), platform.clone());
        Self { settings, events, platform, began: Instant::now(), state: Mutex::default() }
    }

    pub(crate) fn clock_was_set(&self) {
        self.state().clock_was_set = true;
    }

    pub(crate) fn jumped(&self) {
        self.state().has_jumped = true;
    }

    pub(crate) fn suspended(&self, time: Duration) {
        self.state().suspensions.push((Instant::now(), time));
    }

    pub(crate) fn restarted(&self) {
        self.state().restarts.push(Instant::now());
    }

    /// Records the beginning of an operation and returns its index.
    pub(crate) fn begin(&self, number: usize, caller: &Caller) -> usize {
        let start = Instant::now();
        let it = &self.settings;
        let longest = if caller.operation.is_batch() { it.batch_deadline } else { it.deadline };
        let limit = caller.timeout.map_or(longest, |timeout| timeout.min(longest));
        let op = Op {
            number,
            caller: caller.clone(),
            start,
            deadline: start + limit,
            end: None,
            has_left: false,
            has_failed: false,
            is_stale: false,
        };
        let interface = caller.interface;
        self.events
            .record(format_args!("caller {number} by {interface:?}: {:?}", caller.operation));
        let mut state = self.state();
        state.ops.push(op);
        state.ops.len() - 1
    }

    /// Reports the operations that never ended.
    pub(crate) fn never_ended(&self) {
        let ops = self.state().ops.clone();
        for op in ops.iter().filter(|op| op.end.is_none()) {
            self.events.check("every operation ends by its deadline", false, || {
                format!("caller {}, {:?}: it never ends", op.number, op.operation())
            });
        }
    }

    /// The tag of an earlier answer to the same request.
    pub(crate) fn tag(&self, caller: &Caller) -> Option<String> {
        let target = target(caller)?;
        let state = self.state();
        let mut tags = state.tags.keys();
        tags.find_map(|(of, tag)| (*of == target).then(|| tag.clone()))
    }

    /// Completes a 304 with the body that the caller has.
    pub(crate) fn not_modified(&self, caller: &Caller, answer: &mut Answer) {
        let tag = answer.etag.clone().unwrap_or_default();
        let body = target(caller).and_then(|of| self.state().tags.get(&(of, tag)).cloned());
        self.events.check("304 only for an ETag that the service sent", body.is_some(), || {
            format!("{:?}: {:?}", caller.operation, answer.etag)
        });
        (answer.status, answer.body) = (200, body.unwrap_or_default());
    }

    pub(crate) fn left(&self, id: usize) {
        self.events.count("departures");
        let mut state = self.state();
        let op = &mut state.ops[id];
        (op.end, op.has_left) = (Some(Instant::now()), true);
        let number = op.number;
        drop(state);
        self.events.record(format_args!("caller {number} leaves"));
    }

    pub(crate) fn answered(&self, id: usize, answer: &Answer) {
        self.events.count("operations answered");
        let now = Instant::now();
        let op = {
            let mut state = self.state();
            let op = &mut state.ops[id];
            op.end = Some(now);
            op.has_failed = answer.status != 200;
            op.is_stale = may_be_stale(op.operation(), answer) && !op.has_failed;
            op.clone()
        };
        self.events.record(format_args!(
            "caller {} gets {} {} {} cost {:?} age {:?} retry {:?}",
            op.number,
            answer.status,
            answer.cache.as_deref().unwrap_or_default(),
            answer.reason.as_deref().unwrap_or(&answer.message),
            answer.cost,
            answer.age,
            answer.retry_after,
        ));
        let it = |what: &str| format!("caller {}, {:?}: {what}", op.number, op.operation());
        self.check_time(&op, answer, now);
        self.events.check("no 500", answer.status != 500, || it(&answer.message));
        match answer.status {
            200 => self.check_success(&op, answer, now),
            _ => self.check_failure(&op, answer, now),
        }
        for result in &answer.results {
            self.check_result(&op, result);
        }
    }

    fn check_time(&self, op: &Op, answer: &Answer, now: Instant) {
        // A slow reader delays only itself.
        let items = u32::try_from(answer.results.len()).unwrap_or(u32::MAX).saturating_add(4);
        let reading = op.caller.read_delay * items.saturating_mul(3);
        let late = now.saturating_duration_since(op.deadline + TOLERANCE + reading);
        self.events.check("every operation ends by its deadline", late.is_zero(), || {
            format!("caller {}, {:?}: {late:?} too late", op.number, op.operation())
        });
    }

    fn check_success(&self, op: &Op, answer: &Answer, now: Instant) {
        let it = |what: String| format!("caller {}, {:?}: {what}", op.number, op.operation());
        if op.operation().is_batch() {
            let is_whole = answer.has_summary;
            self.events.check("every batch ends with a summary", is_whole, || it(String::new()));
            let checked = facts().check_batch(op.operation(), &answer.results, answer.counts);
            self.events.check("every batch has one result per entry", checked.is_ok(), || {
                it(checked.unwrap_err())
            });
            return;
        }
        let facts = match op.is_tool_call() {
            true => facts().check_tool(op.operation(), &answer.body),
            false => facts().check(op.operation(), &answer.body),
        };
        self.events
            .check("answers match the platform's data", facts.is_ok(), || it(facts.unwrap_err()));
        self.check_source(op, answer);
        self.check_editions(op, answer, now);
        self.check_age(op, answer, now);
        self.check_headers(op, answer);
    }

    /// The Data API replaces a feed only if the platform did not serve it.
    fn check_source(&self, op: &Op, answer: &Answer) {
        let Operation::Listing(listing) = op.operation() else { return };
        if !is_from_data_api(answer) || !facts().listings.is_served(listing) {
            return;
        }
        // Also the feed of another caller: failures of feeds open a circuit breaker.
        let has_failed = self.platform.log(|log| {
            log.iter().any(|exchange| exchange.kind == Kind::Feed && exchange.is_failed)
        });
        self.events.check("a feed is replaced only if it is not served", has_failed, || {
            format!("caller {}, {:?}", op.number, op.operation())
        });
    }

    /// The texts are of an edition that was current when they were fetched, according to `Age`.
    fn check_editions(&self, op: &Op, answer: &Answer, now: Instant) {
        let Some(resource) = resource(op.operation()) else { return };
        let it = |what: String| format!("caller {}, {:?}: {what}", op.number, op.operation());
        let over = self.settings.lifetime_divisor;
        let life = life(resource, over);
        // A response that is rendered for each request does not report the age of its record.
        let whole_life = |resource| {
            let life = crate::world::life(resource, over);
            life.ttl * 11 / 10 + life.grace + life.stale_if_error
        };
        // A search is as old as its oldest video, which may be older than a page of results can be.
        let whole = match resource {
            Resource::Search => whole_life(resource).max(whole_life(Resource::Video)),
            _ => whole_life(resource),
        };
        let age = if answer.cache.is_some() { answer.age.unwrap_or_default() } else { whole };
        // Jitter extends the TTL by up to a tenth.
        let ttl = life.ttl * 11 / 10;
        let limit = match answer.cache.as_deref() {
            // A negative entry has a TTL of five minutes.
            Some("hit") if answer.body == "[]" => Duration::from_secs(330),
            Some("hit") => ttl,
            Some("stale") | None => whole,
            // Its parts are separate records: some may have been stale, and others missing.
            _ if is_from_data_api(answer) => whole_life(Resource::Video).max(whole),
            _ if has_parts(op.operation()) => whole,
            _ if matches!(op.operation(), Operation::Ids(_)) => now - self.earliest_walk(op),
            // It was fetched while this caller waited.
            _ => now - op.start,
        };
        let is_old = answer.cache.as_deref() != Some("stale")
            || has_parts(op.operation())
            // If the platform fails, the service sends the cached answer.
            || op.caller.no_cache
            || age + TOLERANCE >= life.ttl * 9 / 10;
        self.events.check("only expired answers are stale", is_old, || it(format!("{age:?}")));
        self.events.check("no answer exceeds its maximum age", age <= limit + TOLERANCE, || {
            it(format!("{age:?} where {limit:?} is allowed"))
        });
        // `Age` is that of the list. All parts of a hit are fresh.
        let part_life = |resource| {
            let life = crate::world::life(resource, over);
            let fresh = life.ttl * 11 / 10;
            let is_hit = answer.cache.as_deref() == Some("hit");
            if is_hit { fresh } else { fresh + life.grace + life.stale_if_error }
        };
        let inner = match is_composite(op.operation()) {
            true => part_life(Resource::Video).max(part_life(Resource::Playlist)),
            false => Duration::ZERO,
        };
        // A service that has just started knows the age of stored records only by the wall clock, and treats a
        // record that is up to an hour ahead of it as new.
        let (is_set, is_suspended) = {
            let state = self.state();
            (state.clock_was_set && !state.restarts.is_empty(), !state.suspensions.is_empty())
        };
        let ahead = if is_set { Duration::from_secs(3600) } else { Duration::ZERO };
        // The texts of a transcript may be from the beginning of its fetch, which a batch may have started.
        let fetching = match resource {
            Resource::Transcript | Resource::Tracks => {
                self.settings.deadline.max(self.settings.batch_deadline)
            }
            _ => self.settings.deadline,
        };
        let earliest = age + TOLERANCE + fetching + inner + ahead;
        let from = now.checked_sub(earliest).unwrap_or(self.began).max(self.began);
        // The pages of a list come one after another. Its age is that of the first.
        let has_pages = has_parts(op.operation())
            || is_from_data_api(answer)
            || matches!(op.operation(), Operation::Ids(_));
        let is_of_one_time = answer.cache.is_some() && !has_pages;
        let to = match is_of_one_time && !is_set && !is_suspended {
            true => now.checked_sub(age).unwrap_or(self.began) + TOLERANCE,
            false => now,
        };
        for edition in editions(&answer.body) {
            let was = self.platform.was_edition(edition, from, to);
            self.events
                .check("Age is correct", was, || it(format!("edition {edition}, Age {age:?}")));
        }
    }

    /// When the walk that gave an operation its list began, at the earliest.
    fn earliest_walk(&self, op: &Op) -> Instant {
        let deadline = self.settings.deadline;
        // It may have followed a walk that began before, but not longer ago than a fetch may take.
        if !op.caller.no_cache {
            return op.start.checked_sub(deadline).unwrap_or(self.began);
        }
        // A refresh follows no such walk. It may join another refresh of the list, which began a walk of its own.
        let state = self.state();
        let joined = state.ops.iter().filter(|other| {
            let is_refresh = other.caller.no_cache && other.may_be_running(op.start, deadline);
            is_refresh && other.operation().playlist() == op.operation().playlist()
        });
        joined.map(|other| other.start).min().unwrap_or(op.start)
    }

    /// `Age` counts from the last fetch or earlier, and includes the time that the machine was suspended.
    fn check_age(&self, op: &Op, answer: &Answer, now: Instant) {
        let is_of_one_fetch = !has_parts(op.operation());
        let is_cached = matches!(answer.cache.as_deref(), Some("hit" | "stale"));
        let (Some(age), true) = (answer.age, is_of_one_fetch && is_cached) else { return };
        // The videos of a chart are cached too.
        let is_video = resource(op.operation()) == Some(Resource::Video);
        let fetched = self.platform.log(|log| {
            let of_it = log.iter().filter(|exchange| {
                op.may_send(exchange) || is_video && exchange.kind == Kind::Chart
            });
            of_it.filter_map(|exchange| exchange.end.map(|(end, _)| end)).max()
        });
        let state = self.state();
        if state.has_jumped {
            return;
        }
        // Without a fetch, the record is as old as the world.
        let since = fetched.unwrap_or(self.began);
        let suspended = state.suspensions.iter().filter(|(at, _)| *at > since && *at <= op.start);
        let suspended: Duration = suspended.map(|(_, time)| *time).sum();
        drop(state);
        let least = now.saturating_duration_since(since) + suspended;
        // `Age` has whole seconds, and a list is stored when its last call has ended.
        let late = 2 * TOLERANCE + self.settings.deadline;
        self.events.check("Age counts from the last fetch", age + late >= least, || {
            format!("caller {}, {:?}: {age:?} of {least:?}", op.number, op.operation())
        });
    }

    /// Checks one result of a batch.
    fn check_result(&self, op: &Op, result: &serde_json::Value) {
        let checked = facts().check_result(result);
        self.events.check("answers match the platform's data", checked.is_ok(), || {
            format!("caller {}, {}: {}", op.number, result["videoId"], checked.unwrap_err())
        });
        let Some(error) = result["error"].as_str() else { return };
        let reason = result["reason"].as_str().map(str::to_owned);
        let status = match reason.as_deref() {
            Some("timed_out") => 504,
            Some("paced" | "upstream_rate_limited" | "translation_rate_limited") => 429,
            Some("upstream_failing") => 503,
            Some(
                "video_private" | "video_not_found" | "captions_disabled" | "region_blocked"
                | "age_restricted" | "members_only" | "not_started" | "not_ended" | "unplayable"
                | "po_token_required",
            ) => {
                let id = result["videoId"].as_str().unwrap_or_default();
                // Captions may be empty because of a fault.
                let is_empty =
                    reason.as_deref() == Some("po_token_required") && self.may_have_met_fault(op);
                let may = facts().is_uncaptioned(id) || is_empty;
                self.events.check("no false 400, 403 or 404", may, || {
                    format!("caller {}, {id}: {error}", op.number)
                });
                return;
            }
            Some(_) => 502,
            None => 500,
        };
        let retry_after = Some(Duration::ZERO);
        let answer =
            Answer { status, reason, retry_after, message: error.to_owned(), ..Answer::default() };
        self.events.check("no 500", status != 500, || error.to_owned());
        // It may have failed at any time since the batch began, and its reader may be slow.
        self.check_refusal(op, &answer, op.start);
    }

    fn check_failure(&self, op: &Op, answer: &Answer, now: Instant) {
        let it = |what: &str| format!("caller {}, {:?}: {what}", op.number, op.operation());
        match answer.status {
            400 | 403 | 404 => {
                let may = may_be_missing(op.operation(), answer);
                self.events.check("no false 400, 403 or 404", may, || it(&answer.message));
            }
            429 | 502 | 503 | 504 => self.check_refusal(op, answer, now),
            500 => {}
            other => {
                self.events.check("every status is documented", false, || it(&other.to_string()));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// The target of a caller's request; `None` if the body is part of the request.
fn target(caller: &Caller) -> Option<String> {
    let is_tool = caller.interface == Interface::Tool && caller.operation.tool_request().is_some();
    let request = caller.operation.request();
    (!is_tool && request.method() == "GET").then(|| request.uri().to_string())
}

/// Whether an answer, or a part of it, may have been stale. An answer without `X-Cache` may be.
fn may_be_stale(operation: &Operation, answer: &Answer) -> bool {
    match answer.cache.as_deref() {
        Some("stale") | None => true,
        Some("hit") => false,
        // Some parts may have been stale, and others missing. A replaced feed has parts too.
        Some(_) => has_parts(operation) || is_from_data_api(answer),
    }
}

/// Whether it is assembled from several records.
fn has_parts(operation: &Operation) -> bool {
    match operation {
        Operation::Videos(_) => true,
        Operation::Listing(listing) => listing.has_parts(),
        _ => is_composite(operation),
    }
}

/// Whether it is a feed that the Data API replaced.
fn is_from_data_api(answer: &Answer) -> bool {
    answer.body.starts_with(r#"{"source":"data_api""#)
}

/// Whether it is a list with videos that are separate records.
fn is_composite(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Playlist(_)
            | Operation::Query(_)
            | Operation::VideosOf { .. }
            | Operation::Uploads(_)
    )
}

/// The kind of record that answers an operation.
fn resource(operation: &Operation) -> Option<Resource> {
    Some(match operation {
        Operation::Video(_) | Operation::Title(_) | Operation::Detailed(_) => Resource::Video,
        Operation::Videos(_) => Resource::Video,
        Operation::Listing(listing) => match listing {
            Listing::Search { .. } => Resource::Search,
            Listing::ChannelFeed(_) | Listing::PlaylistFeed(_) => Resource::Feed,
            Listing::Chart { .. } => Resource::Chart,
            Listing::Playlists { .. } => Resource::Playlist,
            Listing::Threads { .. } => Resource::Comments,
        },
        Operation::Channel(_) => Resource::Channel,
        Operation::Uploads(_) => Resource::Uploads,
        Operation::Playlist(_) | Operation::Query(_) => Resource::Playlist,
        Operation::Info(_) | Operation::Ids(_) => Resource::Playlist,
        Operation::VideosOf { .. } => Resource::Playlist,
        Operation::Comments(_) | Operation::Replies(_) => Resource::Comments,
        Operation::Regions | Operation::Languages | Operation::Categories => Resource::Regions,
        Operation::Tracks(_) => Resource::Tracks,
        Operation::Transcript { .. } | Operation::Translation { .. } => Resource::Transcript,
        Operation::Batch { .. } => return None,
        Operation::Quota | Operation::Cache | Operation::Ready | Operation::Metrics => return None,
    })
}

/// Whether the platform may answer that the item does not exist or is not accessible.
fn may_be_missing(operation: &Operation, answer: &Answer) -> bool {
    let playlist = |id: &str| id == UNKNOWN_PLAYLIST || id == "PLquirkPrivate";
    match operation {
        Operation::Video(id) | Operation::Title(id) => id == UNKNOWN_VIDEO,
        Operation::Detailed(id) => id == UNKNOWN_VIDEO,
        Operation::Listing(listing) => listing.may_be_missing(),
        Operation::Channel(id) | Operation::Uploads(id) => *id == UNKNOWN_CHANNEL,
        Operation::Playlist(id) | Operation::Info(id) => playlist(id),
        Operation::Ids(id) | Operation::Query(id) => playlist(id),
        Operation::Batch { playlist: id, .. } => playlist(id),
        Operation::VideosOf { playlist: id, .. } => playlist(id),
        Operation::Comments(id) => *id == "quirkNoComm",
        Operation::Tracks(id) => id == "txNoCaption" || id == BOT_WALL,
        Operation::Transcript { video, lang, .. } => {
            let is_language = answer.reason.as_deref() == Some("language_unavailable");
            video == "txNoCaption" || (lang.is_some() && is_language)
        }
        _ => false,
    }
}
