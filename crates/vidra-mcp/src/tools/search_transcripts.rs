//! `search_transcripts`: finds what was said in videos, playlists and channels, and fetches the transcripts that the library
//! lacks with a job.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::time::Instant;
use vidra::{Error, Reason, Result, TranscriptQuery};
use vidra_library::{
    Access, Create, ItemFilter, ItemState, Job, JobId, JobRequest, JobSource, Library, SearchGroup,
    TextSearch,
};

use super::hits::{Found, HitLimits, SearchHits, search_hits};
use super::job::waiting;
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call::ToolLibrary;
use crate::call_error::CallError;
use crate::params::{
    ChannelArg, ContextSeconds, Cursor, GroupArg, LanguagesArg, PlaylistArg, SearchChars, SinceArg,
    TextQueryArg, VideoArgs, Whole,
};
use crate::reply::ToolOutput;

/// How often the progress of a job is read.
const POLL: Duration = Duration::from_secs(2);

/// How many videos are fetched at once.
const CONCURRENCY: usize = 8;

/// The most failed videos that an answer names.
const NAMED_FAILURES: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchTranscripts {
    /// All words have to be in a video; also "exact phrase", OR, -without, prefix*
    query: TextQueryArg,
    /// 1 to 50 ids or URLs
    videos: Option<VideoArgs>,
    /// Id or URL
    playlist: Option<PlaylistArg>,
    /// Id, @handle or URL
    channel: Option<ChannelArg>,
    /// Most videos to search, the newest of a channel; 100 if not given
    #[serde(default)]
    most_videos: Whole<1, 500, 100>,
    /// Published on this date or later
    since: Option<SinceArg>,
    /// Codes by preference (de,en); the spoken language if not given
    lang: Option<LanguagesArg>,
    /// video for the best moments of each video, the default for playlist and channel
    group: Option<GroupArg>,
    /// Seconds of text around a moment
    #[serde(default)]
    context: ContextSeconds,
    /// Most moments or videos; 20 if not given
    #[serde(default)]
    limit: Whole<1, 100, 20>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: SearchChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

/// The moments that were found, and the videos that could not be searched.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TranscriptHits {
    #[serde(flatten)]
    found: Found,
    /// The number of videos that were searched.
    searched_videos: u64,
    /// The ids of videos without a transcript, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_searched: BTreeMap<&'static str, Vec<String>>,
    /// The job that fetches the other transcripts. Absent if all videos were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
}

impl SearchTranscripts {
    fn sources(&self) -> Result<Vec<JobSource>, CallError> {
        let videos = self.videos.iter().flat_map(|VideoArgs(ids)| ids);
        let playlists = self.playlist.iter().map(|PlaylistArg(id)| JobSource::Playlist(id.clone()));
        let channels = self.channel.iter().map(|ChannelArg(it)| JobSource::Channel(it.clone()));
        let sources: Vec<JobSource> =
            videos.map(|id| JobSource::Video(*id)).chain(playlists).chain(channels).collect();
        match sources.is_empty() {
            true => Err(CallError::bad("videos, playlist, channel: expected one of them")),
            false => Ok(sources),
        }
    }

    fn job_request(&self) -> JobRequest {
        let mut request = JobRequest::default();
        request.name = Some("search_transcripts".to_owned());
        request.limit = Some(self.most_videos.get());
        request.concurrency = CONCURRENCY;
        request.dates.since = self.since.as_ref().and_then(|SinceArg(range)| range.since);
        let languages = self.lang.as_ref().map(|LanguagesArg(it)| it.clone());
        request.transcript =
            TranscriptQuery::default().with_languages(languages.unwrap_or_default());
        request
    }
}

impl ToolInput for SearchTranscripts {
    const NAME: &'static str = "search_transcripts";
    const TITLE: &'static str = "Search transcripts";
    const DESCRIPTION: &'static str = "Find what is said, and at which second, in YouTube videos, a playlist or a \
        channel's newest videos. Fetches missing transcripts first. Use it instead of reading whole transcripts.";
    const OFFER: Offer = Offer::WithLibrary;
    type Output = TranscriptHits;

    async fn run(self, call: &Call<'_>) -> ToolResult<TranscriptHits> {
        let caller = call.library()?;
        let sources = self.sources()?;
        self.limits().skip()?;
        let _batch = call.batch_permit()?;
        match self.search(call, caller, &sources, Sharing::WithEqualCalls).await {
            // An equal call has ended, and deleted the job. The library has its transcripts.
            Err(CallError::Failed(error)) if error.reason() == Reason::JobNotFound => {
                self.search(call, caller, &sources, Sharing::None).await
            }
            output => output,
        }
    }
}

/// Whether a call uses the unfinished job of an equal one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    WithEqualCalls,
    None,
}

impl SearchTranscripts {
    fn limits(&self) -> HitLimits {
        HitLimits {
            cursor: self.cursor,
            limit: self.limit.count(),
            max_chars: self.max_chars.count(),
        }
    }

    fn text_search(&self, job: JobId) -> TextSearch {
        let TextQueryArg(query) = self.query.clone();
        // Of many videos, one with many equal moments would hide the others.
        let usual = if self.videos.is_some() { SearchGroup::Moment } else { SearchGroup::Video };
        let mut request = TextSearch {
            group: self.group.map_or(usual, |GroupArg(group)| group),
            context: self.context.get(),
            ..TextSearch::new(query)
        };
        request.filter.job = Some(job);
        request
    }

    /// Fetches what is missing, and searches.
    async fn search(
        &self,
        call: &Call<'_>,
        caller: &ToolLibrary,
        sources: &[JobSource],
        sharing: Sharing,
    ) -> ToolResult<TranscriptHits> {
        let request = self.job_request();
        let (mut fetching, job) = Fetching::start(caller, sources, &request, sharing).await?;
        let job = follow(call, caller, job).await?;
        // An unfinished job continues behind the answer.
        fetching.is_deleted = job.state.is_finished();
        if let Some(error) = job.error.as_ref().filter(|_| sources.len() == 1) {
            return Err(Error::new(error.reason, error.message.clone()).into());
        }
        let _permit = caller.wait_for_search(call.work_ends()).await?;
        let request = self.text_search(job.id);
        let SearchHits { mut output, coverage } =
            search_hits(caller, &request, self.limits()).await?;
        if !job.state.is_finished() {
            // The order of hits changes with each new transcript.
            output.next = None;
        }
        let not_searched = failures(caller, job.id).await?;
        let note = self.note(&job, &not_searched);
        let job = (!job.state.is_finished()).then(|| job.id.to_string());
        let output = output.map(|found| TranscriptHits {
            found,
            searched_videos: coverage,
            not_searched,
            job,
        });
        Ok(ToolOutput { head: format!("{}{note}", output.head), ..output })
    }

    /// The missing parts of the answer, with advice.
    fn note(&self, job: &Job, not_searched: &BTreeMap<&'static str, Vec<String>>) -> String {
        let mut note = String::new();
        for (reason, count) in &job.progress.failed {
            let ids = not_searched.get(reason).map(|ids| ids.join(", ")).unwrap_or_default();
            note += &format!("\nNot searched, {reason}: {count} videos, such as {ids}.");
        }
        if let Some(failure) = job.error.as_ref() {
            let why = failure.message.trim_end_matches('.');
            note += &format!("\nA source could not be listed: {why}.");
        }
        let most = self.most_videos.get();
        if job.progress.total == Some(most) && self.videos.is_none() {
            note +=
                &format!("\nOnly the first {most} videos were searched. most_videos raises that.");
        }
        if !job.state.is_finished() {
            let progress = &job.progress;
            let total = progress.total.map(|it| format!(" of {it}")).unwrap_or_default();
            let wait = waiting(job);
            let wait = if wait.is_empty() { wait } else { format!(", it waits: {wait}") };
            note += &format!(
                "\nNot complete: {}{total} transcripts are there. Job {} fetches the others{wait}. Call again with the same arguments later.",
                progress.succeeded, job.id,
            );
        }
        note
    }
}

/// Waits until a job has ended or waits for a resource, or the call has to answer.
async fn follow(call: &Call<'_>, caller: &ToolLibrary, mut job: Job) -> Result<Job> {
    let end = call.work_ends();
    while job.state.is_active() && !is_waiting_beyond(&job, end) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let failed: u64 = job.progress.failed.values().sum();
        call.report(job.progress.succeeded + failed, job.progress.total, "fetching transcripts");
        let (id, seen) = (job.id, job.version);
        job = caller.library.changed_job(id, &caller.access, seen, left.min(POLL)).await?;
    }
    Ok(job)
}

/// Whether the job waits for a resource that will not be there in time.
fn is_waiting_beyond(job: &Job, end: Instant) -> bool {
    let Some(wait) = &job.waiting else { return false };
    let left = wait.until.duration_since(jiff::Timestamp::now());
    let left = Duration::try_from(left).unwrap_or_default();
    Instant::now() + left > end
}

/// The failed videos of a job by reason.
async fn failures(caller: &ToolLibrary, job: JobId) -> Result<BTreeMap<&'static str, Vec<String>>> {
    let filter = ItemFilter { state: Some(ItemState::Failed), reason: None };
    let page = caller.library.items(job, &caller.access, filter, None, NAMED_FAILURES);
    let mut by_reason: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for item in page.await?.0 {
        let Some(id) = item.video_id else { continue };
        by_reason
            .entry(item.reason.map_or("unknown", |it| it.code()))
            .or_default()
            .push(id.to_string());
    }
    Ok(by_reason)
}

/// A job that a call started. Its transcripts stay in the library.
struct Fetching {
    job: Option<(Library, Access, JobId)>,
    /// Whether the job is deleted with the call: it is complete, or the call was cancelled while it waited.
    is_deleted: bool,
}

impl Fetching {
    /// Starts a job, or finds the unfinished one of an equal call.
    async fn start(
        caller: &ToolLibrary,
        sources: &[JobSource],
        request: &JobRequest,
        sharing: Sharing,
    ) -> Result<(Self, Job)> {
        let (library, access) = (caller.library.clone(), caller.access.clone());
        let create = |idempotency_key| {
            let (owner, request, sources) =
                (caller.owner.clone(), request.clone(), sources.to_vec());
            let create = Create { owner, request, sources, idempotency_key };
            Self::create(library.clone(), access.clone(), create)
        };
        let key = (sharing == Sharing::WithEqualCalls).then(|| key(sources, request));
        let (mut fetching, mut job) = create(key).await?;
        if fetching.job.is_none() && !job.state.is_active() {
            // Its sources may have new videos, or a person paused it.
            (fetching, job) = create(None).await?;
        }
        caller.note_job(job.id);
        Ok((fetching, job))
    }

    /// Creates a job in a task of its own: the library commits it also if the call is cancelled meanwhile, and the task
    /// deletes it then.
    async fn create(library: Library, access: Access, create: Create) -> Result<(Self, Job)> {
        let creating = tokio::spawn(async move {
            let created = library.create(create).await?;
            let job = created.is_new.then_some((library, access, created.job.id));
            Ok((Self { job, is_deleted: true }, created.job))
        });
        creating.await.map_err(Error::internal)?
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        let Some((library, access, id)) = self.job.take().filter(|_| self.is_deleted) else {
            return;
        };
        // A call can be dropped after its runtime has ended. Then the job stays.
        let Ok(runtime) = Handle::try_current() else { return };
        // The answer does not wait for it.
        runtime.spawn(async move {
            match library.delete(id, &access).await {
                Err(error) if error.reason() != Reason::JobNotFound => {
                    tracing::warn!(reason = error.reason().code(), "job of a search not deleted");
                }
                _ => {}
            }
        });
    }
}

/// A key by which an equal call finds the job.
fn key(sources: &[JobSource], request: &JobRequest) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{sources:?} {request:?}").hash(&mut hasher);
    format!("search_transcripts {:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use vidra_library::Limits;

    use super::*;

    /// The writer of the library commits what it has received, also if the caller has left.
    #[tokio::test]
    async fn a_call_that_is_cancelled_while_it_creates_its_job_leaves_no_job() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.db");
        let caller = ToolLibrary::new(Library::open(&path, Limits::default()).unwrap());
        let (library, access) = (&caller.library, &caller.access);
        let (sources, request) =
            ([JobSource::parse("txManualAsr").unwrap()], JobRequest::default());
        for sharing in [Sharing::WithEqualCalls, Sharing::None] {
            let mut start = Box::pin(Fetching::start(&caller, &sources, &request, sharing));
            assert!((&mut start).now_or_never().is_none(), "the write is running");
            drop(start);
            // These writes follow the creation and the deletion.
            for _ in 0..20 {
                library.expire(None).await.unwrap();
            }
            let (jobs, _) = library.jobs(access, None, None, 10).await.unwrap();
            assert!(jobs.is_empty(), "{jobs:?}");
        }
    }
}
