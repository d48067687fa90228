//! Damaged files: a miss, never a panic, never a wrong body.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use vidra::store::{Fs, Guarded, Record, Store, StoreError};

use super::fs::{files, folder};
use super::record;

/// A store with one record, and its file.
async fn one_file() -> (TempDir, Arc<Fs>, PathBuf) {
    let folder = folder();
    let store = Arc::new(Fs::open(folder.path(), 64 << 20).unwrap());
    store.put("key", &record(r#"{"title":"a video"}"#)).await.unwrap();
    let file = files(folder.path()).pop().expect("one file");
    (folder, store, file)
}

#[tokio::test]
async fn flipped_bits_are_detected() {
    let (_folder, store, file) = one_file().await;
    let whole = fs::read(&file).unwrap();
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, damaged).unwrap();
        assert_eq!(store.get("key").await, Err(StoreError::Corrupt), "bit {bit}");
    }
}

#[tokio::test]
async fn truncated_zeroed_and_longer_files_are_detected() {
    let (_folder, store, file) = one_file().await;
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(store.get("key").await, Err(StoreError::Corrupt), "{length} bytes");
        // As after a power cut: the length is right, the content is missing.
        fs::write(&file, [&whole[..length], &vec![0; whole.len() - length]].concat()).unwrap();
        assert_eq!(store.get("key").await, Err(StoreError::Corrupt), "zeros from {length}");
    }
    fs::write(&file, [&whole[..], b"x"].concat()).unwrap();
    assert_eq!(store.get("key").await, Err(StoreError::Corrupt));
}

/// A power cut while a newer record replaces an older one. Nothing is synced, so the file may be the older one, or
/// a part of the newer one, followed by what was there before or by zeros.
#[tokio::test]
async fn a_power_cut_leaves_one_of_both_records_or_none() {
    let older = record(r#"{"title":"older"}"#);
    for newer in [r#"{"title":"newer"}"#, "{}", r#"{"title":"newer and longer"}"#].map(record) {
        let (_folder, store, file) = one_file().await;
        let [before, after] = [&older, &newer].map(|record| record.encode("key").to_vec());
        let mut found = [0, 0];
        for length in 0..=after.len() {
            let rest = before.get(length..).unwrap_or_default();
            let zeros = vec![0; after.len() - length];
            let cut = &after[..length];
            for torn in [cut.to_vec(), [cut, rest].concat(), [cut, &zeros].concat()] {
                fs::write(&file, &torn).unwrap();
                match store.get("key").await {
                    Ok(Some(record)) if record == older => found[0] += 1,
                    Ok(Some(record)) if record == newer => found[1] += 1,
                    Err(StoreError::Corrupt) => {
                        assert!(torn != before && torn != after, "{length} bytes");
                    }
                    other => panic!("{length} bytes of {}: {other:?}", after.len()),
                }
            }
        }
        assert!(found[0] >= 1 && found[1] >= 2, "{found:?}");
    }
}

/// A temporary file that a power cut leaves behind is no record, whatever its length.
#[tokio::test]
async fn a_temporary_file_is_no_record() {
    let (folder, store, file) = one_file().await;
    let stored = store.get("key").await.unwrap().expect("a record");
    let newer = record("newer").encode("key");
    let unfinished = file.with_file_name("new-0123456789abcdef");
    for length in 0..=newer.len() {
        fs::write(&unfinished, &newer[..length]).unwrap();
        let reopened = Fs::open(folder.path(), 64 << 20).unwrap();
        assert_eq!(reopened.get("key").await, Ok(Some(stored.clone())), "{length} bytes");
    }
}

#[tokio::test]
async fn other_versions_and_records_of_other_keys_are_misses() {
    let (_folder, store, file) = one_file().await;
    let whole = fs::read(&file).unwrap();
    for version in [0, 1, 3, 255] {
        let mut other = whole.clone();
        other[4] = version;
        let content = other.len() - 4;
        let checksum = crc32fast::hash(&other[..content]).to_le_bytes();
        other[content..].copy_from_slice(&checksum);
        fs::write(&file, other).unwrap();
        assert_eq!(store.get("key").await, Ok(None), "version {version}");
    }
    fs::write(&file, record("another video").encode("other")).unwrap();
    assert_eq!(store.get("key").await, Ok(None), "a record of another key is a miss");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_file_is_removed_and_costs_one_fetch() {
    let (_folder, store, file) = one_file().await;
    fs::write(&file, "damaged").unwrap();
    let guarded = Guarded::new(store);
    assert_eq!(guarded.get_many(&["key".to_owned()]).await, [None]);
    assert_eq!(guarded.get("key").await, None);
    assert!(!file.exists());
    assert_eq!(guarded.failures().corrupt, 1);
    guarded.put("key", &record("anew")).await;
    assert_eq!(guarded.get("key").await, Some(record("anew")));
}

#[tokio::test]
async fn ten_thousand_random_files_are_misses() {
    let (folder, store, _file) = one_file().await;
    let mut random = fastrand::Rng::with_seed(11);
    let valid = record("mutated").encode("key 0").to_vec();
    let keys: Vec<String> = (0..10_000).map(|index| format!("key {index}")).collect();
    for key in &keys {
        store.put(key, &record("")).await.unwrap();
    }
    for file in files(folder.path()) {
        let mut content = vec![];
        match random.u8(..3) {
            // Random bytes, random bytes after a valid header, and a mutated record.
            0 => content.resize_with(random.usize(..200), || random.u8(..)),
            1 => {
                content.extend(b"vdra\x01\0\0\0");
                content.resize_with(random.usize(8..100), || random.u8(..));
            }
            _ => {
                content.clone_from(&valid);
                for _ in 0..random.usize(1..9) {
                    let at = random.usize(..content.len());
                    content[at] = random.u8(..);
                }
            }
        }
        fs::write(file, content).unwrap();
    }
    for key in &keys {
        let found: Result<Option<Record>, _> = store.get(key).await;
        assert!(matches!(found, Ok(None) | Err(StoreError::Corrupt)), "{key}: {found:?}");
    }
    let found = store.get_many(&keys).await.unwrap();
    assert!(found.iter().all(Option::is_none));
    store.clear().await.unwrap();
    assert!(files(folder.path()).is_empty());
}
