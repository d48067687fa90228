//! `vidra video` and `vidra videos`.

use std::collections::HashSet;

use serde_json::value::RawValue;
use vidra::{Video, VideoId};

use super::{ItemsArgs, Tally};
use crate::failure::{Exit, Failure};
use crate::output::{cards, read};
use crate::service::Question;

/// The most that the service lists at once.
const MOST_AT_ONCE: usize = 500;

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    desk.show_each(&args.ids, |id| Question::about("video").of(id), cards::video).await
}

/// Lists them as one, however many they are, and tells which are not ids or not known.
pub(super) async fn list(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let (mut tally, mut ids) = (Tally::default(), vec![]);
    for id in args.ids.all()? {
        tally.note(VideoId::parse(&id).map(|id| ids.push(id)).map_err(|error| {
            let parts = [&[error.message().to_owned()], error.details()].concat();
            Failure::usage(parts.join("; "))
        }))?;
    }
    let mut all: Vec<Box<RawValue>> = vec![];
    for part in ids.chunks(MOST_AT_ONCE) {
        let part: Vec<&str> = part.iter().map(VideoId::as_str).collect();
        let question = Question::about("videos").with("ids", Some(part.join(",")));
        let answer = desk.service.ask(&question).await;
        let listed = answer.and_then(|body| read::<Vec<Box<RawValue>>>(&body));
        tally.note(listed.map(|listed| all.extend(listed)))?;
    }
    let body = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
    let shown = |videos: &Vec<Video>, width| cards::videos(videos, width);
    let done = desk.output.answer("", &body, shown);
    desk.end(done).await?;
    let known: HashSet<VideoId> =
        read::<Vec<Video>>(&body)?.into_iter().map(|video| video.id).collect();
    let missing = ids.iter().filter(|id| !known.contains(id)).map(VideoId::as_str);
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        let message = format!("Videos not found: {}", missing.join(", "));
        tally.note(Err(Failure::Because(Exit::Missing, message)))?;
    }
    tally.end()
}
