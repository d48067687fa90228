//! The library file of commands: its flag, and how it is opened.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use vidra::{Error, Reason};
use vidra_library::{Library, Limits};

use crate::client::{ClientArgs, usual_state_dir};
use crate::failure::{Exit, Failure, described, exit_code};
use crate::values::Secret;

/// The library file of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// Library file: sqlite:PATH [default: library.db in the state folder]
    #[arg(
        long,
        env = "VIDRA_DATABASE",
        value_name = "DATABASE",
        hide_short_help = true,
        hide_env_values = true
    )]
    database: Option<DatabaseLocation>,
}

/// The location of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseLocation {
    /// There is none.
    Off,
    /// A SQLite file.
    File(PathBuf),
    /// The URL of a PostgreSQL database that several machines share. The library is still a file. The URL may contain a
    /// password, so it is validated when the database is connected: clap quotes an invalid argument.
    Postgres(Secret),
}

impl FromStr for DatabaseLocation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text.to_owned().into())),
            _ => Err("expected sqlite:PATH, postgres://..., or off"),
        }
    }
}

/// The name of the file in the state folder. Transcripts of the demo must not mix with real ones.
pub(crate) fn file_name(demo: bool) -> &'static str {
    if demo { "demo-library.db" } else { "library.db" }
}

impl DatabaseArgs {
    /// Opens the file, and creates it if necessary.
    pub(crate) fn open(&self, client: &ClientArgs) -> Result<Library, Failure> {
        open(&self.path(client.state_dir.as_deref(), client.demo)?)
    }

    /// # Errors
    ///
    /// If the file does not exist.
    pub(crate) fn require(&self, client: &ClientArgs) -> Result<(), Failure> {
        require(&self.path(client.state_dir.as_deref(), client.demo)?)
    }

    /// The path of the file.
    pub(crate) fn path(&self, state_dir: Option<&Path>, demo: bool) -> Result<PathBuf, Failure> {
        match &self.database {
            Some(DatabaseLocation::File(path)) => return Ok(path.clone()),
            Some(DatabaseLocation::Off) => {
                let message =
                    "the library is switched off: name a file with --database sqlite:PATH";
                return Err(Failure::usage(message));
            }
            Some(DatabaseLocation::Postgres(_)) | None => {}
        }
        let folder = state_dir.map(Path::to_owned).or_else(usual_state_dir);
        let none = || Failure::usage("there is no state folder: set --state-dir or --database");
        Ok(folder.ok_or_else(none)?.join(file_name(demo)))
    }
}

/// Opens a library file, and creates it with its folder if necessary. It blocks on files.
///
/// # Errors
///
/// Those of [`Library::open`].
pub(crate) fn create_or_open(path: &Path, limits: Limits) -> vidra::Result<Library> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.map_err(|error| {
            let message = "The folder of the library cannot be created";
            Error::new(Reason::LibraryUnavailable, message).with_source(error)
        })?;
    }
    Library::open(path, limits)
}

/// # Errors
///
/// If there is no library file at the path.
pub(crate) fn require(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let shown = path.display();
    let message = format!(
        "there is no library at {shown} yet; vidra grep, vidra job start and vidra collection add create it"
    );
    Err(Failure::Message(Exit::Missing, message))
}

/// Opens a library file for a command.
pub(crate) fn open(path: &Path) -> Result<Library, Failure> {
    create_or_open(path, Limits::default()).map_err(|error| failure(path, &error))
}

/// The failure of an operation on a library file: the file, the cause, and what to do.
pub(crate) fn failure(path: &Path, error: &Error) -> Failure {
    let mut parts = vec![described(error)];
    parts.extend(error.source().map(ToString::to_string));
    parts.extend(advice(error.reason()).map(str::to_owned));
    let message = format!("{}: {}", path.display(), parts.join("; "));
    Failure::Message(exit_code(0, Some(error.reason())), message)
}

fn advice(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::LibraryTooNew => Some("update vidra"),
        Reason::LibraryInUse => {
            Some("stop the other process first, so that the file can be updated")
        }
        Reason::LibraryDamaged => Some("restore a backup, or name another file with --database"),
        Reason::LibraryUnavailable => Some("check the disk and the rights of the file"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_parsed() {
        assert_eq!("off".parse(), Ok(DatabaseLocation::Off));
        assert_eq!("sqlite:/a:b".parse(), Ok(DatabaseLocation::File("/a:b".into())));
        let postgres = "postgres://vidra:pass@host/vidra";
        assert_eq!(postgres.parse(), Ok(DatabaseLocation::Postgres(postgres.to_owned().into())));
        assert!(!format!("{:?}", postgres.parse::<DatabaseLocation>()).contains("pass"));
        for text in ["", "sqlite", "sqlite:", "/a/b.db", "postgres", "mysql://host"] {
            assert!(text.parse::<DatabaseLocation>().is_err(), "{text}");
        }
    }
}
