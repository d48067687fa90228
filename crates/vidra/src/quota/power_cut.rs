//! S10: what a power cut leaves of the ledger, on a disk that drops and tears unsynced writes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;

use super::disk::{Disk, Held, Lock, Part};
use super::file::CountFile;
use super::sync::Copies;
use super::*;

const PARTS: [Part; 3] = [Part::Working, Part::First, Part::Second];

/// A disk in memory. Processes share it by its `Arc`.
#[derive(Debug, Default)]
struct DiskDouble(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    /// All versions of a file since its last sync. The first one is on the disk, and a process reads
    /// the last one.
    files: HashMap<usize, Vec<Option<Vec<u8>>>>,
    /// The next sync fails, as for a process that is killed before it.
    fails_next_sync: bool,
    /// A file whose sync failed for good: Linux forgets what it could not write, and later syncs
    /// succeed.
    forgotten: Option<Part>,
    syncs: usize,
}

impl DiskDouble {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap()
    }

    fn versions(content: &mut Content, part: Part) -> &mut Vec<Option<Vec<u8>>> {
        content.files.entry(part as usize).or_insert_with(|| vec![None])
    }

    /// Each piece of an unsynced file is of any version since its last sync, or zero.
    fn cut_power(&self, rng: &mut Rng) {
        let mut content = self.content();
        for part in PARTS {
            let versions = Self::versions(&mut content, part);
            let on_disk = match versions.len() {
                1 => versions[0].clone(),
                _ => torn(versions, rng),
            };
            *versions = vec![on_disk];
        }
    }
}

fn torn(versions: &[Option<Vec<u8>>], rng: &mut Rng) -> Option<Vec<u8>> {
    let any = |rng: &mut Rng| &versions[rng.usize(..versions.len())];
    // The length is that of one version; the folder may not have the file at all.
    let mut bytes = vec![0; any(rng).as_ref()?.len()];
    let pieces = [16, 512, 4096][rng.usize(..3)];
    for (number, piece) in bytes.chunks_mut(pieces).enumerate() {
        if let Some(version) = any(rng)
            && let Some(from) = version.get(number * pieces..number * pieces + piece.len())
        {
            piece.copy_from_slice(from);
        }
    }
    Some(bytes)
}

impl Disk for DiskDouble {
    fn read(&self, part: Part) -> io::Result<Option<Vec<u8>>> {
        Ok(Self::versions(&mut self.content(), part).last().cloned().flatten())
    }

    fn write(&self, part: Part, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.content();
        content.forgotten = content.forgotten.filter(|forgotten| *forgotten != part);
        Self::versions(&mut content, part).push(Some(bytes.to_vec()));
        Ok(())
    }

    fn sync(&self, part: Part) -> io::Result<()> {
        let mut content = self.content();
        content.syncs += 1;
        if std::mem::take(&mut content.fails_next_sync) {
            return Err(io::Error::other("the sync failed"));
        }
        if content.forgotten != Some(part) {
            let versions = Self::versions(&mut content, part);
            versions.drain(..versions.len() - 1);
        }
        Ok(())
    }

    /// The processes of these tests run in turn, so nobody waits.
    fn lock(&self, _: Lock, _: Duration) -> io::Result<Held> {
        Ok(Box::new(()))
    }
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn open(disk: &Arc<DiskDouble>) -> Ledger {
    let disk: Arc<dyn Disk> = Arc::clone(disk) as _;
    let file = CountFile::on_disk(disk, "quota ledger");
    Ledger::open(QuotaLimits::default(), file, now())
}

fn copies(disk: &Arc<DiskDouble>) -> Copies {
    Copies::new(Arc::clone(disk) as _)
}

fn used(ledger: &Ledger) -> u32 {
    ledger.quota(now()).buckets[0].used
}

/// Two processes charge and sync. Some are killed between the write and the sync of a copy, and some
/// syncs fail. Then the power is cut, many times in the life of one disk.
#[test]
fn review_s10_a_power_cut_loses_only_charges_since_the_last_sync() {
    let (mut cuts, mut losses) = (0, 0);
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let disk = Arc::new(DiskDouble::default());
        let (mut charged, mut synced, mut was_lost) = (0, 0, false);
        for _ in 0..rng.u32(1..6) {
            let ledgers = [open(&disk), open(&disk)];
            let mut syncers = [copies(&disk), copies(&disk)];
            for _ in 0..rng.u32(0..40) {
                let process = rng.usize(..2);
                match rng.u32(..10) {
                    0..6 => {
                        ledgers[process].charge(Bucket::Default, 0, now()).unwrap();
                        charged += 1;
                    }
                    6..8 => {
                        syncers[process].sync().unwrap();
                        synced = charged;
                    }
                    8 => {
                        disk.content().fails_next_sync = true;
                        let _ = syncers[process].sync();
                        disk.content().fails_next_sync = false;
                    }
                    // A new process in place of a killed one.
                    _ => {
                        disk.content().fails_next_sync = true;
                        let _ = syncers[process].sync();
                        disk.content().fails_next_sync = false;
                        syncers[process] = copies(&disk);
                    }
                }
            }
            disk.cut_power(&mut rng);
            let after = open(&disk);
            let left = used(&after);
            assert!((synced..=charged).contains(&left), "{seed}: {left} of {synced} to {charged}");
            // Before its first sync a ledger can be lost, and it says so for the rest of the day.
            was_lost |= synced == 0 && after.health(now()).is_incomplete;
            assert_eq!(after.health(now()).is_incomplete, was_lost, "{seed}");
            cuts += 1;
            losses += u32::from(left < charged);
            charged = left;
        }
    }
    assert!(cuts > 500 && losses > 50, "{cuts} cuts, {losses} with a loss");
}

#[test]
fn review_s10_a_group_of_charges_takes_one_sync_and_no_change_takes_none() {
    let disk = Arc::new(DiskDouble::default());
    let (ledger, other) = (open(&disk), open(&disk));
    let [mut syncer, mut other_syncer] = [copies(&disk), copies(&disk)];
    syncer.sync().unwrap();
    assert_eq!(disk.content().syncs, 0, "nothing was charged");
    for _ in 0..50 {
        ledger.charge(Bucket::Default, 0, now()).unwrap();
        other.charge(Bucket::Default, 0, now()).unwrap();
    }
    syncer.sync().unwrap();
    assert_eq!(disk.content().syncs, 1, "one for the charges of both processes");
    syncer.sync().unwrap();
    assert_eq!(disk.content().syncs, 1);
    // The other process makes sure of the copy that it did not sync, once.
    other_syncer.sync().unwrap();
    other_syncer.sync().unwrap();
    assert_eq!(disk.content().syncs, 2);
    for expected in [3, 4, 5] {
        ledger.charge(Bucket::Default, 0, now()).unwrap();
        syncer.sync().unwrap();
        assert_eq!(disk.content().syncs, expected);
    }
    disk.cut_power(&mut Rng::with_seed(1));
    assert_eq!(used(&open(&disk)), 103);
}

#[test]
fn review_s10_a_copy_whose_sync_failed_is_written_again() {
    for seed in 0..50 {
        let disk = Arc::new(DiskDouble::default());
        let (ledger, mut syncer) = (open(&disk), copies(&disk));
        for is_failing in [false, true, false] {
            ledger.charge(Bucket::Default, 0, now()).unwrap();
            if is_failing {
                disk.content().fails_next_sync = true;
                syncer.sync().unwrap_err();
                disk.content().forgotten = Some(Part::First);
                syncer.sync().unwrap();
                disk.cut_power(&mut Rng::with_seed(seed));
                assert_eq!(used(&open(&disk)), 2, "{seed}");
            } else {
                syncer.sync().unwrap();
            }
        }
    }
}

#[test]
fn review_s10_one_readable_copy_is_enough_and_none_is_reported() {
    let junk: Vec<u8> = b"{\"crc32\":1,\"sequence\":9,\"counts\":{\"days\":[]}}".to_vec();
    let prepare = || {
        let disk = Arc::new(DiskDouble::default());
        let (ledger, mut syncer) = (open(&disk), copies(&disk));
        for _ in 0..2 {
            ledger.charge(Bucket::Default, 0, now()).unwrap();
            syncer.sync().unwrap();
        }
        disk
    };
    // Which files are damaged, and the count afterwards: the older copy has one charge less.
    let table = [
        ([false, true, true], Some(2)),
        ([true, false, true], Some(1)),
        ([true, true, false], Some(2)),
        ([true, false, false], Some(2)),
        ([true, true, true], None),
    ];
    let sequence = |disk: &DiskDouble, part| {
        record::Record::decode(&disk.read(part).unwrap().unwrap()).unwrap().sequence
    };
    for (damaged, expected) in table {
        for damage in [junk.clone(), vec![], vec![0; 512]] {
            let disk = prepare();
            let [older, newer] = match sequence(&disk, Part::First) < sequence(&disk, Part::Second)
            {
                true => [Part::First, Part::Second],
                false => [Part::Second, Part::First],
            };
            for (part, _) in
                [Part::Working, older, newer].into_iter().zip(damaged).filter(|(_, it)| *it)
            {
                disk.write(part, &damage).unwrap();
            }
            let ledger = open(&disk);
            assert_eq!(used(&ledger), expected.unwrap_or(0), "{damaged:?}");
            assert_eq!(ledger.health(now()).is_incomplete, expected.is_none(), "{damaged:?}");
            // The next charge and sync repair it.
            ledger.charge(Bucket::Default, 0, now()).unwrap();
            copies(&disk).sync().unwrap();
            disk.cut_power(&mut Rng::with_seed(2));
            assert_eq!(used(&open(&disk)), expected.unwrap_or(0) + 1, "{damaged:?}");
        }
    }
}
