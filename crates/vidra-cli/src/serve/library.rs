//! The library of the service: which file, and how its jobs run.

use std::path::Path;
use std::time::Duration;

use vidra::Reason;
use vidra_library::{Limits, WorkerConfig};
use vidra_server::{LibraryConfig, LibraryFile};

use crate::database::{DatabaseLocation, FILE, create_or_open};
use crate::failure::described;
use crate::values::{OrOff, at_least_one, time, units};

/// The heading of these settings in the help.
pub(crate) const LIBRARY_SETTINGS: &str = "Library and jobs";

/// The flags of the library and its jobs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = LIBRARY_SETTINGS)]
pub(crate) struct LibraryArgs {
    /// File of the library: sqlite:PATH, or off [default: library.db in the state folder]
    #[arg(long, env = "VIDRA_DATABASE", value_name = "DATABASE")]
    pub(crate) database: Option<DatabaseLocation>,

    /// Maximum number of items of jobs that run at once
    #[arg(long, env = "VIDRA_JOB_CONCURRENCY", value_name = "COUNT", default_value_t = 8, value_parser = at_least_one)]
    pub(crate) job_concurrency: usize,

    /// Units of a day that jobs leave to other requests
    #[arg(long, env = "VIDRA_JOB_RESERVE_UNITS", value_name = "UNITS", default_value_t = 2_000, value_parser = units)]
    pub(crate) job_reserve_units: u32,

    /// Maximum number of unfinished jobs of one key; more get 429. Without keys it applies to all callers together
    #[arg(long, env = "VIDRA_JOBS_PER_CALLER", value_name = "COUNT", default_value_t = 100, value_parser = at_least_one)]
    pub(crate) jobs_per_caller: usize,

    /// How long the library keeps transcripts, such as 90d, or off to keep them for ever; a plain number is seconds
    #[arg(long, env = "VIDRA_LIBRARY_RETENTION", value_name = "TIME", default_value = "off", value_parser = retention)]
    pub(crate) library_retention: OrOff<Duration>,
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
    /// Opens the library, and creates it if necessary. `None` if there is none. A disk that fails does not prevent the
    /// service from starting.
    ///
    /// # Errors
    ///
    /// If the file is damaged, belongs to a newer release, or cannot be migrated now.
    pub(crate) fn open(&self, state_dir: Option<&Path>) -> Result<Option<LibraryConfig>, String> {
        let path = match (&self.database, state_dir) {
            (Some(DatabaseLocation::Off), _) => return Ok(None),
            (Some(DatabaseLocation::File(path)), _) => path.clone(),
            (None, Some(folder)) => folder.join(FILE),
            (None, None) => {
                tracing::info!("no state folder: the library is off");
                return Ok(None);
            }
        };
        let limits = Limits::default().with_unfinished_jobs(Some(self.jobs_per_caller as u64));
        let file = match create_or_open(&path, limits) {
            Ok(library) => LibraryFile::new(library),
            Err(error) if error.reason() == Reason::LibraryUnavailable => {
                let source = std::error::Error::source(&error);
                tracing::error!(path = %path.display(), source, "library not opened, jobs wait");
                LibraryFile::unavailable(move || create_or_open(&path, limits))
            }
            Err(error) => {
                let (path, advice) = (path.display(), error.reason().advice());
                let message = described(&error);
                return Err(format!(
                    "{path}: {message} ({advice} --database names another file, or off)"
                ));
            }
        };
        let retention = match self.library_retention {
            OrOff::At(time) => Some(time),
            OrOff::Off => None,
        };
        let worker = WorkerConfig::default()
            .with_concurrency(self.job_concurrency)
            .with_reserve_units(self.job_reserve_units)
            .with_retention(retention);
        Ok(Some(LibraryConfig { file, worker }))
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
}
