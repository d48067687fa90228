//! The library of the service: which file, and how its jobs run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::FalseyValueParser;
use vidra::{Database, Reason};
use vidra_library::{Library, Limits, WorkerConfig};
use vidra_server::{FetchedTranscripts, LibraryAccess, LibraryConfig, LibraryFile};

use crate::client::{ClientArgs, usual_reserve_units};
use crate::database::{DatabaseLocation, create_or_open, file_name, unusable_database};
use crate::failure::{Failure, described};
use crate::values::{OrOff, Secret, at_least_one, bytes, time, units};

/// The heading of these settings in the help.
pub(crate) const LIBRARY_SETTINGS: &str = "Library, jobs and collections";

/// The flags of the library and its jobs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = LIBRARY_SETTINGS)]
pub(crate) struct LibraryArgs {
    /// Library: a file, sqlite:PATH, or off. Or a PostgreSQL database that several machines with the same API key share,
    /// postgres://...: they spend one quota together, and have one library with its jobs and collections [default:
    /// library.db in the state folder]
    #[arg(long, env = "VIDRA_DATABASE", value_name = "DATABASE", hide_env_values = true)]
    pub(crate) database: Option<DatabaseLocation>,

    /// Maximum number of items of jobs that run at once
    #[arg(long, env = "VIDRA_JOB_CONCURRENCY", value_name = "COUNT", default_value_t = 8, value_parser = at_least_one)]
    pub(crate) job_concurrency: usize,

    /// Units of a day that jobs leave to other requests [default: a fifth of --quota-limit, which is 2000]
    #[arg(long, env = "VIDRA_JOB_RESERVE_UNITS", value_name = "UNITS", value_parser = units)]
    pub(crate) job_reserve_units: Option<u32>,

    /// Maximum number of unfinished jobs of one key; more get 429. Without keys it applies to all callers together
    #[arg(long, env = "VIDRA_JOBS_PER_CALLER", value_name = "COUNT", default_value_t = 100, value_parser = at_least_one)]
    pub(crate) jobs_per_caller: usize,

    /// Maximum number of collections of one key; more get 429. Without keys it applies to all callers together
    #[arg(long, env = "VIDRA_COLLECTIONS_PER_CALLER", value_name = "COUNT", default_value_t = 100, value_parser = at_least_one)]
    pub(crate) collections_per_caller: usize,

    /// Maximum size of the library file, such as 20GB, or off; beyond it nothing is stored and jobs wait
    #[arg(long, env = "VIDRA_LIBRARY_MAX_SIZE", value_name = "SIZE", default_value = "off", value_parser = size)]
    pub(crate) library_max_size: OrOff<u64>,

    /// Maximum size of the transcripts that the jobs of one key have stored, such as 2GB, or off; beyond it its jobs wait
    #[arg(long, env = "VIDRA_LIBRARY_SIZE_PER_CALLER", value_name = "SIZE", default_value = "off", value_parser = size)]
    pub(crate) library_size_per_caller: OrOff<u64>,

    /// Transcripts that the library stores: those of jobs, or all that the service fetches
    #[arg(long, env = "VIDRA_LIBRARY_KEEP", value_name = "WHICH", default_value = "jobs")]
    pub(crate) library_keep: Keep,

    /// Part of the library that a key can search: all of it, or the videos of its own jobs and collections. Keys of
    /// operators search everything
    #[arg(long, env = "VIDRA_LIBRARY_ACCESS", value_name = "WHICH", default_value = "all")]
    pub(crate) library_access: Access,

    /// How long the library stores transcripts that are in no collection, such as 90d, or off for no limit; a plain
    /// number is seconds
    #[arg(long, env = "VIDRA_LIBRARY_RETENTION", value_name = "TIME", default_value = "off", value_parser = retention)]
    pub(crate) library_retention: OrOff<Duration>,

    /// Remove the transcripts of videos of collections that were deleted or made private
    #[arg(long, env = "VIDRA_LIBRARY_FOLLOW_DELETIONS", value_parser = FalseyValueParser::new())]
    pub(crate) library_follow_deletions: bool,
}

/// The units of a day that jobs leave to other requests.
///
/// # Errors
///
/// If jobs could never spend anything.
pub(crate) fn reserve_units(given: Option<u32>, quota_limit: u32) -> Result<u32, String> {
    match given {
        None => Ok(usual_reserve_units(quota_limit)),
        Some(units) if units < quota_limit || quota_limit == 0 => Ok(units),
        Some(units) => Err(format!(
            "--job-reserve-units {units} leaves nothing to jobs: it must be less than --quota-limit {quota_limit}"
        )),
    }
}

/// The part of the library that a key can search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Access {
    All,
    Own,
}

/// The transcripts that the library stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Keep {
    /// Those of jobs
    Jobs,
    /// All that the service fetches
    All,
}

/// The smallest size of a library: the file without transcripts has about 200 KB.
const MIN_SIZE: u64 = 1 << 20;

/// A size of at least 1 MB, or `off`.
fn size(text: &str) -> Result<OrOff<u64>, String> {
    if text == "off" {
        return Ok(OrOff::Off);
    }
    let wrong = || "expected a size of at least 1MB, such as 20GB, or off".to_owned();
    let size = bytes(text).map_err(|_| wrong())?;
    if size < MIN_SIZE { Err(wrong()) } else { Ok(OrOff::At(size)) }
}

/// A time of at least a second, or `off`.
fn retention(text: &str) -> Result<OrOff<Duration>, String> {
    if text == "off" {
        return Ok(OrOff::Off);
    }
    let wrong = || "expected a time such as 90d or 12h, or off".to_owned();
    let time = time(text, "s").map_err(|_| wrong())?;
    if time < Duration::from_secs(1) { Err(wrong()) } else { Ok(OrOff::At(time)) }
}

impl LibraryArgs {
    /// The URL of the database that several machines share.
    pub(crate) fn shared_database(&self) -> Option<&str> {
        match &self.database {
            Some(DatabaseLocation::Postgres(Secret(url))) => Some(url),
            _ => None,
        }
    }

    /// The path of the library file. `None` if there is none.
    fn path(&self, state_dir: Option<&Path>, demo: bool) -> Option<PathBuf> {
        match &self.database {
            Some(DatabaseLocation::Off) => return None,
            Some(DatabaseLocation::File(path)) => return Some(path.clone()),
            Some(DatabaseLocation::Postgres(_)) | None => {}
        }
        if state_dir.is_none() {
            tracing::info!("no state folder: the library is off");
        }
        state_dir.map(|folder| folder.join(file_name(demo)))
    }

    /// Opens the library, in `database` if machines share one, and creates it if necessary. `None` if there is none. A disk
    /// that fails does not prevent the service from starting.
    ///
    /// # Errors
    ///
    /// If the file is damaged, belongs to a newer release, or cannot be migrated now.
    pub(crate) async fn open(
        &self,
        state_dir: Option<&Path>,
        client: &ClientArgs,
        database: Option<&Database>,
    ) -> Result<Option<LibraryConfig>, Failure> {
        let reserve_units = reserve_units(self.job_reserve_units, client.quota_limit)?;
        let limits = Limits::default()
            .with_unfinished_jobs(Some(self.jobs_per_caller as u64))
            .with_collections(Some(self.collections_per_caller as u64))
            .with_caller_bytes(self.library_size_per_caller.value())
            .with_file_bytes(self.library_max_size.value());
        let file = match database {
            Some(database) => {
                let opened = Library::open_in_postgres(database, limits).await;
                LibraryFile::new(opened.map_err(|error| unusable_database(&error))?)
            }
            None => match self.path(state_dir, client.demo) {
                Some(path) => open_file(path, limits)?,
                None => return Ok(None),
            },
        };
        let worker = WorkerConfig::default()
            .with_concurrency(self.job_concurrency)
            .with_reserve_units(reserve_units)
            .with_retention(self.library_retention.value())
            .with_follows_deletions(self.library_follow_deletions);
        let fetched = (self.library_keep == Keep::All).then(FetchedTranscripts::default);
        let access = match self.library_access {
            Access::All => LibraryAccess::All,
            Access::Own => LibraryAccess::Own,
        };
        Ok(Some(LibraryConfig { fetched, access, ..LibraryConfig::new(file, worker) }))
    }
}

/// Opens a library file. If the disk fails, the service tries again later.
fn open_file(path: PathBuf, limits: Limits) -> Result<LibraryFile, String> {
    match create_or_open(&path, limits) {
        Ok(library) => Ok(LibraryFile::new(library)),
        Err(error) if error.reason() == Reason::LibraryUnavailable => {
            let source = std::error::Error::source(&error);
            tracing::error!(path = %path.display(), source, "library not opened, jobs wait");
            Ok(LibraryFile::unavailable(move || create_or_open(&path, limits)))
        }
        Err(error) => {
            let (path, advice) = (path.display(), error.reason().advice());
            let message = described(&error);
            Err(format!("{path}: {message} ({advice} --database names another file, or off)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed() {
        assert_eq!(retention("off"), Ok(OrOff::Off));
        assert_eq!(retention("90d"), Ok(OrOff::At(Duration::from_secs(90 * 86_400))));
        for text in ["", "0", "x", "-1"] {
            assert!(retention(text).is_err(), "{text}");
        }
    }

    #[test]
    fn jobs_always_have_a_share_of_the_quota() {
        assert_eq!(reserve_units(None, 10_000), Ok(2_000));
        assert_eq!(reserve_units(None, 1_000), Ok(200));
        assert_eq!(reserve_units(Some(0), 1_000), Ok(0));
        assert!(reserve_units(Some(1_000), 1_000).is_err());
    }

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(size("off"), Ok(OrOff::Off));
        assert_eq!(size("2GB"), Ok(OrOff::At(2 << 30)));
        for text in ["", "0", "512KB", "x"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
