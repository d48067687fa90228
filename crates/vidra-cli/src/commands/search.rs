//! `vidra search` and `vidra trends`: what the transcripts of a library say.

use serde_json::Value;
use serde_json::value::RawValue;
use vidra_library::{Period, SearchGroup, SearchSort, TextQuery};

use super::job;
use super::pages::PageArgs;
use super::{CommandContext, Common, Kind, Wanted};
use crate::database::DatabaseArgs;
use crate::failure::Failure;
use crate::output::hits::{self, HitView, TrendsView};
use crate::output::{Form, read};
use crate::service::RestRequest;
use crate::values::{count_in, date, words_of};

/// The words of a query, and the part of the library.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// Words that a video must have; "exact phrase", OR, prefix*, title:word, and -word for videos without it; in quotes
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    /// Only videos of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,

    /// For operators: the name of the key that the collection belongs to [default: your own]
    #[arg(long, value_name = "KEY", requires = "collection")]
    owner: Option<String>,

    /// Only videos of this job: its id, or its first 6 characters or more
    #[arg(long, value_name = "JOB")]
    job: Option<String>,

    /// Only videos of this channel: its id, @handle or URL
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,

    /// Only this video: its id or URL; repeat the flag for several
    #[arg(long, value_name = "VIDEO")]
    video: Vec<String>,

    /// Only transcripts in this language, also translations [default: the original track of each video]
    #[arg(long, value_name = "CODE")]
    lang: Option<String>,

    /// Only videos of this day or time or later: 2026-03-26 or 2026-03-26T18:30:00Z
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Only videos of this day or time or earlier; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<String>,
}

impl QueryArgs {
    /// # Errors
    ///
    /// If the query is not valid, with the position of the fault.
    fn check(&self) -> Result<(), Failure> {
        let fault = |error: vidra::Error| Failure::usage(error.to_string());
        TextQuery::parse(&self.query.join(" ")).map(drop).map_err(fault)
    }

    async fn request(&self, context: &CommandContext, route: &str) -> Result<RestRequest, Failure> {
        let job = match &self.job {
            Some(start) => Some(job::find(&context.service, start).await?),
            None => None,
        };
        let videos = Some(self.video.join(",")).filter(|it| !it.is_empty());
        Ok(RestRequest::get("library")
            .segment(route)
            .parameter("q", Some(self.query.join(" ")))
            .parameter("collection", self.collection.as_ref())
            .parameter("owner", self.owner.as_ref())
            .parameter("job", job)
            .parameter("channel", self.channel.as_ref())
            .parameter("video", videos)
            .parameter("lang", self.lang.as_ref())
            .parameter("since", self.since.as_ref())
            .parameter("until", self.until.as_ref()))
    }
}

/// Opens a service with an existing library.
async fn open_existing(
    common: &Common,
    database: &DatabaseArgs,
) -> Result<CommandContext, Failure> {
    common.service.require_library(database)?;
    open(common, database).await
}

/// Opens a service with a library. A file of an earlier release is indexed first.
pub(super) async fn open(
    common: &Common,
    database: &DatabaseArgs,
) -> Result<CommandContext, Failure> {
    let context = common.open_with_library(database).await?;
    if let Some((library, _)) = context.service.library() {
        let mut is_first = true;
        let indexed = library.complete_index(|_| {
            if std::mem::take(&mut is_first) {
                context.output.notice("the search index is being built");
            }
        });
        indexed.await?;
    }
    Ok(context)
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    query: QueryArgs,

    /// Texts to search, separated by commas: speech, title, description
    #[arg(long = "in", value_name = "TEXTS", default_value = "speech")]
    texts: String,

    /// Order of hits
    #[arg(long, value_parser = words_of(&SearchSort::ALL), default_value = "relevance")]
    sort: String,

    /// What an item is: a moment, or a video with its best moments
    #[arg(long, value_parser = words_of(&SearchGroup::ALL), default_value = "moment")]
    group: String,

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

#[derive(Debug, clap::Args)]
pub(crate) struct TrendsArgs {
    #[command(flatten)]
    query: QueryArgs,

    /// Length of a period
    #[arg(long, value_parser = words_of(&Period::ALL), default_value = "month")]
    by: String,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    common: Common,
}

/// Runs `vidra search`.
pub(super) async fn search(args: &SearchArgs) -> Result<(), Failure> {
    args.query.check()?;
    let mut context = open_existing(&args.common, &args.database).await?;
    let request = args
        .query
        .request(&context, "search")
        .await?
        .parameter("in", Some(&args.texts))
        .parameter("sort", Some(&args.sort))
        .parameter("group", Some(&args.group))
        .parameter("context", Some(args.context));
    list(&mut context, request, &args.part).await
}

/// Prints the hits of a search.
pub(super) async fn list(
    context: &mut CommandContext,
    request: RestRequest,
    part: &PageArgs,
) -> Result<(), Failure> {
    let part = PageArgs { summary: Some(summary), ..part.clone() };
    let (wanted, ids) = (Wanted::new(Kind::NoId, 0), [String::new()]);
    let shown: fn(&[HitView], Option<usize>) -> String = hits::hits;
    context.pages(wanted, &ids, true, &part, |_| request.clone(), shown).await
}

/// The totals of a page as a line for people.
fn summary(page: &Value) -> Option<String> {
    if let Some(note) = page["note"].as_str() {
        return Some(note.to_owned());
    }
    let number = |path: &str| page.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let about = if page["total"]["approximate"].as_bool() == Some(true) { "about " } else { "" };
    let (moments, videos) = (number("/total/moments"), number("/total/videos"));
    Some(format!(
        "{about}{} in {}; {}",
        plural(moments, "moment"),
        plural(videos, "video"),
        searched(page)
    ))
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// The part of the library that was searched, as text for people.
fn searched(answer: &Value) -> String {
    let videos = answer["coverage"]["videos"].as_u64().unwrap_or(0);
    let hours = answer["coverage"]["hours"].as_f64().unwrap_or(0.0);
    let length = match hours < 2.0 {
        true => plural((hours * 60.0).round() as u64, "minute"),
        false => format!("{hours:.1} hours"),
    };
    format!("searched {}, {length}", plural(videos, "video"))
}

/// The totals of trends as a line for people.
fn trends_summary(answer: &Value) -> String {
    let periods = answer["items"].as_array().into_iter().flatten().chain(answer.get("undated"));
    let sum = |member: &str| periods.clone().filter_map(|it| it[member].as_u64()).sum();
    let (count, videos) = (sum("count"), sum("videos"));
    let about = if answer["approximate"].as_bool() == Some(true) { "about " } else { "" };
    let (times, videos) = (plural(count, "time"), plural(videos, "video"));
    format!("said {about}{times} in {videos}; {}", searched(answer))
}

/// Runs `vidra trends`.
pub(super) async fn trends(args: &TrendsArgs) -> Result<(), Failure> {
    args.query.check()?;
    let mut context = open_existing(&args.common, &args.database).await?;
    let request = args.query.request(&context, "trends").await?.parameter("by", Some(&args.by));
    let done = async {
        let body = context.service.fetch(&context.shaped(request)).await?;
        match context.output.form {
            Form::Csv => context.output.csv("", &body),
            Form::Ndjson => {
                let TrendItems { mut items, undated } = read(&body)?;
                items.extend(undated);
                let lines = serde_json::to_vec(&items).map_err(vidra::Error::internal)?;
                context.output.json("", &lines)
            }
            Form::Json => context.output.json("", &body),
            Form::People => {
                let answer: Value = read(&body)?;
                if let Some(note) = answer["note"].as_str() {
                    context.output.notice(note);
                    return Ok(());
                }
                context.output.answer::<TrendsView>("", &body, hits::trends)?;
                context.output.notice(&trends_summary(&answer));
                Ok(())
            }
        }
    };
    let done = done.await;
    context.end(done).await
}

#[derive(serde::Deserialize)]
struct TrendItems {
    items: Vec<Box<RawValue>>,
    undated: Option<Box<RawValue>>,
}
