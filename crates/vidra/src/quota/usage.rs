//! The report of what callers used.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::counts::UnitCounts;
use super::day::{date, date_before};
use super::disk::{Disk, Files, LOCK_TIMEOUT, Part};
use super::record::Record;

/// The number of days in a report, with today.
const DAYS: i64 = 30;

/// The usage of all callers in the last 30 days.
///
/// The counts are those of the allowances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UsageReport {
    /// The days with usage, the newest first.
    pub days: Vec<DayUsage>,
}

/// The usage of all callers on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DayUsage {
    /// The day of YouTube's quota, which begins at midnight Pacific time.
    #[cfg_attr(feature = "openapi", schema(format = Date, example = "2026-11-16"))]
    pub day: String,
    /// The callers with usage, by name.
    pub callers: Vec<CallerUsage>,
}

/// What one caller used on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct CallerUsage {
    /// The name of the caller. Absent for the callers without a name, which are counted together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "alice"))]
    pub name: Option<String>,
    /// The requests that the service accepted, also those answered from the cache.
    #[cfg_attr(feature = "openapi", schema(example = 1200))]
    pub requests: u64,
    /// The quota units that the requests cost. Searches are not included, unless they cost units.
    #[cfg_attr(feature = "openapi", schema(example = 85))]
    pub units: u32,
    /// The searches that the requests cost.
    #[cfg_attr(feature = "openapi", schema(example = 2))]
    pub searches: u32,
    /// The transcripts that the caller got, from the cache or from YouTube, also in batches.
    #[cfg_attr(feature = "openapi", schema(example = 340))]
    pub transcripts: u64,
}

impl UsageReport {
    /// Reads the file of [`Allowances`](crate::Allowances) at `path` without changing it, also while
    /// other processes use it. The usage of the last seconds may be missing. `None` if there is no
    /// such file.
    ///
    /// # Errors
    ///
    /// Any I/O error, and [`io::ErrorKind::InvalidData`] if no copy of the file is readable.
    pub fn read(path: &Path, now: Timestamp) -> io::Result<Option<Self>> {
        let disk = Files::new(path.to_owned());
        // A process that is stopped while it holds the lock must not prevent a report. Then the
        // working copy may be half written, and a synced copy is the newest.
        let _held = disk.lock_to_read(LOCK_TIMEOUT);
        let mut copies = vec![];
        for part in [Part::Working, Part::First, Part::Second] {
            // A file is empty from its creation until its first write.
            copies.extend(disk.read(part)?.filter(|bytes| !bytes.is_empty()));
        }
        let records = copies.iter().filter_map(|bytes| Record::decode(bytes));
        match records.max_by_key(|record| record.sequence) {
            Some(record) => Ok(Some(Self::new(&record.counts, now))),
            None if copies.is_empty() => Ok(None),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is damaged")),
        }
    }

    /// The usage in `counts`. Days of a wrong clock are left out.
    pub(super) fn new(counts: &UnitCounts, now: Timestamp) -> Self {
        let (first, today) = (date_before(now, DAYS - 1), date(now));
        let mut days = BTreeMap::<&str, Vec<CallerUsage>>::new();
        for (date, account, tally) in counts.tallies() {
            if (&*first..=&*today).contains(&date) {
                days.entry(date).or_default().push(CallerUsage {
                    name: Some(account).filter(|name| !name.is_empty()).map(str::to_owned),
                    requests: tally.requests,
                    units: tally.default.used,
                    searches: tally.search.used,
                    transcripts: tally.transcripts,
                });
            }
        }
        let days = days.into_iter().rev();
        let days = days.map(|(day, callers)| DayUsage { day: day.to_owned(), callers });
        Self { days: days.collect() }
    }

    /// The rows of the callers for which `is_wanted` returns `true`. Days without one are left out.
    #[must_use]
    pub fn of_callers(mut self, is_wanted: impl Fn(&CallerUsage) -> bool) -> Self {
        self.days.iter_mut().for_each(|day| day.callers.retain(&is_wanted));
        self.days.retain(|day| !day.callers.is_empty());
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;
    use std::{fs, thread};

    use jiff::Span;

    use super::*;
    use crate::quota::disk::Lock;
    use crate::quota::{Allowances, Bucket};

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    /// Day, name, requests, units, searches, transcripts.
    fn rows(report: &UsageReport) -> Vec<(&str, &str, u64, u32, u32, u64)> {
        let rows = report.days.iter().flat_map(|day| {
            day.callers.iter().map(|it| {
                let name = it.name.as_deref().unwrap_or("-");
                (&*day.day, name, it.requests, it.units, it.searches, it.transcripts)
            })
        });
        rows.collect()
    }

    fn use_some(allowances: &Allowances, name: &str, now: Timestamp) {
        let caller = allowances.get(name);
        caller.note_request();
        caller.note_request();
        caller.note_transcript();
        caller.take(Bucket::Default, 3, now).unwrap();
        caller.take(Bucket::Search, 1, now).unwrap();
    }

    #[test]
    fn users_12_usage_is_counted_by_caller_and_pacific_day() {
        // Midnight Pacific time is 8:00 UTC in winter.
        let (evening, morning) = (at("2026-11-16T07:59:00Z"), at("2026-11-16T08:00:00Z"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callers.json");
        for allowances in [Allowances::default(), Allowances::open(path.clone(), evening)] {
            assert_eq!(allowances.usage(evening), UsageReport::default());
            use_some(&allowances, "bob", evening);
            use_some(&allowances, "", evening);
            allowances.save(evening);
            allowances.get("alice").note_request();
            let report = allowances.usage(morning);
            let expected = [
                ("2026-11-16", "alice", 1, 0, 0, 0),
                ("2026-11-15", "-", 2, 3, 1, 1),
                ("2026-11-15", "bob", 2, 3, 1, 1),
            ];
            assert_eq!(rows(&report), expected);
            assert_eq!(allowances.usage(morning), report, "a report counts nothing");
            let unnamed = report.of_callers(|caller| caller.name.is_none());
            assert_eq!(rows(&unnamed), expected[1..2]);
        }
        let read = UsageReport::read(&path, morning).unwrap().unwrap();
        assert_eq!(rows(&read).len(), 3);
    }

    #[test]
    fn users_12_a_report_covers_thirty_days_and_no_wrong_clock() {
        let allowances = Allowances::default();
        let days = |number: i64| at("2026-11-15T20:00:00Z") + Span::new().hours(24 * number);
        for number in 0..40 {
            use_some(&allowances, "alice", days(number));
            allowances.save(days(number));
        }
        use_some(&allowances, "alice", at("2036-01-01T00:00:00Z"));
        let report = allowances.usage(days(39));
        let dates: Vec<&str> = report.days.iter().map(|day| &*day.day).collect();
        assert_eq!(dates.len(), 30, "{dates:?}");
        assert_eq!((dates[0], dates[29]), ("2026-12-24", "2026-11-25"));
    }

    #[test]
    fn users_12_two_processes_never_lose_each_others_usage() {
        let folder = tempfile::tempdir().unwrap();
        let (path, now) = (folder.path().join("callers.json"), at("2026-11-15T12:00:00Z"));
        let processes = [(); 3].map(|()| Allowances::open(path.clone(), now));
        let path = &path;
        thread::scope(|scope| {
            for process in &processes {
                for name in ["alice", "bob"] {
                    scope.spawn(move || {
                        for _ in 0..50 {
                            use_some(process, name, now);
                            process.save(now);
                            // Another process may be writing.
                            assert!(UsageReport::read(path, now).unwrap().is_some());
                        }
                    });
                }
            }
        });
        let row = |name| ("2026-11-15", name, 300, 450, 150, 150);
        assert_eq!(
            rows(&Allowances::open(path.clone(), now).usage(now)),
            [row("alice"), row("bob")]
        );
    }

    #[test]
    fn a_report_waits_for_a_process_that_is_writing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, now) = (folder.path().join("callers.json"), at("2026-11-15T12:00:00Z"));
        let disk = Files::new(path.clone());
        let bytes = Record::encode(1, &UnitCounts::default()).unwrap();
        let held = disk.lock(Lock::Working, LOCK_TIMEOUT).unwrap();
        disk.write(Part::Working, &bytes[..20]).unwrap();
        let (sender, report) = mpsc::channel();
        let reader = thread::spawn(move || sender.send(UsageReport::read(&path, now)));
        // Without the lock it would report a damaged file.
        assert!(report.recv_timeout(Duration::from_millis(10)).is_err());
        disk.write(Part::Working, &bytes).unwrap();
        drop(held);
        assert_eq!(report.recv().unwrap().unwrap(), Some(UsageReport::default()));
        reader.join().unwrap().unwrap();
    }

    #[test]
    fn a_file_is_read_from_any_undamaged_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (path, now) = (folder.path().join("callers.json"), at("2026-11-15T12:00:00Z"));
        assert_eq!(UsageReport::read(&path, now).unwrap(), None);
        let allowances = Allowances::open(path.clone(), now);
        use_some(&allowances, "alice", now);
        allowances.save(now);
        drop(allowances); // It syncs a copy.
        let report = UsageReport::read(&path, now).unwrap().unwrap();
        assert_eq!(rows(&report), [("2026-11-15", "alice", 2, 3, 1, 1)]);
        let before: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        fs::write(&path, &fs::read(&path).unwrap()[..100]).unwrap();
        assert_eq!(UsageReport::read(&path, now).unwrap(), Some(report));
        for copy in &before {
            fs::write(copy, "{").unwrap();
        }
        let error = UsageReport::read(&path, now).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let after = fs::read_dir(&folder).unwrap().count();
        assert_eq!(after, before.len(), "a reader creates no file");
    }
}
