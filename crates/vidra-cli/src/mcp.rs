//! `vidra mcp` and `vidra tools`: the tools for AI models, over standard input and output or as a list.

use std::io::{self, Write};
use std::sync::Arc;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::timeout;
use vidra::{Error, Reason, Vidra};
use vidra_library::{Library, Payers, Worker, WorkerConfig};
use vidra_mcp::{Format, ToolLibrary, ToolList};

use crate::cache_args::StoreLocation;
use crate::client::{ClientArgs, SETTLE, builder, usual_reserve_units};
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
    let (stop, stopped) = oneshot::channel::<()>();
    let tools_library = match &library {
        None => Err(Error::new(Reason::LibraryOff, "The library is switched off")),
        Some(library) => Ok(ToolLibrary::new(library.clone()).with_units(reserve, None)),
    };
    let jobs = library.map(|library| {
        let worker = Worker::new(library, vidra.clone(), payer(vidra), config);
        // The jobs of this user that no service runs. Those of callers with keys stay with their service, which bills them.
        tokio::spawn(async move { worker.run_unattended("", stopped.map(drop)).await })
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
