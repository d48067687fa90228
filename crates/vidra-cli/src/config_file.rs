//! The config file: settings of the user for all commands (`demo = true`) and for one (`[serve]`). A flag wins over
//! its environment variable, which wins over the file.
//!
//! The file is in the user's config folder, and never in the current folder: an untrusted folder must not redirect
//! the key. It holds no secrets.

use std::env;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};
use vidra_server::read_config_file;

use crate::spelling::nearest;
use crate::user_folder::user_folder;

/// Settings that are secrets, and where they belong instead.
const SECRETS: [(&str, &str); 4] = [
    ("token", "set VIDRA_TOKEN"),
    ("youtube-api-key", "set YOUTUBE_API_KEY, or api-key-file"),
    ("api-key", "set YOUTUBE_API_KEY, or api-key-file"),
    ("key", "set YOUTUBE_API_KEY, or api-key-file"),
];

/// Flags that exclude each other without clap's knowledge, because each has a variable that the other flag overrides.
const RIVALS: [(&str, &str); 2] = [("server", "demo"), ("demo", "server")];

/// Flags that only make sense on the command line.
const LINE_ONLY: [&str; 3] = ["config", "help", "version"];

/// A command that has only the settings of all data commands.
pub(crate) const PLAIN: &str = "link";

/// A config file.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    table: Table,
}

/// The path of the config file: the given one, or else that in the user's config folder.
pub(crate) fn config_path(given: Option<&Path>) -> Option<PathBuf> {
    let usual = || user_folder("XDG_CONFIG_HOME", ".config").map(|it| it.join("config.toml"));
    given.map(Path::to_owned).or_else(usual)
}

impl ConfigFile {
    /// Reads the file and checks its keys against all commands. `None` if there is no file and none was named.
    pub(crate) fn read(given: Option<&Path>, whole: &Command) -> Result<Option<Self>, String> {
        let Some(path) = config_path(given) else { return Ok(None) };
        if given.is_none() && !path.exists() {
            return Ok(None);
        }
        let shown = path.display();
        let bytes =
            read_config_file(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not valid UTF-8"))?;
        let table = text.parse::<Table>().map_err(|error| {
            // Without the line itself, which may contain a secret.
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            format!("{shown}: line {line} is not valid TOML: {}", error.message())
        })?;
        let file = Self { path, table };
        file.check(&file.table, whole, whole, true)?;
        Ok(Some(file))
    }

    /// The settings for a command, as texts of its flags by their names. `given` is the command line as far as it can
    /// be parsed: settings that exclude a given flag are left out.
    pub(crate) fn settings(
        &self,
        whole: &Command,
        given: &ArgMatches,
    ) -> Vec<(String, Vec<String>)> {
        let (mut table, mut command, mut given) = (Some(&self.table), whole, given);
        let mut settings: Vec<(String, Vec<String>)> = vec![];
        let mut tables = vec![&self.table];
        while let Some((name, below)) = given.subcommand() {
            let Some(next) = command.find_subcommand(name) else { break };
            table = table.and_then(|table| table.get(name)).and_then(Value::as_table);
            tables.extend(table);
            (command, given) = (next, below);
        }
        for (key, value) in tables.iter().flat_map(|table| table.iter()) {
            // The flags of the program itself are no arguments of the command.
            let of = |owner| flag_of(owner, key).map(|arg| (owner, arg));
            let found = of(command).or_else(|| of(whole));
            if let Some((_, arg)) = found.filter(|(owner, arg)| !is_excluded(owner, arg, given)) {
                settings.retain(|(name, _)| name != key);
                settings.push((key.clone(), texts(arg, value).unwrap_or_default()));
            }
        }
        settings
    }

    /// Makes the settings the defaults of the command. Variables and flags win over defaults.
    pub(crate) fn apply(&self, whole: Command, given: &ArgMatches) -> Command {
        let settings = self.settings(&whole, given);
        let mut names = vec![];
        let mut below = given;
        while let Some((name, next)) = below.subcommand() {
            names.push(name.to_owned());
            below = next;
        }
        with_defaults(whole, &names, &settings)
    }

    /// Checks the keys of a table of `command`.
    fn check(
        &self,
        table: &Table,
        whole: &Command,
        command: &Command,
        is_top: bool,
    ) -> Result<(), String> {
        let shown = self.path.display();
        for (key, value) in table {
            if let (Some(below), Value::Table(table)) = (command.find_subcommand(key), value) {
                self.check(table, whole, below, false)?;
                continue;
            }
            let secret = SECRETS
                .iter()
                .find(|(name, _)| name == key && flag_of(command, key).is_none_or(is_secret));
            if let Some((_, instead)) = secret {
                return Err(format!(
                    "{shown}: secrets are not allowed in this file: {key}; {instead}"
                ));
            }
            let shared =
                || whole.find_subcommand(PLAIN).filter(|_| is_top).and_then(|it| flag_of(it, key));
            let arg = flag_of(command, key).or_else(|| flag_of(whole, key)).or_else(shared);
            let Some(arg) = arg else {
                return Err(format!("{shown}: {}", unknown(key, value, whole, command, is_top)));
            };
            let wrong = |why: &str| format!("{shown}: {key}: {why}");
            let texts = texts(arg, value).map_err(|why| wrong(&why))?;
            if texts.iter().any(|text| looks_secret(text)) {
                let variable =
                    arg.get_env().and_then(|name| name.to_str()).unwrap_or("its variable");
                return Err(wrong(&format!("this file must not hold a secret: set {variable}")));
            }
        }
        Ok(())
    }
}

/// Why a key is unknown, with the nearest name.
fn unknown(key: &str, value: &Value, whole: &Command, command: &Command, is_top: bool) -> String {
    let owners: Vec<String> = whole
        .get_subcommands()
        .filter(|other| is_top && flag_of(other, key).is_some())
        .map(|other| format!("[{}]", other.get_name()))
        .collect();
    if !owners.is_empty() {
        return format!("{key} is not a global setting: move it to {}", owners.join(" or "));
    }
    let command = if is_top { whole.find_subcommand(PLAIN).unwrap_or(command) } else { command };
    let flags = command.get_arguments().chain(whole.get_arguments()).filter_map(Arg::get_long);
    let flags = flags.filter(|name| !LINE_ONLY.contains(name));
    let tables = whole.get_subcommands().map(Command::get_name).filter(|_| is_top);
    // A table is a command, and every other value a flag.
    let near = match value {
        Value::Table(_) => nearest(key, tables),
        _ => nearest(key, flags),
    };
    match near {
        Some(near) => format!("there is no setting '{key}'; the nearest is '{near}'"),
        None => format!("there is no setting '{key}'"),
    }
}

/// The flag of this name.
fn flag_of<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_settable = !LINE_ONLY.contains(&name);
    command.get_arguments().find(|arg| arg.get_long() == Some(name) && is_settable)
}

/// Whether a flag named like a secret is one. The key of the simulator is not.
fn is_secret(arg: &Arg) -> bool {
    arg.is_hide_env_values_set()
}

fn looks_secret(text: &str) -> bool {
    let has_user = text.split("://").skip(1).any(|rest| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest[..end].contains('@')
    });
    // An address without a scheme may have a user too.
    let has_password = text.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    has_user || has_password || text.starts_with("AIza") || text.starts_with("vk_")
}

/// The texts that the flag would get on the command line.
fn texts(arg: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(_) => Err("expected a string or a number".to_owned()),
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
            Err("expected one text or number".to_owned())
        }
    };
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
    let takes_many = matches!(arg.get_action(), ArgAction::Append);
    match value {
        Value::Boolean(is_on) if is_flag => Ok(vec![is_on.to_string()]),
        _ if is_flag => Err("expected true or false".to_owned()),
        Value::Array(values) if takes_many => values.iter().map(text).collect(),
        // A list in one text, separated by commas.
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(text).collect::<Result<_, _>>()?;
            Ok(vec![values.join(",")])
        }
        value => Ok(vec![text(value)?]),
    }
}

/// Whether the command line or a variable sets something that excludes the flag.
fn is_excluded(command: &Command, arg: &Arg, given: &ArgMatches) -> bool {
    let is_given = |arg: &Arg| {
        let source = given
            .try_contains_id(arg.get_id().as_str())
            .ok()
            .and_then(|_| given.value_source(arg.get_id().as_str()));
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let others = || command.get_arguments().filter(|other| other.get_id() != arg.get_id());
    let excludes = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|it| it.get_id() == other.get_id())
    };
    let in_conflict =
        others().any(|other| is_given(other) && (excludes(arg, other) || excludes(other, arg)));
    let name = arg.get_long().unwrap_or_default();
    let rival = RIVALS.iter().find(|(one, _)| *one == name).map(|(_, rival)| *rival);
    let has_rival =
        others().any(|other| other.get_long() == rival && rival.is_some() && is_given(other));
    // clap does not read this variable: see `ServiceArgs`.
    let has_server = env::var_os("VIDRA_SERVER").is_some_and(|url| !url.is_empty());
    in_conflict || has_rival || (has_server && matches!(name, "server" | "demo"))
}

fn with_defaults(
    command: Command,
    names: &[String],
    settings: &[(String, Vec<String>)],
) -> Command {
    let command = match names {
        [name, rest @ ..] => {
            command.mut_subcommand(name, |below| with_defaults(below, rest, settings))
        }
        [] => command,
    };
    command.mut_args(|arg| {
        let set = settings.iter().find(|(name, _)| arg.get_long() == Some(name));
        match set {
            Some((_, texts)) => arg.default_values(texts.clone()).required(false),
            None => arg,
        }
    })
}
