use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use tempfile::TempDir;
use vidra::store::{Failures, Fs, Guarded, Memory, Record, Store, Tiers, conformance};

use super::{NOW, record};

const MIB: u64 = 1024 * 1024;

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// All files below `folder`.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn record_of_size(length: usize) -> Record {
    Record { body: vec![b'x'; length].into(), ..record("") }
}

#[tokio::test]
async fn files_conform() {
    let folder = folder();
    conformance::check(&Fs::open(folder.path(), 64 * MIB).unwrap()).await;
}

#[tokio::test]
async fn files_outlive_the_process_and_only_its_user_can_read_them() {
    let parent = folder();
    let folder = parent.path().join("deep/down/cache");
    Fs::open(&folder, MIB).unwrap().put("key", &record("here")).await.unwrap();
    let again = Fs::open(&folder, MIB).unwrap();
    assert_eq!(again.get("key").await, Ok(Some(record("here"))));
    assert_eq!(again.usage().await.unwrap().entries, 1);
    assert_eq!(again.folder(), folder);
    let [file] = &files(&folder)[..] else { panic!("one file") };
    assert_eq!([file, file.parent().unwrap(), &folder].map(mode), [0o600, 0o700, 0o700]);
}

#[tokio::test]
async fn two_processes_share_a_folder() {
    let folder = folder();
    let one = Fs::open(folder.path(), MIB).unwrap();
    let two = Fs::open(folder.path(), MIB).unwrap();
    one.put("key", &record("1")).await.unwrap();
    assert_eq!(two.get("key").await, Ok(Some(record("1"))));
    two.put("key", &record("2")).await.unwrap();
    assert_eq!(one.get("key").await, Ok(Some(record("2"))));
    two.remove("key").await.unwrap();
    assert_eq!(one.get("key").await, Ok(None));
    one.put("key", &record("3")).await.unwrap();
    two.clear().await.unwrap();
    assert_eq!(one.get("key").await, Ok(None));
    for store in [&one, &two] {
        store.tend().await.unwrap();
        assert_eq!(store.usage().await.unwrap().entries, 0);
    }
}

/// Both write past the limit; a new count corrects each to the real size.
#[tokio::test]
async fn two_processes_share_one_limit() {
    let folder = folder();
    let stores =
        [Fs::open(folder.path(), 4 * MIB).unwrap(), Fs::open(folder.path(), 4 * MIB).unwrap()];
    for index in 0..600 {
        stores[index % 2].put(&format!("{index}"), &record_of_size(20_000)).await.unwrap();
    }
    for store in &stores {
        store.tend().await.unwrap();
    }
    let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
    assert!(bytes <= 4 * MIB && bytes > 2 * MIB, "{bytes}");
}

/// The size of a file on a disk with blocks of 4 KB.
fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |about| about.len().div_ceil(4096) * 4096)
}

#[tokio::test]
async fn the_limit_holds_during_writes() {
    let folder = folder();
    let limit = 8 * MIB;
    let store = Fs::open(folder.path(), limit).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    for index in 0..1500 {
        store.put(&format!("{index}"), &record_of_size(random.usize(..60_000))).await.unwrap();
        if index % 50 == 0 {
            let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
            // When the limit is reached, one more write may be queued and one in progress.
            assert!(bytes <= limit * 105 / 100 + 2 * 64 * 1024, "{bytes} after {index}");
        }
    }
    store.tend().await.unwrap();
    let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
    assert!(bytes <= limit && bytes > limit / 2, "{bytes}");
    assert_eq!(store.usage().await.unwrap().bytes, bytes);

    // A record that is too large is not stored, and the one that it replaces is removed.
    store.put("large", &record_of_size(10)).await.unwrap();
    store.put("large", &record_of_size(900_000)).await.unwrap();
    assert_eq!(store.get("large").await, Ok(None));
}

#[tokio::test]
async fn the_limit_may_be_the_largest_number() {
    let folder = folder();
    let store = Fs::open(folder.path(), u64::MAX).unwrap();
    store.put("key", &record("here")).await.unwrap();
    store.tend().await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("here"))));
}

#[tokio::test]
async fn the_least_recently_used_files_are_evicted_first() {
    let folder = folder();
    let roomy = Fs::open(folder.path(), 1000 * MIB).unwrap();
    let mut known = vec![];
    for index in 0..100_u64 {
        roomy.put(&format!("{index}"), &record_of_size(10_000)).await.unwrap();
        let new = files(folder.path()).into_iter().find(|file| !known.contains(file)).unwrap();
        // The first ten have a time in the future, from a wrong clock.
        let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
        let age = Duration::from_secs(100_000 - index * 100);
        let used = if index < 10 { now + day } else { now - age };
        File::options().write(true).open(&new).unwrap().set_modified(used).unwrap();
        known.push(new);
    }
    assert!(roomy.get("15").await.unwrap().is_some(), "it is used now");

    // A hundred files of 12 KB, and room for half of them.
    let tight = Fs::open(folder.path(), 50 * 12_288).unwrap();
    tight.tend().await.unwrap();
    let mut left = vec![];
    for index in 0..100 {
        if tight.get(&format!("{index}")).await.unwrap().is_some() {
            left.push(index);
        }
    }
    assert_eq!(left, [vec![15], (56..100).collect()].concat());
}

/// They are removed an hour after they expire, because clocks differ.
#[tokio::test]
async fn expired_files_are_removed_and_not_marked_as_used() {
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    let now = SystemTime::now();
    let unix = now.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let minute = 60_000;
    let mut known: Vec<PathBuf> = vec![];
    for (key, keep_until, is_old) in [
        ("over", unix - 61 * minute, true),
        ("hardly over", unix - 59 * minute, true),
        ("of use", unix + minute, true),
        ("written lately", unix - 61 * minute, false),
    ] {
        store.put(key, &Record { stored_at: 0, keep_until, ..record(key) }).await.unwrap();
        let new = files(folder.path()).into_iter().find(|file| !known.contains(file)).unwrap();
        if is_old {
            let used = now - Duration::from_secs(86_400);
            File::options().write(true).open(&new).unwrap().set_modified(used).unwrap();
        }
        known.push(new);
    }
    let used = |file: &PathBuf| fs::metadata(file).unwrap().modified().unwrap();
    let before = known.iter().map(used).collect::<Vec<_>>();
    for (at, key) in ["over", "hardly over", "of use"].into_iter().enumerate() {
        assert!(store.get(key).await.unwrap().is_some(), "the caller judges by its own clock");
        assert_eq!(used(&known[at]) == before[at], key != "of use", "{key}");
    }
    store.tend().await.unwrap();
    let left: Vec<bool> = known.iter().map(|file| file.exists()).collect();
    assert_eq!(left, [false, true, true, true]);
    assert_eq!(store.usage().await.unwrap().entries, 3);
}

/// Dropping a put does not stop the thread that writes. It ends after later calls and must not undo
/// them.
#[test]
fn a_dropped_put_does_not_undo_later_calls() {
    let folder = folder();
    let store = Fs::open(folder.path(), 100 * MIB).unwrap();
    for (round, after) in ["put", "remove", "clear"].into_iter().cycle().take(30).enumerate() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let expected = runtime.block_on(async {
            let slow = record_of_size(9_000_000);
            let mut dropped = store.put("key", &slow);
            assert!((&mut dropped).now_or_never().is_none());
            drop(dropped);
            match after {
                "put" => store.put("key", &record("later")).await.unwrap(),
                "remove" => store.remove("key").await.unwrap(),
                _ => store.clear().await.unwrap(),
            }
            (after == "put").then(|| record("later"))
        });
        // Dropping the runtime waits for the thread.
        drop(runtime);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let stored = runtime.block_on(store.get("key")).unwrap();
        assert!(stored == expected, "round {round}: the later {after} is undone");
    }
}

#[tokio::test]
async fn open_existing_does_not_create_the_folder() {
    let parent = folder();
    let folder = parent.path().join("cache");
    assert!(Fs::open_existing(&folder).is_err());
    assert!(!folder.exists());
    fs::write(&folder, "").unwrap();
    assert!(Fs::open_existing(&folder).is_err());
    fs::remove_file(&folder).unwrap();

    Fs::open(&folder, MIB).unwrap().put("key", &record("here")).await.unwrap();
    let existing = Fs::open_existing(&folder).unwrap();
    assert_eq!(existing.usage().await.unwrap().entries, 1);
    assert_eq!(existing.get("key").await, Ok(Some(record("here"))));
    existing.clear().await.unwrap();
    assert_eq!(existing.usage().await.unwrap().entries, 0);
}

#[tokio::test]
async fn old_temporary_files_are_removed() {
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let (fresh, old) =
        (file.with_file_name("new-0123456789abcdef"), file.with_file_name("new-fedcba9876543210"));
    for path in [&fresh, &old] {
        fs::write(path, "half").unwrap();
    }
    let hour = Duration::from_secs(3600);
    File::options().write(true).open(&old).unwrap().set_modified(SystemTime::now() - hour).unwrap();
    store.tend().await.unwrap();
    assert_eq!((fresh.exists(), old.exists(), file.exists()), (true, false, true));
    assert_eq!(store.usage().await.unwrap().entries, 1);
}

#[tokio::test]
async fn foreign_files_in_the_folder_are_not_touched() {
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let subfolder = file.parent().unwrap();
    let foreign = [
        folder.path().join("notes.txt"),
        subfolder.join("notes.txt"),
        subfolder.join("new-notes"),
        subfolder.join("ABCDEF"),
        folder.path().join("other").join("file"),
    ];
    for path in &foreign {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![0; 200_000]).unwrap();
    }
    for index in 0..300 {
        store.put(&format!("{index}"), &record_of_size(9_000)).await.unwrap();
    }
    store.tend().await.unwrap();
    store.clear().await.unwrap();
    let mut left = files(folder.path());
    left.retain(|path| !foreign.contains(path));
    assert_eq!(left, [""; 0].map(PathBuf::from));
    assert!(foreign.iter().all(|path| path.exists()));
}

#[tokio::test]
async fn planted_links_and_pipes_are_not_followed() {
    let outside = folder();
    let target = outside.path().join("target");
    fs::write(&target, record("planted").encode("key")).unwrap();
    let content = fs::read(&target).unwrap();
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };

    // A link instead of a file: its target is not read, written or removed.
    let plant = || {
        fs::remove_file(file).unwrap();
        symlink(&target, file).unwrap();
    };
    plant();
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("again")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("again"))));
    plant();
    store.remove("key").await.unwrap();
    symlink(&target, file).unwrap();
    store.clear().await.unwrap();
    store.tend().await.unwrap();
    assert_eq!(fs::read(&target).unwrap(), content);

    // Opening a pipe would block.
    fs::remove_file(file).unwrap();
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("here")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("here"))));

    // A link instead of a folder.
    let subfolder = file.parent().unwrap();
    let same = outside.path().join(file.file_name().unwrap());
    fs::rename(&target, &same).unwrap();
    fs::remove_dir_all(subfolder).unwrap();
    symlink(outside.path(), subfolder).unwrap();
    assert_eq!(store.put("key", &record("here")).await, Ok(()));
    assert_eq!(store.get("key").await, Ok(None));
    assert_eq!(store.remove("key").await, Ok(()));
    assert_eq!(store.clear().await, Ok(()));
    assert_eq!(store.tend().await, Ok(()));
    assert_eq!(files(outside.path()), std::slice::from_ref(&same));
    assert_eq!(fs::read(same).unwrap(), content);
}

/// The keys of that folder are misses; the store works for all others.
#[tokio::test(start_paused = true)]
async fn a_file_or_link_instead_of_a_folder_affects_only_its_keys() {
    let outside = folder();
    type Plant<'a> = &'a dyn Fn(&Path);
    let plants: [Plant<'_>; 3] = [
        &|subfolder| fs::write(subfolder, "not a folder").unwrap(),
        &|subfolder| symlink(outside.path(), subfolder).unwrap(),
        &|subfolder| symlink(subfolder, subfolder).unwrap(),
    ];
    for plant in plants {
        let folder = folder();
        let store = Arc::new(Fs::open(folder.path(), 64 * MIB).unwrap());
        store.put("key", &record("here")).await.unwrap();
        let [file] = &files(folder.path())[..] else { panic!("one file") };
        let subfolder = file.parent().unwrap();
        fs::remove_dir_all(subfolder).unwrap();
        plant(subfolder);
        let planted = fs::symlink_metadata(subfolder).unwrap().file_type();

        let guarded = Guarded::new(Arc::clone(&store) as Arc<dyn Store>);
        for _ in 0..3 {
            guarded.put("key", &record("here")).await;
            assert_eq!(guarded.get("key").await, None);
            assert_eq!(guarded.remove("key").await, Ok(()));
            guarded.put("other", &record("other")).await;
            assert_eq!(guarded.get("other").await, Some(record("other")));
        }
        assert_eq!(guarded.failures(), Failures::default());
        store.tend().await.unwrap();
        assert_eq!(store.usage().await.unwrap().entries, 1);
        store.clear().await.unwrap();
        assert_eq!(
            fs::symlink_metadata(subfolder).unwrap().file_type(),
            planted,
            "it is not touched"
        );
        assert!(files(outside.path()).is_empty());
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_created_is_an_error_at_once() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Fs::open(&file, MIB).is_err());
    assert!(Fs::open(file.join("below"), MIB).is_err());
    assert!(Fs::open("/proc/no/such/place", MIB).is_err());
}

#[tokio::test]
async fn a_deleted_folder_is_a_miss_and_is_created_again() {
    let parent = folder();
    let folder = parent.path().join("cache");
    let store = Fs::open(&folder, MIB).unwrap();
    store.put("key", &record("1")).await.unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("2")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("2"))));
}

/// Memory works while the folder fails, and the folder is used again when it works.
async fn works_without_its_folder(folder: &Path, break_it: impl FnOnce(), mend_it: impl FnOnce()) {
    let store: Arc<dyn Store> = Arc::new(Fs::open(folder, 512 * MIB).unwrap());
    let tiers = Tiers::new(Memory::new(MIB), Some(Arc::clone(&store)));
    break_it();
    for index in 0..50 {
        tiers.put(&format!("{index}"), record_of_size(10_000));
        assert!(tiers.get(&format!("{index}"), NOW).await.is_some());
        assert_eq!(tiers.get("absent", NOW).await, None);
    }
    tiers.settled().await;
    assert!(tiers.failures().is_some_and(|failures| failures.writes > 0), "{tiers:?}");
    mend_it();
    tokio::time::advance(Duration::from_secs(31)).await;
    tiers.put("key", record("again"));
    tiers.settled().await;
    assert_eq!(store.get("key").await, Ok(Some(record("again"))));
}

#[tokio::test(start_paused = true)]
async fn memory_works_while_the_folder_is_a_file() {
    let parent = folder();
    let (path, aside) = (parent.path().join("cache"), parent.path().join("aside"));
    let break_it = || {
        fs::rename(&path, &aside).unwrap();
        fs::write(&path, "").unwrap();
    };
    let mend_it = || {
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    };
    works_without_its_folder(&path, break_it, mend_it).await;
}

/// A separate disk of 256 KB; `None` if this user may not mount one.
struct Disk(TempDir);

impl Disk {
    fn mount() -> Option<Self> {
        let disk = Self(folder());
        let is_mounted = disk.run("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
        if !is_mounted {
            let is_required = std::env::var_os("VIDRA_REQUIRE_PEERS").is_some();
            assert!(!is_required, "F22 mounts a disk: run it as root");
            // Not with a macro, whose output is shown only if the test fails.
            let _ = std::io::stderr().write_all(b"SKIPPED: F22 mounts a disk, which needs root\n");
        }
        is_mounted.then_some(disk)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let output = Command::new(program).args(arguments).arg(self.0.path()).output();
        output.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}

#[tokio::test(start_paused = true)]
async fn memory_works_while_the_disk_is_full() {
    let Some(disk) = Disk::mount() else { return };
    let path = disk.0.path().join("cache");
    let ballast = disk.0.path().join("ballast");
    let break_it = || {
        let _ = fs::write(&ballast, vec![0; 300_000]);
    };
    works_without_its_folder(&path, break_it, || fs::remove_file(&ballast).unwrap()).await;
    let unfinished =
        |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with("new-");
    assert!(!files(&path).iter().any(unfinished), "temporary files are removed");
}

#[tokio::test(start_paused = true)]
async fn memory_works_while_the_disk_is_read_only() {
    let Some(disk) = Disk::mount() else { return };
    let path = disk.0.path().join("cache");
    let store = Fs::open(&path, MIB).unwrap();
    store.put("before", &record("here")).await.unwrap();
    let break_it = || assert!(disk.run("mount", &["-o", "remount,ro"]));
    let mend_it = || assert!(disk.run("mount", &["-o", "remount,rw"]));
    break_it();
    assert_eq!(store.get("before").await, Ok(Some(record("here"))), "it can still be read");
    mend_it();
    works_without_its_folder(&path, break_it, mend_it).await;
}
