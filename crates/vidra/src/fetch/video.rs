//! Videos: fifty at a time and each once.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};

use crate::ask::{self, Ask};
use crate::cache::freshness::{Life, Resource};
use crate::cache::gather::MOST_IDS;
use crate::cache::{Cached, Key, Known, Outcome};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Moment};
use crate::ident::VideoId;
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::transport::BoxFuture;
use crate::upstream::{Scope, another, wire};
use crate::video::{Video, Withheld};

impl Video {
    /// `None` for an item that does not even have an id.
    pub(crate) fn from_wire(video: wire::Video) -> Option<Self> {
        let id = VideoId::bare(&video.id?)?;
        let snippet = video.snippet.unwrap_or_default();
        let statistics = video.statistics.unwrap_or_default();
        let duration = video.content_details.unwrap_or_default().duration;
        let duration = duration.as_deref().map_or(0, format::parse_duration);
        let published_at = Moment::parse(snippet.published_at.as_deref());
        let mut hidden = vec![];
        let mut told = |count, name| count_or_hide(count, name, &mut hidden);
        let views = told(statistics.view_count, Withheld::Views);
        let likes = told(statistics.like_count, Withheld::Likes);
        let comments = told(statistics.comment_count, Withheld::Comments);
        Some(Self {
            id,
            title: snippet.title.unwrap_or_default(),
            description: snippet.description.unwrap_or_default(),
            channel: snippet.channel_title.unwrap_or_default(),
            channel_id: snippet.channel_id.unwrap_or_default(),
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
        })
    }
}

/// A count, or 0 and its name among the hidden ones.
pub(crate) fn count_or_hide(count: Option<u64>, name: Withheld, hidden: &mut Vec<Withheld>) -> u64 {
    count.unwrap_or_else(|| {
        hidden.push(name);
        0
    })
}

/// One video, in a call with others that are asked for at the same time.
pub(crate) async fn one(scope: &Scope, id: VideoId) -> Result<Video> {
    let found = scope.gathers.videos.ask(scope, id).await?;
    found.ok_or_else(|| Error::not_found("Video", id))
}

/// Videos in the order asked; unknown ones are left out.
pub(crate) async fn many(scope: &Scope, ids: &[VideoId]) -> Result<Vec<Video>> {
    list_json(scope, ids).await?.decode()
}

/// Videos in the order asked, as one JSON list: as old as the oldest of them, and asked for if one of
/// them was.
pub(crate) async fn list_json(scope: &Scope, ids: &[VideoId]) -> Result<Cached> {
    let mut seen = HashSet::new();
    let distinct: Vec<VideoId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let keys: Vec<Key> = distinct.iter().map(|id| Ask::Video(*id).key()).collect();
    let fetch = |scope: Scope, indices: Vec<usize>| -> BoxFuture<'static, Vec<Result<Bytes>>> {
        let ids = indices.into_iter().map(|index| distinct[index]).collect();
        Box::pin(bodies(scope, ids))
    };
    let asked = scope.cache.get_or_fetch_all(&keys, scope, fetch).await;
    // As much effort as the one that took most, also where that one is not there.
    let by_effort = [Outcome::Miss, Outcome::Coalesced, Outcome::Stale];
    let took = |outcome: &Outcome| asked.iter().any(|answered| answered.outcome == *outcome);
    let outcome = by_effort.into_iter().find(took).unwrap_or(Outcome::Hit);
    let age = asked.iter().map(|answered| answered.age).max().unwrap_or_default();
    let mut found = BTreeMap::new();
    for (id, answered) in distinct.iter().zip(asked) {
        match answered.result {
            Ok(video) => drop(found.insert(*id, video)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let nothing = || scope.cache.nothing(Resource::Video, outcome, age);
    Ok(listed(ids, &found, outcome).unwrap_or_else(nothing))
}

/// One list of those that were found. `None` where there are none.
fn listed(ids: &[VideoId], found: &BTreeMap<VideoId, Cached>, outcome: Outcome) -> Option<Cached> {
    let oldest = found.values().max_by_key(|video| video.age)?;
    let soonest = found.values().min_by_key(|video| video.fresh_for())?;
    let bodies: Vec<&[u8]> = ids.iter().filter_map(|id| Some(&found.get(id)?.body[..])).collect();
    let body = [&b"["[..], &bodies.join(&b','), b"]"].concat().into_boxed_slice().into();
    let ttl = oldest.age + soonest.fresh_for();
    Some(Cached { body, outcome, age: oldest.age, life: Life { ttl, ..oldest.life } })
}

/// Asks for all of these, in full calls: an outcome for each.
async fn bodies(scope: Scope, ids: Vec<VideoId>) -> Vec<Result<Bytes>> {
    let scope = &scope;
    let chunks: Vec<Vec<VideoId>> = ids.chunks(MOST_IDS).map(<[_]>::to_vec).collect();
    let call = |chunk: Vec<VideoId>| async move {
        let found = details(scope, &chunk).await;
        let outcome = |id: &VideoId| match &found {
            Ok(found) => {
                found.get(id).map_or_else(|| Err(Error::not_found("Video", id)), ask::json)
            }
            Err(error) => Err(error.clone()),
        };
        chunk.iter().map(outcome).collect::<Vec<_>>()
    };
    stream::iter(chunks).map(call).buffered(CALLS_AT_ONCE).concat().await
}

/// What is known of these, and which of them would have to be asked for.
pub(crate) async fn known(
    scope: &Scope,
    ids: &[VideoId],
) -> (HashMap<VideoId, Video>, Vec<VideoId>) {
    let keys: Vec<Key> = ids.iter().map(|id| Ask::Video(*id).key()).collect();
    let (mut found, mut unknown) = (HashMap::new(), vec![]);
    for (id, known) in ids.iter().zip(scope.known(&keys).await) {
        match known {
            Some(Known::Nothing(_)) => {}
            Some(Known::Body(video)) => match video.decode() {
                Ok(video) => drop(found.insert(*id, video)),
                Err(_) => unknown.push(*id),
            },
            None => unknown.push(*id),
        }
    }
    (found, unknown)
}

/// How many detail calls are under way together.
const CALLS_AT_ONCE: usize = 8;

/// The details of all videos in `chunks` of up to fifty, asked for as the chunks come.
pub(crate) async fn gather(
    scope: &Scope,
    chunks: impl Stream<Item = Vec<VideoId>>,
) -> Result<HashMap<VideoId, Video>> {
    chunks
        .map(|chunk| fetch(scope, chunk))
        .buffer_unordered(CALLS_AT_ONCE)
        .try_fold(HashMap::new(), |mut all, some| async move {
            all.extend(some);
            Ok(all)
        })
        .await
}

/// Up to fifty videos in one call. Where something came that nobody asked for, what did not come may
/// have been meant, and must not pass for unknown.
async fn details(scope: &Scope, ids: &[VideoId]) -> Result<HashMap<VideoId, Video>> {
    let found = list(scope, ids).await?;
    let has_strangers = found.keys().any(|id| !ids.contains(id));
    if has_strangers && !ids.iter().all(|id| found.contains_key(id)) {
        return Err(another("video"));
    }
    Ok(found)
}

/// The same, kept for whoever asks for one of them.
async fn fetch(scope: &Scope, ids: Vec<VideoId>) -> Result<HashMap<VideoId, Video>> {
    let found = details(scope, &ids).await?;
    for id in ids {
        let key = Ask::Video(id).key();
        let outcome = match found.get(&id) {
            Some(video) => ask::json(video),
            None => Err(Error::not_found("Video", id)),
        };
        // Kept or not: this is for others.
        let _ = scope.cache.keep(&key, outcome);
    }
    Ok(found)
}

/// The call itself. The platform drops unknown ids and keeps no order.
pub(crate) async fn list(scope: &Scope, ids: &[VideoId]) -> Result<HashMap<VideoId, Video>> {
    debug_assert!(ids.len() <= MOST_IDS, "the platform refuses more ids");
    let list = ids.iter().map(VideoId::as_str).collect::<Vec<_>>().join(",");
    let call = Call::new(Endpoint::Videos, "Video", &list)
        // All parts we ever serve: they do not change the cost.
        .with("part", "snippet,contentDetails,statistics")
        .with("id", list);
    let items: Vec<wire::Video> = scope.list(&call).await?;
    Ok(items.into_iter().filter_map(Video::from_wire).map(|video| (video.id, video)).collect())
}
