//! Comments: the threads of a video or a channel, newest first, and their replies.

use super::channel::{Channel, VIEWER_COUNT};
use super::clock::{DAY, LAST, Seconds};
use super::video::{QUIRK_OWNER, Video};
use super::{World, text};
use crate::quirk::{self, Case, CommentQuirk, QUIRKS, VideoQuirk};

/// The index in the coordinates of "the channel itself", for threads about a channel.
const WHOLE_CHANNEL: u32 = 0xf_ffff;
/// The number of threads about a channel.
const CHANNEL_THREADS: u32 = 24;
/// Threads before 2018 have the older identifiers.
const RENAMED: Seconds = 1_514_764_800;

/// The subject of a thread.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Video(Box<Video>),
    Channel(Box<Channel>),
}

/// A comment, top-level or reply.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) id: String,
    pub(crate) author: Channel,
    /// The account was deleted: there is no channel to link to.
    pub(crate) anonymous: bool,
    pub(crate) text: &'static str,
    pub(crate) likes: u64,
    pub(crate) published: Seconds,
    pub(crate) updated: Seconds,
    pub(crate) liked_by_viewer: bool,
}

/// A top-level comment and its replies.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) top: Comment,
    pub(crate) replies: u32,
}

impl About {
    fn key(&self) -> (u32, u32) {
        match self {
            Self::Video(video) => video.key,
            Self::Channel(channel) => (channel.no, WHOLE_CHANNEL),
        }
    }

    fn quirk(&self) -> Option<VideoQuirk> {
        match self {
            Self::Video(video) => video.quirk,
            Self::Channel(_) => None,
        }
    }

    fn views(&self) -> u32 {
        match self {
            Self::Video(video) => u32::try_from(video.views).unwrap_or(u32::MAX),
            Self::Channel(_) => 0,
        }
    }

    fn began(&self) -> Seconds {
        match self {
            Self::Video(video) => video.published,
            Self::Channel(channel) => channel.created,
        }
    }
}

impl World {
    /// The number of threads.
    pub(crate) fn thread_count(&self, about: &About) -> u32 {
        let key = about.key();
        match about.quirk() {
            _ if key.1 == WHOLE_CHANNEL => CHANNEL_THREADS,
            Some(VideoQuirk::ShortCommentPages) => 137,
            Some(VideoQuirk::HtmlComments) => text::comment_count() as u32,
            Some(VideoQuirk::CommentLoop) => 300,
            Some(VideoQuirk::NoThreads | VideoQuirk::Upcoming | VideoQuirk::NoComments) => 0,
            // Nobody has written under a video that is so new.
            Some(VideoQuirk::Changing(_)) => 0,
            None if about.began() >= LAST => 0,
            Some(_) => 5,
            None => {
                let mut dice = self.dice("threads", &[u64::from(key.0), u64::from(key.1)]);
                // Fewer viewers write than watch.
                (dice.skewed(1, 8) as u32 - 1).min(about.views() / 60)
            }
        }
    }

    /// Thread `index`; the newest is 0.
    pub(crate) fn thread(&self, about: &About, index: u32) -> Thread {
        let key = about.key();
        let mut dice = self.dice("thread", &[u64::from(key.0), u64::from(key.1), u64::from(index)]);
        let count = i64::from(self.thread_count(about)) + 1;
        let step = (LAST - about.began()) / count;
        let published =
            LAST - i64::from(index + 1) * step + dice.below(step.max(1).unsigned_abs()) as i64 / 2;
        let quirk = about.quirk();
        let old =
            published < RENAMED || (quirk == Some(VideoQuirk::HtmlComments) && index % 5 == 4);
        let id = documented(quirk, index)
            .map_or_else(|| self.mint.thread(key, index, old), str::to_owned);
        let mut top = self.comment(id, published, false, &mut dice);
        top.likes = self.thread_likes(about, index);
        match quirk {
            Some(VideoQuirk::HtmlComments) => {
                top.text = text::comment_number(index as usize);
                top.updated += if index == 2 { DAY } else { 0 };
                top.liked_by_viewer = index == 3;
            }
            Some(VideoQuirk::AnonymousComments) => top.anonymous = true,
            _ => {}
        }
        Thread { top, replies: self.reply_count(about, index) }
    }

    /// Separate from the rest of a thread, so that counting the comments of a video is cheap.
    fn reply_count(&self, about: &About, index: u32) -> u32 {
        let key = about.key();
        let mut dice =
            self.dice("replies", &[u64::from(key.0), u64::from(key.1), u64::from(index)]);
        match about.quirk() {
            Some(VideoQuirk::ManyReplies) if index == 0 => 250,
            _ if dice.chance(70) => 0,
            _ => dice.skewed(1, 4) as u32,
        }
    }

    /// The likes of a thread, for the order by relevance.
    pub(crate) fn thread_likes(&self, about: &About, index: u32) -> u64 {
        let key = about.key();
        let mut dice = self.dice("likes", &[u64::from(key.0), u64::from(key.1), u64::from(index)]);
        if dice.chance(60) { 0 } else { dice.skewed(1, 10) }
    }

    /// The number of comments and replies under a video: `statistics.commentCount`.
    pub(crate) fn comment_count(&self, video: &Video) -> u64 {
        let about = About::Video(Box::new(video.clone()));
        let threads = 0..self.thread_count(&about);
        threads.map(|index| 1 + u64::from(self.reply_count(&about, index))).sum()
    }

    /// Reply `index` of a thread; the newest is 0.
    pub(crate) fn reply(&self, thread: &Thread, index: u32) -> Comment {
        let parent = &thread.top.id;
        let mut dice = self.dice(parent, &[u64::from(index)]);
        let step = (LAST - thread.top.published) / (i64::from(thread.replies) + 1);
        let published = LAST - i64::from(index + 1) * step;
        let id = format!("{parent}.{}", self.mint.reply_tail(parent, index));
        let mut reply = self.comment(id, published, true, &mut dice);
        reply.anonymous = thread.top.anonymous && index.is_multiple_of(2);
        reply
    }

    /// The thread with that identifier, which may be one from before 2016.
    pub(crate) fn thread_by_id(&self, id: &str) -> Option<(About, Thread)> {
        let (key, index) = match quirk::find(id) {
            Some((_, entry)) => coordinates(entry.case)?,
            None => self.mint.read_thread(id)?,
        };
        let about = match key.1 {
            WHOLE_CHANNEL => About::Channel(Box::new(self.channel(key.0)?)),
            _ => About::Video(Box::new(self.video(key)?)),
        };
        (index < self.thread_count(&about)).then(|| self.thread(&about, index)).map(|mut thread| {
            // Threads of a channel have no own row, so their documented identifier is set here.
            if let Some((_, entry)) =
                quirk::find(id).filter(|(_, e)| e.case != Case::Comment(CommentQuirk::OldName))
            {
                thread.top.id = entry.id.to_owned();
            }
            (about, thread)
        })
    }

    fn comment(
        &self,
        id: String,
        published: Seconds,
        reply: bool,
        dice: &mut crate::hash::Dice,
    ) -> Comment {
        let author = self.viewer(dice.below(u64::from(VIEWER_COUNT)) as u32);
        let edited = dice.chance(3);
        Comment {
            id,
            author,
            anonymous: false,
            text: text::comment(reply, dice),
            likes: if dice.chance(60) { 0 } else { dice.skewed(1, 10) },
            published,
            updated: if edited { published + 3600 } else { published },
            liked_by_viewer: false,
        }
    }
}

/// The documented identifier of a thread that has one.
fn documented(quirk: Option<VideoQuirk>, index: u32) -> Option<&'static str> {
    let case = match (quirk?, index) {
        (VideoQuirk::ManyReplies, 0) => CommentQuirk::ManyReplies,
        (VideoQuirk::NoTags, 0) => CommentQuirk::Renamed,
        _ => return None,
    };
    quirk::row_of(Case::Comment(case)).map(|(_, entry)| entry.id)
}

/// The subject of a documented thread.
fn coordinates(case: Case) -> Option<((u32, u32), u32)> {
    let under = |quirk| {
        let row = QUIRKS.iter().position(|entry| entry.case == Case::Video(quirk))?;
        Some(((QUIRK_OWNER, row as u32), 0))
    };
    match case {
        Case::Comment(CommentQuirk::ManyReplies) => under(VideoQuirk::ManyReplies),
        Case::Comment(CommentQuirk::OldName | CommentQuirk::Renamed) => under(VideoQuirk::NoTags),
        Case::Comment(CommentQuirk::ChannelThread) => Some(((0, WHOLE_CHANNEL), 0)),
        Case::Comment(CommentQuirk::NowhereThread) => Some(((0, WHOLE_CHANNEL), 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_found_by_id_and_sorted_by_time() {
        let world = World::new(1);
        let video = world.video((0, 1)).expect("the cast has videos");
        let about = About::Video(Box::new(video));
        let threads: Vec<_> =
            (0..world.thread_count(&about)).map(|i| world.thread(&about, i)).collect();
        assert!(threads.is_sorted_by_key(|t| std::cmp::Reverse(t.top.published)));
        for thread in &threads {
            let (_, found) = world.thread_by_id(&thread.top.id).expect("issued");
            assert_eq!(found.top.published, thread.top.published);
        }
    }
}
