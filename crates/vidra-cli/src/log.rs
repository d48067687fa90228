//! The log: text on a terminal, JSON otherwise, always on standard error.

use std::env;
use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use crate::args::LogFormat;

/// What sees spans and events beside the log.
pub(crate) type Watcher = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging, and watching where there is a watcher. What is logged is set by `RUST_LOG`, by
/// default everything from `usual` on.
pub(crate) fn install(format: LogFormat, usual: LevelFilter, watcher: Option<Watcher>) {
    let mut filter = EnvFilter::builder().with_default_directive(usual.into()).from_env_lossy();
    if env::var_os(EnvFilter::DEFAULT_ENV).is_none_or(|set| set.is_empty()) {
        // It tells the names of sessions and all that clients say of themselves.
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
    let log: Watcher = match is_json {
        true => log.json().flatten_event(true).with_filter(EventsOnly(filter)).boxed(),
        false => {
            let log = log.with_ansi(has_colours).with_target(false);
            log.with_filter(EventsOnly(filter)).boxed()
        }
    };
    let mut watchers = vec![log];
    watchers.extend(watcher);
    tracing_subscriber::registry().with(watchers).init();
}

/// What is logged. Spans are for traces: a line of the log says all there is to say.
struct EventsOnly(EnvFilter);

impl<S: Subscriber> Filter<S> for EventsOnly {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        metadata.is_event() && Filter::enabled(&self.0, metadata, context)
    }

    /// Once for each place in the code, so that what is not logged costs next to nothing.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match metadata.is_event() {
            true => Filter::<S>::callsite_enabled(&self.0, metadata),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Filter::<S>::max_level_hint(&self.0)
    }
}

/// What is wrong with a `.env` file, without the line itself: it may hold the key.
pub(crate) fn without_values(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => format!("a line is malformed at character {at}"),
        other => other.to_string(),
    }
}
