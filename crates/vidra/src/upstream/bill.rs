//! Who pays for what is asked, and what it has cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;

use super::quota::{Allowance, Bucket, Charge, Ledger, Spent};

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

/// Why a charge was refused.
pub(crate) enum Refused {
    /// The service has nothing left.
    ByTheLedger(Spent),
    /// The payer has nothing left of its share.
    ByTheAllowance(Spent),
}

impl Bill {
    /// Charges one attempt: to the payer's share, to the ledger, and to the bill.
    pub(crate) fn charge(
        &self,
        ledger: &Ledger,
        wanted: Bucket,
        now: Timestamp,
    ) -> Result<Charge, Refused> {
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
        self.cost.subtract(charge.cost);
        if let Some(allowance) = &self.allowance {
            allowance.refund(charge, now);
        }
        ledger.refund(charge, now);
    }

    /// Whether what one of them cannot pay, the other cannot either.
    pub(crate) fn is_of_the_same_share(&self, other: &Self) -> bool {
        match (&self.allowance, &other.allowance) {
            (Some(one), Some(other)) => one.is(other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}
