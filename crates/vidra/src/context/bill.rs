//! Who pays for what is asked, and what it has cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;

use crate::clock::Clock;
use crate::quota::{Allowance, Bucket, Charge, Ledger, Spent};

/// The upstream units that something has cost so far. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Cost(Arc<AtomicU32>);

impl Cost {
    /// The units so far.
    pub fn units(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, units: u32) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }

    fn subtract(&self, units: u32) {
        self.0.fetch_sub(units, Ordering::Relaxed);
    }
}

/// Whose account something goes to. The default is nobody's: what is renewed while nobody waits for it
/// is the service's own affair.
#[derive(Clone, Default)]
pub(crate) struct Bill {
    pub(crate) cost: Cost,
    /// What the payer may spend, where that is less than everything.
    pub(crate) allowance: Option<Allowance>,
}

/// A charge for an attempt that has not been sent yet. Dropped before [`Charged::sent`], it is refunded:
/// its caller may leave, or run out of time, while the ledger is at work.
pub(crate) struct Charged {
    bill: Bill,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    charge: Option<Charge>,
}

impl Charged {
    /// The attempt is being sent, so the platform may bill it.
    pub(crate) fn sent(mut self) -> Charge {
        self.charge.take().expect("taken here and in the destructor alone")
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        let Some(charge) = self.charge.take() else { return };
        let now = self.clock.now();
        self.bill.refund_payer(&charge, now);
        self.ledger.run_detached(move |ledger| ledger.refund(&charge, now));
    }
}

/// Why a charge was refused.
pub(crate) enum Refused {
    /// The service has nothing left.
    ByTheLedger(Spent),
    /// The payer has nothing left of its share.
    ByTheAllowance(Spent),
}

impl Bill {
    /// Charges one attempt that is about to be sent. The guard is made where the ledger works, so that
    /// nothing is lost when nobody waits for the result.
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

    /// Charges one attempt: to the payer's share, to the ledger, and to the bill.
    fn charge(&self, ledger: &Ledger, wanted: Bucket, now: Timestamp) -> Result<Charge, Refused> {
        let (bucket, cost) = ledger.price(wanted);
        if let Some(allowance) = &self.allowance {
            allowance.take(bucket, cost, now).map_err(Refused::ByTheAllowance)?;
        }
        match ledger.charge(wanted, now) {
            Ok(charge) => {
                self.cost.add(charge.cost);
                Ok(charge)
            }
            Err(spent) => {
                if let Some(allowance) = &self.allowance {
                    allowance.give_back(bucket, cost, now);
                }
                Err(Refused::ByTheLedger(spent))
            }
        }
    }

    /// Gives back a charge for an attempt that was never sent.
    pub(crate) fn refund(&self, ledger: &Ledger, charge: &Charge, now: Timestamp) {
        self.refund_payer(charge, now);
        ledger.refund(charge, now);
    }

    fn refund_payer(&self, charge: &Charge, now: Timestamp) {
        self.cost.subtract(charge.cost);
        if let Some(allowance) = &self.allowance {
            allowance.refund(charge, now);
        }
    }

    /// Whether what one of them cannot pay, the other cannot either.
    pub(crate) fn is_of_the_same_share(&self, other: &Self) -> bool {
        match (&self.allowance, &other.allowance) {
            (Some(one), Some(other)) => one.is(other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}
