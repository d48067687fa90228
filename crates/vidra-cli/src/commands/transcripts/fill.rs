//! Fills a folder with transcripts. Files are written as results arrive, so that an interruption loses nothing that
//! came.

use std::collections::HashSet;

use vidra::{PlaylistId, PlaylistIds, VideoId, VideoTranscript};

use super::batch::{Batch, Event, Part, broken_off, event, invalid_result};
use super::folder::Folder;
use super::source::{Entry, InvalidId, Source};
use super::{Language, REPEAT, TranscriptsArgs, failed_item};
use crate::commands::CommandContext;
use crate::commands::job::request;
use crate::failure::{Exit, Failure, FailureGroups};
use crate::output::jobs::JobView;
use crate::output::read;
use crate::progress::Progress;
use crate::service::{RestRequest, Service};
use crate::signals::Signals;
use crate::terminal::one_line;

/// The most videos that the service accepts as an exclusion list.
const MOST_SKIPPED: usize = 4_000;

/// A video of the folder that needs no fetch, and its position in the playlist as far as the folder knows it; 0
/// if it does not.
pub(super) type Known = (u64, VideoId);

/// A folder that is being filled.
pub(super) struct Filling<'a> {
    args: &'a TranscriptsArgs,
    language: Language<'a>,
    service: &'a Service,
    is_quiet: bool,
    folder: &'a mut Folder,
    failures: &'a mut FailureGroups,
    known: Vec<Known>,
    /// `None` until the number of entries is known.
    progress: Option<Progress>,
    results: usize,
}

impl<'a> Filling<'a> {
    pub(super) fn new(
        args: &'a TranscriptsArgs,
        language: Language<'a>,
        context: &'a CommandContext,
        folder: &'a mut Folder,
        failures: &'a mut FailureGroups,
    ) -> Self {
        let known = folder.known(args.retry_failed);
        let (service, is_quiet) = (&context.service, context.output.is_quiet());
        let progress = None;
        Self { args, language, service, is_quiet, folder, failures, known, progress, results: 0 }
    }

    /// Writes the missing files and returns the number of results.
    pub(super) async fn run(
        mut self,
        source: &Source,
        signals: &Signals,
    ) -> Result<usize, Failure> {
        self.folder.write_manifest()?;
        let done = tokio::select! {
            // The result first: a complete playlist counts, also if a signal arrives with it.
            biased;
            done = self.fill(source) => done,
            () = signals.first() => {
                Err(Failure::Message(Exit::Missing, "stopped".to_owned()).with_hint(REPEAT))
            }
        };
        match done {
            Ok(()) => Ok(self.results),
            Err(Failure::Refused(refused)) if self.results > 0 => {
                Err(Failure::Refused(refused).with_hint(REPEAT))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn fill(&mut self, source: &Source) -> Result<(), Failure> {
        match source {
            Source::Videos { entries, invalid } => self.fill_list(entries, invalid).await,
            Source::Playlist { id, channel } => self.fill_playlist(id, channel.as_deref()).await,
            Source::Job { id } => self.fill_job(id).await,
        }
    }

    /// Writes the missing results of a job.
    async fn fill_job(&mut self, id: &str) -> Result<(), Failure> {
        let service = self.service;
        let job: JobView = read(&service.fetch(&request(id)).await?)?;
        self.folder.total(job.known());
        let known: HashSet<VideoId> = self.known.iter().map(|(_, id)| *id).collect();
        let missing = job.done().saturating_sub(known.len() as u64);
        self.progress = Some(Progress::new(Some(missing), self.is_quiet));
        let mut is_whole = false;
        let results = request(id).segment("results").parameter("format", Some("ndjson"));
        let write = |line: &[u8]| match event(service, line)? {
            Event::Result(result) if result.video_id.is_some_and(|id| known.contains(&id)) => {
                Ok(())
            }
            Event::Result(result) => self.save(result),
            Event::Summary(_) => {
                is_whole = true;
                Ok(())
            }
            Event::Waiting { .. } | Event::Error { .. } | Event::Other => Ok(()),
        };
        service.lines(&results, write).await?;
        if is_whole { Ok(()) } else { Err(broken_off()) }
    }

    /// Fetches the missing videos of a list. `invalid` are reported already, and only recorded here.
    async fn fill_list(&mut self, entries: &[Entry], invalid: &[InvalidId]) -> Result<(), Failure> {
        self.folder.total((entries.len() + invalid.len()) as u64);
        for id in invalid {
            self.folder.save(invalid_result(id)?)?;
        }
        let positions: Vec<Known> = entries.iter().map(|it| (it.position, it.id)).collect();
        self.folder.set_known_positions(&positions);
        let known: HashSet<VideoId> = self.known.iter().map(|(_, id)| *id).collect();
        let is_missing = |entry: &&Entry| !known.contains(&entry.id);
        let missing: Vec<Entry> = entries.iter().filter(is_missing).copied().collect();
        self.progress = Some(Progress::new(Some(missing.len() as u64), self.is_quiet));
        for batch in Batch::of_videos(self.args, self.language, &missing) {
            self.receive(&batch).await?;
        }
        Ok(())
    }

    /// Fetches the missing videos of a playlist, or of the uploads of a channel.
    async fn fill_playlist(
        &mut self,
        id: &PlaylistId,
        channel: Option<&str>,
    ) -> Result<(), Failure> {
        let TranscriptsArgs { from, to, .. } = *self.args;
        // The last part first. It lists the playlist to its end, and the service caches the list for the others.
        let parts = parts(from, to, &self.known, MOST_SKIPPED);
        for (index, part) in parts.iter().rev().enumerate() {
            let mut batch = Batch::of_playlist(self.args, self.language, id, channel, part);
            if index > 0 {
                // --refresh lists the playlist again once.
                batch.request = batch.request.allow_cached();
            }
            self.receive(&batch).await?;
        }
        // Results have positions, but skipped videos may have moved. The complete list is cached now.
        let is_listed = to.is_none() && self.args.since.is_none() && self.service.may_cache();
        if is_listed && !self.known.is_empty() {
            let ids = RestRequest::get("playlist").segment(id.as_str()).segment("ids");
            if let Ok(answer) = self.service.fetch(&ids.allow_cached()).await {
                let PlaylistIds { video_ids, .. } = read(&answer)?;
                self.folder.set_positions(&video_ids);
            }
        }
        Ok(())
    }

    /// Writes the files of a result, or records its failure.
    fn save(&mut self, result: VideoTranscript) -> Result<(), Failure> {
        if let Some(progress) = &self.progress {
            let title = one_line(&result.title);
            progress.done(match result.transcript {
                Ok(_) => title,
                Err(_) => format!("failed: {title}"),
            });
        }
        if let Err(error) = &result.transcript {
            self.failures.add(failed_item(self.service, &result, error));
        }
        self.results += 1;
        self.folder.save(result)
    }

    /// Writes files as results arrive.
    async fn receive(&mut self, batch: &Batch) -> Result<(), Failure> {
        let mut events = self.service.stream(&batch.request).await?;
        if let Some(total) = events.total_videos.filter(|_| !batch.is_list()) {
            self.folder.total(total);
        }
        let (total, is_quiet) = (events.total_videos, self.is_quiet);
        let missing = total.and_then(|total| missing(self.args, total, &self.known));
        self.progress.get_or_insert_with(|| Progress::new(missing, is_quiet));
        while let Some(line) = events.next().await? {
            match event(self.service, &line)? {
                Event::Result(mut result) => {
                    batch.set_position(&mut result);
                    self.save(result)?;
                }
                // Zero only says that the stream is alive.
                Event::Waiting { waiting } if waiting > 0.0 => {
                    let message =
                        format!("waiting {waiting:.0} s, so that YouTube does not block us");
                    self.progress.iter().for_each(|progress| progress.note(message.clone()));
                }
                Event::Summary(summary) => {
                    if !batch.is_list() {
                        self.folder.total(summary.total_videos);
                    }
                    return Ok(());
                }
                Event::Waiting { .. } | Event::Error { .. } | Event::Other => {}
            }
        }
        Err(broken_off())
    }
}

/// An estimate of the number of results: videos may have left the playlist since the last run. `None` with `--since`,
/// because only the service knows the dates.
fn missing(args: &TranscriptsArgs, total: u64, known: &[Known]) -> Option<u64> {
    if args.since.is_some() {
        return None;
    }
    let (first, last) = (args.from.unwrap_or(1), args.to.unwrap_or(total).min(total));
    let is_wanted = |position: u64| position == 0 || (first..=last).contains(&position);
    let known = known.iter().filter(|(position, _)| is_wanted(*position)).count();
    Some((last + 1).saturating_sub(first).saturating_sub(known as u64))
}

/// Splits the playlist into ranges whose exclusion lists the service accepts. A video that has moved to another
/// range since the last run is fetched again.
fn parts(from: Option<u64>, to: Option<u64>, known: &[Known], most: usize) -> Vec<Part> {
    let (first, last) = (from.unwrap_or(1), to.unwrap_or(u64::MAX));
    let is_wanted = |(position, _): &&Known| (first..=last).contains(position);
    let mut positioned: Vec<&Known> = known.iter().filter(is_wanted).collect();
    positioned.sort_by_key(|(position, _)| *position);
    // They can be anywhere, so all parts skip them.
    let unpositioned = known.iter().filter(|(position, _)| *position == 0).take(most / 2);
    let unpositioned: Vec<VideoId> = unpositioned.map(|(_, id)| *id).collect();
    let mut parts = vec![Part { from, to, skip: unpositioned.clone() }];
    for (position, id) in positioned {
        let part = parts.last_mut().expect("there is one");
        // Two videos with one position stay together.
        if part.skip.len() < most || part.from.unwrap_or(1) >= *position {
            part.skip.push(*id);
        } else {
            part.to = Some(position - 1);
            let skip = [&unpositioned[..], &[*id]].concat();
            parts.push(Part { from: Some(*position), to, skip });
        }
    }
    parts.iter_mut().for_each(|part| part.skip.truncate(most));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> VideoId {
        VideoId::parse(&format!("{number:011}")).unwrap()
    }

    fn part(from: Option<u64>, to: Option<u64>, skip: &[u64]) -> Part {
        Part { from, to, skip: skip.iter().map(|number| id(*number)).collect() }
    }

    #[test]
    fn parts_respect_the_skip_limit_and_cover_all_positions() {
        let known = [9, 2, 3, 6, 5].map(|number| (number, id(number)));
        let expected = [
            part(None, Some(4), &[2, 3]),
            part(Some(5), Some(8), &[5, 6]),
            part(Some(9), None, &[9]),
        ];
        assert_eq!(parts(None, None, &known, 2), expected);
        assert_eq!(parts(Some(3), Some(5), &known, 9), [part(Some(3), Some(5), &[3, 5])]);
        assert_eq!(parts(None, None, &[], 9), [part(None, None, &[])]);
    }

    #[test]
    fn videos_without_a_position_are_skipped_in_all_parts() {
        let known = [(0, id(70)), (1, id(1)), (2, id(2)), (2, id(22)), (5, id(5))];
        let expected = [
            part(None, Some(1), &[70, 1]),
            part(Some(2), Some(4), &[70, 2]),
            part(Some(5), None, &[70, 5]),
        ];
        assert_eq!(parts(None, None, &known, 2), expected, "one of the two is fetched again");
    }
}
