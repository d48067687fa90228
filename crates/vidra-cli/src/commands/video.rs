//! `vidra video` and `vidra videos`.

use std::collections::HashSet;

use serde_json::value::RawValue;
use vidra::{Video, VideoId};

use super::{ItemsArgs, Tally};
use crate::failure::{Exit, Failure};
use crate::output::{cards, read};
use crate::service::RestRequest;

/// The most videos of one request.
const MOST_AT_ONCE: usize = 500;

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let request = |id: &str| RestRequest::get("video").segment(id);
    args.common.show_each(&args.ids, request, cards::video).await
}

/// Lists all videos as one table, and reports ids that are invalid or unknown.
pub(super) async fn list(args: &ItemsArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    let (mut tally, mut ids) = (Tally::default(), vec![]);
    for id in args.ids.all()? {
        tally.note(VideoId::parse(&id).map(|id| ids.push(id)).map_err(Failure::from))?;
    }
    let mut all: Vec<Box<RawValue>> = vec![];
    for part in ids.chunks(MOST_AT_ONCE) {
        let part: Vec<&str> = part.iter().map(VideoId::as_str).collect();
        let request = RestRequest::get("videos").parameter("ids", Some(part.join(",")));
        let answer = context.service.fetch(&request).await;
        let listed = answer.and_then(|body| read::<Vec<Box<RawValue>>>(&body));
        tally.note(listed.map(|listed| all.extend(listed)))?;
    }
    let body = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
    let done = context.output.answer("", &body, cards::videos);
    context.end(done).await?;
    let known: HashSet<VideoId> =
        read::<Vec<Video>>(&body)?.into_iter().map(|video| video.id).collect();
    let missing = ids.iter().filter(|id| !known.contains(id)).map(VideoId::as_str);
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        let message = format!("Videos not found: {}", missing.join(", "));
        tally.note(Err(Failure::Message(Exit::Missing, message)))?;
    }
    tally.end()
}
