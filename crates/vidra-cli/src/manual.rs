//! `vidra completions` and `vidra man`: completion scripts and manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;

use crate::failure::{Exit, Failure};

/// Options of `vidra completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Options of `vidra man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder, instead of the main page to standard output
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the completion script of `command` for a shell.
pub(crate) fn print_completions(
    args: &CompletionsArgs,
    mut command: Command,
) -> Result<(), Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "vidra", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Prints the manual page of `command`, or writes a page for each of its subcommands.
pub(crate) fn print_pages(args: &ManArgs, command: Command) -> Result<(), Failure> {
    let Some(out) = &args.out else {
        let mut page = vec![];
        clap_mangen::Man::new(command).render(&mut page)?;
        return Ok(io::stdout().write_all(&page)?);
    };
    let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(command, out));
    written.map_err(|error| {
        Failure::Message(Exit::Missing, format!("cannot write to {}: {error}", out.display()))
    })
}
