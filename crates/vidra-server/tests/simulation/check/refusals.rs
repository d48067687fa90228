//! Every refusal has a cause: a model of the resource must say that it was not free.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::{Checker, Op, TOLERANCE};
use crate::caller::Answer;
use crate::operation::Operation;
use crate::plan::Interface;
use crate::platform::{Exchange, ExchangeEnd, Kind};

/// How long a failure is cached.
pub(super) const FAILURE_TTL: Duration = Duration::from_secs(1);
/// How long requests may continue when the service drains.
const DRAIN: Duration = Duration::from_secs(5);
/// The longest pause after a block or a `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(2 * 3600);

/// The breakers of a service, those of the keyless interface by address.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Breaker {
    DataApi,
    Search,
    Player(usize),
    TimedText(usize),
    Feed,
}

/// Whether an operation on a list shares no fetch with others: it bypasses the cache, or a tool reads a part of a
/// playlist.
fn walks_alone(op: &Op) -> bool {
    let is_list =
        super::is_composite(op.operation()) || matches!(op.operation(), Operation::Ids(_));
    let reads_part = op.is_tool_call() && matches!(op.operation(), Operation::Playlist(_));
    reads_part || op.caller.no_cache && is_list
}

/// The breaker that counts an exchange.
fn breaker(exchange: &Exchange) -> Breaker {
    match exchange.kind {
        Kind::Player | Kind::Watch => Breaker::Player(exchange.egress),
        Kind::TimedText => Breaker::TimedText(exchange.egress),
        Kind::Feed => Breaker::Feed,
        Kind::Search => Breaker::Search,
        _ => Breaker::DataApi,
    }
}

impl Checker {
    pub(super) fn check_refusal(&self, op: &Op, answer: &Answer, now: Instant) {
        let it = || format!("caller {}, {:?}: {}", op.number, op.operation(), answer.message);
        let reason = answer.reason.as_deref();
        let is_key = reason.is_some_and(|reason| reason.starts_with("upstream_key"));
        if matches!(answer.status, 429 | 503) {
            let is_complete = answer.retry_after.is_some() || is_key;
            self.events.check("every 429 and 503 has Retry-After", is_complete, it);
        }
        let is_draining = self.state().restarts.iter().any(|at| now >= *at + DRAIN);
        if reason == Some("shutting_down") {
            self.events.check("shutting_down only while the service drains", is_draining, it);
            return;
        }
        let is_keyless = op.operation().is_single_transcript() || op.operation().is_batch();
        let is_due = match (answer.status, reason) {
            (429, Some("paced")) => return self.check_paced(op, answer, now),
            (429, Some("translation_rate_limited")) | (502, Some("blocked")) => {
                self.has_blocked(now)
            }
            (429, Some("upstream_rate_limited")) => {
                let is_keyed = !op.operation().is_single_transcript();
                is_keyless && self.has_blocked(now) || is_keyed && self.has_limited(now)
            }
            (429, Some("too_many_batches")) => self.has_batches(op),
            (429, _) => self.has_spent(op, answer, now),
            (503, Some("overloaded")) => {
                // A list takes its slot when it begins, and may wait for its other parts afterwards.
                self.is_busy(op, op.start) || self.is_busy(op, now)
            }
            (503, _) if is_key => self.may_have_met_fault(op),
            (503, _) => self.has_failed_often(op, now),
            (502, Some("unreachable")) if self.settings.egresses > 1 => {
                self.is_unreachable(now) || self.may_have_met_fault(op)
            }
            (502, _) => self.may_have_met_fault(op),
            (504, _) => Instant::now() >= op.deadline || self.saw_timeout(op),
            _ => true,
        };
        let invariant = match answer.status {
            504 => "no 504 before the caller's deadline",
            _ => "no request is rejected without a cause",
        };
        self.events.check(invariant, is_due, it);
    }

    /// Whether the platform did not answer for a whole attempt timeout, during this operation or during the cached
    /// failure that it got.
    fn saw_timeout(&self, op: &Op) -> bool {
        let now = Instant::now();
        let limit = self.settings.attempt_timeout;
        let since = op.start.checked_sub(FAILURE_TTL).unwrap_or(op.start);
        self.platform.log(|log| {
            log.iter().any(|exchange| {
                let was_there = exchange.end.is_none_or(|(end, _)| end >= since);
                was_there && exchange.lasted(now) >= limit && op.may_send(exchange)
            })
        })
    }

    /// Whether this operation may have met a fault of the platform.
    pub(super) fn may_have_met_fault(&self, op: &Op) -> bool {
        // The refund of a request that was not sent comes before its error, however slow the ledger is.
        let refund = self.settings.ledger_delay.map_or(Duration::ZERO, |_| self.settings.deadline);
        self.platform.log(|log| {
            let met = log.iter().filter(|exchange| exchange.is_fault && op.may_send(exchange));
            met.into_iter().any(|exchange| match exchange.end {
                Some((end, ExchangeEnd::NotSent)) => end + refund + FAILURE_TTL >= op.start,
                Some((end, _)) => end + FAILURE_TTL >= op.start,
                None => true,
            })
        })
    }

    /// Whether enough calls failed that a breaker may be open, of those that the operation needs.
    fn has_failed_often(&self, op: &Op, now: Instant) -> bool {
        let is_failure = |exchange: &Exchange| match exchange.ended() {
            // A dropped call that took two seconds counts as a failure, also without a fault.
            Some(ExchangeEnd::Dropped) => {
                let enough = self.settings.attempt_timeout.min(Duration::from_secs(2));
                exchange.is_fault || exchange.lasted(now) >= enough
            }
            Some(ExchangeEnd::Answered(_) | ExchangeEnd::Broken | ExchangeEnd::NotSent) => {
                exchange.is_fault
            }
            None => false,
        };
        let is_keyless = op.operation().is_single_transcript() || op.operation().is_batch();
        let is_keyed = !is_keyless || op.operation().is_batch();
        // The longest pause of a breaker, and the time in which failures are counted.
        let pause = self.settings.breaker_pause * 10 + Duration::from_secs(10);
        let longest = pause + self.settings.deadline.max(self.settings.batch_deadline);
        let others_are_running = {
            let state = self.state();
            // A part of the operation itself may be the probe.
            let is_other =
                |other: &&Op| other.number != op.number || super::has_parts(op.operation());
            let mut others = state.ops.iter().filter(is_other);
            others.any(|other| {
                let is_running = other.may_be_running(now, self.settings.deadline);
                is_running && other.operation().key().is_some()
            })
        };
        // Whether five failures in a row ended recently. A success that ends later, but began before, is ignored.
        let has_opened = |of_it: &[&Exchange], now: Instant, longest: Duration| {
            let is_ok = |it: &Exchange| matches!(it.ended(), Some(ExchangeEnd::Answered(_)));
            let ends = of_it
                .iter()
                .filter_map(|it| Some((it.end?.0, is_ok(it) && !it.is_fault, is_failure(it))));
            let mut ends: Vec<_> = ends.collect();
            ends.sort_unstable();
            let mut in_a_row = 0;
            ends.into_iter().any(|(end, is_success, is_failure)| {
                in_a_row = if is_success { 0 } else { in_a_row + u32::from(is_failure) };
                is_failure && in_a_row >= 5 && end + longest >= now
            })
        };
        let is_open = |of_it: &[&Exchange]| {
            let is_recent = |it: &&&Exchange| it.end.is_some_and(|(end, _)| end + longest >= now);
            let is_success = |it: &&&Exchange| {
                matches!(it.ended(), Some(ExchangeEnd::Answered(_))) && !it.is_fault
            };
            let recently = of_it.iter().filter(|it| is_failure(it)).filter(is_recent).count();
            // A breaker counts calls as they end. A success does not close a breaker that opened after its call
            // began, so that all failures since then count.
            let last_success = of_it.iter().filter(is_success).map(|it| it.start).max();
            let since = of_it.iter().filter(|it| it.end.map(|(end, _)| end) >= last_success);
            let in_a_row = since.filter(|it| is_failure(it)).count();
            // One request at a time probes an open breaker. It may not have been sent yet.
            let is_probed = of_it.iter().any(|it| it.is_open()) || others_are_running;
            recently >= 5
                || in_a_row >= 5 && (recently >= 1 || is_probed)
                || has_opened(of_it, now, longest)
        };
        self.platform.log(|log| {
            let mut by_breaker = BTreeMap::<_, Vec<&Exchange>>::new();
            for exchange in log {
                by_breaker.entry(breaker(exchange)).or_default().push(exchange);
            }
            let mut needed = by_breaker.into_iter().filter(|(breaker, _)| match breaker {
                Breaker::DataApi | Breaker::Search => is_keyed,
                Breaker::Player(_) | Breaker::TimedText(_) => is_keyless,
                // The Data API replaces a feed.
                Breaker::Feed => false,
            });
            needed.any(|(_, of_it)| is_open(&of_it))
        })
    }

    /// Whether the platform has blocked all addresses, and the pauses may not be over. A paced address may be unusable
    /// for another reason.
    fn has_blocked(&self, now: Instant) -> bool {
        let is_unusable = |egress: &usize| self.is_blocked(*egress, now);
        let mut all = 0..self.settings.egresses;
        match self.settings.pace {
            None if !self.has_faults() && !self.has_timeouts() => {
                all.all(|egress| is_unusable(&egress))
            }
            _ => all.any(|egress| is_unusable(&egress)),
        }
    }

    /// Whether a proxy was unreachable. The service tries it again every five seconds.
    fn is_unreachable(&self, now: Instant) -> bool {
        let pause = Duration::from_secs(5) + self.settings.deadline;
        self.platform.log(|log| {
            log.iter().any(|it| match it.end {
                Some((end, ExchangeEnd::NotSent | ExchangeEnd::Broken)) => {
                    it.kind.is_of_transcript() && end + pause >= now
                }
                _ => false,
            })
        })
    }

    /// Whether a request for a transcript took as long as an attempt may. Such failures open the breaker of an address.
    fn has_timeouts(&self) -> bool {
        let (now, limit) = (Instant::now(), self.settings.attempt_timeout);
        let is_one = |it: &Exchange| it.kind.is_of_transcript() && it.lasted(now) >= limit;
        self.platform.log(|log| log.iter().any(is_one))
    }

    fn has_faults(&self) -> bool {
        self.platform.log(|log| log.iter().any(|exchange| exchange.is_fault))
    }

    fn is_blocked(&self, egress: usize, now: Instant) -> bool {
        let pause = self.settings.block_pause;
        self.platform.log(|log| {
            let blocks = log.iter().filter(|it| it.is_block && it.egress == egress);
            let blocks: Vec<_> =
                blocks.filter_map(|it| Some((it.end?.0, it.retry_after))).collect();
            let in_a_row = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
            let longest = pause.saturating_mul(in_a_row).min(LONGEST_PAUSE.max(pause));
            blocks.iter().any(|(end, requested)| {
                let pause = longest.max(requested.unwrap_or_default().min(LONGEST_PAUSE));
                // Until a probe has shown whether the block is over.
                now <= *end + pause + self.settings.deadline + self.settings.batch_deadline
            })
        })
    }

    /// Whether the platform has requested a pause that may not be over.
    fn has_limited(&self, now: Instant) -> bool {
        self.platform.log(|log| {
            log.iter().any(|exchange| match exchange.end {
                Some((end, ExchangeEnd::Answered(_))) if exchange.is_limit => {
                    let requested = exchange.retry_after.unwrap_or_default();
                    now <= end
                        + requested.min(Duration::from_secs(3600))
                        + FAILURE_TTL
                        + self.settings.deadline
                }
                _ => false,
            })
        })
    }

    /// Whether the day's quota, or the caller's budget, may be spent.
    fn has_spent(&self, op: &Op, answer: &Answer, now: Instant) -> bool {
        let is_own = answer.reason.as_deref() == Some("caller_budget_exhausted");
        let is_search = answer.reason.as_deref() == Some("search_quota_exhausted") || is_own;
        let ops = self.state().ops.clone();
        let (payer, deadline) = (op.payer(), self.settings.deadline);
        let may_pay = |other: &&Op| !is_own || other.payer() == payer;
        let since = self.day_of(now);
        let (billed, is_reported) = self.platform.log(|log| {
            let mut today = log.iter().filter(|it| it.kind.bucket().is_some() && it.start >= since);
            let may_have_paid = |exchange: &&Exchange| {
                let mut payers = ops.iter().filter(may_pay);
                payers
                    .any(|op| op.may_be_running(exchange.start, deadline) && op.may_send(exchange))
            };
            let is_reported = today.clone().any(|exchange| exchange.reports_quota_spent);
            (today.by_ref().filter(may_have_paid).count(), is_reported)
        });
        // A charge comes before its request, and may be refunded. A playlist has up to ten calls at once.
        let running = |other: &&Op| other.may_be_running(now, deadline) && may_pay(other);
        let slow = usize::from(self.settings.ledger_delay.is_some());
        let billed = billed + ops.iter().filter(running).count() * 10 * slow;
        match self.settings.budgets[op.caller.key] {
            Some(budget) if is_own => billed >= budget as usize,
            None if is_own => false,
            _ => {
                let spent = billed >= self.settings.quota as usize;
                is_reported || spent || is_search && billed >= self.settings.searches as usize
            }
        }
    }

    /// When the platform's day began. Charges are a little earlier than their requests.
    fn day_of(&self, now: Instant) -> Instant {
        let midnight = self.began + Duration::from_secs(self.settings.to_midnight);
        let is_known = !self.state().clock_was_set && now > midnight + self.settings.deadline;
        let earlier = self.ledger_time() + self.settings.deadline;
        if is_known { midnight.checked_sub(earlier).unwrap_or(self.began) } else { self.began }
    }

    /// Whether the caller has as many batches as it may.
    fn has_batches(&self, op: &Op) -> bool {
        let state = self.state();
        let mine = state.ops.iter().filter(|other| {
            let is_mine = other.caller.key == op.caller.key
                && other.caller.interface != Interface::Library
                && other.operation().is_batch();
            is_mine && other.number != op.number && other.is_live(op.start)
        });
        mine.count() >= self.settings.batches_per_caller
    }

    /// Whether enough other fetches may be in flight that no slot is free.
    fn is_busy(&self, op: &Op, now: Instant) -> bool {
        let it = &self.settings;
        let state = self.state();
        let others = state.ops.iter().filter(|other| other.number != op.number);
        if op.operation().is_batch() {
            let batches = others.filter(|other| other.operation().is_batch());
            return batches.filter(|other| other.is_live(op.start)).count() >= it.max_batches;
        }
        let running = others.filter(|other| other.may_be_running(now, it.deadline));
        // Followers need no slot. While records stay cached, a video is fetched once.
        let stays = it.cache_bytes > 60_000 && it.lifetime_divisor <= 10 && !self.has_faults();
        let (mut keys, mut videos, mut slots) = (BTreeSet::new(), BTreeSet::new(), 0);
        for other in running {
            // The fetch of a caller that has left holds its slot, also if another operation shares it.
            // Two readers of one list may lead the fetches of different pages.
            let is_listing = matches!(other.operation(), Operation::Listing(_));
            if !other.is_live(now) || walks_alone(other) || is_listing {
                slots += 1;
                continue;
            }
            let ids: Vec<&String> = match other.operation() {
                Operation::Video(id) | Operation::Title(id) | Operation::Detailed(id) if stays => {
                    vec![id]
                }
                Operation::Videos(ids) if stays => ids.iter().collect(),
                operation => {
                    keys.extend(operation.key());
                    continue;
                }
            };
            let leads = ids.iter().any(|id| !videos.contains(*id));
            slots += usize::from(leads || other.caller.no_cache);
            videos.extend(ids.into_iter().cloned());
        }
        // An operation that bypasses the cache walks through a list by itself.
        if let Some(own) = op.operation().key()
            && !walks_alone(op)
        {
            keys.remove(&own);
        }
        keys.len() + slots >= it.max_misses
    }

    /// A request that is refused because of the pace would have had to wait past its deadline.
    fn check_paced(&self, op: &Op, answer: &Answer, now: Instant) {
        // An entry of a batch may have been refused at any time since the batch began.
        let now = if op.operation().is_batch() { Instant::now() } else { now };
        let longest = (0..self.settings.egresses)
            .map(|egress| self.longest_wait(op, egress, now))
            .min()
            .unwrap_or_default();
        let deadline = match op.operation().is_batch() {
            true => op.deadline,
            // Fetches have the service's deadline, whatever their caller's is.
            false => op.start + self.settings.deadline,
        };
        let retry_after = answer.retry_after.unwrap_or_default();
        let is_true = op.operation().is_batch() || retry_after <= longest + TOLERANCE;
        let is_due = now + longest + TOLERANCE >= deadline && is_true;
        self.events.check("no request is rejected without a cause", is_due, || {
            format!(
                "caller {}, {:?}: paced, with a wait of {longest:?} at the most (Retry-After: {:?})",
                op.number,
                op.operation(),
                answer.retry_after
            )
        });
    }

    /// The longest that an operation may have to wait for a permit of an address.
    fn longest_wait(&self, op: &Op, egress: usize, now: Instant) -> Duration {
        let Some((burst, per_hour)) = self.settings.pace else { return Duration::ZERO };
        // Translations have a tenth of it.
        let tenth = if matches!(op.operation(), Operation::Translation { .. }) { 10 } else { 1 };
        let (burst, per_hour) = ((burst / tenth).max(1), (per_hour / tenth).max(1));
        let interval = Duration::from_secs(3600) / per_hour;
        let free_at = self.platform.log(|log| {
            let sent = log.iter().filter(|it| {
                let counts = if tenth == 10 { it.is_translation } else { it.kind.is_paced() };
                counts && it.egress == egress && it.start <= now
            });
            sent.fold(self.began, |free_at, exchange| free_at.max(exchange.start) + interval)
        });
        let due = free_at.saturating_duration_since(now + interval * (burst - 1));
        due + interval * self.ahead(op, now)
    }

    /// How many others may be ahead in the queue of an address, each with one permit at a time. Single requests
    /// come first; for an entry of a batch, all other entries may be ahead too.
    fn ahead(&self, op: &Op, now: Instant) -> u32 {
        let state = self.state();
        // An entry of a batch may have been refused at any time since the batch began.
        let since = if op.operation().is_batch() { op.start } else { now };
        let was_there =
            |other: &&Op| other.start <= now && other.end.is_none_or(|end| end >= since);
        let others = state.ops.iter().filter(|other| other.number != op.number).filter(was_there);
        let permits = others.map(|other| match other.operation() {
            Operation::Batch { concurrency, .. } if op.operation().is_batch() => {
                u32::try_from(*concurrency).unwrap_or(u32::MAX)
            }
            other if other.is_single_transcript() => 1,
            _ => 0,
        });
        let own = match op.operation() {
            Operation::Batch { concurrency, .. } => u32::try_from(*concurrency).unwrap_or(u32::MAX),
            _ => 1,
        };
        // One page of an address is fetched before everything else.
        permits.sum::<u32>() + own + 1
    }

    /// The longest that a single request may wait for its first exchange, which began at `first`: each single
    /// request that arrived meanwhile may have got one permit before it.
    pub(super) fn longest_start(&self, op: &Op, first: Instant) -> Duration {
        let due = self.longest_wait(op, 0, op.start);
        let Some((_, per_hour)) = self.settings.pace else { return due };
        let later = {
            let state = self.state();
            let later = state.ops.iter().filter(|other| {
                let came_later = other.start > op.start && other.start <= first;
                came_later && other.operation().is_single_transcript()
            });
            u32::try_from(later.count()).unwrap_or(u32::MAX)
        };
        due + Duration::from_secs(3600) / per_hour * later
    }
}
