//! `vidra grep`: finds a phrase in videos, playlists and channels, and fetches the transcripts that the library lacks.

use http::Method;
use serde_json::json;
use vidra::Link;
use vidra_library::TextQuery;

use super::job::{self, Follower};
use super::pages::PageArgs;
use super::{CommandContext, Common, Ids, search};
use crate::database::DatabaseArgs;
use crate::failure::{Exit, Failure, print_error};
use crate::output::jobs::JobView;
use crate::output::read;
use crate::service::RestRequest;
use crate::values::{count_in, date};

#[derive(Debug, clap::Args)]
pub(crate) struct GrepArgs {
    /// Words that follow each other; the last one may end with *
    #[arg(value_name = "PHRASE")]
    phrase: String,

    /// Videos, playlists and channels: ids or URLs
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,

    /// Look at this many videos at most, in the order of the sources, the newest of a channel first
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = count_in::<u64>(1..=1_000_000))]
    videos: u64,

    /// Only videos of this day or time or later; days are in UTC; videos named by their ids are always searched
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Seconds of text around a moment
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = count_in::<u64>(0..=300))]
    context: u64,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    common: Common,
}

/// How many videos without a transcript are printed.
const SHOWN_FAILURES: usize = 20;

/// Runs `vidra grep`.
pub(super) async fn grep(args: &GrepArgs) -> Result<(), Failure> {
    // Before anything is fetched.
    if let Err(error) = TextQuery::parse(&quoted(&args.phrase)) {
        let why = error.details().join("; ");
        let why = why.rsplit_once(": ").map_or(why.as_str(), |(_, why)| why);
        return Err(Failure::usage(format!("'{}' is no phrase: {why}", args.phrase)));
    }
    let is_wrong = |it: &&String| *it != "-" && Link::parse(it).is_err();
    if let Some(wrong) = args.sources.iter().find(is_wrong) {
        return Err(Failure::usage(format!(
            "'{wrong}' is no video, playlist or channel; put a phrase of several words in quotes"
        )));
    }
    let mut context = search::open(&args.common, &args.database).await?;
    let Fetched { job, trouble } = match fetch(args, &mut context).await {
        Ok(fetched) => fetched,
        Err(failure) => return context.end(Err(failure)).await,
    };
    let request = RestRequest::get("library")
        .segment("search")
        .parameter("q", Some(quoted(&args.phrase)))
        .parameter("job", Some(&job))
        .parameter("context", Some(args.context));
    let listed = search::list(&mut context, request, &args.part).await;
    let deleted = delete(&context, &job).await;
    listed?;
    deleted?;
    trouble.map_or(Ok(()), |exit| Err(Failure::Reported(exit)))
}

/// The transcripts of a grep.
struct Fetched {
    /// The job that has them.
    job: String,
    /// Why some of them are missing.
    trouble: Option<Exit>,
}

/// Deletes a job. Its transcripts stay in the library.
async fn delete(context: &CommandContext, job: &str) -> Result<(), Failure> {
    context.service.fetch(&job::request(job).method(Method::DELETE)).await.map(drop)
}

/// A phrase of the query syntax.
fn quoted(phrase: &str) -> String {
    format!("\"{}\"", phrase.replace('"', " "))
}

/// Fetches the missing transcripts with a job.
async fn fetch(args: &GrepArgs, context: &mut CommandContext) -> Result<Fetched, Failure> {
    let mut body = json!({
        "sources": Ids::listed(&args.sources, None)?, "limit": args.videos, "since": args.since,
        "lang": args.lang, "name": "grep",
        "refresh": args.common.service.wants_refresh().then_some(true),
    });
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| !value.is_null());
    }
    let answer = context.service.fetch(&RestRequest::get("jobs").post(body)).await?;
    let JobView { id, units, .. } = read(&answer)?;
    let config = args.common.service.worker_config();
    let followed = Follower::silent(id.clone(), units, config).run(context).await;
    let failed = failed_videos(context, &id).await;
    match followed {
        Ok(()) => Ok(Fetched { job: id, trouble: failed?.then_some(Exit::Missing) }),
        // The library is searched without the missing transcripts.
        Err(Failure::Message(Exit::Upstream, why)) => {
            print_error(&format!("{why}; the stored transcripts are searched"));
            Ok(Fetched { job: id, trouble: Some(Exit::Upstream) })
        }
        Err(failure) => {
            let job: JobView = read(&context.service.fetch(&job::request(&id)).await?)?;
            // A job that was interrupted can be continued. One that failed has a source that cannot be listed.
            if job.state != "failed" {
                return Err(failure);
            }
            let why = job.explanation().unwrap_or_default();
            print_error(&format!("{why}; the other sources are searched"));
            Ok(Fetched { job: id, trouble: Some(Exit::Missing) })
        }
    }
}

/// Prints the videos without a transcript. Returns whether there are any.
async fn failed_videos(context: &CommandContext, job: &str) -> Result<bool, Failure> {
    let request = job::request(job)
        .segment("items")
        .parameter("state", Some("failed"))
        .parameter("limit", Some(SHOWN_FAILURES + 1));
    let page: FailedItems = read(&context.service.fetch(&request).await?)?;
    for item in page.items.iter().take(SHOWN_FAILURES) {
        let FailedItem { video_id, reason } = item;
        let video = video_id.as_deref().unwrap_or("a video");
        print_error(&format!("{video} has no transcript: {reason}"));
    }
    if page.items.len() > SHOWN_FAILURES {
        print_error("more videos have no transcript");
    }
    Ok(!page.items.is_empty())
}

#[derive(serde::Deserialize)]
struct FailedItems {
    items: Vec<FailedItem>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailedItem {
    video_id: Option<String>,
    #[serde(default)]
    reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_quoted() {
        assert_eq!(quoted("never gonna"), "\"never gonna\"");
        assert_eq!(quoted("say \"hi\" now"), "\"say  hi  now\"");
    }
}
