//! Several machines with one quota, while they and the pool fail at random.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;

use super::conformance::charge;
use super::pool::charged_days;
use super::pool_double::PoolDouble;
use super::*;
use crate::clock::SystemClock;

fn open(pool: &Arc<PoolDouble>, limits: QuotaLimits, folder: &Path, now: Timestamp) -> Arc<Ledger> {
    let ledger = Ledger::in_file(limits, folder.join("quota.json"), now);
    let pool = Arc::clone(pool) as Arc<dyn QuotaPool>;
    Arc::new(ledger.sharing(pool, "key".to_owned(), Arc::new(SystemClock)))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The machines together never send more than the limit of a day, and the pool counts at least what they sent. Requests,
/// answers, processes and disks get lost.
#[tokio::test]
async fn machines_never_spend_more_than_the_quota() {
    let limits = QuotaLimits { default: 300, search: SearchBilling::OwnBucket(5) };
    for seed in 0..12 {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut now = at("2026-11-16T07:50:00Z");
        let pool = PoolDouble::new(now, seed);
        let folders: Vec<_> = (0..3).map(|it| folder.path().join(it.to_string())).collect();
        let mut machines: Vec<_> = folders.iter().map(|it| open(&pool, limits, it, now)).collect();
        let mut sent = BTreeMap::<(String, Bucket), u32>::new();
        for _ in 0..600 {
            let index = rng.usize(..3);
            match rng.u32(..100) {
                0..80 => {
                    let wanted = if rng.u8(..50) == 0 { Bucket::Search } else { Bucket::Default };
                    let Ok(charge) = charge(&machines[index], wanted, 0, now).await else {
                        continue;
                    };
                    match rng.u8(..5) {
                        0 => machines[index].refund(&charge, now),
                        // YouTube may count it for either day around midnight.
                        _ => {
                            let day = rng.choice(charged_days(now)).unwrap();
                            *sent.entry((day, wanted)).or_default() += 1;
                        }
                    }
                }
                80..84 => machines[index].return_grants().await,
                84..88 => {
                    let _ = machines[index].exchange().await;
                }
                // Killed, and started again with its file.
                88..92 => machines[index] = open(&pool, limits, &folders[index], now),
                // Lost with its disk.
                92 => {
                    let _ = std::fs::remove_dir_all(&folders[index]);
                    machines[index] = open(&pool, limits, &folders[index], now);
                }
                93..96 => pool.lose(rng.u8(..60)),
                _ => {
                    now = now.checked_add(jiff::SignedDuration::from_secs(rng.i64(0..60))).unwrap();
                    pool.set_clock(now);
                }
            }
        }
        for ((day, bucket), sent) in sent {
            let used = pool.used(&day, bucket);
            assert!(sent <= limits.of(bucket), "seed {seed}: {sent} sent on {day}");
            assert!(sent <= used, "seed {seed}: {sent} sent on {day}, and {used} counted");
        }
    }
}

#[tokio::test]
async fn nothing_is_lost_if_all_machines_end_well() {
    let limits = QuotaLimits { default: 500, search: SearchBilling::OwnBucket(5) };
    let (folder, now) = (tempfile::tempdir().unwrap(), at("2026-11-15T20:00:00Z"));
    let pool = PoolDouble::new(now, 7);
    let folders: Vec<_> = (0..3).map(|it| folder.path().join(it.to_string())).collect();
    let mut sent = 0;
    for _ in 0..20 {
        for path in &folders {
            let machine = open(&pool, limits, path, now);
            for _ in 0..3 {
                charge(&machine, Bucket::Default, 0, now).await.unwrap();
                sent += 1;
            }
            // The next process returns the units that this one cannot return.
            pool.lose(50);
            machine.return_grants().await;
            pool.lose(0);
        }
    }
    for path in &folders {
        open(&pool, limits, path, now).return_grants().await;
    }
    assert_eq!(pool.used("2026-11-15", Bucket::Default), sent);
}

/// A machine that was killed loses what it held, and no more.
#[tokio::test]
async fn a_machine_that_was_killed_loses_its_grant() {
    let (folder, now) = (tempfile::tempdir().unwrap(), at("2026-11-15T20:00:00Z"));
    let pool = PoolDouble::new(now, 7);
    for killed in 0..5 {
        let machine = open(&pool, QuotaLimits::default(), folder.path(), now);
        charge(&machine, Bucket::Default, 0, now).await.unwrap();
        assert_eq!(pool.used("2026-11-15", Bucket::Default), 20 * (killed + 1));
    }
}

/// The file does not have the last charges, so another process must not continue with its grants.
#[tokio::test]
async fn a_grant_in_a_file_that_cannot_be_written_is_not_charged_twice() {
    let (folder, now) = (tempfile::tempdir().unwrap(), at("2026-11-15T20:00:00Z"));
    let (pool, path) = (PoolDouble::new(now, 7), folder.path().join("quota.json"));
    let mut sent = 0;
    for _ in 0..3 {
        let machine = open(&pool, QuotaLimits::default(), folder.path(), now);
        charge(&machine, Bucket::Default, 0, now).await.unwrap();
        let before = std::fs::read(&path).unwrap();
        for _ in 0..15 {
            charge(&machine, Bucket::Default, 0, now).await.unwrap();
        }
        sent += 16;
        // As if the last writes had failed.
        drop(machine);
        std::fs::write(&path, before).unwrap();
    }
    assert!(pool.used("2026-11-15", Bucket::Default) >= sent);
}

#[tokio::test]
async fn the_count_of_a_single_machine_is_imported_once_and_survives_the_way_back() {
    let limits = QuotaLimits::default();
    let (folder, now) = (tempfile::tempdir().unwrap(), at("2026-11-15T20:00:00Z"));
    let path = folder.path().join("quota.json");
    let alone = Ledger::in_file(limits, path.clone(), now);
    (0..7).for_each(|_| drop(alone.charge(Bucket::Default, 0, now).unwrap()));
    drop(alone);
    let pool = PoolDouble::new(now, 1);
    pool.lose(50);
    for _ in 0..20 {
        open(&pool, limits, folder.path(), now).return_grants().await;
    }
    pool.lose(0);
    let shared = open(&pool, limits, folder.path(), now);
    charge(&shared, Bucket::Default, 0, now).await.unwrap();
    shared.return_grants().await;
    assert_eq!(pool.used("2026-11-15", Bucket::Default), 8);
    drop(shared);
    let alone = Ledger::in_file(limits, path, now);
    assert_eq!(alone.quota(now).buckets[0].used, 8);
    // A command on the same machine.
    alone.charge(Bucket::Default, 0, now).unwrap();
    open(&pool, limits, folder.path(), now).return_grants().await;
    assert_eq!(pool.used("2026-11-15", Bucket::Default), 9);
}

#[tokio::test]
async fn around_midnight_a_charge_needs_units_of_both_days() {
    let limits = QuotaLimits { default: 2, search: SearchBilling::OwnBucket(5) };
    let before = at("2026-11-16T07:59:00Z");
    let (pool, folder) = (PoolDouble::new(before, 1), tempfile::tempdir().unwrap());
    let machine = open(&pool, limits, folder.path(), before);
    for _ in 0..2 {
        charge(&machine, Bucket::Default, 0, before).await.unwrap();
    }
    charge(&machine, Bucket::Default, 0, before).await.unwrap_err();
    for day in ["2026-11-15", "2026-11-16"] {
        assert_eq!(pool.used(day, Bucket::Default), 2, "{day}");
    }
    pool.set_clock(at("2026-11-17T07:59:00Z"));
    machine.exchange().await.unwrap();
    let Err(NoGrant::Spent(spent)) = charge(&machine, Bucket::Default, 0, before).await else {
        panic!("the units of this day are spent")
    };
    assert_eq!(spent.bucket, Bucket::Default);
}

/// The clock of a machine says nothing: the database decides which day it is.
#[tokio::test]
async fn a_machine_with_a_wrong_clock_charges_the_right_day() {
    let (right, wrong) = (at("2026-11-15T20:00:00Z"), at("2031-01-01T00:00:00Z"));
    let (pool, folder) = (PoolDouble::new(right, 1), tempfile::tempdir().unwrap());
    let machine = open(&pool, QuotaLimits::default(), folder.path(), wrong);
    let charge = charge(&machine, Bucket::Default, 0, wrong).await.unwrap();
    assert_eq!((&*charge.date, pool.used("2026-11-15", Bucket::Default)), ("2026-11-15", 20));
}
