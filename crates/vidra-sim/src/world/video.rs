//! The videos of a channel, newest first.

mod programme;

use super::channel::Channel;
use super::clock::{self, DAY, LAST, Seconds};
use super::playlist::State;
use super::{VideoKey, World, text};
use crate::quirk::{self, Case, Frame, QUIRKS, Scene, Tracks, VideoQuirk};

/// The owner in the coordinates of a video of the quirk table; its index is its row.
pub(crate) const QUIRK_OWNER: u32 = 0xf_0000;
/// The first index of removed videos in playlists.
pub(crate) const GONE: u32 = 0xe_0000;

const SCRIPTS_TITLE: &str = "🎙\u{a0}星空の下で – ليلة تحت النجوم \u{200b}👩‍🚀";
const ENTITIES_TITLE: &str = "Salt & pepper's \"best\" – a literal &amp; and &#39;";
const SCRIPTS_DESCRIPTION: &str =
    "First line\r\nSecond line\r\n\r\n한국어 설명 · 日本語の説明\r\nשלום עולם\u{202f}!\u{feff}";

/// A video.
#[derive(Clone, Debug)]
pub(crate) struct Video {
    pub(crate) key: VideoKey,
    pub(crate) id: String,
    pub(crate) channel: Channel,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) published: Seconds,
    pub(crate) seconds: u64,
    pub(crate) views: u64,
    pub(crate) likes: u64,
    /// The number of thumbnail sizes, from default, medium, high, standard, maxres.
    pub(crate) thumbnails: usize,
    pub(crate) frame: Frame,
    pub(crate) quirk: Option<VideoQuirk>,
    /// Its documented behaviour on the keyless interface.
    pub(crate) scene: Option<Scene>,
    /// Whether its captions appear later.
    pub(crate) awaits_captions: bool,
    /// Whether its broadcast has ended, and the end; `None` without a scheduled end.
    pub(crate) scheduled_end: Option<(Broadcast, Seconds)>,
}

/// The state of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broadcast {
    Upcoming,
    Live,
    Ended,
}

impl Video {
    /// The state of its broadcast; `None` for an upload. Among ordinary videos, those of an hour and more
    /// are recorded broadcasts.
    pub(crate) fn broadcast(&self) -> Option<Broadcast> {
        use VideoQuirk as Q;
        if let Some((broadcast, _)) = self.scheduled_end {
            return Some(broadcast);
        }
        match self.quirk {
            Some(Q::Upcoming | Q::ScheduledOnly | Q::UpcomingChat | Q::Premiere | Q::Overdue) => {
                Some(Broadcast::Upcoming)
            }
            Some(Q::Live | Q::LiveWithoutViewers | Q::LiveUnscheduled) => Some(Broadcast::Live),
            Some(Q::PastLive | Q::EndedUnscheduled | Q::EndedProcessing) => Some(Broadcast::Ended),
            Some(_) => None,
            None if self.scene.is_none() && self.seconds >= 3600 => Some(Broadcast::Ended),
            None => None,
        }
    }

    /// Whether there is something to watch: not before a broadcast, nor while the platform processes an
    /// upload.
    pub(crate) fn has_recording(&self) -> bool {
        self.broadcast().is_none_or(|broadcast| broadcast == Broadcast::Ended)
            && !matches!(self.quirk, Some(VideoQuirk::Processing | VideoQuirk::EndedProcessing))
    }

    /// Whether it is live until a scheduled end.
    pub(crate) fn is_live_until_later(&self) -> bool {
        matches!(self.scheduled_end, Some((Broadcast::Live, _)))
    }

    /// Whether the platform shows it as a Short: not wide, and three minutes at most.
    pub(crate) fn is_short(&self) -> bool {
        self.frame != Frame::Wide && self.seconds <= 180 && self.broadcast().is_none()
    }
}

impl World {
    /// The video with that identifier, if the platform would serve it.
    pub(crate) fn video_by_id(&self, id: &str) -> Option<Video> {
        self.video(self.coordinates(id)?)
    }

    /// The coordinates of a video that exists, whether or not it is hidden at this moment.
    pub(crate) fn video_key(&self, id: &str) -> Option<VideoKey> {
        let key = self.coordinates(id)?;
        let exists = || self.channel(key.0).is_some_and(|channel| key.1 < channel.videos);
        (key.0 == QUIRK_OWNER || exists()).then_some(key)
    }

    /// The coordinates in an identifier; `None` if no video can have it.
    fn coordinates(&self, id: &str) -> Option<VideoKey> {
        let Some((row, entry)) = quirk::find(id) else { return self.mint.read_video(id) };
        let is_video = match entry.case {
            Case::Video(quirk) => is_served(quirk),
            Case::Transcript(_) => true,
            _ => false,
        };
        is_video.then_some((QUIRK_OWNER, row))
    }

    /// The identifier at some coordinates, whether or not a video exists there.
    pub(crate) fn video_id(&self, key: VideoKey) -> String {
        match QUIRKS.get(key.1 as usize) {
            Some(entry) if key.0 == QUIRK_OWNER => entry.id.to_owned(),
            _ => self.mint.video(key),
        }
    }

    /// The video at some coordinates, unless a change hides it.
    pub(crate) fn video(&self, key: VideoKey) -> Option<Video> {
        if self.state(key) != State::Public {
            return None;
        }
        let (odd, owner) = match key.0 {
            QUIRK_OWNER => match QUIRKS.get(key.1 as usize)?.case {
                // Channel 5 has speech. Channel 0 has mostly music.
                Case::Video(quirk @ VideoQuirk::Changing(_)) => ((Some(quirk), None), 5),
                Case::Video(quirk) => ((Some(quirk), None), 0),
                Case::Transcript(scene) => ((None, Some(scene)), 5),
                _ => return None,
            },
            owner => ((None, None), owner),
        };
        let channel = self.channel(owner)?;
        if odd == (None, None) && key.1 >= channel.videos {
            return None;
        }
        Some(self.generate_video(key, channel, odd))
    }

    /// Video `index` of a channel. A search reads thousands, so it does not look up the channel each time.
    pub(crate) fn video_of(&self, channel: &Channel, index: u32) -> Option<Video> {
        (index < channel.videos && self.state((channel.no, index)) == State::Public)
            .then(|| self.generate_video((channel.no, index), channel.clone(), (None, None)))
    }

    /// The title of video `index` of a channel, without computing the rest.
    pub(crate) fn title_of(&self, channel: &Channel, index: u32) -> String {
        let mut dice = self.dice("video", &[u64::from(channel.no), u64::from(index)]);
        text::title(channel.theme, &mut dice) + programme::hashtag(channel, index)
    }

    /// The time of publication. Videos are spread evenly between the creation of the channel and the newest
    /// video, with a jitter below the step, so that the order by date is the order by index.
    pub(crate) fn published(&self, channel: &Channel, index: u32) -> Seconds {
        let scheduled = self.scheduled_publication((channel.no, index));
        scheduled.unwrap_or_else(|| self.ordinary_publication(channel, index))
    }

    fn ordinary_publication(&self, channel: &Channel, index: u32) -> Seconds {
        let newest = LAST - DAY * (1 + i64::from(channel.no % 40));
        let step = (newest - channel.created) / (i64::from(channel.videos.max(1)) + 1);
        let mut dice = self.dice("published", &[u64::from(channel.no), u64::from(index)]);
        let jitter = dice.below(step.max(1).unsigned_abs()) as i64;
        newest - i64::from(index.min(channel.videos)) * step - jitter
    }

    /// The shape of an ordinary video. Most videos up to a minute are vertical, and a few up to three.
    fn frame(&self, video: &Video) -> Frame {
        let mut dice = self.dice("frame", &[u64::from(video.key.0), u64::from(video.key.1)]);
        let percent = match video.seconds {
            0..=60 => 70,
            61..=180 => 30,
            _ => 0,
        };
        if dice.chance(percent) { Frame::Vertical } else { Frame::Wide }
    }

    fn generate_video(
        &self,
        key: VideoKey,
        channel: Channel,
        (quirk, scene): (Option<VideoQuirk>, Option<Scene>),
    ) -> Video {
        let mut dice = self.dice("video", &[u64::from(key.0), u64::from(key.1)]);
        let title = text::title(channel.theme, &mut dice);
        let description = text::description(channel.theme, &title, &mut dice);
        let tags = text::tags(channel.theme, &title, &mut dice);
        let views = channel.subscribers / 8 + dice.skewed(300, 16);
        let mut video = Video {
            key,
            id: self.video_id(key),
            title,
            description,
            tags,
            published: self
                .scheduled_publication(key)
                .unwrap_or_else(|| self.ordinary_publication(&channel, key.1)),
            seconds: length(&mut dice),
            views,
            likes: views * (1 + dice.below(60)) / 1000,
            thumbnails: [3, 4, 5, 5, 5, 5, 5, 5][dice.below(8) as usize],
            frame: Frame::Wide,
            quirk,
            scene,
            awaits_captions: false,
            scheduled_end: None,
            channel,
        };
        if video.key.0 != QUIRK_OWNER {
            programme::apply(&mut video);
            video.frame = self.frame(&video);
        }
        apply_quirk(&mut video);
        self.apply_changes(&mut video);
        video
    }
}

/// Applies the quirk of a video to its texts, its length and its thumbnails.
fn apply_quirk(video: &mut Video) {
    let Some(entry) = QUIRKS.get(video.key.1 as usize).filter(|_| video.key.0 == QUIRK_OWNER)
    else {
        return;
    };
    video.title = format!("{}: {}", entry.id, video.title);
    video.description = format!("{}.\n\n{}", entry.what, video.description);
    match video.scene {
        Some(Scene::Tracks(Tracks::OneHour)) => video.seconds = 3600,
        // The texts of these are short, and a short video keeps tests fast.
        Some(_) => video.seconds = 60 + video.seconds % 120,
        None => {}
    }
    match video.quirk {
        Some(VideoQuirk::Scripts) => {
            video.title = format!("{}: {SCRIPTS_TITLE}", entry.id);
            video.description = SCRIPTS_DESCRIPTION.to_owned();
        }
        Some(VideoQuirk::NoTags) => {
            video.description.clear();
            video.tags.clear();
        }
        Some(VideoQuirk::Duration(text)) => video.seconds = clock::seconds(text),
        Some(VideoQuirk::Thumbnails(count)) => video.thumbnails = count,
        Some(VideoQuirk::Chapters(text, seconds)) => {
            video.description = text.to_owned();
            video.seconds = seconds;
        }
        Some(VideoQuirk::Framed(frame, seconds)) => (video.frame, video.seconds) = (frame, seconds),
        Some(VideoQuirk::Hashtag(frame, seconds)) => {
            (video.frame, video.seconds) = (frame, seconds);
            video.title.push_str(" #shorts");
        }
        Some(VideoQuirk::Changing(course)) => {
            // A broadcast lasts from its publication to its end.
            let length = course.ended.map(|end| end - course.published);
            video.seconds = length.map_or(900, i64::unsigned_abs);
        }
        Some(VideoQuirk::Entities) => {
            video.title = format!("{}: {ENTITIES_TITLE}", entry.id);
            video.description = format!("{ENTITIES_TITLE}, in the description.");
        }
        _ => {}
    }
}

/// Whether `videos.list` returns a video with this quirk.
pub(crate) const fn is_served(quirk: VideoQuirk) -> bool {
    !matches!(quirk, VideoQuirk::Private | VideoQuirk::Deleted | VideoQuirk::Absent)
}

/// The length of a video: shorts, ordinary videos, and a few streams of hours.
fn length(dice: &mut crate::hash::Dice) -> u64 {
    match dice.below(20) {
        0..=3 => 12 + dice.below(48),
        4 => 60 * (1 + dice.below(40)),
        5..=17 => 150 + dice.below(1500),
        18 => 3600 + dice.below(7200),
        _ => 4 * 3600 + dice.below(5 * 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn videos_are_ordered_newest_first() {
        let world = World::new(1);
        for channel in world.channels() {
            let dates: Vec<_> = (0..channel.videos.min(60))
                .filter_map(|i| world.video((channel.no, i)))
                .map(|v| v.published)
                .collect();
            assert!(dates.is_sorted_by(|a, b| a > b), "{}", channel.title);
            assert!(dates.iter().all(|d| (channel.created..LAST).contains(d)));
        }
    }

    #[test]
    fn titles_are_computed_alone_and_with_the_video() {
        let world = World::new(1);
        for channel in world.channels() {
            for index in 0..4.min(channel.videos) {
                let video = world.video((channel.no, index));
                let title = world.title_of(&channel, index);
                assert_eq!(video.map(|video| video.title), Some(title), "{}", channel.title);
            }
        }
    }

    #[test]
    fn videos_are_found_by_id_within_their_channel() {
        let world = World::new(1);
        let video = world.video((3, 2)).expect("the cast has videos");
        assert_eq!(world.video_by_id(&video.id).map(|v| v.key), Some((3, 2)));
        assert!(world.video((3, video.channel.videos)).is_none());
        assert!(world.video_by_id(&world.video_id((3, GONE))).is_none());
    }
}
