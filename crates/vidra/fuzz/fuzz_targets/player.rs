#![no_main]
//! Sends the bytes as the player's response through the public operation. It returns lines or a typed error, and never
//! panics.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{RetryPolicy, TranscriptQuery, Transport, VideoId, Vidra};

/// Answers every player call with the same bytes.
#[derive(Clone, Default)]
struct Player(Arc<Mutex<Bytes>>);

impl Transport for Player {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let body = match request.uri().path() {
            "/youtubei/v1/player" => self.0.lock().expect("one thread").clone(),
            "/api/timedtext" => {
                Bytes::from_static(b"<transcript><text start=\"0\" dur=\"1\">read</text></transcript>")
            }
            path => panic!("unexpected request for {path}"),
        };
        let answer = Answer { status: StatusCode::OK, headers: HeaderMap::new(), body };
        Box::pin(async move { Ok(answer) })
    }
}

static WORLD: LazyLock<(Runtime, Player, Vidra)> = LazyLock::new(|| {
    let player = Player::default();
    let vidra = Vidra::builder()
        .web_url("http://fuzz.invalid")
        .transport(player.clone())
        .retry(RetryPolicy { retries: 0, delay: Duration::ZERO })
        .block_pause(Duration::ZERO)
        .build().unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    (runtime, player, vidra)
});

fuzz_target!(|body: &[u8]| {
    let (runtime, player, vidra) = &*WORLD;
    *player.0.lock().expect("one thread") = Bytes::copy_from_slice(body);
    let id = VideoId::parse("dQw4w9WgXcQ").expect("an id");
    match runtime.block_on(vidra.transcript(id, &TranscriptQuery::default())) {
        Ok(lines) => assert_eq!(lines[0].text, "read"),
        Err(error) => assert!(error.reason().is_some(), "{error:?}"),
    }
});
