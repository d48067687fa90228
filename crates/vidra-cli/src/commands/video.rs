//! `vidra video` and `vidra videos`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use vidra::VideoId;

use super::include::IncludeArgs;
use super::{Common, Ids, Kind, Tally, Wanted};
use crate::failure::{Exit, Failure};
use crate::output::{Form, cards, read};
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct VideoArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    include: IncludeArgs,

    #[command(flatten)]
    common: Common,
}

/// The most videos of one request.
pub(super) const MOST_AT_ONCE: usize = 500;

/// The videos that a unit pays for.
const PER_UNIT: usize = 50;

pub(super) async fn show(args: &VideoArgs) -> Result<(), Failure> {
    args.common.reject_list_flags("vidra videos, or --jq")?;
    let request =
        |id: &str| RestRequest::get("video").segment(id).parameter("include", args.include.names());
    args.common.show_each(Wanted::new(Kind::Video, 1), &args.ids, request, cards::video).await
}

/// Lists all videos as one table, and reports ids that are invalid or unknown.
pub(super) async fn list(args: &VideoArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    let (mut tally, mut ids) = (Tally::default(), vec![]);
    for id in args.ids.all()? {
        let parsed = VideoId::parse(&id).map(|id| ids.push(id));
        tally.note(parsed.map_err(|error| Kind::Video.hint(&id, error.into())))?;
    }
    let units = ids.len().div_ceil(PER_UNIT) as u64;
    context.service.spending().confirm(units, &format!("{} videos", ids.len()))?;
    let mut all: Vec<Box<RawValue>> = vec![];
    for part in ids.chunks(MOST_AT_ONCE) {
        let part: Vec<&str> = part.iter().map(VideoId::as_str).collect();
        let request = RestRequest::get("videos")
            .parameter("ids", Some(part.join(",")))
            .parameter("include", args.include.names());
        let answer = context.service.fetch(&context.shaped(request)).await;
        if context.output.form == Form::Csv {
            tally.note(answer.and_then(|body| context.output.csv("", &body)))?;
            continue;
        }
        let listed = answer.and_then(|body| read::<Vec<Box<RawValue>>>(&body));
        tally.note(listed.map(|listed| all.extend(listed)))?;
    }
    if context.output.form == Form::Csv {
        return context.end(tally.end()).await;
    }
    let body = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
    let done = context.output.answer("", &body, cards::videos).and_then(|()| {
        note_missing(&ids, &body, &mut tally)?;
        tally.end()
    });
    context.end(done).await
}

/// Reports the videos that the answer lacks.
fn note_missing(ids: &[VideoId], body: &[u8], tally: &mut Tally) -> Result<(), Failure> {
    // With --fields the answer may lack the ids. Then missing videos cannot be reported.
    let known = read::<Vec<Known>>(body)?.into_iter().map(|video| video.id);
    let Some(known) = known.collect::<Option<HashSet<VideoId>>>() else { return Ok(()) };
    let missing = ids.iter().filter(|id| !known.contains(id)).map(VideoId::as_str);
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        let message = format!("Videos not found: {}", missing.join(", "));
        tally.note(Err(Failure::Message(Exit::Missing, message)))?;
    }
    Ok(())
}

/// The id of a listed video.
#[derive(Deserialize)]
struct Known {
    id: Option<VideoId>,
}
