//! The log: text on a terminal, JSON otherwise, always on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::args::LogFormat;

/// Starts logging. What is logged is set by `RUST_LOG`, by default everything from `info` on.
pub(crate) fn install(format: LogFormat) {
    let filter =
        EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let on_terminal = io::stderr().is_terminal();
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Auto if !on_terminal => log.json().flatten_event(true).init(),
        LogFormat::Auto | LogFormat::Text => log.with_ansi(on_terminal).with_target(false).init(),
    }
}

/// What is wrong with a `.env` file, without the line itself: it may hold the key.
pub(crate) fn without_values(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => format!("a line is malformed at character {at}"),
        other => other.to_string(),
    }
}
