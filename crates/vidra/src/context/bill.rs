//! The payer and the cost of an operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Clock;
use crate::quota::{Allowance, Bucket, Charge, Ledger, Needed, NotCharged, Spent};

/// What an operation has cost so far: quota units, and requests to YouTube. Clones share the counts.
///
/// A request that is shared by several operations counts for the one that pays for it.
#[derive(Debug, Clone, Default)]
pub struct Cost(Arc<Totals>);

#[derive(Debug, Default)]
struct Totals {
    units: AtomicU32,
    calls: AtomicU32,
    micros: AtomicU64,
}

impl Cost {
    /// The number of quota units.
    pub fn units(&self) -> u32 {
        self.0.units.load(Ordering::Relaxed)
    }

    /// The number of requests to YouTube, with retries.
    pub fn calls(&self) -> u32 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// The time of these requests together. Concurrent requests make it longer than the operation itself.
    pub fn upstream_time(&self) -> Duration {
        Duration::from_micros(self.0.micros.load(Ordering::Relaxed))
    }

    fn add(&self, units: u32) {
        self.0.units.fetch_add(units, Ordering::Relaxed);
    }

    fn subtract(&self, units: u32) {
        self.0.units.fetch_sub(units, Ordering::Relaxed);
    }

    /// Counts a request when it is sent.
    pub(crate) fn note_call(&self) {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the time of a request that has ended.
    pub(crate) fn note_time(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// The payer of an operation. The default is the service itself, which pays for background
/// renewals.
#[derive(Clone, Default)]
pub(crate) struct Bill {
    pub(crate) cost: Cost,
    /// The budget of the payer. `None` for no budget.
    pub(crate) allowance: Option<Allowance>,
    /// The units of the default bucket that the payer leaves to others.
    pub(crate) reserve: u32,
}

/// A charge for an attempt that was not sent yet. If it is dropped before [`Charged::sent`], it is
/// refunded: the caller may leave or time out while the ledger works.
pub(crate) struct Charged {
    bill: Bill,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    charge: Option<Charge>,
}

impl Charged {
    /// Keeps the charge, because the attempt is being sent and YouTube may bill it.
    pub(crate) fn sent(mut self) -> Charge {
        self.charge.take().expect("taken here and in the destructor alone")
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        let Some(charge) = self.charge.take() else { return };
        let now = self.clock.now();
        self.bill.refund_payer(&charge);
        self.ledger.run_detached(move |ledger| ledger.refund(&charge, now));
    }
}

/// Why a charge was rejected.
pub(crate) enum Refused {
    /// The quota of the service is exhausted.
    QuotaExhausted(Spent),
    /// The rest of the quota is reserved for other payers.
    QuotaReserved(Spent),
    /// The budget of the payer is exhausted.
    BudgetExhausted(Spent),
    /// The quota is shared, and this machine needs a grant first.
    NeedsGrant(Needed),
}

impl Bill {
    /// Charges one attempt before it is sent. The guard is created on the ledger's thread, so that
    /// a cancelled caller still gets its refund.
    pub(crate) fn charge_guarded(
        &self,
        ledger: &Arc<Ledger>,
        clock: &Arc<dyn Clock>,
        wanted: Bucket,
    ) -> Result<Charged, Refused> {
        let charge = self.charge(ledger, wanted, clock.now())?;
        let (bill, ledger, clock) = (self.clone(), Arc::clone(ledger), Arc::clone(clock));
        Ok(Charged { bill, ledger, clock, charge: Some(charge) })
    }

    /// Charges one attempt to the payer's budget, to the ledger and to the cost.
    fn charge(&self, ledger: &Ledger, wanted: Bucket, now: Timestamp) -> Result<Charge, Refused> {
        let (bucket, cost) = ledger.price(wanted);
        if let Some(allowance) = &self.allowance {
            allowance.take(bucket, cost, now).map_err(Refused::BudgetExhausted)?;
        }
        match ledger.charge(wanted, self.reserve, now) {
            Ok(charge) => {
                self.cost.add(charge.cost);
                Ok(charge)
            }
            Err(why) => {
                if let Some(allowance) = &self.allowance {
                    allowance.give_back(bucket, cost, now);
                }
                Err(match why {
                    NotCharged::Spent(spent) if spent.is_reserved => Refused::QuotaReserved(spent),
                    NotCharged::Spent(spent) => Refused::QuotaExhausted(spent),
                    NotCharged::NeedsGrant(needed) => Refused::NeedsGrant(needed),
                })
            }
        }
    }

    /// Refunds a charge for an attempt that was never sent.
    pub(crate) fn refund(&self, ledger: &Ledger, charge: &Charge, now: Timestamp) {
        self.refund_payer(charge);
        ledger.refund(charge, now);
    }

    fn refund_payer(&self, charge: &Charge) {
        self.cost.subtract(charge.cost);
        if let Some(allowance) = &self.allowance {
            allowance.refund(charge);
        }
    }

    /// Counts a transcript that the payer got.
    pub(crate) fn note_transcript(&self) {
        if let Some(allowance) = &self.allowance {
            allowance.note_transcript();
        }
    }

    /// The bill of work that no caller pays for. It leaves the same reserve.
    pub(crate) fn without_payer(&self) -> Self {
        Self { reserve: self.reserve, ..Self::default() }
    }

    /// Whether both have the same budget and the same reserve, so that both can pay or neither.
    pub(crate) fn has_same_budget(&self, other: &Self) -> bool {
        let is_same = match (&self.allowance, &other.allowance) {
            (Some(one), Some(other)) => one.is(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same && self.reserve == other.reserve
    }
}
