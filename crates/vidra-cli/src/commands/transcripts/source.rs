//! The videos whose transcripts are requested: a playlist, the uploads of a channel, or a list.

use std::collections::HashSet;

use vidra::{Channel, ChannelRef, Link, PlaylistId, Reason, VideoId};

use super::TranscriptsArgs;
use crate::commands::CommandContext;
use crate::commands::ids::{Kind, with_members_hint};
use crate::commands::job::find as find_job;
use crate::failure::{FailedItem, Failure, FailureGroups, described};
use crate::output::read;
use crate::service::{RestRequest, Service};

/// The videos whose transcripts are requested.
#[derive(Debug)]
pub(super) enum Source {
    /// A playlist, or the uploads of a channel. The service lists it.
    Playlist {
        id: PlaylistId,
        /// The id of the channel.
        channel: Option<String>,
    },
    /// The results of a job.
    Job { id: String },
    /// A list of videos.
    Videos { entries: Vec<Entry>, invalid: Vec<InvalidId> },
}

/// A video of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The position in the list, from 1.
    pub(super) position: u64,
    pub(super) id: VideoId,
}

/// An id of a list that names no video. It is a failed entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidId {
    /// The position in the list, from 1.
    pub(super) position: u64,
    /// Why it is invalid, with advice.
    pub(super) message: String,
}

impl Source {
    /// Finds the source of the arguments. In a list of videos, an id of another kind fails alone.
    pub(super) async fn find(
        args: &TranscriptsArgs,
        context: &CommandContext,
    ) -> Result<Self, Failure> {
        if let Some(start) = &args.job {
            return Ok(Self::Job { id: find_job(&context.service, start).await? });
        }
        let ids = args.ids.all()?;
        let source = match ids.as_slice() {
            [] => return Err(Failure::usage("there is no id in the list")),
            [one] => Self::named(one, &context.service).await?,
            _ => videos(&ids)?,
        };
        if args.since.is_some() && matches!(source, Self::Videos { .. }) {
            return Err(Failure::usage("--since works only with a playlist or a channel"));
        }
        match source {
            Self::Playlist { id, channel } => {
                context.confirm_entries(&[id.to_string()], args.to, 1).await?;
                Ok(Self::Playlist { id, channel })
            }
            Self::Job { id } => Ok(Self::Job { id }),
            Self::Videos { entries, mut invalid } => {
                invalid.retain(|it| is_within(it.position, args.from, args.to));
                Ok(Self::Videos { entries: part(entries, args.from, args.to), invalid })
            }
        }
    }

    /// The failures of the invalid ids.
    pub(super) fn invalid_ids(&self) -> FailureGroups {
        let mut failures = FailureGroups::default();
        if let Self::Videos { invalid, .. } = self {
            for InvalidId { position, message } in invalid.clone() {
                let (label, name) = (position.to_string(), format!("id {position}"));
                let reason = Some(Reason::InvalidInput);
                failures.add(FailedItem { label, name, message, reason, retry_after: None });
            }
        }
        failures
    }

    /// Finds the source of a single argument. A URL of a video in a playlist means the playlist.
    async fn named(text: &str, service: &Service) -> Result<Self, Failure> {
        // The id of a playlist may have an unknown prefix. It is not a link then.
        let Ok(Link { video, playlist, channel, .. }) = Link::parse(text) else {
            let id = PlaylistId::parse(text).map_err(|_| not_a_source(text))?;
            return Ok(Self::Playlist { id, channel: None });
        };
        match (playlist, video, channel) {
            (Some(id), _, _) => Ok(Self::Playlist { id, channel: None }),
            (None, Some(id), _) => {
                Ok(Self::Videos { entries: vec![Entry { position: 1, id }], invalid: vec![] })
            }
            (None, None, Some(channel)) => Self::uploads(text, &channel, service).await,
            (None, None, None) => Err(not_a_source(text)),
        }
    }
    /// The uploads of a channel. The id of their playlist is that of the channel with another prefix.
    async fn uploads(text: &str, channel: &ChannelRef, service: &Service) -> Result<Self, Failure> {
        let channel = match channel {
            ChannelRef::Id(id) => id.as_str().to_owned(),
            _ => {
                let answer = service.fetch(&RestRequest::get("channel").segment(text)).await?;
                read::<Channel>(&answer)?.id
            }
        };
        let id = PlaylistId::parse(&channel.replacen("UC", "UU", 1))?;
        Ok(Self::Playlist { id, channel: Some(channel) })
    }
}

/// The failure of a single argument that names no playlist, no channel and no video.
fn not_a_source(text: &str) -> Failure {
    let handle = format!("@{text}");
    let is_handle = matches!(ChannelRef::parse(&handle), Ok(ChannelRef::Handle(_)));
    let tip = if is_handle { format!("; for a channel write {handle}") } else { String::new() };
    Failure::usage(format!(
        "Not a valid playlist, channel or video: {text}; expected a playlist id (PL…, UU… and others), a channel \
         (@handle or UC…), a video id, or a YouTube URL of one{tip}"
    ))
}

/// The videos of a list, each once. Fails if the list has no video, but a playlist or a channel.
fn videos(ids: &[String]) -> Result<Source, Failure> {
    let (mut entries, mut invalid, mut seen) = (vec![], vec![], HashSet::new());
    let mut has_other_sources = false;
    for (position, text) in (1..).zip(ids) {
        match VideoId::parse(text) {
            Ok(id) if seen.insert(id) => entries.push(Entry { position, id }),
            Ok(_) => {}
            Err(error) => {
                let message = described(&error);
                let message = match Kind::Captions.hint_about(text, &message) {
                    Some(hint) => {
                        has_other_sources = true;
                        format!("{hint}, as the only id")
                    }
                    None => with_members_hint(text, message),
                };
                invalid.push(InvalidId { position, message });
            }
        }
    }
    match entries.is_empty() && has_other_sources {
        true => Err(Failure::usage(
            "only one playlist or channel is allowed per call: run vidra transcripts once for each; \
             with --out, each needs a folder of its own",
        )),
        false => Ok(Source::Videos { entries, invalid }),
    }
}

/// The entries from one position to another.
fn part(mut entries: Vec<Entry>, from: Option<u64>, to: Option<u64>) -> Vec<Entry> {
    entries.retain(|entry| is_within(entry.position, from, to));
    entries
}

fn is_within(position: u64, from: Option<u64>, to: Option<u64>) -> bool {
    (from.unwrap_or(1)..=to.unwrap_or(u64::MAX)).contains(&position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ids: &[&str]) -> Result<Source, Failure> {
        videos(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn users_15_a_list_has_each_video_once_and_reports_the_others() {
        let ids =
            ["fda4eREcaTQ", "https://youtu.be/fda4eREcaTQ", "nope", "@fermata", "quirkNoLike"];
        let source = list(&ids).unwrap();
        assert_eq!(source.invalid_ids().len(), 2);
        let Source::Videos { entries, invalid } = source else { panic!("{source:?}") };
        let entry = |position, id| Entry { position, id: VideoId::parse(id).unwrap() };
        assert_eq!(entries, [entry(1, "fda4eREcaTQ"), entry(5, "quirkNoLike")]);
        assert_eq!(invalid.iter().map(|it| it.position).collect::<Vec<_>>(), [3, 4]);
        let hint = "; that is a channel: vidra transcripts @fermata, as the only id";
        assert!(invalid[1].message.ends_with(hint), "{invalid:?}");
        assert_eq!(part(entries, Some(2), None), [entry(5, "quirkNoLike")]);
    }

    #[test]
    fn several_playlists_or_channels_are_rejected() {
        for ids in [["PLsize50", "PLsize120"], ["@fermata", "nope"]] {
            let Err(Failure::Message(_, message)) = list(&ids) else { panic!("{ids:?}") };
            assert!(message.starts_with("only one playlist or channel is allowed"), "{message}");
        }
        assert!(list(&["nope", "nope2"]).is_ok(), "each is reported by itself");
    }

    #[test]
    fn an_unknown_source_names_all_kinds() {
        let message = |text: &str| match not_a_source(text) {
            Failure::Message(_, message) => message,
            other => panic!("{other:?}"),
        };
        assert!(message("fermata").ends_with("; for a channel write @fermata"));
        assert!(message("a b").ends_with("@handle or UC…), a video id, or a YouTube URL of one"));
    }
}
