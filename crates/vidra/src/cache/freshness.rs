//! How long what is kept is good for: one table, and the states of an entry by its age.

use std::time::Duration;

/// What is kept, by kind; each has a life of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Details of a video.
    Video,
    /// A channel.
    Channel,
    /// The newest uploads of a channel.
    Uploads,
    /// A playlist: its own data, its entries, and both with the details of its videos.
    Playlist,
    /// Comment threads and replies.
    Comments,
    /// Regions, languages and categories.
    Regions,
    /// The caption tracks of a video.
    Tracks,
    /// A transcript.
    Transcript,
}

/// The ages at which an entry changes its state; each begins where the one before ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// So long it is fresh.
    pub ttl: Duration,
    /// So long after that it is given out at once and renewed in the background.
    pub grace: Duration,
    /// So long after that it is given out where asking anew fails or takes too long.
    pub stale_if_error: Duration,
}

/// What an entry is good for at its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    Grace,
    StaleIfError,
    Gone,
}

/// Longer than any process runs, and still a time that can be added.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The platform's terms: nothing from the Data API is kept over 30 days. A playlist may be made of
/// videos that are as old as a fresh one can be, so both together are 30 days.
const LONGEST_FRESH: Duration = Duration::from_secs(10 * 24 * 3600);
const LONGEST: Duration = Duration::from_secs(20 * 24 * 3600);

/// "There is no such thing" is soon not true any more, and costs little to ask again.
const REFUSAL: Life =
    Life { ttl: Duration::from_secs(300), grace: Duration::ZERO, stale_if_error: Duration::ZERO };

impl Resource {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Video,
        Self::Channel,
        Self::Uploads,
        Self::Playlist,
        Self::Comments,
        Self::Regions,
        Self::Tracks,
        Self::Transcript,
    ];

    /// Its name in settings and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Channel => "channel",
            Self::Uploads => "uploads",
            Self::Playlist => "playlist",
            Self::Comments => "comments",
            Self::Regions => "regions",
            Self::Tracks => "tracks",
            Self::Transcript => "transcript",
        }
    }

    /// The table. Views change by the minute and cost units to learn; what was said in a video hardly
    /// ever changes and costs goodwill.
    fn usual(self) -> Life {
        let life = |ttl, grace, stale_if_error| Life { ttl, grace, stale_if_error };
        match self {
            Self::Video | Self::Playlist => life(15 * MINUTE, HOUR, 7 * DAY),
            Self::Channel => life(HOUR, 6 * HOUR, 7 * DAY),
            Self::Uploads | Self::Comments => life(10 * MINUTE, HOUR, DAY),
            Self::Regions => life(7 * DAY, 3 * DAY, 10 * DAY),
            Self::Tracks => life(DAY, 6 * HOUR, 30 * DAY),
            Self::Transcript => life(7 * DAY, DAY, 30 * DAY),
        }
    }

    /// After how long a follower fetches beside a leader, where one exchange is enough. A fetch of many
    /// exchanges is left to its deadline.
    pub(crate) fn replace_after(self) -> Duration {
        match self {
            Self::Video | Self::Channel | Self::Regions => Duration::from_secs(10),
            _ => FOREVER,
        }
    }

    /// Whether one call fetches up to fifty of them.
    pub(crate) fn is_cheap(self) -> bool {
        matches!(self, Self::Video | Self::Channel)
    }

    pub(crate) fn is_from_data_api(self) -> bool {
        !matches!(self, Self::Tracks | Self::Transcript)
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// The life of every resource: the usual one, or what an operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifetimes([Life; Resource::ALL.len()]);

impl Default for Lifetimes {
    fn default() -> Self {
        Self(Resource::ALL.map(Resource::usual))
    }
}

impl Lifetimes {
    /// The same with another time of freshness for `resource`.
    pub fn with_ttl(mut self, resource: Resource, ttl: Duration) -> Self {
        self.0[resource.index()].ttl = ttl;
        self
    }

    /// The same with another life for `resource`.
    pub fn with_life(mut self, resource: Resource, life: Life) -> Self {
        self.0[resource.index()] = life;
        self
    }

    /// The life of an entry. Entries that came together should not have to be renewed together, so it
    /// differs by up to a tenth with `spread`, a number that is the entry's own.
    pub(crate) fn of(&self, resource: Resource, is_refusal: bool, spread: u64) -> Life {
        let mut life = if is_refusal { REFUSAL } else { self.0[resource.index()] };
        // In steps of less than a second, however long the life: else those of a step come together.
        let millionths = 900_000 + u32::try_from(spread % 200_001).unwrap_or_default();
        life.ttl = life.ttl.saturating_mul(millionths) / 1_000_000;
        if resource.is_from_data_api() {
            life.ttl = life.ttl.min(LONGEST_FRESH);
            life.grace = life.grace.min(LONGEST - life.ttl);
            life.stale_if_error = life.stale_if_error.min(LONGEST - life.ttl - life.grace);
        }
        life
    }
}

impl Life {
    pub(crate) fn state(&self, age: Duration) -> State {
        if age < self.ttl {
            State::Fresh
        } else if age < self.ttl.saturating_add(self.grace) {
            State::Grace
        } else if age < self.whole() {
            State::StaleIfError
        } else {
            State::Gone
        }
    }

    /// From the first moment to the last.
    pub(crate) fn whole(&self) -> Duration {
        self.ttl.saturating_add(self.grace).saturating_add(self.stale_if_error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn an_entry_goes_through_its_states_in_order() {
        let life = Life { ttl: MINUTE, grace: MINUTE, stale_if_error: MINUTE };
        let at = |seconds| life.state(Duration::from_secs(seconds));
        assert_eq!([at(0), at(59)], [State::Fresh; 2]);
        assert_eq!([at(60), at(119)], [State::Grace; 2]);
        assert_eq!([at(120), at(179)], [State::StaleIfError; 2]);
        assert_eq!(at(180), State::Gone);
    }

    #[test]
    fn nothing_from_the_data_api_is_kept_over_thirty_days() {
        let forever = Life { ttl: 90 * DAY, grace: 90 * DAY, stale_if_error: Duration::MAX };
        for resource in Resource::ALL {
            let lifetimes = Lifetimes::default().with_life(resource, forever);
            let whole = (0..400).map(|spread| lifetimes.of(resource, false, spread).whole()).max();
            let is_limited =
                whole.map(|whole| whole.saturating_add(LONGEST_FRESH)) <= Some(30 * DAY);
            assert_eq!(is_limited, resource.is_from_data_api(), "{resource:?}");
            assert!(Lifetimes::default().of(resource, false, 200).whole() <= 41 * DAY);
        }
    }

    #[test]
    fn entries_of_one_moment_do_not_end_together() {
        let table =
            [(Resource::Video, 10_000), (Resource::Uploads, 10_000), (Resource::Channel, 100_000)];
        for (resource, entries) in table {
            let mut dice = fastrand::Rng::with_seed(1);
            let mut draw = || Lifetimes::default().of(resource, false, dice.u64(..)).ttl;
            let ttls: Vec<Duration> = (0..entries).map(|_| draw()).collect();
            let usual = resource.usual().ttl;
            assert!(ttls.iter().all(|ttl| (usual * 9 / 10..=usual * 11 / 10).contains(ttl)));
            // Within any second no more than twice the mean.
            let mut seconds = HashMap::<u64, usize>::new();
            for ttl in ttls {
                *seconds.entry(ttl.as_secs()).or_default() += 1;
            }
            let mean = entries as f64 / (usual.as_secs_f64() / 5.0);
            let busiest = *seconds.values().max().unwrap() as f64;
            assert!(busiest <= 2.0 * mean, "{resource:?}: {busiest} where {mean} is the mean");
        }
    }
}
