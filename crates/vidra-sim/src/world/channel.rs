//! Channels: the cast, the channels of the quirk table, and the viewers who write comments.

use super::World;
use super::cast::CAST;
use super::clock::{DAY, FIRST, LAST, Seconds};
use super::text::{self, Theme};
use crate::quirk::{self, Case, ChannelQuirk, QUIRKS};

/// The number of the first channel of the quirk table; the row is added.
const QUIRKY: u32 = 1000;
/// The number of the first channel of the crowd, and their number: channels without a character, for collections of
/// many. Searches do not find them.
const CROWD: u32 = 200;
const CROWD_COUNT: u32 = 150;
/// The number of the first viewer. Viewers have channels without videos.
const VIEWERS: u32 = 0x8_0000;
/// The number of viewers.
pub(crate) const VIEWER_COUNT: u32 = 4000;

/// A channel with all its data.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) no: u32,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) about: String,
    /// Without its `@`.
    pub(crate) handle: Option<String>,
    pub(crate) username: Option<&'static str>,
    pub(crate) country: Option<&'static str>,
    pub(crate) language: &'static str,
    pub(crate) theme: Theme,
    pub(crate) created: Seconds,
    pub(crate) subscribers: u64,
    pub(crate) views: u64,
    pub(crate) videos: u32,
    pub(crate) playlists: u32,
    pub(crate) quirk: Option<ChannelQuirk>,
}

impl Channel {
    /// `UU` instead of `UC`: the playlist of all uploads.
    pub(crate) fn uploads(&self) -> String {
        format!("UU{}", &self.id[2..])
    }
}

impl World {
    /// All channels that a search considers: the cast and those of the quirk table.
    pub(crate) fn channels(&self) -> impl Iterator<Item = Channel> + '_ {
        let quirky = (0..QUIRKS.len() as u32).map(|row| QUIRKY + row);
        (0..CAST.len() as u32).chain(quirky).filter_map(|no| self.channel(no))
    }

    /// The channel with that number.
    pub(crate) fn channel(&self, no: u32) -> Option<Channel> {
        if let Some(role) = CAST.get(no as usize) {
            let id = format!("UC{}", self.mint.channel_tail(no));
            let mut channel = self.blank_channel(no, id, role.title, role.theme);
            channel.about = role.about.to_owned();
            channel.handle = role.handle.map(str::to_owned);
            channel.username = role.username;
            channel.country = role.country;
            channel.language = role.language;
            return Some(channel);
        }
        if (CROWD..CROWD + CROWD_COUNT).contains(&no) {
            return Some(self.crowd_channel(no - CROWD));
        }
        match no.checked_sub(VIEWERS) {
            Some(viewer) => (viewer < VIEWER_COUNT).then(|| self.viewer(viewer)),
            None => self.quirky_channel(no.checked_sub(QUIRKY)?),
        }
    }

    /// The channel with that `UC…` identifier.
    pub(crate) fn channel_by_id(&self, id: &str) -> Option<Channel> {
        if let Some((row, _)) = quirk::find(id) {
            return self.quirky_channel(row);
        }
        self.channel(self.mint.read_channel_tail(id.strip_prefix("UC")?)?)
    }

    /// The channel with that handle, with or without `@`, in any case of letters.
    pub(crate) fn channel_by_handle(&self, handle: &str) -> Option<Channel> {
        let wanted = handle.strip_prefix('@').unwrap_or(handle).to_lowercase();
        let is_it =
            |channel: &Channel| channel.handle.as_ref().is_some_and(|h| h.to_lowercase() == wanted);
        // A viewer's handle ends in the viewer's number, so that no search is needed.
        let number = wanted.rsplit_once('-').and_then(|(_, digits)| digits.parse().ok());
        let viewer = number.filter(|n| *n < VIEWER_COUNT).map(|n| self.viewer(n));
        let of_crowd = wanted.strip_prefix("crowd").and_then(|digits| digits.parse().ok());
        let of_crowd = of_crowd.filter(|n| *n < CROWD_COUNT).map(|n| self.crowd_channel(n));
        self.channels().chain(viewer).chain(of_crowd).find(is_it)
    }

    /// The channel with that username, which predates handles.
    pub(crate) fn channel_by_username(&self, name: &str) -> Option<Channel> {
        self.channels().find(|c| c.username.is_some_and(|u| u.eq_ignore_ascii_case(name)))
    }

    /// The number of public videos of a channel.
    pub(crate) fn video_count(&self, channel: &Channel) -> u32 {
        channel.videos.saturating_sub(self.hidden_count(channel.no))
    }

    /// A channel of the crowd: `@crowd000` to `@crowd149`, with 20 to 59 videos.
    fn crowd_channel(&self, n: u32) -> Channel {
        let no = CROWD + n;
        let id = format!("UC{}", self.mint.channel_tail(no));
        let themes = [Theme::Travel, Theme::Code, Theme::Wood, Theme::Garden];
        let theme = themes[n as usize % themes.len()];
        let mut channel = self.blank_channel(no, id, &format!("Crowd {n}"), theme);
        channel.handle = Some(format!("crowd{n:03}"));
        channel.videos = 20 + n * 7 % 40;
        channel
    }

    /// The channel of a viewer.
    pub(crate) fn viewer(&self, n: u32) -> Channel {
        let no = VIEWERS + n;
        let mut dice = self.dice("viewer", &[u64::from(n)]);
        let id = format!("UC{}", self.mint.channel_tail(no));
        let mut channel = self.blank_channel(no, id, "", Theme::Travel);
        channel.title = text::viewer(&mut dice);
        let name: String =
            channel.title.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        channel.handle = Some(format!("{name}-{n:04}"));
        (channel.videos, channel.playlists, channel.views) = (0, 0, 0);
        channel.subscribers = dice.below(40);
        channel
    }

    /// The channel of a row of the quirk table; `None` if the row is of another kind or documents a channel
    /// that does not exist.
    fn quirky_channel(&self, row: u32) -> Option<Channel> {
        let entry = QUIRKS.get(row as usize)?;
        let Case::Channel(quirk) = entry.case else { return None };
        let title = match quirk {
            ChannelQuirk::Unknown | ChannelQuirk::EmptyItems => return None,
            ChannelQuirk::SearchOnly => "Lantern Bay Tapes",
            ChannelQuirk::Archive => "Everyday Archive",
            _ => entry.id[7..].trim_end_matches('0'),
        };
        let mut channel =
            self.blank_channel(QUIRKY + row, entry.id.to_owned(), title, Theme::Travel);
        channel.quirk = Some(quirk);
        channel.about = match quirk {
            ChannelQuirk::SearchOnly => "Reel-to-reel tapes from the old lighthouse.".to_owned(),
            _ => format!("Odd on purpose: {}.", entry.what),
        };
        if !matches!(quirk, ChannelQuirk::NoUrl | ChannelQuirk::SearchOnly) {
            channel.handle = Some(title.to_lowercase().replace(' ', ""));
        }
        if quirk != ChannelQuirk::NoCountry {
            channel.country = Some("US");
        }
        match quirk {
            ChannelQuirk::Archive => channel.videos = 20_000,
            ChannelQuirk::NoUploads => channel.videos = 0,
            _ => channel.videos = channel.videos.min(30),
        }
        match quirk {
            ChannelQuirk::Playlists(count) => channel.playlists = count,
            ChannelQuirk::ShortPlaylistPages | ChannelQuirk::PlaylistLoop => {
                channel.playlists = 120;
            }
            _ => {}
        }
        Some(channel)
    }

    /// A channel with counts, without name and description.
    fn blank_channel(&self, no: u32, id: String, title: &str, theme: Theme) -> Channel {
        let mut dice = self.dice("channel", &[u64::from(no)]);
        // Public counts are rounded to three digits.
        let subscribers = round(dice.skewed(2500, 13));
        Channel {
            no,
            id,
            title: title.to_owned(),
            about: String::new(),
            handle: None,
            username: None,
            country: None,
            language: "en",
            theme,
            created: FIRST
                + dice.below(((LAST - FIRST) / 2 / DAY) as u64) as Seconds * DAY
                + dice.below(86_400) as Seconds,
            subscribers,
            views: subscribers * (20 + dice.below(300)),
            videos: dice.skewed(24, 5) as u32,
            // The first of the cast has more playlists than fit on a page.
            playlists: if no == 0 { 57 } else { 2 + dice.below(9) as u32 },
            quirk: None,
        }
    }
}

fn round(n: u64) -> u64 {
    let mut unit = 1;
    while n / unit >= 1000 {
        unit *= 10;
    }
    n / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_found_by_id_handle_and_username() {
        let world = World::new(1);
        for channel in world.channels() {
            assert_eq!(world.channel_by_id(&channel.id).map(|c| c.no), Some(channel.no));
            if let Some(handle) = &channel.handle {
                let found = world.channel_by_handle(&format!("@{}", handle.to_uppercase()));
                assert_eq!(found.map(|c| c.no), Some(channel.no), "{handle}");
            }
        }
        assert!(world.channel_by_username("nighttraindiaries").is_some());
        assert!(world.channel_by_handle("NightTrainDiaries").is_none());
    }

    #[test]
    fn counts_are_rounded_to_three_digits() {
        assert_eq!([7, 999, 1234, 17_654_321].map(round), [7, 999, 1230, 17_600_000]);
    }
}
