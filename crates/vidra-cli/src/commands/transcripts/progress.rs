//! The progress of a playlist: a bar on a terminal, otherwise a line for each tenth.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use vidra::VideoTranscript;

use crate::failure::print_error;
use crate::terminal::{self, one_line};

/// The progress on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    is_quiet: bool,
}

impl Progress {
    /// Starts at 0 of so many videos. The number is an estimate, and `None` if it is unknown.
    pub(super) fn new(all: Option<u64>, is_quiet: bool) -> Self {
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
            (None, _) => "{pos} videos  {rate}  {wide_msg:.dim}",
            (Some(_), true) => "{pos}/{len}  {rate}  {eta} left",
            (Some(_), false) => "{bar:24.cyan} {pos}/{len}  {rate}  {eta} left  {wide_msg:.dim}",
        };
        let style = ProgressStyle::with_template(template).expect("a template that is right");
        bar.set_style(style.with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
            let _ = write!(text, "{:.1}/s", state.per_sec());
        }));
        // Updates rate and remaining time also while no result arrives.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, on_terminal, is_quiet }
    }

    /// Counts a video as done.
    pub(super) fn done(&self, result: &VideoTranscript) {
        let title = one_line(&result.title);
        let message = match result.transcript {
            Ok(_) => title,
            Err(_) => format!("failed: {title}"),
        };
        self.bar.set_message(message);
        self.bar.inc(1);
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        // The number of all is an estimate.
        if !self.is_quiet
            && !self.on_terminal
            && done <= all
            && tenth(done, all) > tenth(done - 1, all)
        {
            print_error(&format!("{done} of {all} videos"));
        }
    }

    /// Shows that all fetches wait for the pace.
    pub(super) fn waits(&self, seconds: f64) {
        let message = format!("waiting {seconds:.0} s, so that YouTube does not block us");
        match self.on_terminal {
            true => self.bar.set_message(message),
            false if self.is_quiet => {}
            false => print_error(&message),
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
