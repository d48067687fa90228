//! The oddities of result lists: the documented ones, and those of ordinary searches.

use super::MOST;
use super::filters::Filters;
use super::hits::{Form, Hit, Subject};
use crate::hash::hash;
use crate::quirk::{self, Case, ChannelQuirk, SearchQuirk as Q};
use crate::world::World;
use crate::world::video::{GONE, Video};

/// The results of most documented searches.
const STAGED: u32 = 120;
/// The number of results from which on an ordinary list is odd. Shorter ones are exact.
const LONG: usize = 20;
/// The channel whose name has an ampersand.
const AMPERSAND: u32 = 4;

/// The results of documented words. Apart from the type and the page, filters do not apply.
pub(super) fn staged(world: &World, quirk: Q, filters: &Filters<'_>, size: u32) -> Vec<Hit> {
    let size = size.max(1) as usize;
    let mut hits = base(world, quirk);
    match quirk {
        Q::ShortPages => withhold(&mut hits, |index| index % 7 == 3),
        Q::EmptyPage => {
            let ghosts = vec![Hit::from(Subject::Withheld); size];
            hits.splice(size.min(hits.len())..size.min(hits.len()), ghosts);
        }
        Q::Repeats => {
            let pages = hits.len() / size;
            (1..=pages).for_each(|page| repeat(&mut hits, page * size));
        }
        Q::Deleted => {
            for (index, hit) in hits.iter_mut().enumerate().filter(|(index, _)| index % 3 == 2) {
                delete(world, hit, index as u32);
            }
        }
        Q::ChannelAmongVideos => {
            if let Some(channel) = world.channel(0) {
                hits.insert(0, Subject::Channel(Box::new(channel), "none").into());
            }
        }
        Q::NoSnippet => {
            hits.iter_mut().skip(1).step_by(5).for_each(|hit| hit.has_snippet = false);
        }
        Q::OldEra => hits.iter_mut().for_each(|hit| hit.form = Form::Of2019),
        Q::Unescaped => hits.iter_mut().for_each(|hit| hit.form = Form::Whole),
        _ => {}
    }
    let is_wanted = |hit: &Hit| match hit.subject {
        Subject::Video(_) | Subject::Withheld => filters.wants("video"),
        Subject::Channel(..) => filters.wants("channel") || quirk == Q::ChannelAmongVideos,
        Subject::Playlist(_) => filters.wants("playlist"),
    };
    hits.retain(is_wanted);
    hits
}

/// The results before their oddity.
fn base(world: &World, quirk: Q) -> Vec<Hit> {
    let archive = quirk::row_of(Case::Channel(ChannelQuirk::Archive));
    let archive = archive.and_then(|(_, entry)| world.channel_by_id(entry.id));
    let archived = |count: u32| {
        let no = archive.as_ref().map_or(0, |channel| channel.no);
        (0..count).filter_map(move |index| world.video((no, index)))
    };
    let entities = || {
        let own = (0..4).filter_map(|index| world.video((AMPERSAND, index)));
        world.video_by_id("titleEntity").into_iter().chain(own)
    };
    match quirk {
        Q::EmptyButTotal | Q::Nothing => Vec::new(),
        Q::Million => archived(MOST as u32).map(Hit::from).collect(),
        Q::Entities => entities().map(Hit::from).collect(),
        Q::Unescaped => entities().chain(archived(20)).map(Hit::from).collect(),
        Q::LiveChannels => {
            let live = ["none", "upcoming", "upcoming", "live", "upcoming"];
            let states = live.into_iter().chain(std::iter::repeat("none"));
            let channels = world.channels().take(10).zip(states);
            channels
                .map(|(channel, live)| Subject::Channel(Box::new(channel), live).into())
                .collect()
        }
        _ => archived(STAGED).map(Hit::from).collect(),
    }
}

/// Adds the usual oddities to a long list of videos: a deleted video, a video that comes twice, and a page
/// with fewer results than requested. No result is lost.
pub(super) fn aged(
    world: &World,
    mut hits: Vec<Hit>,
    filters: &Filters<'_>,
    (name, size): (&str, u32),
) -> Vec<Hit> {
    let size = size as usize;
    if hits.len() < LONG || hits.len() <= size || size == 0 || !filters.wants("video") {
        return hits;
    }
    let draw = hash(0, name, &[1]);
    if draw.is_multiple_of(3) {
        repeat(&mut hits, size);
    }
    let middle = size / 2;
    if (draw >> 8).is_multiple_of(3) {
        hits.insert(middle, Subject::Withheld.into());
    }
    let mut gone = hits[middle + 1].clone();
    if (draw >> 16).is_multiple_of(3) && matches!(gone.subject, Subject::Video(_)) {
        delete(world, &mut gone, (draw >> 24) as u32 % 1000);
        hits.insert(middle + 1, gone);
    }
    hits.truncate(MOST);
    hits
}

fn withhold(hits: &mut [Hit], is_withheld: impl Fn(usize) -> bool) {
    let chosen = hits.iter_mut().enumerate().filter(|(index, _)| is_withheld(*index));
    chosen.for_each(|(_, hit)| hit.subject = Subject::Withheld);
}

/// Repeats the result before a position, as when a list grows between two pages.
fn repeat(hits: &mut Vec<Hit>, at: usize) {
    if let Some(last) = at.checked_sub(1).and_then(|last| hits.get(last)).cloned() {
        hits.insert(at, last);
    }
}

/// Replaces a video by one that was removed.
fn delete(world: &World, hit: &mut Hit, n: u32) {
    if let Subject::Video(video) = &mut hit.subject {
        let title = format!("{} (first version)", video.title);
        let id = world.video_id((video.channel.no, GONE + n));
        **video = Video { id, title, ..(**video).clone() };
    }
}
