//! The data commands. Each sends one request to the REST interface, or one per item, and prints the
//! answers.

mod channel;
mod collection;
mod comment;
mod document;
mod feed;
mod grep;
mod ids;
mod include;
mod job;
mod link;
mod pages;
mod part;
mod playlist;
mod popular;
mod query;
mod quota;
mod region;
mod search;
mod search_videos;
mod transcript;
mod transcripts;
mod video;

use bytes::Bytes;
use clap::Subcommand;
use futures_util::{StreamExt, stream};
use serde::de::DeserializeOwned;

use crate::database::DatabaseArgs;
use crate::failure::{
    Exit, FailedItem, Failure, FailureGroups, ItemKind, Refused, concerns_service,
};
use crate::output::{FROM, Form, Output, OutputArgs};
use crate::runtime::runtime;
use crate::service::{RestRequest, Service, ServiceArgs};
use crate::signals;
use ids::{Ids, Kind, one};

#[derive(Debug, Subcommand)]
pub(crate) enum Data {
    /// Show videos in full
    Video(Box<video::VideoArgs>),
    /// List videos as a table; one unit of quota for 50 videos
    Videos(Box<video::VideoArgs>),
    /// Show channels
    Channel(Box<ItemsArgs>),
    /// List the newest uploads of channels
    ///
    /// Without flags it lists the newest five
    Uploads(Box<channel::UploadsArgs>),
    /// List the public playlists of channels
    Playlists(Box<channel::PlaylistsArgs>),
    /// List the newest videos of channels and playlists from their public feeds; ids need no API key
    Feed(Box<ItemsArgs>),
    /// Show playlists with all their videos
    Playlist(Box<playlist::PlaylistArgs>),
    /// Filter, sort and slice a playlist
    Query(Box<query::QueryArgs>),
    /// Search YouTube for videos, channels or playlists; YouTube allows 100 searches a day
    SearchVideos(Box<search_videos::SearchArgs>),
    /// List the popular videos of a region
    Popular(Box<popular::PopularArgs>),
    /// Show comments on videos
    Comments(Box<comment::CommentsArgs>),
    /// Show all replies to comments
    Replies(Box<ItemsArgs>),
    /// List the caption tracks of videos
    Tracks(Box<ItemsArgs>),
    /// Print the transcripts of videos
    Transcript(Box<transcript::TranscriptArgs>),
    /// Show transcripts with title, channel and track
    Document(Box<document::DocumentArgs>),
    /// Divide transcripts into chunks, for search indexes and language models
    Chunks(Box<document::ChunksArgs>),
    /// Fetch the transcripts of a playlist, of a channel, or of a list of videos
    Transcripts(Box<transcripts::TranscriptsArgs>),
    /// Run durable jobs over many videos, which survive restarts
    #[command(subcommand)]
    Job(Box<job::JobCommand>),
    /// Keep sets of channels, playlists, videos and searches up to date
    #[command(subcommand)]
    Collection(Box<collection::CollectionCommand>),
    /// Find what was said in the videos of the library, and at which second
    ///
    /// Jobs, collections and vidra grep fill the library
    Search(Box<search::SearchArgs>),
    /// Find a phrase in videos, playlists and channels; fetches the transcripts that the library lacks
    Grep(Box<grep::GrepArgs>),
    /// Show how often something was said, by month of publication
    Trends(Box<search::TrendsArgs>),
    /// List the regions that YouTube serves
    Regions(Box<region::NamesArgs>),
    /// List the languages of YouTube's interface
    Languages(Box<region::NamesArgs>),
    /// List the categories of videos
    Categories(Box<region::CategoriesArgs>),
    /// Show what links point to; sends no request
    Link(Box<ItemsArgs>),
    /// Show the remaining quota of the day
    Quota(Box<Common>),
}

impl Data {
    /// Whether the output of the command of this name can be a list, which `--csv` and `--fields` need.
    pub(crate) fn has_list(name: &str) -> bool {
        !matches!(
            name,
            "video" | "channel" | "document" | "chunks" | "transcripts" | "link" | "quota"
        )
    }
}

/// The flags of every data command.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The arguments of commands without flags of their own.
#[derive(Debug, clap::Args)]
pub(crate) struct ItemsArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    common: Common,
}

/// The items that a command expects, and what it costs at most to request one.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    kind: Kind,
    units: u64,
}

impl Wanted {
    fn new(kind: Kind, units: u64) -> Self {
        Self { kind, units }
    }
}

/// How many requests a command sends at once.
const CONCURRENCY: usize = 8;

/// Runs a data command.
pub(crate) fn run(command: &Data) -> Result<(), Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        signals::survive_reload()?;
        match command {
            Data::Video(args) => video::show(args).await,
            Data::Videos(args) => video::list(args).await,
            Data::Channel(args) => channel::show(args).await,
            Data::Uploads(args) => channel::uploads(args).await,
            Data::Playlists(args) => channel::playlists(args).await,
            Data::Feed(args) => feed::show(args).await,
            Data::Playlist(args) => playlist::show(args).await,
            Data::Query(args) => query::query(args).await,
            Data::SearchVideos(args) => search_videos::search(args).await,
            Data::Popular(args) => popular::list(args).await,
            Data::Comments(args) => comment::show(args).await,
            Data::Replies(args) => comment::replies(args).await,
            Data::Tracks(args) => transcript::tracks(args).await,
            Data::Transcript(args) => transcript::write(args).await,
            Data::Document(args) => document::show(args).await,
            Data::Chunks(args) => document::chunks(args).await,
            Data::Transcripts(args) => transcripts::write(args).await,
            Data::Job(command) => job::run(command).await,
            Data::Collection(command) => collection::run(command).await,
            Data::Search(args) => search::search(args).await,
            Data::Grep(args) => grep::grep(args).await,
            Data::Trends(args) => search::trends(args).await,
            Data::Regions(args) => region::regions(args).await,
            Data::Languages(args) => region::languages(args).await,
            Data::Categories(args) => region::categories(args).await,
            Data::Link(args) => link::show(args).await,
            Data::Quota(common) => quota::show(common).await,
        }
    });
    // A blocking thread may still run, and nobody waits for its result.
    runtime.shutdown_background();
    done
}

/// The service that answers a command, and its output.
struct CommandContext {
    service: Service,
    output: Output,
    /// The members of `--fields`.
    fields: Option<String>,
}

impl Common {
    /// Whether `--csv` or `--fields` is given, which only lists have.
    fn is_for_list(&self) -> bool {
        self.output.form() == Form::Csv || self.output.fields().is_some()
    }

    /// Rejects `--csv` and `--fields`, for a command whose answer is no list.
    fn reject_list_flags(&self, instead: &str) -> Result<(), Failure> {
        match self.is_for_list() {
            true => Err(Failure::usage(format!(
                "--csv and --fields work only with lists: use {instead}"
            ))),
            false => Ok(()),
        }
    }

    fn open(&self) -> Result<CommandContext, Failure> {
        let output = Output::new(&self.output)?;
        let service = Service::open(&self.service, output.is_quiet())?;
        Ok(CommandContext { service, output, fields: self.output.fields().map(str::to_owned) })
    }

    /// Opens a service with jobs.
    async fn open_with_library(&self, database: &DatabaseArgs) -> Result<CommandContext, Failure> {
        let output = Output::new(&self.output)?;
        let service =
            Service::open_with_library(&self.service, database, output.is_quiet()).await?;
        Ok(CommandContext { service, output, fields: self.output.fields().map(str::to_owned) })
    }

    /// Sends one request and prints the answer.
    async fn show<T: ?Sized>(
        &self,
        request: RestRequest,
        shown: fn(&T, Option<usize>) -> String,
    ) -> Result<(), Failure>
    where
        Box<T>: DeserializeOwned,
    {
        let mut context = self.open()?;
        let answer = context.service.fetch(&context.shaped(request)).await;
        let done = answer.and_then(|body| context.output.answer("", &body, shown));
        context.end(done).await
    }

    /// Sends a request for each item and prints the answers.
    async fn show_each<T: ?Sized>(
        &self,
        wanted: Wanted,
        ids: &Ids,
        request: impl Fn(&str) -> RestRequest,
        shown: fn(&T, Option<usize>) -> String,
    ) -> Result<(), Failure>
    where
        Box<T>: DeserializeOwned,
    {
        let write = |output: &mut Output, id: &str, body: Bytes| output.answer(id, &body, shown);
        self.open()?.each(wanted, &ids.all()?, ids.is_one(), request, write).await
    }
}

impl CommandContext {
    /// A request for the format and the members that the flags name.
    fn shaped(&self, request: RestRequest) -> RestRequest {
        let request = request.parameter("fields", self.fields.as_ref());
        if self.output.form == Form::Csv { request.accept("text/csv") } else { request }
    }

    /// Begins after an estimate of the cost. If the user declined, the command ends, with the cost of the estimate.
    async fn begin(&mut self, agreed: Result<(), Failure>) -> Result<(), Failure> {
        if agreed.is_err() { self.end(agreed).await } else { Ok(()) }
    }

    /// The output is a list of several items. If an item yields a list, its elements have the member `from`, which
    /// the service does not know.
    fn begin_several(&mut self) -> Result<(), Failure> {
        self.output.begin_several();
        if let Some(fields) = &mut self.fields {
            let members: Vec<&str> = fields.split(',').filter(|name| name.trim() != FROM).collect();
            if members.is_empty() {
                return Err(Failure::usage(
                    "--fields from needs a member of the items too, such as --fields from,id",
                ));
            }
            *fields = members.join(",");
        }
        Ok(())
    }

    /// Sends a request for each item and passes the answers to `write`, in order. Reports failures without
    /// stopping. `is_one` is whether the output is the only item itself, and not a list.
    async fn each(
        &mut self,
        wanted: Wanted,
        ids: &[String],
        is_one: bool,
        request: impl Fn(&str) -> RestRequest,
        mut write: impl FnMut(&mut Output, &str, Bytes) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let units = wanted.units.saturating_mul(ids.len() as u64);
        self.service.spending().confirm(units, &ItemKind::Request.counted(ids.len()))?;
        if !is_one {
            self.begin_several()?;
        }
        let request = |id: &str| self.shaped(request(id));
        let requests: Vec<RestRequest> = ids.iter().map(|id| request(id)).collect();
        let Self { service, output, .. } = self;
        let service = &*service;
        let mut answers = stream::iter(ids.iter().zip(&requests))
            .map(|(id, request)| async move { (id, service.fetch(request).await) })
            .buffered(CONCURRENCY);
        let mut tally = Tally::default();
        let mut done = Ok(());
        while let Some((id, answer)) = answers.next().await {
            let answer = answer.map_err(|failure| wanted.kind.hint(id, failure));
            let answer = answer.and_then(|body| write(output, id, body));
            done = if is_one { tally.note(answer) } else { tally.note_one(id, answer) };
            if done.is_err() {
                break;
            }
        }
        drop(answers);
        self.end(done.and_then(|()| tally.end())).await
    }

    /// Ends the output, waits until the cache has stored what was fetched, and prints the failure and then the
    /// cost.
    async fn end(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        let ended = self.output.end();
        let done = done.map_err(Failure::reported);
        // The output can also fail after failures of single items, for example in the filter.
        let done = ended.map_err(Failure::reported).and(done);
        self.service.settle().await;
        self.service.spending().report();
        done
    }
}

/// The results of several requests.
#[derive(Debug, Default)]
struct Tally {
    answered: usize,
    /// The worst failure that was reported at once.
    worst: Option<Exit>,
    /// Failures that do not name their item. They may concern many, and are reported at the end.
    shared: FailureGroups,
}

impl Tally {
    /// Counts an answer or reports a failure. Only a closed pipe and a declined cost end the command.
    fn note(&mut self, answer: Result<(), Failure>) -> Result<(), Failure> {
        match answer {
            Ok(()) => self.answered += 1,
            Err(end @ (Failure::ReaderGone | Failure::Declined)) => return Err(end),
            Err(failure) => self.worst = self.worst.max(failure.report()),
        }
        Ok(())
    }

    /// Counts the answer for one of several items. A failure that concerns the service is reported at the end,
    /// once for all items.
    fn note_one(&mut self, id: &str, answer: Result<(), Failure>) -> Result<(), Failure> {
        match answer {
            Err(Failure::Refused(Refused {
                reason: Some(reason), message, retry_after, ..
            })) if concerns_service(reason) => {
                let (label, name) = (id.to_owned(), id.to_owned());
                let reason = Some(reason);
                self.shared.add(FailedItem { label, name, message, reason, retry_after });
                Ok(())
            }
            answer => self.note(answer.map_err(|failure| failure.about(id))),
        }
    }

    /// Reports the failures of the service. The exit code is theirs; otherwise it is `Missing` if some requests
    /// failed, and the worst failure if all did.
    fn end(self) -> Result<(), Failure> {
        self.shared.print(ItemKind::Request);
        let exit = self.shared.exit(self.answered > 0).or(match self.worst {
            Some(_) if self.answered > 0 => Some(Exit::Missing),
            worst => worst,
        });
        exit.map_or(Ok(()), |exit| Err(Failure::Reported(exit)))
    }
}

/// Parses the arguments of a command, in tests. The program itself has the flag that they share.
#[cfg(test)]
fn parsed<T: clap::Args>(line: &[&str]) -> T {
    let quiet = clap::Arg::new("quiet").long("quiet").action(clap::ArgAction::SetTrue);
    let command = T::augment_args(clap::Command::default()).arg(quiet);
    T::from_arg_matches(&command.try_get_matches_from(line).unwrap()).unwrap()
}
