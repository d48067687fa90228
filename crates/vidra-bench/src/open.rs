//! Asks at a rate that does not depend on how fast answers come, over connections that stay open; as a
//! process on a core of its own. Whoever asks the next thing only when the last is answered never sees
//! what a service does with more than it can.

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

/// What to ask. The paths come on standard input, a line each: those of the first list, an empty line,
/// those of the second. Each list is gone through over and over.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    pub(crate) address: SocketAddr,
    #[arg(long)]
    pub(crate) connections: usize,
    /// FIRST:SECOND:SECONDS, so many a second of each list; both 0, in the first phase only, for as
    /// fast as answers come and in turn
    #[arg(long = "phase")]
    pub(crate) phases: Vec<Phase>,
}

/// So many of each list a second, for so long.
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

/// What came of one phase.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    /// By list and what was answered.
    pub(crate) answers: BTreeMap<String, Times>,
    /// Asked for in vain: no connection was free for a second.
    pub(crate) unsent: usize,
    /// Connections that ended without an answer.
    pub(crate) broken: usize,
    /// Half seconds: answers that were turned away, and the slowest good one in ms.
    pub(crate) halves: Vec<(usize, f64)>,
}

/// How long answers of a kind took, in ms from when they were to be asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) count: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) most: f64,
}

impl Told {
    /// How many answers have a kind that `is_it`.
    pub(crate) fn count(&self, is_it: impl Fn(&str) -> bool) -> usize {
        self.answers.iter().filter(|(kind, _)| is_it(kind)).map(|(_, times)| times.count).sum()
    }

    pub(crate) fn of(&self, kind: &str) -> &Times {
        const NONE: &Times = &Times { count: 0, p50: 0.0, p99: 0.0, most: 0.0 };
        self.answers.get(kind).unwrap_or(NONE)
    }
}

/// Thousands of connections have a buffer each.
const AT_A_TIME: usize = 16 << 10;

/// The word of the service for what it does not take on.
const BUSY: &[u8] = b"busy";

/// How long a caller waits for a free connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line that begins so is asked for by somebody who does not wait for the answer.
pub(crate) const LEAVES: char = '-';

/// Has it asked by a process of its own.
pub(crate) fn run(args: &Args, lists: [&[String]; 2]) -> io::Result<Vec<Told>> {
    let mut command = pinned(LOAD_CORE, env::current_exe()?);
    command.arg("open").args(["--address", &args.address.to_string()]);
    command.args(["--connections", &args.connections.to_string()]);
    for Phase { rates: [first, second], seconds } in &args.phases {
        command.args(["--phase", &format!("{first}:{second}:{seconds}")]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let input = format!("{}\n\n{}", lists[0].join("\n"), lists[1].join("\n"));
    child.stdin.take().expect("it is piped").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Asks, and prints what came of it.
pub(crate) fn make(args: &Args) -> io::Result<()> {
    let lines: Vec<String> = io::stdin().lines().collect::<io::Result<_>>()?;
    let lists: Vec<Vec<String>> = lines.split(String::is_empty).map(<[String]>::to_vec).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = runtime.block_on(LocalSet::new().run_until(async {
        let crowd = Rc::new(Crowd::new(args, lists));
        for _ in 0..args.connections {
            let caller = Connection::open(args.address, AT_A_TIME).await?;
            tokio::task::spawn_local(Rc::clone(&crowd).ask_on(caller));
        }
        for phase in &args.phases {
            crowd.live(*phase).await;
        }
        // What is under way belongs to the last phase.
        let _ = tokio::time::timeout(2 * PATIENCE, crowd.idle.notified()).await;
        Ok::<_, io::Error>(crowd.told())
    }))?;
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

/// Everybody who asks.
struct Crowd {
    address: SocketAddr,
    connections: usize,
    lists: Vec<Vec<String>>,
    /// What is to be asked for, and a permit for each.
    wishes: RefCell<VecDeque<Wish>>,
    permits: Semaphore,
    next: [Cell<usize>; 2],
    /// Whether everybody asks again as soon as they are answered.
    is_closed: Cell<bool>,
    under_way: Cell<usize>,
    /// Told whenever nothing is under way.
    idle: Notify,
    heard: RefCell<Vec<Heard>>,
}

/// A thing to be asked for.
#[derive(Clone, Copy)]
struct Wish {
    phase: usize,
    list: usize,
    since: Instant,
}

/// What was heard in a phase.
struct Heard {
    began: Instant,
    times: BTreeMap<String, Vec<f64>>,
    told: Told,
}

impl Crowd {
    fn new(args: &Args, lists: Vec<Vec<String>>) -> Self {
        Self {
            address: args.address,
            connections: args.connections,
            lists,
            wishes: RefCell::default(),
            permits: Semaphore::new(0),
            next: Default::default(),
            is_closed: Cell::new(false),
            under_way: Cell::new(0),
            idle: Notify::new(),
            heard: RefCell::default(),
        }
    }

    /// Has things asked for in one phase.
    async fn live(&self, Phase { rates, seconds }: Phase) {
        let (began, end) = (Instant::now(), Duration::from_secs_f64(seconds));
        let phase = self.heard.borrow().len();
        let heard = Heard { began, times: BTreeMap::new(), told: Told::default() };
        self.heard.borrow_mut().push(heard);
        self.is_closed.set(rates == [0.0, 0.0]);
        if self.is_closed.get() {
            // One each; from then on they go on by themselves.
            self.permits.add_permits(self.connections);
            tokio::time::sleep(end).await;
            return self.is_closed.set(false);
        }
        let mut sent = [0_usize; 2];
        while began.elapsed() < end {
            for (list, rate) in rates.into_iter().enumerate() {
                let due = (rate * began.elapsed().as_secs_f64()) as usize;
                let mut wishes = self.wishes.borrow_mut();
                for number in sent[list]..due {
                    let since = began + Duration::from_secs_f64(number as f64 / rate);
                    wishes.push_back(Wish { phase, list, since });
                }
                self.permits.add_permits(due - sent[list]);
                sent[list] = due;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What is to be asked for next.
    async fn next_wish(&self) -> Option<Wish> {
        if !self.is_closed.get() {
            self.permits.acquire().await.ok()?.forget();
        }
        if self.is_closed.get() {
            let list = (self.next[0].get() + self.next[1].get()) % 2;
            let phase = self.heard.borrow().len() - 1;
            return Some(Wish { phase, list, since: Instant::now() });
        }
        self.wishes.borrow_mut().pop_front()
    }

    /// Asks on one connection, again and again.
    async fn ask_on(self: Rc<Self>, mut connection: Connection) {
        loop {
            let Some(wish) = self.next_wish().await else { continue };
            if wish.since.elapsed() > PATIENCE {
                self.heard.borrow_mut()[wish.phase].told.unsent += 1;
                continue;
            }
            let list = &self.lists[wish.list];
            let line =
                &list[self.next[wish.list].replace(self.next[wish.list].get() + 1) % list.len()];
            self.under_way.set(self.under_way.get() + 1);
            let (path, waits) = match line.strip_prefix(LEAVES) {
                Some(path) => (path, false),
                None => (&**line, true),
            };
            let sent = Instant::now();
            let answer = ask(&mut connection, path, waits).await;
            self.hear(wish, sent, waits.then_some(&answer));
            if answer.is_err() || !waits {
                match Connection::open(self.address, AT_A_TIME).await {
                    Ok(another) => connection = another,
                    Err(_) => return,
                }
            }
            self.under_way.set(self.under_way.get() - 1);
            if self.under_way.get() == 0 {
                self.idle.notify_one();
            }
        }
    }

    fn hear(&self, wish: Wish, sent: Instant, answer: Option<&io::Result<(u16, bool)>>) {
        let heard = &mut self.heard.borrow_mut()[wish.phase];
        let half = (wish.since.duration_since(heard.began).as_secs_f64() * 2.0) as usize;
        if heard.told.halves.len() <= half {
            heard.told.halves.resize(half + 1, (0, 0.0));
        }
        let half = &mut heard.told.halves[half];
        let milliseconds = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
        let (kind, time) = match answer {
            None => ("left".to_owned(), 0.0),
            Some(Err(_)) => {
                heard.told.broken += 1;
                return;
            }
            Some(Ok((_, true))) => {
                half.0 += 1;
                // How fast it is refused, not how long the caller came to ask.
                ("busy".to_owned(), milliseconds(sent))
            }
            Some(Ok((status, false))) => {
                half.1 = half.1.max(milliseconds(wish.since));
                (status.to_string(), milliseconds(wish.since))
            }
        };
        heard.times.entry(format!("{} {kind}", wish.list)).or_default().push(time);
    }

    fn told(&self) -> Vec<Told> {
        self.wishes.borrow_mut().drain(..).for_each(|wish| {
            self.heard.borrow_mut()[wish.phase].told.unsent += 1;
        });
        let heard = self.heard.take().into_iter();
        let told = heard.map(|Heard { times, mut told, .. }| {
            for (kind, mut times) in times {
                times.sort_by(f64::total_cmp);
                let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
                let (p50, p99, most) = (at(0.5), at(0.99), at(1.0));
                told.answers.insert(kind, Times { count: times.len(), p50, p99, most });
            }
            told
        });
        told.collect()
    }
}

/// Sends a request and reads its answer to the end, if the caller waits for it. Gives its status, and
/// whether the service was too busy.
async fn ask(connection: &mut Connection, path: &str, waits: bool) -> io::Result<(u16, bool)> {
    connection.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await?;
    if !waits {
        return Ok((0, false));
    }
    let (status, said) = connection.answer().await?;
    Ok((status, status == 503 && said.windows(BUSY.len()).any(|it| it == BUSY)))
}
