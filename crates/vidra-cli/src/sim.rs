//! `vidra sim`: the platform, played on a local address.

use vidra_sim::program::{self, Options};

use crate::failure::{Exit, Failure};
use crate::runtime;

/// Options of `vidra sim`.
#[derive(Debug, clap::Args)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    options: Options,
}

/// Plays it until it is told to stop.
pub(crate) fn run(SimArgs { options }: &SimArgs) -> Result<(), Failure> {
    let played = runtime()?.block_on(program::run(options));
    played.map_err(|error| {
        Failure::Because(Exit::Usage, format!("cannot listen on {}: {error}", options.listen))
    })
}
