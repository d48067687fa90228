//! `vidra sim`: runs the simulator on a local address.

use vidra_sim::program::{self, Options};

use crate::failure::{Exit, Failure};
use crate::runtime::runtime;

/// Runs the simulator until a signal stops it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let done = runtime()?.block_on(program::run(options));
    done.map_err(|error| {
        Failure::Message(Exit::Usage, format!("cannot listen on {}: {error}", options.listen))
    })
}
