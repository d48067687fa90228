//! Deterministic simulation of the request path: the real service and library under a simulated clock,
//! network, store and wall clock. One seed decides everything; invariants are checked in each world.
//!
//! `VIDRA_SEED=N` runs only that world and prints every event. `VIDRA_SEEDS=FROM..TO` runs those worlds instead of
//! the default ones, and `VIDRA_FIRST=1` stops at the first failure. `scripts/chaos` is the long form.
//! `docs/testing.md` lists the invariants.

mod caller;
mod check;
mod clock;
mod events;
mod facts;
mod operation;
mod plan;
mod planted;
mod platform;
mod shrink;
mod store;
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use events::Report;
use plan::Plan;

/// Seeds that every run includes.
const FIXED: Range<u64> = 0..500;
/// The number of further seeds, derived from the source of the service, so that every change meets new worlds.
const DERIVED: u64 = 100;
/// One seed in this many is run twice.
const TWICE_EVERY: u64 = 12;
/// A run ends after this many failing worlds.
const MAX_FAILURES: usize = 5;

#[test]
fn worlds_satisfy_the_invariants() {
    // Read before any world starts.
    facts::facts();
    world::catch_panics();
    if let Some(seed) = number_of("VIDRA_SEED") {
        return replay(seed);
    }
    let seeds = seeds();
    let (next, played, failures) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(vec![]));
    let totals = Mutex::new(BTreeMap::<&'static str, u64>::new());
    let began = Instant::now();
    let is_first_enough = std::env::var_os("VIDRA_FIRST").is_some();
    let max_failures = if is_first_enough { 1 } else { MAX_FAILURES };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) =
                    seeds.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap())
                {
                    let report = play(*seed);
                    played.fetch_add(1, Ordering::Relaxed);
                    let mut totals = totals.lock().unwrap();
                    for (what, count) in &report.counts {
                        *totals.entry(what).or_default() += count;
                    }
                    if !report.violations.is_empty() {
                        let mut failures = failures.lock().unwrap();
                        failures.push((*seed, report.violations[0].to_string()));
                        // Enough failures to investigate.
                        if failures.len() >= max_failures {
                            next.store(u64::MAX / 2, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let played = played.into_inner();
    print_totals(&totals.into_inner().unwrap(), played, began);
    let mut failures = failures.into_inner().unwrap();
    failures.sort_unstable();
    if let Some((seed, _)) = failures.first() {
        if !is_first_enough {
            shrink::print_smallest(&Plan::from_seed(*seed));
        }
        for (seed, violation) in &failures {
            eprintln!("VIDRA_SEED={seed} breaks {violation}");
        }
        panic!("{} worlds fail", failures.len());
    }
}

/// Runs a world, some of them twice: both logs must be equal.
fn play(seed: u64) -> Report {
    let plan = Plan::from_seed(seed);
    let mut report = world::run(&plan, false);
    if seed.is_multiple_of(TWICE_EVERY) {
        let again = world::run(&plan, false);
        if again.fingerprint != report.fingerprint {
            report.violations.push(events::Violation {
                invariant: "a seed replays exactly",
                what: format!("seed {seed}: {:?} and {:?}", report.fingerprint, again.fingerprint),
            });
        }
    }
    report
}

fn replay(seed: u64) {
    let plan = Plan::from_seed(seed);
    eprintln!("{plan:#?}");
    let report = world::run(&plan, true);
    let again = world::run(&plan, false);
    assert_eq!(report.fingerprint, again.fingerprint, "a seed replays exactly");
    for violation in &report.violations {
        eprintln!("{violation}");
    }
    assert!(report.violations.is_empty(), "seed {seed} fails");
}

/// The seeds of this run.
fn seeds() -> Vec<u64> {
    if let Ok(range) = std::env::var("VIDRA_SEEDS") {
        let (from, to) = range.split_once("..").expect("VIDRA_SEEDS is FROM..TO");
        let seeds: Range<u64> = from.parse().unwrap()..to.parse().unwrap();
        assert!(!seeds.is_empty(), "VIDRA_SEEDS={range} names no seed");
        return seeds.collect();
    }
    let hash = source_hash();
    FIXED.chain((0..DERIVED).map(|n| hash.wrapping_add(n))).collect()
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// A hash of the source of library and server.
fn source_hash() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for path in sources() {
        std::fs::read(path).unwrap().hash(&mut hasher);
    }
    // Distinct from the fixed seeds.
    hasher.finish() | 1 << 40
}

/// Every source file of library and server, in a fixed order.
fn sources() -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("../vidra/src")];
    let mut files = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Printed past the test harness, which hides the output of tests that pass.
fn print_totals(totals: &BTreeMap<&'static str, u64>, worlds: u64, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let counts: Vec<String> =
        totals.iter().map(|(what, count)| format!("{what} {count}")).collect();
    let per_minute = worlds as f64 / seconds * 60.0;
    let line = format!(
        "simulation: {worlds} worlds in {seconds:.1} s ({per_minute:.0} a minute): {}\n",
        counts.join(", ")
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
}

/// Every `select!` chooses its branch in a fixed order, or a seed would not replay.
#[test]
fn every_select_is_biased() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("select! {") {
            let body: String = text[at + "select! {".len()..]
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty() && !line.starts_with("//"))
                .unwrap_or_default()
                .to_owned();
            assert_eq!(body, "biased;", "{}", path.display());
        }
    }
}
