//! The videos whose transcripts are requested: a playlist, the uploads of a channel, or a list.

use std::collections::HashSet;

use serde::Deserialize;
use vidra::{Channel, ChannelRef, Link, PlaylistId, PlaylistIds, Reason, VideoId};

use super::TranscriptsArgs;
use crate::commands::CommandContext;
use crate::commands::ids::Kind;
use crate::commands::pages::{MOST, Page};
use crate::failure::{FailedItem, Failure, FailureGroups};
use crate::output::read;
use crate::service::{RestRequest, Service};

/// The videos whose transcripts are requested.
#[derive(Debug)]
pub(super) enum Source {
    /// The service lists the playlist. The uploads of a channel are one too.
    Playlist(PlaylistId),
    /// These videos, each requested by itself.
    Videos(Vec<Entry>),
}

/// A video of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Entry {
    /// The position in the list or playlist, from 1.
    pub(super) position: u64,
    pub(super) id: VideoId,
}

impl Source {
    /// Finds the source of the arguments. In a list of videos, an id of another kind fails alone.
    pub(super) async fn find(
        args: &TranscriptsArgs,
        context: &CommandContext,
        failures: &mut FailureGroups,
    ) -> Result<Self, Failure> {
        let ids = args.ids.all()?;
        let source = match ids.as_slice() {
            [] => return Err(Failure::usage("there is no id in the list")),
            [one] => Self::named(one, &context.service).await?,
            _ => Self::Videos(videos(&ids, failures)),
        };
        match source {
            Self::Playlist(id) => {
                let units = if args.translate.is_empty() { 1 } else { 2 };
                context.confirm_entries(&[id.to_string()], args.to, units).await?;
                Ok(Self::Playlist(id))
            }
            Self::Videos(entries) => Ok(Self::Videos(part(entries, args.from, args.to))),
        }
    }

    /// Finds the source of a single argument. A URL of a video in a playlist means the playlist.
    async fn named(text: &str, service: &Service) -> Result<Self, Failure> {
        // The id of a playlist may have an unknown prefix. It is not a link then.
        let Ok(Link { video, playlist, channel, .. }) = Link::parse(text) else {
            return Ok(Self::Playlist(PlaylistId::parse(text)?));
        };
        match (playlist, video, channel) {
            (Some(playlist), _, _) => Ok(Self::Playlist(playlist)),
            (None, Some(id), _) => Ok(Self::Videos(vec![Entry { position: 1, id }])),
            (None, None, Some(channel)) => {
                uploads(text, &channel, service).await.map(Self::Playlist)
            }
            (None, None, None) => Ok(Self::Playlist(PlaylistId::parse(text)?)),
        }
    }
}

/// The playlist of a channel's uploads. Its id is that of the channel with another prefix.
async fn uploads(
    text: &str,
    channel: &ChannelRef,
    service: &Service,
) -> Result<PlaylistId, Failure> {
    let id = match channel {
        ChannelRef::Id(id) => id.as_str().to_owned(),
        _ => {
            let answer = service.fetch(&RestRequest::get("channel").segment(text)).await?;
            read::<Channel>(&answer)?.id
        }
    };
    Ok(PlaylistId::parse(&id.replacen("UC", "UU", 1))?)
}

/// The videos of a list, each once.
fn videos(ids: &[String], failures: &mut FailureGroups) -> Vec<Entry> {
    let (mut entries, mut seen) = (vec![], HashSet::new());
    for (position, text) in (1..).zip(ids) {
        match VideoId::parse(text) {
            Ok(id) if seen.insert(id) => entries.push(Entry { position, id }),
            Ok(_) => {}
            Err(error) => {
                let failure = Kind::Captions.hint(text, error.into());
                let Failure::Message(_, message) = failure else { continue };
                let name = format!("id {position}");
                let (label, reason) = (position.to_string(), Some(Reason::InvalidInput));
                failures.add(FailedItem { label, name, message, reason, retry_after: None });
            }
        }
    }
    entries
}

/// The entries from one position to another.
fn part(mut entries: Vec<Entry>, from: Option<u64>, to: Option<u64>) -> Vec<Entry> {
    let range = from.unwrap_or(1)..=to.unwrap_or(u64::MAX);
    entries.retain(|entry| range.contains(&entry.position));
    entries
}

/// The entries of a playlist, to request each by itself. With `--to` the rest of the playlist is not fetched.
pub(super) async fn entries_of(
    id: &PlaylistId,
    args: &TranscriptsArgs,
    service: &Service,
) -> Result<Vec<Entry>, Failure> {
    let playlist = RestRequest::get("playlist").segment(id.as_str());
    let entries = if let Some(to) = args.to {
        entries_until(to, &playlist.segment("videos"), service).await?
    } else {
        let PlaylistIds { video_ids, .. } = read(&service.fetch(&playlist.segment("ids")).await?)?;
        (1..).zip(video_ids).map(|(position, id)| Entry { position, id }).collect()
    };
    Ok(part(entries, args.from, args.to))
}

/// The available entries of a paged list up to a position.
async fn entries_until(
    to: u64,
    list: &RestRequest,
    service: &Service,
) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Entry> = vec![];
    let mut cursor = None;
    loop {
        let last = entries.last().map_or(0, |entry| entry.position);
        let request = list
            .clone()
            .parameter("limit", Some((to - last).min(MOST)))
            .parameter("cursor", cursor.as_ref())
            .parameter("fields", Some("id,position"));
        let Page { items, next_cursor } = read(&service.fetch(&request).await?)?;
        entries.extend::<Vec<Entry>>(items);
        cursor = next_cursor;
        if cursor.is_none() || entries.last().is_some_and(|entry| entry.position >= to) {
            return Ok(entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_15_a_list_has_each_video_once_and_reports_the_others() {
        let ids =
            ["fda4eREcaTQ", "https://youtu.be/fda4eREcaTQ", "nope", "@fermata", "quirkNoLike"];
        let mut failures = FailureGroups::default();
        let entries = videos(&ids.map(str::to_owned), &mut failures);
        let entry = |position, id| Entry { position, id: VideoId::parse(id).unwrap() };
        assert_eq!(entries, [entry(1, "fda4eREcaTQ"), entry(5, "quirkNoLike")]);
        assert_eq!(failures.len(), 2);
        assert_eq!(part(entries, Some(2), None), [entry(5, "quirkNoLike")]);
    }
}
