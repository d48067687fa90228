//! Checks of the whole exchange log, when the world has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use vidra::Bucket;

use super::{Checker, LedgerCount, Op, Payer, Spending, TOLERANCE};
use crate::operation::Operation;
use crate::platform::{Exchange, ExchangeEnd, Kind};

/// The longest pause that a bucket is closed for.
const LONGEST_HOLD: Duration = Duration::from_secs(3600);

/// The longest pause after a block.
const LONGEST_PAUSE: Duration = Duration::from_secs(2 * 3600);

/// After this time a second fetch may run beside the first.
const REPLACEMENT: Duration = Duration::from_secs(10);

/// The longest attempt at a feed, which the Data API can replace.
const FEED_TIMEOUT: Duration = Duration::from_secs(5);

/// No record is stale before this age.
const SHORTEST_TTL: Duration = Duration::from_secs(540);

impl Checker {
    /// Checks the whole log. `ledger` is the count of the ledger, unless a service had its own count; `spending` are the
    /// units that were charged to each account.
    pub(crate) fn finish(&self, ledger: Option<LedgerCount>, spending: &[Spending]) {
        let log = self.platform.log(<[_]>::to_vec);
        let ops = self.state().ops.clone();
        let open = log.iter().filter(|exchange| exchange.is_open()).count();
        self.events.check("no upstream request is open at the end", open == 0, || {
            format!("{open} exchanges")
        });
        if let (Some(counted), false) = (ledger, self.state().clock_was_set) {
            self.check_ledger(&log, counted);
        }
        if self.is_one_day() {
            self.check_spending(&log, &ops, spending);
        }
        self.check_duplicates(&log, &ops);
        self.check_waiters(&log, &ops);
        self.check_cut_off(&log, &ops);
        self.check_retries(&log, &ops);
        if self.state().restarts.is_empty() {
            for egress in 0..self.settings.egresses {
                let of_it = |exchange: &&Exchange| {
                    exchange.kind.is_of_transcript() && exchange.egress == egress
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

    /// Nothing is sent for callers that have left.
    fn check_waiters(&self, log: &[Exchange], ops: &[Op]) {
        for exchange in log {
            let at = exchange.start;
            let is_waited_for = ops.iter().any(|op| {
                let mut subjects = exchange.subjects.iter();
                // A background refresh continues when its caller leaves, or when another part of its list fails.
                let is_list = super::has_parts(op.operation());
                let has_no_answer = op.has_left || op.has_failed && is_list;
                // A record can also become stale while its operation runs.
                let is_refresh = op.is_stale || has_no_answer && may_be_cached(log, exchange);
                let is_refresh = is_refresh && op.may_be_running(at, self.settings.deadline);
                (op.is_live(at) || is_refresh)
                    && subjects.any(|subject| op.operation().may_send(exchange.kind, subject))
            });
            self.events.check("no request without a waiting caller", is_waited_for, || {
                let late = at - self.began;
                format!("{:?} {:?} at {late:?}", exchange.kind, exchange.subjects.first())
            });
        }
    }

    /// A request continues while a caller waits for it: neither the departure nor the short deadline of one caller ends
    /// it for others. It ends with the attempt timeout, or with the service's deadline.
    fn check_cut_off(&self, log: &[Exchange], ops: &[Op]) {
        let it = &self.settings;
        let timeout = |kind| match kind {
            Kind::Feed => it.attempt_timeout.min(FEED_TIMEOUT),
            _ => it.attempt_timeout,
        };
        let cut_off = log.iter().filter_map(|exchange| match exchange.end {
            Some((end, ExchangeEnd::Dropped)) if end - exchange.start < timeout(exchange.kind) => {
                Some((exchange, end))
            }
            _ => None,
        });
        for (exchange, end) in cut_off {
            let wanting = || ops.iter().filter(|op| op.may_send(exchange) && op.start <= end);
            // A batch cancels its own work, and other callers start again. A playlist ends with its first part that fails.
            let ends_its_parts = |operation: &Operation| {
                matches!(operation, Operation::Playlist(_) | Operation::Query(_))
            };
            if wanting().any(|op| op.operation().is_batch() || ends_its_parts(op.operation())) {
                continue;
            }
            // A follower may have restarted the fetch, so that it ends later than the deadline of the first caller.
            let is_over = |op: &Op| {
                let is_running = op.may_be_running(exchange.start, it.deadline);
                op.start + it.deadline <= end + TOLERANCE && is_running
            };
            let is_waited_for = wanting().any(|op| {
                op.start <= exchange.start && op.end.is_none_or(|gone| gone > end + TOLERANCE)
            });
            let may = !is_waited_for || wanting().any(is_over);
            self.events.check("no request is cancelled while a caller waits", may, || {
                format!("{:?} {:?}", exchange.kind, exchange.subjects.first())
            });
        }
    }

    /// Nothing is sent to a bucket that the platform has closed, for a while or for the day.
    fn check_pauses(&self, log: &[Exchange]) {
        let was_set = self.state().clock_was_set;
        for refused in log {
            let (Some(bucket), Some((at, ExchangeEnd::Answered(_)))) =
                (refused.kind.bucket(), refused.end)
            else {
                continue;
            };
            let midnight = self.began + Duration::from_secs(self.settings.to_midnight);
            let until = match refused.requested_pause {
                _ if refused.reports_quota_spent && !was_set => midnight,
                Some(pause) => at + pause.min(LONGEST_HOLD),
                None => continue,
            };
            let early = log.iter().find(|it| {
                it.kind.bucket() == Some(bucket)
                    && it.start > at + self.ledger_time()
                    && it.start < until
            });
            self.events.check("no request to a closed quota bucket", early.is_none(), || {
                format!("{bucket:?}: {:?}", early.map(|it| (it.kind, it.start - at)))
            });
        }
    }

    /// How long a charge, or closing a bucket, may take in the ledger.
    pub(super) fn ledger_time(&self) -> Duration {
        Duration::from_millis(4 * self.settings.ledger_delay.unwrap_or(0))
    }

    /// Whether all of the world was on one day of the platform.
    fn is_one_day(&self) -> bool {
        let to_midnight = Duration::from_secs(self.settings.to_midnight);
        !self.state().clock_was_set && self.began.elapsed() < to_midnight
    }

    /// The ledger counts what reached the platform, no less and no more.
    fn check_ledger(&self, log: &[Exchange], LedgerCount { at, default, search }: LedgerCount) {
        for (bucket, used) in [(Bucket::Default, default), (Bucket::Search, search)] {
            let sent = || billed(log).filter(|exchange| exchange.kind.bucket() == Some(bucket));
            let midnight = self.began + Duration::from_secs(self.settings.to_midnight);
            // A charge comes before its request. One of yesterday is not in today's count.
            let (least, most) = match at >= midnight {
                true => {
                    let surely = midnight + self.ledger_time() + TOLERANCE;
                    let count = |since: Instant| sent().filter(|it| it.start >= since).count();
                    (count(surely), count(midnight))
                }
                false => (sent().count(), sent().count()),
            };
            let is_right = (least..=most).contains(&(used as usize));
            self.events.check("the ledger matches the platform's bill", is_right, || {
                format!("{bucket:?}: {used} counted, {least} to {most} sent")
            });
        }
    }

    /// Every unit is charged to one account, of a caller that requested it, and within its budget.
    fn check_spending(&self, log: &[Exchange], ops: &[Op], spending: &[Spending]) {
        let mut own = BTreeMap::<(usize, bool), (u32, u32)>::new();
        for exchange in billed(log) {
            let mut payers: Vec<Payer> = vec![];
            for op in ops {
                let mut subjects = exchange.subjects.iter();
                if op.may_be_running(exchange.start, self.settings.deadline)
                    && subjects.any(|subject| op.operation().may_send(exchange.kind, subject))
                    && !payers.contains(&op.payer())
                {
                    payers.push(op.payer());
                }
            }
            for payer in &payers {
                let (least, most) = own.entry((payer.key, payer.uses_library)).or_default();
                *least += u32::from(payers.len() == 1);
                *most += 1;
            }
        }
        // A background refresh is charged to no caller.
        let last = log.last().map_or(Duration::ZERO, |exchange| exchange.start - self.began);
        let may_renew = last >= SHORTEST_TTL / self.settings.lifetime_divisor;
        for Spending { payer, spent, most: most_at_once } in spending {
            let key = (payer.key, payer.uses_library);
            let (least, most) = own.get(&key).copied().unwrap_or_default();
            let least = if may_renew { 0 } else { least };
            let budget = self.settings.budgets[payer.key];
            let is_within = budget.is_none_or(|budget| *most_at_once <= budget);
            let is_right = (least..=most).contains(spent) && is_within;
            self.events.check("each key is charged exactly for its own calls", is_right, || {
                format!("{payer:?} of {budget:?} paid {spent}, expected {least} to {most}")
            });
        }
        let (paid, sent) =
            (spending.iter().map(|spending| spending.spent).sum::<u32>(), billed(log).count());
        let is_right = if may_renew { paid as usize <= sent } else { paid as usize == sent };
        self.events.check("the charges of all keys equal the calls sent", is_right, || {
            format!("{paid} paid, {sent} sent")
        });
    }

    /// At most one request for a key is in flight, or two once the first is ten seconds old.
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
                // A fetch continues with another request after a failed one.
                let is_old = others.iter().any(|other| at - other.start >= REPLACEMENT)
                    || ops.iter().any(|op| {
                        let is_related = op.operation().may_send(kind, subject);
                        is_related
                            && op.start + REPLACEMENT <= at
                            && op.may_be_running(at, self.settings.deadline)
                    });
                let keys = self.fetches(ops, kind, subject, at);
                let allowed = if is_old { 2 * keys } else { keys };
                let in_flight = others.len() + 1;
                self.events.check(
                    "requests for the same record are coalesced",
                    in_flight <= allowed,
                    || format!("{in_flight} of {kind:?} {subject}, for {keys} fetches"),
                );
            }
        }
    }

    /// How many fetches may send such a request: one for each key, and one for each batch.
    fn fetches(&self, ops: &[Op], kind: Kind, subject: &str, at: Instant) -> usize {
        let mut keys = BTreeSet::new();
        for op in ops {
            let is_related = op.operation().may_send(kind, subject);
            if is_related && op.may_be_running(at, self.settings.deadline) {
                // Each batch lists its playlist by itself, but the fetches of its transcripts are shared. An operation
                // that bypasses the cache walks through a list by itself.
                let is_listed = kind == Kind::PlaylistItems;
                keys.insert(match op.operation().is_batch() {
                    true if is_listed => Some(format!("batch {}", op.number)),
                    true => Some(format!("transcript {subject} None")),
                    // The pages of a list are records that all callers share.
                    false if is_record_page(op.operation(), kind) => {
                        Some(format!("{kind:?} {subject}"))
                    }
                    false if is_listed && op.caller.no_cache => Some(format!("op {}", op.number)),
                    false => op.operation().key(),
                });
            }
        }
        // Each service fetches for itself.
        let services = 1 + self.state().restarts.iter().filter(|restart| **restart <= at).count();
        keys.len() * services
    }

    /// Retries stay within their budgets, one for each interface: a fifth of the calls, and a reserve of ten.
    fn check_retries(&self, log: &[Exchange], ops: &[Op]) {
        let has_cache = self.settings.cache_bytes > 0 || self.settings.has_store;
        if !has_cache || !self.state().restarts.is_empty() {
            return;
        }
        let interfaces: [fn(Kind) -> bool; 3] =
            [|kind| kind.bucket().is_some(), Kind::is_of_transcript, |kind| kind == Kind::Feed];
        for is_of_interface in interfaces {
            // Pages of playlists are listed by several operations, each for itself.
            let is_listed = |kind| matches!(kind, Kind::PlaylistItems | Kind::Playlists);
            let of_it = |it: &&Exchange| is_of_interface(it.kind);
            let sent: Vec<&Exchange> = log.iter().filter(of_it).collect();
            // From another address it is another request.
            let mut same = BTreeMap::<_, Vec<&Exchange>>::new();
            for exchange in sent.iter().filter(|it| !is_listed(it.kind)) {
                let request = (exchange.kind, &exchange.subjects, exchange.egress);
                same.entry(request).or_default().push(exchange);
            }
            let retries = same.values().map(|sent| retries(sent, ops)).sum::<usize>();
            let most = 10 + sent.len() / 5;
            self.events.check("retries stay within the retry budget", retries <= most, || {
                format!("{retries} retries of {} calls, {most} are allowed", sent.len())
            });
        }
    }

    /// In any window an address sends at most its burst and the pace times the time.
    fn check_pace(&self, sent: &[&Exchange], egress: usize) {
        let Some(pace) = self.settings.pace else { return };
        // Translations have a tenth of it.
        for (part, is_of_it) in
            [(1, is_paced as fn(&Exchange) -> bool), (10, |it| it.is_translation)]
        {
            let (burst, per_hour) = ((pace.0 / part).max(1), (pace.1 / part).max(1));
            let interval = Duration::from_secs(3600) / per_hour;
            let mut free_at = self.began;
            for exchange in sent.iter().filter(|exchange| is_of_it(exchange)) {
                free_at = free_at.max(exchange.start) + interval;
                let ahead = free_at - exchange.start;
                let is_within_pace = ahead <= interval * burst + Duration::from_millis(2);
                self.events.check("no address exceeds its rate limit", is_within_pace, || {
                    format!("address {egress} is {ahead:?} ahead, with {burst} at once and {per_hour} an hour")
                });
            }
        }
    }

    /// Nothing is sent from an address that the platform has blocked.
    fn check_blocks(&self, sent: &[&Exchange], egress: usize) {
        let pause = self.settings.block_pause;
        let mut last: Option<(Instant, Duration)> = None;
        let blocks = sent.iter().filter(|it| it.is_block && !it.is_translation);
        let delivered = blocks.filter_map(|it| match it.end {
            Some((at, ExchangeEnd::Answered(_))) => Some((
                it.start,
                at,
                pause.max(it.retry_after.unwrap_or_default().min(LONGEST_PAUSE)),
            )),
            _ => None,
        });
        let mut delivered: Vec<_> = delivered.collect();
        delivered.sort_by_key(|(_, at, _)| *at);
        for (start, at, pause) in delivered {
            // Blocks of requests that were in flight together count as one.
            if last.is_some_and(|(last, pause)| start <= last && at < last + pause) {
                continue;
            }
            last = Some((at, pause));
            let early = sent.iter().find(|it| it.start > at && it.start < at + pause);
            self.events.check("no request from a blocked address", early.is_none(), || {
                format!("address {egress}: {:?}", early.map(|it| (it.kind, it.start - at)))
            });
        }
    }

    /// One watch page of an address at a time.
    fn check_pages(&self, sent: &[&Exchange], egress: usize) {
        let pages: Vec<_> = sent.iter().filter(|exchange| exchange.kind == Kind::Watch).collect();
        for pair in pages.windows(2) {
            let is_over = pair[0].end.is_some_and(|(end, _)| end <= pair[1].start);
            self.events.check("one watch page request at a time per address", is_over, || {
                format!("address {egress}")
            });
        }
    }

    /// A single transcript starts soon, regardless of batches and background refreshes.
    fn check_starts(&self, log: &[Exchange], ops: &[Op]) {
        let is_plain =
            self.settings.egresses == 1 && !log.iter().any(|it| it.is_fault || it.is_block);
        if !is_plain || self.settings.pace.is_none() {
            return;
        }
        for op in ops.iter().filter(|op| op.operation().is_single_transcript() && !op.has_left) {
            let Some(end) = op.end else { continue };
            // Also an exchange that was in flight when the operation began, which may have joined it.
            let is_for_it = |it: &&Exchange| {
                it.kind.bucket().is_none()
                    && it.end.is_none_or(|(end, _)| end >= op.start)
                    && it.start <= end
                    && op.may_send(it)
            };
            let first = log.iter().find(is_for_it).map(|it| it.start);
            // An immediate refusal is checked when it is given; a late one is starvation.
            let is_starved = first.is_none() && op.has_failed;
            let Some(at) = first.or(is_starved.then_some(end)) else { continue };
            let waited = at.saturating_duration_since(op.start);
            let longest = self.longest_start(op, at) + TOLERANCE;
            self.events.check(
                "single requests have priority over batches",
                waited <= longest,
                || format!("caller {} waited {waited:?}, {longest:?} at the most", op.number),
            );
        }
    }
}

/// Whether the operation reads such a request as a record of its own.
fn is_record_page(operation: &Operation, kind: Kind) -> bool {
    let is_shared = matches!(
        kind,
        Kind::Search | Kind::Chart | Kind::Playlists | Kind::CommentThreads | Kind::Feed
    );
    is_shared && matches!(operation, Operation::Listing(_))
}

fn is_paced(exchange: &Exchange) -> bool {
    exchange.kind.is_paced()
}

/// The least number of retries among these equal requests.
fn retries(sent: &[&Exchange], ops: &[Op]) -> usize {
    let has_failed = |it: &Exchange| match it.ended() {
        Some(ExchangeEnd::Answered(status)) => status.is_server_error(),
        ended => matches!(ended, Some(ExchangeEnd::Broken | ExchangeEnd::NotSent)),
    };
    let follows_failure = |(index, exchange): &(usize, &&Exchange)| {
        sent[..*index].iter().any(|before| {
            // `None` if both were in flight together.
            let gap = before.end.and_then(|(end, _)| exchange.start.checked_duration_since(end));
            // A failure is cached for a second.
            has_failed(before) && gap.is_some_and(|gap| gap < Duration::from_millis(900))
        })
    };
    let after_failures = sent.iter().enumerate().filter(follows_failure).count();
    // Each operation may send one request that is not a retry.
    let firsts = ops.iter().filter(|op| sent.iter().any(|exchange| op.may_send(exchange))).count();
    after_failures.min(sent.len().saturating_sub(firsts))
}

/// The exchanges that the platform bills.
fn billed(log: &[Exchange]) -> impl Iterator<Item = &Exchange> {
    log.iter().filter(|it| it.kind.bucket().is_some() && it.ended() != Some(ExchangeEnd::NotSent))
}

/// Whether the same request was answered before, so that an old answer may be cached.
fn may_be_cached(log: &[Exchange], exchange: &Exchange) -> bool {
    log.iter().any(|before| {
        // A cached transcript may need a watch page for the first time.
        let is_keyless = Kind::is_of_transcript;
        // The videos of a chart are cached too.
        let is_charted = before.kind == Kind::Chart && exchange.kind == Kind::Videos;
        (before.kind == exchange.kind
            || is_charted
            || is_keyless(before.kind) && is_keyless(exchange.kind))
            && before.end.is_some_and(|(end, ended)| {
                end <= exchange.start && matches!(ended, ExchangeEnd::Answered(status) if status.is_success())
            })
            // A channel that was found by its handle is cached by its id too.
            && (matches!(before.kind, Kind::Channels | Kind::Chart)
                || before.subjects.iter().any(|subject| exchange.subjects.contains(subject)))
    })
}
