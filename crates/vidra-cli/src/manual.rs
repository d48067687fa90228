//! `vidra completions` and `vidra man`: what shells and man read.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap_complete::Shell;

use crate::args::Args;
use crate::failure::{Exit, Failure};

/// Options of `vidra completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Options of `vidra man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder, rather than the first to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the script that a shell reads.
pub(crate) fn print_completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Args::whole(), "vidra", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Prints the manual, or writes all its pages.
pub(crate) fn print_pages(args: &ManArgs) -> Result<(), Failure> {
    let Some(out) = &args.out else {
        let mut page = vec![];
        clap_mangen::Man::new(Args::whole()).render(&mut page)?;
        return Ok(io::stdout().write_all(&page)?);
    };
    let written =
        fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(Args::whole(), out));
    written.map_err(|error| {
        Failure::Because(Exit::Missing, format!("cannot write to {}: {error}", out.display()))
    })
}
