//! Follows a job until it ends. Without a remote service, this process works on it if no other does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::oneshot;
use tokio::time::sleep;
use vidra::{Reason, Vidra};
use vidra_library::{Access, JobId, Library, Worker, WorkerConfig};

use super::super::CommandContext;
use super::{JobCommon, find, request};
use crate::failure::{Exit, Failure, Refused};
use crate::output::jobs::{self, JobView};
use crate::output::{Form, Output, read};
use crate::progress::Progress;
use crate::service::Service;
use crate::signals::Signals;

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Id of the job, or its first 6 characters or more
    #[arg(value_name = "JOB")]
    id: String,

    /// End with exit code 3 as soon as the job waits for quota or for an address
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    common: JobCommon,
}

pub(super) async fn watch(args: &WatchArgs) -> Result<(), Failure> {
    let mut context = args.common.open_for_one().await?;
    let done = async {
        let id = find(&context.service, &args.id).await?;
        let config = args.common.common.service.worker_config();
        Follower::new(id, args.no_wait, config).run(&mut context).await
    };
    let done = done.await;
    context.end(done).await
}

/// How long a request waits for a change.
const WAIT: u64 = 30;

/// The shortest time between two requests. A fast job changes hundreds of times a second, and the requests to a service
/// count for the rate limit of the caller.
const INTERVAL: Duration = Duration::from_secs(1);
const LOCAL_INTERVAL: Duration = Duration::from_millis(100);

/// How often this process looks whether it has to work on the job itself.
const LOOK: Duration = Duration::from_secs(1);

/// The pauses between attempts to reach a service that does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The longest `Retry-After` that is waited for at once.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A job that a command follows.
pub(in crate::commands) struct Follower {
    id: String,
    /// Whether to end when the job waits for a resource.
    no_wait: bool,
    config: WorkerConfig,
    /// The units that the job had cost before this command. `u64::MAX` if the command does not pay for it.
    units_before: u64,
    /// Whether the job is not printed in the end.
    is_silent: bool,
}

type Stop = Shared<BoxFuture<'static, ()>>;

impl Follower {
    pub(super) fn new(id: String, no_wait: bool, config: WorkerConfig) -> Self {
        Self { id, no_wait, config, units_before: u64::MAX, is_silent: false }
    }

    /// Follows a job that this command has started, and reports its units as the cost of the command, except those that
    /// it had before.
    pub(in crate::commands) fn paying(id: String, units_before: u64, config: WorkerConfig) -> Self {
        Self { units_before, ..Self::new(id, false, config) }
    }

    /// Follows a job that this command has started for its own use, until it ends or waits for quota or for an address.
    pub(in crate::commands) fn silent(id: String, units_before: u64, config: WorkerConfig) -> Self {
        Self { units_before, is_silent: true, ..Self::new(id, true, config) }
    }

    /// Follows the job until it ends, prints it, and turns its state into the result of the command.
    pub(in crate::commands) async fn run(
        &self,
        context: &mut CommandContext,
    ) -> Result<(), Failure> {
        let signals = Signals::listen()?;
        let (done, is_done) = oneshot::channel::<()>();
        let first = signals.first();
        let stop = async move {
            tokio::select! { () = first => {}, _ = is_done => {} }
        };
        let stop: Stop = stop.boxed().shared();
        let CommandContext { service, output, .. } = context;
        let progress = Progress::of_job(output.is_quiet());
        let watching = async {
            let watched = tokio::select! {
                // The result first: a completed job counts, also if a signal arrives with it.
                biased;
                job = self.watch(service, output, &progress) => Some(job?),
                () = signals.first() => None,
            };
            drop(done);
            Ok(watched)
        };
        let working = self.work(service, stop);
        let both = async { tokio::try_join!(watching, working) };
        let ended = tokio::select! {
            ended = both => ended.map(|(job, ())| job),
            // The job can be continued even if nothing is given back.
            () = signals.second() => Ok(None),
        };
        drop(progress);
        let Some((body, job)) = ended? else { return Err(self.stopped(service)) };
        if let Some(spent) = job.units.checked_sub(self.units_before) {
            service.spending().add(spent);
        }
        if output.form != Form::Ndjson && !self.is_silent {
            output.answer("", &body, jobs::job)?;
        }
        outcome(&job)
    }

    /// The failure after a signal.
    fn stopped(&self, service: &Service) -> Failure {
        let id = &self.id;
        let hint = match service.library() {
            Some(_) => format!("stopped; vidra job watch {id} continues the job"),
            None => {
                format!("stopped watching; the service continues the job: vidra job watch {id}")
            }
        };
        Failure::Message(Exit::Missing, hint)
    }

    /// Shows the changes of the job until it stops.
    async fn watch(
        &self,
        service: &Service,
        output: &mut Output,
        progress: &Progress,
    ) -> Result<(Bytes, JobView), Failure> {
        let mut last: Option<JobView> = None;
        loop {
            let body = self.next(service, last.as_ref(), progress).await?;
            let job: JobView = read(&body)?;
            if last.as_ref().is_none_or(|last| last.version < job.version) {
                show(&job, last.as_ref(), progress);
                if output.form == Form::Ndjson && !self.is_silent {
                    output.json_line(&String::from_utf8_lossy(&body))?;
                }
            }
            if job.has_stopped() || (self.no_wait && job.waits()) {
                return Ok((body, job));
            }
            last = Some(job);
            sleep(if service.library().is_some() { LOCAL_INTERVAL } else { INTERVAL }).await;
        }
    }

    /// Requests the job until it has changed. A service that was there before may restart.
    async fn next(
        &self,
        service: &Service,
        last: Option<&JobView>,
        progress: &Progress,
    ) -> Result<Bytes, Failure> {
        let request = request(&self.id)
            .parameter("wait", last.map(|_| WAIT))
            .parameter("seen", last.map(|job| job.version));
        let mut pause = FIRST_PAUSE;
        loop {
            match service.fetch(&request).await {
                Err(failure) if last.is_some() && is_passing(&failure) => {
                    if pause == FIRST_PAUSE {
                        let why = match (&failure, service.library()) {
                            (Failure::Refused(refused), _) => refused.message.clone(),
                            (_, Some(_)) => "the library file cannot be used now".to_owned(),
                            (_, None) => "the service does not answer".to_owned(),
                        };
                        progress.print(&format!("{why}; trying again"));
                    }
                    sleep(pause.max(retry_after(&failure))).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    /// Works on the job whenever no other process does. A remote service does it itself.
    async fn work(&self, service: &Service, stop: Stop) -> Result<(), Failure> {
        let Some((library, vidra)) = service.library() else { return Ok(()) };
        let id = JobId::parse(&self.id)?;
        let worker = worker(library, vidra, self.config);
        // A disk that fails for a while does not end the work.
        let is_active = async || match library.job(id, &Access::All).await {
            Ok(job) => job.state.is_active(),
            Err(error) => error.reason() == Reason::LibraryUnavailable,
        };
        while is_active().await {
            if !library.has_worker(id).await.unwrap_or(true) {
                worker.run_until_idle(&[id], stop.clone()).await?;
            }
            tokio::select! {
                biased;
                () = stop.clone() => break,
                () = sleep(LOOK) => {}
            }
        }
        Ok(())
    }
}

/// A worker for which this process pays, whoever started the job.
fn worker(library: &Library, vidra: &Vidra, config: WorkerConfig) -> Worker {
    let payer = vidra.clone();
    let payers = Arc::new(move |_: &str| Some(payer.clone()));
    Worker::new(library.clone(), vidra.clone(), payers, config)
}

/// The time that the service asks to wait.
fn retry_after(failure: &Failure) -> Duration {
    match failure {
        Failure::Refused(Refused { retry_after: Some(wait), .. }) => (*wait).min(LONGEST_WAIT),
        _ => Duration::ZERO,
    }
}

/// Whether a service or a file that answered before may answer again.
fn is_passing(failure: &Failure) -> bool {
    match failure {
        Failure::Message(exit, _) => matches!(exit, Exit::Network | Exit::Upstream),
        Failure::Refused(Refused { exit, reason, .. }) => {
            let needs_operator = [Reason::LibraryDamaged, Reason::LibraryTooNew].map(Some);
            matches!(exit, Exit::Network | Exit::Upstream) && !needs_operator.contains(reason)
        }
        _ => false,
    }
}

/// Shows a change: the bar on a terminal, otherwise a line for each new state and each tenth.
fn show(job: &JobView, last: Option<&JobView>, progress: &Progress) {
    if job.has_stopped() && last.is_none() {
        return;
    }
    if last.is_none_or(|last| last.state != job.state) && !job.has_stopped() {
        progress.note(job.summary());
    }
    progress.set(job.done(), job.known().max(1), job.summary());
}

/// The result of the command for a job that stopped, or waits.
fn outcome(job: &JobView) -> Result<(), Failure> {
    let JobView { id, state, .. } = job;
    let why = job.explanation().map(|why| format!(": {why}")).unwrap_or_default();
    match state.as_str() {
        "completed" => Ok(()),
        "paused" => {
            let message = format!("the job is paused; vidra job resume {id} continues it");
            Err(Failure::Message(Exit::Missing, message))
        }
        "waiting" => {
            let why = job.explanation().unwrap_or_else(|| "waits".to_owned());
            Err(Failure::Message(Exit::Upstream, format!("the job {why}")))
        }
        "cancelled" => Err(Failure::Message(Exit::Missing, "the job was cancelled".to_owned())),
        _ => Err(Failure::Message(Exit::Missing, format!("the job failed{why}"))),
    }
}
