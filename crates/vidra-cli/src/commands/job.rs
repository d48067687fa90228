//! `vidra job`: durable jobs over many videos, in a library file or in a running service. Both answer the same
//! requests, so that the output is the same.

mod follow;
mod results;
mod start;

pub(super) use follow::Follower;

use clap::Subcommand;
use http::Method;
use serde_json::json;
use vidra::Reason;
use vidra_library::{ItemState, JobState};

use super::ids::Kind;
use super::pages::{MOST, Page, PageArgs};
use super::{CommandContext, Common, Wanted};
use crate::database::DatabaseArgs;
use crate::failure::{Exit, Failure};
use crate::output::jobs::{self, JobView};
use crate::output::{Form, read};
use crate::service::{RestRequest, Service};
use crate::values::words_of;

/// Subcommands of `vidra job`.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Fetch the transcripts of videos, playlists and channels as a durable job
    ///
    /// Without --server the command works on the job itself, until it ends or is interrupted. vidra job watch continues it
    Start(Box<start::StartArgs>),
    /// List jobs, the newest first
    List(Box<ListArgs>),
    /// Show a job, or its videos
    Show(Box<ShowArgs>),
    /// Follow a job until it ends
    ///
    /// Without --server the command works on the job, unless another process does. Exit code 0 if the job completed, 1 if
    /// it failed, was cancelled or is paused
    Watch(Box<follow::WatchArgs>),
    /// Pause a job; videos in flight end
    Pause(Box<JobArgs>),
    /// Continue a paused job
    Resume(Box<JobArgs>),
    /// Cancel a job; its results stay
    Cancel(Box<JobArgs>),
    /// Try failed videos of a job again
    Retry(Box<RetryArgs>),
    /// Write the transcripts of a job
    Results(Box<results::ResultsArgs>),
    /// Delete a job; its transcripts stay in the library
    Delete(Box<JobArgs>),
}

/// The flags of all subcommands.
#[derive(Debug, clap::Args)]
pub(crate) struct JobCommon {
    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Id of the job, or its first 6 characters or more
    #[arg(value_name = "JOB")]
    id: String,

    #[command(flatten)]
    common: JobCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only jobs in this state
    #[arg(long, value_parser = words_of(&JobState::ALL))]
    state: Option<String>,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: JobCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Id of the job, or its first 6 characters or more
    #[arg(value_name = "JOB")]
    id: String,

    /// List the videos of the job
    #[arg(long)]
    items: bool,

    /// Only videos in this state
    #[arg(long, requires = "items", value_parser = words_of(&ItemState::ALL))]
    state: Option<String>,

    /// Only videos with this reason, such as captions_disabled
    #[arg(long, value_name = "CODE", requires = "items", value_parser = reason)]
    reason: Option<Reason>,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: JobCommon,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Id of the job, or its first 6 characters or more
    #[arg(value_name = "JOB")]
    id: String,

    /// Only videos that failed for this reason, such as captions_disabled; repeat the flag for several
    #[arg(long, value_name = "CODE", value_parser = reason)]
    reason: Vec<Reason>,

    #[command(flatten)]
    common: JobCommon,
}

pub(super) fn reason(code: &str) -> Result<Reason, String> {
    let unknown = || "expected a code of docs/reference/errors.md, such as captions_disabled";
    Reason::from_code(code).ok_or_else(|| unknown().to_owned())
}

/// Runs `vidra job`.
pub(super) async fn run(command: &JobCommand) -> Result<(), Failure> {
    match command {
        JobCommand::Start(args) => start::start(args).await,
        JobCommand::List(args) => list(args).await,
        JobCommand::Show(args) => show(args).await,
        JobCommand::Watch(args) => follow::watch(args).await,
        JobCommand::Pause(args) => change(args, "pause").await,
        JobCommand::Resume(args) => change(args, "resume").await,
        JobCommand::Cancel(args) => change(args, "cancel").await,
        JobCommand::Retry(args) => retry(args).await,
        JobCommand::Results(args) => results::write(args).await,
        JobCommand::Delete(args) => delete(args).await,
    }
}

impl JobCommon {
    async fn open(&self) -> Result<CommandContext, Failure> {
        self.common.open_with_library(&self.database).await
    }

    /// Opens the service for a command whose answer is no list.
    async fn open_for_one(&self) -> Result<CommandContext, Failure> {
        self.common.reject_list_flags("--jq, or vidra job list")?;
        self.open().await
    }
}

/// The request for a job.
pub(super) fn request(id: &str) -> RestRequest {
    RestRequest::get("jobs").segment(id)
}

/// The shortest part of an id that names a job.
const LEAST: usize = 6;

/// The length of an id.
const WHOLE: usize = 32;

/// Finds the job whose id begins with `start`.
pub(super) async fn find(service: &Service, start: &str) -> Result<String, Failure> {
    let is_id = start.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if !is_id || start.len() < LEAST || start.len() > WHOLE {
        let expected = format!("expected {LEAST} to {WHOLE} of 0-9 and a-f");
        return Err(Failure::usage(format!("'{start}' is not the id of a job: {expected}")));
    }
    if start.len() == WHOLE {
        return Ok(start.to_owned());
    }
    let (mut found, mut cursor) = (vec![], None::<String>);
    loop {
        let page = RestRequest::get("jobs").parameter("limit", Some(MOST));
        let page = page.parameter("fields", Some("id")).parameter("cursor", cursor.as_ref());
        let Page::<Id> { items, next_cursor } = read(&service.fetch(&page).await?)?;
        found.extend(items.into_iter().map(|job| job.id).filter(|id| id.starts_with(start)));
        match next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    match found.as_slice() {
        [id] => Ok(id.clone()),
        [] => {
            let message =
                format!("there is no job whose id begins with {start}; see vidra job list");
            Err(Failure::Message(Exit::Missing, message))
        }
        several => {
            let message = format!("{start} is ambiguous: {}", several.join(", "));
            Err(Failure::usage(message))
        }
    }
}

#[derive(serde::Deserialize)]
struct Id {
    id: String,
}

async fn list(args: &ListArgs) -> Result<(), Failure> {
    let mut context = args.common.open().await?;
    let request = RestRequest::get("jobs").parameter("state", args.state.as_ref());
    let wanted = Wanted::new(Kind::NoId, 0);
    let ids = [String::new()];
    context.pages(wanted, &ids, true, &args.part, |_| request.clone(), jobs::jobs).await
}

async fn show(args: &ShowArgs) -> Result<(), Failure> {
    if !args.items {
        if args.part.is_given() {
            return Err(Failure::usage("--limit, --all and --cursor need --items"));
        }
        let mut context = args.common.open_for_one().await?;
        let done = answer(&mut context, &args.id, request).await;
        return context.end(done.map(drop)).await;
    }
    let mut context = args.common.open().await?;
    let id = find(&context.service, &args.id).await?;
    let items = request(&id)
        .segment("items")
        .parameter("state", args.state.as_ref())
        .parameter("reason", args.reason.map(Reason::code));
    let (wanted, ids) = (Wanted::new(Kind::NoId, 0), [id]);
    context.pages(wanted, &ids, true, &args.part, |_| items.clone(), jobs::items).await
}

/// Sends a request about a job, and prints the job that it answers. Returns its id.
async fn answer(
    context: &mut CommandContext,
    id: &str,
    request: impl FnOnce(&str) -> RestRequest,
) -> Result<JobView, Failure> {
    let id = find(&context.service, id).await?;
    let body = context.service.fetch(&request(&id)).await?;
    context.output.answer("", &body, jobs::job)?;
    read(&body)
}

async fn change(args: &JobArgs, verb: &str) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let post = |id: &str| request(id).segment(verb).method(Method::POST);
    let done = answer(&mut context, &args.id, post).await;
    let done = note_idle(&context, done).await;
    context.end(done).await
}

async fn retry(args: &RetryArgs) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let codes: Vec<&str> = args.reason.iter().map(|reason| reason.code()).collect();
    let body = if codes.is_empty() { json!({}) } else { json!({ "reasons": codes }) };
    let post = |id: &str| request(id).segment("retry").post(body);
    let done = answer(&mut context, &args.id, post).await;
    let done = note_idle(&context, done).await;
    context.end(done).await
}

/// Says how to continue a job in the local file that no process works on.
async fn note_idle(context: &CommandContext, job: Result<JobView, Failure>) -> Result<(), Failure> {
    let job = job?;
    if let Some((library, _)) = context.service.library()
        && !job.has_stopped()
        && !library.has_worker(vidra_library::JobId::parse(&job.id)?).await?
    {
        context.output.notice(&format!("no process works on it: vidra job watch {}", job.id));
    }
    Ok(())
}

async fn delete(args: &JobArgs) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let done = async {
        let id = find(&context.service, &args.id).await?;
        context.service.fetch(&request(&id).method(Method::DELETE)).await?;
        match context.output.form {
            Form::People => context.output.text(&format!("deleted {id}\n")),
            _ => context.output.document(json!({ "deleted": id }).to_string().as_bytes()),
        }
    };
    let done = done.await;
    context.end(done).await
}
