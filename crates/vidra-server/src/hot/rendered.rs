//! A response as it is sent: body, compressed body and headers, rendered once.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::http::header::{ACCEPT, AGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use http_body_util::Full;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;
use vidra::{CacheOutcome, Resource};

use super::answer::Answer;
use super::gzip::{LARGE_BYTES, MIN_BYTES, accepts_gzip, compress, gzip_etag};
use super::request_head::RequestHead;
use super::request_id::X_REQUEST_ID;
use crate::accept::accepts;
use crate::counters::RouteId;
use crate::respond::{JSON, X_QUOTA_COST, body_etag, etag, names_etag};

pub(super) const X_CACHE: HeaderName = HeaderName::from_static("x-cache");
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// The headers of most responses. Cloning a whole map and changing some values takes fewer instructions
/// than building the map for each response.
struct Templates {
    plain: HeaderMap,
    gzip: HeaderMap,
    not_modified: HeaderMap,
}

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| {
    let common = [
        (ETAG, ""),
        (CACHE_CONTROL, ""),
        (AGE, ""),
        (X_REQUEST_ID, ""),
        (VARY, "accept-encoding"),
        (X_CACHE, CacheOutcome::Hit.name()),
        (CACHE_STATUS, STATUS_OF_HIT),
        (X_QUOTA_COST, "0"),
    ];
    let with = |more: &[(HeaderName, &'static str)]| -> HeaderMap {
        let all = common.iter().chain(more);
        all.map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    };
    Templates {
        plain: with(&[(CONTENT_TYPE, JSON)]),
        gzip: with(&[(CONTENT_TYPE, JSON), (CONTENT_ENCODING, "gzip")]),
        not_modified: with(&[]),
    }
});

/// A response that is sent without touching its body again.
pub(super) struct RenderedResponse {
    pub(super) plain: Bytes,
    etag: HeaderValue,
    /// The bytes of the body, and the most of its compressed form. It never changes, as the cache requires.
    pub(super) weight: usize,
    /// The compressed body; not set before a caller accepts it.
    gzip: OnceCell<Option<Compressed>>,
    content_type: &'static str,
    cache_control: HeaderValue,
    /// Boxed, because few responses have any of these.
    extras: Option<Box<Extras>>,
    pub(super) resource: Resource,
    pub(super) route: RouteId,
    fetched: Instant,
    /// How long the machine had been suspended when this was rendered. `Instant` does not count
    /// suspension.
    pub(super) suspended: Duration,
    ttl: Duration,
    pub(super) fresh_until: Instant,
}

/// A compressed body and its `ETag`.
type Compressed = Arc<(Bytes, HeaderValue)>;

struct Extras {
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The lines of `Accept` that this response matches; `None` if it matches any.
    accept: Option<Vec<HeaderValue>>,
}

impl RenderedResponse {
    /// Takes the tag and the compressed body of `before` if the plain body is the same.
    pub(super) async fn new(
        answer: &Answer,
        route: RouteId,
        headers: &HeaderMap,
        now: Instant,
        suspended: Duration,
        before: Option<&Self>,
    ) -> Self {
        let is_same = |before: &&Self| {
            before.plain == answer.cached.body && before.more_headers() == answer.headers
        };
        let (tag, gzip) = match before.filter(is_same) {
            Some(before) => (before.etag.clone(), before.gzip.clone()),
            None => {
                let is_small = answer.cached.body.len() < MIN_BYTES;
                (tag_of(answer).await, OnceCell::new_with(is_small.then_some(None)))
            }
        };
        Self::with_tag(answer, &tag, gzip, route, headers, now, suspended)
    }

    /// The head of a response whose body is sent from a file, and not compressed.
    pub(super) fn head(
        answer: &Answer,
        tag: &HeaderValue,
        route: RouteId,
        headers: &HeaderMap,
        now: Instant,
    ) -> Self {
        let gzip = OnceCell::new_with(Some(None));
        Self::with_tag(answer, tag, gzip, route, headers, now, Duration::ZERO)
    }

    fn with_tag(
        answer: &Answer,
        tag: &HeaderValue,
        gzip: OnceCell<Option<Compressed>>,
        route: RouteId,
        headers: &HeaderMap,
        now: Instant,
        suspended: Duration,
    ) -> Self {
        let fresh_for = answer.cached.life.ttl.saturating_sub(answer.cached.age);
        let fresh_for = answer.valid_for.map_or(fresh_for, |valid_for| fresh_for.min(valid_for));
        let [etag, cache_control] =
            header_values([tag.to_str().unwrap_or_default(), &cache_control(answer, fresh_for)]);
        let accept =
            answer.varies_by_accept.then(|| headers.get_all(ACCEPT).iter().cloned().collect());
        let headers = answer.headers.clone();
        let has_extras = accept.is_some() || !headers.is_empty();
        let plain = answer.cached.body.clone();
        let packed = gzip.get().map(|gzip| gzip.as_ref().map_or(0, |gzip| gzip.0.len()));
        Self {
            weight: plain.len() + packed.unwrap_or(max_packed_bytes(plain.len())),
            plain,
            etag,
            gzip,
            content_type: answer.content_type,
            cache_control,
            extras: has_extras.then(|| Box::new(Extras { headers, accept })),
            resource: answer.resource,
            route,
            fetched: fetched_at(answer, now),
            suspended,
            ttl: answer.cached.life.ttl,
            fresh_until: now + fresh_for,
        }
    }

    /// Whether [`Self::compress`] still has to run for a caller that accepts gzip.
    pub(super) fn needs_compression(&self, head: &RequestHead<'_>) -> bool {
        !self.gzip.initialized() && head.has_accept_encoding && accepts_gzip(head.headers)
    }

    /// Compresses the body, once: a large one on a thread that may block. It continues if the caller disconnects, so
    /// that the next one does not begin again.
    pub(super) async fn compress(self: &Arc<Self>, threads: &Arc<Semaphore>) {
        if self.plain.len() <= LARGE_BYTES {
            // An error means that another request has compressed it.
            let _ = self.gzip.set(self.packed());
            return;
        }
        let (rendered, threads) = (Arc::clone(self), Arc::clone(threads));
        let compressing = tokio::spawn(async move {
            let compressed = async {
                let _thread = threads.acquire().await;
                let rendered = Arc::clone(&rendered);
                tokio::task::spawn_blocking(move || rendered.packed()).await.ok().flatten()
            };
            rendered.gzip.get_or_init(|| compressed).await;
        });
        let _ = compressing.await;
    }

    /// The compressed body; `None` if it is hardly worth the memory.
    fn packed(&self) -> Option<Compressed> {
        let body = compress(&self.plain)?;
        let is_worth_it = body.len() <= max_packed_bytes(self.plain.len());
        is_worth_it.then(|| Arc::new((body, gzip_etag(&self.etag))))
    }

    /// Whether this response was rendered from the same fetch. The address of the bytes alone does not
    /// show it: every empty list is the same static `[]`.
    pub(super) fn is_from(&self, answer: &Answer, now: Instant) -> bool {
        let fetched = fetched_at(answer, now);
        let apart = fetched.max(self.fetched) - fetched.min(self.fetched);
        self.plain.as_ptr() == answer.cached.body.as_ptr() && apart < SAME_FETCH
    }

    /// Whether this response is from a later fetch than `other`.
    pub(super) fn is_later(&self, other: &Self) -> bool {
        // With the suspension the times of both are on one clock.
        let fetched = |it: &Self| it.fetched + it.suspended;
        fetched(self) > fetched(other) + SAME_FETCH
    }

    /// Whether a request with these headers gets this response: only `Accept` may make a difference.
    pub(super) fn matches(&self, headers: &HeaderMap) -> bool {
        self.accept().is_none_or(|accept| headers.get_all(ACCEPT).iter().eq(accept))
    }

    /// Whether the request accepts the type of this response. If it does not, the routes decide: they may have
    /// another type, or the target may name this one.
    pub(super) fn is_acceptable(&self, head: &RequestHead<'_>) -> bool {
        !head.has_accept || self.accept().is_some() || accepts(head.headers, self.content_type)
    }

    fn more_headers(&self) -> &[(HeaderName, HeaderValue)] {
        self.extras.as_ref().map_or(&[], |extras| &extras.headers)
    }

    fn accept(&self) -> Option<&Vec<HeaderValue>> {
        self.extras.as_ref()?.accept.as_ref()
    }

    /// The response to one request. Without an `id`, the sender adds one.
    pub(super) fn response(
        &self,
        head: &RequestHead<'_>,
        outcome: CacheOutcome,
        now: Instant,
        id: Option<&HeaderValue>,
    ) -> Response<Full<Bytes>> {
        let accepts_gzip = || head.has_accept_encoding && accepts_gzip(head.headers);
        let gzip = self.gzip.get().and_then(Option::as_deref).filter(|_| accepts_gzip());
        let (body, etag) = gzip.map_or((&self.plain, &self.etag), |(body, etag)| (body, etag));
        // A caller that accepts gzip may hold the plain form, and its tag is as good. Not the other way
        // round: a request for the plain form may come from a cache whose clients read no other.
        let known = [etag, &self.etag].into_iter();
        let known =
            known.filter(|_| head.has_if_none_match).find(|etag| names_etag(head.headers, etag));
        let mut headers = match gzip {
            _ if known.is_some() => TEMPLATES.not_modified.clone(),
            Some(_) => TEMPLATES.gzip.clone(),
            None => TEMPLATES.plain.clone(),
        };
        let age = now.saturating_duration_since(self.fetched);
        // One pass over the first values takes fewer instructions than four lookups.
        let mut left = 4;
        for (name, value) in &mut headers {
            if *name == ETAG {
                *value = known.unwrap_or(etag).clone();
            } else if *name == CACHE_CONTROL {
                *value = self.cache_control.clone();
            } else if *name == AGE {
                *value = whole_seconds(age);
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
        if outcome != CacheOutcome::Hit {
            headers.insert(X_CACHE, HeaderValue::from_static(outcome.name()));
            headers.insert(CACHE_STATUS, cache_status(outcome, age.saturating_sub(self.ttl)));
        }
        let mut response = Response::default();
        if known.is_some() {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            // The connection adds `Content-Length`.
            *response.body_mut() = Full::new(body.clone());
            if self.content_type != JSON {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            }
            headers.extend(self.extras.iter().flat_map(|extras| extras.headers.iter().cloned()));
        }
        *response.headers_mut() = headers;
        response
    }
}

/// The `ETag` of an answer. It covers headers such as a cursor, which a 304 does not repeat.
async fn tag_of(answer: &Answer) -> HeaderValue {
    let body = &answer.cached.body;
    if answer.headers.is_empty() {
        return body_etag(body).await;
    }
    let headers = answer.headers.iter().flat_map(|(_, value)| [b"\n", value.as_bytes()]);
    etag(&std::iter::once(&body[..]).chain(headers).collect::<Vec<_>>().concat())
}

/// The most that the compressed form of a body of this length may take.
fn max_packed_bytes(plain: usize) -> usize {
    if plain > LARGE_BYTES { plain / 2 } else { plain / 4 * 3 }
}

/// How far two computed times of one fetch may lie apart. The cache gives ages in whole milliseconds, and
/// a little time passes until the response is rendered. A wrong "different" only costs a new head.
const SAME_FETCH: Duration = Duration::from_millis(20);

fn fetched_at(answer: &Answer, now: Instant) -> Instant {
    now.checked_sub(answer.cached.age).unwrap_or(now)
}

/// The numbers from 0 to 999. They are static, so an `Age` of these needs neither an allocation nor a
/// reference count.
static SMALL_NUMBERS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    (0..1000).map(|number: u16| HeaderValue::from_static(number.to_string().leak())).collect()
});

fn whole_seconds(time: Duration) -> HeaderValue {
    let seconds = time.as_secs();
    let small = SMALL_NUMBERS.get(usize::try_from(seconds).unwrap_or(usize::MAX));
    small.cloned().unwrap_or_else(|| seconds.into())
}

const STATUS_OF_HIT: &str = "vidra; hit";

/// `Cache-Status` of RFC 9211. `stale_for` is the time since the response stopped being fresh.
fn cache_status(outcome: CacheOutcome, stale_for: Duration) -> HeaderValue {
    HeaderValue::from_static(match outcome {
        CacheOutcome::Hit => STATUS_OF_HIT,
        CacheOutcome::Stale => {
            let value = format!("vidra; hit; ttl=-{}", stale_for.as_secs());
            return HeaderValue::try_from(value).expect("words and a number");
        }
        CacheOutcome::Miss => "vidra; fwd=miss",
        CacheOutcome::Coalesced => "vidra; fwd=miss; collapsed",
    })
}

/// How long others may cache the response, counted from the fetch as `Age` is.
fn cache_control(answer: &Answer, fresh_for: Duration) -> String {
    match answer.valid_for {
        // Relative times would be wrong after that, so no stale use is allowed.
        Some(_) => format!("max-age={}", answer.cached.age.as_secs() + fresh_for.as_secs()),
        None => format!(
            "max-age={}, stale-while-revalidate={}, stale-if-error={}",
            answer.cached.life.ttl.as_secs(),
            answer.cached.life.grace.as_secs(),
            answer.cached.life.stale_if_error.as_secs()
        ),
    }
}

/// Header values that share one allocation.
fn header_values<const N: usize>(texts: [&str; N]) -> [HeaderValue; N] {
    let mut shared = Bytes::from(texts.concat());
    texts.map(|text| {
        HeaderValue::from_maybe_shared(shared.split_to(text.len())).expect("words and numbers")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_written_without_leading_zeros() {
        for seconds in (0..1100).chain([86_400, u64::MAX]) {
            let value = whole_seconds(Duration::from_secs(seconds));
            assert_eq!(value, seconds.to_string());
        }
    }
}
