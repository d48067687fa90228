//! The cost of a command in units: the question before it becomes expensive, and the line at its end.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Failure, print_error};

/// The most units that a command spends without a question.
const FREE: u64 = 100;

/// The flags of the cost.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct CostArgs {
    /// Do not ask before the command spends more than 100 units
    ///
    /// It asks only on a terminal
    #[arg(long, short = 'y')]
    yes: bool,
}

/// The units that a command spends.
pub(crate) struct Spending {
    units: AtomicU64,
    consent: Mutex<Consent>,
    is_quiet: bool,
    /// Reads the user's answer to a question.
    ask: fn(&str) -> bool,
}

/// Whether the user agreed to a cost of more than 100 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// Nobody can be asked, or the user agreed.
    Given,
    /// The user would be asked.
    Open,
    Declined,
}

impl Spending {
    /// Counts from 0. It asks only if standard input and standard error are terminals.
    pub(crate) fn new(args: CostArgs, is_quiet: bool) -> Self {
        let may_ask = !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
        let consent = if may_ask { Consent::Open } else { Consent::Given };
        Self { units: AtomicU64::new(0), consent: consent.into(), is_quiet, ask }
    }

    /// Without questions and without a line at the end.
    pub(crate) fn silent() -> Self {
        let consent = Consent::Given.into();
        Self { units: AtomicU64::new(0), consent, is_quiet: true, ask }
    }

    pub(crate) fn add(&self, units: u64) {
        self.units.fetch_add(units, Ordering::Relaxed);
    }

    /// Whether an estimate could lead to a question. Otherwise it need not be made.
    pub(crate) fn may_ask(&self) -> bool {
        *self.consent() == Consent::Open
    }

    /// Whether [`confirm`](Self::confirm) would ask about so many units.
    pub(crate) fn would_ask(&self, units: u64) -> bool {
        units > FREE && self.may_ask()
    }

    /// Asks before the command spends an estimated number of units. `what` is what costs them.
    pub(crate) fn confirm(&self, estimate: u64, what: &str) -> Result<(), Failure> {
        let question = format!("{what} can cost up to {estimate} units. Continue?");
        self.ask_if(estimate > FREE, &question)
    }

    /// Asks before the next request if the command has spent 100 units, which no estimate announced.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let spent = self.units();
        let question = format!("{spent} units are spent, and there is more to fetch. Continue?");
        self.ask_if(spent >= FREE, &question)
    }

    /// Prints the cost, if there is one.
    pub(crate) fn report(&self) {
        match self.units() {
            0 => {}
            _ if self.is_quiet => {}
            1 => print_error("cost: 1 unit"),
            units => print_error(&format!("cost: {units} units")),
        }
    }

    fn units(&self) -> u64 {
        self.units.load(Ordering::Relaxed)
    }

    fn consent(&self) -> std::sync::MutexGuard<'_, Consent> {
        self.consent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Asks once. The lock makes concurrent requests wait for the one answer.
    fn ask_if(&self, is_expensive: bool, question: &str) -> Result<(), Failure> {
        let mut consent = self.consent();
        if *consent == Consent::Open && is_expensive {
            *consent = if (self.ask)(question) { Consent::Given } else { Consent::Declined };
        }
        if *consent == Consent::Declined { Err(Failure::Declined) } else { Ok(()) }
    }
}

/// Asks on the terminal. Everything but yes is no.
fn ask(question: &str) -> bool {
    let mut errors = io::stderr();
    let asked = write!(errors, "vidra: {question} [y/N] ").and_then(|()| errors.flush());
    let mut answer = String::new();
    let is_answered = asked.is_ok() && io::stdin().read_line(&mut answer).is_ok();
    is_answered && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spending(consent: Consent, ask: fn(&str) -> bool) -> Spending {
        Spending { units: AtomicU64::new(0), consent: consent.into(), is_quiet: false, ask }
    }

    #[test]
    fn users_4_it_asks_once_and_only_above_100_units() {
        let agreed = spending(Consent::Open, |question| {
            assert_eq!(question, "201 entries can cost up to 101 units. Continue?");
            true
        });
        assert!(agreed.confirm(100, "200 entries").is_ok() && agreed.may_ask());
        assert!(agreed.confirm(101, "201 entries").is_ok() && !agreed.may_ask());
        assert!(agreed.confirm(5_000, "more").is_ok());
    }

    #[test]
    fn users_4_an_unknown_count_is_asked_about_when_100_units_are_spent() {
        let declined = spending(Consent::Open, |_| false);
        declined.add(99);
        assert!(declined.check().is_ok());
        declined.add(1);
        assert!(matches!(declined.check(), Err(Failure::Declined)));
        // The answer stands.
        assert!(matches!(declined.confirm(1, "one"), Err(Failure::Declined)));
    }

    #[test]
    fn users_4_nobody_is_asked_without_a_terminal() {
        let scripted = spending(Consent::Given, |_| unreachable!());
        scripted.add(5_000);
        assert!(scripted.check().is_ok() && scripted.confirm(5_000, "all").is_ok());
        assert!(!scripted.may_ask());
    }
}
