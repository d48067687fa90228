//! The results of an ordinary search, in their order.

use super::MOST;
use super::filters::Filters;
use crate::quirk::{Case, QUIRKS, VideoQuirk};
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::clock::Seconds;
use crate::world::playlist::Playlist;
use crate::world::video::{Broadcast, QUIRK_OWNER, Video};
use std::cmp::Reverse;

/// How many videos of each channel a search considers.
const RECENT: usize = 40;
/// How many videos of the requested channel a search considers.
const RECENT_OF_ONE: usize = 2000;

/// A result.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) subject: Subject,
    /// Whether the result has a `snippet`.
    pub(super) has_snippet: bool,
    /// The form of the `snippet`.
    pub(super) form: Form,
}

#[derive(Clone, Debug)]
pub(super) enum Subject {
    Video(Box<Video>),
    /// A channel, and its `liveBroadcastContent`.
    Channel(Box<Channel>, &'static str),
    Playlist(Box<Playlist>),
    /// Counted, but never returned.
    Withheld,
}

/// The form of a `snippet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Today,
    /// Without `publishTime`.
    Of2019,
    /// Titles as they are, whole descriptions, all thumbnails.
    Whole,
}

impl From<Subject> for Hit {
    fn from(subject: Subject) -> Self {
        Self { subject, has_snippet: true, form: Form::Today }
    }
}

impl From<Video> for Hit {
    fn from(video: Video) -> Self {
        Subject::Video(Box::new(video)).into()
    }
}

/// All results that fulfil the conditions: channels, videos, playlists.
pub(super) fn find(world: &World, filters: &Filters<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    if filters.wants("channel") && filters.channel.is_none() {
        let found = world.channels().filter(|channel| is_wanted_channel(channel, filters));
        hits.extend(found.map(|channel| Hit::from(Subject::Channel(Box::new(channel), "none"))));
    }
    if filters.wants("video") {
        hits.extend(videos(world, filters).into_iter().map(Hit::from));
    }
    if filters.wants("playlist") {
        let found = playlists(world, filters).into_iter();
        hits.extend(found.map(|list| Hit::from(Subject::Playlist(Box::new(list)))));
    }
    sort(&mut hits, filters.order);
    hits.truncate(MOST);
    hits
}

fn is_wanted_channel(channel: &Channel, filters: &Filters<'_>) -> bool {
    filters.covers(channel.created) && filters.matches(&channel.title)
}

/// The videos of all channels or of one, then the documented ones. Results in the requested language come
/// first.
fn videos(world: &World, filters: &Filters<'_>) -> Vec<Video> {
    let mut found = Vec::new();
    match filters.channel {
        Some(id) => {
            let channel = world.channel_by_id(id);
            found.extend(channel.iter().flat_map(|c| of_channel(world, c, filters, RECENT_OF_ONE)));
        }
        None => {
            for channel in world.channels() {
                found.extend(of_channel(world, &channel, filters, RECENT));
            }
            found.extend(documented(world).filter(|video| is_wanted_video(video, filters)));
        }
    }
    if let Some(language) = filters.language {
        found.sort_by_key(|video| video.channel.language != language);
    }
    found
}

fn of_channel(
    world: &World,
    channel: &Channel,
    filters: &Filters<'_>,
    most: usize,
) -> impl Iterator<Item = Video> {
    let covered = (0..channel.videos).filter(|i| filters.covers(world.published(channel, *i)));
    let matching =
        covered.take(most).filter(|index| filters.matches(&world.title_of(channel, *index)));
    let videos = matching.filter_map(|index| world.video_of(channel, index));
    videos.filter(|video| is_wanted_video(video, filters))
}

/// The documented videos that a search can find, a deleted one among them.
fn documented(world: &World) -> impl Iterator<Item = Video> {
    use VideoQuirk as Q;
    let rows = (0..).zip(QUIRKS).filter(|(_, entry)| match entry.case {
        Case::Video(quirk) => {
            !matches!(quirk, Q::Private | Q::Absent | Q::Unlisted | Q::Changing(_))
        }
        _ => false,
    });
    rows.filter_map(|(row, _)| world.video((QUIRK_OWNER, row)))
}

fn is_wanted_video(video: &Video, filters: &Filters<'_>) -> bool {
    let is_allowed = match video.quirk {
        Some(VideoQuirk::AgeRestricted) => !filters.strict,
        Some(VideoQuirk::AllowedNowhere) => false,
        Some(VideoQuirk::Allowed) => ["AT", "CH", "DE"].contains(&filters.region.as_str()),
        _ => true,
    };
    let has_length = filters.duration.is_none_or(|duration| {
        video.has_recording()
            && match duration {
                "short" => video.seconds < 240,
                "medium" => (240..=1200).contains(&video.seconds),
                _ => video.seconds > 1200,
            }
    });
    let is_event = filters.event.is_none_or(|event| match event {
        "upcoming" => video.broadcast() == Some(Broadcast::Upcoming),
        "live" => video.broadcast() == Some(Broadcast::Live),
        _ => video.broadcast() == Some(Broadcast::Ended),
    });
    is_allowed
        && has_length
        && is_event
        && filters.covers(video.published)
        && filters.matches(&video.title)
}

fn playlists(world: &World, filters: &Filters<'_>) -> Vec<Playlist> {
    let mut found = Vec::new();
    let of_one = filters.channel.and_then(|id| world.channel_by_id(id));
    let all = world.channels().filter(|_| filters.channel.is_none());
    for channel in of_one.into_iter().chain(all) {
        let lists = (0..channel.playlists).filter_map(|no| world.playlist_of(&channel, no));
        found.extend(
            lists.filter(|list| filters.covers(list.created) && filters.matches(&list.title)),
        );
    }
    found
}

fn sort(hits: &mut [Hit], order: &str) {
    match order {
        "date" => hits.sort_by_key(|hit| Reverse(hit.published())),
        "viewCount" => hits.sort_by_key(|hit| Reverse(hit.views())),
        "rating" => hits.sort_by_key(|hit| Reverse(hit.rating())),
        "title" => hits.sort_by(|one, other| one.title().cmp(other.title())),
        "videoCount" => hits.sort_by_key(|hit| Reverse(hit.videos())),
        _ => {}
    }
}

impl Hit {
    fn published(&self) -> Seconds {
        match &self.subject {
            Subject::Video(video) => video.published,
            Subject::Channel(channel, _) => channel.created,
            Subject::Playlist(list) => list.created,
            Subject::Withheld => 0,
        }
    }

    fn views(&self) -> u64 {
        match &self.subject {
            Subject::Video(video) => video.views,
            Subject::Channel(channel, _) => channel.views,
            Subject::Playlist(_) | Subject::Withheld => 0,
        }
    }

    /// Likes per thousand views.
    fn rating(&self) -> u64 {
        match &self.subject {
            Subject::Video(video) => video.likes * 1000 / video.views.max(1),
            _ => 0,
        }
    }

    fn title(&self) -> &str {
        match &self.subject {
            Subject::Video(video) => &video.title,
            Subject::Channel(channel, _) => &channel.title,
            Subject::Playlist(list) => &list.title,
            Subject::Withheld => "",
        }
    }

    fn videos(&self) -> u32 {
        match &self.subject {
            Subject::Channel(channel, _) => channel.videos,
            Subject::Playlist(list) => list.size,
            Subject::Video(_) | Subject::Withheld => 0,
        }
    }
}
