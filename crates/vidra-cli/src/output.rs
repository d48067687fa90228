//! What is written to standard output: JSON as the service gives it, or text for people.

pub(crate) mod cards;
pub(crate) mod table;
pub(crate) mod text;

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::failure::{Exit, Failure};
use text::clean;

/// How answers are written.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OutputArgs {
    /// Write one JSON document, as the service answers
    #[arg(long, conflicts_with = "ndjson")]
    json: bool,

    /// Write a JSON document a line; of lists, one for each of their elements
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
    /// How wide text for people may be; `None` where there is no end to a line.
    pub(crate) width: Option<usize>,
    is_terminal: bool,
    /// Colours are left out where there is no terminal, or where they are not wanted.
    stream: AutoStream<io::Stdout>,
    /// Whether several things were asked for, whose answers are told apart.
    several: bool,
    /// How many pieces have been written.
    written: usize,
}

impl Output {
    pub(crate) fn new(args: OutputArgs) -> Self {
        Self {
            form: args.form(),
            width: text::width(),
            is_terminal: io::stdout().is_terminal(),
            stream: anstream::stdout(),
            several: false,
            written: 0,
        }
    }

    /// Several things are asked for: JSON becomes one list, whose elements say in `from` what they
    /// belong to where one thing has several.
    pub(crate) fn begin_several(&mut self) {
        self.several = true;
    }

    /// Writes an answer. `asked` is what for, and `shown` its text for people.
    pub(crate) fn answer<T: DeserializeOwned>(
        &mut self,
        asked: &str,
        body: &[u8],
        shown: impl FnOnce(&T, Option<usize>) -> String,
    ) -> Result<(), Failure> {
        match self.form {
            Form::People => {
                let text = shown(&read(body)?, self.width);
                if self.written > 0 {
                    self.line("")?;
                }
                self.written += 1;
                self.text(&text)
            }
            Form::Json if !self.several => self.document(body),
            Form::Json | Form::Ndjson => {
                for element in self.elements(asked, body)? {
                    self.element(&element)?;
                }
                Ok(())
            }
        }
    }

    /// Ends the list that JSON of several things is.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if self.several && self.form == Form::Json {
            self.line(if self.written > 0 { "\n]" } else { "[]" })?;
        }
        self.stream.flush()?;
        Ok(())
    }

    /// Text for people, whose parts from outside have been [cleaned](clean).
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.stream.write_all(text.as_bytes())?)
    }

    /// Text from outside: as it is for programs, and without what would tell a terminal what to do.
    pub(crate) fn foreign(&mut self, text: &str) -> Result<(), Failure> {
        match self.is_terminal {
            true => self.text(&clean(text)),
            // Past what takes colours away: here they would be part of the text.
            false => Ok(io::stdout().write_all(text.as_bytes())?),
        }
    }

    /// One JSON document: with line breaks where people read it.
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

    /// An element of a list.
    fn element(&mut self, json: &str) -> Result<(), Failure> {
        if self.form == Form::Json {
            self.line(if self.written > 0 { "," } else { "[" })?;
        }
        self.written += 1;
        self.foreign(json)?;
        if self.form == Form::Ndjson { self.line("") } else { Ok(()) }
    }

    /// What is listed, or the whole where nothing is.
    fn elements(&self, asked: &str, body: &[u8]) -> Result<Vec<String>, Failure> {
        if body.first() != Some(&b'[') {
            return Ok(vec![String::from_utf8_lossy(body).into_owned()]);
        }
        let elements: Vec<Box<RawValue>> = read(body)?;
        Ok(elements.iter().map(|element| self.belonging(asked, element.get())).collect())
    }

    /// An element that says what it belongs to, where that is in question.
    fn belonging(&self, asked: &str, element: &str) -> String {
        match element.strip_prefix('{') {
            Some(rest) if self.several => {
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!("{{\"from\":{}{comma}{rest}", serde_json::Value::from(asked))
            }
            _ => element.to_owned(),
        }
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.stream, "{text}")?)
    }
}

/// Reads JSON of the service.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|_| unreadable())
}

fn unreadable() -> Failure {
    let message =
        "the service's answer could not be read; is it of another version than this command?";
    Failure::Because(Exit::Upstream, message.to_owned())
}
