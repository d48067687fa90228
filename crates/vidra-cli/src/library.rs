//! `vidra library`: maintenance of the library, beside a running service.

mod copy;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::FalseyValueParser;
use serde::Serialize;
use serde_json::json;
use vidra::format::span;
use vidra::{Reason, VideoId};
use vidra_library::{Check, Stats};

use crate::cache_args::StoreLocation;
use crate::database::{self, DatabaseArgs, DatabaseLocation, OpenLibrary};
use crate::failure::{Exit, Failure, print_error};
use crate::progress::Progress;
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
    /// Verify the file, the search index and the checksum of every transcript; exit code 1 if something is damaged
    ///
    /// --repair mends single transcripts and the index. A damaged file needs a backup
    Check {
        #[command(flatten)]
        file: LibraryArgs,
        /// Build a faulty index again, and remove damaged transcripts, so that their jobs fetch them again
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
    /// Copy a library file into an empty PostgreSQL database, with all jobs and collections
    ///
    /// Stop the services of both first. An interrupted copy continues; in the end everything is compared
    Copy {
        /// The library file: sqlite:PATH
        #[arg(long, value_name = "DATABASE")]
        from: DatabaseLocation,
        /// The database: postgres://...
        #[arg(long, value_name = "DATABASE", env = "VIDRA_DATABASE", hide_env_values = true)]
        to: DatabaseLocation,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the transcripts and the data of videos, and clear the cache store
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
    /// Build the search index again, while searches use the old one
    Reindex {
        #[command(flatten)]
        file: LibraryArgs,
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

impl LibraryArgs {
    /// Opens an existing library.
    async fn open(&self) -> Result<OpenLibrary, Failure> {
        self.database.place(self.state_dir.as_deref(), self.demo)?.require()?.open().await
    }

    /// Opens the library, and creates it if necessary.
    async fn open_or_create(&self) -> Result<OpenLibrary, Failure> {
        self.database.place(self.state_dir.as_deref(), self.demo)?.open().await
    }
}

/// Runs `vidra library`.
pub(crate) fn run(command: &LibraryCommand) -> Result<(), Failure> {
    runtime()?.block_on(async {
        match command {
            LibraryCommand::Stats { file, json } => stats(&file.open().await?, *json).await,
            LibraryCommand::Check { file, repair, json } => {
                check(&file.open().await?, *repair, *json).await
            }
            LibraryCommand::Backup { to, file } => backup(&file.open().await?, to).await,
            LibraryCommand::Export { to, file } => export(&file.open().await?, to.as_deref()).await,
            LibraryCommand::Import { from, file } => {
                import(&file.open_or_create().await?, from).await
            }
            LibraryCommand::Copy { from, to, json } => copy::run(from, to, *json).await,
            LibraryCommand::Forget { videos, file, cache } => {
                forget(&file.open().await?, videos, cache.as_ref(), file.demo).await
            }
            LibraryCommand::Reindex { file } => reindex(&file.open().await?).await,
            LibraryCommand::Vacuum { file } => vacuum(&file.open().await?).await,
        }
    })
}

async fn stats(file: &OpenLibrary, as_json: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        #[serde(flatten)]
        stats: Stats,
        file_bytes: u64,
        path: String,
    }
    let stats = file.done(file.library.stats().await)?;
    let (file_bytes, path) = (file.library.file_bytes().await, file.shown.clone());
    if as_json {
        return print_json(&Answer { stats, file_bytes, path });
    }
    let Stats { videos, transcripts, seconds, text_bytes, stored_bytes, jobs, items, .. } = stats;
    print(&format!(
        "file         {path}, {file_bytes} bytes\n\
        transcripts  {transcripts} of {videos} videos, {}\n\
        text         {text_bytes} bytes, {stored_bytes} compressed\n\
        jobs         {jobs} with {items} videos, {} unfinished\n\
        collections  {} with {} videos\n",
        span(seconds),
        stats.unfinished_jobs,
        stats.collections,
        stats.collection_videos,
    ))
}

async fn check(file: &OpenLibrary, repair: bool, as_json: bool) -> Result<(), Failure> {
    let checked = file.library.check(repair).await;
    if let Err(error) = &checked
        && error.reason() == Reason::LibraryDamaged
    {
        // The file itself, not a single transcript.
        print_error(&format!("{}: the file is damaged; restore a backup", file.shown));
        return Err(Failure::Reported(Exit::Missing));
    }
    let check = file.done(checked)?;
    if as_json {
        print_json(&check)?;
    }
    let Check { transcripts, damaged, faults, index_faults, renewed_items, .. } = check;
    faults.iter().chain(&index_faults).for_each(|fault| print_error(fault));
    if !index_faults.is_empty() {
        print_error(match repair {
            true => "the search index was built again",
            false => "--repair builds the search index again",
        });
    }
    if !as_json {
        let counts = format!("{transcripts} transcripts, {} damaged", damaged.len());
        let repaired = match repair && !damaged.is_empty() {
            true => format!("; removed, and {renewed_items} videos of jobs are pending again"),
            false => String::new(),
        };
        let index = if index_faults.is_empty() { "; the search index is whole" } else { "" };
        print(&format!("{counts}{repaired}{index}\n"))?;
    }
    if !damaged.is_empty() && !repair {
        print_error(&format!("damaged: {}; --repair removes them", damaged.join(", ")));
    }
    let is_good = faults.is_empty() && ((damaged.is_empty() && index_faults.is_empty()) || repair);
    if is_good { Ok(()) } else { Err(Failure::Reported(Exit::Missing)) }
}

async fn backup(file: &OpenLibrary, to: &Path) -> Result<(), Failure> {
    refuse_existing(to)?;
    file.library
        .backup(to)
        .await
        .map_err(|error| database::failure(&to.display().to_string(), &error))?;
    print(&format!("copied to {}\n", to.display()))
}

async fn export(file: &OpenLibrary, to: Option<&Path>) -> Result<(), Failure> {
    let Some(to) = to else { return export_to(file, &mut io::stdout().lock()).await };
    refuse_existing(to)?;
    // It gets its name once it is complete.
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let trouble = |error: io::Error| cannot("write", to, &error);
    let mut options = File::options();
    let mut out =
        options.write(true).create(true).truncate(true).mode(0o600).open(&part).map_err(trouble)?;
    let exported = export_to(file, &mut out).await;
    let exported = exported.and_then(|()| out.sync_all().map_err(trouble));
    let named = exported.and_then(|()| std::fs::rename(&part, to).map_err(trouble));
    named.inspect_err(|_| drop(std::fs::remove_file(&part)))
}

async fn export_to(file: &OpenLibrary, out: &mut dyn Write) -> Result<(), Failure> {
    let mut out = BufWriter::new(out);
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

async fn import(file: &OpenLibrary, from: &Path) -> Result<(), Failure> {
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
        let stored = file.library.import(&read, count).await;
        let before = format!("the first {count} lines are stored");
        added += stored.map_err(|error| {
            database::failure(&from.display().to_string(), &error).with_hint(&before)
        })?;
        count += read.len();
    }
    print(&format!("{count} transcripts, {added} new\n"))
}

async fn forget(
    file: &OpenLibrary,
    videos: &[VideoId],
    cache: Option<&StoreLocation>,
    demo: bool,
) -> Result<(), Failure> {
    let removed = file.done(file.library.forget(videos.to_vec()).await)?;
    let counted = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let (removed, videos) = (counted(removed, "transcript"), counted(videos.len() as u64, "video"));
    print(&format!("removed {removed} of {videos}\n"))?;
    let usual = StoreLocation::user_default(!demo);
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

async fn reindex(file: &OpenLibrary) -> Result<(), Failure> {
    let all = file.done(file.library.stats().await)?.transcripts;
    let progress = Progress::new(Some(all), false);
    let indexed = file.library.reindex(|done| progress.set(done, all, String::new())).await;
    drop(progress);
    print(&format!("indexed {} transcripts\n", file.done(indexed)?))
}

async fn vacuum(file: &OpenLibrary) -> Result<(), Failure> {
    let before = file.library.file_bytes().await;
    file.done(file.library.vacuum().await)?;
    print(&format!("{before} bytes before, {} now\n", file.library.file_bytes().await))
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
