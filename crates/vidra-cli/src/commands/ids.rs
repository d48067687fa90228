//! The items that a command requests, and what to advise if an item is of another kind than the command expects.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use vidra::{ErrorKind, Link, Reason, VideoId};

use crate::failure::{Exit, Failure, Refused};

/// The items that a command requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Ids {
    /// Ids or URLs; - reads more from standard input, one per line
    #[arg(value_name = "ID", required_unless_present = "ids_file")]
    pub(super) ids: Vec<String>,

    /// File with more ids or URLs, one per line
    ///
    /// Empty lines and comments (# to the end of the line) are skipped, as in standard input
    #[arg(long, value_name = "FILE")]
    pub(super) ids_file: Option<PathBuf>,
}

impl Ids {
    /// The items of the command line and of a file, whose name can be `-` too. At least one.
    pub(super) fn listed(ids: &[String], file: Option<&PathBuf>) -> Result<Vec<String>, Failure> {
        let is_stdin = |file: &&PathBuf| file.as_path() == Path::new("-");
        let mut ids = ids.to_vec();
        if file.filter(is_stdin).is_some() && !ids.iter().any(|id| id == "-") {
            ids.push("-".to_owned());
        }
        let ids_file = file.filter(|file| !is_stdin(file)).cloned();
        match (Self { ids, ids_file }).all()? {
            all if all.is_empty() => Err(Failure::usage("there is no id in the list")),
            all => Ok(all),
        }
    }

    /// All items. `-` stands for the lines of standard input.
    pub(super) fn all(&self) -> Result<Vec<String>, Failure> {
        let mut all = vec![];
        for id in &self.ids {
            match id.trim() {
                "" => return Err(Failure::usage("an id or URL is empty")),
                "-" => {
                    let read = items_in(io::stdin().lock());
                    all.extend(
                        read.map_err(|error| format!("cannot read standard input: {error}"))?,
                    );
                }
                id => all.push(id.to_owned()),
            }
        }
        if let Some(file) = &self.ids_file {
            let read = std::fs::File::open(file).and_then(|it| items_in(io::BufReader::new(it)));
            all.extend(read.map_err(|error| cannot_read(file, &error))?);
        }
        Ok(all)
    }

    /// Whether the command line names exactly one item. The output is then that item, and otherwise a list. The
    /// content of a file or of standard input does not change the shape of the output.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.ids.as_slice(), [id] if id != "-") && self.ids_file.is_none()
    }
}

/// The only item. `-` reads it from standard input.
pub(super) fn one(id: &str) -> Result<String, Failure> {
    let ids = Ids { ids: vec![id.to_owned()], ids_file: None };
    match ids.all()?.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Failure::usage("expected one id or URL on standard input")),
    }
}

fn cannot_read(file: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", file.display())
}

/// The lines of a list, without empty ones and comments. A URL may contain a `#`, but no space before it.
fn items_in(list: impl BufRead) -> io::Result<Vec<String>> {
    let mut items = vec![];
    for line in list.lines() {
        let line = line?;
        // Some editors begin a file with this mark.
        let line = line.trim_start_matches('\u{feff}');
        let line = line.split_once([' ', '\t']).map_or(line, |_| {
            let comment =
                line.match_indices('#').find(|(at, _)| line[..*at].ends_with([' ', '\t']));
            comment.map_or(line, |(at, _)| &line[..at])
        });
        let item = line.trim();
        if !item.is_empty() && !item.starts_with('#') {
            items.push(item.to_owned());
        }
    }
    Ok(items)
}

/// The kind of item that a command expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Video,
    /// A video whose captions are requested.
    Captions,
    Channel,
    Playlist,
    ChannelOrPlaylist,
    Comment,
    /// Anything.
    Any,
    /// The request has no id: words, or nothing.
    NoId,
}

impl Kind {
    /// Adds the right command to a failure if the item is of another kind.
    pub(super) fn hint(self, id: &str, failure: Failure) -> Failure {
        let is_about_id = match &failure {
            Failure::Message(exit, _) => *exit == Exit::Usage,
            Failure::Refused(Refused { reason, .. }) => {
                let kind = reason.map(Reason::kind);
                matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::NotFound))
            }
            _ => false,
        };
        match is_about_id && self != Self::NoId {
            true => failure.map_message(|message| {
                self.hint_about(id, &message).unwrap_or_else(|| with_members_hint(id, message))
            }),
            false => failure,
        }
    }

    /// The message about an invalid item with the right command, if the item is of another kind.
    pub(super) fn hint_about(self, id: &str, message: &str) -> Option<String> {
        Some(format!("{}; {}", without_kind(message), self.meant(id)?))
    }

    /// The command for an item of another kind.
    fn meant(self, id: &str) -> Option<String> {
        let Link { video, playlist, channel, comment, .. } = Link::parse(id).ok()?;
        let (has_video, has_playlist) = (video.is_some(), playlist.is_some());
        let is_expected = match self {
            Self::Video | Self::Captions => has_video,
            Self::Channel => channel.is_some(),
            Self::Playlist => has_playlist,
            Self::ChannelOrPlaylist => channel.is_some() || has_playlist,
            Self::Comment => comment.is_some(),
            Self::Any | Self::NoId => true,
        };
        let (what, command) = match self {
            _ if is_expected => return None,
            Self::Comment if has_video => ("video", "comments"),
            Self::Captions if has_playlist => ("playlist", "transcripts"),
            Self::Captions => ("channel", "transcripts"),
            _ if has_video => ("video", "video"),
            _ if has_playlist => ("playlist", "playlist"),
            Self::Playlist => ("channel", "uploads"),
            _ => ("channel", "channel"),
        };
        let separator = if id.starts_with('-') { "-- " } else { "" };
        Some(format!("that is a {what}: vidra {command} {separator}{id}"))
    }
}

/// The message about an invalid item with the right flag, if the item looks like names of members: some tools take
/// them as the value of `--json`.
pub(super) fn with_members_hint(id: &str, message: String) -> String {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
            && VideoId::parse(name).is_err()
    };
    match id.contains(',') && id.split(',').all(is_name) {
        true => {
            let names = id.replace(',', ", ");
            format!(
                "{message}; to choose members use --fields {id} with lists, or --jq '{{{names}}}'"
            )
        }
        false => message,
    }
}

/// A message without the kind of the item at its end. The hint names the kind again, and the command.
fn without_kind(message: &str) -> &str {
    let kind = ["; that is a ", "; the URL names a "].iter().find_map(|it| message.rfind(it));
    kind.map_or(message, |at| &message[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_14_comments_and_empty_lines_of_a_list_are_skipped() {
        let list = "# my list\n\nfda4eREcaTQ\n  quirkNoLike  # the one without likes\n\t\n\
            https://youtu.be/fda4eREcaTQ#t=3\n#quirkHtmlCm\n  # indented\r\nbad id\n";
        let items = items_in(list.as_bytes()).unwrap();
        let expected = ["fda4eREcaTQ", "quirkNoLike", "https://youtu.be/fda4eREcaTQ#t=3", "bad id"];
        assert_eq!(items, expected);
    }

    #[test]
    fn users_14_an_item_of_another_kind_is_recognised() {
        let channel = "UCB-2_pXPtFYDifLXZF-S8PA";
        let table = [
            (Kind::Playlist, "fda4eREcaTQ", Some("that is a video: vidra video fda4eREcaTQ")),
            (Kind::Playlist, "-da4eREcaTQ", Some("that is a video: vidra video -- -da4eREcaTQ")),
            (Kind::Playlist, "@fermata", Some("that is a channel: vidra uploads @fermata")),
            (Kind::Playlist, "PLsize50", None),
            (Kind::Video, "PLsize50", Some("that is a playlist: vidra playlist PLsize50")),
            (Kind::Video, "@fermata", Some("that is a channel: vidra channel @fermata")),
            (Kind::Video, "nope", None),
            (Kind::Captions, "PLsize50", Some("that is a playlist: vidra transcripts PLsize50")),
            (Kind::Captions, "@fermata", Some("that is a channel: vidra transcripts @fermata")),
            (Kind::Channel, "fda4eREcaTQ", Some("that is a video: vidra video fda4eREcaTQ")),
            (Kind::Channel, channel, None),
            (Kind::ChannelOrPlaylist, channel, None),
            (Kind::ChannelOrPlaylist, "PLsize50", None),
            (
                Kind::ChannelOrPlaylist,
                "fda4eREcaTQ",
                Some("that is a video: vidra video fda4eREcaTQ"),
            ),
            (Kind::Comment, "fda4eREcaTQ", Some("that is a video: vidra comments fda4eREcaTQ")),
            (Kind::Any, "fda4eREcaTQ", None),
        ];
        for (kind, id, hint) in table {
            assert_eq!(kind.meant(id).as_deref(), hint, "{kind:?} {id}");
        }
    }

    #[test]
    fn names_of_members_lead_to_their_flags() {
        let hinted = |id: &str| with_members_hint(id, "no".to_owned());
        let hint = "no; to choose members use --fields id,title with lists, or --jq '{id, title}'";
        assert_eq!(hinted("id,title"), hint);
        for id in ["id", "fda4eREcaTQ,quirkNoLike", "quirkNoLike,quirkHtmlCm", "a,", "id,PLa1", ","]
        {
            assert_eq!(hinted(id), "no", "{id}");
        }
    }

    #[test]
    fn users_14_a_failure_names_the_kind_of_the_item_once() {
        let watch = "https://www.youtube.com/watch?v=fda4eREcaTQ";
        let table = [
            ("UCB-2_pXPtFYDifLXZF-S8PA", "channel: vidra uploads"),
            ("@fermata", "channel: vidra uploads"),
            (watch, "video: vidra video"),
        ];
        for (id, hint) in table {
            let failure = vidra::PlaylistId::parse(id).unwrap_err().into();
            let Failure::Message(_, message) = Kind::Playlist.hint(id, failure) else { panic!() };
            assert!(message.ends_with(&format!("; that is a {hint} {id}")), "{message}");
            let kinds = message.matches("that is a").count() + message.matches("names a").count();
            assert_eq!(kinds, 1, "{message}");
        }
    }
}
