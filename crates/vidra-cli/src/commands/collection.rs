//! `vidra collection`: sets of sources that stay up to date, in a library file or in a running service. Both answer the
//! same requests, so that the output is the same.

use std::path::PathBuf;

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};
use vidra::{CaptionKind, Reason};
use vidra_library::VideoState;

use super::ids::Kind;
use super::job::{Follower, reason};
use super::pages::PageArgs;
use super::{CommandContext, Common, Ids, Wanted};
use crate::database::DatabaseArgs;
use crate::failure::Failure;
use crate::output::collections::{self, CollectionView};
use crate::output::jobs::{self, JobView};
use crate::output::{Form, read};
use crate::service::RestRequest;
use crate::values::{count_in, date, words_of};

/// Subcommands of `vidra collection`.
#[derive(Debug, Subcommand)]
pub(crate) enum CollectionCommand {
    /// Create a collection of channels, playlists, videos and searches, or replace its sources and options
    ///
    /// A running service (vidra serve) keeps it up to date. vidra collection sync does it once
    Add(Box<AddArgs>),
    /// List collections
    List(Box<ListArgs>),
    /// Show a collection with its sources, or its videos
    Show(Box<ShowArgs>),
    /// Find new videos, and fetch their transcripts, now
    ///
    /// Without --server the command works on the sync itself, until it ends or is interrupted
    Sync(Box<SyncArgs>),
    /// Pause a collection
    Pause(Box<NameArgs>),
    /// Continue a paused collection
    Resume(Box<NameArgs>),
    /// Delete a collection; its transcripts stay in the library
    Remove(Box<NameArgs>),
}

/// The flags of all subcommands.
#[derive(Debug, clap::Args)]
pub(crate) struct CollectionCommon {
    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    common: Common,
}

impl CollectionCommon {
    async fn open(&self) -> Result<CommandContext, Failure> {
        self.common.open_with_library(&self.database).await
    }

    /// Opens the service for a command whose answer is no list.
    async fn open_for_one(&self) -> Result<CommandContext, Failure> {
        self.common.reject_list_flags("--jq, or vidra collection list")?;
        self.open().await
    }
}

/// A named collection.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// Name of the collection: letters, digits, dots, hyphens and underscores
    #[arg(value_name = "NAME")]
    name: String,

    /// For operators: the name of the key that the collection belongs to [default: your own]
    #[arg(long, value_name = "KEY")]
    owner: Option<String>,
}

impl Named {
    /// The request for the collection, or for a part of it.
    fn request(&self, part: Option<&str>) -> RestRequest {
        let request = RestRequest::get("collections").segment(&self.name);
        let request = part.into_iter().fold(request, RestRequest::segment);
        request.parameter("owner", self.owner.as_ref())
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    named: Named,

    /// Channels, playlists and videos: ids or URLs; or search:WORDS for the newest results of a search
    #[arg(value_name = "SOURCE", required_unless_present = "file")]
    sources: Vec<String>,

    /// File with more sources, one per line; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Time between two syncs, from 15m to 30d
    #[arg(long, value_name = "TIME", default_value = "6h")]
    every: String,

    /// Only videos of this day or time or later; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Take only so many videos of each list at first; later ones are always added [default: all]
    #[arg(long, short, value_name = "COUNT", value_parser = count_in::<u64>(1..=1_000_000))]
    limit: Option<u64>,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Let YouTube translate the transcripts to this language
    #[arg(long, value_name = "CODE")]
    translate: Option<String>,

    /// Only captions by people, or only recognised speech [default: both, people first]
    #[arg(long, value_name = "KIND", value_parser = words_of(CaptionKind::ALL))]
    captions: Option<String>,

    /// Quota units that the collection may cost on one day [default: no limit]
    #[arg(long, value_name = "UNITS", value_parser = count_in::<u64>(0..=1_000_000_000))]
    unit_budget: Option<u64>,

    /// Name of a webhook of the service, which gets the news of the collection
    #[arg(long, value_name = "NAME")]
    webhook: Option<String>,

    #[command(flatten)]
    common: CollectionCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: CollectionCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    named: Named,

    /// List the videos of the collection
    #[arg(long)]
    videos: bool,

    /// Only videos in this state
    #[arg(long, requires = "videos", value_parser = words_of(&VideoState::ALL))]
    state: Option<String>,

    /// Only videos with this reason, such as captions_disabled
    #[arg(long, value_name = "CODE", requires = "videos", value_parser = reason)]
    reason: Option<Reason>,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: CollectionCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SyncArgs {
    #[command(flatten)]
    named: Named,

    /// Return as soon as the sync is started; needs --server
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    common: CollectionCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    common: CollectionCommon,
}

/// Runs `vidra collection`.
pub(super) async fn run(command: &CollectionCommand) -> Result<(), Failure> {
    match command {
        CollectionCommand::Add(args) => add(args).await,
        CollectionCommand::List(args) => list(args).await,
        CollectionCommand::Show(args) => show(args).await,
        CollectionCommand::Sync(args) => sync(args).await,
        CollectionCommand::Pause(args) => change(args, "pause").await,
        CollectionCommand::Resume(args) => change(args, "resume").await,
        CollectionCommand::Remove(args) => remove(args).await,
    }
}

impl AddArgs {
    fn request(&self) -> Result<RestRequest, Failure> {
        let body = json!({
            "sources": Ids::listed(&self.sources, self.file.as_ref())?, "every": self.every, "since": self.since,
            "limit": self.limit, "lang": self.lang, "translate": self.translate, "captions": self.captions,
            "unitBudget": self.unit_budget, "webhook": self.webhook,
        });
        let Value::Object(mut body) = body else { return Err(Failure::usage("no sources")) };
        body.retain(|_, value| !value.is_null());
        Ok(self.named.request(None).post(Value::Object(body)).method(Method::PUT))
    }
}

async fn add(args: &AddArgs) -> Result<(), Failure> {
    let request = args.request()?;
    let mut context = args.common.open_for_one().await?;
    let done = answer(&mut context, &request).await;
    if done.is_ok() && context.service.library().is_some() {
        let name = &args.named.name;
        context.output.notice(&format!(
            "vidra serve keeps it up to date; vidra collection sync {name} fetches it once"
        ));
    }
    context.end(done).await
}

/// Sends a request, and prints the collection that it answers.
async fn answer(context: &mut CommandContext, request: &RestRequest) -> Result<(), Failure> {
    let body = context.service.fetch(request).await?;
    context.output.answer::<CollectionView>("", &body, collections::collection)
}

async fn list(args: &ListArgs) -> Result<(), Failure> {
    let mut context = args.common.open().await?;
    let request = RestRequest::get("collections");
    let (wanted, ids) = (Wanted::new(Kind::NoId, 0), [String::new()]);
    let shown = collections::collections;
    context.pages(wanted, &ids, true, &args.part, |_| request.clone(), shown).await
}

async fn show(args: &ShowArgs) -> Result<(), Failure> {
    if !args.videos {
        if args.part.is_given() {
            return Err(Failure::usage("--limit, --all and --cursor need --videos"));
        }
        let mut context = args.common.open_for_one().await?;
        let done = answer(&mut context, &args.named.request(None)).await;
        return context.end(done).await;
    }
    let mut context = args.common.open().await?;
    let videos = args
        .named
        .request(Some("videos"))
        .parameter("state", args.state.as_ref())
        .parameter("reason", args.reason.map(Reason::code));
    let (wanted, ids) = (Wanted::new(Kind::NoId, 0), [args.named.name.clone()]);
    let shown = collections::videos;
    context.pages(wanted, &ids, true, &args.part, |_| videos.clone(), shown).await
}

async fn sync(args: &SyncArgs) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    if args.detach && context.service.library().is_some() {
        return Err(Failure::usage(
            "--detach needs a running service, which works on the sync: --server URL (vidra serve)",
        ));
    }
    let done = run_sync(args, &mut context).await;
    context.end(done).await
}

async fn run_sync(args: &SyncArgs, context: &mut CommandContext) -> Result<(), Failure> {
    let request = args.named.request(Some("sync")).method(Method::POST);
    let body = context.service.fetch(&request).await?;
    if args.detach {
        return context.output.answer("", &body, jobs::job);
    }
    let JobView { id, units, .. } = read(&body)?;
    context.output.notice(&format!("sync is job {id}"));
    let config = args.common.common.service.worker_config();
    Follower::paying(id, units, config).run(context).await
}

async fn change(args: &NameArgs, verb: &str) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let request = args.named.request(Some(verb)).method(Method::POST);
    let done = answer(&mut context, &request).await;
    context.end(done).await
}

async fn remove(args: &NameArgs) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let name = &args.named.name;
    let done = async {
        context.service.fetch(&args.named.request(None).method(Method::DELETE)).await?;
        match context.output.form {
            Form::People => context.output.text(&format!("deleted {name}\n")),
            _ => context.output.document(json!({ "deleted": name }).to_string().as_bytes()),
        }
    };
    let done = done.await;
    context.end(done).await
}
