//! Spent units and usage by day and account.
//!
//! The counts of a day belong to its date and not to the clock. A clock that jumps begins another
//! day beside it, and the count of the first one is there when the clock comes back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Bucket;
use super::grants::{Grant, Grants, SHARED_ACCOUNT};

/// The number of days that are stored: those of a report, and some of a wrong clock. A new day
/// replaces the one that was charged least recently, so a few days of a wrong clock do not replace
/// the current one.
const MAX_DAYS: usize = 32;

/// With more tallies than this, a new day replaces as many old ones as necessary. The file has at
/// most 150 bytes for each.
const MAX_TALLIES: usize = 200_000;

/// The number of days that one account needs to know for its budget.
const BUDGET_DAYS: usize = 8;

/// The counts of some days, in the format of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnitCounts {
    /// The day that was charged last is the last one.
    days: Vec<Day>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Day {
    /// The Pacific date, as ISO 8601.
    date: String,
    /// Earlier charges of this day were lost with an unreadable file.
    #[serde(default, skip_serializing_if = "is_default")]
    is_incomplete: bool,
    /// The counts by the name of the account that paid.
    accounts: BTreeMap<String, Tally>,
    /// The units of a shared quota that were taken in advance.
    #[serde(default, skip_serializing_if = "is_default")]
    grants: Grants,
}

impl Day {
    fn new(date: &str) -> Self {
        let date = date.to_owned();
        Self { date, is_incomplete: false, accounts: BTreeMap::new(), grants: Grants::default() }
    }
}

/// The units and the usage of one account on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) default: Count,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) search: Count,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) requests: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) transcripts: u64,
}

/// The count of one bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) used: u32,
    /// YouTube reported the exhaustion, whatever the count says: other services can use the same
    /// project.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) exhausted: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl UnitCounts {
    /// The counts of an account on a day.
    pub(super) fn tally(&self, date: &str, account: &str) -> Tally {
        let day = self.days.iter().find(|day| day.date == date);
        day.and_then(|day| day.accounts.get(account)).copied().unwrap_or_default()
    }

    /// The counts of an account on a day, to change them.
    pub(super) fn tally_mut(&mut self, date: &str, account: &str) -> &mut Tally {
        self.day_mut(date).accounts.entry(account.to_owned()).or_default()
    }

    fn day_mut(&mut self, date: &str) -> &mut Day {
        let position = self.days.iter().position(|day| day.date == date);
        let day = match position {
            Some(position) => self.days.remove(position),
            None => {
                let is_full = |days: &[Day]| {
                    let tallies: usize = days.iter().map(|day| day.accounts.len()).sum();
                    days.len() >= MAX_DAYS || (days.len() > 1 && tallies >= MAX_TALLIES)
                };
                while is_full(&self.days) {
                    self.days.remove(0);
                }
                Day::new(date)
            }
        };
        self.days.push_mut(day)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// Whether charges of this day were lost.
    pub(super) fn is_incomplete(&self, date: &str) -> bool {
        self.days.iter().any(|day| day.date == date && day.is_incomplete)
    }

    /// Records that charges of this day were lost.
    pub(super) fn mark_incomplete(&mut self, date: &str) {
        self.day_mut(date).is_incomplete = true;
    }

    /// The names of all accounts.
    pub(super) fn accounts(&self) -> impl Iterator<Item = &str> {
        self.days.iter().flat_map(|day| day.accounts.keys()).map(String::as_str)
    }

    /// The grants of a day.
    pub(super) fn grants(&self, date: &str) -> impl Iterator<Item = (i64, &Grant)> {
        let days = self.days.iter().filter(move |day| day.date == date);
        days.flat_map(|day| day.grants.iter())
    }

    /// A grant of a day and a bucket from which its holder can still take `units`.
    pub(super) fn chargeable_grant(
        &self,
        date: &str,
        bucket: Bucket,
        units: u32,
        holder: u64,
    ) -> Option<i64> {
        let is_suitable = |grant: &Grant| grant.bucket == bucket && grant.left(holder) >= units;
        self.grants(date).find(|(_, grant)| is_suitable(grant)).map(|(id, _)| id)
    }

    /// The grants of a day, to change them.
    pub(super) fn grants_mut(&mut self, date: &str) -> &mut Grants {
        &mut self.day_mut(date).grants
    }

    /// The days that have grants.
    pub(super) fn dates_with_grants(&self) -> Vec<String> {
        let days = self.days.iter().filter(|day| day.grants != Grants::default());
        days.map(|day| day.date.clone()).collect()
    }

    /// The units that this machine spent from grants on a day.
    pub(super) fn spent_from_grants(&self, date: &str, bucket: Bucket) -> u32 {
        let grants = self.grants(date).filter(|(_, grant)| grant.bucket == bucket);
        let spent: u32 = grants.map(|(_, grant)| grant.spent).sum();
        self.tally(date, SHARED_ACCOUNT).count(bucket).used.saturating_add(spent)
    }

    /// All tallies, with their date and their account.
    pub(super) fn tallies(&self) -> impl Iterator<Item = (&str, &str, Tally)> {
        self.days.iter().flat_map(|day| {
            let tallies = day.accounts.iter();
            tallies.map(|(account, tally)| (day.date.as_str(), account.as_str(), *tally))
        })
    }

    /// The counts of one account on the last days, which is all that its budget needs.
    pub(super) fn of_account(&self, account: &str) -> Self {
        let last = self.days.len().saturating_sub(BUDGET_DAYS);
        let days = self.days[last..].iter().filter_map(|day| {
            let (name, tally) = day.accounts.get_key_value(account)?;
            let accounts = BTreeMap::from([(name.clone(), *tally)]);
            Some(Day { accounts, is_incomplete: day.is_incomplete, ..Day::new(&day.date) })
        });
        Self { days: days.collect() }
    }

    /// Applies the changes that made `after` out of `before`.
    pub(super) fn apply_changes(&mut self, before: &Self, after: &Self) {
        for day in &after.days {
            if day.is_incomplete && !before.is_incomplete(&day.date) {
                self.mark_incomplete(&day.date);
            }
            for (account, tally) in &day.accounts {
                let earlier = before.tally(&day.date, account);
                if *tally != earlier {
                    self.tally_mut(&day.date, account).apply_changes(earlier, *tally);
                }
            }
            let earlier = before.days.iter().find(|it| it.date == day.date);
            let earlier = earlier.map(|it| it.grants.clone()).unwrap_or_default();
            if day.grants != earlier {
                self.grants_mut(&day.date).apply_changes(&earlier, &day.grants);
            }
        }
    }

    /// The sums of both.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sums = self.clone();
        sums.apply_changes(&Self::default(), other);
        sums
    }

    /// Raises each count to that of `other`, if that is higher.
    pub(super) fn raise_to(&mut self, other: &Self) {
        for day in &other.days {
            if day.is_incomplete {
                self.mark_incomplete(&day.date);
            }
            for (account, tally) in &day.accounts {
                let raised = self.tally(&day.date, account).max(*tally);
                if raised != self.tally(&day.date, account) {
                    *self.tally_mut(&day.date, account) = raised;
                }
            }
            if day.grants != Grants::default() {
                self.grants_mut(&day.date).raise_to(&day.grants);
            }
        }
    }
}

impl Tally {
    pub(super) fn count(self, bucket: Bucket) -> Count {
        match bucket {
            Bucket::Default => self.default,
            Bucket::Search => self.search,
        }
    }

    pub(super) fn count_mut(&mut self, bucket: Bucket) -> &mut Count {
        match bucket {
            Bucket::Default => &mut self.default,
            Bucket::Search => &mut self.search,
        }
    }

    fn apply_changes(&mut self, before: Self, after: Self) {
        self.default.apply_changes(before.default, after.default);
        self.search.apply_changes(before.search, after.search);
        // They never shrink.
        self.requests += after.requests.saturating_sub(before.requests);
        self.transcripts += after.transcripts.saturating_sub(before.transcripts);
    }

    fn max(self, other: Self) -> Self {
        Self {
            default: self.default.max(other.default),
            search: self.search.max(other.search),
            requests: self.requests.max(other.requests),
            transcripts: self.transcripts.max(other.transcripts),
        }
    }
}

impl Count {
    fn apply_changes(&mut self, before: Self, after: Self) {
        // Refunds lower a count.
        self.used = self.used.saturating_add(after.used.saturating_sub(before.used));
        self.used = self.used.saturating_sub(before.used.saturating_sub(after.used));
        self.exhausted |= after.exhausted && !before.exhausted;
    }

    fn max(self, other: Self) -> Self {
        let exhausted = self.exhausted || other.exhausted;
        Self { used: self.used.max(other.used), exhausted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(table: &[(&str, &str, u32)]) -> UnitCounts {
        let mut counts = UnitCounts::default();
        for (date, account, used) in table {
            counts.tally_mut(date, account).default.used = *used;
        }
        counts
    }

    fn dates(counts: &UnitCounts) -> Vec<&str> {
        counts.days.iter().map(|day| &*day.date).collect()
    }

    #[test]
    fn a_new_day_replaces_the_one_charged_least_recently() {
        let names: Vec<String> = (1..=MAX_DAYS).map(|number| number.to_string()).collect();
        let mut stored = counts(&names.iter().map(|date| (&**date, "a", 1)).collect::<Vec<_>>());
        stored.tally_mut("1", "a").default.used += 1;
        assert_eq!(stored.tally("new", "a"), Tally::default(), "a look begins no day");
        assert_eq!(stored.days.len(), MAX_DAYS);
        stored.tally_mut("new", "a").default.used = 5;
        let kept: Vec<&str> = names[2..].iter().map(|it| &**it).chain(["1", "new"]).collect();
        assert_eq!(dates(&stored), kept);
        assert_eq!(stored.tally("1", "a").default.used, 2);
        assert_eq!(stored.tally("2", "a").default.used, 0, "it was replaced");
    }

    /// The file must not grow beyond the size at which it counts as damaged.
    #[test]
    fn many_accounts_leave_room_for_fewer_days() {
        let mut stored = UnitCounts::default();
        let each = MAX_TALLIES / 3;
        for date in ["1", "2", "3", "4", "5"] {
            let accounts = (0..each).map(|account| (account.to_string(), Tally::default()));
            stored.day_mut(date).accounts.extend(accounts);
        }
        stored.tally_mut("6", "a").requests = 1;
        assert_eq!(dates(&stored), ["3", "4", "5", "6"]);
        let mut one_day = UnitCounts::default();
        let accounts = (0..=MAX_TALLIES).map(|account| (account.to_string(), Tally::default()));
        one_day.day_mut("1").accounts.extend(accounts);
        one_day.day_mut("1").is_incomplete = true;
        assert_eq!(one_day.days.len(), 1);
    }

    #[test]
    fn changes_of_one_copy_are_applied_to_another() {
        // Before and after the change, in the file, and the result.
        let table = [(0, 3, 10, 13), (3, 3, 10, 10), (5, 3, 10, 8), (5, 0, 3, 0), (0, 0, 7, 7)];
        for (before, after, stored, expected) in table {
            let mut file = counts(&[("1", "a", stored), ("1", "b", 9)]);
            file.apply_changes(&counts(&[("1", "a", before)]), &counts(&[("1", "a", after)]));
            assert_eq!(file, counts(&[("1", "a", expected), ("1", "b", 9)]), "{before} {after}");
        }
        let mut after = counts(&[("1", "a", 2)]);
        after.tally_mut("1", "a").search.exhausted = true;
        (after.tally_mut("1", "a").requests, after.tally_mut("1", "a").transcripts) = (7, 4);
        after.mark_incomplete("2");
        let mut file = UnitCounts::default();
        file.tally_mut("1", "a").requests = 10;
        file.apply_changes(&counts(&[("1", "a", 2)]), &after);
        assert_eq!((file.tally("1", "a").requests, file.tally("1", "a").transcripts), (17, 4));
        assert_eq!(file.tally("1", "a").default.used, 0);
        assert!(file.tally("1", "a").search.exhausted && file.is_incomplete("2"));
    }

    #[test]
    fn raising_never_lowers_a_count() {
        let mut stored = counts(&[("1", "a", 5), ("1", "b", 2)]);
        stored.tally_mut("1", "a").search.exhausted = true;
        let mut other = counts(&[("1", "a", 4), ("1", "b", 3), ("2", "a", 1)]);
        other.mark_incomplete("2");
        stored.raise_to(&other);
        let used = |date, account| stored.tally(date, account).default.used;
        assert_eq!((used("1", "a"), used("1", "b"), used("2", "a")), (5, 3, 1));
        assert!(stored.tally("1", "a").search.exhausted);
        assert!(stored.is_incomplete("2") && !stored.is_incomplete("1"));
    }

    #[test]
    fn an_account_has_its_own_days() {
        let stored = counts(&[("1", "a", 5), ("1", "b", 2), ("2", "b", 1)]);
        assert_eq!(stored.of_account("a"), counts(&[("1", "a", 5)]));
        assert_eq!(stored.of_account("b"), counts(&[("1", "b", 2), ("2", "b", 1)]));
        assert!(stored.of_account("c").is_empty());
        assert_eq!(stored.accounts().collect::<Vec<_>>(), ["a", "b", "b"]);
        let many: Vec<String> = (0..MAX_DAYS).map(|number| number.to_string()).collect();
        let stored = counts(&many.iter().map(|date| (&**date, "a", 1)).collect::<Vec<_>>());
        assert_eq!(dates(&stored.of_account("a")), many[MAX_DAYS - BUDGET_DAYS..]);
    }
}
