//! Playlists and their entries. Entry i is a function of (seed, playlist, i).

use super::change::{Edits, courses};
use super::channel::Channel;
use super::clock::{DAY, Seconds};
use super::video::{GONE, QUIRK_OWNER, is_served};
use super::{VideoKey, World, text};
use crate::quirk::{self, Case, ChannelQuirk, PlaylistQuirk, QUIRKS, VideoQuirk};

/// The number of the first album among the playlists of a channel.
const ALBUM: u32 = 0x8_0000;

/// A playlist.
#[derive(Clone, Debug)]
pub(crate) struct Playlist {
    pub(crate) id: String,
    pub(crate) channel: Channel,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) created: Seconds,
    /// The reported number of entries; some may never be returned.
    pub(crate) size: u32,
    pub(crate) quirk: Option<PlaylistQuirk>,
    /// The index of the first entry in the channel's uploads; `None` for the uploads playlist.
    start: Option<u32>,
    /// The changes of the list so far.
    edits: Edits,
}

/// The visibility of a video or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Public,
    Private,
    Deleted,
    /// Not published yet.
    Unpublished,
}

/// One entry of a playlist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) video: VideoKey,
    pub(crate) state: State,
    pub(crate) added: Seconds,
    /// Counted, but never returned.
    pub(crate) withheld: bool,
}

impl World {
    /// The playlist with that identifier, as it is at this moment.
    pub(crate) fn playlist(&self, id: &str) -> Option<Playlist> {
        let mut playlist = self.unchanged_playlist(id)?;
        playlist.edits = self.edits(id);
        playlist.size += playlist.edits.added;
        Some(playlist)
    }

    fn unchanged_playlist(&self, id: &str) -> Option<Playlist> {
        if let Some((row, entry)) = quirk::find(id) {
            let Case::Playlist(quirk) = entry.case else { return None };
            return (quirk != PlaylistQuirk::Unknown).then(|| self.quirky_playlist(row, quirk));
        }
        if let Some(tail) = id.strip_prefix("UU") {
            let channel = self.channel_by_id(&format!("UC{tail}"))?;
            return (channel.videos > 0).then(|| self.uploads(channel));
        }
        let tail =
            id.strip_prefix("PL").or_else(|| id.strip_prefix("OLAK5uy_")?.strip_suffix("0"))?;
        let (owner, no) = self.mint.read_playlist_tail(tail)?;
        let playlist = self.playlist_of(&self.channel(owner)?, no)?;
        (playlist.id == id).then_some(playlist)
    }

    /// A channel's playlist by number. The last one of a music channel is an album.
    pub(crate) fn playlist_of(&self, channel: &Channel, no: u32) -> Option<Playlist> {
        let album = no >= ALBUM;
        if (no & !ALBUM) >= channel.playlists {
            return None;
        }
        let at = (channel.no, no);
        let mut dice = self.dice("playlist", &[u64::from(at.0), u64::from(at.1)]);
        let tail = self.mint.playlist_tail(at);
        let title = text::playlist_title(channel.theme, &mut dice);
        Some(Playlist {
            id: if album { format!("OLAK5uy_{tail}0") } else { format!("PL{tail}") },
            description: if dice.chance(60) {
                String::new()
            } else {
                format!("{title}, collected by {}.", channel.title)
            },
            title,
            created: channel.created + DAY * (30 + i64::from(no)),
            size: (2 + dice.skewed(4, 4) as u32).min(channel.videos),
            start: Some(dice.below(u64::from(channel.videos)) as u32),
            quirk: album.then_some(PlaylistQuirk::Album),
            edits: Edits::default(),
            channel: channel.clone(),
        })
    }

    fn quirky_playlist(&self, row: u32, quirk: PlaylistQuirk) -> Playlist {
        let entry = &QUIRKS[row as usize];
        // Long playlists need a channel with enough videos for distinct entries.
        let archive = quirk::row_of(Case::Channel(ChannelQuirk::Archive));
        let owner = match quirk {
            PlaylistQuirk::OtherOwner => self.channel(2),
            _ => archive.and_then(|(_, archive)| self.channel_by_id(archive.id)),
        };
        let channel = owner.or_else(|| self.channel(0)).expect("the cast is not empty");
        let size = match quirk {
            PlaylistQuirk::Sized(n) => n,
            PlaylistQuirk::Empty => 0,
            PlaylistQuirk::ShortPages => 156,
            PlaylistQuirk::EmptyPage | PlaylistQuirk::TokenLoop => 120,
            PlaylistQuirk::Duplicates => 60,
            PlaylistQuirk::Unavailable => 30,
            PlaylistQuirk::AllGone => 12,
            PlaylistQuirk::EveryVideo => quirk_videos().count() as u32,
            PlaylistQuirk::EveryTranscript => transcripts().count() as u32,
            PlaylistQuirk::EveryChapters => details(true).count() as u32,
            PlaylistQuirk::EveryDetail => details(false).count() as u32,
            PlaylistQuirk::EveryChanging => courses().count() as u32,
            PlaylistQuirk::Feed(_) => 20,
            PlaylistQuirk::Mixed => MIXED.len() as u32 * 2,
            _ => 10,
        };
        let description = if quirk == PlaylistQuirk::Unlisted { "" } else { entry.what };
        Playlist {
            id: entry.id.to_owned(),
            title: format!("Documented: {}", entry.id),
            description: description.to_owned(),
            created: channel.created + DAY * 30,
            size,
            quirk: Some(quirk),
            start: Some(0),
            edits: Edits::default(),
            channel,
        }
    }

    /// Entry `i` of a playlist.
    pub(crate) fn entry(&self, list: &Playlist, i: u32) -> Entry {
        let Some(start) = list.start else {
            let index = self.upload_index(list.channel.no, i);
            let added = self.published(&list.channel, index);
            return Entry {
                video: (list.channel.no, index),
                state: State::Public,
                added,
                withheld: false,
            };
        };
        let Edits { moved, replaced, .. } = list.edits;
        let is_replaced = replaced > 0 && i + 1 == list.size;
        let i = match is_replaced {
            true => list.size + replaced - 1,
            false => (i + moved) % list.size.max(1),
        };
        let mut entry = Entry {
            video: (list.channel.no, (start + i) % list.channel.videos.max(1)),
            state: State::Public,
            added: list.created + DAY * 7 + i64::from(i) * 3600,
            withheld: false,
        };
        match list.quirk {
            None => self.age_entry(list, i, &mut entry),
            Some(quirk) => apply_quirk(quirk, i, &mut entry),
        }
        // Nobody adds a video before its publication.
        if let Some(published) = self.scheduled_publication(entry.video) {
            entry.added = entry.added.max(published);
        }
        match self.state(entry.video) {
            State::Public => {}
            State::Unpublished => (entry.state, entry.withheld) = (State::Unpublished, true),
            hidden => entry.state = hidden,
        }
        entry
    }

    /// The playlist of all public videos of a channel.
    fn uploads(&self, channel: Channel) -> Playlist {
        Playlist {
            id: channel.uploads(),
            title: format!("Uploads from {}", channel.title),
            description: String::new(),
            created: channel.created,
            size: self.video_count(&channel),
            quirk: None,
            start: None,
            edits: Edits::default(),
            channel,
        }
    }

    /// Simulates the age of an ordinary playlist: a few entries are gone, a few belong to other channels.
    fn age_entry(&self, list: &Playlist, i: u32, entry: &mut Entry) {
        let mut dice = self.dice(&list.id, &[u64::from(i)]);
        match dice.below(60) {
            0 => (entry.state, entry.video.1) = (State::Private, GONE + i),
            1 => (entry.state, entry.video.1) = (State::Deleted, GONE + i),
            2..=5 => entry.video = ((list.channel.no + 1) % 20, dice.below(12) as u32),
            _ => {}
        }
    }
}

/// The rows of videos in the first part of the quirk table.
fn quirk_videos() -> impl Iterator<Item = (u32, VideoQuirk)> {
    (0..).zip(&QUIRKS[..quirk::DETAILS_FROM]).filter_map(|(row, entry)| match entry.case {
        Case::Video(VideoQuirk::Absent) => None,
        Case::Video(quirk) => Some((row, quirk)),
        _ => None,
    })
}

/// The rows of videos in the second part: those with chapters, or the others.
fn details(chapters: bool) -> impl Iterator<Item = u32> {
    (0..).zip(QUIRKS).skip(quirk::DETAILS_FROM).filter_map(move |(row, entry)| match entry.case {
        Case::Video(quirk) => {
            let is_listed = !matches!(quirk, VideoQuirk::Changing(_))
                && matches!(quirk, VideoQuirk::Chapters(..)) == chapters;
            is_listed.then_some(row)
        }
        _ => None,
    })
}

/// The rows of transcripts in the quirk table.
fn transcripts() -> impl Iterator<Item = u32> {
    (0..)
        .zip(QUIRKS)
        .filter_map(|(row, entry)| matches!(entry.case, Case::Transcript(_)).then_some(row))
}

/// The documented half of the mixed playlist: no entry is slow, and none blocks the caller.
const MIXED: [&str; 6] =
    ["txNoCaption", "plPrivate__", "plAgeGate__", "plGeoText__", "ttEmpty____", "plUpcoming_"];

fn apply_quirk(quirk: PlaylistQuirk, i: u32, entry: &mut Entry) {
    match quirk {
        PlaylistQuirk::AllGone => {
            entry.state = if i.is_multiple_of(2) { State::Private } else { State::Deleted };
            entry.video.1 = GONE + i;
        }
        PlaylistQuirk::Unavailable if i % 5 == 4 => {
            (entry.state, entry.video.1) = (State::Private, GONE + i);
        }
        PlaylistQuirk::Unavailable if i % 7 == 6 => {
            (entry.state, entry.video.1) = (State::Deleted, GONE + i);
        }
        PlaylistQuirk::Vanished if i % 2 == 1 => entry.video.1 = GONE + i,
        PlaylistQuirk::Duplicates => entry.video.1 = i % 20,
        PlaylistQuirk::OtherOwner => entry.video = (4, i),
        // One entry of the first page, nine of the second and five of the third are only counted.
        PlaylistQuirk::ShortPages => entry.withheld = matches!(i, 17 | 60..=68 | 120..=124),
        PlaylistQuirk::EmptyPage => entry.withheld = (50..100).contains(&i),
        PlaylistQuirk::EveryTranscript => {
            if let Some(row) = transcripts().nth(i as usize) {
                entry.video = (QUIRK_OWNER, row);
            }
        }
        PlaylistQuirk::EveryChapters | PlaylistQuirk::EveryDetail => {
            if let Some(row) = details(quirk == PlaylistQuirk::EveryChapters).nth(i as usize) {
                entry.video = (QUIRK_OWNER, row);
            }
        }
        PlaylistQuirk::EveryChanging => {
            if let Some((row, _)) = courses().nth(i as usize) {
                entry.video = (QUIRK_OWNER, row);
            }
        }
        PlaylistQuirk::Mixed if i % 2 == 1 => {
            if let Some((row, _)) = quirk::find(MIXED[i as usize / 2 % MIXED.len()]) {
                entry.video = (QUIRK_OWNER, row);
            }
        }
        PlaylistQuirk::EveryVideo => {
            if let Some((row, quirk)) = quirk_videos().nth(i as usize) {
                entry.video = (QUIRK_OWNER, row);
                entry.state = match quirk {
                    VideoQuirk::Deleted => State::Deleted,
                    quirk if is_served(quirk) => State::Public,
                    _ => State::Private,
                };
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn playlists_are_found_by_id_and_contain_existing_videos() {
        let world = World::new(1);
        for channel in world.channels().take(6) {
            for no in (0..channel.playlists).chain([ALBUM]) {
                let list = world.playlist_of(&channel, no).expect("in range");
                assert_eq!(world.playlist(&list.id).map(|l| l.title), Some(list.title.clone()));
                for entry in (0..list.size).map(|i| world.entry(&list, i)) {
                    let found = world.video_by_id(&world.video_id(entry.video)).is_some();
                    assert_eq!(found, entry.state == State::Public, "{} {entry:?}", list.id);
                }
            }
        }
    }

    #[test]
    fn longest_playlist_has_no_duplicates() {
        let world = World::new(1);
        let list = world.playlist("PLsize20000").expect("documented");
        let videos: std::collections::HashSet<_> =
            (0..list.size).map(|i| world.entry(&list, i).video).collect();
        assert_eq!(videos.len(), 20_000);
    }
}
