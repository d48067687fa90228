//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing::level_filters::LevelFilter;
use vidra_sim::program::Options;

use crate::argument_errors::in_one_line;
use crate::cache::CacheCommand;
use crate::client::SETTINGS;
use crate::commands::Data;
use crate::config::ConfigCommand;
use crate::config_file::ConfigFile;
use crate::examples::with_examples;
use crate::failure::Failure;
use crate::health::HealthArgs;
use crate::keys::KeysCommand;
use crate::library::LibraryCommand;
use crate::log::LogFormat;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::mcp::{McpArgs, ToolsArgs};
use crate::serve::ServeArgs;
use crate::values::listen_address;

/// The documentation of exit codes, on which scripts rely.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success, also when the reader of the output closes the pipe early
  1  not found or not accessible; some of several items failed; or interrupted
  2  invalid usage: a bad id, a bad flag, a rejected key, or a --server that is not this service
  3  YouTube or the service failed, or refused all or some items: a block, a limit, no quota left
  4  YouTube or the service is unreachable, or did not answer in time";

/// Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.
#[derive(Debug, Parser)]
#[command(name = "vidra", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Config file to use instead of the default file (vidra config path prints its path)
    #[arg(long, env = "VIDRA_CONFIG", value_name = "FILE", global = true, hide_short_help = true)]
    config: Option<PathBuf>,

    /// Print only errors
    ///
    /// Commands print no cost, no progress and no hints; the service logs only warnings
    #[arg(long, short, env = "VIDRA_QUIET", value_parser = FalseyValueParser::new(), global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Log more; twice for even more
    ///
    /// RUST_LOG wins over it
    #[arg(long, short, action = ArgAction::Count, global = true)]
    verbose: u8,

    /// Format of the log on standard error; auto is text on a terminal and JSON otherwise. RUST_LOG sets the
    /// level
    #[arg(
        long,
        env = "VIDRA_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        global = true,
        hide_short_help = true
    )]
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
        // Commands without a list parse its flags only to say what to use instead.
        let no_list = |arg: clap::Arg| match arg.get_long() {
            Some("csv" | "fields") => arg.hide(true),
            _ => arg,
        };
        let whole = Self::command()
            .mut_subcommand("sim", |sim| {
                sim.mut_arg("listen", |it| it.value_name("ADDRESS").value_parser(listen_address))
            })
            .mut_subcommands(|command| match command.get_name() {
                name if !Data::has_subcommand(name) => command,
                "job" => command.mut_subcommands(|below| match below.get_name() {
                    "list" | "show" | "results" => below.mut_args(short),
                    _ => below.mut_args(short).mut_args(no_list),
                }),
                name if Data::has_list(name) => command.mut_args(short),
                _ => command.mut_args(short).mut_args(no_list),
            });
        with_examples(whole, EXIT_CODES)
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
        let given: Vec<OsString> = std::env::args_os().collect();
        let whole = Self::configured(&given)?;
        let parsed = whole.clone().try_get_matches_from(&given);
        parsed.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|error| {
            if !error.use_stderr()
                || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            {
                error.exit()
            }
            let given = given.iter().skip(1).map(|it| it.to_string_lossy().into_owned());
            Failure::usage(in_one_line(&error, &whole, &given.collect::<Vec<_>>()))
        })
    }

    /// The command line with the settings of the config file as defaults.
    fn configured(given: &[OsString]) -> Result<clap::Command, String> {
        let whole = Self::whole();
        let parsed = whole.clone().ignore_errors(true).try_get_matches_from(given);
        // Help and version need no file, nor does the command that prints where it is.
        let Ok(parsed) = parsed else { return Ok(whole) };
        let is_path = |(name, below): (&str, &ArgMatches)| {
            name == "config" && below.subcommand_name() == Some("path")
        };
        if parsed.subcommand().is_none_or(is_path) {
            return Ok(whole);
        }
        let config = parsed.get_one::<PathBuf>("config").map(PathBuf::as_path);
        Ok(match ConfigFile::read(config, &whole)? {
            Some(file) => file.apply(whole, &parsed),
            None => whole,
        })
    }

    /// The file that `--config` names.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The log level, unless `RUST_LOG` sets it. Data commands print their errors themselves.
    pub(crate) fn log_level(&self) -> LevelFilter {
        let is_data = matches!(self.command, Command::Data(_) | Command::Library(_));
        match (is_data, self.verbose) {
            (true, 0) => LevelFilter::ERROR,
            (false, 0) if self.quiet => LevelFilter::WARN,
            (true, 1) | (false, 0) => LevelFilter::INFO,
            (true, 2) | (false, 1) => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Data(Data),
    /// Run the REST service
    Serve(Box<ServeArgs>),
    /// Serve AI agents over standard input and output with the Model Context Protocol
    Mcp(Box<McpArgs>),
    /// Print the definitions of the tools for function calling
    Tools(ToolsArgs),
    /// Inspect or clear the cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Maintain the library of transcripts: figures, checks, backups
    #[command(subcommand)]
    Library(LibraryCommand),
    /// Check whether the service on this machine is ready: exit code 0 if it is, 1 otherwise
    Health(HealthArgs),
    /// Show the config file and the settings
    #[command(subcommand)]
    Config(ConfigCommand),
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
    fn review_s11_a_refused_value_with_a_password_is_hidden() {
        for value in [
            "http://me:se#cret@host",
            "http://me:se cret@host",
            "me:secret@host:3000",
            "ftp://me:secret@h",
        ] {
            let given = ["vidra", "serve", "--pot-provider", value];
            let error = Args::whole().try_get_matches_from(given).unwrap_err();
            let line = in_one_line(&error, &Args::whole(), &given.map(str::to_owned)[1..]);
            assert!(!line.contains("cret") && line.contains("--pot-provider"), "{line}");
        }
    }

    /// The words of an example, as a shell reads it.
    fn words(example: &str) -> Vec<String> {
        let parts = example.split('\'').enumerate().flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.take_while(|word| !matches!(word.as_str(), "<" | ">" | "|")).collect()
    }

    #[test]
    fn users_13_every_command_has_examples_that_are_right() {
        fn check(command: &clap::Command, path: &str) {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:\n  vidra"), "vidra {path}: {help}");
            for example in help.lines().skip(1).filter_map(|line| line.strip_prefix("  vidra")) {
                let line = format!("vidra{example}");
                let parsed = Args::whole().try_get_matches_from(words(&line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                assert!(example.trim_start().starts_with(path), "{line} is an example of {path}");
            }
            for below in command.get_subcommands() {
                check(below, format!("{path} {}", below.get_name()).trim_start());
            }
        }
        check(&Args::whole(), "");
    }

    #[test]
    fn users_13_short_flags_are_the_same_everywhere() {
        fn check(command: &clap::Command) {
            let expected =
                [("out", 'o'), ("limit", 'l'), ("format", 'f'), ("quiet", 'q'), ("verbose", 'v')];
            for arg in command.get_arguments() {
                let name = arg.get_long().unwrap_or_default();
                let short =
                    expected.iter().find(|(long, _)| *long == name).map(|(_, short)| *short);
                let is_other = matches!(name, "yes" | "help" | "version");
                assert!(is_other || arg.get_short() == short, "{} --{name}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Args::whole());
    }

    #[test]
    fn users_13_verbose_and_quiet_set_the_log_level() {
        let table = [
            (&["vidra", "quota"][..], LevelFilter::ERROR),
            (&["vidra", "quota", "-v"], LevelFilter::INFO),
            (&["vidra", "-vv", "quota"], LevelFilter::DEBUG),
            (&["vidra", "quota", "-q"], LevelFilter::ERROR),
            (&["vidra", "serve"], LevelFilter::INFO),
            (&["vidra", "serve", "-v"], LevelFilter::DEBUG),
            (&["vidra", "-q", "serve"], LevelFilter::WARN),
            (&["vidra", "serve", "-vvv"], LevelFilter::TRACE),
        ];
        for (line, level) in table {
            let args = Args::from_arg_matches(&Args::whole().get_matches_from(line)).unwrap();
            assert_eq!(args.log_level(), level, "{line:?}");
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
