//! Measures the cost of the quota ledger: `cargo bench -p vidra --bench ledger`.
//!
//! One caller, then sixteen concurrent callers, make uncached calls against the simulator in this process. The ledger
//! is in memory or in files; the difference is the cost of the files. The last row is a single sync of the same size,
//! for which calls do not wait. `TMPDIR` selects the disk.

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use vidra::{ApiKey, InProcess, PlaylistId, QuotaLimits, Vidra};
use vidra_sim::Simulator;

const CALLS: usize = 4_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!("| what | callers | median | p99 | calls/s |");
    println!("|---|---|---|---|---|");
    for callers in [1, 16] {
        let folder = tempfile::tempdir().expect("a folder");
        runtime.block_on(measure("ledger in memory", None, callers));
        runtime.block_on(measure("ledger in files", Some(folder.path()), callers));
    }
    sync();
}

async fn measure(what: &str, folder: Option<&Path>, callers: usize) {
    let builder = Vidra::builder()
        .key(ApiKey::new("demo-key"))
        .data_api_url("http://sim.invalid/youtube/v3")
        .web_url("http://sim.invalid")
        .transport(InProcess(Simulator::builder().limits(u64::MAX, u64::MAX).build()))
        .quota(QuotaLimits::default().with_default(u32::MAX))
        .cache_bytes(0);
    let builder = match folder {
        Some(folder) => builder.state_dir(folder),
        None => builder,
    };
    let vidra = builder.build().expect("a client");
    let begun = Instant::now();
    let each = CALLS / callers;
    let tasks: Vec<_> = (0..callers)
        .map(|caller| tokio::spawn(call(vidra.clone(), caller * each..(caller + 1) * each)))
        .collect();
    let mut times = vec![];
    for task in tasks {
        times.extend(task.await.expect("no panic"));
    }
    let all = begun.elapsed();
    let charged = vidra.quota().await.expect("a ledger").buckets[0].used;
    assert_eq!(charged as usize, times.len(), "each call is charged");
    report(what, &callers.to_string(), times, all);
}

/// Fetches a different playlist each time, because concurrent calls for the same one would share a fetch. Each call
/// costs one unit, also if the playlist does not exist.
async fn call(vidra: Vidra, playlists: Range<usize>) -> Vec<Duration> {
    let mut times = vec![];
    for number in playlists {
        let id = PlaylistId::parse(&format!("PLsize{}", number + 1)).expect("an id");
        let begun = Instant::now();
        let _ = vidra.playlist_info(&id).await;
        times.push(begun.elapsed());
    }
    times
}

fn sync() {
    let mut file = tempfile::tempfile().expect("a file");
    let write = |file: &mut File| {
        file.rewind().and_then(|()| file.write_all(&[b'x'; 512])).expect("a write");
        file.sync_data().expect("a sync");
    };
    write(&mut file);
    let begun = Instant::now();
    let times = (0..500).map(|_| {
        let begun = Instant::now();
        write(&mut file);
        begun.elapsed()
    });
    let times = times.collect();
    report("a sync alone", "", times, begun.elapsed());
}

fn report(what: &str, callers: &str, mut times: Vec<Duration>, all: Duration) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let rate = times.len() as f64 / all.as_secs_f64();
    println!("| {what} | {callers} | {:.0?} | {:.0?} | {rate:.0} |", at(0.5), at(0.99));
}
