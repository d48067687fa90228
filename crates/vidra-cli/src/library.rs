//! `vidra library`: the care of the library file, beside a running service.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::FalseyValueParser;
use serde::Serialize;
use serde_json::json;
use vidra::VideoId;
use vidra::format::span;
use vidra_library::{Check, Library, Stats};

use crate::cache_args::StoreLocation;
use crate::database::{self, DatabaseArgs};
use crate::failure::{Exit, Failure, print_error};
use crate::runtime::runtime;

/// Subcommands of `vidra library`.
#[derive(Debug, Subcommand)]
pub(crate) enum LibraryCommand {
    /// Show the size and the contents of the library
    Stats {
        #[command(flatten)]
        file: LibraryArgs,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Verify the file and the checksum of every transcript; exit code 1 if something is damaged
    Check {
        #[command(flatten)]
        file: LibraryArgs,
        /// Remove damaged transcripts, so that their jobs fetch them again
        #[arg(long)]
        repair: bool,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Copy the library to a new file, while it is in use
    Backup {
        /// The new file; it must not exist
        to: PathBuf,
        #[command(flatten)]
        file: LibraryArgs,
    },
    /// Write all transcripts as NDJSON, which vidra library import reads
    Export {
        /// The new file; it must not exist [default: standard output]
        to: Option<PathBuf>,
        #[command(flatten)]
        file: LibraryArgs,
    },
    /// Store exported transcripts; those that the library has stay as they are
    Import {
        /// A file that vidra library export wrote; - is standard input
        from: PathBuf,
        #[command(flatten)]
        file: LibraryArgs,
    },
    /// Remove everything about videos: their transcripts, and the cached answers
    Forget {
        /// Ids or URLs of videos
        #[arg(required = true, value_name = "VIDEO", value_parser = VideoId::parse)]
        videos: Vec<VideoId>,
        #[command(flatten)]
        file: LibraryArgs,
        /// Cache store to clear: fs:DIR or redis://…; off clears none [default: the user's cache folder]
        #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
        cache: Option<StoreLocation>,
    },
    /// Rewrite the file without free space; other processes wait meanwhile
    Vacuum {
        #[command(flatten)]
        file: LibraryArgs,
    },
}

/// The library file.
#[derive(Debug, clap::Args)]
pub(crate) struct LibraryArgs {
    #[command(flatten)]
    database: DatabaseArgs,

    /// State folder, which has the library file [default: the user's state folder]
    #[arg(long, env = "VIDRA_STATE_DIR", value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Use the library of the demo
    #[arg(long, env = "VIDRA_DEMO", value_parser = FalseyValueParser::new())]
    demo: bool,
}

/// An open library file.
struct OpenFile {
    library: Library,
    path: PathBuf,
}

impl LibraryArgs {
    /// Opens an existing file.
    fn open(&self) -> Result<OpenFile, Failure> {
        let path = self.path()?;
        if !path.exists() {
            let shown = path.display();
            let message = format!("there is no library at {shown} yet; vidra job start creates it");
            return Err(Failure::Message(Exit::Missing, message));
        }
        Ok(OpenFile { library: database::open(&path)?, path })
    }

    /// Opens the file, and creates it if necessary.
    fn open_or_create(&self) -> Result<OpenFile, Failure> {
        let path = self.path()?;
        Ok(OpenFile { library: database::open(&path)?, path })
    }

    fn path(&self) -> Result<PathBuf, Failure> {
        self.database.path(self.state_dir.as_deref(), self.demo)
    }
}

impl OpenFile {
    /// The result of an operation, whose failure names the file.
    fn done<T>(&self, result: vidra::Result<T>) -> Result<T, Failure> {
        result.map_err(|error| database::failure(&self.path, &error))
    }
}

/// Runs `vidra library`.
pub(crate) fn run(command: &LibraryCommand) -> Result<(), Failure> {
    runtime()?.block_on(async {
        match command {
            LibraryCommand::Stats { file, json } => stats(&file.open()?, *json).await,
            LibraryCommand::Check { file, repair, json } => {
                check(&file.open()?, *repair, *json).await
            }
            LibraryCommand::Backup { to, file } => backup(&file.open()?, to).await,
            LibraryCommand::Export { to, file } => export(&file.open()?, to.as_deref()).await,
            LibraryCommand::Import { from, file } => import(&file.open_or_create()?, from).await,
            LibraryCommand::Forget { videos, file, cache } => {
                forget(&file.open()?, videos, cache.as_ref()).await
            }
            LibraryCommand::Vacuum { file } => vacuum(&file.open()?).await,
        }
    })
}

async fn stats(file: &OpenFile, as_json: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        #[serde(flatten)]
        stats: Stats,
        file_bytes: u64,
        path: String,
    }
    let stats = file.done(file.library.stats().await)?;
    let (file_bytes, path) = (file.library.health().bytes, file.path.display().to_string());
    if as_json {
        return print_json(&Answer { stats, file_bytes, path });
    }
    let Stats { videos, transcripts, seconds, text_bytes, stored_bytes, jobs, items, .. } = stats;
    print(&format!(
        "file         {path}, {file_bytes} bytes\n\
        transcripts  {transcripts} of {videos} videos, {}\n\
        text         {text_bytes} bytes, {stored_bytes} compressed\n\
        jobs         {jobs} with {items} videos, {} unfinished\n",
        span(seconds),
        stats.unfinished_jobs,
    ))
}

async fn check(file: &OpenFile, repair: bool, as_json: bool) -> Result<(), Failure> {
    let check = file.done(file.library.check(repair).await)?;
    if as_json {
        print_json(&check)?;
    }
    let Check { transcripts, damaged, faults, renewed_items, .. } = check;
    faults.iter().for_each(|fault| print_error(fault));
    if !as_json {
        let counts = format!("{transcripts} transcripts, {} damaged", damaged.len());
        let repaired = match repair && !damaged.is_empty() {
            true => format!("; removed, and {renewed_items} videos of jobs are pending again"),
            false => String::new(),
        };
        print(&format!("{counts}{repaired}\n"))?;
    }
    if !damaged.is_empty() && !repair {
        print_error(&format!("damaged: {}; --repair removes them", damaged.join(", ")));
    }
    let is_good = faults.is_empty() && (damaged.is_empty() || repair);
    if is_good { Ok(()) } else { Err(Failure::Reported(Exit::Missing)) }
}

async fn backup(file: &OpenFile, to: &Path) -> Result<(), Failure> {
    refuse_existing(to)?;
    file.library.backup(to).await.map_err(|error| database::failure(to, &error))?;
    print(&format!("copied to {}\n", to.display()))
}

async fn export(file: &OpenFile, to: Option<&Path>) -> Result<(), Failure> {
    let mut out: Box<dyn Write> = match to {
        Some(path) => {
            refuse_existing(path)?;
            let created = File::create_new(path);
            Box::new(created.map_err(|error| cannot("write", path, &error))?)
        }
        None => Box::new(io::stdout()),
    };
    let mut out = BufWriter::new(&mut out);
    let (mut after, mut count) = (0, 0);
    loop {
        let (lines, last) = file.done(file.library.export(after).await)?;
        if lines.is_empty() {
            break;
        }
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        count += lines.len();
        after = last;
    }
    out.flush()?;
    print_error(&format!("exported {count} transcripts"));
    Ok(())
}

/// How many lines one transaction stores.
const LINES: usize = 200;

async fn import(file: &OpenFile, from: &Path) -> Result<(), Failure> {
    let input: Box<dyn BufRead> = match from == Path::new("-") {
        true => Box::new(BufReader::new(io::stdin())),
        false => {
            let opened = File::open(from).map_err(|error| cannot("read", from, &error))?;
            Box::new(BufReader::new(opened))
        }
    };
    let (mut added, mut count) = (0, 0);
    let mut lines = input.lines();
    loop {
        let read: io::Result<Vec<String>> = lines.by_ref().take(LINES).collect();
        let read = read.map_err(|error| cannot("read", from, &error))?;
        if read.is_empty() {
            break;
        }
        let stored = file.library.import(&read).await;
        let before = format!("after {count} lines, which are stored");
        added += stored.map_err(|error| database::failure(from, &error).with_hint(&before))?;
        count += read.len();
    }
    print(&format!("{count} transcripts, {added} new\n"))
}

async fn forget(
    file: &OpenFile,
    videos: &[VideoId],
    cache: Option<&StoreLocation>,
) -> Result<(), Failure> {
    let removed = file.done(file.library.forget(videos.to_vec()).await)?;
    print(&format!("removed {removed} transcripts of {} videos\n", videos.len()))?;
    let usual = StoreLocation::user_default(true);
    let location = cache.unwrap_or(&usual);
    // A store cannot be searched for the answers of a video.
    if let Some(store) = location.existing()? {
        let cleared = store.clear().await;
        cleared.map_err(|error| {
            Failure::Message(Exit::Network, format!("cannot clear the cache store: {error}"))
        })?;
        print("cleared the cache store\n")?;
    }
    print_error(
        "a running service keeps cached answers of these videos in memory until it restarts",
    );
    Ok(())
}

async fn vacuum(file: &OpenFile) -> Result<(), Failure> {
    let before = file.library.health().bytes;
    file.done(file.library.vacuum().await)?;
    print(&format!("{before} bytes before, {} now\n", file.library.health().bytes))
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match path.exists() {
        true => Err(Failure::usage(format!("{} exists; name a new file", path.display()))),
        false => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Message(Exit::Missing, format!("cannot {what} {}: {error}", path.display()))
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&format!("{}\n", json!(value)))
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}
