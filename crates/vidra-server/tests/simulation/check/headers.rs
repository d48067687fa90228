//! Checks of the headers about the cache.

use tokio::time::Instant;

use super::refusals::FAILURE_TTL;
use super::{Checker, Op, has_parts, is_from_data_api, may_be_stale, target};
use crate::caller::Answer;
use crate::platform::{Exchange, ExchangeEnd, Kind};

impl Checker {
    /// `X-Cache`, `X-Quota-Cost` and `ETag` are correct.
    pub(super) fn check_headers(&self, op: &Op, answer: &Answer) {
        let it = |what: &str| format!("caller {}, {:?}: {what}", op.number, op.operation());
        // A failure is cached for a moment.
        let since = op.start.checked_sub(FAILURE_TTL).unwrap_or(op.start);
        let sent = |is_for_it: &dyn Fn(&Exchange) -> bool| {
            self.platform.log(|log| {
                let during = log.iter().filter(|exchange| {
                    exchange.end.is_none_or(|(end, _)| end >= since) && is_for_it(exchange)
                });
                during.count()
            })
        };
        if matches!(answer.cache.as_deref(), Some("miss" | "coalesced")) {
            let was_fetched = sent(&|exchange| op.may_send(exchange)) > 0
                || self.has_joined_walk(op)
                || self.was_replaced_without_call(op, answer)
                || self.was_charged_at_deadline(op, answer);
            self.events
                .check("X-Cache is correct", was_fetched, || it("a miss without an upstream call"));
        }
        if let Some(cost) = answer.cost {
            let billed = sent(&|exchange| {
                exchange.kind.bucket().is_some() && exchange.ended() != Some(ExchangeEnd::NotSent)
            });
            let is_free = answer.cache.as_deref() != Some("hit") || cost == 0;
            // The background refresh of a stale answer may be charged before it is sent.
            let is_stale = may_be_stale(op.operation(), answer);
            let is_real = is_stale || u64::from(cost) <= billed as u64;
            self.events.check("X-Quota-Cost is correct", is_free && is_real, || {
                it(&format!("{cost} where {billed} calls were made"))
            });
        }
        if let (Some(etag), Some(target)) = (&answer.etag, target(&op.caller)) {
            let mut state = self.state();
            let known = state.tags.entry((target, etag.clone())).or_insert(answer.body.clone());
            let is_same = *known == answer.body;
            drop(state);
            self.events.check("equal ETags have equal bodies", is_same, || it(etag));
        }
    }

    /// Whether the operation may have joined a walk through its playlist, whose first page is longer ago. The walk runs
    /// as long as another operation follows it.
    fn has_joined_walk(&self, op: &Op) -> bool {
        let Some(playlist) = op.operation().playlist() else { return false };
        let is_page = |exchange: &&Exchange| {
            exchange.kind == Kind::PlaylistItems && op.may_send(exchange) && !exchange.is_failed
        };
        let pages: Vec<_> = self
            .platform
            .log(|log| log.iter().filter(is_page).map(|exchange| exchange.start).collect());
        let deadline = self.settings.deadline;
        let state = self.state();
        let mut others = state.ops.iter().filter(|other| {
            let is_follower = other.operation().playlist() == Some(playlist);
            is_follower && other.number != op.number && other.may_be_running(op.start, deadline)
        });
        others.any(|other| pages.iter().any(|page| *page >= other.start && *page <= op.start))
    }

    /// Whether cached videos may have replaced a feed without a request: after a failure, feeds are not requested for
    /// a while.
    fn was_replaced_without_call(&self, op: &Op, answer: &Answer) -> bool {
        let has_failed = |exchange: &Exchange| {
            let has_ended = exchange.end.is_some_and(|(end, _)| end <= op.start);
            exchange.kind == Kind::Feed && exchange.is_failed && has_ended
        };
        is_from_data_api(answer) && self.platform.log(|log| log.iter().any(has_failed))
    }

    /// Whether a list ended at its deadline while the ledger charged the next page. The charge comes before the request,
    /// which may not be sent any more.
    fn was_charged_at_deadline(&self, op: &Op, answer: &Answer) -> bool {
        let is_charged = answer.cost.is_some_and(|cost| cost > 0);
        let is_slow = self.settings.ledger_delay.is_some();
        has_parts(op.operation()) && is_charged && is_slow && Instant::now() >= op.deadline
    }
}
