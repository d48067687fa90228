//! The table of tools, and how a call runs.

mod channel;
mod comment;
mod feed;
mod hits;
mod included;
mod job;
mod library;
mod list;
mod playlist;
mod search;
mod search_transcripts;
mod transcript;
mod video;

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use schemars::generate::Contract;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout_at;

use crate::arguments;
use crate::call::{Call, timed_out};
use crate::call_error::CallError;
use crate::reply::{Reply, StructuredContent, ToolOutput};
use crate::schema::{schema, short};

/// A tool, defined by its input.
trait ToolInput: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name by which models call the tool.
    const NAME: &'static str;
    /// The title for people.
    const TITLE: &'static str;
    /// The purpose of the tool and when to use it, for models.
    const DESCRIPTION: &'static str;
    /// Whether it is offered or only callable.
    const OFFER: Offer;
    /// The structured data that it returns.
    type Output: Serialize + JsonSchema + 'static;

    /// Runs the tool. Dropping the future cancels the call.
    fn run(self, call: &Call<'_>) -> impl Future<Output = ToolResult<Self::Output>> + Send;
}

type ToolResult<T> = Result<ToolOutput<T>, CallError>;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send + 'a>>;

/// When a tool is in the list of tools. Every tool can be called, listed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Always.
    Always,
    /// If the caller may use the library.
    WithLibrary,
    /// Only in the list of all tools: a tool of the short list does the same.
    OnRequest,
}

/// The definition of a tool.
pub struct Tool {
    /// The name by which models call the tool.
    pub name: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// The purpose of the tool and when to use it, for models.
    pub description: &'static str,
    /// When it is in the list of tools.
    pub offer: Offer,
    /// The JSON Schema of its arguments, as models see it.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of its structured output.
    pub output_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of its arguments with bounds and examples, which faults name.
    full_schema: Map<String, Value>,
    run: for<'a> fn(&'a Call<'a>, Value, &'a Map<String, Value>) -> Running<'a>,
}

impl Tool {
    fn new<T: ToolInput>() -> Self {
        let full_schema = schema::<T>(Contract::Deserialize);
        Self {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            offer: T::OFFER,
            input_schema: Arc::new(short(full_schema.clone())),
            output_schema: Arc::new(schema::<StructuredContent<T::Output>>(Contract::Serialize)),
            full_schema,
            run: |call, arguments, schema| Box::pin(parse_and_run::<T>(call, arguments, schema)),
        }
    }

    /// Whether it starts work that lasts. All other tools only read.
    pub fn is_action(&self) -> bool {
        self.name == job::START_JOB
    }
}

/// Parses the arguments, runs the tool and writes its output.
async fn parse_and_run<T: ToolInput>(
    call: &Call<'_>,
    arguments: Value,
    schema: &Map<String, Value>,
) -> Result<Reply, CallError> {
    let input: T = arguments::parse(arguments, schema)?;
    let output = match call.deadline() {
        None => input.run(call).await,
        Some(at) => timeout_at(at, input.run(call)).await.map_err(|_| timed_out())?,
    };
    output?.into_reply()
}

static TOOLS: LazyLock<[Tool; 25]> = LazyLock::new(|| {
    [
        Tool::new::<search_transcripts::SearchTranscripts>(),
        Tool::new::<library::SearchLibrary>(),
        Tool::new::<search::SearchYoutube>(),
        Tool::new::<video::GetVideos>(),
        Tool::new::<transcript::GetTranscript>(),
        Tool::new::<channel::GetChannel>(),
        Tool::new::<playlist::GetPlaylist>(),
        Tool::new::<comment::GetComments>(),
        Tool::new::<library::GetTrends>(),
        Tool::new::<job::StartJob>(),
        Tool::new::<job::GetJob>(),
        Tool::new::<video::GetVideo>(),
        Tool::new::<video::GetPopularVideos>(),
        Tool::new::<channel::GetChannelVideos>(),
        Tool::new::<channel::GetChannelPlaylists>(),
        Tool::new::<feed::GetFeed>(),
        Tool::new::<playlist::GetPlaylistInfo>(),
        Tool::new::<playlist::GetPlaylistVideos>(),
        Tool::new::<playlist::QueryPlaylist>(),
        Tool::new::<comment::GetTopComments>(),
        Tool::new::<comment::SearchComments>(),
        Tool::new::<transcript::GetCaptionTracks>(),
        Tool::new::<transcript::TranscribeVideo>(),
        Tool::new::<transcript::BatchTranscribe>(),
        Tool::new::<transcript::TranscribePlaylist>(),
    ]
});

/// All tools.
pub fn tools() -> &'static [Tool] {
    &*TOOLS
}

/// The tools of a list. A short list is better for models: each tool costs tokens, and similar tools are confused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolList {
    /// The tools that a model needs.
    #[default]
    Short,
    /// Also those that only differ in form.
    All,
}

impl ToolList {
    /// The tools for a caller.
    pub fn tools(self, has_library: bool) -> impl Iterator<Item = &'static Tool> {
        tools().iter().filter(move |tool| match tool.offer {
            Offer::Always => true,
            Offer::WithLibrary => has_library,
            Offer::OnRequest => self == Self::All,
        })
    }
}

/// The tool with this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    tools().iter().find(|tool| tool.name == name)
}

/// Runs the tool of this name with a JSON object of arguments. Dropping the future cancels the call.
pub async fn call(name: &str, arguments: Value, call: &Call<'_>) -> Result<Reply, CallError> {
    let tool = tool(name).ok_or_else(|| CallError::UnknownTool(name.to_owned()))?;
    (tool.run)(call, arguments, &tool.full_schema).await
}
