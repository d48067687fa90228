//! The allowances of all callers, whose spending and usage survive a restart.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::allowance::Allowance;
use super::backing::Backing;
#[cfg(feature = "postgres")]
use super::counts::Tally;
use super::counts::UnitCounts;
use super::day::date;
use super::file::CountFile;
use super::health::LedgerHealth;
#[cfg(feature = "postgres")]
use super::shared_usage::SharedUsage;
use super::usage::UsageReport;

/// Allowances by the name of their caller. The default has no file.
///
/// Several processes may use the same file. They add what their callers used to it, and learn what
/// the others added, at each [`Allowances::save`]. Call it every few seconds, also without a file:
/// it assigns requests and transcripts to a day.
///
/// ```
/// use jiff::Timestamp;
/// use vidra::{Allowances, Bucket};
///
/// # let folder = std::env::temp_dir().join(format!("vidra-doc-{}", std::process::id()));
/// let now = Timestamp::now();
/// let allowances = Allowances::open(folder.join("callers.json"), now);
/// let alice = allowances.get("alice");
/// alice.set_limits(Some(500), None);
/// // `Vidra::on_allowance` charges it.
/// assert_eq!(alice.used(Bucket::Default, now), 0);
/// allowances.save(now);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Allowances {
    counts: Backing,
    by_name: Mutex<BTreeMap<String, Allowance>>,
    /// The counts of other machines.
    others: Mutex<UnitCounts>,
    #[cfg(feature = "postgres")]
    pub(super) shared: tokio::sync::Mutex<SharedUsage>,
}

impl Allowances {
    /// Opens the file, with copies beside it, and reads the spending of the last days. It never
    /// fails: [`Allowances::health`] reports an unusable file. Blocks on file I/O.
    pub fn open(path: PathBuf, now: Timestamp) -> Self {
        Self::in_file(CountFile::new(path, "spending of callers"), now)
    }

    pub(super) fn in_file(file: CountFile, now: Timestamp) -> Self {
        let allowances = Self { counts: Backing::File(file), ..Self::default() };
        allowances.save(now);
        allowances
    }

    /// The allowance of a caller. A new one has no limits.
    pub fn get(&self, name: &str) -> Allowance {
        let mut by_name = self.by_name();
        by_name.entry(name.to_owned()).or_insert_with(|| Allowance::named(name)).clone()
    }

    /// Adds the usage since the last call to the file, and takes over that of other processes.
    /// Blocks on file I/O. The file is synced within 10 ms, on another thread.
    pub fn save(&self, now: Timestamp) {
        self.counts.update(now, |all| self.exchange(all, now));
    }

    /// What all callers used on the last 30 days, also callers that nobody knows any more. It saves
    /// first, so that the report is complete. Blocks on file I/O.
    pub fn usage(&self, now: Timestamp) -> UsageReport {
        self.counts.update(now, |all| {
            self.exchange(all, now);
            let others = self.others();
            match others.is_empty() {
                true => UsageReport::new(all, now),
                false => UsageReport::new(&all.plus(&others), now),
            }
        })
    }

    /// Raises the counts to those of `stored`, if those are higher. Blocks on file I/O.
    #[cfg(feature = "postgres")]
    pub(super) fn raise_to(&self, stored: &UnitCounts, now: Timestamp) {
        self.counts.update(now, |all| {
            self.exchange(all, now);
            all.raise_to(stored);
            self.exchange(all, now);
        });
    }

    /// Saves, and returns the counts that differ from `sent`. Blocks on file I/O.
    #[cfg(feature = "postgres")]
    pub(super) fn changed_since(
        &self,
        sent: &UnitCounts,
        now: Timestamp,
    ) -> Vec<(String, String, Tally)> {
        self.counts.update(now, |all| {
            self.exchange(all, now);
            let changed =
                all.tallies().filter(|(date, name, tally)| sent.tally(date, name) != *tally);
            changed.map(|(date, name, tally)| (date.to_owned(), name.to_owned(), tally)).collect()
        })
    }

    /// Stores the counts of other machines.
    #[cfg(feature = "postgres")]
    pub(super) fn take_over(&self, changed: &[(String, String, Tally)]) {
        let mut others = self.others();
        for (date, name, tally) in changed {
            *others.tally_mut(date, name) = *tally;
            self.get(name).set_others(date, *tally);
        }
    }

    fn others(&self) -> MutexGuard<'_, UnitCounts> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exchange(&self, all: &mut UnitCounts, now: Timestamp) {
        let (mut by_name, today) = (self.by_name(), date(now));
        for name in all.accounts() {
            if !by_name.contains_key(name) {
                by_name.insert(name.to_owned(), Allowance::named(name));
            }
        }
        by_name.values().for_each(|allowance| allowance.exchange(all, &today));
    }

    /// Whether the file works. Does not wait for it.
    pub fn health(&self, now: Timestamp) -> LedgerHealth {
        self.counts.health(now)
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, Allowance>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::quota::Bucket;

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn spend(allowances: &Allowances, name: &str, units: u32, now: Timestamp) {
        allowances.get(name).take(Bucket::Default, units, now).unwrap();
    }

    fn used(allowances: &Allowances, name: &str, now: Timestamp) -> u32 {
        allowances.get(name).used(Bucket::Default, now)
    }

    /// Each instance has its own memory, as each process would.
    #[test]
    fn review_o2_two_processes_never_lose_each_others_spending() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/callers.json");
        let now = at("2026-11-15T12:00:00Z");
        let open = || Allowances::open(path.clone(), now);
        let (one, other) = (open(), open());
        spend(&one, "bob", 3, now);
        one.save(now);
        spend(&other, "alice", 1, now);
        other.save(now);
        let restarted = open();
        assert_eq!((used(&restarted, "bob", now), used(&restarted, "alice", now)), (3, 1));
        // Both spend for the same caller, and refund, between two saves.
        spend(&one, "bob", 2, now);
        spend(&other, "bob", 4, now);
        other.get("bob").give_back(Bucket::Default, 1, now);
        for allowances in [&one, &other, &one, &restarted] {
            allowances.save(now);
        }
        for allowances in [&one, &other, &restarted, &open()] {
            assert_eq!(used(allowances, "bob", now), 8);
            assert_eq!(used(allowances, "alice", now), 1);
        }
    }

    #[test]
    fn review_o2_threads_and_processes_that_save_concurrently_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callers.json");
        let now = at("2026-11-15T12:00:00Z");
        let processes = [(); 3].map(|()| Allowances::open(path.clone(), now));
        std::thread::scope(|scope| {
            for process in &processes {
                for name in ["alice", "bob"] {
                    scope.spawn(move || {
                        for _ in 0..100 {
                            spend(process, name, 1, now);
                            process.save(now);
                        }
                    });
                }
            }
        });
        let restarted = Allowances::open(path, now);
        assert_eq!((used(&restarted, "alice", now), used(&restarted, "bob", now)), (300, 300));
    }

    #[test]
    fn a_restart_keeps_the_spending_of_all_names_and_of_its_day_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callers.json");
        let (today, tomorrow) = (at("2026-11-15T12:00:00Z"), at("2026-11-16T12:00:00Z"));
        let before = Allowances::open(path.clone(), today);
        spend(&before, "alice", 3, today);
        before.save(today);
        let written = fs::read(&path).unwrap();
        before.save(today);
        assert_eq!(fs::read(&path).unwrap(), written, "an unchanged file is not written again");
        // A key that is added later continues the spending of its name.
        let after = Allowances::open(path, today);
        after.save(today);
        assert_eq!((used(&after, "alice", today), used(&after, "alice", tomorrow)), (3, 0));
        // The file of an earlier version.
        let path = folder.path().join("earlier.json");
        let earlier = r#"{"alice": {"date": "2026-11-15", "default": 2, "search": 0}}"#;
        fs::write(&path, earlier).unwrap();
        let upgraded = Allowances::open(path.clone(), today);
        spend(&upgraded, "alice", 1, today);
        upgraded.save(today);
        assert_eq!(used(&Allowances::open(path, today), "alice", today), 3);
    }

    #[test]
    fn review_o6_an_unusable_file_of_callers_is_reported_and_loses_nothing_later() {
        let folder = tempfile::tempdir().unwrap();
        let (blocker, now) = (folder.path().join("state"), at("2026-11-15T12:00:00Z"));
        fs::write(&blocker, "a file in place of the folder").unwrap();
        let path = blocker.join("callers.json");
        let allowances = Allowances::open(path.clone(), now);
        spend(&allowances, "alice", 2, now);
        allowances.save(now);
        assert!(allowances.health(now).is_failing);
        assert_eq!(used(&allowances, "alice", now), 2);
        fs::remove_file(&blocker).unwrap();
        allowances.save(now);
        assert_eq!(allowances.health(now), LedgerHealth::default());
        assert_eq!(used(&Allowances::open(path, now), "alice", now), 2);
        assert_eq!(Allowances::default().health(now), LedgerHealth::default());
    }
}
