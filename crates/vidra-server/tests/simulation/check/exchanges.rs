//! What the platform saw, judged when the world is over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use vidra::Bucket;

use super::{BOUND, Judge, Op};
use crate::platform::{Ended, Exchange, Kind};

/// The longest pause that a bucket is closed for.
const LONGEST_HOLD: Duration = Duration::from_secs(3600);

/// After so long a fetch may be begun once more beside the first.
const REPLACEMENT: Duration = Duration::from_secs(10);

impl Judge {
    /// Judges the whole log. `used_default` and `used_search` are what the ledger counted.
    pub(crate) fn at_the_end(&self, used_default: u32, used_search: u32, is_whole: bool) {
        let log = self.platform.log(<[_]>::to_vec);
        let ops = self.state().ops.clone();
        let open = log.iter().filter(|exchange| exchange.is_open()).count();
        self.events.check("no exchange is left", open == 0, || format!("{open} exchanges"));
        self.check_ledger(&log, used_default, used_search, is_whole);
        self.check_duplicates(&log, &ops);
        self.check_waiters(&log, &ops);
        self.check_retries(&log);
        if self.state().restarts.is_empty() {
            for egress in 0..self.settings.egresses {
                let of_it = |exchange: &&Exchange| {
                    exchange.kind.bucket().is_none() && exchange.egress == egress
                };
                let sent: Vec<&Exchange> = log.iter().filter(of_it).collect();
                self.check_pace(&sent, egress);
                self.check_blocks(&sent, egress);
                self.check_pages(&sent, egress);
            }
            self.check_starts(&log, &ops);
            self.check_pauses(&log);
        }
    }

    /// Nothing is sent for callers who have left.
    fn check_waiters(&self, log: &[Exchange], ops: &[Op]) {
        for exchange in log {
            let at = exchange.start;
            let is_waited_for = ops.iter().any(|op| {
                let mut subjects = exchange.subjects.iter();
                // A renewal continues when its caller leaves.
                let is_renewed = op.is_stale || op.has_left && is_known(log, exchange, op.start);
                let is_renewed = is_renewed && op.may_be_at_work(at, self.settings.deadline);
                (op.is_live(at) || is_renewed)
                    && subjects.any(|subject| op.operation().may_send(exchange.kind, subject))
            });
            self.events.check("nothing is sent for nobody", is_waited_for, || {
                let late = at - self.began;
                format!("{:?} {:?} at {late:?}", exchange.kind, exchange.subjects.first())
            });
        }
    }

    /// Nothing is sent to a bucket that the platform has closed, for a while or for the day.
    fn check_pauses(&self, log: &[Exchange]) {
        let was_set = self.state().clock_was_set;
        for refused in log {
            let (Some(bucket), Some((at, Ended::Answered(_)))) =
                (refused.kind.bucket(), refused.end)
            else {
                continue;
            };
            let midnight = self.began + Duration::from_secs(self.settings.to_midnight);
            let until = match refused.asks_for_pause {
                _ if refused.says_quota_is_spent && !was_set => midnight,
                Some(pause) => at + pause.min(LONGEST_HOLD),
                None => continue,
            };
            let early = log.iter().find(|it| {
                it.kind.bucket() == Some(bucket)
                    && it.start > at + self.ledger_time()
                    && it.start < until
            });
            self.events.check("nothing is sent while a bucket is closed", early.is_none(), || {
                format!("{bucket:?}: {:?}", early.map(|it| (it.kind, it.start - at)))
            });
        }
    }

    /// How long a charge, and the note that a bucket is closed, may take.
    fn ledger_time(&self) -> Duration {
        Duration::from_millis(4 * self.settings.ledger_delay.unwrap_or(0))
    }

    /// The ledger counts what reached the platform, no less and no more.
    fn check_ledger(&self, log: &[Exchange], default: u32, search: u32, is_whole: bool) {
        let ends_by = Duration::from_secs(self.settings.to_midnight);
        let (was_set, billed) = {
            let state = self.state();
            (state.clock_was_set, state.billed)
        };
        if was_set || self.began.elapsed() >= ends_by || !is_whole {
            return;
        }
        for (bucket, used) in [(Bucket::Default, default), (Bucket::Search, search)] {
            let sent = log.iter().filter(|exchange| exchange.kind.bucket() == Some(bucket));
            let sent = sent.filter(|exchange| exchange.ended() != Some(Ended::NotSent)).count();
            self.events.check("the ledger equals the bill", sent == used as usize, || {
                format!("{bucket:?}: {used} counted, {sent} sent")
            });
        }
        let all = u64::from(default) + u64::from(search);
        self.events.check("callers pay for what was sent", billed <= all, || {
            format!("{billed} billed, {all} counted")
        });
    }

    /// At most one request for a key is under way, or two once the first is ten seconds old.
    fn check_duplicates(&self, log: &[Exchange], ops: &[Op]) {
        let mut by_subject = BTreeMap::<(Kind, &str), Vec<&Exchange>>::new();
        for exchange in log {
            for subject in &exchange.subjects {
                by_subject.entry((exchange.kind, subject)).or_default().push(exchange);
            }
        }
        for ((kind, subject), exchanges) in by_subject {
            for (index, exchange) in exchanges.iter().enumerate() {
                let at = exchange.start;
                let others = exchanges[..index]
                    .iter()
                    .filter(|other| other.end.is_none_or(|(end, _)| end > at));
                let others: Vec<_> = others.collect();
                if others.is_empty() {
                    continue;
                }
                let is_old = others.iter().any(|other| at - other.start >= REPLACEMENT);
                let keys = self.fetches(ops, kind, subject, at);
                let allowed = if is_old { 2 * keys } else { keys };
                let under_way = others.len() + 1;
                self.events.check("one request for a key at a time", under_way <= allowed, || {
                    format!("{under_way} of {kind:?} {subject}, for {keys} fetches")
                });
            }
        }
    }

    /// How many fetches may rightly send such a request: one for each key, and each batch for itself.
    fn fetches(&self, ops: &[Op], kind: Kind, subject: &str, at: Instant) -> usize {
        let mut keys = BTreeSet::new();
        for op in ops {
            let is_meant = op.operation().may_send(kind, subject);
            if is_meant && op.may_be_at_work(at, self.settings.deadline) {
                let is_batch = op.operation().is_batch();
                keys.insert((op.operation().key(), is_batch.then_some(op.number)));
            }
        }
        // Each service fetches for itself.
        let services = 1 + self.state().restarts.iter().filter(|restart| **restart <= at).count();
        keys.len() * services
    }

    /// Retries stay within their budget: a fifth of the calls, and ten that are saved up.
    fn check_retries(&self, log: &[Exchange]) {
        let keeps = self.settings.cache_bytes > 0 || self.settings.has_store;
        if !keeps || !self.state().restarts.is_empty() {
            return;
        }
        let keyed: Vec<&Exchange> =
            log.iter().filter(|it| matches!(it.kind, Kind::Comments | Kind::Other)).collect();
        let mut retries = 0;
        for (index, exchange) in keyed.iter().enumerate() {
            // What failed is remembered for a second, so whatever comes sooner is a retry.
            let is_retry = keyed[..index].iter().any(|before| {
                let is_same = before.kind == exchange.kind && before.subjects == exchange.subjects;
                let gap = before.end.map(|(end, _)| exchange.start.saturating_duration_since(end));
                let is_soon = gap.is_some_and(|gap| gap < Duration::from_millis(900));
                is_same && is_soon && matches!(before.ended(), Some(Ended::Broken))
            });
            retries += usize::from(is_retry);
        }
        let calls = log.iter().filter(|exchange| exchange.kind.bucket().is_some()).count();
        self.events.check("retries stay within their budget", retries <= 10 + calls / 5, || {
            format!("{retries} retries of {calls} calls")
        });
    }

    /// In any window an address sends at most its burst and the pace times the time.
    fn check_pace(&self, sent: &[&Exchange], egress: usize) {
        let Some((burst, per_hour)) = self.settings.pace else { return };
        let interval = Duration::from_secs(3600) / per_hour;
        let mut free_at = self.began;
        for exchange in sent.iter().filter(|exchange| exchange.kind.is_paced()) {
            free_at = free_at.max(exchange.start) + interval;
            let ahead = free_at - exchange.start;
            let is_kept = ahead <= interval * burst + Duration::from_millis(2);
            self.events.check("an address keeps its pace", is_kept, || {
                format!("address {egress} is {ahead:?} ahead, with {burst} at once and {per_hour} an hour")
            });
        }
    }

    /// Nothing is sent from an address that the platform has turned against.
    fn check_blocks(&self, sent: &[&Exchange], egress: usize) {
        let pause = self.settings.block_pause;
        let mut last: Option<Instant> = None;
        let blocks = sent.iter().filter(|it| it.is_block && !it.is_translation);
        let delivered = blocks.filter_map(|it| match it.end {
            Some((at, Ended::Answered(_))) => Some((it.start, at)),
            _ => None,
        });
        let mut delivered: Vec<_> = delivered.collect();
        delivered.sort_by_key(|(_, at)| *at);
        for (start, at) in delivered {
            // Requests that were under way together are one block.
            if last.is_some_and(|last| start <= last && at < last + pause) {
                continue;
            }
            last = Some(at);
            let early = sent.iter().find(|it| it.start > at && it.start < at + pause);
            self.events.check(
                "nothing is sent while an address is blocked",
                early.is_none(),
                || format!("address {egress}: {:?}", early.map(|it| (it.kind, it.start - at))),
            );
        }
    }

    /// One watch page of an address at a time.
    fn check_pages(&self, sent: &[&Exchange], egress: usize) {
        let pages: Vec<_> = sent.iter().filter(|exchange| exchange.kind == Kind::Watch).collect();
        for pair in pages.windows(2) {
            let is_over = pair[0].end.is_some_and(|(end, _)| end <= pair[1].start);
            self.events.check("one watch page at a time", is_over, || format!("address {egress}"));
        }
    }

    /// A single transcript starts soon, whatever batches and renewals do.
    fn check_starts(&self, log: &[Exchange], ops: &[Op]) {
        let is_plain = self.settings.egresses == 1 && !log.iter().any(|it| it.is_trouble);
        if !is_plain || self.settings.pace.is_none() {
            return;
        }
        for op in ops.iter().filter(|op| op.operation().is_single_transcript() && !op.has_left) {
            let is_for_it = |exchange: &&Exchange| {
                let mut subjects = exchange.subjects.iter();
                exchange.kind == Kind::Player
                    && exchange.start >= op.start
                    && subjects.any(|subject| op.operation().may_send(exchange.kind, subject))
            };
            let Some(first) = log.iter().find(is_for_it) else { continue };
            if op.end.is_some_and(|end| end < first.start) {
                continue;
            }
            let (waited, longest) = (first.start - op.start, self.longest_start(op) + BOUND);
            self.events.check("single requests come first", waited <= longest, || {
                format!("caller {} waited {waited:?}, {longest:?} at the most", op.number)
            });
        }
    }
}

/// Whether the same has been answered before `at`, so that something old may be known.
fn is_known(log: &[Exchange], exchange: &Exchange, at: Instant) -> bool {
    log.iter().any(|before| {
        before.kind == exchange.kind
            && before
                .end
                .is_some_and(|(end, ended)| end <= at && matches!(ended, Ended::Answered(_)))
            && before.subjects.iter().any(|subject| exchange.subjects.contains(subject))
    })
}
