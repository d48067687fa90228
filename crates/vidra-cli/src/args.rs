//! The command line.

use clap::error::ErrorKind;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use vidra_sim::program::Options;

use crate::cache::CacheCommand;
use crate::client::{ClientArgs, SETTINGS};
use crate::commands::Data;
use crate::failure::Failure;
use crate::health::HealthArgs;
use crate::keys::KeysCommand;
use crate::log::LogFormat;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::mcp::ToolsArgs;
use crate::serve::ServeArgs;
use crate::terminal::one_line;

/// The documentation of exit codes, on which scripts rely.
const ENDS: &str = "\
Exit codes:
  0  success, also when the reader of the output closes the pipe early
  1  not found or not accessible; some of several items failed; or interrupted
  2  invalid usage: a bad id, a bad flag, a rejected key, or a --server that is not this service
  3  YouTube or the service failed, or refused all or some items: a block, a limit, no quota left
  4  YouTube or the service is unreachable, or did not answer in time";

/// Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.
#[derive(Debug, Parser)]
#[command(name = "vidra", version, after_long_help = ENDS, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Format of the log on standard error; auto is text on a terminal and JSON otherwise. RUST_LOG sets the
    /// level
    #[arg(long, env = "VIDRA_LOG_FORMAT", value_enum, default_value_t, global = true)]
    pub(crate) log_format: LogFormat,
}

impl Args {
    /// The command line with its help.
    pub(crate) fn whole() -> clap::Command {
        // Data commands seldom need the settings of the client: only --help and the manual list them.
        let short = |arg: clap::Arg| match arg.get_help_heading() {
            Some(SETTINGS) => arg.hide_short_help(true),
            _ => arg,
        };
        Self::command().mut_subcommands(|command| match Data::has_subcommand(command.get_name()) {
            true => command.mut_args(short),
            false => command,
        })
    }

    /// Whether the command reads every variable from `.env`. Only the service does. All other commands run in
    /// any folder, and read only `YOUTUBE_API_KEY`: an untrusted folder must not redirect the key.
    ///
    /// The subcommand decides, as the parser reads it, and not a word that looks like one.
    pub(crate) fn reads_env_file() -> bool {
        let given = Self::command().ignore_errors(true).try_get_matches();
        given.is_ok_and(|given| given.subcommand_name() == Some("serve"))
    }

    /// Parses the command line. An error is one line. `--help` and `--version` print their text and exit.
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

/// An error of clap, with its advice, as one line.
fn in_one_line(error: &clap::Error) -> String {
    let hidden = |value: &ContextValue| match value {
        // It may contain a password, in whatever place.
        ContextValue::String(value) if value.contains('@') && value.contains(':') => {
            Some(value.clone())
        }
        _ => None,
    };
    let secret = error.get(ContextKind::InvalidValue).and_then(hidden);
    let text = error.to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let message = message.trim_start_matches("error:").replace("\n\n", "; ");
    // clap takes an id that begins with a hyphen for a flag, and its advice does not help.
    let message = match message.split_once("; ").filter(|(_, tip)| tip.contains("to pass '-")) {
        Some((what, _)) => format!("{what}; put an id that begins with a hyphen after --"),
        None => message,
    };
    let message = match secret {
        Some(secret) => message.replace(&secret, "***"),
        None => without_passwords(&message),
    };
    format!("{}; see --help", one_line(&message))
}

/// The text without the user and password of URLs in it. Errors end up in logs.
fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The last @ before the host ends: a password may contain one.
        let authority = part.find(['/', '?', '#', '\'', '"', ' ']).unwrap_or(part.len());
        clean.push_str("://");
        match part[..authority].rfind('@') {
            Some(at) => clean.extend(["***", &part[at..]]),
            None => clean.push_str(part),
        }
    }
    clean
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Data(Data),
    /// Run the REST service
    Serve(Box<ServeArgs>),
    /// Serve AI agents over standard input and output with the Model Context Protocol
    Mcp(Box<ClientArgs>),
    /// Print the definitions of the tools for function calling
    Tools(ToolsArgs),
    /// Inspect or clear the cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Check whether the service on this machine is ready: exit code 0 if it is, 1 otherwise
    Health(HealthArgs),
    /// Add, list and revoke caller keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Run the YouTube simulator on a local address, for your own tests
    Sim(Options),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all manual pages
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_s11_errors_repeat_no_password() {
        let table = [
            ("invalid value 'ftp://me:secret@host/x' for", "invalid value 'ftp://***@host/x' for"),
            ("a://u:p@ss@h b://h/@ c://x", "a://***@h b://h/@ c://x"),
            ("no URL, me@host", "no URL, me@host"),
        ];
        for (text, clean) in table {
            assert_eq!(without_passwords(text), clean);
        }
    }

    #[test]
    fn review_s11_a_refused_value_with_a_password_is_hidden() {
        for value in [
            "http://me:se#cret@host",
            "http://me:se cret@host",
            "me:secret@host:3000",
            "ftp://me:secret@h",
        ] {
            let given = ["vidra", "serve", "--pot-provider", value];
            let error = Args::whole().try_get_matches_from(given).unwrap_err();
            let line = in_one_line(&error);
            assert!(!line.contains("cret") && line.contains("--pot-provider"), "{line}");
        }
    }

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
