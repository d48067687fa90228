//! The videos of channels with a programme. All other channels have a mixture.

use super::Video;
use crate::quirk::{Case, QUIRKS, VideoQuirk};
use crate::world::cast::{CAST, Programme};
use crate::world::channel::Channel;

/// Fits a video to the programme of its channel.
pub(super) fn apply(video: &mut Video) {
    let index = video.key.1;
    video.title.push_str(hashtag(&video.channel, index));
    match programme(&video.channel) {
        Programme::Shorts => shorten(video, index),
        Programme::Broadcasts => broadcast(video, index),
        Programme::Chapters => add_chapters(video, index as usize),
        Programme::Mixed => {}
    }
}

fn programme(channel: &Channel) -> Programme {
    CAST.get(channel.no as usize).map_or(Programme::Mixed, |role| role.programme)
}

/// The end of a title: two of three Shorts have the hashtag.
pub(super) fn hashtag(channel: &Channel, index: u32) -> &'static str {
    match programme(channel) {
        Programme::Shorts if index % 3 != 2 => " #shorts",
        _ => "",
    }
}

/// Most last less than a minute, a few up to three.
fn shorten(video: &mut Video, index: u32) {
    video.seconds = match index % 6 {
        5 => 61 + video.seconds % 118,
        _ => 15 + video.seconds % 45,
    };
}

/// Makes the first two videos upcoming broadcasts, the third a live one, and the others recordings.
fn broadcast(video: &mut Video, index: u32) {
    video.quirk = match index {
        0 => Some(VideoQuirk::UpcomingChat),
        1 => Some(VideoQuirk::Premiere),
        2 => Some(VideoQuirk::Live),
        _ => None,
    };
    if index > 2 && video.seconds < 3600 {
        video.seconds += 3600;
    }
}

/// The documented lists of times, one after the other.
fn add_chapters(video: &mut Video, index: usize) {
    let documented = || {
        QUIRKS.iter().filter_map(|entry| match entry.case {
            Case::Video(VideoQuirk::Chapters(text, seconds)) => Some((text, seconds)),
            _ => None,
        })
    };
    if let Some((text, seconds)) = documented().nth(index % documented().count().max(1)) {
        video.description = text.to_owned();
        video.seconds = seconds;
    }
}
