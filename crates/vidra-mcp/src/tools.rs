//! The table of tools, and how a call runs.

mod channel;
mod comment;
mod feed;
mod included;
mod list;
mod playlist;
mod search;
mod transcript;
mod video;

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use schemars::generate::Contract;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use vidra::{Error, Reason, Vidra};

use crate::call_error::CallError;
use crate::reply::{Reply, StructuredContent, ToolOutput};
use crate::schema::schema;

/// The context of a call: who answers it, and the limits of its caller.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    vidra: &'a Vidra,
    progress: Option<&'a ProgressSender>,
    batch_limit: Option<&'a BatchLimit>,
}

/// The limit of concurrent playlist transcriptions of one caller.
#[derive(Clone)]
pub struct BatchLimit(Arc<dyn Fn() -> Option<Box<dyn Send>> + Send + Sync>);

impl BatchLimit {
    /// `take` returns a permit for one more playlist, which is released on drop, or `None` when the caller
    /// has reached its limit.
    pub fn new(take: impl Fn() -> Option<Box<dyn Send>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

/// Receives the progress of a long call: a few dozen messages, and a few per minute while it waits.
pub type ProgressSender = UnboundedSender<Progress>;

/// The longest time between two progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(15);

/// The progress of a long call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The number of videos that are done.
    pub done: u64,
    /// The number of all videos, if it is known.
    pub total: Option<u64>,
    /// The last step, or the one in progress. It contains no text of third parties.
    pub what: String,
}

impl<'a> Call<'a> {
    /// A call that `vidra` answers and that is billed to this handle.
    pub fn new(vidra: &'a Vidra) -> Self {
        Self { vidra, progress: None, batch_limit: None }
    }

    /// Limits how many playlists the caller transcribes at once.
    pub fn within(self, limit: &'a BatchLimit) -> Self {
        Self { batch_limit: Some(limit), ..self }
    }

    /// Sends the progress of the call to `progress`.
    pub fn with_progress(self, progress: &'a ProgressSender) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// A permit for one playlist, to be held until it is transcribed.
    fn batch_permit(&self) -> Result<Option<Box<dyn Send>>, Error> {
        let Some(BatchLimit(take)) = self.batch_limit else { return Ok(None) };
        let message = "Too many playlists are being transcribed for you already";
        take().map(Some).ok_or_else(|| Error::new(Reason::TooManyBatches, message))
    }

    /// Reports progress, if the caller requested it.
    fn report(&self, done: u64, total: Option<u64>, what: impl Into<String>) {
        if let Some(progress) = self.progress {
            // A receiver that is gone needs no progress.
            let _ = progress.send(Progress { done, total, what: what.into() });
        }
    }

    /// The next item of a stream. Reports progress while none arrives, because many clients abandon a call
    /// after a minute of silence.
    async fn next<S>(&self, from: &mut S, done: u64, total: Option<u64>) -> Option<S::Item>
    where
        S: Stream + Unpin,
    {
        loop {
            match timeout(PROGRESS_INTERVAL, from.next()).await {
                Ok(next) => return next,
                Err(_) => self.report(done, total, "still at work"),
            }
        }
    }
}

/// A tool, defined by its input.
trait ToolInput: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name by which models call the tool.
    const NAME: &'static str;
    /// The title for people.
    const TITLE: &'static str;
    /// The purpose of the tool and when to use it, for models.
    const DESCRIPTION: &'static str;
    /// The structured data that it returns.
    type Output: Serialize + JsonSchema + 'static;

    /// Runs the tool. Dropping the future cancels the call.
    fn run(self, call: &Call<'_>) -> impl Future<Output = ToolResult<Self::Output>> + Send;
}

type ToolResult<T> = Result<ToolOutput<T>, CallError>;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send + 'a>>;

/// The definition of a tool.
pub struct Tool {
    /// The name by which models call the tool.
    pub name: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// The purpose of the tool and when to use it, for models.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of its structured output.
    pub output_schema: Arc<Map<String, Value>>,
    run: for<'a> fn(&'a Call<'a>, Value) -> Running<'a>,
}

impl Tool {
    fn new<T: ToolInput>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            input_schema: Arc::new(schema::<T>(Contract::Deserialize)),
            output_schema: Arc::new(schema::<StructuredContent<T::Output>>(Contract::Serialize)),
            run: |call, arguments| Box::pin(parse_and_run::<T>(call, arguments)),
        }
    }
}

/// Parses the arguments, runs the tool and writes its output.
async fn parse_and_run<T: ToolInput>(
    call: &Call<'_>,
    mut arguments: Value,
) -> Result<Reply, CallError> {
    if arguments.is_null() {
        arguments = Value::Object(Map::new());
    }
    remove_nulls(&mut arguments);
    let input: T = serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        CallError::bad(match path.as_str() {
            "." => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        })
    })?;
    input.run(call).await?.into_reply()
}

/// Removes members that are `null`: some models send it for arguments that they leave out.
fn remove_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(remove_nulls);
    }
}

static TOOLS: LazyLock<[Tool; 19]> = LazyLock::new(|| {
    [
        Tool::new::<video::GetVideo>(),
        Tool::new::<video::GetVideos>(),
        Tool::new::<search::SearchYoutube>(),
        Tool::new::<video::GetPopularVideos>(),
        Tool::new::<channel::GetChannel>(),
        Tool::new::<channel::GetChannelVideos>(),
        Tool::new::<channel::GetChannelPlaylists>(),
        Tool::new::<feed::GetFeed>(),
        Tool::new::<playlist::GetPlaylist>(),
        Tool::new::<playlist::GetPlaylistInfo>(),
        Tool::new::<playlist::GetPlaylistVideos>(),
        Tool::new::<playlist::QueryPlaylist>(),
        Tool::new::<comment::GetComments>(),
        Tool::new::<comment::GetTopComments>(),
        Tool::new::<comment::SearchComments>(),
        Tool::new::<transcript::GetCaptionTracks>(),
        Tool::new::<transcript::TranscribeVideo>(),
        Tool::new::<transcript::BatchTranscribe>(),
        Tool::new::<transcript::TranscribePlaylist>(),
    ]
});

/// All tools. They only read, are idempotent, and access the outside world.
pub fn tools() -> &'static [Tool] {
    &*TOOLS
}

/// The tool with this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    tools().iter().find(|tool| tool.name == name)
}

/// Runs the tool of this name with a JSON object of arguments. Dropping the future cancels the call.
pub async fn call(name: &str, arguments: Value, call: &Call<'_>) -> Result<Reply, CallError> {
    let tool = tool(name).ok_or_else(|| CallError::UnknownTool(name.to_owned()))?;
    (tool.run)(call, arguments).await
}
