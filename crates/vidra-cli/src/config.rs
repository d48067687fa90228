//! `vidra config`: where the config file is, and the settings with their sources.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Subcommand};

use crate::config_file::{ConfigFile, PLAIN, config_path};
use crate::failure::Failure;
use crate::output::table::Table;
use crate::spelling::nearest;
use crate::terminal;

/// Subcommands of `vidra config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the config file, whether it exists or not
    Path,
    /// Show the settings of all data commands, or of one command, and where each comes from
    Show {
        /// Name of a command, such as serve or keys add
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// Runs `vidra config`. `config` is the file that `--config` names, and `whole` the command line without settings.
pub(crate) fn run(
    command: &ConfigCommand,
    config: Option<&Path>,
    whole: &Command,
) -> Result<(), Failure> {
    let text = match command {
        ConfigCommand::Path => {
            let path = config_path(config);
            let path =
                path.ok_or_else(|| Failure::usage("there is no home folder: HOME is not set"))?;
            format!("{}\n", path.display())
        }
        ConfigCommand::Show { command } => shown(command, config, whole)?,
    };
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

struct Setting {
    name: String,
    value: String,
    source: String,
}

fn shown(command: &[String], config: Option<&Path>, whole: &Command) -> Result<String, Failure> {
    let usual = [PLAIN.to_owned()];
    let names = if command.is_empty() { &usual } else { command };
    let line: Vec<&str> = ["vidra"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut leaf = whole;
    for name in names {
        leaf = leaf.find_subcommand(name).ok_or_else(|| {
            let near = nearest(name, leaf.get_subcommands().map(Command::get_name));
            let tip = near.map_or(String::new(), |near| format!("; the nearest is '{near}'"));
            format!("there is no command '{name}'{tip}")
        })?;
    }
    // Only the settings matter, and not the arguments that the command would need.
    let parse = |whole: Command| whole.ignore_errors(true).try_get_matches_from(&line);
    let unreadable = |_| Failure::usage("the settings cannot be read");
    let given = parse(whole.clone()).map_err(unreadable)?;
    let file = ConfigFile::read(config, whole)?;
    let from_file = file.as_ref().map(|file| file.settings(whole, &given)).unwrap_or_default();
    let configured = match &file {
        Some(file) => file.apply(whole.clone(), &given),
        None => whole.clone(),
    };
    let mut matches = &parse(configured).map_err(unreadable)?;
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    let settings: Vec<Setting> = leaf
        .get_arguments()
        .chain(whole.get_arguments())
        .filter_map(|arg| {
            let is_in_file = from_file.iter().any(|(name, _)| arg.get_long() == Some(name));
            setting(arg, matches, is_in_file)
        })
        .collect();
    let table = Table::new(&settings)
        .word("setting", |it| it.name.clone())
        .text("value", |it| it.value.clone())
        .word("from", |it| it.source.clone());
    let path = config_path(config).unwrap_or_else(|| PathBuf::from("none"));
    let there = if file.is_some() { "" } else { " (does not exist)" };
    Ok(format!("{}\nfile: {}{there}\n", table.written(terminal::width()), path.display()))
}

/// The value of a flag and its source; `None` if nothing sets it.
fn setting(arg: &Arg, matches: &ArgMatches, is_in_file: bool) -> Option<Setting> {
    let (name, id) = (arg.get_long()?, arg.get_id().as_str());
    if matches!(name, "help" | "version" | "config") {
        return None;
    }
    let values = matches.try_get_raw(id).ok()??;
    let values: Vec<String> = values.map(|it| it.to_string_lossy().into_owned()).collect();
    let value = values.join(",");
    let is_secret = arg.is_hide_env_values_set()
        && (matches!(name, "token" | "webhook")
            || value.contains('@')
            || value.contains("password="));
    let source = match matches.value_source(id)? {
        ValueSource::EnvVariable => arg.get_env().map(|it| it.to_string_lossy().into_owned())?,
        _ if is_in_file => "file".to_owned(),
        _ => "default".to_owned(),
    };
    let value = if is_secret { "***".to_owned() } else { value };
    Some(Setting { name: name.to_owned(), value, source })
}
