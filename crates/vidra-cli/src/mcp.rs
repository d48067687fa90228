//! `vidra mcp` and `vidra tools`: the tools for AI models, over standard input and output or as a list.

use std::io::{self, Write};
use std::sync::Arc;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use tokio::sync::Notify;
use tokio::time::timeout;
use vidra::{Error, Reason, Vidra};
use vidra_library::{Worker, WorkerConfig};
use vidra_mcp::{CallerLibrary, Format, ToolList};

use crate::cache_args::StoreLocation;
use crate::client::{ClientArgs, SETTLE, builder};
use crate::database::{DatabaseArgs, OpenLibrary};
use crate::failure::{Failure, described};
use crate::runtime::runtime;
use crate::signals::{Signals, survive_reload};

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
    /// Opens the library. Without it the other tools work.
    async fn library(&self) -> Result<OpenLibrary, Failure> {
        self.database.open(&self.client).await
    }

    fn worker_config(&self) -> WorkerConfig {
        let usual = WorkerConfig::default();
        // A fifth of a small quota is left to other requests.
        usual.with_reserve_units(usual.reserve_units.min(self.client.quota_limit / 5))
    }
}

fn list(all_tools: bool) -> ToolList {
    if all_tools { ToolList::All } else { ToolList::Short }
}

/// Serves MCP until the agent ends the session. Nothing else writes to standard output.
pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    let mut builder = builder(&args.client, &StoreLocation::Memory)?;
    let runtime = runtime()?;
    let library = runtime.block_on(args.library());
    if let Some(database) = library.as_ref().ok().and_then(|it| it.database.as_ref()) {
        // The service of the same database spends the same quota.
        builder = builder.database(database);
    }
    let vidra = builder.build().map_err(|error| described(&error))?;
    if !vidra.has_key() {
        tracing::warn!(
            "no upstream key: only transcripts and caption tracks work; set YOUTUBE_API_KEY or --api-key-file"
        );
    }
    let served = runtime.block_on(serve(args, &vidra, library));
    // A thread may still block on standard input.
    runtime.shutdown_background();
    Ok(served?)
}

async fn serve(
    args: &McpArgs,
    vidra: &Vidra,
    library: Result<OpenLibrary, Failure>,
) -> Result<(), String> {
    let signals = Signals::listen()?;
    survive_reload()?;
    let (config, stop) = (args.worker_config(), Arc::new(Notify::new()));
    let (library, jobs) = match library {
        Ok(OpenLibrary { library, .. }) => {
            let jobs =
                tokio::spawn(run_jobs(library.clone(), vidra.clone(), config, Arc::clone(&stop)));
            let reserve = config.reserve_units;
            (Ok(CallerLibrary::new(library).with_reserve_units(reserve)), Some(jobs))
        }
        Err(failure) => {
            if let Failure::Message(_, why) = failure {
                tracing::warn!("the library is off: {why}");
            }
            (Err(Error::new(Reason::LibraryOff, "The library is switched off")), None)
        }
    };
    let served = tokio::select! {
        // The result first: it decides the exit code, also if a signal arrives with it.
        biased;
        served = vidra_mcp::serve_stdio(vidra.clone(), library, list(args.all_tools)) => served,
        () = signals.first() => Ok(()),
    };
    stop.notify_one();
    let settled = async {
        if let Some(jobs) = jobs {
            let _ = jobs.await;
        }
        vidra.settled().await;
    };
    let _ = timeout(SETTLE, settled).await;
    served
}

/// Runs the jobs of the library until `stop`.
async fn run_jobs(
    library: vidra_library::Library,
    vidra: Vidra,
    config: WorkerConfig,
    stop: Arc<Notify>,
) {
    let payer = vidra.clone();
    let payers = Arc::new(move |_: &str| Some(payer.clone()));
    let worker = Worker::new(library, vidra, payers, config);
    if let Err(error) = worker.run(stop.notified()).await {
        tracing::error!(reason = error.reason().code(), "jobs do not run: {error}");
    }
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
    let text = format!("{:#}\n", format.list(list(args.all_tools), true));
    Ok(io::stdout().write_all(text.as_bytes())?)
}
