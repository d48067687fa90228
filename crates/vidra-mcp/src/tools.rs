//! The table of tools.

mod channel;
mod comment;
mod playlist;
mod transcript;
mod video;

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use vidra::{Error, ErrorKind, Vidra};

use crate::reply::{CallError, Marked, Reply, Sheet};
use crate::schema;

/// What a call works with.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    vidra: &'a Vidra,
    steps: Option<&'a Steps>,
    places: Option<&'a BatchPlaces>,
}

/// Where a caller may transcribe only so many playlists at a time: gives a place for one more, which is
/// given back by being dropped, or `None` where the caller has its share.
#[derive(Clone)]
pub struct BatchPlaces(Arc<dyn Fn() -> Option<Box<dyn Send>> + Send + Sync>);

impl BatchPlaces {
    /// Places as `take` gives them.
    pub fn new(take: impl Fn() -> Option<Box<dyn Send>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

/// Takes what a long call tells of its progress: a few dozen, and a few a minute while it waits.
pub type Steps = UnboundedSender<Step>;

/// The longest that a call is silent.
const BETWEEN_STEPS: Duration = Duration::from_secs(15);

/// How far a long call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How many are done.
    pub done: u64,
    /// Of how many, where that is known.
    pub total: Option<u64>,
    /// What was done last, or is waited for, in our words alone.
    pub what: String,
}

impl<'a> Call<'a> {
    /// A call that is answered by `vidra` and paid for by its handle.
    pub fn new(vidra: &'a Vidra) -> Self {
        Self { vidra, steps: None, places: None }
    }

    /// The same for a caller that may not transcribe as many playlists as it likes.
    pub fn within(self, places: &'a BatchPlaces) -> Self {
        Self { places: Some(places), ..self }
    }

    /// The same, telling how far it has come.
    pub fn telling(self, steps: &'a Steps) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// A place for a playlist, to be held until it is transcribed.
    fn place(&self) -> Result<Option<Box<dyn Send>>, Error> {
        let Some(BatchPlaces(take)) = self.places else { return Ok(None) };
        let message = "Too many playlists are being transcribed for you already";
        take().map(Some).ok_or_else(|| Error::new(ErrorKind::RateLimited, message))
    }

    fn tell(&self, done: u64, total: Option<u64>, what: impl Into<String>) {
        if let Some(steps) = self.steps {
            // Who does not listen any more needs not be told.
            let _ = steps.send(Step { done, total, what: what.into() });
        }
    }

    /// What comes next. While nothing does, it is told that the work goes on: many a client gives up a
    /// call of which it hears nothing for a minute.
    async fn next<S>(&self, from: &mut S, done: u64, total: Option<u64>) -> Option<S::Item>
    where
        S: Stream + Unpin,
    {
        loop {
            match timeout(BETWEEN_STEPS, from.next()).await {
                Ok(next) => return next,
                Err(_) => self.tell(done, total, "still at work"),
            }
        }
    }
}

/// A tool: its input, from which everything else follows.
trait Work: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name that models call it by.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does and when to use it, for models.
    const ABOUT: &'static str;
    /// What it finds.
    type Found: Serialize + JsonSchema + 'static;

    /// Does it. Dropping the future ends the work.
    fn work(self, call: &Call<'_>) -> impl Future<Output = Found<Self::Found>> + Send;
}

type Found<T> = Result<Sheet<T>, CallError>;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send + 'a>>;

/// A tool as it is listed.
pub struct Tool {
    /// The name that models call it by.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for models.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of what it gives.
    pub output_schema: Arc<Map<String, Value>>,
    run: for<'a> fn(&'a Call<'a>, Value) -> Running<'a>,
}

impl Tool {
    fn of<W: Work>() -> Self {
        Self {
            name: W::NAME,
            title: W::TITLE,
            description: W::ABOUT,
            input_schema: Arc::new(schema::of_input::<W>()),
            output_schema: Arc::new(schema::of_output::<Marked<W::Found>>()),
            run: |call, arguments| Box::pin(run::<W>(call, arguments)),
        }
    }
}

async fn run<W: Work>(call: &Call<'_>, arguments: Value) -> Result<Reply, CallError> {
    let input: W = serde_path_to_error::deserialize(without_nulls(arguments)).map_err(|error| {
        let path = error.path().to_string();
        CallError::bad(match path.as_str() {
            "." => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        })
    })?;
    input.work(call).await?.reply()
}

/// Some models send `null` for what they leave out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| match value {
                    Value::Object(_) => (name, without_nulls(value)),
                    value => (name, value),
                })
                .collect(),
        ),
        value => value,
    }
}

static TOOLS: LazyLock<[Tool; 15]> = LazyLock::new(|| {
    [
        Tool::of::<video::GetVideo>(),
        Tool::of::<video::GetVideos>(),
        Tool::of::<channel::GetChannel>(),
        Tool::of::<channel::GetChannelVideos>(),
        Tool::of::<playlist::GetPlaylist>(),
        Tool::of::<playlist::GetPlaylistInfo>(),
        Tool::of::<playlist::GetPlaylistVideos>(),
        Tool::of::<playlist::QueryPlaylist>(),
        Tool::of::<comment::GetComments>(),
        Tool::of::<comment::GetTopComments>(),
        Tool::of::<comment::SearchComments>(),
        Tool::of::<transcript::GetCaptionTracks>(),
        Tool::of::<transcript::TranscribeVideo>(),
        Tool::of::<transcript::BatchTranscribe>(),
        Tool::of::<transcript::TranscribePlaylist>(),
    ]
});

/// Every tool there is. All of them only read, may be called again without harm, and ask the world
/// outside.
pub fn tools() -> &'static [Tool] {
    &*TOOLS
}

/// The tool of this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    tools().iter().find(|tool| tool.name == name)
}

/// Runs the tool of this name with a JSON object of arguments. Dropping the future ends the work.
pub async fn call(name: &str, arguments: Value, call: &Call<'_>) -> Result<Reply, CallError> {
    let tool = tool(name).ok_or_else(|| CallError::UnknownTool(name.to_owned()))?;
    (tool.run)(call, arguments).await
}
