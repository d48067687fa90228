use vidra::store::{Memory, Record, conformance};

use super::{another_process, passed_value, record};

const MIB: u64 = 1024 * 1024;

#[tokio::test]
async fn memory_conforms() {
    conformance::check(&Memory::new(16 * MIB)).await;
}

#[test]
fn the_limit_holds_under_a_hundred_thousand_puts() {
    let mut random = fastrand::Rng::with_seed(7);
    for limit in [MIB / 2, 8 * MIB, 24 * MIB] {
        let memory = Memory::new(limit);
        let body = vec![b'x'; 32 * 1024];
        for index in 0..100_000 {
            let most = 1 << random.u32(..15);
            let length = random.usize(..most);
            let record = Record { body: body[..length].to_vec().into(), ..record("") };
            memory.insert(&format!("video/{}", random.u32(..50_000)), record);
            if index % 64 == 0 {
                assert!(memory.held().bytes <= limit, "{:?} of {limit}", memory.held());
            }
        }
        let held = memory.held();
        assert!(held.bytes >= limit * 9 / 10, "the memory is used: {held:?} of {limit}");
        // The reported size fits the records, key by key.
        let mut bytes = 0;
        for key in (0..50_000).map(|number| format!("video/{number}")) {
            bytes += memory.peek(&key).map_or(0, |record| key.len() + record.body.len()) as u64;
        }
        assert!(
            bytes <= held.bytes && held.bytes <= bytes + 600 * held.entries,
            "{bytes} {held:?}"
        );
    }
}

#[test]
fn cheap_records_are_evicted_first_and_keep_a_quarter() {
    let memory = Memory::new(8 * MIB);
    let body = vec![b'x'; 4096];
    let made = |is_cheap| Record { is_cheap, body: body.clone().into(), ..record("") };
    let fill = |kind: &str, is_cheap, count| {
        for number in 0..count {
            memory.insert(&format!("{kind}/{number}"), made(is_cheap));
            assert!(memory.held().bytes <= 8 * MIB, "{:?}", memory.held());
        }
    };
    let left = |kind: &str, count| {
        (0..count).filter(|number| memory.peek(&format!("{kind}/{number}")).is_some()).count()
    };
    fill("video", true, 3_000);
    let videos = left("video", 3_000);
    assert!(videos > 1_700, "{videos} videos fill the memory");
    fill("transcript", false, 1_000);
    assert_eq!(left("transcript", 1_000), 1_000, "none is evicted while there are videos");
    fill("more", false, 3_000);
    let videos = left("video", 3_000);
    assert!((300..=500).contains(&videos), "{videos} videos keep their quarter");
    fill("video", true, 3_000);
    let transcripts = left("transcript", 1_000) + left("more", 3_000);
    assert!(transcripts > 1_200, "{transcripts} others stay");
}

#[test]
fn a_record_that_is_too_large_is_not_stored_and_the_older_one_is_removed() {
    let memory = Memory::new(MIB);
    memory.insert("key", record("small"));
    memory.insert("other", record("stays"));
    let large = Record { body: vec![0; 530_000].into(), ..record("") };
    memory.insert("key", large.clone());
    assert_eq!(memory.peek("key"), None);
    assert_eq!(memory.peek("other"), Some(record("stays")));
    Memory::new(0).insert("key", large);

    // A record of half the limit, minus its overhead, always fits.
    for limit in [MIB / 8, MIB, 64 * MIB] {
        let memory = Memory::new(limit);
        for index in 0..100 {
            let length = usize::try_from(limit / 2).unwrap() - 400;
            let body = vec![0; length].into();
            memory.insert(&format!("{index}"), Record { body, ..record("") });
            assert!(memory.peek(&format!("{index}")).is_some(), "{index} of {limit}");
        }
    }
}

#[test]
fn frequently_read_records_stay() {
    let memory = Memory::new(MIB);
    memory.insert("asked for", record("often"));
    for index in 0..20_000 {
        memory.insert(&format!("{index}"), record("once"));
        assert!(memory.peek("asked for").is_some(), "gone after {index}");
    }
    assert!(memory.held().entries < 5000);
}

/// Besides its key and body an entry takes at most 600 bytes of resident memory.
#[cfg(target_os = "linux")]
#[test]
fn the_overhead_of_an_entry_is_small() {
    if passed_value().is_some() {
        return fill_memory();
    }
    let test = "store::memory::the_overhead_of_an_entry_is_small";
    let output = another_process(test, "-").output().expect("a process");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<(f64, f64)> = stdout
        .lines()
        .filter_map(|line| line.split_once("entry takes ")?.1.split_once(" of "))
        .map(|(taken, counted)| (taken.parse().expect("bytes"), counted.parse().expect("bytes")))
        .collect();
    assert_eq!(figures.len(), 4, "{stdout}");
    for (taken, counted) in figures {
        assert!(taken <= 600.0, "{stdout}");
        // Then the limit is accurate, too.
        assert!(
            taken + 217.0 <= (counted + 217.0) * 1.05,
            "more is taken than is counted: {stdout}"
        );
    }
}

/// In a process of its own, in which nothing else takes memory.
#[cfg(target_os = "linux")]
fn fill_memory() {
    for count in [34_000, 60_000, 135_000, 265_000] {
        let before = resident();
        let memory = Memory::new(1 << 30);
        let mut own = 0;
        for index in 0..count {
            let key = format!("video/{index:011}");
            let body = vec![b'x'; 200];
            own += key.len() + body.len();
            memory.insert(&key, Record { body: body.into(), ..record("") });
            // A body that was read once needs a reference count.
            assert!(memory.peek(&key).is_some());
        }
        let held = memory.held();
        assert_eq!(held.entries, count);
        let each = |bytes: usize| (bytes - own) as f64 / count as f64;
        let counted = each(usize::try_from(held.bytes).unwrap());
        println!("entry takes {} of {counted}", each(resident() - before));
        // Leaked, so that the next memory cannot reuse these pages.
        std::mem::forget(memory);
    }
}

/// The resident memory of this process in bytes, without pages of files, which the kernel drops and reads again as it
/// likes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    let pages: Vec<usize> =
        pages.split_whitespace().filter_map(|count| count.parse().ok()).collect();
    (pages[1] - pages[2]) * 4096
}
