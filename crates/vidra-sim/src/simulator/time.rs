//! The clock of the simulator, and scheduled changes.

use super::Simulator;
use crate::platform::clock;
use crate::world::change::{Change, PlaylistChange};
use jiff::Timestamp;
use std::fmt;
use std::time::Duration;

/// There is no such video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVideo(String);

impl fmt::Display for UnknownVideo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no video has the id {:?}", self.0)
    }
}

impl std::error::Error for UnknownVideo {}

/// There is no such playlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPlaylist(String);

impl fmt::Display for UnknownPlaylist {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no playlist has the id {:?}", self.0)
    }
}

impl std::error::Error for UnknownPlaylist {}

impl Simulator {
    /// The time of the simulator's clock.
    ///
    /// The clock runs with tokio's clock and reads no system time: `tokio::time::advance` moves it too. It
    /// starts at 2026-06-01T00:00:00Z, unless [`crate::Builder::start_at`] or
    /// [`crate::Builder::system_time`] says otherwise. Quota days, the ends of blocks, the changes of videos
    /// and the expiry of caption URLs depend on it.
    pub fn time(&self) -> Timestamp {
        self.0.platform.time()
    }

    /// Sets the clock, forwards or backwards. It runs on from there.
    ///
    /// The documented videos that change keep their times, which count from the start of the simulator.
    pub fn set_time(&self, to: Timestamp) {
        self.0.platform.set_time(to);
    }

    /// Moves the clock forwards.
    pub fn advance(&self, by: Duration) {
        self.0.platform.advance(by);
    }

    /// The current quota day, such as `2026-11-01`: the date in Los Angeles.
    pub fn quota_day(&self) -> String {
        clock::quota_day(self.time()).to_string()
    }

    /// The start of the next quota day: the next midnight in Los Angeles.
    pub fn next_quota_day(&self) -> Timestamp {
        clock::next_quota_day(self.time())
    }

    /// Schedules a change of a video. The Data API, playlists, feeds, the player and timed text agree about
    /// it. A time in the past is fine.
    ///
    /// # Errors
    /// If there is no such video.
    pub fn schedule(
        &self,
        video_id: &str,
        change: Change,
        at: Timestamp,
    ) -> Result<(), UnknownVideo> {
        match self.0.platform.schedule(video_id, change, at) {
            true => Ok(()),
            false => Err(UnknownVideo(video_id.to_owned())),
        }
    }

    /// Schedules a change of a playlist. A time in the past is fine.
    ///
    /// # Errors
    /// If there is no such playlist.
    pub fn schedule_playlist(
        &self,
        playlist_id: &str,
        change: PlaylistChange,
        at: Timestamp,
    ) -> Result<(), UnknownPlaylist> {
        match self.0.platform.schedule_playlist(playlist_id, change, at) {
            true => Ok(()),
            false => Err(UnknownPlaylist(playlist_id.to_owned())),
        }
    }

    /// The ids of all uploads of a channel, the newest first: also those that are not published yet. The channel is an
    /// id or a handle. Empty if there is no such channel.
    pub fn upload_ids(&self, channel: &str) -> Vec<String> {
        let world = self.0.platform.world();
        let found = world.channel_by_id(channel).or_else(|| world.channel_by_handle(channel));
        let Some(channel) = found else { return vec![] };
        (0..channel.videos).map(|index| world.video_id((channel.no, index))).collect()
    }

    /// Removes all scheduled changes: every video and playlist is as it was. The documented videos that change still do.
    pub fn clear_schedule(&self) {
        self.0.platform.clear_changes();
    }
}
