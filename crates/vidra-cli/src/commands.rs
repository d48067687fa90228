//! The commands that show data. Each is a question of the REST interface, or one for each of several
//! things, and what people see of the answer.

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

use crate::failure::{Exit, Failure};
use crate::output::{Output, OutputArgs};
use crate::runtime;
use crate::service::{Question, Service, ServiceArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Data {
    /// Show videos in full
    Video(Box<ItemsArgs>),
    /// List videos in a table (50 for each unit of quota)
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
    /// Show what links point to (asks nobody)
    Link(Box<ItemsArgs>),
    /// Show what is left of today's quota
    Quota(Box<quota::QuotaArgs>),
}

/// What every one of them takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// What is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Ids {
    /// Ids or URLs, as many as you like; - reads more from standard input, one a line
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Things, and nothing more to be said about them.
#[derive(Debug, clap::Args)]
pub(crate) struct ItemsArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    common: Common,
}

/// Answers that are asked for together.
const AT_ONCE: usize = 8;

/// Does what was asked for.
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
            Data::Quota(args) => quota::show(args).await,
        }
    });
    // A thread may still be at work on what nobody waits for.
    runtime.shutdown_background();
    done
}

/// A service that is asked, and where the answers are written.
struct Desk {
    service: Service,
    output: Output,
}

impl Common {
    fn open(&self) -> Result<Desk, Failure> {
        Ok(Desk { service: Service::open(&self.service)?, output: Output::new(self.output) })
    }
}

/// The one thing that was given, or that standard input says in the place of `-`.
fn one(id: &str) -> Result<String, Failure> {
    let ids = Ids { ids: vec![id.to_owned()] };
    match ids.all()?.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Failure::usage("expected one id or URL on standard input")),
    }
}

impl Ids {
    /// What was given, with what standard input says in the place of `-`.
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

    /// Whether one thing was asked for, by name.
    fn is_one(&self) -> bool {
        matches!(self.ids.as_slice(), [id] if id != "-")
    }
}

impl Desk {
    /// Shows the answer to one question.
    async fn show<T: DeserializeOwned>(
        &mut self,
        question: &Question,
        shown: impl FnOnce(&T, Option<usize>) -> String,
    ) -> Result<(), Failure> {
        let answer = self.service.ask(question).await;
        let done = answer.and_then(|body| self.output.answer("", &body, shown));
        self.end(done).await
    }

    /// Shows the answers for each of several things.
    async fn show_each<T: DeserializeOwned>(
        &mut self,
        ids: &Ids,
        question: impl Fn(&str) -> Question,
        shown: impl Fn(&T, Option<usize>) -> String,
    ) -> Result<(), Failure> {
        self.each(ids, question, |output, id, body| output.answer(id, &body, &shown)).await
    }

    /// Asks about each of several things, and hands on the answers in the order asked. What fails is told
    /// and does not stop the others.
    async fn each(
        &mut self,
        ids: &Ids,
        question: impl Fn(&str) -> Question,
        mut write: impl FnMut(&mut Output, &str, Bytes) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let all = ids.all()?;
        let Self { service, output } = self;
        if !ids.is_one() {
            output.begin_several();
        }
        let (service, question) = (&*service, &question);
        let mut answers = stream::iter(&all)
            .map(|id| async move { (id, service.ask(&question(id)).await) })
            .buffered(AT_ONCE);
        let mut tally = Tally::default();
        let mut done = Ok(());
        while let Some((id, answer)) = answers.next().await {
            let answer = answer.and_then(|body| write(output, id, body));
            done = tally.note(match ids.is_one() {
                true => answer,
                false => answer.map_err(|failure| failure.about(id)),
            });
            if done.is_err() {
                break;
            }
        }
        drop(answers);
        self.end(done).await?;
        tally.end()
    }

    /// Writes what is left to be written, and waits until what was fetched has been kept.
    async fn end(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        let done = done.and_then(|()| self.output.end());
        self.service.settle().await;
        done
    }
}

/// How several questions went.
#[derive(Debug, Default)]
struct Tally {
    answered: usize,
    worst: Option<Exit>,
}

impl Tally {
    /// Counts an answer, or tells why there is none; that nobody reads any more ends it all.
    fn note(&mut self, answer: Result<(), Failure>) -> Result<(), Failure> {
        match answer {
            Ok(()) => self.answered += 1,
            Err(Failure::ReaderGone) => return Err(Failure::ReaderGone),
            Err(failure) => self.worst = self.worst.max(failure.tell()),
        }
        Ok(())
    }

    /// Some that failed are part of the whole; where all did, it is for the worst of their reasons.
    fn end(self) -> Result<(), Failure> {
        match self.worst {
            None => Ok(()),
            Some(_) if self.answered > 0 => Err(Failure::Told(Exit::Missing)),
            Some(worst) => Err(Failure::Told(worst)),
        }
    }
}
