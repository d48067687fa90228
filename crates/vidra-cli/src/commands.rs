//! The data commands. Each sends one request to the REST interface, or one per item, and prints the
//! answers.

mod channel;
mod comment;
mod link;
mod playlist;
mod quota;
mod region;
mod transcript;
mod transcripts;
mod video;

use std::io::{self, BufRead};

use bytes::Bytes;
use clap::Subcommand;
use futures_util::{StreamExt, stream};
use serde::de::DeserializeOwned;

use crate::failure::{
    Exit, FailedItem, Failure, FailureGroups, ItemKind, Refused, concerns_service,
};
use crate::output::{Output, OutputArgs};
use crate::runtime::runtime;
use crate::service::{RestRequest, Service, ServiceArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Data {
    /// Show videos in full
    Video(Box<ItemsArgs>),
    /// List videos as a table; one unit of quota for 50 videos
    Videos(Box<ItemsArgs>),
    /// Show channels
    Channel(Box<ItemsArgs>),
    /// List the newest uploads of channels
    Uploads(Box<channel::UploadsArgs>),
    /// Show playlists with all their videos
    Playlist(Box<playlist::PlaylistArgs>),
    /// Filter, sort and slice a playlist
    Query(Box<playlist::QueryArgs>),
    /// Show comments on videos
    Comments(Box<comment::CommentsArgs>),
    /// Show all replies to comments
    Replies(Box<ItemsArgs>),
    /// List the caption tracks of videos
    Tracks(Box<ItemsArgs>),
    /// Print the transcripts of videos
    Transcript(Box<transcript::TranscriptArgs>),
    /// Fetch the transcripts of a whole playlist
    Transcripts(Box<transcripts::TranscriptsArgs>),
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

/// The flags of every data command.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The items that a command requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Ids {
    /// Ids or URLs; - reads more from standard input, one per line
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// The arguments of commands without flags of their own.
#[derive(Debug, clap::Args)]
pub(crate) struct ItemsArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    common: Common,
}

/// How many requests a command sends at once.
const CONCURRENCY: usize = 8;

/// Runs a data command.
pub(crate) fn run(command: &Data) -> Result<(), Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        match command {
            Data::Video(args) => video::show(args).await,
            Data::Videos(args) => video::list(args).await,
            Data::Channel(args) => channel::show(args).await,
            Data::Uploads(args) => channel::uploads(args).await,
            Data::Playlist(args) => playlist::show(args).await,
            Data::Query(args) => playlist::query(args).await,
            Data::Comments(args) => comment::show(args).await,
            Data::Replies(args) => comment::replies(args).await,
            Data::Tracks(args) => transcript::tracks(args).await,
            Data::Transcript(args) => transcript::write(args).await,
            Data::Transcripts(args) => transcripts::write(args).await,
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
}

impl Common {
    fn open(&self) -> Result<CommandContext, Failure> {
        Ok(CommandContext {
            service: Service::open(&self.service)?,
            output: Output::new(self.output),
        })
    }

    /// Sends one request and prints the answer.
    async fn show<T: ?Sized>(
        &self,
        request: &RestRequest,
        shown: fn(&T, Option<usize>) -> String,
    ) -> Result<(), Failure>
    where
        Box<T>: DeserializeOwned,
    {
        let mut context = self.open()?;
        let answer = context.service.fetch(request).await;
        let done = answer.and_then(|body| context.output.answer("", &body, shown));
        context.end(done).await
    }

    /// Sends a request for each item and prints the answers.
    async fn show_each<T: ?Sized>(
        &self,
        ids: &Ids,
        request: impl Fn(&str) -> RestRequest,
        shown: fn(&T, Option<usize>) -> String,
    ) -> Result<(), Failure>
    where
        Box<T>: DeserializeOwned,
    {
        self.open()?.each(ids, request, |output, id, body| output.answer(id, &body, shown)).await
    }
}

/// The only item. `-` reads it from standard input.
fn one(id: &str) -> Result<String, Failure> {
    let ids = Ids { ids: vec![id.to_owned()] };
    match ids.all()?.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Failure::usage("expected one id or URL on standard input")),
    }
}

impl Ids {
    /// All items. `-` stands for the lines of standard input.
    fn all(&self) -> Result<Vec<String>, Failure> {
        let mut all = vec![];
        for id in &self.ids {
            if id != "-" {
                all.push(id.trim().to_owned());
                continue;
            }
            for line in io::stdin().lock().lines() {
                let line = line.map_err(|error| format!("cannot read standard input: {error}"))?;
                all.push(line.trim().to_owned());
            }
        }
        let is_blank = self.ids.iter().any(|id| id.trim().is_empty());
        all.retain(|id| !id.is_empty());
        if is_blank { Err(Failure::usage("an id or URL is empty")) } else { Ok(all) }
    }

    /// Whether the command line names exactly one item.
    fn is_one(&self) -> bool {
        matches!(self.ids.as_slice(), [id] if id != "-")
    }
}

impl CommandContext {
    /// Sends a request for each item and passes the answers to `write`, in order. Reports failures without
    /// stopping.
    async fn each(
        &mut self,
        ids: &Ids,
        request: impl Fn(&str) -> RestRequest,
        mut write: impl FnMut(&mut Output, &str, Bytes) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let all = ids.all()?;
        let Self { service, output } = self;
        if !ids.is_one() {
            output.begin_several();
        }
        let (service, request) = (&*service, &request);
        let mut answers = stream::iter(&all)
            .map(|id| async move { (id, service.fetch(&request(id)).await) })
            .buffered(CONCURRENCY);
        let mut tally = Tally::default();
        let mut done = Ok(());
        while let Some((id, answer)) = answers.next().await {
            let answer = answer.and_then(|body| write(output, id, body));
            done = match ids.is_one() {
                true => tally.note(answer),
                false => tally.note_one(id, answer),
            };
            if done.is_err() {
                break;
            }
        }
        drop(answers);
        self.end(done).await?;
        tally.end()
    }

    /// Ends the output, and waits until the cache has stored what was fetched.
    async fn end(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        let done = done.and_then(|()| self.output.end());
        self.service.settle().await;
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
    /// Counts an answer or reports a failure. Only a closed pipe ends the command.
    fn note(&mut self, answer: Result<(), Failure>) -> Result<(), Failure> {
        match answer {
            Ok(()) => self.answered += 1,
            Err(Failure::ReaderGone) => return Err(Failure::ReaderGone),
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
