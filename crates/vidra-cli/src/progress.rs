//! The progress of many videos: a bar on a terminal, otherwise a line for each tenth.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::failure::print_error;
use crate::terminal;

/// The progress on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    is_quiet: bool,
}

impl Progress {
    /// Starts at 0 of so many videos. The number is an estimate, and `None` if it is unknown.
    pub(crate) fn new(all: Option<u64>, is_quiet: bool) -> Self {
        Self::with_time(all, "  {eta} left", is_quiet)
    }

    /// The progress of a job, which knows itself how long it takes.
    pub(crate) fn of_job(is_quiet: bool) -> Self {
        Self::with_time(Some(1), "", is_quiet)
    }

    fn with_time(all: Option<u64>, time: &str, is_quiet: bool) -> Self {
        let on_terminal = io::stderr().is_terminal();
        let bar = match all {
            _ if is_quiet => ProgressBar::hidden(),
            Some(0) => ProgressBar::hidden(),
            Some(all) => ProgressBar::new(all),
            None => ProgressBar::no_length(),
        };
        // A narrow terminal has no room for the bar.
        let is_narrow = terminal::width().is_some_and(|width| width < 60);
        let template = match (all, is_narrow) {
            (None, _) => "{pos} videos  {rate}  {wide_msg:.dim}".to_owned(),
            (Some(_), true) => format!("{{pos}}/{{len}}  {{rate}}{time}"),
            (Some(_), false) => {
                format!("{{bar:24.cyan}} {{pos}}/{{len}}  {{rate}}{time}  {{wide_msg:.dim}}")
            }
        };
        let style = ProgressStyle::with_template(&template).expect("a template that is right");
        bar.set_style(style.with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
            let _ = write!(text, "{:.1}/s", state.per_sec());
        }));
        // Updates rate and remaining time also while no result arrives.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, on_terminal, is_quiet }
    }

    /// Counts a video as done. `message` is clean.
    pub(crate) fn done(&self, message: String) {
        self.bar.set_message(message);
        self.advance(self.bar.position() + 1);
    }

    /// Shows how many videos are done, of how many, and a message beside the bar.
    pub(crate) fn set(&self, done: u64, all: u64, message: String) {
        self.bar.set_length(all);
        self.bar.set_message(message);
        if done != self.bar.position() {
            self.advance(done);
        }
    }

    fn advance(&self, done: u64) {
        let before = self.bar.position();
        self.bar.set_position(done);
        let all = self.bar.length().unwrap_or(0);
        // The number of all is an estimate.
        if !self.is_quiet
            && !self.on_terminal
            && done <= all
            && tenth(done, all) > tenth(before, all)
        {
            print_error(&format!("{done} of {all} videos"));
        }
    }

    /// Shows what happens instead of progress.
    pub(crate) fn note(&self, message: String) {
        match self.on_terminal {
            true => self.bar.set_message(message),
            false if self.is_quiet => {}
            false => print_error(&message),
        }
    }

    /// Prints a line that stays above the bar.
    pub(crate) fn print(&self, message: &str) {
        if !self.is_quiet {
            self.bar.suspend(|| print_error(message));
        }
    }
}

/// Removes the bar.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn tenth(done: u64, all: u64) -> u64 {
    done * 10 / all.max(1)
}
