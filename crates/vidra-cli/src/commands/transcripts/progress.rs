//! How far a playlist has come: a bar on a terminal, and elsewhere a line for each tenth.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use vidra::{BatchStatus, VideoTranscript};

use crate::failure::say;
use crate::output::text::{self, one_line};

/// On standard error: standard output is for what was asked for.
pub(super) struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
}

impl Progress {
    /// Of so many videos.
    pub(super) fn new(all: u64) -> Self {
        let on_terminal = io::stderr().is_terminal();
        let bar = if all == 0 { ProgressBar::hidden() } else { ProgressBar::new(all) };
        // On a narrow terminal the bar itself gives way.
        let template = match text::width().is_some_and(|width| width < 60) {
            true => "{pos}/{len}  {rate}  {eta} left",
            false => "{bar:24.cyan} {pos}/{len}  {rate}  {eta} left  {wide_msg:.dim}",
        };
        let style = ProgressStyle::with_template(template).expect("a template that is right");
        bar.set_style(style.with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
            let _ = write!(text, "{:.1}/s", state.per_sec());
        }));
        // Rate and time left go on being told while nothing comes.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, on_terminal }
    }

    /// A video is done.
    pub(super) fn done(&self, result: &VideoTranscript) {
        let title = one_line(&result.title);
        let message = match result.status {
            BatchStatus::Success => title,
            BatchStatus::Failed => format!("failed: {title}"),
        };
        self.bar.set_message(message);
        self.bar.inc(1);
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        if !self.on_terminal && tenth(done, all) > tenth(done - 1, all) {
            say(&format!("{done} of {all} videos"));
        }
    }

    /// All wait for their turn.
    pub(super) fn waits(&self, seconds: f64) {
        let message = format!("waiting {seconds:.0} s, so that YouTube does not block us");
        match self.on_terminal {
            true => self.bar.set_message(message),
            false => say(&message),
        }
    }

    /// Takes the bar away: what follows says it all.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn tenth(done: u64, all: u64) -> u64 {
    done * 10 / all.max(1)
}
