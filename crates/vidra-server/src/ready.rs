//! Answers that are ready to be sent: bytes, compressed bytes and headers, made once.
//!
//! A request that names one by its exact target is answered before it is routed, without touching
//! JSON; everything else passes the routes and leaves its answer here.

mod gzip;

use std::hash::{BuildHasher, DefaultHasher, Hasher};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCEPT, AGE, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::Full;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use tokio::time::Instant;
use vidra::cache::store::Usage;
use vidra::clock::Clock;
use vidra::{Cached, Life, Outcome, Resource, Vidra};

pub(crate) use gzip::takes_gzip;
use gzip::{compressed, tag_of_gzip};

use crate::asked::Asked;
use crate::layers::QUOTA_COST;
use crate::metrics::Route;
use crate::reply::{etag, names};
use crate::request_id::X_REQUEST_ID;
use crate::visit::Visit;

pub(crate) const X_CACHE: HeaderName = HeaderName::from_static("x-cache");
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

const JSON: &str = "application/json";

/// The heads of most answers. One is copied as a whole and changed where an answer differs, which
/// takes less than putting it together each time.
struct Heads {
    plain: HeaderMap,
    gzip: HeaderMap,
    /// Of a 304.
    known: HeaderMap,
}

static HEADS: LazyLock<Heads> = LazyLock::new(|| {
    let usual = [
        (ETAG, ""),
        (CACHE_CONTROL, ""),
        (AGE, ""),
        (X_REQUEST_ID, ""),
        (VARY, "accept-encoding"),
        (X_CACHE, Outcome::Hit.name()),
        (CACHE_STATUS, STATUS_OF_HIT),
        (QUOTA_COST, "0"),
    ];
    let with = |more: &[(HeaderName, &'static str)]| -> HeaderMap {
        let all = usual.iter().chain(more);
        all.map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    };
    Heads {
        plain: with(&[(CONTENT_TYPE, JSON)]),
        gzip: with(&[(CONTENT_TYPE, JSON), (CONTENT_ENCODING, "gzip")]),
        known: with(&[]),
    }
});

/// What a finished answer takes up beyond its bodies and its target.
const OVERHEAD: u64 = 600;

/// An answer as a handler gives it: what is to be sent, and where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    pub(crate) resource: Resource,
    pub(crate) outcome: Outcome,
    pub(crate) age: Duration,
    pub(crate) life: Life,
    /// For how long its words are true, where they speak of the time.
    pub(crate) true_for: Option<Duration>,
    /// Whether another `Accept` would have been answered otherwise.
    pub(crate) varies: bool,
    pub(crate) disposition: Option<HeaderValue>,
}

impl Kept {
    /// An answer that is sent as it is kept.
    pub(crate) fn new(resource: Resource, cached: Cached) -> Self {
        let Cached { body, outcome, age, life } = cached;
        Self {
            content_type: JSON,
            body,
            resource,
            outcome,
            age,
            life,
            true_for: None,
            varies: false,
            disposition: None,
        }
    }
}

/// An answer with everything that is sent with it.
struct Ready {
    plain: Bytes,
    etag: HeaderValue,
    /// The same compressed, under a tag of its own, where that is worth it.
    gzip: Option<Arc<(Bytes, HeaderValue)>>,
    content_type: &'static str,
    cache_control: HeaderValue,
    /// What few have, in a place of its own: there are many of the others.
    rare: Option<Box<Rare>>,
    resource: Resource,
    route: Route,
    /// When what it tells was fetched.
    fetched: Instant,
    /// How long the machine had been suspended by then: `Instant` stands still meanwhile.
    suspended: Duration,
    ttl: Duration,
    fresh_until: Instant,
}

struct Rare {
    disposition: Option<HeaderValue>,
    /// The `Accept` that it answers, line by line; `None` where any would be answered so.
    accept: Option<Vec<HeaderValue>>,
}

/// The shelf is cut into so many parts with a lock each. An answer has to fit into one of them, and a
/// playlist of thousands is megabytes.
const SHARDS: usize = 4;

/// All of them, by the target of the request.
pub(crate) struct Shelf {
    responses: Cache<Box<str>, Arc<Ready>, Bytewise, Seeded>,
    clock: Arc<dyn Clock>,
}

/// A hasher with a secret seed, so that no caller can choose targets that collide. The seed comes from the
/// generator that a simulation seeds: which shard a response falls into decides what is evicted.
#[derive(Clone)]
struct Seeded(u64);

impl BuildHasher for Seeded {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<Box<str>, Arc<Ready>> for Bytewise {
    fn weight(&self, target: &Box<str>, ready: &Arc<Ready>) -> u64 {
        let gzip = ready.gzip.as_ref().map_or(0, |gzip| gzip.0.len());
        let bodies = ready.plain.len() + gzip;
        // The allocator rounds up, by an eighth at most.
        OVERHEAD + (target.len() + bodies + bodies / 8) as u64
    }
}

impl Shelf {
    pub(crate) fn new(limit_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        // 4 KB is a video with its compressed form.
        let items = usize::try_from(limit_bytes / 4096).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity(items)
            .weight_capacity(limit_bytes)
            .build()
            .expect("both capacities are given");
        let hasher = Seeded(fastrand::u64(..));
        let responses = Cache::with_options(options, Bytewise, hasher, DefaultLifecycle::default());
        Self { responses, clock }
    }

    /// The answer to a request that can be given at once, and the route that made it.
    pub(crate) fn answer(
        &self,
        vidra: &Vidra,
        method: &Method,
        uri: &Uri,
        asked: &Asked<'_>,
        visit: &Visit,
    ) -> Option<(Response<Full<Bytes>>, Route)> {
        if *method != Method::GET || asked.has_cache_control {
            return None;
        }
        let target = uri.path_and_query()?.as_str();
        let ready = self.responses.get(target)?;
        let now = visit.began + self.clock.suspended().saturating_sub(ready.suspended);
        if now >= ready.fresh_until || !ready.answers(asked.headers) {
            return None;
        }
        vidra.note_hit(ready.resource);
        Some((ready.response(asked, Outcome::Hit, now, Some(&visit.id)), ready.route))
    }

    /// Finishes an answer of a route, and keeps it for the next who asks for `target`.
    pub(crate) fn finish(
        &self,
        target: &str,
        route: Route,
        headers: &HeaderMap,
        kept: &Kept,
    ) -> Response<Body> {
        let (now, suspended) = (Instant::now(), self.clock.suspended());
        let before = self.responses.get(target);
        let same = before.as_ref().filter(|ready| {
            suspended == ready.suspended && ready.is_of(kept, now) && ready.answers(headers)
        });
        // The very bytes that were finished before need no finishing.
        let ready = same.cloned().unwrap_or_else(|| {
            let before = before.as_deref();
            let ready = Arc::new(Ready::new(kept, route, headers, now, suspended, before));
            self.responses.insert(target.into(), Arc::clone(&ready));
            ready
        });
        // To a HEAD as well: the connection tells the length of the body and does not send it.
        ready.response(&Asked::by(headers), kept.outcome, now, None).map(Body::new)
    }

    /// How many there are, and what they take up.
    pub(crate) fn usage(&self) -> Usage {
        Usage { entries: self.responses.len() as u64, bytes: self.responses.weight() }
    }
}

impl Ready {
    /// Equal words as `before` are not compressed again.
    fn new(
        kept: &Kept,
        route: Route,
        headers: &HeaderMap,
        now: Instant,
        suspended: Duration,
        before: Option<&Self>,
    ) -> Self {
        let fresh_for = kept.life.ttl.saturating_sub(kept.age);
        let fresh_for = kept.true_for.map_or(fresh_for, |true_for| fresh_for.min(true_for));
        let (tag, gzip) = match before.filter(|before| before.plain == kept.body) {
            Some(before) => (before.etag.clone(), before.gzip.clone()),
            None => {
                let tag = etag(&kept.body);
                let gzip = compressed(&kept.body).map(|body| Arc::new((body, tag_of_gzip(&tag))));
                (tag, gzip)
            }
        };
        let [etag, cache_control] =
            header_values([tag.to_str().unwrap_or_default(), &cache_control(kept, fresh_for)]);
        let accept = kept.varies.then(|| headers.get_all(ACCEPT).iter().cloned().collect());
        let disposition = kept.disposition.clone();
        let is_rare = accept.is_some() || disposition.is_some();
        Self {
            plain: kept.body.clone(),
            etag,
            gzip,
            content_type: kept.content_type,
            cache_control,
            rare: is_rare.then(|| Box::new(Rare { disposition, accept })),
            resource: kept.resource,
            route,
            fetched: fetched_at(kept, now),
            suspended,
            ttl: kept.life.ttl,
            fresh_until: now + fresh_for,
        }
    }

    /// Whether this response was rendered from the same fetch. The address of the bytes alone does not
    /// tell: every empty list is the same static `[]`.
    fn is_of(&self, kept: &Kept, now: Instant) -> bool {
        let fetched = fetched_at(kept, now);
        let apart = fetched.max(self.fetched) - fetched.min(self.fetched);
        self.plain.as_ptr() == kept.body.as_ptr() && apart < SAME_FETCH
    }

    fn answers(&self, headers: &HeaderMap) -> bool {
        self.accept().is_none_or(|accept| headers.get_all(ACCEPT).iter().eq(accept))
    }

    fn accept(&self) -> Option<&Vec<HeaderValue>> {
        self.rare.as_ref()?.accept.as_ref()
    }

    /// Without an id, whoever sends it has one.
    fn response(
        &self,
        asked: &Asked<'_>,
        outcome: Outcome,
        now: Instant,
        id: Option<&HeaderValue>,
    ) -> Response<Full<Bytes>> {
        let takes_gzip = asked.has_accept_encoding && takes_gzip(asked.headers);
        let gzip = self.gzip.as_deref().filter(|_| takes_gzip);
        let (body, etag) = gzip.map_or((&self.plain, &self.etag), |(body, etag)| (body, etag));
        // A plain copy is as good as a compressed one, and is told to be so under the tag that it has.
        // Not the other way round: who asks for the plain form may stand for one who can read no other.
        let known = [etag, &self.etag].into_iter();
        let known =
            known.filter(|_| asked.has_if_none_match).find(|etag| names(asked.headers, etag));
        let mut headers = match gzip {
            _ if known.is_some() => HEADS.known.clone(),
            Some(_) => HEADS.gzip.clone(),
            None => HEADS.plain.clone(),
        };
        let age = now.saturating_duration_since(self.fetched);
        // To go through what is there takes less than to look for each of them. They come first.
        let mut left = 4;
        for (name, value) in &mut headers {
            if *name == ETAG {
                *value = known.unwrap_or(etag).clone();
            } else if *name == CACHE_CONTROL {
                *value = self.cache_control.clone();
            } else if *name == AGE {
                *value = in_seconds(age);
            } else if *name == X_REQUEST_ID {
                *value = id.map_or(HeaderValue::from_static(""), HeaderValue::clone);
            } else {
                continue;
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        if self.accept().is_some() {
            headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        }
        if outcome != Outcome::Hit {
            headers.insert(X_CACHE, HeaderValue::from_static(outcome.name()));
            headers.insert(CACHE_STATUS, status_of(outcome, age.saturating_sub(self.ttl)));
        }
        let mut response = Response::default();
        if known.is_some() {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            // Its length is told by whoever sends it.
            *response.body_mut() = Full::new(body.clone());
            if self.content_type != JSON {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            }
            let disposition = self.rare.as_ref().and_then(|rare| rare.disposition.clone());
            headers.extend(disposition.map(|value| (CONTENT_DISPOSITION, value)));
        }
        *response.headers_mut() = headers;
        response
    }
}

/// How far two computed times of one fetch may lie apart. The cache gives ages in whole milliseconds, and
/// a little time passes until the response is rendered. A wrong "different" only costs a new head.
const SAME_FETCH: Duration = Duration::from_millis(20);

fn fetched_at(kept: &Kept, now: Instant) -> Instant {
    now.checked_sub(kept.age).unwrap_or(now)
}

/// A number of seconds in words. The usual ones are there: to write one would be an allocation for each
/// answer.
fn in_seconds(time: Duration) -> HeaderValue {
    static USUAL: LazyLock<Box<[HeaderValue]>> = LazyLock::new(|| {
        let texts = (0..USUAL_SECONDS).map(|seconds| seconds.to_string().leak());
        texts.map(|text| HeaderValue::from_static(text)).collect()
    });
    let seconds = time.as_secs();
    let usual = usize::try_from(seconds).ok().and_then(|seconds| USUAL.get(seconds));
    usual.cloned().unwrap_or_else(|| seconds.into())
}

/// Most of what is kept is fetched again before it is so old. They take up 60 KB.
const USUAL_SECONDS: u32 = 1024;

const STATUS_OF_HIT: &str = "vidra; hit";

/// What RFC 9211 calls it. `late` is for how long it has not been fresh any more.
fn status_of(outcome: Outcome, late: Duration) -> HeaderValue {
    HeaderValue::from_static(match outcome {
        Outcome::Hit => STATUS_OF_HIT,
        Outcome::Stale => {
            let value = format!("vidra; hit; ttl=-{}", late.as_secs());
            return HeaderValue::try_from(value).expect("words and a number");
        }
        Outcome::Miss => "vidra; fwd=miss",
        Outcome::Coalesced => "vidra; fwd=miss; collapsed",
    })
}

/// For how long others may keep it, counted from when it was fetched as `Age` is.
fn cache_control(kept: &Kept, fresh_for: Duration) -> String {
    match kept.true_for {
        // Its words would be wrong, whatever the state of the platform.
        Some(_) => format!("max-age={}", kept.age.as_secs() + fresh_for.as_secs()),
        None => format!(
            "max-age={}, stale-while-revalidate={}, stale-if-error={}",
            kept.life.ttl.as_secs(),
            kept.life.grace.as_secs(),
            kept.life.stale_if_error.as_secs()
        ),
    }
}

/// Header values that share one piece of memory.
fn header_values<const N: usize>(texts: [&str; N]) -> [HeaderValue; N] {
    let mut shared = Bytes::from(texts.concat());
    texts.map(|text| {
        HeaderValue::from_maybe_shared(shared.split_to(text.len())).expect("words and numbers")
    })
}
