//! All states that three machines, one server of leases and one store can reach on the way to a record, with up to two faults.

use std::collections::HashMap;

use super::step::{Step, Taken, Woken};
use crate::store::FencingToken;

const MACHINES: usize = 3;
const MAX_FAULTS: u8 = 2;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    machines: [Machine; MACHINES],
    /// The fencing token of the lease that the server has, and the last token that it issued.
    lease: Option<FencingToken>,
    last: u64,
    /// Whether the store has the record.
    is_stored: bool,
    /// The machines that an announcement has reached.
    announced: [bool; MACHINES],
    fetches: u8,
    faults: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Machine {
    At(Step),
    /// It has fetched the record, and writes it.
    Writes {
        lease: Option<FencingToken>,
    },
    /// It releases the lease, and announces that.
    Releases {
        lease: Option<FencingToken>,
    },
    /// Its callers have an answer.
    Done,
    Dead,
}

impl Machine {
    fn lease(self) -> Option<FencingToken> {
        match self {
            Self::At(Step::Read { lease } | Step::Fetch { lease } | Step::End { lease })
            | Self::Writes { lease }
            | Self::Releases { lease } => lease,
            Self::At(Step::Take | Step::Wait) | Self::Done | Self::Dead => None,
        }
    }
}

impl State {
    fn new() -> Self {
        Self {
            machines: [Machine::At(Step::Take); MACHINES],
            lease: None,
            last: 0,
            is_stored: false,
            announced: [false; MACHINES],
            fetches: 0,
            faults: 0,
        }
    }

    fn is_over(&self) -> bool {
        self.machines.iter().all(|machine| matches!(machine, Machine::Done | Machine::Dead))
    }

    /// The script of the server.
    fn take(&mut self) -> Taken {
        if self.lease.is_some() {
            return Taken::ByAnother;
        }
        self.last += 1;
        self.lease = Some(FencingToken(self.last));
        Taken::Ours(FencingToken(self.last))
    }

    fn with(&self, index: usize, machine: Machine) -> Self {
        let mut next = self.clone();
        next.machines[index] = machine;
        next
    }

    /// All states that can follow, those after a fault with one fault more.
    fn next(&self) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..MACHINES).flat_map(|index| self.steps_of(index)).chain(self.expired()).collect();
        if self.faults < MAX_FAULTS {
            let faults = (0..MACHINES).flat_map(|index| self.faults_of(index));
            let lost = self.lease.map(|_| Self { lease: None, ..self.clone() });
            // A failover loses the lease, or its holder is too slow to renew it.
            let faults = faults.chain(lost);
            all.extend(faults.map(|state| Self { faults: self.faults + 1, ..state }));
        }
        all
    }

    /// A lease without a holder expires.
    fn expired(&self) -> Option<Self> {
        let has_holder = self.machines.iter().any(|it| it.lease() == self.lease);
        (self.lease.is_some() && !has_holder).then(|| Self { lease: None, ..self.clone() })
    }

    /// The ways in which a machine goes on.
    fn steps_of(&self, index: usize) -> Vec<Self> {
        match self.machines[index] {
            Machine::At(Step::Take) => {
                let mut next = self.clone();
                let step = Step::after_take(next.take());
                vec![next.with(index, Machine::At(step))]
            }
            Machine::At(Step::Read { lease }) => {
                vec![self.with(index, Machine::At(Step::after_read(lease, self.is_stored)))]
            }
            Machine::At(Step::Wait) => {
                let poll = self.with(index, Machine::At(Step::after_wait(Woken::Poll)));
                let mut next = vec![poll];
                if self.announced[index] {
                    let step = Step::after_wait(Woken::Announced);
                    let mut heard = self.with(index, Machine::At(step));
                    heard.announced[index] = false;
                    next.push(heard);
                }
                next
            }
            Machine::At(Step::Fetch { lease }) => {
                let next = self.with(index, Machine::Writes { lease });
                vec![Self { fetches: self.fetches + 1, ..next }]
            }
            Machine::Writes { lease } => {
                vec![Self { is_stored: true, ..self.with(index, Machine::Releases { lease }) }]
            }
            Machine::At(Step::End { lease }) => {
                vec![self.with(index, Machine::Releases { lease })]
            }
            Machine::Releases { lease } => {
                let mut next = self.with(index, Machine::Done);
                next.release(lease);
                next.announced = [true; MACHINES];
                vec![next]
            }
            Machine::Done | Machine::Dead => vec![],
        }
    }

    fn release(&mut self, lease: Option<FencingToken>) {
        if lease.is_some() && self.lease == lease {
            self.lease = None;
        }
    }

    /// The ways in which the step of a machine fails.
    fn faults_of(&self, index: usize) -> Vec<Self> {
        let mut faults = match self.machines[index] {
            Machine::At(Step::Take) => {
                // The server did not get the request, or its answer is lost.
                let alone = Machine::At(Step::after_take(Taken::Unknown));
                let mut executed = self.with(index, alone);
                executed.take();
                vec![self.with(index, alone), executed]
            }
            Machine::At(Step::Read { lease }) => {
                vec![self.with(index, Machine::At(Step::after_read(lease, false)))]
            }
            Machine::At(Step::Wait) => {
                vec![self.with(index, Machine::At(Step::after_wait(Woken::TooLong)))]
            }
            // YouTube fails.
            Machine::At(Step::Fetch { lease }) => {
                let failed = self.with(index, Machine::Releases { lease });
                vec![Self { fetches: self.fetches + 1, ..failed }]
            }
            Machine::Writes { lease } => vec![self.with(index, Machine::Releases { lease })],
            Machine::At(Step::End { .. }) => vec![],
            Machine::Releases { lease } => {
                // Neither is received, or only the announcement is lost.
                let nothing = self.with(index, Machine::Done);
                let mut silent = nothing.clone();
                silent.release(lease);
                vec![nothing, silent]
            }
            Machine::Done | Machine::Dead => return vec![],
        };
        faults.push(self.with(index, Machine::Dead));
        faults
    }

    fn check(&self) {
        let holders =
            self.machines.iter().filter(|it| self.lease.is_some() && it.lease() == self.lease);
        assert!(holders.count() <= 1, "two machines hold the current lease: {self:?}");
        let mut fences: Vec<FencingToken> =
            self.machines.iter().filter_map(|it| it.lease()).collect();
        let all = fences.len();
        fences.sort();
        fences.dedup();
        assert_eq!(fences.len(), all, "two machines hold the same token: {self:?}");
        assert!(self.fetches <= 1 + self.faults, "each fault costs at most one fetch: {self:?}");
    }
}

#[test]
fn one_machine_fetches_and_none_waits_forever() {
    let mut numbers = HashMap::from([(State::new(), 0)]);
    let mut states = vec![State::new()];
    // The states from which one comes to a state without a fault.
    let mut sources: Vec<Vec<usize>> = vec![vec![]];
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        state.check();
        for next in state.next() {
            let is_fault = next.faults > state.faults;
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                sources.push(vec![]);
                states.len() - 1
            });
            if !is_fault {
                sources[number].push(at);
            }
        }
        at += 1;
    }
    let mut can_end: Vec<bool> = states.iter().map(State::is_over).collect();
    let mut open: Vec<usize> = (0..states.len()).filter(|&number| can_end[number]).collect();
    while let Some(number) = open.pop() {
        for &source in &sources[number] {
            if !std::mem::replace(&mut can_end[source], true) {
                open.push(source);
            }
        }
    }
    let stuck = can_end.iter().position(|can_end| !can_end);
    assert!(stuck.is_none(), "a machine waits forever: {:?}", states[stuck.unwrap_or_default()]);
    println!("{} states of {MACHINES} machines and up to {MAX_FAULTS} faults", states.len());
    assert!(states.len() > 10_000);
}
