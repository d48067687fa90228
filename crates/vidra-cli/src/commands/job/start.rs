//! `vidra job start`.

use std::path::PathBuf;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use vidra::CaptionKind;

use super::super::{CommandContext, Ids};
use super::JobCommon;
use super::follow::Follower;
use crate::failure::Failure;
use crate::output::jobs::{self, EstimateView, JobView};
use crate::output::read;
use crate::service::RestRequest;
use crate::values::{count_in, date, words_of};

#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Videos, playlists and channels: ids or URLs
    #[arg(value_name = "SOURCE", required_unless_present = "file")]
    sources: Vec<String>,

    /// File with more sources, one per line, up to 50,000; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Name of the job, for people
    #[arg(long)]
    name: Option<String>,

    /// Only videos of playlists and channels of this day or time or later; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Only videos of playlists and channels of this day or time or earlier
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<String>,

    /// Maximum number of videos
    #[arg(long, short, value_name = "COUNT", value_parser = count_in::<u64>(1..=1_000_000))]
    limit: Option<u64>,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Let YouTube translate the transcripts to this language
    #[arg(long, value_name = "CODE")]
    translate: Option<String>,

    /// Only captions by people, or only recognised speech [default: both, people first]
    #[arg(long, value_name = "KIND", value_parser = words_of(CaptionKind::ALL))]
    captions: Option<String>,

    /// Number of concurrent fetches
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = count_in::<u64>(1..=20))]
    concurrency: u64,

    /// Quota units that the job may cost [default: no limit]
    #[arg(long, value_name = "UNITS", value_parser = count_in::<u64>(0..=1_000_000_000))]
    unit_budget: Option<u64>,

    /// Name of a webhook of the service, which gets the changes of the job; needs --server
    #[arg(long, value_name = "NAME")]
    webhook: Option<String>,

    /// Print what the job would cost, and start nothing
    #[arg(long, conflicts_with_all = ["detach", "idempotency_key"])]
    dry_run: bool,

    /// A key of your choice: for 24 hours, the same command with it starts no second job
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Return as soon as the job is started; needs --server
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    common: JobCommon,
}

/// The most sources of a JSON request. More are sent as a list.
const MOST_SOURCES: usize = 500;

pub(super) async fn start(args: &StartArgs) -> Result<(), Failure> {
    let sources = Ids::listed(&args.sources, args.file.as_ref())?;
    let mut context = args.common.open_for_one().await?;
    if args.detach && context.service.library().is_some() {
        return Err(Failure::usage(
            "--detach needs a running service, which works on the job: --server URL (vidra serve)",
        ));
    }
    let request = args.request(&sources);
    if args.dry_run {
        let estimate = context.service.fetch(&dry(&request)).await;
        let done = estimate.and_then(|body| context.output.answer("", &body, jobs::estimate));
        return context.end(done).await;
    }
    let agreed = confirm(&context, &request).await;
    context.begin(agreed).await?;
    let done = args.run(&mut context, request).await;
    context.end(done).await
}

/// The request for an estimate.
fn dry(request: &RestRequest) -> RestRequest {
    request.clone().parameter("dryRun", Some(true))
}

/// Asks before a job that costs much.
async fn confirm(context: &CommandContext, request: &RestRequest) -> Result<(), Failure> {
    let spending = context.service.spending();
    if !spending.may_ask() {
        return Ok(());
    }
    let EstimateView { videos, units, .. } = read(&context.service.fetch(&dry(request)).await?)?;
    spending.confirm(units, &format!("a job of {videos} videos"))
}

impl StartArgs {
    async fn run(&self, context: &mut CommandContext, request: RestRequest) -> Result<(), Failure> {
        let request = request.idempotency_key(self.idempotency_key.as_deref());
        let body: Bytes = context.service.fetch(&request).await?;
        if self.detach {
            return context.output.answer("", &body, jobs::job);
        }
        let JobView { id, state, .. } = read(&body)?;
        // An earlier command with the same key can have started it.
        let is_new = self.idempotency_key.is_none() || state == "queued";
        let event = if is_new { "started job" } else { "this key belongs to job" };
        context.output.notice(&format!("{event} {id}"));
        let config = self.common.common.service.worker_config();
        let follower = match is_new {
            true => Follower::paying(id, 0, config),
            false => Follower::new(id, false, config),
        };
        follower.run(context).await
    }

    /// The request that starts the job. A long list is a body of its own.
    fn request(&self, sources: &[String]) -> RestRequest {
        let (request, options) = (RestRequest::get("jobs"), self.options());
        if sources.len() <= MOST_SOURCES {
            let mut body = options;
            body.insert("sources".to_owned(), json!(sources));
            return request.post(Value::Object(body));
        }
        let request = options.iter().fold(request, |request, (name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            request.parameter(name, Some(text))
        });
        request.post_text(sources.join("\n"))
    }

    /// The options that the flags set, in the words of the service.
    fn options(&self) -> Map<String, Value> {
        let refresh = self.common.common.service.wants_refresh();
        let options = json!({
            "name": self.name, "since": self.since, "until": self.until, "limit": self.limit, "lang": self.lang,
            "translate": self.translate, "captions": self.captions, "concurrency": self.concurrency,
            "unitBudget": self.unit_budget, "refresh": refresh.then_some(true), "webhook": self.webhook,
        });
        let Value::Object(mut options) = options else { return Map::new() };
        options.retain(|_, value| !value.is_null());
        options
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::parsed;
    use super::*;

    #[test]
    fn a_long_list_is_sent_as_text_with_its_options_in_the_query() {
        let args: StartArgs = parsed(&["start", "@fermata", "--lang", "de", "--unit-budget=7"]);
        let body =
            json!({"sources": ["@fermata"], "lang": "de", "concurrency": 4, "unitBudget": 7});
        assert_eq!(args.request(&["@fermata".into()]), RestRequest::get("jobs").post(body));
        let many = vec!["fda4eREcaTQ".to_owned(); MOST_SOURCES + 1];
        let expected = RestRequest::get("jobs")
            .parameter("concurrency", Some(4))
            .parameter("lang", Some("de"))
            .parameter("unitBudget", Some(7))
            .post_text(many.join("\n"));
        assert_eq!(args.request(&many), expected);
    }
}
