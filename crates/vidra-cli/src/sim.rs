//! `vidra sim`: runs the simulator on a local address.

use std::io;

use vidra_sim::program::{self, Options};

use crate::failure::{Exit, Failure};
use crate::runtime::runtime;
use crate::signals::survive_reload;

/// Runs the simulator until a signal stops it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let done = runtime()?.block_on(async {
        survive_reload().map_err(io::Error::other)?;
        program::run(options).await
    });
    done.map_err(|error| {
        Failure::Message(Exit::Usage, format!("cannot listen on {}: {error}", options.listen))
    })
}
