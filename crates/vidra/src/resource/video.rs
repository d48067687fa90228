//! Videos, fetched in calls of fifty and each once.

mod details;
pub(crate) mod record;
#[cfg(test)]
mod recorded;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::cache::freshness::Life;
use crate::cache::{Answered, CacheOutcome, Cached, Parts};
use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::{DataApi, wire};
use crate::error::Result;
use crate::format::{self, Moment};
use crate::ident::{ChannelId, VideoId};
use crate::resource::gather::MAX_IDS;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::Lookup;
use crate::resource::{Services, many};
use crate::video::{HiddenCount, Video, VideoDetails};

/// The parts of a video that `VideoDetails` needs, and those of `Video`. More parts do not change the
/// cost of a call.
pub(crate) const DETAILED_PARTS: &str = "snippet,contentDetails,statistics,status,player,liveStreamingDetails,\
     topicDetails,paidProductPlacementDetails";

/// A parameter of calls with the part `player`: without a limit, YouTube does not send the size of the
/// player. The height is as good as any, because only the aspect ratio counts.
pub(crate) const PLAYER_SIZE: (&str, &str) = ("maxHeight", "720");

impl Video {
    /// `None` for an item without an id.
    pub(crate) fn from_wire(video: wire::Video) -> Option<Self> {
        let id = VideoId::bare(video.id.as_deref()?)?;
        let details = VideoDetails::from_wire(&video);
        let snippet = video.snippet.unwrap_or_default();
        let statistics = video.statistics.unwrap_or_default();
        let duration = video.content_details.unwrap_or_default().duration;
        let duration = duration.as_deref().map_or(0, format::parse_duration);
        let published_at = Moment::parse(snippet.published_at.as_deref());
        let mut hidden = vec![];
        let mut count_of = |count, name| count_or_hide(count, name, &mut hidden);
        let views = count_of(statistics.view_count, HiddenCount::Views);
        let likes = count_of(statistics.like_count, HiddenCount::Likes);
        let comments = count_of(statistics.comment_count, HiddenCount::Comments);
        Some(Self {
            id,
            title: snippet.title.unwrap_or_default(),
            description: snippet.description.unwrap_or_default(),
            channel: snippet.channel_title.unwrap_or_default(),
            channel_id: snippet.channel_id.as_deref().and_then(ChannelId::bare),
            views,
            views_fmt: format::compact(views),
            likes,
            likes_fmt: format::compact(likes),
            comments,
            comments_fmt: format::compact(comments),
            duration,
            duration_fmt: format::clock(duration),
            published: published_at.long_date(),
            published_at,
            thumbnails: snippet.thumbnails.unwrap_or_default(),
            hidden,
            details: Some(Box::new(details)),
            chapters: None,
        })
    }
}

/// Returns the count. A missing count is 0, and its name is added to `hidden`.
pub(crate) fn count_or_hide(
    count: Option<u64>,
    name: HiddenCount,
    hidden: &mut Vec<HiddenCount>,
) -> u64 {
    count.unwrap_or_else(|| {
        hidden.push(name);
        0
    })
}

/// Fetches one video, together with other concurrent lookups.
pub(crate) async fn one(services: &Arc<Services>, ctx: &Context, id: VideoId) -> Result<Video> {
    let found = services.videos.get(ctx, id).await?;
    found.ok_or_else(|| What::Video.not_found(id))
}

/// Reads videos as one JSON list, in the order of `ids`, and returns it with their outcomes. The
/// list has the age of its oldest video and the most expensive outcome.
pub(crate) async fn list_json(
    services: &Arc<Services>,
    ctx: &Context,
    ids: &[VideoId],
) -> Result<(Cached, Parts)> {
    let mut seen = HashSet::new();
    let distinct: Vec<VideoId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let answers = read(services, ctx, &distinct).await?;
    // Videos that do not exist count too.
    let outcomes = answers.iter().map(|answered| answered.outcome);
    let parts = outcomes.fold(Parts::default(), Parts::with);
    let outcome = parts.worst();
    let age = answers.iter().map(|answered| answered.age).max().unwrap_or_default();
    let missing = answers.iter().filter(|answered| answered.result.is_err());
    let oldest_missing = missing.map(|answered| answered.age).max();
    let mut found = BTreeMap::new();
    for (id, answered) in distinct.iter().zip(answers) {
        // The others do not exist.
        if let Ok(video) = answered.result {
            found.insert(*id, record::answer(video, ctx.include)?);
        }
    }
    let empty = |age| services.cache.empty_list(Resource::Video.kind(), outcome, age);
    // A missing video may appear sooner than the others expire.
    let missing_for = oldest_missing.map(|age| empty(age).fresh_for());
    let list = listed(ids, &found, outcome, missing_for);
    Ok((list.unwrap_or_else(|| empty(age)), parts))
}

/// The list of the videos that were found. `None` if there are none. The answer that the others do
/// not exist is fresh for `missing_for`.
fn listed(
    ids: &[VideoId],
    found: &BTreeMap<VideoId, Cached>,
    outcome: CacheOutcome,
    missing_for: Option<Duration>,
) -> Option<Cached> {
    let oldest = found.values().max_by_key(|video| video.age)?;
    let fresh_for = found.values().map(Cached::fresh_for).chain(missing_for).min()?;
    let bodies: Vec<&[u8]> = ids.iter().filter_map(|id| Some(&found.get(id)?.body[..])).collect();
    let body = [&b"["[..], &bodies.join(&b','), b"]"].concat().into();
    let ttl = oldest.age + fresh_for;
    Some(Cached { body, outcome, age: oldest.age, life: Life { ttl, ..oldest.life } })
}

/// Reads videos through the cache, and fetches the uncached ones in full calls.
///
/// # Errors
///
/// The first error other than "not found".
pub(super) async fn read(
    services: &Arc<Services>,
    ctx: &Context,
    ids: &[VideoId],
) -> Result<Vec<Answered>> {
    let fetch = |services: Arc<Services>, ctx, ids: Vec<VideoId>| async move {
        // A long list must not be fetched faster than the store can write it.
        services.cache.tiers.wait_for_capacity().await;
        let found = list(&services.data_api, &ctx, &ids).await;
        many::records(&ids, found, What::Video, "video", record::encode)
    };
    many::read(services, ctx, Resource::Video, ids, |id| Lookup::Video(*id), fetch).await
}

/// Reads videos, and passes each to `add`, in any order and without the unknown ones. A video that occurs twice is
/// read once. Returns their outcomes.
pub(crate) async fn read_all(
    services: &Arc<Services>,
    ctx: &Context,
    ids: &[VideoId],
    mut add: impl FnMut(Video),
) -> Result<Parts> {
    let mut seen = HashSet::new();
    let distinct: Vec<VideoId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let mut parts = Parts::default();
    for answered in read(services, ctx, &distinct).await? {
        parts = parts.with(answered.outcome);
        // The others do not exist.
        if let Ok(video) = answered.result {
            add(record::decode(&video, ctx.include)?);
        }
    }
    Ok(parts)
}

/// A call for videos, with all parts that we serve. They do not change the cost.
pub(crate) fn call(what: What, subject: &str) -> Call {
    let call = Call::new(Endpoint::Videos, what, &subject).with("part", DETAILED_PARTS);
    call.with(PLAYER_SIZE.0, PLAYER_SIZE.1)
}

/// Sends the call. YouTube omits unknown ids and returns the others in any order.
pub(crate) async fn list(
    data_api: &DataApi,
    ctx: &Context,
    ids: &[VideoId],
) -> Result<HashMap<VideoId, Video>> {
    debug_assert!(ids.len() <= MAX_IDS, "the platform refuses more ids");
    let list = ids.iter().map(VideoId::as_str).collect::<Vec<_>>().join(",");
    let call = call(What::Video, &list).with("id", list);
    let items: Vec<wire::Video> = data_api.list(ctx, &call).await?;
    Ok(items.into_iter().filter_map(Video::from_wire).map(|video| (video.id, video)).collect())
}
