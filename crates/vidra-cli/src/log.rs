//! The log: text on a terminal, JSON otherwise, always on standard error.

use std::env;
use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

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

/// Installs the log and the `watcher`. `RUST_LOG` sets the level, `usual` is the default.
pub(crate) fn install(format: LogFormat, usual: LevelFilter, watcher: Option<Watcher>) {
    let mut filter = EnvFilter::builder().with_default_directive(usual.into()).from_env_lossy();
    if env::var_os(EnvFilter::DEFAULT_ENV).is_none_or(|set| set.is_empty()) {
        // At its usual level rmcp logs session ids and all that clients send about themselves.
        filter = filter.add_directive("rmcp=warn".parse().expect("a directive"));
    }
    let log = fmt::layer().with_writer(io::stderr);
    let on_terminal = io::stderr().is_terminal();
    let has_colours = on_terminal && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Auto => !on_terminal,
        LogFormat::Text => false,
    };
    // Spans are for traces: each line of the log is complete by itself. Without the hint, disabled events
    // would no longer be skipped by their level.
    let events = filter_fn(|metadata| metadata.is_event()).with_max_level_hint(LevelFilter::TRACE);
    let filter = filter.and(events);
    let log: Watcher = match is_json {
        true => log.json().flatten_event(true).with_filter(filter).boxed(),
        false => log.with_ansi(has_colours).with_target(false).with_filter(filter).boxed(),
    };
    let mut watchers = vec![log];
    watchers.extend(watcher);
    tracing_subscriber::registry().with(watchers).init();
}

/// The error of a `.env` file without the line itself, which may contain the key.
pub(crate) fn without_values(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => format!("a line is malformed at character {at}"),
        other => other.to_string(),
    }
}
