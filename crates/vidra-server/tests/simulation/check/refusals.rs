//! Refusals have causes: nothing is refused that a model of the resource says was free.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::{BOUND, Judge, Op};
use crate::caller::Answer;
use crate::operation::Operation;
use crate::plan::Through;
use crate::platform::Ended;

/// How long a failure is remembered without asking again.
pub(super) const MEMO: Duration = Duration::from_secs(1);
/// How long requests go on when the service drains.
const DRAIN: Duration = Duration::from_secs(5);
/// The longest pause after a block or a `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(2 * 3600);

impl Judge {
    pub(super) fn check_refusal(&self, op: &Op, answer: &Answer, now: Instant) {
        let it = || format!("caller {}, {:?}: {}", op.number, op.operation(), answer.message);
        if matches!(answer.status, 429 | 503) {
            let is_key = answer.message.contains("API key");
            let says_when = answer.retry_after.is_some() || is_key;
            self.events.check("a refusal says when to come again", says_when, it);
        }
        let is_draining = self.state().restarts.iter().any(|at| now >= *at + DRAIN);
        if answer.status == 503 && answer.message.contains("stopping") {
            self.events.check("only a service that drains says so", is_draining, it);
            return;
        }
        let is_due = match (answer.status, answer.reason.as_deref()) {
            (429, Some("paced")) => return self.check_paced(op, answer, now),
            (429, Some("rate_limited" | "translation_rate_limited")) | (502, Some("blocked")) => {
                self.has_blocked(now)
            }
            (429, _) => self.has_spent(op, answer) || self.has_limited(now),
            (503, _) if answer.message.contains("busy") => self.is_busy(op, now),
            (503, _) if answer.message.contains("API key") => self.has_trouble(op),
            (503, _) => self.has_failed_often(),
            (502, _) => self.has_trouble(op),
            (504, _) => Instant::now() >= op.deadline || self.was_silent(op),
            _ => true,
        };
        let invariant = match answer.status {
            504 => "no 504 before the caller's own deadline",
            _ => "nothing is refused that is free",
        };
        self.events.check(invariant, is_due, it);
    }

    /// Whether the platform was silent for a whole attempt while this operation, or a failure that it is
    /// told of, went on.
    fn was_silent(&self, op: &Op) -> bool {
        let now = Instant::now();
        let limit = self.settings.attempt_timeout;
        let since = op.start.checked_sub(MEMO).unwrap_or(op.start);
        self.platform.log(|log| {
            log.iter().any(|exchange| {
                let was_there = exchange.end.is_none_or(|(end, _)| end >= since);
                was_there && exchange.lasted(now) >= limit
            })
        })
    }

    /// Whether anything went wrong with the platform that this operation may have met.
    fn has_trouble(&self, op: &Op) -> bool {
        // A request that never left is refunded before its failure is told, however slow the ledger is.
        let refund = self.settings.ledger_delay.map_or(Duration::ZERO, |_| self.settings.deadline);
        self.platform.log(|log| {
            log.iter().filter(|exchange| exchange.is_trouble).any(|exchange| match exchange.end {
                Some((end, Ended::NotSent)) => end + refund + MEMO >= op.start,
                Some((end, _)) => end + MEMO >= op.start,
                None => true,
            })
        })
    }

    /// Whether so much failed that a breaker may be open.
    fn has_failed_often(&self) -> bool {
        let is_failure = |ended| match ended {
            Some(Ended::Answered(status)) => !status.is_client_error() || status.as_u16() == 429,
            Some(Ended::Broken | Ended::NotSent | Ended::Dropped) => true,
            None => false,
        };
        let failed = self
            .platform
            .log(|log| log.iter().filter(|it| it.is_trouble && is_failure(it.ended())).count());
        failed >= 5
    }

    /// Whether the platform has turned against an address, and the pause may not be over.
    fn has_blocked(&self, now: Instant) -> bool {
        let pause = self.settings.block_pause;
        self.platform.log(|log| {
            let blocks = log.iter().filter(|exchange| exchange.is_block);
            let blocks: Vec<_> =
                blocks.filter_map(|it| Some((it.end?.0, it.retry_after))).collect();
            let in_a_row = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
            let longest = pause.saturating_mul(in_a_row).min(LONGEST_PAUSE.max(pause));
            blocks.iter().any(|(end, asked)| {
                let pause = longest.max(asked.unwrap_or_default().min(LONGEST_PAUSE));
                // Until somebody has found out whether it is over.
                now <= *end + pause + self.settings.deadline + self.settings.batch_deadline
            })
        })
    }

    /// Whether the platform has requested a pause that may not be over.
    fn has_limited(&self, now: Instant) -> bool {
        self.platform.log(|log| {
            log.iter().any(|exchange| match exchange.end {
                Some((end, Ended::Answered(status)))
                    if status.as_u16() == 429 || exchange.is_trouble =>
                {
                    let asked = exchange.retry_after.unwrap_or_default();
                    now <= end
                        + asked.min(Duration::from_secs(3600))
                        + MEMO
                        + self.settings.deadline
                }
                _ => false,
            })
        })
    }

    /// Whether the day's quota, or the caller's share of it, may be spent.
    fn has_spent(&self, op: &Op, answer: &Answer) -> bool {
        if answer.message.contains("Too many playlists") {
            return self.has_batches(op);
        }
        let (sent, says_so) = self.platform.log(|log| {
            let keyed = log.iter().filter(|exchange| exchange.kind.bucket().is_some());
            (keyed.count(), log.iter().any(|exchange| exchange.says_quota_is_spent))
        });
        // A charge comes before its request, and may be refunded. A playlist has up to ten calls at once.
        let (now, deadline) = (Instant::now(), self.settings.deadline);
        let at_work = |other: &&Op| other.may_be_at_work(now, deadline);
        let slow = usize::from(self.settings.ledger_delay.is_some());
        let charged = self.state().ops.iter().filter(at_work).count() * 10 * slow;
        let billed = sent + charged;
        let share = self.settings.budgets[op.caller.key];
        let share_is_spent = share.is_some_and(|share| billed >= share as usize);
        match answer.message.starts_with("Your share") {
            true => share_is_spent,
            false => {
                says_so
                    || billed >= self.settings.quota as usize
                    || billed >= self.settings.searches as usize
                        && answer.message.contains("search")
            }
        }
    }

    /// Whether the caller has as many batches as it may.
    fn has_batches(&self, op: &Op) -> bool {
        let state = self.state();
        let mine = state.ops.iter().filter(|other| {
            let is_mine = other.caller.key == op.caller.key
                && other.caller.through != Through::Library
                && other.operation().is_batch();
            is_mine && other.number != op.number && other.is_live(op.start)
        });
        mine.count() >= self.settings.batches_per_caller
    }

    /// Whether so many other fetches may be under way that there is no slot.
    fn is_busy(&self, op: &Op, now: Instant) -> bool {
        let it = &self.settings;
        let state = self.state();
        let others = state.ops.iter().filter(|other| other.number != op.number);
        if op.operation().is_batch() {
            let batches = others.filter(|other| other.operation().is_batch());
            return batches.filter(|other| other.is_live(op.start)).count() >= it.most_batches;
        }
        let at_work = others.filter(|other| other.may_be_at_work(now, it.deadline));
        let own = op.operation().key();
        let keys: BTreeSet<String> = at_work.filter_map(|other| other.operation().key()).collect();
        keys.iter().filter(|key| Some(*key) != own.as_ref()).count() >= it.most_misses
    }

    /// A request that is refused because of the pace would have had to wait past its deadline.
    fn check_paced(&self, op: &Op, answer: &Answer, now: Instant) {
        let longest = (0..self.settings.egresses)
            .map(|egress| self.longest_wait(op, egress, now))
            .min()
            .unwrap_or_default();
        let deadline = match op.operation().is_batch() {
            true => op.deadline,
            // Fetches have the service's deadline, whatever their caller's is.
            false => op.start + self.settings.deadline,
        };
        let is_due = now + longest + BOUND >= deadline;
        self.events.check("nothing is refused that is free", is_due, || {
            format!(
                "caller {}, {:?}: paced, with a wait of {longest:?} at the most ({:?} told)",
                op.number,
                op.operation(),
                answer.retry_after
            )
        });
    }

    /// The longest that an operation may have to wait for a turn at an address.
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

    /// How many turns others may take before this operation's: single requests, which come first.
    fn ahead(&self, op: &Op, now: Instant) -> u32 {
        let deadline = self.settings.deadline;
        let state = self.state();
        let others = state.ops.iter().filter(|other| {
            let competes = match op.operation().is_batch() {
                true => other.operation().is_single_transcript() || other.operation().is_batch(),
                // A single request may have joined the work of a batch, which is urgent then.
                false => other.operation().is_single_transcript(),
            };
            competes && other.may_be_at_work(now, deadline)
        });
        // A transcript takes a few requests, and a batch has up to twenty entries at work.
        let turns = others.map(|other| if other.operation().is_batch() { 100 } else { 8 });
        turns.sum::<u32>() + 8
    }

    /// The longest that a single request may wait for its first exchange, judged when it begins.
    pub(super) fn longest_start(&self, op: &Op) -> Duration {
        self.longest_wait(op, 0, op.start)
    }
}
