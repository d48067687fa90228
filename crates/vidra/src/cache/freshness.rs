//! Cache lifetimes: one table, and the state of a record by its age.

use std::time::Duration;

/// A kind of cached answer. Each kind has its own lifetime.
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

/// The lifetime of a record. Each phase begins at the end of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// How long a record is fresh.
    pub ttl: Duration,
    /// How long a stale record is then served at once and renewed in the background.
    pub grace: Duration,
    /// How long a stale record is then served only if a fetch fails or is slow.
    pub stale_if_error: Duration,
}

/// The state of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    Grace,
    StaleIfError,
    Gone,
}

/// Longer than any process runs, and short enough to add to an `Instant`.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// YouTube's terms limit the retention of Data API data to 30 days. A playlist can consist of the
/// oldest fresh videos, so both limits together are 30 days.
const LONGEST_FRESH: Duration = Duration::from_secs(10 * 24 * 3600);
const LONGEST: Duration = Duration::from_secs(20 * 24 * 3600);

/// The lifetime of a refusal such as "not found". A refusal can soon become wrong, and repeating
/// the fetch is cheap.
const REFUSAL: Life =
    Life { ttl: Duration::from_secs(300), grace: Duration::ZERO, stale_if_error: Duration::ZERO };

impl Resource {
    /// All resources.
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

    /// The name in settings and statistics.
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

    /// The default lifetimes. View counts change by the minute and cost units. Transcripts hardly
    /// ever change, and fetching them risks a block.
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

    /// The time after which a follower starts a second fetch beside a slow leader. It applies only
    /// to fetches of one exchange. Longer fetches run until their deadline.
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

/// The lifetimes of all resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifetimes([Life; Resource::ALL.len()]);

impl Default for Lifetimes {
    fn default() -> Self {
        Self(Resource::ALL.map(Resource::usual))
    }
}

impl Lifetimes {
    /// Sets the time for which `resource` is fresh.
    pub fn with_ttl(mut self, resource: Resource, ttl: Duration) -> Self {
        self.0[resource.index()].ttl = ttl;
        self
    }

    /// Sets the whole lifetime of `resource`.
    pub fn with_life(mut self, resource: Resource, life: Life) -> Self {
        self.0[resource.index()] = life;
        self
    }

    /// The lifetime of a record. `spread`, a hash of the record, adds a jitter of up to 10 %, so
    /// that records stored together do not expire together.
    pub(crate) fn of(&self, resource: Resource, is_refusal: bool, spread: u64) -> Life {
        let mut life = if is_refusal { REFUSAL } else { self.0[resource.index()] };
        // The steps are shorter than a second for any lifetime. Longer steps would let records
        // expire together.
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

    /// The total lifetime.
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
