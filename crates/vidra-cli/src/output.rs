//! Standard output: JSON as the service sends it, or text for people.

pub(crate) mod cards;
pub(crate) mod table;

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::failure::{Exit, Failure};
use crate::terminal::{self, clean};

/// How answers are written.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OutputArgs {
    /// Write one JSON document, the same as the response of the service
    #[arg(long, conflicts_with = "ndjson")]
    json: bool,

    /// Write one JSON document per line; lists are written one element per line
    #[arg(long)]
    ndjson: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    People,
    Json,
    Ndjson,
}

impl OutputArgs {
    pub(crate) fn form(self) -> Form {
        match (self.json, self.ndjson) {
            (true, _) => Form::Json,
            (_, true) => Form::Ndjson,
            _ => Form::People,
        }
    }
}

/// Standard output.
pub(crate) struct Output {
    pub(crate) form: Form,
    /// The width of text for people; `None` without a limit.
    pub(crate) width: Option<usize>,
    is_terminal: bool,
    /// Removes colours if there is no terminal or the user disabled them.
    stream: AutoStream<io::Stdout>,
    /// Whether the command requests several items.
    several: bool,
    /// How many answers or elements have been written.
    written: usize,
}

impl Output {
    pub(crate) fn new(args: OutputArgs) -> Self {
        Self {
            form: args.form(),
            width: terminal::width(),
            is_terminal: io::stdout().is_terminal(),
            stream: anstream::stdout(),
            several: false,
            written: 0,
        }
    }

    /// The command requests several items: JSON becomes one list. If an answer is a list, its elements name
    /// the item in `from`.
    pub(crate) fn begin_several(&mut self) {
        self.several = true;
    }

    /// Writes an answer. `id` is the requested item, and `shown` writes the text for people.
    pub(crate) fn answer<T: ?Sized>(
        &mut self,
        id: &str,
        body: &[u8],
        shown: impl FnOnce(&T, Option<usize>) -> String,
    ) -> Result<(), Failure>
    where
        Box<T>: DeserializeOwned,
    {
        if self.form != Form::People {
            return self.json(id, body);
        }
        let answer: Box<T> = read(body)?;
        let text = shown(&answer, self.width);
        if self.written > 0 {
            self.line("")?;
        }
        self.written += 1;
        self.text(&text)
    }

    /// Writes an answer as JSON.
    pub(crate) fn json(&mut self, id: &str, body: &[u8]) -> Result<(), Failure> {
        if self.form == Form::Json && !self.several {
            return self.document(body);
        }
        if body.first() != Some(&b'[') {
            return self.element(&String::from_utf8_lossy(body));
        }
        for element in read::<Vec<Box<RawValue>>>(body)? {
            self.element(&self.belonging(id, element.get()))?;
        }
        Ok(())
    }

    /// Closes the JSON list of several items, and flushes.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if self.several && self.form == Form::Json {
            self.line(if self.written > 0 { "\n]" } else { "[]" })?;
        }
        self.stream.flush()?;
        Ok(())
    }

    /// Writes text for people. The caller has [cleaned](clean) its untrusted parts.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.stream.write_all(text.as_bytes())?)
    }

    /// Writes untrusted text: unchanged for programs, without control characters for a terminal.
    pub(crate) fn foreign(&mut self, text: &str) -> Result<(), Failure> {
        match self.is_terminal {
            true => self.text(&clean(text)),
            // Not through the colour filter: here escape sequences are part of the data.
            false => Ok(io::stdout().write_all(text.as_bytes())?),
        }
    }

    /// Writes one JSON document, indented on a terminal.
    pub(crate) fn document(&mut self, json: &[u8]) -> Result<(), Failure> {
        if !self.is_terminal {
            io::stdout().write_all(json)?;
            return self.line("");
        }
        let mut pretty = vec![];
        let mut reader = serde_json::Deserializer::from_slice(json);
        let mut writer = serde_json::Serializer::pretty(&mut pretty);
        serde_transcode::transcode(&mut reader, &mut writer).map_err(|_| unreadable())?;
        let pretty = String::from_utf8(pretty).map_err(|_| unreadable())?;
        self.foreign(&pretty)?;
        self.line("")
    }

    /// Writes an element of a list.
    fn element(&mut self, json: &str) -> Result<(), Failure> {
        if self.form == Form::Json {
            self.line(if self.written > 0 { "," } else { "[" })?;
        }
        self.written += 1;
        self.foreign(json)?;
        if self.form == Form::Ndjson { self.line("") } else { Ok(()) }
    }

    /// An element with its requested item in `from`, if there are several.
    fn belonging(&self, id: &str, element: &str) -> String {
        match element.strip_prefix('{') {
            Some(rest) if self.several => {
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!("{{\"from\":{}{comma}{rest}", serde_json::Value::from(id))
            }
            _ => element.to_owned(),
        }
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.stream, "{text}")?)
    }
}

/// Parses JSON of the service.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|_| unreadable())
}

fn unreadable() -> Failure {
    let message =
        "cannot parse the answer of the service; is it another version than this command?";
    Failure::Message(Exit::Upstream, message.to_owned())
}
