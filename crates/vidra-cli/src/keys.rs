//! `vidra keys`: adds, lists and revokes caller keys, and shows their usage.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use vidra::{CallerUsage, UsageReport};
use vidra_server::gate::{KeyFile, KeyLimits, KeyName, Rate};

use crate::callers::USAGE_FILE;
use crate::client::usual_state_dir;
use crate::failure::{Failure, print_error};
use crate::output::table::Table;
use crate::values::units as count32;

/// Subcommands of `vidra keys`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it once; the file holds only its hash
    Add {
        /// Name of the caller
        name: KeyName,
        #[command(flatten)]
        file: InFile,
        /// Rate limit, such as 10/s, 60/m or 1000/h [default: the service's --rate-limit]
        #[arg(long)]
        rate: Option<Rate>,
        /// Budget of units per day [default: no budget]
        #[arg(long, value_parser = count32)]
        units: Option<u32>,
        /// Budget of searches per day; ignored with --quota-model legacy, where searches cost units
        /// [default: no budget]
        #[arg(long, value_parser = count32)]
        searches: Option<u32>,
        /// Allow the caller to see the usage of all callers, and to see and change all jobs
        #[arg(long)]
        operator: bool,
    },
    /// List the keys and their limits, or their usage
    List {
        #[command(flatten)]
        file: InFile,
        /// Show what each caller used on each of the last 30 days, from the state folder; a running service
        /// adds to it every five seconds
        #[arg(long)]
        usage: bool,
        /// Write the usage as JSON, as GET /api/usage does
        #[arg(long, requires = "usage")]
        json: bool,
        /// State folder of the service [default: the user's state folder]
        #[arg(long, env = "VIDRA_STATE_DIR", value_name = "DIR")]
        state_dir: Option<PathBuf>,
    },
    /// Revoke a key
    Revoke {
        /// Name of the caller
        name: KeyName,
        #[command(flatten)]
        file: InFile,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InFile {
    /// File of caller keys
    #[arg(long = "caller-keys-file", env = "VIDRA_CALLER_KEYS_FILE", value_name = "FILE")]
    path: PathBuf,
}

/// Runs `vidra keys`.
pub(crate) fn run(command: &KeysCommand) -> Result<(), Failure> {
    match command {
        KeysCommand::Add { name, file, rate, units, searches, operator } => {
            let (rate, units, searches) = (*rate, *units, *searches);
            add(&file.path, name, KeyLimits { rate, units, searches, operator: *operator })
        }
        KeysCommand::List { file, usage: false, .. } => print(&table(&existing(&file.path)?)),
        KeysCommand::List { json, state_dir, .. } => {
            let usage = usage(state_dir.clone().or_else(usual_state_dir))?;
            match json {
                true => print(&(serde_json::to_string(&usage).map_err(io::Error::from)? + "\n")),
                false => print(&usage_table(&usage)),
            }
        }
        KeysCommand::Revoke { name, file } => {
            let _lock = lock(&file.path)?;
            let mut keys = existing(&file.path)?;
            keys.revoke(name)?;
            write(&keys, &file.path)?;
            print_error(&format!("revoked the key of {name}. {RELOAD}"));
            Ok(())
        }
    }
}

const RELOAD: &str = "A running service reloads the file on SIGHUP.";

fn add(path: &Path, name: &KeyName, limits: KeyLimits) -> Result<(), Failure> {
    let _lock = lock(path)?;
    let mut keys = KeyFile::read(path)?.unwrap_or_default();
    let key = new_key()?;
    keys.add(name.clone(), &key, limits, SystemTime::now())?;
    write(&keys, path)?;
    // Before the key, so that the message is there even if nobody reads the key.
    print_error(&format!("created a key for {name}, which is shown only now. {RELOAD}"));
    // Only the key goes to standard output, because scripts store what they read there.
    print(&format!("{key}\n"))
}

/// A random key of 256 bits, with a prefix that secret scanners recognise.
fn new_key() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("cannot get random numbers: {error}"))?;
    Ok(bytes.iter().fold("vk_".to_owned(), |key, byte| format!("{key}{byte:02x}")))
}

fn existing(path: &Path) -> Result<KeyFile, String> {
    KeyFile::read(path)?.ok_or_else(|| format!("{} does not exist", path.display()))
}

fn write(keys: &KeyFile, path: &Path) -> Result<(), String> {
    keys.write(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Locks the keys against a second `vidra keys`. It locks the folder, because the file is replaced.
fn lock(path: &Path) -> Result<File, String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let lock = File::open(folder).and_then(|lock| lock.lock().map(|()| lock));
    lock.map_err(|error| format!("cannot use the folder {}: {error}", folder.display()))
}

/// The names and limits, one line per key.
fn table(keys: &KeyFile) -> String {
    fn or_none(limit: Option<impl ToString>) -> String {
        limit.map_or("-".to_owned(), |limit| limit.to_string())
    }
    let table = Table::new(keys.keys())
        .word("name", |key| key.name.clone())
        .number("rate", |key| or_none(key.rate))
        .number("units/day", |key| or_none(key.units))
        .number("searches", |key| or_none(key.searches))
        .word("operator", |key| if key.operator { "yes" } else { "-" })
        .word("created", |key| key.created.clone());
    table.written(None)
}

/// The usage in a state folder.
fn usage(folder: Option<PathBuf>) -> Result<UsageReport, String> {
    let path = folder.ok_or("there is no state folder: set --state-dir")?.join(USAGE_FILE);
    let shown = path.display();
    let report = UsageReport::read(&path, Timestamp::now());
    let report = report.map_err(|error| format!("cannot read {shown}: {error}"))?;
    report.ok_or_else(|| format!("there is no {shown}: a service with that --state-dir writes it"))
}

/// One line for each day and caller.
fn usage_table(report: &UsageReport) -> String {
    let rows = report.days.iter().flat_map(|day| day.callers.iter().map(|it| (&*day.day, it)));
    let rows: Vec<(&str, &CallerUsage)> = rows.collect();
    let table = Table::new(&rows)
        .word("day", |(day, _)| *day)
        .word("name", |(_, caller)| caller.name.clone().unwrap_or_else(|| "-".to_owned()))
        .number("requests", |(_, caller)| caller.requests)
        .number("units", |(_, caller)| caller.units)
        .number("searches", |(_, caller)| caller.searches)
        .number("transcripts", |(_, caller)| caller.transcripts);
    table.written(None)
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_are_long_and_unique() {
        let (one, other) = (new_key().unwrap(), new_key().unwrap());
        assert!(one.starts_with("vk_") && one.len() == 3 + 64 && one != other);
    }
}
