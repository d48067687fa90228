//! The results of a job as JSON, NDJSON, CSV and ZIP, produced page by page. The service sends these bytes, and the
//! command writes the same ones from a local file.

mod csv;
mod name;
mod zip;

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::{Stream, stream};
use serde::Serialize;
use vidra::transcript::{FullTranscript, to_srt, to_text, to_vtt};
use vidra::{BatchTranscript, Error, Reason, Result, VideoTranscript};

use crate::job::{Job, JobId, JobState};
use crate::library::{Access, Library, StoredResult};
use crate::store::items::ResultRow;
use csv::CsvWriter;
pub use name::file_stem;
use zip::ZipWriter;

/// How many items a page has at most. Pages of long transcripts have fewer.
const PAGE: usize = 32;

/// The form of the results of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultForm {
    /// One JSON document, with each result as in a batch.
    Json,
    /// One line for each result, and a summary in the last line.
    Ndjson,
    /// One row for each item, with the whole text in one cell.
    Csv,
    /// One file for each transcript and kind, and a table of the failed items. Without kinds it has text files.
    Zip(Vec<FileKind>),
}

/// A kind of file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// Plain text, one caption per line.
    Txt,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// Lines with their times.
    Json,
}

impl FileKind {
    /// All kinds, with their words in requests, which are the extensions of their files.
    pub const ALL: [(&'static str, Self); 4] =
        [("txt", Self::Txt), ("srt", Self::Srt), ("vtt", Self::Vtt), ("json", Self::Json)];

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }

    /// The extension of the file.
    pub fn extension(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// The content of the file.
    fn content(self, transcript: &FullTranscript) -> String {
        match self {
            Self::Txt => to_text(&transcript.lines()),
            Self::Srt => to_srt(&transcript.lines_with_breaks()),
            Self::Vtt => to_vtt(&transcript.lines_with_breaks()),
            Self::Json => serde_json::to_string(&transcript.lines()).unwrap_or_default() + "\n",
        }
    }
}

/// The totals of the results of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResultSummary {
    /// The job's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "0f8fad5bd9cb469fa16570867728950e"))]
    pub job_id: JobId,
    /// The state of the job when the results were requested. There may be more results later if the job has not ended.
    pub state: JobState,
    /// The number of results with a transcript.
    pub succeeded: u64,
    /// The number of results without one. A transcript that was removed from the library is missing here too.
    pub failed: u64,
}

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Result(&'a VideoTranscript),
    Summary(&'a ResultSummary),
}

impl Library {
    /// The results of a job so far, in the order of their positions, as a stream of bytes. It reads one page at a time,
    /// so that memory holds neither the whole job nor a transaction.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`], and [`Reason::InvalidInput`] for an archive of more than 200,000 files. The stream ends with an error if a page cannot be read, for example because the job was
    /// deleted meanwhile. An item whose stored text is damaged is a failed result.
    pub async fn write_results(
        &self,
        id: JobId,
        access: &Access,
        form: ResultForm,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
        let job = self.job(id, access).await?;
        check_size(&job, &form)?;
        let summary = ResultSummary { job_id: id, state: job.state, succeeded: 0, failed: 0 };
        let pages = Pages {
            library: self.clone(),
            id,
            access: access.clone(),
            after: 0,
            writer: Some(Writer::new(form, summary)),
            ready: VecDeque::new(),
        };
        Ok(stream::unfold(Some(pages), |pages| async {
            let mut pages = pages?;
            match pages.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(pages))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        }))
    }
}

/// The largest number of files in an archive. The directory at its end is in memory.
const MAX_FILES: u64 = 200_000;

/// Refuses an archive with too many files.
fn check_size(job: &Job, form: &ResultForm) -> Result<()> {
    let ResultForm::Zip(kinds) = form else { return Ok(()) };
    let results = job.progress.succeeded + job.progress.failed.values().sum::<u64>();
    if results * kinds.len().max(1) as u64 <= MAX_FILES {
        return Ok(());
    }
    let fault = format!("format: an archive has at most {MAX_FILES} files; use ndjson");
    Err(Error::invalid("The archive would have too many files", vec![fault]))
}

/// The pages of a job that are read and written one after the other.
struct Pages {
    library: Library,
    id: JobId,
    access: Access,
    after: u64,
    /// `None` after the end.
    writer: Option<Writer>,
    ready: VecDeque<Bytes>,
}

impl Pages {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Ok(Some(bytes));
            }
            let Some(mut writer) = self.writer.take() else { return Ok(None) };
            let page = self.library.result_rows(self.id, &self.access, self.after, PAGE).await?;
            let last = page.last().map(|row| row.item.position);
            self.after = last.unwrap_or(self.after);
            // Decoding and rendering a page takes milliseconds. Only compressed pages wait for it.
            let write = move || Ok((writer.write(page)?, writer));
            let (chunks, writer) = self.library.database().compute_download(write).await?;
            self.ready.extend(chunks.into_iter().filter(|it| !it.is_empty()).map(Bytes::from));
            self.writer = last.map(|_| writer);
        }
    }
}

/// Writes results in one form.
struct Writer {
    summary: ResultSummary,
    /// Whether nothing was written.
    is_first: bool,
    form: FormWriter,
}

enum FormWriter {
    Json,
    Ndjson,
    Csv(CsvWriter),
    Zip { kinds: Vec<FileKind>, files: ZipWriter, failed: CsvWriter },
}

impl Writer {
    fn new(form: ResultForm, summary: ResultSummary) -> Self {
        let form = match form {
            ResultForm::Json => FormWriter::Json,
            ResultForm::Ndjson => FormWriter::Ndjson,
            ResultForm::Csv => FormWriter::Csv(CsvWriter::of_results()),
            ResultForm::Zip(mut kinds) => {
                if kinds.is_empty() {
                    kinds.push(FileKind::Txt);
                }
                let mut seen = vec![];
                kinds.retain(|kind| {
                    !seen.contains(kind) && {
                        seen.push(*kind);
                        true
                    }
                });
                let (files, failed) = (ZipWriter::default(), CsvWriter::of_failures());
                FormWriter::Zip { kinds, files, failed }
            }
        };
        Self { summary, is_first: true, form }
    }

    /// Writes a page, one chunk for each result. An empty page is the last one. It decodes one result at a time.
    fn write(&mut self, page: Vec<ResultRow>) -> Result<Vec<Vec<u8>>> {
        let mut chunks = vec![];
        let is_last = page.is_empty();
        if self.is_first {
            chunks.push(self.head()?);
        }
        for result in page.into_iter().map(StoredResult::from) {
            match outcome(&result) {
                Ok(_) => self.summary.succeeded += 1,
                Err(_) => self.summary.failed += 1,
            }
            chunks.push(self.result(result)?);
            self.is_first = false;
        }
        if is_last {
            chunks.push(self.tail()?);
        }
        Ok(chunks)
    }

    fn head(&mut self) -> Result<Vec<u8>> {
        match &mut self.form {
            FormWriter::Json => {
                let ResultSummary { job_id, state, .. } = &self.summary;
                let head =
                    format!(r#"{{"jobId":"{job_id}","state":"{}","results":["#, state.word());
                Ok(head.into_bytes())
            }
            FormWriter::Csv(csv) => Ok(csv.take()),
            FormWriter::Ndjson | FormWriter::Zip { .. } => Ok(vec![]),
        }
    }

    fn result(&mut self, stored: StoredResult) -> Result<Vec<u8>> {
        match &mut self.form {
            FormWriter::Json => {
                let mut text = if self.is_first { vec![] } else { b",".to_vec() };
                text.extend(json(&of_batch(stored))?);
                Ok(text)
            }
            FormWriter::Ndjson => {
                let mut line = json(&Line::Result(&of_batch(stored)))?;
                line.push(b'\n');
                Ok(line)
            }
            FormWriter::Csv(csv) => {
                csv.add_result(&stored.item, &outcome(&stored));
                Ok(csv.take())
            }
            FormWriter::Zip { kinds, files, failed } => {
                match outcome(&stored) {
                    Ok(transcript) => {
                        let (id, lang) =
                            (transcript.info.video_id, &transcript.info.track.language_code);
                        let stem = file_stem(&transcript.info.title, id.as_str(), Some(lang));
                        for kind in &*kinds {
                            let name = format!("{stem}.{}", kind.extension());
                            let content = kind.content(transcript);
                            files.add(&name, content.as_bytes(), stored.item.finished_at)?;
                        }
                    }
                    Err(error) => failed.add_failure(&stored.item, &error),
                }
                Ok(files.take())
            }
        }
    }

    fn tail(&mut self) -> Result<Vec<u8>> {
        match &mut self.form {
            // The totals are known at the end.
            FormWriter::Json => {
                let ResultSummary { succeeded, failed, .. } = &self.summary;
                Ok(format!(r#"],"succeeded":{succeeded},"failed":{failed}}}"#).into_bytes())
            }
            FormWriter::Ndjson => {
                let mut line = json(&Line::Summary(&self.summary))?;
                line.push(b'\n');
                Ok(line)
            }
            FormWriter::Csv(_) => Ok(vec![]),
            FormWriter::Zip { files, failed, .. } => {
                files.add("failed.csv", &failed.take(), None)?;
                files.finish();
                Ok(files.take())
            }
        }
    }
}

/// The transcript of an ended item, or why it has none.
fn outcome(stored: &StoredResult) -> Result<&FullTranscript> {
    match &stored.transcript {
        Some(Ok(transcript)) => Ok(transcript),
        Some(Err(error)) => Err(error.clone()),
        None => {
            let (reason, message) = match (stored.item.reason, &stored.item.error) {
                (Some(reason), message) => (reason, message.clone().unwrap_or_default()),
                // It succeeded, and its text has gone.
                _ => {
                    let message = "The transcript was removed from the library";
                    (Reason::TranscriptRemoved, message.to_owned())
                }
            };
            Err(Error::new(reason, message))
        }
    }
}

/// The result as in a batch.
fn of_batch(stored: StoredResult) -> VideoTranscript {
    let lines = outcome(&stored).map(|transcript| BatchTranscript::Lines(transcript.lines()));
    let item = stored.item;
    VideoTranscript::new(item.video_id, item.title.unwrap_or_default(), item.position, lines)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(Error::internal)
}
