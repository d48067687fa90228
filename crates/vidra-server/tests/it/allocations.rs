//! Allocations of a cache hit, and the memory of a cache entry.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use allocation_counter::measure;
use axum::body::Body;
use axum::http::Request;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::runtime::Builder;
use vidra::{ApiKey, InProcess, Lookup, VideoId, Vidra};
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_server::{App, Config};
use vidra_sim::Simulator;

use crate::app::{PEER, TestApp};

/// The number of allocations of a cache hit, their bytes, and the length of its body.
fn measure_hit(app: &TestApp, path: &str, header: (&str, &str)) -> (u64, u64, usize) {
    let request = Request::get(path).header(header.0, header.1).body(Body::empty()).unwrap();
    let mut length = 0;
    let measured = measure(|| {
        let response =
            app.app.answer(request, PEER).now_or_never().expect("a hit is ready at once");
        assert_eq!(response.headers()["x-cache"], "hit");
        let frame = response.into_body().frame().now_or_never().expect("a hit is ready at once");
        length = frame.map_or(0, |frame| frame.unwrap().data_ref().map_or(0, |it| it.len()));
    });
    (measured.count_total, measured.bytes_total, length)
}

#[tokio::test(start_paused = true)]
async fn a_cache_hit_allocates_little_and_independently_of_the_body_size() {
    let app = TestApp::new();
    let (small, large) = ("/api/videos?ids=fda4eREcaTQ,quirkNoLike", "/api/playlist/PLsize500");
    for path in [small, large] {
        app.get(path).await;
        // A large body is compressed for the first caller that accepts it.
        let request = Request::get(path).header("accept-encoding", "gzip");
        app.app.answer(request.body(Body::empty()).unwrap(), PEER).await;
    }
    tokio::time::advance(Duration::from_secs(5)).await;
    for header in [("accept", "*/*"), ("accept-encoding", "gzip"), ("if-none-match", "*")] {
        let [small, large] = [small, large].map(|path| {
            // The first clone of a body allocates its reference count; later ones allocate nothing.
            measure_hit(&app, path, header);
            measure_hit(&app, path, header)
        });
        assert!(small.0 <= 3, "{header:?}: {small:?}");
        assert_eq!((small.0, small.1), (large.0, large.1), "{header:?}");
        assert!(header.0 == "if-none-match" || large.2 > 10 * small.2, "{header:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_loopback_checks_allocate_nothing() {
    let path = "/api/videos?ids=fda4eREcaTQ";
    let (open, guarded) = (Rules::default(), Rules { on_loopback: true, ..Rules::default() });
    let mut counts = vec![];
    for gate in [open, guarded] {
        let app = TestApp::configured(|builder| builder, Config { gate, ..Config::default() });
        for _ in 0..3 {
            let request = Request::get(path).header("host", "127.0.0.1:3000");
            app.send(request.body(Body::empty()).unwrap()).await;
        }
        counts.push(measure_hit(&app, path, ("host", "127.0.0.1:3000")));
    }
    assert_eq!(counts[0], counts[1]);
}

/// A hit counts a request of its caller, and this one a transcript too. Every hit of an open service counts, so the
/// first test of this file limits its allocations.
#[tokio::test(start_paused = true)]
async fn users_12_counting_usage_allocates_nothing() {
    let mut file = KeyFile::default();
    let limits = KeyLimits { operator: true, ..KeyLimits::default() };
    file.add("alice".parse().unwrap(), "vk_alice", limits, SystemTime::UNIX_EPOCH).unwrap();
    let keyed = Rules { keys: Some(Arc::new(Keys::new(&file))), ..Rules::default() };
    for (gate, name) in [(Rules::default(), None), (keyed, Some("alice"))] {
        let app = TestApp::configured(|builder| builder, Config { gate, ..Config::default() });
        let key = ("x-api-key", "vk_alice");
        let [video, transcript] = ["/api/video/fda4eREcaTQ", "/api/transcript/txManualAsr"];
        for path in [video, transcript, video, transcript] {
            app.send(Request::get(path).header(key.0, key.1).body(Body::empty()).unwrap()).await;
        }
        let [(video, ..), (transcript, ..)] =
            [video, transcript].map(|path| measure_hit(&app, path, key));
        assert_eq!(video, transcript);
        assert!(video <= 4, "{name:?}: {video}");
        let request = Request::get("/api/usage").header(key.0, key.1).body(Body::empty()).unwrap();
        let row = app.send(request).await.json()["days"][0]["callers"][0].clone();
        assert_eq!((row["name"].as_str(), &row["requests"]), (name, &7.into()), "{row}");
        assert_eq!(row["transcripts"], 3);
    }
}

/// The bytes that stay allocated for each entry, beyond the bytes of keys and bodies that `store` returns.
fn overhead_per_entry(entries: usize, store: impl FnOnce() -> usize) -> usize {
    let mut bytes = 0;
    let measured = measure(|| bytes = store());
    (usize::try_from(measured.bytes_current).unwrap() - bytes) / entries
}

#[test]
fn a_cache_entry_has_little_overhead_beyond_key_and_bodies() {
    let sim = Simulator::builder().keep_requests(0).build();
    let vidra = Vidra::builder()
        .key(ApiKey::new("demo-key"))
        .data_api_url("http://sim.invalid/youtube/v3")
        .transport(InProcess(sim.clone()))
        .build()
        .unwrap();
    let app = TestApp { sim, app: App::new(vidra.clone(), Config::default()) };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let ids = runtime.block_on(app.get("/api/playlist/PLsize5000/ids")).json();
    let ids = ids["videoIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap());
    let ids: Vec<VideoId> = ids.map(|id| VideoId::parse(id).unwrap()).collect();
    // Hash tables double when they are full: 1,500 further entries leave some capacity unused.
    let (first, ids) = ids[..2_500].split_at(1_000);
    let look_up = async |id: &VideoId| vidra.lookup(&Lookup::Video(*id)).await.unwrap().body.len();
    let get = async |id: &VideoId| {
        let request = Request::get(format!("/api/video/{id}")).header("accept-encoding", "gzip");
        let got = app.app.answer(request.body(Body::empty()).unwrap(), PEER).await;
        let is_gzip = got.headers().contains_key("content-encoding");
        let length = got.into_body().collect().await.unwrap().to_bytes().len();
        // An uncompressed response shares its body with the fetched record.
        format!("/api/video/{id}").len() + if is_gzip { length } else { 0 }
    };
    let total = |ids: &[VideoId], size: &dyn Fn(&VideoId) -> usize| ids.iter().map(size).sum();
    let record_size = |id: &VideoId| format!("video/{id}").len() + runtime.block_on(look_up(id));
    let response_size = |id: &VideoId| runtime.block_on(get(id));
    let _: usize = total(first, &response_size);
    let record = overhead_per_entry(ids.len(), || total(ids, &record_size));
    let response = overhead_per_entry(ids.len(), || total(ids, &response_size));
    println!("overhead per entry: fetched record {record} B, rendered response {response} B");
    assert!(record <= 600 && response <= 600, "{record} and {response}");
}
