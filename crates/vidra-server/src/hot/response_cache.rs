//! Rendered responses by request target.

use std::hash::{BuildHasher, DefaultHasher, Hasher};
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::Full;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vidra::clock::Clock;
use vidra::store::Usage;
use vidra::{CacheOutcome, Resource, SpooledBody, Vidra};

use super::answer::Answer;
use super::rendered::RenderedResponse;
use super::request_head::RequestHead;
use super::request_log::RequestLog;
use crate::counters::RouteId;
use crate::extract::request_timeout;
use crate::respond::{HeldBody, spooled_etag, with_spooled};

/// The memory of an entry beyond its bodies and its target, in bytes.
const OVERHEAD: u64 = 600;

/// Each shard has its own lock. A response must fit into one shard, and a playlist of thousands is
/// megabytes.
const SHARDS: usize = 4;

/// The rendered responses, bounded by bytes.
pub(crate) struct ResponseCache {
    responses: Cache<Box<str>, Arc<RenderedResponse>, ByteWeight, SeededHasher>,
    clock: Arc<dyn Clock>,
    /// Threads that compress large bodies.
    compressors: Arc<Semaphore>,
}

/// A hasher with a secret seed, so that no caller can choose targets that collide. The seed comes from the
/// generator that a simulation seeds, because the shard of a response decides which one it evicts.
#[derive(Clone)]
struct SeededHasher(u64);

impl BuildHasher for SeededHasher {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

#[derive(Clone)]
struct ByteWeight;

impl Weighter<Box<str>, Arc<RenderedResponse>> for ByteWeight {
    fn weight(&self, target: &Box<str>, rendered: &Arc<RenderedResponse>) -> u64 {
        // The allocator rounds up, by an eighth at most.
        OVERHEAD + (target.len() + rendered.weight + rendered.weight / 8) as u64
    }
}

impl ResponseCache {
    pub(crate) fn new(limit_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        // 4 KB is a video with its compressed form.
        let items = usize::try_from(limit_bytes / 4096).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity(items)
            .weight_capacity(limit_bytes)
            .build()
            .expect("both capacities are given");
        let hasher = SeededHasher(fastrand::u64(..));
        let responses =
            Cache::with_options(options, ByteWeight, hasher, DefaultLifecycle::default());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { responses, clock, compressors: Arc::new(Semaphore::new(threads)) }
    }

    /// The response to a request whose target has a fresh rendered response, with its route and its resource.
    pub(crate) fn get<B>(
        &self,
        vidra: &Vidra,
        request: &Request<B>,
        head: &RequestHead<'_>,
        log: &RequestLog,
    ) -> Option<(Response<Full<Bytes>>, RouteId, Resource)> {
        if *request.method() != Method::GET || head.has_cache_control {
            return None;
        }
        // A mistake in a request must not depend on the cache.
        if head.has_request_timeout && request_timeout(head.headers).is_err() {
            return None;
        }
        let target = request.uri().path_and_query()?.as_str();
        let rendered = self.responses.get(target)?;
        let now = log.began + self.clock.suspended().saturating_sub(rendered.suspended);
        let is_usable = now < rendered.fresh_until && rendered.matches(head.headers);
        if !is_usable || !rendered.is_acceptable(head) || rendered.needs_compression(head) {
            return None;
        }
        vidra.note_hit(rendered.resource);
        let response = rendered.response(head, CacheOutcome::Hit, now, Some(&log.id));
        Some((response, rendered.route, rendered.resource))
    }

    /// Renders an answer, and caches the result for the next request for `target`, unless that is empty. The
    /// body is compressed first if the caller accepts that, unless only the head is requested.
    pub(crate) async fn render(
        &self,
        target: &str,
        route: RouteId,
        method: &Method,
        headers: &HeaderMap,
        answer: &Answer,
    ) -> Response<Body> {
        let (now, suspended) = (Instant::now(), self.clock.suspended());
        let before = self.responses.get(target);
        let same = before.as_ref().filter(|rendered| {
            suspended == rendered.suspended
                && rendered.is_from(answer, now)
                && rendered.matches(headers)
        });
        let rendered = if let Some(same) = same {
            Arc::clone(same)
        } else {
            let earlier = before.as_deref();
            let rendered = RenderedResponse::new(answer, route, headers, now, suspended, earlier);
            let rendered = Arc::new(rendered.await);
            // Another request may have cached a later fetch while this one hashed a large body. The response from before
            // is replaced even if it is later, because a list is as old as its oldest record.
            let is_before =
                |it: &Arc<_>| before.as_ref().is_some_and(|before| Arc::ptr_eq(before, it));
            let is_outdated = || {
                let cached = self.responses.get(target).filter(|it| !is_before(it));
                cached.is_some_and(|it| it.is_later(&rendered))
            };
            if !target.is_empty() && !is_outdated() {
                self.responses.insert(target.into(), Arc::clone(&rendered));
            }
            rendered
        };
        let head = RequestHead::new(headers);
        if *method != Method::HEAD && rendered.needs_compression(&head) {
            rendered.compress(&self.compressors).await;
        }
        let response = rendered.response(&head, answer.cached.outcome, now, None);
        let memory = answer.memory.clone();
        response.map(|body| Body::new(HeldBody { body, memory }))
    }

    /// Renders an answer whose body is in a file. It is too large to be cached.
    ///
    /// # Errors
    ///
    /// An error of the file.
    pub(crate) async fn render_spooled(
        &self,
        route: RouteId,
        headers: &HeaderMap,
        answer: &Answer,
        body: Arc<SpooledBody>,
    ) -> io::Result<Response<Body>> {
        let etag = spooled_etag(&body).await?;
        let now = Instant::now();
        let rendered = RenderedResponse::head(answer, &etag, route, headers, now);
        let head = RequestHead::new(headers);
        let response = rendered.response(&head, answer.cached.outcome, now, None).map(Body::new);
        Ok(match response.status() {
            StatusCode::OK => with_spooled(response, body),
            _ => response,
        })
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage { entries: self.responses.len() as u64, bytes: self.responses.weight() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use futures_util::FutureExt;
    use vidra::clock::SystemClock;
    use vidra::{ApiKey, InProcess, Lookup, VideoId};
    use vidra_sim::Simulator;

    use super::*;
    use crate::counters::Counters;

    /// Two answers: a fresh one, and a large one that was fetched a minute ago.
    async fn newer_and_older() -> (Answer, Answer) {
        let client = Vidra::builder()
            .key(ApiKey::new("demo-key"))
            .transport(InProcess(Simulator::new()))
            .build()
            .unwrap();
        let id = VideoId::parse("txManualAsr").unwrap();
        let newer = Answer::fetch(&client, Lookup::Video(id)).await.unwrap();
        let mut older = newer.clone();
        older.cached.body = vec![b' '; 2 << 20].into();
        older.cached.age = Duration::from_secs(60);
        (newer, older)
    }

    async fn render(cache: &ResponseCache, answer: &Answer) {
        let route = Counters::new(std::iter::empty(), &[]).route(None);
        cache.render("/target", route, &Method::GET, &HeaderMap::new(), answer).await;
    }

    fn cache() -> ResponseCache {
        ResponseCache::new(64 << 20, Arc::new(SystemClock))
    }

    /// The hash of a large body is computed on another thread, and a later answer can be rendered meanwhile.
    #[test]
    fn an_older_response_does_not_replace_a_newer_one() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (newer, older) = newer_and_older().await;
            let cache = cache();
            let (release, released) = mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || released.recv());
            let mut first = Box::pin(render(&cache, &older));
            assert!((&mut first).now_or_never().is_none(), "it waits for the hash");
            render(&cache, &newer).await;
            drop(release);
            let _ = busy.await.unwrap();
            first.await;
            let cached = cache.responses.get("/target").unwrap();
            assert!(cached.plain == newer.cached.body, "the body of a minute ago");
        });
    }

    /// A list is as old as its oldest record, so the answer to a later request can be older.
    #[tokio::test]
    async fn a_later_answer_of_older_records_replaces_a_response() {
        let ((newer, older), cache) = (newer_and_older().await, cache());
        render(&cache, &newer).await;
        render(&cache, &older).await;
        assert!(cache.responses.get("/target").unwrap().plain == older.cached.body);
    }
}
