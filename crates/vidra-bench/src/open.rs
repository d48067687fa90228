//! An open-loop load generator over keep-alive connections, as a separate process on its own core. Its rate
//! does not depend on the answers. A closed loop cannot overload a service, because it waits for answers.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};
use tokio::task::LocalSet;

use crate::load::Connection;
use crate::process::{LOAD_CORE, pinned};

/// The arguments of the load. The paths are read from standard input, one per line: the first list, an
/// empty line, the second list. Each list is repeated.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    pub(crate) address: SocketAddr,
    #[arg(long)]
    pub(crate) connections: usize,
    /// FIRST:SECOND:SECONDS, the requests per second of each list; both 0, in the first phase only, for a
    /// closed loop that alternates between the lists
    #[arg(long = "phase")]
    pub(crate) phases: Vec<Phase>,
}

/// The requests per second of each list, and the length of the phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Phase {
    pub(crate) rates: [f64; 2],
    pub(crate) seconds: f64,
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<f64> = text.split(':').filter_map(|it| it.parse().ok()).collect();
        match numbers[..] {
            [first, second, seconds] => Ok(Self { rates: [first, second], seconds }),
            _ => Err("expected FIRST:SECOND:SECONDS".to_owned()),
        }
    }
}

/// The result of one phase.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PhaseResult {
    /// The times by list and kind of answer.
    pub(crate) answers: BTreeMap<String, Times>,
    /// Requests that were not sent, because no connection was free for a second.
    pub(crate) unsent: usize,
    /// Connections that broke without an answer.
    pub(crate) broken: usize,
    /// Per half second: the rejected requests, and the slowest successful answer in ms.
    pub(crate) halves: Vec<(usize, f64)>,
}

/// The latency of one kind of answer, in ms from the planned time of the request.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) count: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) most: f64,
}

impl PhaseResult {
    /// The number of answers whose kind satisfies `is_it`.
    pub(crate) fn count(&self, is_it: impl Fn(&str) -> bool) -> usize {
        self.answers.iter().filter(|(kind, _)| is_it(kind)).map(|(_, times)| times.count).sum()
    }

    pub(crate) fn times(&self, kind: &str) -> &Times {
        const NONE: &Times = &Times { count: 0, p50: 0.0, p99: 0.0, most: 0.0 };
        self.answers.get(kind).unwrap_or(NONE)
    }
}

/// The size of the buffer of a connection. It is small, because there are thousands.
const BUFFER_SIZE: usize = 16 << 10;

/// The text of the service in responses to rejected requests.
const BUSY: &[u8] = b"busy";

/// The longest wait for a free connection.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The prefix of a line whose caller disconnects without waiting for the answer.
pub(crate) const DISCONNECTS: char = '-';

/// Runs the load in a separate process.
pub(crate) fn run(args: &Args, lists: [&[String]; 2]) -> io::Result<Vec<PhaseResult>> {
    let mut command = pinned(LOAD_CORE, env::current_exe()?);
    command.arg("open").args(["--address", &args.address.to_string()]);
    command.args(["--connections", &args.connections.to_string()]);
    for Phase { rates: [first, second], seconds } in &args.phases {
        command.args(["--phase", &format!("{first}:{second}:{seconds}")]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let input = format!("{}\n\n{}", lists[0].join("\n"), lists[1].join("\n"));
    child.stdin.take().expect("stdin is piped").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Sends the requests and prints the results as JSON.
pub(crate) fn generate(args: &Args) -> io::Result<()> {
    let lines: Vec<String> = io::stdin().lines().collect::<io::Result<_>>()?;
    let lists: Vec<Vec<String>> = lines.split(String::is_empty).map(<[String]>::to_vec).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let results = runtime.block_on(LocalSet::new().run_until(async {
        let callers = Rc::new(Callers::new(args, lists));
        for _ in 0..args.connections {
            let caller = Connection::open(args.address, BUFFER_SIZE).await?;
            tokio::task::spawn_local(Rc::clone(&callers).send_on(caller));
        }
        for phase in &args.phases {
            callers.run_phase(*phase).await;
        }
        // Requests in flight belong to the last phase.
        let _ = tokio::time::timeout(2 * MAX_WAIT, callers.idle.notified()).await;
        Ok::<_, io::Error>(callers.results())
    }))?;
    println!("{}", serde_json::to_string(&results)?);
    Ok(())
}

/// All callers and their shared state.
struct Callers {
    address: SocketAddr,
    connections: usize,
    lists: Vec<Vec<String>>,
    /// The planned requests, with one permit each.
    queue: RefCell<VecDeque<PlannedRequest>>,
    permits: Semaphore,
    next: [Cell<usize>; 2],
    /// Whether the loop is closed: a caller sends its next request as soon as it has an answer.
    is_closed: Cell<bool>,
    in_flight: Cell<usize>,
    /// Notified whenever no request is in flight.
    idle: Notify,
    records: RefCell<Vec<PhaseRecord>>,
}

/// A request that is to be sent.
#[derive(Clone, Copy)]
struct PlannedRequest {
    phase: usize,
    list: usize,
    planned_at: Instant,
}

/// The measurements of a phase.
struct PhaseRecord {
    began: Instant,
    times: BTreeMap<String, Vec<f64>>,
    result: PhaseResult,
}

impl Callers {
    fn new(args: &Args, lists: Vec<Vec<String>>) -> Self {
        Self {
            address: args.address,
            connections: args.connections,
            lists,
            queue: RefCell::default(),
            permits: Semaphore::new(0),
            next: Default::default(),
            is_closed: Cell::new(false),
            in_flight: Cell::new(0),
            idle: Notify::new(),
            records: RefCell::default(),
        }
    }

    /// Runs one phase.
    async fn run_phase(&self, Phase { rates, seconds }: Phase) {
        let (began, end) = (Instant::now(), Duration::from_secs_f64(seconds));
        let phase = self.records.borrow().len();
        let record = PhaseRecord { began, times: BTreeMap::new(), result: PhaseResult::default() };
        self.records.borrow_mut().push(record);
        self.is_closed.set(rates == [0.0, 0.0]);
        if self.is_closed.get() {
            // One permit per connection starts the closed loop.
            self.permits.add_permits(self.connections);
            tokio::time::sleep(end).await;
            return self.is_closed.set(false);
        }
        let mut sent = [0_usize; 2];
        while began.elapsed() < end {
            for (list, rate) in rates.into_iter().enumerate() {
                // The first request is due at once.
                let due = (rate * began.elapsed().as_secs_f64()).ceil() as usize;
                let mut queue = self.queue.borrow_mut();
                for number in sent[list]..due {
                    let planned_at = began + Duration::from_secs_f64(number as f64 / rate);
                    queue.push_back(PlannedRequest { phase, list, planned_at });
                }
                self.permits.add_permits(due - sent[list]);
                sent[list] = due;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The next request to send.
    async fn next_request(&self) -> Option<PlannedRequest> {
        if !self.is_closed.get() {
            self.permits.acquire().await.ok()?.forget();
        }
        if self.is_closed.get() {
            let list = (self.next[0].get() + self.next[1].get()) % 2;
            let phase = self.records.borrow().len() - 1;
            return Some(PlannedRequest { phase, list, planned_at: Instant::now() });
        }
        self.queue.borrow_mut().pop_front()
    }

    /// Sends requests on one connection in a loop.
    async fn send_on(self: Rc<Self>, mut connection: Connection) {
        loop {
            let Some(request) = self.next_request().await else { continue };
            if request.planned_at.elapsed() > MAX_WAIT {
                self.records.borrow_mut()[request.phase].result.unsent += 1;
                continue;
            }
            let list = &self.lists[request.list];
            let line = &list
                [self.next[request.list].replace(self.next[request.list].get() + 1) % list.len()];
            self.in_flight.set(self.in_flight.get() + 1);
            let (path, waits) = match line.strip_prefix(DISCONNECTS) {
                Some(path) => (path, false),
                None => (&**line, true),
            };
            let sent = Instant::now();
            let answer = send_request(&mut connection, path, waits).await;
            self.record_answer(request, sent, waits.then_some(&answer));
            if answer.is_err() || !waits {
                match Connection::open(self.address, BUFFER_SIZE).await {
                    Ok(another) => connection = another,
                    Err(_) => return,
                }
            }
            self.in_flight.set(self.in_flight.get() - 1);
            if self.in_flight.get() == 0 {
                self.idle.notify_one();
            }
        }
    }

    fn record_answer(
        &self,
        request: PlannedRequest,
        sent: Instant,
        answer: Option<&io::Result<(u16, bool)>>,
    ) {
        let record = &mut self.records.borrow_mut()[request.phase];
        let half = (request.planned_at.duration_since(record.began).as_secs_f64() * 2.0) as usize;
        if record.result.halves.len() <= half {
            record.result.halves.resize(half + 1, (0, 0.0));
        }
        let half = &mut record.result.halves[half];
        let milliseconds = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
        let (kind, time) = match answer {
            None => ("left".to_owned(), 0.0),
            Some(Err(_)) => {
                record.result.broken += 1;
                return;
            }
            Some(Ok((_, true))) => {
                half.0 += 1;
                // The time of the rejection, without the wait for a free connection.
                ("busy".to_owned(), milliseconds(sent))
            }
            Some(Ok((status, false))) => {
                half.1 = half.1.max(milliseconds(request.planned_at));
                (status.to_string(), milliseconds(request.planned_at))
            }
        };
        record.times.entry(format!("{} {kind}", request.list)).or_default().push(time);
    }

    fn results(&self) -> Vec<PhaseResult> {
        self.queue.borrow_mut().drain(..).for_each(|request| {
            self.records.borrow_mut()[request.phase].result.unsent += 1;
        });
        let records = self.records.take().into_iter();
        let results = records.map(|PhaseRecord { times, mut result, .. }| {
            for (kind, mut times) in times {
                times.sort_by(f64::total_cmp);
                let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
                let (p50, p99, most) = (at(0.5), at(0.99), at(1.0));
                result.answers.insert(kind, Times { count: times.len(), p50, p99, most });
            }
            result
        });
        results.collect()
    }
}

/// Sends a request and reads its answer to the end, if the caller waits for it. Returns the status, and
/// whether the service was too busy.
async fn send_request(
    connection: &mut Connection,
    path: &str,
    waits: bool,
) -> io::Result<(u16, bool)> {
    connection.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await?;
    if !waits {
        return Ok((0, false));
    }
    let (status, response) = connection.answer().await?;
    Ok((status, status == 503 && response.windows(BUSY.len()).any(|it| it == BUSY)))
}
