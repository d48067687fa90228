//! Counts what is asked of the platform, what came of it and how long that took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::breaker::Standing;
use super::call::Endpoint;
use super::ending::Ending;
use super::web::Load;
use crate::batch::BatchReport;
use crate::transcript::Reason;

/// What a client has asked of the platform since it was built, and how it stands with it. Nothing in it
/// names what was asked for, and addresses go by number: a proxy's URL may hold a password.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamReport {
    /// By endpoint; those that were never asked are there too.
    pub calls: Vec<Calls>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// By what each is for: `data-api`, `search`, and `egress-1` for the first address.
    pub breakers: Vec<(String, Standing)>,
    /// By number, from 1: why the platform or a proxy turns an address away, where it does.
    pub addresses: Vec<Option<Reason>>,
    /// Transcripts of playlists.
    pub batches: BatchReport,
}

/// What was asked of one endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Calls {
    /// As in the platform's URLs: `videos`, `playlistItems`; `player`, `watch`, `timedtext`, and
    /// `translation` for timed text in another language.
    pub endpoint: &'static str,
    /// How many ended in each way, of all ways there are.
    pub endings: Vec<(Ending, u64)>,
    /// How long they took.
    pub time: Histogram,
}

/// How long something took.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// All of it together.
    pub sum: Duration,
    /// How many took no longer than each of [`BOUNDS`], and at last how many there were.
    pub at_most: [u64; BOUNDS.len() + 1],
}

/// The bounds of a [`Histogram`], in seconds.
pub const BOUNDS: [f64; 8] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Who is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whom {
    DataApi(Endpoint),
    Web(Load),
}

impl Whom {
    const ALL: [Self; 14] = [
        Self::DataApi(Endpoint::Videos),
        Self::DataApi(Endpoint::Channels),
        Self::DataApi(Endpoint::Playlists),
        Self::DataApi(Endpoint::PlaylistItems),
        Self::DataApi(Endpoint::CommentThreads),
        Self::DataApi(Endpoint::Comments),
        Self::DataApi(Endpoint::Regions),
        Self::DataApi(Endpoint::Languages),
        Self::DataApi(Endpoint::VideoCategories),
        Self::DataApi(Endpoint::Search),
        Self::Web(Load::Player),
        Self::Web(Load::Page),
        Self::Web(Load::Captions),
        Self::Web(Load::Translation),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::DataApi(endpoint) => endpoint.path(),
            Self::Web(Load::Player) => "player",
            Self::Web(Load::Page) => "watch",
            Self::Web(Load::Captions) => "timedtext",
            Self::Web(Load::Translation) => "translation",
        }
    }

    /// The place in [`Whom::ALL`].
    fn index(self) -> usize {
        match self {
            Self::DataApi(endpoint) => endpoint as usize,
            Self::Web(load) => Endpoint::Search as usize + 1 + load as usize,
        }
    }
}

/// The counts themselves.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    calls: [Count; Whom::ALL.len()],
    retries: AtomicU64,
}

#[derive(Debug, Default)]
struct Count {
    endings: [AtomicU64; Ending::ALL.len()],
    micros: AtomicU64,
    /// By the first bound that it did not exceed.
    within: [AtomicU64; BOUNDS.len() + 1],
}

impl Traffic {
    pub(crate) fn note(&self, whom: Whom, ending: Ending, took: Duration) {
        let count = &self.calls[whom.index()];
        count.endings[ending as usize].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        count.micros.fetch_add(micros, Ordering::Relaxed);
        let bound = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound);
        count.within[bound.unwrap_or(BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub(crate) fn report(&self) -> Vec<Calls> {
        let one = |whom: Whom| {
            let count = &self.calls[whom.index()];
            let ended = |ending| (ending, count.endings[ending as usize].load(Ordering::Relaxed));
            let mut so_far = 0;
            let at_most = std::array::from_fn(|bound| {
                so_far += count.within[bound].load(Ordering::Relaxed);
                so_far
            });
            let sum = Duration::from_micros(count.micros.load(Ordering::Relaxed));
            Calls {
                endpoint: whom.name(),
                endings: Ending::ALL.map(ended).to_vec(),
                time: Histogram { sum, at_most },
            }
        };
        Whom::ALL.map(one).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_endpoint_and_each_ending_has_a_place_of_its_own() {
        let traffic = Traffic::default();
        for (index, whom) in Whom::ALL.into_iter().enumerate() {
            assert_eq!(whom.index(), index, "{whom:?}");
            for (place, ending) in Ending::ALL.into_iter().enumerate() {
                assert_eq!(ending as usize, place, "{ending:?}");
                traffic.note(whom, ending, Duration::from_millis(100));
            }
        }
        for calls in traffic.report() {
            assert!(calls.endings.iter().all(|(_, count)| *count == 1), "{calls:?}");
            assert_eq!(calls.time.sum, Duration::from_millis(900));
            assert_eq!(calls.time.at_most, [0, 9, 9, 9, 9, 9, 9, 9, 9]);
        }
    }

    #[test]
    fn what_takes_longer_than_all_bounds_counts_at_the_end() {
        let traffic = Traffic::default();
        for seconds in [0, 1, 3, 60] {
            let took = Duration::from_secs(seconds);
            traffic.note(Whom::Web(Load::Page), Ending::Ok, took);
        }
        let report = traffic.report();
        let watch = report.iter().find(|calls| calls.endpoint == "watch").unwrap();
        assert_eq!(watch.time.at_most, [1, 1, 1, 1, 2, 2, 3, 3, 4]);
    }
}
