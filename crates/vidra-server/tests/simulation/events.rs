//! The event log of a world: the last events in order, a hash of all of them, and counts.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::Instant;

/// How many events are printed with a failure.
const LAST: usize = 60;

/// The log of one world. Clones share it.
#[derive(Clone)]
pub(crate) struct Events(Arc<Mutex<Inner>>);

struct Inner {
    began: Instant,
    /// Whether every event is printed as it happens.
    is_traced: bool,
    last: VecDeque<String>,
    count: u64,
    hash: DefaultHasher,
    counts: BTreeMap<&'static str, u64>,
    violations: Vec<Violation>,
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// The summary of a log, when its world has ended.
pub(crate) struct Report {
    pub(crate) last: Vec<String>,
    /// Number and hash of all events: equal logs have equal fingerprints.
    pub(crate) fingerprint: (u64, u64),
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) violations: Vec<Violation>,
}

impl Events {
    pub(crate) fn new(is_traced: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            is_traced,
            last: VecDeque::new(),
            count: 0,
            hash: DefaultHasher::new(),
            counts: BTreeMap::new(),
            violations: vec![],
        })))
    }

    pub(crate) fn record(&self, what: impl fmt::Display) {
        let mut inner = self.lock();
        let at = inner.began.elapsed().as_secs_f64();
        let line = format!("{at:10.3} {what}");
        if inner.is_traced {
            eprintln!("{line}");
        }
        line.hash(&mut inner.hash);
        inner.count += 1;
        if inner.last.len() == LAST {
            inner.last.pop_front();
        }
        inner.last.push_back(line);
    }

    pub(crate) fn count(&self, what: &'static str) {
        *self.lock().counts.entry(what).or_default() += 1;
    }

    /// Records a violation of the invariant if `holds` is false.
    pub(crate) fn check(
        &self,
        invariant: &'static str,
        holds: bool,
        what: impl FnOnce() -> String,
    ) {
        if !holds {
            let what = what();
            self.record(format_args!("VIOLATED {invariant}: {what}"));
            self.lock().violations.push(Violation { invariant, what });
        }
    }

    pub(crate) fn end(&self) -> Report {
        let inner = self.lock();
        Report {
            last: inner.last.iter().cloned().collect(),
            fingerprint: (inner.count, inner.hash.clone().finish()),
            counts: inner.counts.clone(),
            violations: inner.violations.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}
