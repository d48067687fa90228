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

fn made_of(length: usize) -> Record {
    Record { body: vec![b'x'; length].into(), ..record("") }
}

#[tokio::test]
async fn files_conform() {
    let folder = folder();
    conformance::check(&Fs::open(folder.path(), 64 * MIB).unwrap()).await;
}

#[tokio::test]
async fn files_outlive_the_process_and_are_for_its_user_alone() {
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

/// Both write past the limit at once; counting again brings each back to what is really there.
#[tokio::test]
async fn two_processes_keep_one_limit() {
    let folder = folder();
    let stores =
        [Fs::open(folder.path(), 4 * MIB).unwrap(), Fs::open(folder.path(), 4 * MIB).unwrap()];
    for index in 0..600 {
        stores[index % 2].put(&format!("{index}"), &made_of(20_000)).await.unwrap();
    }
    for store in &stores {
        store.tend().await.unwrap();
    }
    let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
    assert!(bytes <= 4 * MIB && bytes > 2 * MIB, "{bytes}");
}

/// What a file takes up on a disk of 4 KB blocks.
fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |about| about.len().div_ceil(4096) * 4096)
}

#[tokio::test]
async fn the_limit_holds_while_it_is_written_to() {
    let folder = folder();
    let limit = 8 * MIB;
    let store = Fs::open(folder.path(), limit).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    for index in 0..1500 {
        store.put(&format!("{index}"), &made_of(random.usize(..60_000))).await.unwrap();
        if index % 50 == 0 {
            let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
            // One more may be on its way when the limit is reached, and one that is being written.
            assert!(bytes <= limit * 105 / 100 + 2 * 64 * 1024, "{bytes} after {index}");
        }
    }
    store.tend().await.unwrap();
    let bytes: u64 = files(folder.path()).iter().map(|file| size(file)).sum();
    assert!(bytes <= limit && bytes > limit / 2, "{bytes}");
    assert_eq!(store.usage().await.unwrap().bytes, bytes);

    // What is too large is not kept, nor what it replaces.
    store.put("large", &made_of(10)).await.unwrap();
    store.put("large", &made_of(900_000)).await.unwrap();
    assert_eq!(store.get("large").await, Ok(None));
}

#[tokio::test]
async fn a_limit_may_be_no_limit() {
    let folder = folder();
    let store = Fs::open(folder.path(), u64::MAX).unwrap();
    store.put("key", &record("here")).await.unwrap();
    store.tend().await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("here"))));
}

#[tokio::test]
async fn what_was_not_used_for_longest_goes_first() {
    let folder = folder();
    let roomy = Fs::open(folder.path(), 1000 * MIB).unwrap();
    let mut known = vec![];
    for index in 0..100_u64 {
        roomy.put(&format!("{index}"), &made_of(10_000)).await.unwrap();
        let new = files(folder.path()).into_iter().find(|file| !known.contains(file)).unwrap();
        // The first ten claim to be of tomorrow, by a clock that was wrong.
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

/// An hour later, because clocks differ.
#[tokio::test]
async fn what_is_past_its_time_goes_and_is_not_marked_as_used() {
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
        assert!(store.get(key).await.unwrap().is_some(), "who asks judges by a clock of their own");
        assert_eq!(used(&known[at]) == before[at], key != "of use", "{key}");
    }
    store.tend().await.unwrap();
    let left: Vec<bool> = known.iter().map(|file| file.exists()).collect();
    assert_eq!(left, [false, true, true, true]);
    assert_eq!(store.usage().await.unwrap().entries, 3);
}

/// A caller who left does not stop the thread that writes. It takes longer than what comes after, and
/// must not undo it.
#[test]
fn a_put_that_was_given_up_does_not_undo_what_came_after_it() {
    let folder = folder();
    let store = Fs::open(folder.path(), 100 * MIB).unwrap();
    for (round, after) in ["put", "remove", "clear"].into_iter().cycle().take(30).enumerate() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let found = runtime.block_on(async {
            let slow = made_of(9_000_000);
            let mut given_up = store.put("key", &slow);
            assert!((&mut given_up).now_or_never().is_none());
            drop(given_up);
            match after {
                "put" => store.put("key", &record("later")).await.unwrap(),
                "remove" => store.remove("key").await.unwrap(),
                _ => store.clear().await.unwrap(),
            }
            (after == "put").then(|| record("later"))
        });
        // That waits for the thread.
        drop(runtime);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let kept = runtime.block_on(store.get("key")).unwrap();
        assert!(kept == found, "round {round}: what came after, {after}, is undone");
    }
}

#[tokio::test]
async fn a_folder_is_looked_at_without_being_made() {
    let parent = folder();
    let folder = parent.path().join("cache");
    assert!(Fs::open_existing(&folder).is_err());
    assert!(!folder.exists());
    fs::write(&folder, "").unwrap();
    assert!(Fs::open_existing(&folder).is_err());
    fs::remove_file(&folder).unwrap();

    Fs::open(&folder, MIB).unwrap().put("key", &record("here")).await.unwrap();
    let looked_at = Fs::open_existing(&folder).unwrap();
    assert_eq!(looked_at.usage().await.unwrap().entries, 1);
    assert_eq!(looked_at.get("key").await, Ok(Some(record("here"))));
    looked_at.clear().await.unwrap();
    assert_eq!(looked_at.usage().await.unwrap().entries, 0);
}

#[tokio::test]
async fn what_a_killed_process_left_unfinished_goes_after_a_while() {
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
async fn what_others_put_into_the_folder_is_left_alone() {
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let place = file.parent().unwrap();
    let foreign = [
        folder.path().join("notes.txt"),
        place.join("notes.txt"),
        place.join("new-notes"),
        place.join("ABCDEF"),
        folder.path().join("other").join("file"),
    ];
    for path in &foreign {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![0; 200_000]).unwrap();
    }
    for index in 0..300 {
        store.put(&format!("{index}"), &made_of(9_000)).await.unwrap();
    }
    store.tend().await.unwrap();
    store.clear().await.unwrap();
    let mut left = files(folder.path());
    left.retain(|path| !foreign.contains(path));
    assert_eq!(left, [""; 0].map(PathBuf::from));
    assert!(foreign.iter().all(|path| path.exists()));
}

#[tokio::test]
async fn planted_links_and_pipes_lead_nowhere() {
    let outside = folder();
    let treasure = outside.path().join("treasure");
    fs::write(&treasure, record("planted").encode("key")).unwrap();
    let content = fs::read(&treasure).unwrap();
    let folder = folder();
    let store = Fs::open(folder.path(), MIB).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };

    // In the place of a file: what is behind it is not read, not written, not removed.
    let plant = || {
        fs::remove_file(file).unwrap();
        symlink(&treasure, file).unwrap();
    };
    plant();
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("again")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("again"))));
    plant();
    store.remove("key").await.unwrap();
    symlink(&treasure, file).unwrap();
    store.clear().await.unwrap();
    store.tend().await.unwrap();
    assert_eq!(fs::read(&treasure).unwrap(), content);

    // A pipe would be waited for.
    fs::remove_file(file).unwrap();
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("here")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("here"))));

    // In the place of a folder.
    let place = file.parent().unwrap();
    let same = outside.path().join(file.file_name().unwrap());
    fs::rename(&treasure, &same).unwrap();
    fs::remove_dir_all(place).unwrap();
    symlink(outside.path(), place).unwrap();
    assert_eq!(store.put("key", &record("here")).await, Ok(()));
    assert_eq!(store.get("key").await, Ok(None));
    assert_eq!(store.remove("key").await, Ok(()));
    assert_eq!(store.clear().await, Ok(()));
    assert_eq!(store.tend().await, Ok(()));
    assert_eq!(files(outside.path()), std::slice::from_ref(&same));
    assert_eq!(fs::read(same).unwrap(), content);
}

/// The keys of one folder go without; the store goes on for all the others.
#[tokio::test(start_paused = true)]
async fn a_file_or_a_link_in_the_place_of_a_folder_concerns_its_keys_alone() {
    let outside = folder();
    type Plant<'a> = &'a dyn Fn(&Path);
    let plants: [Plant<'_>; 3] = [
        &|place| fs::write(place, "not a folder").unwrap(),
        &|place| symlink(outside.path(), place).unwrap(),
        &|place| symlink(place, place).unwrap(),
    ];
    for plant in plants {
        let folder = folder();
        let store = Arc::new(Fs::open(folder.path(), 64 * MIB).unwrap());
        store.put("key", &record("here")).await.unwrap();
        let [file] = &files(folder.path())[..] else { panic!("one file") };
        let place = file.parent().unwrap();
        fs::remove_dir_all(place).unwrap();
        plant(place);
        let planted = fs::symlink_metadata(place).unwrap().file_type();

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
        assert_eq!(fs::symlink_metadata(place).unwrap().file_type(), planted, "it is not ours");
        assert!(files(outside.path()).is_empty());
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_at_once() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Fs::open(&file, MIB).is_err());
    assert!(Fs::open(file.join("below"), MIB).is_err());
    assert!(Fs::open("/proc/no/such/place", MIB).is_err());
}

#[tokio::test]
async fn a_folder_that_goes_is_a_miss_and_is_made_again() {
    let parent = folder();
    let folder = parent.path().join("cache");
    let store = Fs::open(&folder, MIB).unwrap();
    store.put("key", &record("1")).await.unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(store.get("key").await, Ok(None));
    store.put("key", &record("2")).await.unwrap();
    assert_eq!(store.get("key").await, Ok(Some(record("2"))));
}

/// Memory goes on whatever the folder does, and takes it up again when it works.
async fn goes_on_without_its_folder(
    folder: &Path,
    break_it: impl FnOnce(),
    mend_it: impl FnOnce(),
) {
    let store: Arc<dyn Store> = Arc::new(Fs::open(folder, 512 * MIB).unwrap());
    let tiers = Tiers::new(Memory::new(MIB), Some(Arc::clone(&store)));
    break_it();
    for index in 0..50 {
        tiers.put(&format!("{index}"), made_of(10_000));
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
async fn a_folder_that_becomes_a_file() {
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
    goes_on_without_its_folder(&path, break_it, mend_it).await;
}

/// A disk of its own of 256 KB; `None` where this user may not mount one.
struct Disk(TempDir);

impl Disk {
    fn mount() -> Option<Self> {
        let disk = Self(folder());
        let is_mounted = disk.run("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
        if !is_mounted {
            let is_required = std::env::var_os("VIDRA_REQUIRE_PEERS").is_some();
            assert!(!is_required, "F22 needs a disk of its own: run it as root, who may mount one");
            // Not with a macro, whose output is shown only where a test fails.
            let _ = std::io::stderr().write_all(b"SKIPPED: F22 needs root, who may mount a disk\n");
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
async fn a_full_disk() {
    let Some(disk) = Disk::mount() else { return };
    let path = disk.0.path().join("cache");
    let ballast = disk.0.path().join("ballast");
    let break_it = || {
        let _ = fs::write(&ballast, vec![0; 300_000]);
    };
    goes_on_without_its_folder(&path, break_it, || fs::remove_file(&ballast).unwrap()).await;
    let unfinished =
        |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with("new-");
    assert!(!files(&path).iter().any(unfinished), "what could not be finished is removed");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_read_only() {
    let Some(disk) = Disk::mount() else { return };
    let path = disk.0.path().join("cache");
    let store = Fs::open(&path, MIB).unwrap();
    store.put("before", &record("here")).await.unwrap();
    let break_it = || assert!(disk.run("mount", &["-o", "remount,ro"]));
    let mend_it = || assert!(disk.run("mount", &["-o", "remount,rw"]));
    break_it();
    assert_eq!(store.get("before").await, Ok(Some(record("here"))), "it can still be read");
    mend_it();
    goes_on_without_its_folder(&path, break_it, mend_it).await;
}
