//! A service with little memory: large answers, hostile answers of the platform and large records in the store.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use vidra_sim::{Action, Endpoint, Fault};

use crate::is_long;
use crate::platform::{Platform, Running};
use crate::process::{Service, send};
use vidra_engines::Redis;

/// The memory of the control group in bytes: 256 MB.
const GROUP_BYTES: u64 = 256 << 20;

/// The address space in bytes where no control group can be created: 768 MB. It has to be larger than the memory,
/// because it counts what is mapped and never touched: 2 MB of stack for each thread of the runtime, the program itself,
/// and unused parts of the allocators' arenas. On two cores, with a cache of 64 MB, the service had 190 MB when it was idle and
/// 455 MB at the peak of the short form, of which 115 MB were resident.
const ADDRESS_SPACE_BYTES: u64 = 768 << 20;

/// How the memory of the service is limited.
#[derive(Debug)]
enum MemoryLimit {
    /// A control group; removed when dropped.
    Group(PathBuf),
    /// A limit of the process itself.
    AddressSpace,
}

impl MemoryLimit {
    /// A control group, or the limit of the process where this one may not create a group.
    fn new() -> Self {
        let name = format!("vidra-test-{}", std::process::id());
        let table =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let group = table.into_iter().find_map(|(root, limit)| {
            let folder = PathBuf::from(root).join(&name);
            fs::create_dir(&folder).ok()?;
            // From here on it is removed.
            let group = Self::Group(folder.clone());
            fs::write(folder.join(limit), GROUP_BYTES.to_string()).ok()?;
            // Swap would hide that the limit is exceeded.
            let _ = fs::write(folder.join("memory.swappiness"), "0");
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            Some(group)
        });
        group.unwrap_or(Self::AddressSpace)
    }

    /// The command within the limit.
    fn wrapped(&self, command: &Command) -> Command {
        let limit = match self {
            Self::Group(folder) => format!("echo $$ > {}", folder.join("cgroup.procs").display()),
            Self::AddressSpace => format!("ulimit -v {}", ADDRESS_SPACE_BYTES >> 10),
        };
        let mut wrapped = Command::new("/bin/sh");
        wrapped.arg("-c").arg(format!("{limit} && exec \"$0\" \"$@\""));
        wrapped.arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            wrapped.env(name, value.unwrap_or_default());
        }
        if let Self::AddressSpace = self {
            // Both allocators reserve much more than they use: 1 GB at once, and 64 MB for each thread.
            wrapped.env("MIMALLOC_ARENA_RESERVE", "32MiB").env("MALLOC_ARENA_MAX", "1");
        }
        wrapped.current_dir(command.get_current_dir().unwrap());
        wrapped
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Self::Group(folder) = self {
            // It is empty as soon as the process is reaped.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Ends the requests for cached answers.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The status of a request whose body is read and not kept, and the length of the response.
fn exchange(address: SocketAddr, request: &str) -> (u16, u64) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    let length = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    (std::str::from_utf8(&head[9..]).unwrap().parse().unwrap(), length)
}

#[test]
fn review_s3_s4_s8_a_service_with_256_mb_survives() {
    let limit = MemoryLimit::new();
    let platform = Platform::new();
    let Some(redis) = Redis::start(&[]) else { return };
    // A record of 400 MB, which somebody else has written.
    let mut store = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
    store.write_all(b"SETRANGE vidra:1:video/quirkNoView 419430400 x\r\n").unwrap();
    store.read_exact(&mut [0; 10]).unwrap();

    // The full scale takes minutes without optimisation.
    let (batches, entries, playlist, items, memory) = match is_long() {
        true => (32, 5_000, 20_000, 11_000_000, "16MB"),
        false => (8, 100, 5_000, 1_000_000, "2MB"),
    };
    let cache = redis.url();
    let command = platform.command(&[
        ("VIDRA_CACHE", &cache),
        ("VIDRA_CACHE_SIZE", "32MB"),
        ("VIDRA_MAX_ANSWER_MEMORY", memory),
        ("VIDRA_RETRIES", "0"),
        // As in the image and the systemd unit.
        ("MIMALLOC_PURGE_DELAY", "50"),
        ("MIMALLOC_ALLOW_THP", "0"),
    ]);
    let service = Running(Service::start(&mut limit.wrapped(&command)));
    let known = "/api/video/quirkNoLike";
    let address = service.address;
    let status = |path| send(address, "GET", path, "").0;
    assert_eq!(status(known), 200);

    let batch = format!(
        "POST /api/playlist/PLsize{entries}/transcript HTTP/1.1\r\nhost: localhost\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n\
         {{\"concurrency\": 20}}"
    );
    let playlist = format!(
        "GET /api/playlist/PLsize{playlist} HTTP/1.1\r\nhost: localhost\r\n\
         accept-encoding: gzip\r\nconnection: close\r\n\r\n"
    );
    platform.sim.inject(Fault::on(Endpoint::Channels, Action::GzipItems { count: items }));
    let is_over = AtomicBool::new(false);
    let (hits, answers) = thread::scope(|scope| {
        // Also if an assertion fails: the scope waits for all threads.
        let _over = OnDrop(&is_over);
        let hits = scope.spawn(|| {
            let mut hits = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(status(known), 200);
                hits += 1;
            }
            hits
        });
        let requests = std::iter::repeat_n(&*batch, batches).chain([&*playlist; 4]);
        let large: Vec<_> =
            requests.map(|request| scope.spawn(move || exchange(address, request))).collect();
        assert_eq!(status("/api/channel/@fermata"), 502, "too many items");
        assert_eq!(status("/api/video/quirkNoView"), 200, "a record of 400 MB is a miss");
        let answers: Vec<_> = large.into_iter().map(|answer| answer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        (hits.join().unwrap(), answers)
    });
    println!("{limit:?}: {hits} hits beside {answers:?}; {} KB resident", service.memory());
    assert!(answers.iter().all(|(status, _)| matches!(status, 200 | 503)), "{answers:?}");
    assert!(answers.iter().any(|(status, length)| *status == 200 && *length > 1_000_000));
    assert_eq!(status(known), 200);
    assert_eq!(service.metric("vidra_large_answer_bytes{place=\"file\"} "), 0.0);
    assert_eq!(service.0.stop().0, Some(0));
}
