//! `vidra job results`: the transcripts of a job, to standard output or into a file.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use vidra_library::FileKind;

use super::super::CommandContext;
use super::{JobCommon, find, request};
use crate::failure::{Exit, Failure};
use crate::output::Form;
use crate::service::{RestRequest, Service};
use crate::values::words_of;

#[derive(Debug, clap::Args)]
pub(crate) struct ResultsArgs {
    /// Id of the job, or its first 6 characters or more
    #[arg(value_name = "JOB")]
    id: String,

    /// Format [default: by the name of --out, or else json]
    #[arg(long, short, value_enum)]
    format: Option<ResultFormat>,

    /// Kinds of files in a ZIP archive, separated by commas [default: txt]
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = words_of(&FileKind::ALL))]
    files: Vec<String>,

    /// Write into this file
    ///
    /// An existing file is replaced once the results are complete
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    common: JobCommon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ResultFormat {
    /// One document.
    Json,
    /// One line per video, and a summary.
    Ndjson,
    /// One row per video.
    Csv,
    /// One file per transcript.
    Zip,
}

impl ResultFormat {
    fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Zip => "zip",
        }
    }
}

pub(super) async fn write(args: &ResultsArgs) -> Result<(), Failure> {
    let mut context = args.common.open().await?;
    let format = args.format(context.output.form)?;
    let done = args.run(&mut context, format).await;
    context.end(done).await
}

impl ResultsArgs {
    /// The format that the flags name.
    fn format(&self, form: Form) -> Result<ResultFormat, Failure> {
        let named = self.out.as_deref().and_then(Path::extension).and_then(|it| it.to_str());
        let named = named.and_then(|word| ResultFormat::from_str(word, true).ok());
        let format = self.format.or(match form {
            Form::People => named,
            Form::Json => Some(ResultFormat::Json),
            Form::Ndjson => Some(ResultFormat::Ndjson),
            Form::Csv => Some(ResultFormat::Csv),
        });
        let format = format.unwrap_or(ResultFormat::Json);
        let is_zip = format == ResultFormat::Zip;
        if !self.files.is_empty() && !is_zip {
            return Err(Failure::usage("--files needs --format zip"));
        }
        if is_zip && self.out.is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage("a ZIP archive needs --out FILE"));
        }
        Ok(format)
    }

    async fn run(&self, context: &mut CommandContext, format: ResultFormat) -> Result<(), Failure> {
        let id = find(&context.service, &self.id).await?;
        let files = Some(self.files.join(",")).filter(|files| !files.is_empty());
        let request = request(&id)
            .segment("results")
            .parameter("format", Some(format.word()))
            .parameter("files", files);
        let CommandContext { service, output, .. } = context;
        match (&self.out, format) {
            (Some(out), _) => to_file(service, &request, out).await,
            (None, ResultFormat::Json) if output.shows_documents() => {
                output.document(&service.fetch(&request).await?)
            }
            (None, ResultFormat::Ndjson) => {
                let mut last = vec![];
                let write = |line: &[u8]| {
                    last = line.to_vec();
                    output.json_line(&String::from_utf8_lossy(line))
                };
                service.lines(&request, write).await?;
                check_end(&last)
            }
            (None, ResultFormat::Csv) if output.shows_documents() => {
                output.foreign(&String::from_utf8_lossy(&service.fetch(&request).await?))
            }
            // Whatever its size.
            (None, _) => {
                service.download(&request, |data| Ok(io::stdout().write_all(data)?)).await?;
                let is_json = format == ResultFormat::Json;
                if is_json { output.text("\n") } else { Ok(()) }
            }
        }
    }
}

/// Writes an answer into a file, which gets its name once it is complete.
async fn to_file(service: &Service, request: &RestRequest, out: &Path) -> Result<(), Failure> {
    let trouble = |error: io::Error| {
        Failure::Message(Exit::Missing, format!("cannot write {}: {error}", out.display()))
    };
    let mut part = out.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let mut file = File::create_new(&part).map_err(trouble)?;
    let mut tail = vec![];
    let write = |data: &[u8]| {
        // The last line of NDJSON may be an error.
        tail.drain(..tail.len().saturating_sub(TAIL));
        tail.extend_from_slice(data);
        file.write_all(data).map_err(trouble)
    };
    let written = service.download(request, write).await;
    let written = written.and_then(|()| check_end(last_line(&tail)));
    let written = written.and_then(|()| file.sync_all().map_err(trouble));
    let named = written.and_then(|()| std::fs::rename(&part, out).map_err(trouble));
    named.inspect_err(|_| drop(std::fs::remove_file(&part)))
}

/// How many bytes before the last ones are searched for the last line.
const TAIL: usize = 4096;

fn last_line(tail: &[u8]) -> &[u8] {
    let text = tail.trim_ascii_end();
    text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// Fails if the last line of NDJSON is an error.
fn check_end(last: &[u8]) -> Result<(), Failure> {
    match last.starts_with(br#"{"type":"error""#) {
        true => {
            let message = "the results broke off before their end; run the same command again";
            Err(Failure::Message(Exit::Network, message.to_owned()))
        }
        false => Ok(()),
    }
}
