//! `vidra sim`: runs the simulator on a local address.

use vidra_sim::program::{self, Options};

use crate::failure::{Exit, Failure};
use crate::runtime::runtime;

/// Options of `vidra sim`.
#[derive(Debug, clap::Args)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    options: Options,
}

/// Runs the simulator until a signal stops it.
pub(crate) fn run(SimArgs { options }: &SimArgs) -> Result<(), Failure> {
    let done = runtime()?.block_on(program::run(options));
    done.map_err(|error| {
        Failure::Message(Exit::Usage, format!("cannot listen on {}: {error}", options.listen))
    })
}
