//! Every flag, each with an environment variable of the same name.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::cache::CacheCommand;
use crate::client::SETTINGS;
use crate::commands::Data;
use crate::health::HealthArgs;
use crate::keys::KeysCommand;
use crate::manual::{CompletionsArgs, ManArgs, SimArgs};
use crate::mcp::{McpArgs, ToolsArgs};
use crate::serve::ServeArgs;

/// How it ends, for scripts.
const ENDS: &str = "\
Exit codes:
  0  all went well, also where whoever read the output read no further
  1  not found or not shown; or some of several failed, or was not waited for
  2  asked for in a way that cannot be right: an id, a flag, a key to the service
  3  YouTube or the service failed, refused, or has no quota left
  4  YouTube or the service could not be reached, or did not answer in time";

/// Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.
#[derive(Debug, Parser)]
#[command(name = "vidra", version, about, after_long_help = ENDS, max_term_width = 100)]
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

    /// What was given; says what is wrong with it, and ends.
    pub(crate) fn read() -> Self {
        let given = Self::whole().get_matches();
        Self::from_arg_matches(&given).unwrap_or_else(|error| error.exit())
    }
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
    /// Look at what is kept, or forget it
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
