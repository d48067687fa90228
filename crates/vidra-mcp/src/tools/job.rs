//! `start_job`, `get_job`: work over many videos that outlasts a call.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use vidra::{Bucket, CaptionKind, TranscriptQuery, format};
use vidra_library::{Create, Estimate, Job, JobRequest, JobState};

use super::transcript::CaptionsArg;
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call::ToolLibrary;
use crate::call_error::CallError;
use crate::params::{
    JobArg, JobName, LanguageArg, LanguagesArg, SinceArg, SourceArgs, UntilArg, Whole, date_range,
};
use crate::reply::ToolOutput;

pub(super) const START_JOB: &str = "start_job";

/// The most jobs in a list.
const LISTED_JOBS: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartJob {
    /// Videos, playlists, channels: ids, @handles or URLs
    sources: SourceArgs,
    /// Videos of this date or later
    since: Option<SinceArg>,
    until: Option<UntilArg>,
    /// Most videos
    limit: Option<Whole<1, 1_000_000, 1>>,
    /// Codes by preference (de,en)
    lang: Option<LanguagesArg>,
    /// Language to translate to
    translate: Option<LanguageArg>,
    /// Only those by people (manual) or by machine (auto)
    captions: Option<CaptionsArg>,
    /// For people
    name: Option<JobName>,
    /// Most quota units
    unit_budget: Option<Whole<0, 1_000_000_000, 0>>,
    /// Only estimate the cost
    #[serde(default)]
    dry_run: bool,
}

/// A job that was started, or the estimated cost.
#[derive(Serialize, JsonSchema)]
pub(super) struct StartedJob {
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobFacts>,
    /// With dry_run.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateFacts>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EstimateFacts {
    /// At most.
    videos: u64,
    /// Quota units, at most.
    units: u64,
    /// The hours at the pace of the service.
    hours: f64,
    /// The days of quota.
    quota_days: u64,
}

impl StartJob {
    fn request(&self) -> Result<JobRequest, CallError> {
        let mut request = JobRequest::default();
        request.name = self.name.as_ref().map(|JobName(name)| name.clone());
        request.dates = date_range(self.since.clone(), self.until.clone())?;
        request.limit = self.limit.map(Whole::get);
        request.unit_budget = self.unit_budget.map(Whole::get);
        let languages = self.lang.clone().map(|LanguagesArg(it)| it).unwrap_or_default();
        request.transcript = TranscriptQuery::default()
            .with_languages(languages)
            .with_captions(self.captions.map(CaptionKind::from))
            .with_translation(self.translate.clone().map(|LanguageArg(code)| code));
        Ok(request)
    }
}

impl ToolInput for StartJob {
    const NAME: &'static str = START_JOB;
    const TITLE: &'static str = "Start a job";
    const DESCRIPTION: &'static str = "Fetch the transcripts of many videos into the library, for hours or days. \
        Follow it with get_job, and search with search_library. Ask the user before a job of over 1,000 videos.";
    const OFFER: Offer = Offer::WithLibrary;
    type Output = StartedJob;

    async fn run(self, call: &Call<'_>) -> ToolResult<StartedJob> {
        let caller = call.library()?;
        let request = self.request()?;
        let SourceArgs(sources) = self.sources;
        if self.dry_run {
            let per_day = units_per_day(call, caller).await?;
            // An estimate must not use what the job itself leaves to other requests.
            let vidra = call.vidra.in_background(caller.reserve_units);
            let estimate = Estimate::new(&vidra, &request, &sources, per_day).await?;
            let Estimate { videos, units, hours, quota_days, .. } = estimate;
            let head = format!(
                "At most {videos} videos, {units} quota units, hours: {hours}, days of quota: {quota_days}. Nothing was started."
            );
            let estimate = Some(EstimateFacts { videos, units, hours, quota_days });
            let found = StartedJob { job: None, estimate };
            return Ok(ToolOutput::complete(head, String::new(), found));
        }
        let owner = caller.owner.clone();
        let create = Create { owner, request, sources, idempotency_key: None };
        let job = caller.library.create(create).await?.job;
        caller.note_job(job.id);
        let job = JobFacts::from(job);
        let (head, body) = (format!("Started job {}.", job.id), job.line());
        let found = StartedJob { job: Some(job), estimate: None };
        Ok(ToolOutput::complete(head, body, found))
    }
}

/// The units of a day that jobs can spend.
async fn units_per_day(call: &Call<'_>, caller: &ToolLibrary) -> vidra::Result<u64> {
    let quota = call.vidra.quota().await?;
    let bucket = quota.buckets.iter().find(|bucket| bucket.name == Bucket::Default.name());
    let all = bucket.map_or(0, |it| it.limit.saturating_sub(caller.reserve_units));
    Ok(u64::from(caller.daily_units.map_or(all, |own| own.min(all))))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetJob {
    /// Id; the newest jobs if not given
    job: Option<JobArg>,
    /// With job: seconds to wait for its end, up to 40
    #[serde(default)]
    wait: Whole<0, 40, 0>,
}

/// A job, or several.
#[derive(Serialize, JsonSchema)]
pub(super) struct Jobs {
    jobs: Vec<JobFacts>,
}

/// The state of a job.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobFacts {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// queued, listing, running, waiting, paused, completed, cancelled or failed.
    state: &'static str,
    /// The resource that it waits for and until when, or why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// The number of videos. Absent until all sources are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    succeeded: u64,
    /// The number of failed videos, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<&'static str, u64>,
    pending: u64,
    /// The quota units that it has cost.
    units: u64,
    /// The estimated seconds until it completes. Absent if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    eta_seconds: Option<u64>,
}

impl From<Job> for JobFacts {
    fn from(job: Job) -> Self {
        let failure = || job.error.as_ref().map(|it| it.message.clone());
        let reason = failure().unwrap_or_else(|| waiting(&job));
        Self {
            id: job.id.to_string(),
            state: job.state.word(),
            reason,
            name: job.name,
            total: job.progress.total,
            succeeded: job.progress.succeeded,
            failed: job.progress.failed,
            pending: job.progress.pending,
            units: job.progress.units,
            eta_seconds: job.progress.eta_seconds,
        }
    }
}

impl JobFacts {
    fn line(&self) -> String {
        let Self { id, state, reason, succeeded, pending, units, .. } = self;
        let name = self.name.as_deref().map(|it| format!(" {}", crate::page::one_line(it)));
        let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        let total = self.total.map(|it| format!(" of {it}")).unwrap_or_default();
        let failed = self.failed.iter().map(|(reason, count)| format!("{count} {reason}"));
        let failed: Vec<String> = failed.collect();
        let failed = if failed.is_empty() {
            String::new()
        } else {
            format!(", failed: {}", failed.join(", "))
        };
        let left = self.eta_seconds.filter(|_| *pending > 0);
        let left = left.map(|it| format!(", {} left", format::span(it))).unwrap_or_default();
        format!(
            "{id}{} · {state}{why} · {succeeded}{total} transcripts, {pending} pending{failed}{left} · {units} units",
            name.unwrap_or_default()
        )
    }
}

impl ToolInput for GetJob {
    const NAME: &'static str = "get_job";
    const TITLE: &'static str = "Get the state of a job";
    const DESCRIPTION: &'static str = "How far a job is, what it waits for, and how many videos failed and why. Search \
        what it has fetched with search_library and its id.";
    const OFFER: Offer = Offer::WithLibrary;
    type Output = Jobs;

    async fn run(self, call: &Call<'_>) -> ToolResult<Jobs> {
        let caller = call.library()?;
        let ToolLibrary { library, access, .. } = caller;
        let jobs = match self.job {
            None => library.jobs(access, None, None, LISTED_JOBS).await?.0,
            Some(JobArg(id)) => {
                let end =
                    call.work_ends().min(Instant::now() + Duration::from_secs(self.wait.get()));
                let mut job = library.job(id, access).await?;
                while !finished(&job) && Instant::now() < end {
                    let failed: u64 = job.progress.failed.values().sum();
                    let done = job.progress.succeeded + failed;
                    call.report(done, job.progress.total, job.state.word());
                    let left = end.saturating_duration_since(Instant::now());
                    job = library.changed_job(id, access, job.version, left).await?;
                }
                vec![job]
            }
        };
        let jobs: Vec<JobFacts> = jobs.into_iter().map(JobFacts::from).collect();
        let lines: Vec<String> = jobs.iter().map(JobFacts::line).collect();
        let head = match jobs.len() {
            1 => "One job.".to_owned(),
            count => format!("The newest {count} jobs."),
        };
        Ok(ToolOutput::complete(head, lines.join("\n"), Jobs { jobs }))
    }
}

/// Whether nothing will change any more without a person.
pub(super) fn finished(job: &Job) -> bool {
    job.state.is_finished() || job.state == JobState::Paused
}

/// The resource that a job waits for, and until when. Empty if it does not wait.
pub(super) fn waiting(job: &Job) -> String {
    let Some(wait) = &job.waiting else { return String::new() };
    format!("{} until {}", wait.reason.code(), wait.until.strftime("%FT%RZ"))
}
