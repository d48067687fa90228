//! The log: text on a terminal, JSON otherwise, always on standard error.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};
use vidra_server::{AccessLog, LogSink};

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

/// A layer that receives spans and events beside the log.
pub(crate) type Watcher = Box<dyn Layer<Registry> + Send + Sync>;

/// How long the end of the process waits for the reader of the log.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// The installed log. Dropping it writes the last lines.
pub(crate) struct Log {
    sink: LogSink,
    is_json: bool,
}

impl Log {
    /// The access log of the service, into the same output.
    pub(crate) fn of_requests(&self) -> AccessLog {
        AccessLog::new(self.sink.clone(), self.is_json)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.sink.flush(FLUSH_TIME);
    }
}

/// Adds each event to the log as one line.
struct EventWriter(LogSink);

impl Write for EventWriter {
    /// The layer writes an event at once, with its line feed.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.add(|buffer| buffer.extend_from_slice(event.trim_ascii_end()));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const DROPPED: &str = "log lines dropped, because nobody read the log";

fn dropped_as_json(dropped: u64) -> String {
    serde_json::json!({ "level": "WARN", "message": DROPPED, "lines": dropped }).to_string()
}

fn dropped_as_text(dropped: u64) -> String {
    format!("WARN {DROPPED} lines={dropped}")
}

/// Installs the log and the `watcher`. `RUST_LOG` sets the level, `usual` is the default.
///
/// # Errors
///
/// An error of the system if it cannot start the thread of the log.
pub(crate) fn install(
    format: LogFormat,
    usual: LevelFilter,
    watcher: Option<Watcher>,
) -> Result<Log, String> {
    let on_terminal = io::stderr().is_terminal();
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Auto => !on_terminal,
        LogFormat::Text => false,
    };
    let sink = LogSink::new(io::stderr(), if is_json { dropped_as_json } else { dropped_as_text });
    let sink = sink.map_err(|error| format!("cannot start the thread of the log: {error}"))?;
    let mut filter = EnvFilter::builder().with_default_directive(usual.into()).from_env_lossy();
    if env::var_os(EnvFilter::DEFAULT_ENV).is_none_or(|set| set.is_empty()) {
        // At its usual level rmcp logs session ids and all that clients send about themselves.
        filter = filter.add_directive("rmcp=warn".parse().expect("a directive"));
        // vidra logs itself that a server does not answer.
        for quiet in ["tokio_postgres=error", "deadpool=error", "redis=off"] {
            filter = filter.add_directive(quiet.parse().expect("a directive"));
        }
    }
    let of_events = sink.clone();
    let log = fmt::layer().with_writer(move || EventWriter(of_events.clone()));
    let has_colours = on_terminal && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    // Most spans are for traces. With debug lines, the span of the request shows to which one a line belongs.
    // Without the hint, disabled events would no longer be skipped by their level.
    let shows_requests = filter.max_level_hint() >= Some(LevelFilter::DEBUG);
    let shown = filter_fn(move |metadata| {
        !metadata.is_span() || (shows_requests && metadata.name() == "request")
    });
    let filter = filter.and(shown.with_max_level_hint(LevelFilter::TRACE));
    let log: Watcher = match is_json {
        true => log.json().flatten_event(true).with_span_list(false).with_filter(filter).boxed(),
        false => log.with_ansi(has_colours).with_target(false).with_filter(filter).boxed(),
    };
    let mut watchers = vec![log];
    watchers.extend(watcher);
    tracing_subscriber::registry().with(watchers).init();
    Ok(Log { sink, is_json })
}

/// The error of a `.env` file without the line itself, which may contain the key.
pub(crate) fn without_values(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => format!("a line is malformed at character {at}"),
        other => other.to_string(),
    }
}
