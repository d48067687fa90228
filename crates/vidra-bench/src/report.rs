//! The table of results.

use std::fmt::{self, Write};
use std::io;

/// Rows of a Markdown table.
pub(crate) struct Report(String);

impl Report {
    pub(crate) fn new() -> Self {
        Self("| case | goal | measured (median, range) |\n|---|---|---|\n".to_owned())
    }

    /// A case that was measured several times.
    pub(crate) fn row(&mut self, case: &str, goal: &str, values: &[f64], unit: &str) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
        let space = if unit.is_empty() { "" } else { " " };
        let median = median(values);
        self.word(case, goal, &format!("{median:.3}{space}{unit} ({least:.3} to {most:.3})"));
    }

    /// A case whose result is not a measured value.
    pub(crate) fn word(&mut self, case: &str, goal: &str, result: &str) {
        let _ = writeln!(self.0, "| {case} | {goal} | {result} |");
        // A run takes minutes, so each case is also printed at once.
        eprintln!("{case}: {result}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

pub(crate) fn expect(holds: bool, otherwise: &str) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(otherwise.to_owned())) }
}
