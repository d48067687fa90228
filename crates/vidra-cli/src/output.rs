//! Standard output: JSON as the service sends it, or text for people.

pub(crate) mod cards;
pub(crate) mod collections;
mod csv;
pub(crate) mod documents;
mod filter;
pub(crate) mod hits;
mod included;
pub(crate) mod jobs;
mod pager;
pub(crate) mod table;

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use clap::builder::FalseyValueParser;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::failure::{Exit, Failure, print_error};
use crate::terminal::{self, clean};
use filter::Filter;

/// How answers are written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Write one JSON document, the same as the response of the service
    ///
    /// Several ids, - and --ids-file give one list, also if they name a single item
    #[arg(long, conflicts_with = "ndjson")]
    json: bool,

    /// Write one JSON document per line, one for each element of a list
    #[arg(long)]
    ndjson: bool,

    /// Write a list as CSV with a header row
    #[arg(long, conflicts_with_all = ["json", "ndjson"])]
    csv: bool,

    /// Only these members of each item, separated by commas
    ///
    /// Members of members have dots: id,title,thumbnails.high.url. Implies --json, unless --ndjson or --csv is given
    #[arg(long, value_name = "NAMES")]
    fields: Option<String>,

    /// Apply a jq filter to the JSON, and write each result on a line
    ///
    /// Strings have no quotes. The filter sees the document of --json, or with --ndjson one element at a time
    #[arg(long, value_name = "FILTER", conflicts_with = "csv")]
    jq: Option<String>,

    /// Never show long output in a pager
    ///
    /// On a terminal the pager is the program that PAGER names, or else less -FRX
    #[arg(long, env = "VIDRA_NO_PAGER", value_parser = FalseyValueParser::new())]
    no_pager: bool,

    #[arg(from_global)]
    quiet: bool,
}

/// The member of an element, or the column of a row, that names the requested item if there are several.
pub(crate) const FROM: &str = "from";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    People,
    Json,
    Ndjson,
    Csv,
}

impl OutputArgs {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self { csv: true, .. } => Form::Csv,
            Self { ndjson: true, .. } => Form::Ndjson,
            Self { json: true, .. } | Self { jq: Some(_), .. } | Self { fields: Some(_), .. } => {
                Form::Json
            }
            _ => Form::People,
        }
    }

    /// The members that `--fields` names.
    pub(crate) fn fields(&self) -> Option<&str> {
        self.fields.as_deref()
    }
}

/// Standard output.
pub(crate) struct Output {
    pub(crate) form: Form,
    /// The width of text for people; `None` without a limit.
    pub(crate) width: Option<usize>,
    is_terminal: bool,
    is_quiet: bool,
    filter: Option<Filter>,
    sink: Sink,
    /// Whether the command requests several items.
    several: bool,
    /// How many answers or elements have been written.
    written: usize,
    /// The JSON list of several items, for the filter.
    list: String,
    /// The header row of the CSV that was written.
    header: Option<Vec<u8>>,
}

/// Where the text goes. Both remove colours if there is no terminal or the user disabled them.
enum Sink {
    Stdout(AutoStream<io::Stdout>),
    /// Collected for this pager. It opens at the end, so that it does not get into the way of questions.
    Paged(AutoStream<Vec<u8>>, String),
}

impl Output {
    /// Fails if the filter of `--jq` is wrong.
    pub(crate) fn new(args: &OutputArgs) -> Result<Self, Failure> {
        let (form, is_terminal) = (args.form(), io::stdout().is_terminal());
        // NDJSON is for streams, which are shown as they come.
        let may_page = is_terminal && !args.no_pager && form != Form::Ndjson;
        let pager = if may_page { pager::command() } else { None };
        let colours = AutoStream::choice(&io::stdout());
        Ok(Self {
            form,
            width: terminal::width(),
            is_terminal,
            is_quiet: args.quiet,
            filter: args.jq.as_deref().map(Filter::new).transpose()?,
            sink: match pager {
                Some(pager) => Sink::Paged(AutoStream::new(vec![], colours), pager),
                None => Sink::Stdout(anstream::stdout()),
            },
            several: false,
            written: 0,
            list: String::new(),
            header: None,
        })
    }

    /// Whether the user wants only errors on standard error.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Prints a line to standard error that is no error, unless the user wants only errors.
    pub(crate) fn notice(&self, message: &str) {
        if !self.is_quiet {
            print_error(message);
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
        match self.form {
            Form::People => {}
            Form::Csv => return self.csv(id, body),
            Form::Json | Form::Ndjson => return self.json(id, body),
        }
        let answer: Box<T> = read(body)?;
        let text = shown(&answer, self.width);
        if self.written > 0 {
            self.text("\n")?;
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

    /// Writes an answer in CSV. All answers have one header row. `id` is the requested item, which the first column
    /// names if there are several.
    pub(crate) fn csv(&mut self, id: &str, body: &[u8]) -> Result<(), Failure> {
        let with_source = if self.several { Some(csv::with_source(id, body)?) } else { None };
        let body = with_source.as_deref().unwrap_or(body);
        let (header, rows) =
            body.split_at(body.iter().position(|it| *it == b'\n').map_or(0, |at| at + 1));
        let has_header = self.header.as_deref() == Some(header);
        let text = String::from_utf8_lossy(if has_header { rows } else { body }).into_owned();
        self.header.get_or_insert_with(|| header.to_vec());
        self.foreign(&text)
    }

    /// Closes the JSON list of several items, and flushes.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if self.several && self.form == Form::Json {
            self.element_text(if self.written > 0 { "\n]\n" } else { "[]\n" })?;
            if let Some(filter) = self.filter.take() {
                let text = filter.apply(self.list.as_bytes())?;
                self.foreign(&text)?;
            }
        }
        match &mut self.sink {
            Sink::Stdout(stdout) => Ok(stdout.flush()?),
            Sink::Paged(text, pager) => {
                let text = std::mem::replace(text, AutoStream::never(vec![])).into_inner();
                let (width, height) = (self.width.unwrap_or(80), terminal::height().unwrap_or(24));
                match pager::is_long(&text, width, height) {
                    true => Ok(pager::show(pager, &text)?),
                    false => Ok(io::stdout().write_all(&text)?),
                }
            }
        }
    }

    /// Writes text for people. The caller has [cleaned](clean) its untrusted parts.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write_all(text.as_bytes())?,
            Sink::Paged(all, _) => all.write_all(text.as_bytes())?,
        }
        Ok(())
    }

    /// Writes untrusted text: unchanged for programs, without control characters for a terminal.
    pub(crate) fn foreign(&mut self, text: &str) -> Result<(), Failure> {
        match self.is_terminal {
            true => self.text(&clean(text)),
            // Not through the colour filter: here escape sequences are part of the data.
            false => Ok(io::stdout().write_all(text.as_bytes())?),
        }
    }

    /// Whether documents are changed before they are written: by a filter, or for a terminal.
    pub(crate) fn shows_documents(&self) -> bool {
        self.filter.is_some() || self.is_terminal
    }

    /// Writes one JSON document, indented on a terminal.
    pub(crate) fn document(&mut self, json: &[u8]) -> Result<(), Failure> {
        if let Some(filter) = &self.filter {
            let text = filter.apply(json)?;
            return self.foreign(&text);
        }
        if !self.is_terminal {
            io::stdout().write_all(json)?;
            return self.text("\n");
        }
        let mut pretty = vec![];
        let mut reader = serde_json::Deserializer::from_slice(json);
        let mut writer = serde_json::Serializer::pretty(&mut pretty);
        serde_transcode::transcode(&mut reader, &mut writer).map_err(|_| unreadable())?;
        let pretty = String::from_utf8(pretty).map_err(|_| unreadable())?;
        self.foreign(&pretty)?;
        self.text("\n")
    }

    /// Writes one line of NDJSON.
    pub(crate) fn json_line(&mut self, json: &str) -> Result<(), Failure> {
        match &self.filter {
            Some(filter) => {
                let text = filter.apply(json.as_bytes())?;
                self.foreign(&text)
            }
            None => self.foreign(&format!("{json}\n")),
        }
    }

    /// Writes an element of a list.
    fn element(&mut self, json: &str) -> Result<(), Failure> {
        let is_first = self.written == 0;
        self.written += 1;
        if self.form == Form::Ndjson {
            return self.json_line(json);
        }
        self.element_text(if is_first { "[\n" } else { ",\n" })?;
        self.element_text(json)
    }

    /// Writes a part of a JSON list, or keeps it for the filter.
    fn element_text(&mut self, text: &str) -> Result<(), Failure> {
        if self.filter.is_none() {
            return self.foreign(text);
        }
        self.list += text;
        Ok(())
    }

    /// An element with its requested item in `from`, if there are several.
    fn belonging(&self, id: &str, element: &str) -> String {
        match element.strip_prefix('{') {
            Some(rest) if self.several => {
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!("{{\"{FROM}\":{}{comma}{rest}", serde_json::Value::from(id))
            }
            _ => element.to_owned(),
        }
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
