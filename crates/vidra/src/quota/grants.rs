//! Grants: units of a shared quota that this machine took in advance. Attempts are charged to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Bucket;

/// The account of the units that this machine spent from grants that have ended.
pub(super) const SHARED_ACCOUNT: &str = "shared";

/// The grants of a day by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Grants(BTreeMap<i64, Grant>);

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) bucket: Bucket,
    pub(super) units: u32,
    pub(super) spent: u32,
    #[serde(default)]
    pub(super) state: GrantState,
    /// The ledger that took the grant. No other one charges it: the file may lack the last charges of a process that
    /// was killed or that could not write it.
    holder: u64,
}

/// The state of a grant. It only moves to a later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum GrantState {
    /// Attempts are charged to it.
    #[default]
    Open,
    /// Units that were spent without a grant. The shared count does not have them yet.
    Uncounted,
    /// Its unused units are being returned.
    Closed,
}

impl Grant {
    pub(super) fn new(bucket: Bucket, units: u32, holder: u64) -> Self {
        Self { bucket, units, spent: 0, state: GrantState::Open, holder }
    }

    /// Units that were spent before the quota was shared.
    pub(super) fn uncounted(bucket: Bucket, spent: u32) -> Self {
        Self { spent, state: GrantState::Uncounted, ..Self::new(bucket, spent, 0) }
    }

    /// Whether this ledger may charge and close the grant.
    pub(super) fn is_open_for(&self, holder: u64) -> bool {
        self.state == GrantState::Open && self.holder == holder
    }

    /// The units that this ledger can still charge to it.
    pub(super) fn left(&self, holder: u64) -> u32 {
        if self.is_open_for(holder) { self.unspent() } else { 0 }
    }

    /// The units that were not spent.
    pub(super) fn unspent(&self) -> u32 {
        self.units.saturating_sub(self.spent)
    }
}

impl Grants {
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &Grant)> {
        self.0.iter().map(|(id, grant)| (*id, grant))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Grant> {
        self.0.values_mut()
    }

    pub(super) fn get_mut(&mut self, id: i64) -> Option<&mut Grant> {
        self.0.get_mut(&id)
    }

    pub(super) fn insert(&mut self, id: i64, grant: Grant) {
        self.0.entry(id).or_insert(grant);
    }

    pub(super) fn remove(&mut self, id: i64) -> Option<Grant> {
        self.0.remove(&id)
    }

    /// Applies the changes that made `after` out of `before`.
    pub(super) fn apply_changes(&mut self, before: &Self, after: &Self) {
        for (id, grant) in &after.0 {
            let Some(earlier) = before.0.get(id) else {
                self.insert(*id, grant.clone());
                continue;
            };
            // Another process may have ended it.
            if let Some(stored) = self.0.get_mut(id) {
                stored.spent =
                    stored.spent.saturating_add(grant.spent.saturating_sub(earlier.spent));
                stored.spent =
                    stored.spent.saturating_sub(earlier.spent.saturating_sub(grant.spent));
                stored.state = stored.state.max(grant.state);
            }
        }
        self.0.retain(|id, _| !before.0.contains_key(id) || after.0.contains_key(id));
    }

    /// Raises each count to that of `other`, if that is higher.
    pub(super) fn raise_to(&mut self, other: &Self) {
        for (id, grant) in &other.0 {
            let stored = self.0.entry(*id).or_insert_with(|| grant.clone());
            stored.spent = stored.spent.max(grant.spent);
            stored.state = stored.state.max(grant.state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(table: &[(i64, u32, GrantState)]) -> Grants {
        let grant = |&(id, spent, state)| {
            (id, Grant { spent, state, ..Grant::new(Bucket::Default, 20, 1) })
        };
        Grants(table.iter().map(grant).collect())
    }

    #[test]
    fn changes_of_one_copy_are_applied_to_another() {
        use GrantState::{Closed, Open};
        let before = grants(&[(1, 3, Open), (2, 5, Open), (3, 1, Closed), (4, 2, Open)]);
        // Two are charged or refunded, one has ended, and one is new.
        let after = grants(&[(1, 4, Open), (2, 4, Closed), (4, 3, Open), (5, 0, Open)]);
        // Meanwhile another process has charged the first, and ended the fourth.
        let mut file = grants(&[(1, 5, Open), (2, 5, Open), (3, 1, Closed), (6, 7, Open)]);
        file.apply_changes(&before, &after);
        assert_eq!(file, grants(&[(1, 6, Open), (2, 4, Closed), (5, 0, Open), (6, 7, Open)]));
    }

    #[test]
    fn raising_never_lowers_a_count_and_never_opens_a_grant() {
        use GrantState::{Closed, Open};
        let mut stored = grants(&[(1, 3, Closed), (2, 5, Open)]);
        stored.raise_to(&grants(&[(1, 2, Open), (2, 6, Closed), (3, 1, Open)]));
        assert_eq!(stored, grants(&[(1, 3, Closed), (2, 6, Closed), (3, 1, Open)]));
    }

    #[test]
    fn only_its_holder_charges_a_grant() {
        let grant = Grant { spent: 3, ..Grant::new(Bucket::Default, 20, 1) };
        assert_eq!((grant.left(1), grant.left(2)), (17, 0));
        let closed = Grant { state: GrantState::Closed, ..grant };
        assert_eq!((closed.left(1), closed.unspent()), (0, 17));
    }
}
