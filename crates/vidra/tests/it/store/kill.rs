//! F15: a process that is killed while it writes leaves every record whole or absent.

use std::io::{BufRead as _, BufReader};

use vidra::store::{Fs, Record, Store};

use super::fs::{files, folder};
use super::{another_process, passed_value, record};

const KEYS: u32 = 20;

/// A body that is derived from its first four bytes, so that a reader can check it.
fn body(seed: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    let length = random.usize(..200_000);
    let mut body = seed.to_le_bytes().to_vec();
    body.resize_with(4 + length, || random.u8(..));
    body
}

#[tokio::test]
async fn a_killed_writer_leaves_every_record_whole_or_absent() {
    if let Some(folder) = passed_value() {
        return write_forever(&folder).await;
    }
    let folder = folder();
    let mut random = fastrand::Rng::with_seed(15);
    let mut found = 0;
    for round in 0..20 {
        let test = "store::kill::a_killed_writer_leaves_every_record_whole_or_absent";
        let mut writer = another_process(test, folder.path().to_str().unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let writes = random.usize(1..150);
        let seen =
            lines.by_ref().flatten().filter(|line| line.contains("put")).take(writes).count();
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert_eq!(seen, writes, "the writer writes until it is killed");

        let store = Fs::open(folder.path(), 256 << 20).unwrap();
        for key in 0..KEYS {
            let stored = store.get(&format!("{key}")).await;
            let Some(record) = stored.expect("a record is never damaged") else { continue };
            let seed = u32::from_le_bytes(record.body[..4].try_into().unwrap());
            assert!(record.body == body(seed), "round {round}, key {key}, seed {seed}");
            found += 1;
        }
        // The only other files are those that the killed processes were writing.
        let unfinished = files(folder.path()).len() - store.usage().await.unwrap().entries as usize;
        assert!(unfinished <= 16 * (round + 1), "{unfinished} left after {round}");
    }
    assert!(found > 20, "there was something to check: {found}");
}

/// The process that is killed.
async fn write_forever(folder: &str) {
    let store = Fs::open(folder, 256 << 20).unwrap();
    loop {
        // Several at once, also of one key.
        let puts = (0..6).map(|_| {
            let record = Record { body: body(fastrand::u32(..)).into(), ..record("") };
            let store = &store;
            async move { store.put(&format!("{}", fastrand::u32(..KEYS)), &record).await }
        });
        for outcome in futures_util::future::join_all(puts).await {
            outcome.unwrap();
            println!("put");
        }
    }
}
