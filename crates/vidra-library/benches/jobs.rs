//! Measures jobs against the simulator in this process: `cargo bench -p vidra-library`.
//!
//! The library file is in the target folder, on the disk of the build. Every transaction is synced.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vidra::{ApiKey, InProcess, Pacing, VideoId, Vidra};
use vidra_library::{
    Access, Create, ItemFilter, Job, JobId, JobRequest, JobSource, Library, Limits, Worker,
    WorkerConfig,
};
use vidra_sim::Simulator;

/// Items of the long job.
const ITEMS: usize = 20_000;

/// Jobs in the large file, and items of each.
const JOBS: usize = 1_000;
const ITEMS_OF_EACH: usize = 1_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        one_item_alone().await;
        many_items().await;
        listing().await;
        large_file().await;
    });
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn open(folder: &tempfile::TempDir) -> Library {
    let limits = Limits::default().with_unfinished_jobs(None);
    Library::open(&folder.path().join("library.db"), limits).unwrap()
}

fn client(latency: Duration) -> Vidra {
    let platform = Simulator::builder().latency(latency).keep_requests(0).build();
    let builder = Vidra::builder().key(ApiKey::new("demo-key")).transport(InProcess(platform));
    builder.pacing(Pacing::Off).cache_bytes(0).build().unwrap()
}

async fn run(library: &Library, vidra: Vidra, concurrency: usize, new: Create) -> (Job, Duration) {
    let payer = vidra.clone();
    let payers = Arc::new(move |_: &str| Some(payer.clone()));
    let config = WorkerConfig::default().with_concurrency(concurrency).with_reserve_units(0);
    let worker = Worker::new(library.clone(), vidra, payers, config);
    let begun = Instant::now();
    let id = library.create(new).await.unwrap().job.id;
    worker.run_until_idle(&[id], std::future::pending()).await.unwrap();
    let (job, elapsed) = (library.job(id, &Access::All).await.unwrap(), begun.elapsed());
    assert_eq!(job.progress.total, Some(job.progress.succeeded), "{job:?}");
    (job, elapsed)
}

/// A job for the first videos of a playlist.
fn playlist(id: &str, limit: usize, concurrency: usize) -> Create {
    let options = serde_json::json!({"concurrency": concurrency, "limit": limit});
    let request = JobRequest::from_options(&options).unwrap();
    // A link, because a bare id of 11 characters would be a video id.
    let link = format!("https://www.youtube.com/playlist?list={id}");
    let sources = vec![JobSource::parse(&link).unwrap()];
    Create { owner: String::new(), request, sources, idempotency_key: None }
}

/// A job for videos that are never fetched.
fn videos(first: usize, count: usize) -> Create {
    let source = |n: usize| JobSource::Video(VideoId::parse(&format!("b{n:010}")).unwrap());
    let sources = (first..first + count).map(source).collect();
    Create { sources, ..playlist("PLsize50", count, 1) }
}

fn quantile(mut times: Vec<Duration>, share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// Measures the times between the ends of items that run one after the other.
async fn one_item_alone() {
    let (folder, items) = (folder(), 200);
    let library = open(&folder);
    let (job, _) = run(&library, client(Duration::ZERO), 1, playlist("PLsize200", items, 1)).await;
    let mut ends = ended_at(&library, job.id, items).await;
    ends.sort_unstable();
    let times = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    println!("one item alone, leased, fetched and ended: p50 {:?}", quantile(times, 0.5));
}

async fn ended_at(library: &Library, id: JobId, most: usize) -> Vec<Duration> {
    let items = library.items(id, &Access::All, ItemFilter::default(), None, most).await.unwrap();
    let at = |item: vidra_library::Item| {
        item.finished_at.map(|at| Duration::from_millis(at.as_millisecond() as u64))
    };
    items.0.into_iter().filter_map(at).collect()
}

async fn many_items() {
    let folder = folder();
    let library = open(&folder);
    let (job, elapsed) =
        run(&library, client(Duration::ZERO), 32, playlist("PLsize20000", ITEMS, 20)).await;
    let health = library.health();
    let (per_second, per_commit) =
        (ITEMS as f64 / elapsed.as_secs_f64(), health.writes as f64 / health.commits as f64);
    println!(
        "{ITEMS} items: {per_second:.0} a second, {} succeeded, {} commits with {per_commit:.1} writes each, {:.0} MB",
        job.progress.succeeded,
        health.commits,
        library.file_bytes().await as f64 / 1e6
    );
    let stats = library.stats().await.unwrap();
    let hours = stats.seconds as f64 / 3600.0;
    println!(
        "text: {:.1} KB an hour of video, {:.1} KB before compression",
        stats.stored_bytes as f64 / 1e3 / hours,
        stats.text_bytes as f64 / 1e3 / hours
    );
}

async fn listing() {
    let (folder, latency, pages) = (folder(), Duration::from_millis(50), 400);
    let library = open(&folder);
    let vidra = client(latency);
    let begun = Instant::now();
    let id = library.create(playlist("PLsize20000", ITEMS, 1)).await.unwrap().job.id;
    let payer = vidra.clone();
    let worker = Worker::new(
        library.clone(),
        vidra,
        Arc::new(move |_: &str| Some(payer.clone())),
        WorkerConfig::default().with_concurrency(0).with_reserve_units(0),
    );
    let listed = async {
        let mut seen = 0;
        loop {
            let job =
                library.changed_job(id, &Access::All, seen, Duration::from_secs(60)).await.unwrap();
            if job.progress.total.is_some() {
                assert_eq!(job.progress.total, Some(ITEMS as u64), "{job:?}");
                return;
            }
            seen = job.version;
        }
    };
    worker.run(listed).await.unwrap();
    let ratio = begun.elapsed().as_secs_f64() / (pages as f64 * latency.as_secs_f64());
    println!("listing 20,000 entries at 50 ms a page: {ratio:.2} x (pages x latency)");
}

async fn large_file() {
    let folder = folder();
    let library = open(&folder);
    let begun = Instant::now();
    let mut ids = vec![];
    for number in 0..JOBS {
        ids.push(
            library.create(videos(number * ITEMS_OF_EACH, ITEMS_OF_EACH)).await.unwrap().job.id,
        );
    }
    println!("{JOBS} jobs with {ITEMS_OF_EACH} items each created in {:?}", begun.elapsed());
    let (mut pages, mut items) = (vec![], vec![]);
    for id in ids.iter().step_by(5) {
        let begun = Instant::now();
        library.jobs(&Access::All, None, None, 50).await.unwrap();
        pages.push(begun.elapsed());
        let begun = Instant::now();
        library.items(*id, &Access::All, ItemFilter::default(), None, 50).await.unwrap();
        items.push(begun.elapsed());
    }
    println!(
        "pages of 50 in that file: jobs p95 {:?}, items p95 {:?}",
        quantile(pages, 0.95),
        quantile(items, 0.95)
    );
    for id in &ids {
        library.pause(*id, &Access::All).await.unwrap();
    }
    let (job, _) = run(&library, client(Duration::ZERO), 1, playlist("PLsize200", 200, 1)).await;
    let mut ends = ended_at(&library, job.id, 200).await;
    ends.sort_unstable();
    let times = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    println!("one item alone in that file: p50 {:?}", quantile(times, 0.5));
}
