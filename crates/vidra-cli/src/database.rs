//! The library of commands: its flag, and how it is opened.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use vidra::{Database, Error, Reason};
use vidra_library::{Library, Limits};

use crate::client::{ClientArgs, usual_state_dir};
use crate::failure::{Exit, Failure, described, exit_code};
use crate::values::Secret;

/// The library of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// Library: sqlite:PATH, or the database of several machines, postgres://... [default: library.db in the state folder]
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
    /// The URL of a PostgreSQL database that several machines share. It may contain a password, so it is validated when the
    /// database is connected: clap quotes an invalid argument.
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

/// The place of a library.
#[derive(Debug, Clone)]
pub(crate) enum Place<'a> {
    File(PathBuf),
    Postgres(&'a str),
}

/// An open library.
pub(crate) struct OpenLibrary {
    pub(crate) library: Library,
    /// The database that several machines share.
    pub(crate) database: Option<Database>,
    /// Its place as text, without a password.
    pub(crate) shown: String,
}

impl OpenLibrary {
    /// The result of an operation, whose failure names the place.
    pub(crate) fn done<T>(&self, result: vidra::Result<T>) -> Result<T, Failure> {
        result.map_err(|error| failure(&self.shown, &error))
    }
}

impl DatabaseArgs {
    /// Whether a flag or variable names the library.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self.database, None | Some(DatabaseLocation::Off))
    }

    /// Opens the library, and creates it if necessary.
    pub(crate) async fn open(&self, client: &ClientArgs) -> Result<OpenLibrary, Failure> {
        self.place(client.state_dir.as_deref(), client.demo)?.open().await
    }

    /// # Errors
    ///
    /// If there is no library.
    pub(crate) fn require(&self, client: &ClientArgs) -> Result<(), Failure> {
        self.place(client.state_dir.as_deref(), client.demo)?.require().map(drop)
    }

    /// The place of the library.
    pub(crate) fn place(&self, state_dir: Option<&Path>, demo: bool) -> Result<Place<'_>, Failure> {
        match &self.database {
            Some(DatabaseLocation::File(path)) => return Ok(Place::File(path.clone())),
            Some(DatabaseLocation::Postgres(Secret(url))) => return Ok(Place::Postgres(url)),
            Some(DatabaseLocation::Off) => {
                let message =
                    "the library is switched off: name a file with --database sqlite:PATH";
                return Err(Failure::usage(message));
            }
            None => {}
        }
        let folder = state_dir.map(Path::to_owned).or_else(usual_state_dir);
        let none = || Failure::usage("there is no state folder: set --state-dir or --database");
        Ok(Place::File(folder.ok_or_else(none)?.join(file_name(demo))))
    }
}

impl Place<'_> {
    /// # Errors
    ///
    /// If there is no library file at the path.
    pub(crate) fn require(self) -> Result<Self, Failure> {
        let Self::File(path) = &self else { return Ok(self) };
        if path.exists() {
            return Ok(self);
        }
        let shown = path.display();
        let message = format!(
            "there is no library at {shown} yet; vidra grep, vidra job start and vidra collection add create it"
        );
        Err(Failure::Message(Exit::Missing, message))
    }

    /// Opens the library, and creates it if necessary.
    pub(crate) async fn open(&self) -> Result<OpenLibrary, Failure> {
        let limits = Limits::default();
        match self {
            Self::File(path) => {
                let shown = path.display().to_string();
                let opened = create_or_open(path, limits);
                let library = opened.map_err(|error| failure(&shown, &error))?;
                Ok(OpenLibrary { library, database: None, shown })
            }
            Self::Postgres(url) => {
                let unusable = |error: Error| unusable_database(&error);
                let database = Database::connect(url).await.map_err(unusable)?;
                let library = Library::open_in_postgres(&database, limits).await;
                let (library, shown) = (library.map_err(unusable)?, without_password(url));
                Ok(OpenLibrary { library, database: Some(database), shown })
            }
        }
    }
}

/// The failure of a database that cannot be used. One that is not there yet may be there later, so that a supervisor
/// should try again.
pub(crate) fn unusable_database(error: &Error) -> Failure {
    let message = format!("--database: {}", described(error));
    match error.reason() {
        Reason::DatabaseUnavailable | Reason::LibraryUnavailable => {
            Failure::Message(Exit::Network, message)
        }
        _ => Failure::usage(&*message),
    }
}

/// The URL of a database without user, password and parameters.
fn without_password(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("postgres://{}", rest.split('?').next().unwrap_or_default())
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

/// The failure of an operation on a library: its place, the cause, and what to do.
pub(crate) fn failure(place: &str, error: &Error) -> Failure {
    let mut parts = vec![described(error)];
    parts.extend(error.source().map(ToString::to_string));
    let is_file = !place.starts_with("postgres://");
    parts.extend(advice(error.reason()).filter(|_| is_file).map(str::to_owned));
    let message = format!("{place}: {}", parts.join("; "));
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
        assert_eq!(without_password(postgres), "postgres://host/vidra");
        assert_eq!(without_password("postgres://a:p@b@c:5433/d?x=y"), "postgres://c:5433/d");
        for text in ["", "sqlite", "sqlite:", "/a/b.db", "postgres", "mysql://host"] {
            assert!(text.parse::<DatabaseLocation>().is_err(), "{text}");
        }
    }
}
