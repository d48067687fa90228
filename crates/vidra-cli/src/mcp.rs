//! `vidra mcp` and `vidra tools`: the tools for AI models, over standard input and output or as a list.

use std::io::{self, Write};
use std::sync::Arc;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use vidra::{Error, Reason, Vidra};
use vidra_library::{Access, JobId, Library, Payers, Worker, WorkerConfig};
use vidra_mcp::{Format, ToolLibrary, ToolList};

use crate::cache_args::StoreLocation;
use crate::client::{ClientArgs, SETTLE, builder, usual_reserve_units};
use crate::database::{DatabaseArgs, OpenLibrary};
use crate::failure::{Failure, described};
use crate::runtime::runtime;
use crate::signals::{Signals, survive_reload};

/// How many of the newest jobs are looked at for unfinished ones.
const EARLIER_JOBS: usize = 100;

/// Options of `vidra mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// List all tools, also former ones whose work a tool of the short list does
    #[arg(long, env = "VIDRA_ALL_TOOLS", value_parser = FalseyValueParser::new())]
    all_tools: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    client: ClientArgs,
}

impl McpArgs {
    /// Opens the library. `None` if none was named and the usual one cannot be used: the other tools work without it.
    async fn library(&self) -> Result<Option<OpenLibrary>, Failure> {
        match self.database.open(&self.client).await {
            Ok(library) => Ok(Some(library)),
            Err(failure) if self.database.is_given() => Err(failure),
            Err(failure) => {
                if let Failure::Message(_, why) = failure {
                    tracing::warn!("the library is off: {why}");
                }
                Ok(None)
            }
        }
    }
}

/// The list that the flag selects.
pub(crate) fn tool_list(all_tools: bool) -> ToolList {
    if all_tools { ToolList::All } else { ToolList::Short }
}

/// Serves MCP until the agent ends the session. Nothing else writes to standard output.
pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    let mut builder = builder(&args.client, &StoreLocation::Memory)?;
    let runtime = runtime()?;
    let library = runtime.block_on(args.library())?;
    if let Some(database) = library.as_ref().and_then(|it| it.database.as_ref()) {
        // The service of the same database spends the same quota.
        builder = builder.database(database);
    }
    let vidra = builder.build().map_err(|error| described(&error))?;
    if !vidra.has_key() {
        tracing::warn!(
            "no upstream key: only transcripts and caption tracks work; set YOUTUBE_API_KEY or --api-key-file"
        );
    }
    let served = runtime.block_on(serve(args, &vidra, library.map(|it| it.library)));
    // A thread may still block on standard input.
    runtime.shutdown_background();
    Ok(served?)
}

async fn serve(args: &McpArgs, vidra: &Vidra, library: Option<Library>) -> Result<(), String> {
    let signals = Signals::listen()?;
    survive_reload()?;
    let reserve = usual_reserve_units(args.client.quota_limit);
    let config = WorkerConfig::default().with_reserve_units(reserve);
    let (started, to_run) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let tools_library = match &library {
        None => Err(Error::new(Reason::LibraryOff, "The library is switched off")),
        Some(library) => Ok(ToolLibrary::new(library.clone())
            .with_units(reserve, None)
            .with_job_hook(move |id| _ = started.send(id))),
    };
    let jobs = library.map(|library| {
        let worker = Worker::new(library.clone(), vidra.clone(), payer(vidra), config);
        tokio::spawn(run_jobs(library, worker, to_run, stopped))
    });
    let served = tokio::select! {
        // The result first: it decides the exit code, also if a signal arrives with it.
        biased;
        served = vidra_mcp::serve_stdio(vidra.clone(), tools_library, tool_list(args.all_tools)) => served,
        () = signals.first() => Ok(()),
    };
    drop(stop);
    let settled = async {
        if let Some(jobs) = jobs {
            let _ = jobs.await;
        }
        vidra.settled().await;
    };
    let _ = timeout(SETTLE, settled).await;
    served
}

/// This process pays for the jobs that it runs.
fn payer(vidra: &Vidra) -> Payers {
    let vidra = vidra.clone();
    Arc::new(move |_: &str| Some(vidra.clone()))
}

/// Runs the jobs of this user that no service runs: those that tools start, and those of earlier sessions. Jobs of callers with
/// keys stay with their service, which bills them.
async fn run_jobs(
    library: Library,
    worker: Worker,
    mut to_run: mpsc::UnboundedReceiver<JobId>,
    stopped: oneshot::Receiver<()>,
) {
    let stopped = stopped.map(drop).shared();
    let own = Access::Owner(String::new());
    let earlier = library.jobs(&own, None, None, EARLIER_JOBS).await;
    let earlier = earlier.map(|(jobs, _)| jobs).unwrap_or_default().into_iter();
    let earlier: Vec<JobId> =
        earlier.filter(|job| job.state.is_active()).map(|job| job.id).collect();
    let run = async |id: JobId| {
        if library.has_worker(id).await.unwrap_or(false) {
            return;
        }
        if let Err(error) = worker.run_until_idle(&[id], stopped.clone()).await {
            tracing::error!(job = %id, reason = error.reason().code(), "job does not run: {error}");
        }
    };
    let mut running = FuturesUnordered::new();
    earlier.into_iter().for_each(|id| running.push(run(id)));
    loop {
        tokio::select! {
            biased;
            () = stopped.clone() => break,
            Some(id) = to_run.recv() => running.push(run(id)),
            Some(()) = running.next() => {}
        }
    }
    // Each run gives back what it has not finished.
    while running.next().await.is_some() {}
}

/// Options of `vidra tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Format of the definitions
    #[arg(long, short, value_enum, default_value_t)]
    format: ListFormat,

    /// Print all tools, also former ones whose work a tool of the short list does
    #[arg(long)]
    all_tools: bool,
}

/// The format of the definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// OpenAI chat completions and compatible APIs.
    #[value(name = "openai")]
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// Name, input and output schema, as MCP lists them.
    #[default]
    JsonSchema,
}

/// Prints the tools as JSON.
pub(crate) fn print_tools(args: &ToolsArgs) -> Result<(), Failure> {
    let format = match args.format {
        ListFormat::OpenAi => Format::OpenAi,
        ListFormat::Anthropic => Format::Anthropic,
        ListFormat::Gemini => Format::Gemini,
        ListFormat::JsonSchema => Format::JsonSchema,
    };
    let text = format!("{:#}\n", format.list(tool_list(args.all_tools), true));
    Ok(io::stdout().write_all(text.as_bytes())?)
}
