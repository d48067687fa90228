//! Videos that change at times of the simulator's clock: scheduled changes, and documented videos whose
//! times count from the start of the simulator.

use super::playlist::State;
use super::video::{Broadcast, QUIRK_OWNER, Video};
use super::{VideoKey, World, clock};
use crate::quirk::{Case, Course, QUIRKS, VideoQuirk};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A change of a video at a time of the simulator's clock.
///
/// Several changes of one video add up: a broadcast can end, get captions later, and then become private. A
/// second change of the same kind replaces the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It is published. Until then it does not exist. Channels list their videos by age, so publish the
    /// newest video of a channel last.
    Published,
    /// Its captions appear. Until then it has none.
    Captions,
    /// Its live broadcast ends. Until then it is live; afterwards it is a recording with captions.
    Ended,
    /// It becomes private.
    Private,
    /// It is deleted.
    Deleted,
}

/// A change of a playlist at a time of the simulator's clock. Several changes of one playlist add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlaylistChange {
    /// Its first entry moves to its end.
    Reordered,
    /// It has another video at its end.
    Extended,
    /// Its last entry becomes another video, so that the number of entries stays the same.
    Replaced,
}

/// The scheduled changes of all videos and playlists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    videos: BTreeMap<VideoKey, Timeline>,
    playlists: BTreeMap<String, Vec<(Timestamp, PlaylistChange)>>,
    /// Grows with every scheduled change.
    revision: u64,
}

/// How often a playlist was changed, by the kind of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edits {
    pub(super) moved: u32,
    pub(super) added: u32,
    pub(super) replaced: u32,
}

impl Changes {
    pub(crate) fn schedule_playlist(&mut self, id: &str, change: PlaylistChange, at: Timestamp) {
        self.playlists.entry(id.to_owned()).or_default().push((at, change));
        self.revision += 1;
    }

    pub(crate) fn schedule(&mut self, key: VideoKey, change: Change, at: Timestamp) {
        self.revision += 1;
        let timeline = self.videos.entry(key).or_default();
        let time = match change {
            Change::Published => &mut timeline.published,
            Change::Captions => &mut timeline.captions,
            Change::Ended => &mut timeline.ended,
            Change::Private => &mut timeline.private,
            Change::Deleted => &mut timeline.deleted,
        };
        *time = Some(at);
    }
}

/// The moment at which a request sees the world.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    /// The start of the simulator.
    pub(crate) start: Timestamp,
    pub(crate) now: Timestamp,
    pub(crate) changes: Arc<Changes>,
}

impl Default for Present {
    fn default() -> Self {
        let start = clock::start();
        Self { start, now: start, changes: Arc::default() }
    }
}

/// The times of one video.
#[derive(Clone, Copy, Debug, Default)]
struct Timeline {
    published: Option<Timestamp>,
    captions: Option<Timestamp>,
    ended: Option<Timestamp>,
    private: Option<Timestamp>,
    deleted: Option<Timestamp>,
}

impl Timeline {
    fn of_course(course: &Course, start: Timestamp) -> Self {
        let at = |seconds: i64| {
            start.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
        };
        Self {
            published: Some(at(course.published)),
            captions: course.captions.map(at),
            ended: course.ended.map(at),
            private: course.private.map(at),
            deleted: course.deleted.map(at),
        }
    }

    /// These times, and those of `other` where there are none.
    fn or(self, other: Self) -> Self {
        Self {
            published: self.published.or(other.published),
            captions: self.captions.or(other.captions),
            ended: self.ended.or(other.ended),
            private: self.private.or(other.private),
            deleted: self.deleted.or(other.deleted),
        }
    }

    fn state(&self, now: Timestamp) -> State {
        let has_passed = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if self.published.is_some() && !has_passed(self.published) {
            State::Unpublished
        } else if has_passed(self.deleted) {
            State::Deleted
        } else if has_passed(self.private) {
            State::Private
        } else {
            State::Public
        }
    }

    /// The changes whose times have passed.
    fn passed(&self, now: Timestamp) -> [bool; 5] {
        [self.published, self.captions, self.ended, self.private, self.deleted]
            .map(|at| at.is_some_and(|at| at <= now))
    }
}

impl World {
    /// The same world at another moment.
    pub(crate) fn at(&self, present: Present) -> Self {
        Self { present, ..self.clone() }
    }

    fn timeline(&self, key: VideoKey) -> Timeline {
        let scheduled = self.present.changes.videos.get(&key).copied().unwrap_or_default();
        match course(key) {
            Some(course) => scheduled.or(Timeline::of_course(course, self.present.start)),
            None => scheduled,
        }
    }

    /// The visibility of a video at this moment, as far as changes decide it.
    pub(crate) fn state(&self, key: VideoKey) -> State {
        self.timeline(key).state(self.present.now)
    }

    /// The time of publication, if it is scheduled.
    pub(super) fn scheduled_publication(&self, key: VideoKey) -> Option<clock::Seconds> {
        self.timeline(key).published.map(Timestamp::as_second)
    }

    /// Applies the changes of a video to it.
    pub(super) fn apply_changes(&self, video: &mut Video) {
        let timeline = self.timeline(video.key);
        let now = self.present.now;
        video.awaits_captions = timeline.captions.is_some_and(|at| at > now);
        video.scheduled_end = timeline.ended.map(|at| {
            let broadcast = if at <= now { Broadcast::Ended } else { Broadcast::Live };
            (broadcast, at.as_second())
        });
    }

    /// The hidden videos of a channel, by ascending index.
    fn hidden(&self, channel: u32) -> impl Iterator<Item = u32> + '_ {
        let scheduled = self.present.changes.videos.range((channel, 0)..=(channel, u32::MAX));
        scheduled
            .filter(|(_, timeline)| timeline.state(self.present.now) != State::Public)
            .map(|((_, index), _)| *index)
    }

    /// The number of hidden videos of a channel.
    pub(super) fn hidden_count(&self, channel: u32) -> u32 {
        self.hidden(channel).count() as u32
    }

    /// The index of the video at a position of the uploads of a channel, which leave out hidden videos.
    pub(crate) fn upload_index(&self, channel: u32, position: u32) -> u32 {
        self.hidden(channel).fold(position, |at, hidden| at + u32::from(hidden <= at))
    }

    /// A text that differs whenever answers may differ because of a change; empty at first.
    pub(crate) fn edition(&self) -> String {
        let Present { start, now, changes } = &self.present;
        let mut text = String::new();
        if *start != clock::start() {
            text.push_str(&format!(" {start}"));
        }
        for (row, course) in courses() {
            let timeline = Timeline::of_course(course, *start);
            if timeline.passed(*now) != timeline.passed(*start) {
                text.push_str(&format!(" {row}{:?}", timeline.passed(*now)));
            }
        }
        if changes.revision > 0 {
            // The number grows with time alone, so that it names what has happened.
            let passed = changes.videos.values().flat_map(|timeline| timeline.passed(*now));
            let edits = changes.playlists.values().flatten().map(|(at, _)| at <= now);
            let count = passed.chain(edits).filter(|has_passed| *has_passed).count();
            text.push_str(&format!(" {} {count}", changes.revision));
        }
        text
    }

    /// The changes of a playlist whose times have passed.
    pub(super) fn edits(&self, id: &str) -> Edits {
        let mut edits = Edits::default();
        for (at, change) in self.present.changes.playlists.get(id).into_iter().flatten() {
            if *at <= self.present.now {
                match change {
                    PlaylistChange::Reordered => edits.moved += 1,
                    PlaylistChange::Extended => edits.added += 1,
                    PlaylistChange::Replaced => edits.replaced += 1,
                }
            }
        }
        edits
    }
}

/// The course of a documented video that changes.
fn course(key: VideoKey) -> Option<&'static Course> {
    match &QUIRKS.get(key.1 as usize).filter(|_| key.0 == QUIRK_OWNER)?.case {
        Case::Video(VideoQuirk::Changing(course)) => Some(course),
        _ => None,
    }
}

/// The documented videos that change, with their rows.
pub(super) fn courses() -> impl Iterator<Item = (u32, &'static Course)> {
    (0..QUIRKS.len() as u32).filter_map(|row| Some((row, course((QUIRK_OWNER, row))?)))
}
