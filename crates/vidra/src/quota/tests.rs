use std::fs;

use super::day::next_reset;
use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn spent(charge: Result<Charge, NotCharged>) -> Spent {
    match charge.unwrap_err() {
        NotCharged::Spent(spent) => spent,
        NotCharged::NeedsGrant(needed) => panic!("{needed:?}"),
    }
}

fn used(ledger: &Ledger, now: Timestamp) -> Vec<(&'static str, u32, u32)> {
    let buckets = ledger.quota(now).buckets;
    buckets.iter().map(|bucket| (bucket.name, bucket.used, bucket.remaining)).collect()
}

#[test]
fn the_day_ends_at_midnight_in_los_angeles_whatever_its_length() {
    let hour = 3600;
    let table = [
        // (now, reset, hours left at the day's start)
        ("2026-11-15T12:00:00Z", "2026-11-16T08:00:00Z", 20 * hour),
        ("2026-07-01T06:59:59Z", "2026-07-01T07:00:00Z", 1),
        // Clocks go back on 2026-11-01: 25 hours.
        ("2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z", 25 * hour),
        // And forward on 2027-03-14: 23 hours.
        ("2027-03-14T08:00:00Z", "2027-03-15T07:00:00Z", 23 * hour),
    ];
    for (now, reset, seconds) in table {
        assert_eq!(next_reset(at(now)), at(reset), "{now}");
        assert_eq!(until_reset(at(now)).as_secs(), seconds, "{now}");
    }
}

#[test]
fn counts_start_from_zero_at_midnight_and_not_before() {
    let ledger = Ledger::in_memory(QuotaLimits::default());
    let before = at("2026-11-16T07:59:59Z");
    ledger.charge(Bucket::Default, 0, before).unwrap();
    let search = ledger.charge(Bucket::Search, 0, before).unwrap();
    ledger.exhaust(&search, None, before);
    assert_eq!(used(&ledger, before), [("default", 1, 9999), ("search", 1, 0)]);
    let after = at("2026-11-16T08:00:00Z");
    assert_eq!(used(&ledger, after), [("default", 0, 10_000), ("search", 0, 100)]);
}

#[test]
fn an_exhausted_bucket_rejects_charges_and_does_not_affect_the_other() {
    let limits = QuotaLimits { default: 2, search: SearchBilling::OwnBucket(1) };
    let ledger = Ledger::in_memory(limits);
    let now = at("2026-11-15T12:00:00Z");
    assert_eq!(ledger.charge(Bucket::Search, 0, now).unwrap().cost, 1);
    let refused = spent(ledger.charge(Bucket::Search, 0, now));
    assert_eq!((refused.bucket, refused.resets_in.as_secs()), (Bucket::Search, 20 * 3600));
    assert_eq!(ledger.charge(Bucket::Default, 0, now).unwrap().cost, 1);
    assert_eq!(ledger.charge(Bucket::Default, 0, now).unwrap().cost, 1);
    assert!(ledger.charge(Bucket::Default, 0, now).is_err());
    assert_eq!(used(&ledger, now), [("default", 2, 0), ("search", 1, 0)]);
}

#[test]
fn an_exhausted_quota_of_the_platform_overrides_our_count() {
    let ledger = Ledger::in_memory(QuotaLimits::default());
    let now = at("2026-11-15T12:00:00Z");
    let charge = ledger.charge(Bucket::Default, 0, now).unwrap();
    ledger.exhaust(&charge, None, now);
    assert!(ledger.charge(Bucket::Default, 0, now).is_err());
    assert_eq!(used(&ledger, now), [("default", 1, 0), ("search", 0, 100)]);
}

#[test]
fn searches_can_share_the_default_bucket() {
    let ledger =
        Ledger::in_memory(QuotaLimits { default: 250, search: SearchBilling::Shared(100) });
    let now = at("2026-11-15T12:00:00Z");
    assert_eq!(ledger.charge(Bucket::Search, 0, now).unwrap().cost, 100);
    assert_eq!(ledger.charge(Bucket::Search, 0, now).unwrap().cost, 100);
    assert!(ledger.charge(Bucket::Search, 0, now).is_err(), "50 are left and a search costs 100");
    assert_eq!(ledger.charge(Bucket::Default, 0, now).unwrap().cost, 1);
    assert_eq!(used(&ledger, now), [("default", 201, 49)]);
}

#[test]
fn counts_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/state/quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let first = open();
    first.charge(Bucket::Default, 0, now).unwrap();
    let search = first.charge(Bucket::Search, 0, now).unwrap();
    first.exhaust(&search, None, now);
    drop(first);
    assert_eq!(used(&open(), now), [("default", 1, 9999), ("search", 1, 0)]);
    let tomorrow = at("2026-11-17T00:00:00Z");
    assert_eq!(used(&open(), tomorrow), [("default", 0, 10_000), ("search", 0, 100)]);
}

#[test]
fn processes_with_one_file_count_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let limits = QuotaLimits { default: 300, ..QuotaLimits::default() };
    // Each ledger has its own memory, as each process would.
    let ledgers = [(); 4].map(|()| Ledger::in_file(limits, file.clone(), now));
    let granted: usize = std::thread::scope(|scope| {
        let counts = ledgers.each_ref().map(|ledger| {
            scope.spawn(move || {
                (0..100).filter(|_| ledger.charge(Bucket::Default, 0, now).is_ok()).count()
            })
        });
        counts.into_iter().map(|count| count.join().unwrap()).sum()
    });
    assert_eq!(granted, 300);
    assert_eq!(used(&ledgers[0], now)[0], ("default", 300, 0));
}

/// Without a synced copy. The count of the day begins at zero, and that is reported.
#[test]
fn review_s10_o6_an_unreadable_ledger_counts_on_and_is_reported_until_the_day_ends() {
    let (now, tomorrow) = (at("2026-11-15T12:00:00Z"), at("2026-11-16T12:00:00Z"));
    for junk in ["{", "[]", "{\"date\": 5}", "\u{0}", "null", "[{}"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("quota.json");
        fs::write(&file, junk).unwrap();
        let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
        let ledger = open();
        assert_eq!(ledger.charge(Bucket::Default, 0, now).unwrap().cost, 1, "{junk}");
        assert_eq!(used(&ledger, now)[0], ("default", 1, 9999), "{junk}");
        // A restart, and another process, know it too.
        for ledger in [&ledger, &open()] {
            let health = LedgerHealth { is_failing: false, is_incomplete: true };
            assert_eq!(ledger.health(now), health, "{junk}");
            ledger.quota(tomorrow);
            assert_eq!(ledger.health(tomorrow), LedgerHealth::default(), "{junk}");
        }
    }
}

#[test]
fn review_o6_a_ledger_that_cannot_be_written_counts_in_memory_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (blocker, now) = (folder.path().join("state"), at("2026-11-15T12:00:00Z"));
    fs::write(&blocker, "a file in place of the folder").unwrap();
    let file = blocker.join("quota.json");
    let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let ledger = open();
    assert!(ledger.health(now).is_failing, "before the first charge");
    ledger.charge(Bucket::Default, 0, now).unwrap();
    ledger.charge(Bucket::Default, 0, now).unwrap();
    assert_eq!(used(&ledger, now)[0], ("default", 2, 9998));
    fs::remove_file(&blocker).unwrap();
    ledger.charge(Bucket::Default, 0, now).unwrap();
    assert_eq!(ledger.health(now), LedgerHealth::default());
    assert_eq!(used(&open(), now)[0], ("default", 3, 9997));
}

#[test]
fn no_file_and_an_empty_file_are_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let (file, now) = (folder.path().join("quota.json"), at("2026-11-15T12:00:00Z"));
    for is_empty in [false, true] {
        if is_empty {
            fs::write(&file, "").unwrap();
        }
        let ledger = Ledger::in_file(QuotaLimits::default(), file.clone(), now);
        assert_eq!(ledger.health(now), LedgerHealth::default());
        assert_eq!(used(&ledger, now)[0], ("default", 0, 10_000));
    }
    assert_eq!(fs::read(&file).unwrap(), b"", "a report writes nothing");
}

#[test]
fn the_ledger_of_an_earlier_version_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, now) = (folder.path().join("quota.json"), at("2026-11-15T12:00:00Z"));
    let text = r#"{"date":"2026-11-15","default":{"used":7,"exhausted":false},"search":{"used":1,"exhausted":true}}"#;
    fs::write(&file, format!("{text:\n<512}")).unwrap();
    let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let ledger = open();
    assert_eq!(used(&ledger, now), [("default", 7, 9993), ("search", 1, 0)]);
    ledger.charge(Bucket::Default, 0, now).unwrap();
    assert_eq!(used(&open(), now), [("default", 8, 9992), ("search", 1, 0)]);
    assert_eq!(ledger.health(now), LedgerHealth::default());
}

#[test]
fn counts_survive_a_file_that_fails_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let (ledger, other) = (open(), open());
    ledger.charge(Bucket::Default, 0, now).unwrap();
    let aside = folder.path().join("aside");
    fs::rename(&file, &aside).unwrap();
    fs::create_dir(&file).unwrap();
    for _ in 0..3 {
        ledger.charge(Bucket::Default, 0, now).unwrap();
    }
    let search = ledger.charge(Bucket::Search, 0, now).unwrap();
    ledger.exhaust(&search, None, now);
    assert_eq!(used(&ledger, now), [("default", 4, 9996), ("search", 1, 0)]);
    fs::remove_dir(&file).unwrap();
    fs::rename(&aside, &file).unwrap();
    // The count of another process is included too.
    other.charge(Bucket::Default, 0, now).unwrap();
    ledger.charge(Bucket::Default, 0, now).unwrap();
    // It does not wait for the lock of a file that failed, and the thread of `other` may hold it for a moment.
    let is_stored = (0..1_000).any(|_| {
        ledger.quota(now);
        used(&open(), now) == [("default", 6, 9994), ("search", 1, 0)]
    });
    assert!(is_stored);
}

#[test]
fn a_lock_that_is_never_released_delays_only_the_first_charge() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let ledger = Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let held = fs::File::open(file.with_extension("lock")).unwrap();
    held.lock().unwrap();
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        ledger.charge(Bucket::Default, 0, now).unwrap();
    }
    let took = begun.elapsed();
    // Only the first charge waits a second. If each one did, it would be 100.
    assert!(took >= Duration::from_secs(1), "it gave up too early: {took:?}");
    assert!(took < Duration::from_secs(30), "each charge waited: {took:?}");
    assert_eq!(used(&ledger, now)[0], ("default", 100, 9900));
    drop(held);
    ledger.charge(Bucket::Default, 0, now).unwrap();
    let reopened = Ledger::in_file(QuotaLimits::default(), file, now);
    assert_eq!(used(&reopened, now)[0], ("default", 101, 9899));
}

#[test]
fn a_charge_waits_for_a_lock_that_is_released() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let ledger = Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let held = fs::File::open(file.with_extension("lock")).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let charged = scope.spawn(|| ledger.charge(Bucket::Default, 0, now).unwrap());
        // Long enough to matter, and far below the timeout of a second.
        let met = std::time::Instant::now() + Duration::from_millis(50);
        while std::time::Instant::now() < met {
            assert!(!charged.is_finished(), "it did not wait for the file");
            std::thread::yield_now();
        }
        drop(held);
        charged.join().unwrap();
    });
    assert_eq!(ledger.health(now), LedgerHealth::default(), "the count is in the file");
}

/// The first part of a file is of the last write, and the rest is missing or zero.
#[test]
fn review_s10_a_working_copy_cut_at_any_byte_is_replaced_by_a_synced_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quota.json");
    let now = at("2026-11-15T12:00:00Z");
    let open = || Ledger::in_file(QuotaLimits::default(), file.clone(), now);
    let running = open();
    for _ in 0..1_234 {
        running.charge(Bucket::Default, 0, now).unwrap();
    }
    // Dropping a ledger completes its last sync.
    let syncing = open();
    let search = syncing.charge(Bucket::Search, 0, now).unwrap();
    syncing.exhaust(&search, None, now);
    drop(syncing);
    let counted = [("default", 1_234, 8_766), ("search", 1, 0)];
    assert_eq!(used(&running, now), counted);
    let whole = fs::read(&file).unwrap();
    assert_eq!(whole.len(), 512);
    for length in (0..=whole.len()).step_by(5) {
        let zeros = [&whole[..length], &vec![0; whole.len() - length]].concat();
        for torn in [whole[..length].to_vec(), zeros] {
            fs::write(&file, &torn).unwrap();
            let restarted = open();
            assert_eq!(used(&restarted, now), counted, "{length} bytes");
            assert_eq!(restarted.health(now), LedgerHealth::default(), "{length} bytes");
            fs::write(&file, &torn).unwrap();
            assert_eq!(used(&running, now), counted, "{length} bytes, running");
        }
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(used(&open(), now), counted, "no working copy");
}

#[test]
fn charges_with_times_around_midnight_are_all_counted() {
    let ledger = Ledger::in_memory(QuotaLimits::default());
    let (before, after) = (at("2026-11-16T07:59:59Z"), at("2026-11-16T08:00:00Z"));
    for now in [after, before, after, before, after] {
        ledger.charge(Bucket::Default, 0, now).unwrap();
    }
    assert_eq!(used(&ledger, before)[0], ("default", 2, 9998));
    assert_eq!(used(&ledger, after)[0], ("default", 3, 9997));
}

#[test]
fn an_exhausted_quota_of_yesterday_does_not_close_today() {
    let ledger = Ledger::in_memory(QuotaLimits::default());
    let (before, after) = (at("2026-11-16T07:59:59Z"), at("2026-11-16T08:00:00Z"));
    let charge = ledger.charge(Bucket::Default, 0, before).unwrap();
    ledger.exhaust(&charge, None, after);
    ledger.refund(&charge, after);
    assert_eq!(used(&ledger, after), [("default", 0, 10_000), ("search", 0, 100)]);
}

/// The clock jumps, one report or charge happens, and the clock is right again.
#[test]
fn review_s9_a_wrong_clock_never_lowers_a_count_nor_forgets_an_exhausted_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let now = at("2026-11-15T12:00:00Z");
    let wrong = [
        "1970-01-01T00:00:00Z",
        "2026-11-14T12:00:00Z",
        "2026-11-16T12:00:00Z",
        "2026-11-17T12:00:00Z",
        "2036-01-01T00:00:00Z",
        "9999-12-30T00:00:00Z",
    ];
    let file = folder.path().join("quota.json");
    let double = LedgerDouble::new(|| (Duration::ZERO, Duration::ZERO));
    let limits = QuotaLimits::default();
    let ledgers = [
        Ledger::in_memory(limits),
        Ledger::in_file(limits, file.clone(), now),
        Ledger::in_double(limits, double),
    ];
    for ledger in ledgers {
        for _ in 0..5 {
            ledger.charge(Bucket::Default, 0, now).unwrap();
        }
        let search = ledger.charge(Bucket::Search, 0, now).unwrap();
        ledger.exhaust(&search, None, now);
        let counted = [("default", 5, 9995), ("search", 1, 0)];
        for time in wrong.map(at) {
            assert_eq!(used(&ledger, time)[0].1, 0, "{time}");
            assert_eq!(used(&ledger, now), counted, "a report at {time}");
        }
        for time in wrong.map(at) {
            ledger.charge(Bucket::Default, 0, time).unwrap();
            assert_eq!(used(&ledger, time)[0], ("default", 1, 9999), "{time}");
            assert_eq!(used(&ledger, now), counted, "a charge at {time}");
        }
        ledger.charge(Bucket::Search, 0, now).unwrap_err();
    }
    // A restart with a wrong clock.
    for time in wrong.map(at) {
        let restarted = Ledger::in_file(QuotaLimits::default(), file.clone(), time);
        assert_eq!(used(&restarted, now), [("default", 5, 9995), ("search", 1, 0)], "{time}");
    }
}

#[test]
fn a_refund_restores_the_units() {
    let ledger = Ledger::in_memory(QuotaLimits::default());
    let now = at("2026-11-15T12:00:00Z");
    let charge = ledger.charge(Bucket::Default, 0, now).unwrap();
    ledger.charge(Bucket::Default, 0, now).unwrap();
    ledger.refund(&charge, now);
    assert_eq!(used(&ledger, now)[0], ("default", 1, 9999));
}
