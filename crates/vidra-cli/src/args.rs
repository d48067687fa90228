//! The command line: what there is to run.

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::cache::CacheCommand;
use crate::client::SETTINGS;
use crate::commands::Data;
use crate::failure::Failure;
use crate::health::HealthArgs;
use crate::keys::KeysCommand;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::mcp::{McpArgs, ToolsArgs};
use crate::output::text::one_line;
use crate::serve::ServeArgs;
use crate::sim::SimArgs;

/// How it ends, for scripts.
const ENDS: &str = "\
Exit codes:
  0  all went well, also where whoever read the output read no further
  1  not found or not shown; or some of several failed, or it was interrupted
  2  invalid usage: a bad id, flag, or key to the service
  3  YouTube or the service failed, refused, or has no quota left
  4  YouTube or the service could not be reached, or did not answer in time";

/// Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.
#[derive(Debug, Parser)]
#[command(name = "vidra", version, after_long_help = ENDS, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How the log is written to standard error: text, json, or auto (text on a terminal). RUST_LOG
    /// sets what is logged
    #[arg(long, env = "VIDRA_LOG_FORMAT", value_enum, default_value_t, global = true)]
    pub(crate) log_format: LogFormat,
}

impl Args {
    /// The command line as it is read and told.
    pub(crate) fn whole() -> clap::Command {
        // Whoever asks for a video seldom sets how YouTube is asked: that is for --help and the manual.
        let short = |arg: clap::Arg| match arg.get_help_heading() {
            Some(SETTINGS) => arg.hide_short_help(true),
            _ => arg,
        };
        Self::command().mut_subcommands(|command| match Data::has_subcommand(command.get_name()) {
            true => command.mut_args(short),
            false => command,
        })
    }

    /// What was given, or in one line what is wrong with it. Where help is asked for, it is given, and that
    /// is the end.
    pub(crate) fn read() -> Result<Self, Failure> {
        let given = Self::whole().try_get_matches();
        given.and_then(|given| Self::from_arg_matches(&given)).map_err(|error| {
            if !error.use_stderr()
                || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            {
                error.exit()
            }
            Failure::usage(in_one_line(&error))
        })
    }
}

/// What clap tells in a paragraph, its advice included.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    let told = told.trim_start_matches("error:").replace("\n\n", "; ");
    // It takes the first letter of such an id for a flag, and the advice with it.
    let told = match told.split_once("; ").filter(|(_, tip)| tip.contains("to pass '-")) {
        Some((what, _)) => format!("{what}; an id that begins with a hyphen stands after --"),
        None => told,
    };
    format!("{}; --help says more", one_line(&told))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Data(Data),
    /// Run the REST service
    Serve(Box<ServeArgs>),
    /// Serve AI agents over standard input and output, by the Model Context Protocol
    Mcp(Box<McpArgs>),
    /// Print the tools for AI models, for function calling
    Tools(ToolsArgs),
    /// Inspect or clear the cache
    Cache(CacheCommand),
    /// Ask the service on this machine whether it takes requests: ends with 0 if so, else with 1
    Health(HealthArgs),
    /// Give callers keys, or take them away
    Keys(KeysCommand),
    /// Play YouTube on a local address, for tests of your own
    Sim(SimArgs),
    /// Print a script that completes commands and flags in your shell
    Completions(CompletionsArgs),
    /// Print the manual
    Man(ManArgs),
}

/// How the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_its_environment_variable() {
        let args = Args::whole();
        args.clone().debug_assert();
        let flags =
            ["serve", "mcp"].map(|name| args.find_subcommand(name).unwrap().get_arguments());
        for flag in flags.into_iter().flatten().filter(|flag| flag.get_id() != "help") {
            let name = flag.get_long().unwrap().replace('-', "_").to_uppercase();
            let expected = format!("VIDRA_{name}");
            assert_eq!(flag.get_env().and_then(|env| env.to_str()), Some(expected.as_str()));
        }
    }
}
