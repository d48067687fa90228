//! `vidra mcp` and `vidra tools`: the tools for AI models, over standard input and output or as a list.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use tokio::time::timeout;
use vidra_mcp::Format;

use crate::cache_args::StoreLocation;
use crate::client::{ClientArgs, SETTLE, client};
use crate::failure::Failure;
use crate::runtime::runtime;
use crate::signals::{Signals, survive_reload};

/// Serves MCP until the agent ends the session. Nothing else writes to standard output.
pub(crate) fn run(args: &ClientArgs) -> Result<(), String> {
    let vidra = client(args, &StoreLocation::Memory)?;
    if !vidra.has_key() {
        tracing::warn!(
            "no upstream key: only transcripts and caption tracks work; set YOUTUBE_API_KEY or --api-key-file"
        );
    }
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let signals = Signals::listen()?;
        survive_reload()?;
        let served = tokio::select! {
            // The result first: it decides the exit code, also if a signal arrives with it.
            biased;
            served = vidra_mcp::serve_stdio(vidra.clone()) => served,
            () = signals.first() => Ok(()),
        };
        let _ = timeout(SETTLE, vidra.settled()).await;
        served
    });
    // A thread may still block on standard input.
    runtime.shutdown_background();
    served
}

/// Options of `vidra tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Format of the definitions
    #[arg(long, short, value_enum, default_value_t)]
    format: ListFormat,
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
    let text = format!("{:#}\n", format.list());
    Ok(io::stdout().write_all(text.as_bytes())?)
}
