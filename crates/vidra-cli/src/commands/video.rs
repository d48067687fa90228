//! `vidra video` and `vidra videos`.

use std::collections::HashSet;

use serde_json::value::RawValue;
use vidra::{Video, VideoId};

use super::ItemsArgs;
use crate::failure::{Exit, Failure};
use crate::output::{cards, read};
use crate::service::Question;

/// The most that the service lists at once.
const MOST_AT_ONCE: usize = 500;

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    desk.show_each(&args.ids, |id| Question::about("video").of(id), cards::video).await
}

/// Lists them as one, however many they are, and tells which are not known.
pub(super) async fn list(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let ids = args.ids.all()?;
    let mut all: Vec<Box<RawValue>> = vec![];
    for part in ids.chunks(MOST_AT_ONCE) {
        let question = Question::about("videos").with("ids", Some(part.join(",")));
        all.extend(read::<Vec<Box<RawValue>>>(&desk.service.ask(&question).await?)?);
    }
    let body = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
    desk.output.answer("", &body, |videos: &Vec<Video>, width| cards::videos(videos, width))?;
    desk.end().await?;
    let known: HashSet<VideoId> =
        read::<Vec<Video>>(&body)?.into_iter().map(|video| video.id).collect();
    let is_missing = |id: &&String| VideoId::parse(id).is_ok_and(|id| !known.contains(&id));
    let missing: Vec<&str> = ids.iter().filter(is_missing).map(String::as_str).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("not found: {}", missing.join(", "));
            Err(Failure::Because(Exit::Missing, message))
        }
    }
}
