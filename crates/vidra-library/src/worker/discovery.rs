//! One sync of a collection: finds new videos, with as few units as possible. Every result is stored before the next
//! call, so that a restart pays for nothing twice.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use vidra::feed::FeedId;
use vidra::{
    Availability, Channel, ChannelId, EntrySource, Error, FeedItem, HiddenCount, PlaylistEntry,
    PlaylistId, QuotaDay, Reason, Result, SearchItem, Video, VideoId, Vidra,
};

use super::failure_action::{FailureAction, action_after};
use super::feed_pace::FeedPace;
use super::resources::Blocked;
use super::{Worker, panicked, until_stored};
use crate::collection::search_query;
use crate::job::{Failure, JobSource};
use crate::library::Library;
use crate::store::discovery::{
    self, ChannelFacts, FoundVideo, PageOfEntries, PlaylistFacts, Step, TaskSource,
};
use crate::store::leases::{Lease, LeasedSource};
use crate::store::listing::{self, Charge};
use crate::store::work::Work;
use crate::store::{Connection, collections};

/// How many calls one task makes before other jobs have a turn.
const CALLS_OF_A_TURN: usize = 20;

/// How many feeds one task reads before other jobs have a turn.
const FEEDS_OF_A_TURN: usize = 100;

/// How long a sync waits whose library cannot be used.
const PAUSE: Duration = Duration::from_secs(300);

/// How many results a search has.
const SEARCH_RESULTS: usize = 50;

/// The discovery of one sync.
pub(super) struct Task {
    library: Library,
    vidra: Vidra,
    owner: String,
    lease: Lease,
    collection: i64,
    follows_deletions: bool,
    pace: FeedPace,
    /// The number of calls under this lease.
    calls: u64,
    /// Whether videos are verified. A call that failed is not repeated in the same sync.
    verifies: bool,
    blocked: Blocked,
}

/// The result of a step.
enum Outcome {
    Channel(ChannelFacts),
    Channels(Vec<Option<ChannelFacts>>),
    Playlists(Vec<PlaylistFacts>),
    Page(PageOfEntries),
    Videos(Vec<FoundVideo>),
}

impl Task {
    /// `None` if the owner has no payer.
    pub(super) fn new(
        worker: &Worker,
        work: &Work,
        source: &LeasedSource,
        collection: i64,
        blocked: Blocked,
    ) -> Option<Self> {
        let owner = work.row.job.owner.clone();
        let payer = (worker.payers)(&owner)?;
        Some(Self {
            library: worker.library.clone(),
            vidra: payer.in_background(worker.config.reserve_units),
            owner,
            lease: source.lease,
            collection,
            follows_deletions: worker.config.follows_deletions,
            pace: worker.feed_pace.clone(),
            calls: 0,
            verifies: true,
            blocked,
        })
    }

    /// Reads the feeds of channels, which cost nothing.
    pub(super) async fn read_feeds(self) {
        let (lease, collection) = (self.lease, self.collection);
        for _ in 0..FEEDS_OF_A_TURN {
            let next = move |it: &_| {
                Ok((discovery::is_active(it, &lease)?, discovery::next_feed(it, collection)?))
            };
            match self.library.database().read(next).await {
                Ok((true, Some(source))) => {
                    if !self.read_feed(source).await {
                        return self.pause().await;
                    }
                }
                Ok((true, None)) => return self.end(true).await,
                Ok((false, _)) => break,
                Err(_) => return self.pause().await,
            }
        }
        self.postpone(Charge::default(), Timestamp::UNIX_EPOCH).await;
    }

    /// Reads one feed. Returns whether its result is stored.
    async fn read_feed(&self, source: TaskSource) -> bool {
        self.pace.wait().await;
        let feed = async {
            let channel = source.channel.clone().ok_or_else(|| Error::internal("no channel id"))?;
            self.vidra.public_feed(&FeedId::Channel(channel)).await
        };
        let feed = AssertUnwindSafe(feed).catch_unwind().await.unwrap_or_else(|_| Err(panicked()));
        let (lease, collection) = (self.lease, self.collection);
        match feed {
            Ok(feed) => {
                let videos: Vec<FoundVideo> = feed.items.into_iter().map(of_feed).collect();
                self.store(move |it, now| {
                    discovery::add_feed(it, &lease, collection, &source, &videos, now)
                })
                .await
            }
            Err(error) => {
                // While YouTube limits feeds, or all of them fail, the others are not tried either.
                let only = (error.reason() != Reason::Failing).then_some(source.number);
                self.store(move |it, _| discovery::replace_feeds(it, &lease, collection, only))
                    .await
            }
        }
    }

    /// Makes the calls to the Data API.
    pub(super) async fn read_lists(mut self) {
        for _ in 0..CALLS_OF_A_TURN {
            let (lease, collection, verifies) = (self.lease, self.collection, self.verifies);
            let now = self.library.now();
            let read = move |it: &_| {
                // The planner continues a sync without units on the next day.
                let is_active = discovery::is_active(it, &lease)?
                    && !collections::is_over_budget(it, collection, &QuotaDay::of(now).date)?;
                Ok((is_active, discovery::next_step(it, collection, verifies, now)?))
            };
            match self.library.database().read(read).await {
                Ok((true, Some(step))) => match self.take(step).await {
                    Some(true) => {}
                    Some(false) => return,
                    None => return self.pause().await,
                },
                Ok((true, None)) => return self.end(false).await,
                Ok((false, _)) => break,
                Err(_) => return self.pause().await,
            }
        }
        self.postpone(Charge::default(), Timestamp::UNIX_EPOCH).await;
    }

    /// Makes one call, and stores its result. Returns whether the next one can follow, and `None` if the result cannot be
    /// stored.
    async fn take(&mut self, step: Step) -> Option<bool> {
        let metered = self.vidra.metered();
        let fetched = AssertUnwindSafe(fetch(&metered, &step)).catch_unwind().await;
        let fetched = fetched.unwrap_or_else(|_| Err(panicked()));
        let units = u64::from(metered.cost().units());
        self.calls += 1;
        let charge = Charge { call: self.calls, units, at: self.library.now() };
        match fetched {
            Ok(outcome) => self.store_outcome(step, outcome, charge).await.then_some(true),
            Err(error) => self.fail(step, charge, &error).await,
        }
    }

    async fn store_outcome(&self, step: Step, outcome: Outcome, charge: Charge) -> bool {
        let (lease, collection, follows) = (self.lease, self.collection, self.follows_deletions);
        match (step, outcome) {
            (Step::Resolve(source), Outcome::Channel(facts)) => {
                self.store(move |it, now| {
                    discovery::set_channel(it, &lease, charge, &source, &facts, now)
                })
                .await
            }
            (Step::CountChannels(channels), Outcome::Channels(facts)) => {
                let facts: Vec<_> =
                    channels.into_iter().map(|(source, _)| source).zip(facts).collect();
                self.store(move |it, now| {
                    discovery::set_channel_counts(it, &lease, charge, &facts, now)
                })
                .await
            }
            (Step::CountPlaylists(playlists), Outcome::Playlists(facts)) => {
                let facts: Vec<_> =
                    playlists.into_iter().map(|(source, _)| source).zip(facts).collect();
                self.store(move |it, now| {
                    discovery::set_playlist_counts(it, &lease, charge, &facts, now)
                })
                .await
            }
            (Step::Page(source), Outcome::Page(page)) => {
                self.store(move |it, now| {
                    discovery::add_page(it, &lease, charge, collection, &source, &page, now)
                })
                .await
            }
            (Step::Search(source), Outcome::Videos(videos)) => {
                self.store(move |it, now| {
                    discovery::add_search(it, &lease, charge, collection, &source, &videos, now)
                })
                .await
            }
            (Step::Verify(requested), Outcome::Videos(existing)) => {
                let verified = discovery::Verified { requested, existing };
                self.store(move |it, now| {
                    let of = (collection, &verified);
                    discovery::end_verification(it, &lease, charge, of, follows, now)
                })
                .await
            }
            _ => unreachable!("each step has its own outcome"),
        }
    }

    /// Gives the sync back after an error, or gives up the sources of the step until the next sync. Returns whether the
    /// next step can follow, and `None` if the result cannot be stored.
    async fn fail(&mut self, step: Step, charge: Charge, error: &Error) -> Option<bool> {
        let is_search_spent = error.reason() == Reason::SearchQuotaExhausted;
        // Only waits count here: a source that fails is tried again by the next sync.
        if let (FailureAction::Wait(wait), false) = (action_after(error, 0), is_search_spent) {
            // First the resource, so that nobody tries again before it is known.
            let noted = self.blocked.note_data_api(&self.library, &self.owner, error, wait).await;
            log_unless_stored(noted);
            self.postpone(charge, Timestamp::UNIX_EPOCH).await;
            return Some(false);
        }
        let sources = match step {
            Step::Resolve(source) | Step::Page(source) | Step::Search(source) => vec![source],
            Step::CountChannels(all) => all.into_iter().map(|(source, _)| source).collect(),
            Step::CountPlaylists(all) => all.into_iter().map(|(source, _)| source).collect(),
            Step::Verify(_) => {
                self.verifies = false;
                vec![]
            }
        };
        let (lease, failure) = (self.lease, Failure::from(error));
        self.store(move |it, now| {
            discovery::fail_sources(it, &lease, charge, &sources, &failure, now)
        })
        .await
        .then_some(true)
    }

    async fn end(&self, is_feeds: bool) {
        let (lease, collection) = (self.lease, self.collection);
        self.store(move |it, now| discovery::end(it, &lease, collection, is_feeds, now)).await;
    }

    /// Gives the sync back for a while, because the library cannot be read or a result cannot be stored. Without a pause
    /// the same call would be paid again and again.
    async fn pause(&self) {
        let until = self.library.now().checked_add(PAUSE).unwrap_or(Timestamp::MAX);
        self.postpone(Charge::default(), until).await;
    }

    async fn postpone(&self, charge: Charge, until: Timestamp) {
        let lease = self.lease;
        self.store(move |it, _| listing::postpone_source(it, &lease, charge, until, false)).await;
    }

    /// Stores a result, also after the disk has failed for a while. Returns `false` if it cannot be stored.
    async fn store(
        &self,
        write: impl Fn(&Connection, Timestamp) -> Result<()> + Clone + Send + 'static,
    ) -> bool {
        let stored = until_stored(self.lease, || {
            let (write, now) = (write.clone(), self.library.now());
            self.library.database().write(move |it| write(it, now))
        });
        stored.await.is_some()
    }
}

fn log_unless_stored(noted: Result<()>) {
    if let Err(error) = noted {
        tracing::warn!(reason = error.reason().code(), "pause of a sync not stored");
    }
}

/// Makes the call of a step. It reads past the cache, except the first list of a channel and the lookup of a handle.
async fn fetch(vidra: &Vidra, step: &Step) -> Result<Outcome> {
    let fresh = vidra.refreshing();
    match step {
        Step::Resolve(source) => match JobSource::from_stored(&source.kind, &source.id)? {
            JobSource::Channel(channel) => {
                let facts = facts(vidra.channel(&channel).await?);
                // Everything else needs it.
                ChannelId::parse(&facts.id)?;
                Ok(Outcome::Channel(facts))
            }
            _ => Err(Error::internal("only channels have other names")),
        },
        Step::CountChannels(channels) => {
            let ids: Vec<ChannelId> = channels.iter().map(|(_, id)| id.clone()).collect();
            let mut found: Vec<_> = fresh.channels(&ids).await?.into_iter().map(facts).collect();
            let mut take = |id: &ChannelId| {
                let place = found.iter().position(|it| it.id == id.as_str())?;
                Some(found.swap_remove(place))
            };
            Ok(Outcome::Channels(ids.iter().map(&mut take).collect()))
        }
        Step::CountPlaylists(playlists) => {
            let ids: Vec<PlaylistId> = playlists.iter().map(|(_, id)| id.clone()).collect();
            let found = fresh.playlist_infos(&ids).await?;
            let of_playlist = |id: &PlaylistId| {
                let info = found.iter().find(|info| info.id == *id);
                let title = info.map(|info| info.title.clone());
                PlaylistFacts { title, entries: info.and_then(|info| info.item_count) }
            };
            Ok(Outcome::Playlists(ids.iter().map(of_playlist).collect()))
        }
        Step::Page(source) => {
            let list = match (&source.channel, JobSource::from_stored(&source.kind, &source.id)?) {
                (Some(id), _) => EntrySource::Uploads(id.clone().into()),
                (None, JobSource::Playlist(id)) => EntrySource::Playlist(id),
                _ => return Err(Error::internal("the source has no list")),
            };
            // The first list of a channel can come from the cache: its feed shows what is new.
            let is_first = source.task == "whole" && source.channel.is_some();
            let client = if is_first { vidra } else { &fresh };
            let page = client.entries_page(&list, source.cursor.as_deref()).await?;
            let videos = page.entries.into_iter().filter_map(of_entry).collect();
            Ok(Outcome::Page(PageOfEntries { videos, next: page.next_cursor }))
        }
        Step::Search(source) => {
            let query = search_query(&source.id)?;
            let page = fresh.search(&query, None, SEARCH_RESULTS).await?.body;
            let video = |item| match item {
                SearchItem::Video(video) => Some(of_video(*video)),
                _ => None,
            };
            Ok(Outcome::Videos(page.items.into_iter().filter_map(video).collect()))
        }
        Step::Verify(videos) => {
            let found = fresh.videos(videos).await?;
            Ok(Outcome::Videos(found.into_iter().map(of_video).collect()))
        }
    }
}

fn facts(channel: Channel) -> ChannelFacts {
    let is_hidden = channel.hidden.contains(&HiddenCount::VideoCount);
    let videos = (!is_hidden).then_some(channel.video_count);
    ChannelFacts { id: channel.id, title: channel.name, videos }
}

fn of_feed(item: FeedItem) -> FoundVideo {
    let FeedItem { id, title, published_at, .. } = item;
    FoundVideo { id, title, published: published_at.timestamp(), gone: None }
}

fn of_video(video: Video) -> FoundVideo {
    let Video { id, title, published_at, .. } = video;
    FoundVideo { id, title, published: published_at.timestamp(), gone: None }
}

/// `None` if YouTube does not reveal the video.
fn of_entry(entry: PlaylistEntry) -> Option<FoundVideo> {
    let id: VideoId = entry.video?;
    let gone = match entry.availability {
        Availability::Public => None,
        Availability::Private => Some(Reason::VideoPrivate),
        Availability::Deleted => Some(Reason::VideoNotFound),
    };
    Some(FoundVideo { id, title: entry.title, published: entry.published, gone })
}
