//! The kinds of cached answers and their lifetimes.

use std::time::Duration;

use crate::cache::freshness::{FOREVER, Kind, Life, Policy, RenewalGroup};

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
    /// Search results.
    Search,
    /// Popular videos.
    Chart,
    /// The newest videos of a channel or playlist, from its feed.
    Feed,
    /// Regions, languages and categories.
    Regions,
    /// The caption tracks of a video.
    Tracks,
    /// A transcript.
    Transcript,
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// YouTube's terms limit the retention of Data API data to 30 days. A playlist can consist of the
/// oldest fresh videos, so both limits together are 30 days.
const MAX_FRESH: Duration = Duration::from_secs(10 * 24 * 3600);
const MAX_RETENTION: Duration = Duration::from_secs(20 * 24 * 3600);

impl Resource {
    /// All resources.
    pub const ALL: [Self; 11] = [
        Self::Video,
        Self::Channel,
        Self::Uploads,
        Self::Playlist,
        Self::Comments,
        Self::Search,
        Self::Chart,
        Self::Feed,
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
            Self::Search => "search",
            Self::Chart => "chart",
            Self::Feed => "feed",
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
            Self::Chart => life(15 * MINUTE, HOUR, DAY),
            // A feed costs nothing, and its readers want news. But YouTube may serve none for days.
            Self::Feed => life(5 * MINUTE, HOUR, 2 * DAY),
            // There are few searches a day.
            Self::Search => life(6 * HOUR, 6 * HOUR, 2 * DAY),
            Self::Regions => life(7 * DAY, 3 * DAY, 10 * DAY),
            Self::Tracks => life(DAY, 6 * HOUR, 30 * DAY),
            Self::Transcript => life(7 * DAY, DAY, 30 * DAY),
        }
    }

    fn policy(self, life: Life) -> Policy {
        // Feeds too, because the Data API replaces a feed that YouTube does not serve.
        let is_from_data_api = !matches!(self, Self::Tracks | Self::Transcript);
        // A fetch of one exchange is soon overdue. Longer ones run until their deadline.
        let is_one_exchange = matches!(
            self,
            Self::Video | Self::Channel | Self::Search | Self::Chart | Self::Regions
        );
        Policy {
            name: self.name(),
            life,
            retention: is_from_data_api.then_some((MAX_FRESH, MAX_RETENTION)),
            replace_after: if is_one_exchange { Duration::from_secs(10) } else { FOREVER },
            // One call fetches up to fifty of them.
            is_cheap: matches!(self, Self::Video | Self::Channel),
            renewals: match self {
                Self::Tracks | Self::Transcript => RenewalGroup::Transcripts,
                Self::Feed => RenewalGroup::Feeds,
                Self::Search => RenewalGroup::Searches,
                _ => RenewalGroup::Data,
            },
        }
    }

    /// The kind of its records in the cache.
    pub(crate) fn kind(self) -> Kind {
        self as Kind
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
        self.0[resource.kind()].ttl = ttl;
        self
    }

    /// Sets the whole lifetime of `resource`.
    pub fn with_life(mut self, resource: Resource, life: Life) -> Self {
        self.0[resource.kind()] = life;
        self
    }

    /// The policies of the cache, by kind.
    pub(crate) fn policies(&self) -> Vec<Policy> {
        Resource::ALL.into_iter().zip(self.0).map(|(it, life)| it.policy(life)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn records_of_the_data_api_live_at_most_thirty_days() {
        let forever = Life { ttl: 90 * DAY, grace: 90 * DAY, stale_if_error: Duration::MAX };
        for resource in Resource::ALL {
            let lifetimes = Lifetimes::default().with_life(resource, forever);
            let policy = &lifetimes.policies()[resource.kind()];
            let whole = (0..400).map(|spread| policy.life(false, spread).whole()).max();
            let is_limited = whole.map(|whole| whole.saturating_add(MAX_FRESH)) <= Some(30 * DAY);
            assert_eq!(is_limited, policy.renewals != RenewalGroup::Transcripts, "{resource:?}");
            let usual = &Lifetimes::default().policies()[resource.kind()];
            assert!(usual.life(false, 200).whole() <= 41 * DAY);
        }
    }

    /// The quota of searches is spent long before the other one.
    #[test]
    fn refused_searches_do_not_pause_other_renewals() {
        for resource in Resource::ALL.into_iter().filter(|it| *it != Resource::Search) {
            let policies = Lifetimes::default().policies();
            let search = policies[Resource::Search.kind()].renewals;
            assert_ne!(policies[resource.kind()].renewals, search, "{resource:?}");
        }
    }

    #[test]
    fn records_of_one_moment_do_not_expire_together() {
        let table =
            [(Resource::Video, 10_000), (Resource::Uploads, 10_000), (Resource::Channel, 100_000)];
        for (resource, entries) in table {
            let mut dice = fastrand::Rng::with_seed(1);
            let policy = Lifetimes::default().policies()[resource.kind()];
            let mut draw = || policy.life(false, dice.u64(..)).ttl;
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
