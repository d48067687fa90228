//! The cache: states of a record, request coalescing, gathered calls, shared records.

mod entities;
mod flights;
mod gathering;
mod model;
mod states;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use tokio::time::sleep;
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{
    Builder, Cached, ChannelRef, Counts, InProcess, Lookup, PlaylistId, Resource, RetryPolicy,
    Transport, VideoId, Vidra,
};
use vidra_sim::Simulator;

use crate::sim;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Past the freshness of a video, whatever its jitter, and within its grace.
const IN_GRACE: Duration = Duration::from_secs(20 * 60);
/// Past its grace.
const STALE: Duration = Duration::from_secs(2 * 3600);
/// Past its use in case of errors.
const GONE: Duration = Duration::from_secs(8 * 24 * 3600);

/// A client with a cache and without retries.
fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .cache_bytes(64 << 20)
        .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() })
}

fn client(sim: &Simulator) -> Vidra {
    builder(sim).build().unwrap()
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn channel(id: &str) -> ChannelRef {
    ChannelRef::parse(id).unwrap()
}

/// `count` different videos of the simulator.
async fn videos(sim: &Simulator, count: usize) -> Vec<VideoId> {
    let mut ids = sim::client(sim).playlist_ids(&playlist("PLsize5000")).await.unwrap().video_ids;
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() >= count);
    ids.truncate(count);
    sim.reset_record();
    ids
}

/// Lets all tasks finish that need no more time.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

async fn counts(vidra: &Vidra, resource: Resource) -> Counts {
    let report = vidra.cache_report().await;
    report.resources.into_iter().find(|entry| entry.0 == resource.name()).unwrap().1
}

/// The simulator's data never change. Here each answer sets all titles to the number of the answer,
/// and all items can be removed.
#[derive(Clone)]
struct Changing {
    sim: Simulator,
    answers: Arc<AtomicU64>,
    is_empty: Arc<AtomicBool>,
}

impl Changing {
    fn new() -> Self {
        Self { sim: Simulator::new(), answers: Arc::default(), is_empty: Arc::default() }
    }

    fn builder(&self) -> Builder {
        builder(&self.sim).transport(self.clone())
    }

    fn rename(&self, answer: &mut Answer) {
        let Ok(mut json) = serde_json::from_slice::<Value>(&answer.body) else { return };
        let Some(items) = json["items"].as_array_mut() else { return };
        let number = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        for item in items.iter_mut() {
            item["snippet"]["title"] = number.to_string().into();
        }
        if self.is_empty.load(Ordering::Relaxed) {
            items.clear();
        }
        answer.body = json.to_string().into();
    }
}

impl Transport for Changing {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let mut answer = InProcess(self.sim.clone()).exchange(request).await?;
            self.rename(&mut answer);
            Ok(answer)
        })
    }
}

/// Looks up a video of [`Changing`] data: the cached answer, and the number in its title.
async fn edition(vidra: &Vidra, id: VideoId) -> vidra::Result<(Cached, u64)> {
    let cached = vidra.lookup(&Lookup::Video(id)).await?;
    let number = cached.decode::<vidra::Video>()?.title.parse().unwrap();
    Ok((cached, number))
}
