//! Bounds on what YouTube and a store decide: the length of lists and of walks, and the form of records.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt;
use http::{HeaderMap, Request};
use serde_json::{Value, json};
use vidra::store::{Memory, Record, Store};
use vidra::transcript::Player;
use vidra::transport::{Answer, BoxFuture, Failure, Transport};
use vidra::{
    CacheOutcome, ChannelRef, CommentId, CommentQuery, ErrorKind, Lookup, PlaylistId, Reason,
    TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::Simulator;

use crate::sim;

/// A platform that answers the call with this number, counted from 0, with JSON.
#[derive(Clone)]
struct Platform {
    answer: fn(usize) -> Value,
    calls: Arc<AtomicUsize>,
}

impl Platform {
    /// A client of such a platform, and the number of its calls.
    fn client(answer: fn(usize) -> Value) -> (Vidra, Arc<AtomicUsize>) {
        let calls = Arc::default();
        let platform = Self { answer, calls: Arc::clone(&calls) };
        (sim::builder(&Simulator::new()).transport(platform).build().unwrap(), calls)
    }
}

impl Transport for Platform {
    fn exchange(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let body = (self.answer)(call).to_string().into();
        let answer = Answer { status: http::StatusCode::OK, headers: HeaderMap::new(), body };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn video() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

fn playlist() -> PlaylistId {
    PlaylistId::parse("PLsize500").unwrap()
}

fn empty_items(count: usize) -> Value {
    json!({ "items": vec![json!({}); count] })
}

#[tokio::test(start_paused = true)]
async fn review_s3_a_list_with_too_many_elements_is_a_malformed_answer() {
    let (vidra, _) = Platform::client(|_| empty_items(1_000));
    assert_eq!(vidra.video(video()).await.unwrap_err().kind(), ErrorKind::NotFound);
    let tables: [fn(usize) -> Value; 3] = [
        |_| empty_items(1_001),
        |_| json!({ "items": [{ "id": "quirkNoLike", "snippet": { "thumbnails": {} } }, {}], "x": vec![0; 5] }),
        |_| json!({ "items": vec![0; 1_001] }),
    ];
    for (answer, is_malformed) in tables.into_iter().zip([true, false, true]) {
        let (vidra, calls) = Platform::client(answer);
        let failed = vidra.video(video()).await;
        let is_upstream =
            failed.as_ref().is_err_and(|error| error.reason() == Reason::UpstreamFailed);
        assert_eq!(is_upstream, is_malformed, "{failed:?}");
        assert!(calls.load(Ordering::Relaxed) <= 3, "at most two retries");
    }
    // The tracks of a player.
    let tracks = |count: usize| {
        let track =
            json!({ "baseUrl": "https://www.youtube.com/api/timedtext?v=x", "languageCode": "en" });
        json!({
            "playabilityStatus": { "status": "OK" }, "videoDetails": { "videoId": "quirkNoLike" },
            "captions": { "playerCaptionsTracklistRenderer": { "captionTracks": vec![track; count] } },
        })
    };
    let parsed = |count| Player::parse(tracks(count).to_string().as_bytes(), video());
    assert_eq!(parsed(1_000).unwrap().tracks().len(), 1_000);
    assert_eq!(parsed(1_001).unwrap_err().reason(), Reason::PlatformChanged);
}

/// Every cue repeats the language of its track.
#[test]
fn review_s3_a_track_with_an_endless_language_is_none() {
    let tracks = |code: usize, name: usize| {
        let track = json!({
            "baseUrl": "https://www.youtube.com/api/timedtext?v=x", "languageCode": "e".repeat(code),
            "name": { "simpleText": "n".repeat(name) },
        });
        let player = json!({
            "playabilityStatus": { "status": "OK" }, "videoDetails": { "videoId": "quirkNoLike" },
            "captions": { "playerCaptionsTracklistRenderer": { "captionTracks": [track] } },
        });
        Player::parse(player.to_string().as_bytes(), video()).map(|it| it.tracks().to_vec())
    };
    assert_eq!(tracks(64, 1_000).unwrap()[0].language_name.len(), 1_000);
    assert_eq!(tracks(2, 1_001).unwrap()[0].language_name, "ee");
    assert!(tracks(65, 1).is_ok_and(|tracks| tracks.is_empty()) || tracks(65, 1).is_err());
}

/// A page with a fresh token.
fn page(call: usize, items: &[Value]) -> Value {
    json!({ "items": items, "nextPageToken": format!("token{call}") })
}

#[tokio::test(start_paused = true)]
async fn review_s7_a_walk_through_endless_pages_ends() {
    let empty: fn(usize) -> Value = |call| page(call, &[]);
    let full: fn(usize) -> Value = |call| {
        let id = format!("{call:011}");
        let entry =
            json!({ "contentDetails": { "videoId": id }, "status": { "privacyStatus": "public" } });
        page(call, &[entry])
    };
    for (answer, most) in [(empty, 20), (full, 1_000)] {
        let (vidra, calls) = Platform::client(answer);
        let error = vidra.playlist_ids(&playlist()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::UpstreamFailed, "{error}");
        assert_eq!(calls.load(Ordering::Relaxed), most);
        let (vidra, calls) = Platform::client(answer);
        vidra.playlist(&playlist()).await.unwrap_err();
        assert!(calls.load(Ordering::Relaxed) <= most + 25, "{calls:?}");
    }
    let private: fn(usize) -> Value = |call| page(call, &[json!({})]);
    let (vidra, calls) = Platform::client(private);
    let mut items = std::pin::pin!(vidra.playlist_videos(&playlist()));
    let error = items.try_next().await.unwrap_err();
    assert_eq!(error.reason(), Reason::UpstreamFailed, "{error}");
    assert_eq!(calls.load(Ordering::Relaxed), 1_001);
    let (vidra, calls) = Platform::client(private);
    let first = vidra.playlist_videos_page(&playlist(), None, 500).await.unwrap().body;
    assert_eq!((first.items.len(), calls.load(Ordering::Relaxed)), (0, 20));
    let (vidra, calls) = Platform::client(empty);
    vidra.comment_replies(&CommentId::parse("UgzQuirk").unwrap()).await.unwrap_err();
    assert_eq!(calls.load(Ordering::Relaxed), 20);
    let (vidra, calls) = Platform::client(empty);
    let all = CommentQuery::default().with_limit(2_000);
    vidra.comments(video(), &all).await.unwrap_err();
    assert_eq!(calls.load(Ordering::Relaxed), 20);
}

/// Every kind of record.
fn records() -> Vec<Lookup> {
    let transcript = VideoId::parse("txManualAsr").unwrap();
    vec![
        Lookup::Video(video()),
        Lookup::Channel(ChannelRef::parse("@fermata").unwrap()),
        Lookup::UploadIds(ChannelRef::parse("@fermata").unwrap()),
        Lookup::PlaylistInfo(playlist()),
        Lookup::PlaylistEntries(playlist()),
        Lookup::Comments(VideoId::parse("quirkHtmlCm").unwrap(), CommentQuery::top(2)),
        Lookup::Regions(None),
        Lookup::Languages(None),
        Lookup::Tracks(transcript),
        Lookup::Transcript(transcript, TranscriptQuery::default()),
    ]
}

#[tokio::test(start_paused = true)]
async fn review_s8_a_record_of_the_wrong_form_is_a_miss_and_is_replaced() {
    let sim = Simulator::new();
    let store = Arc::new(Memory::new(64 << 20));
    let client = || {
        let store: Arc<dyn Store> = Arc::<Memory>::clone(&store);
        sim::builder(&sim).cache_bytes(1 << 20).store(store).build().unwrap()
    };
    let other = |record: &Record, body: &str| Record {
        body: Bytes::from(body.to_owned()),
        ..record.clone()
    };
    for lookup in records() {
        let vidra = client();
        let right = vidra.lookup(&lookup).await.unwrap().body;
        vidra.settled().await;
        assert_eq!(
            client().lookup(&lookup).await.unwrap().outcome,
            CacheOutcome::Hit,
            "{lookup:?}"
        );
        let records = stored(&store, &right);
        for body in ["{}", "", "<html>sorry</html>", "null", "[{}]", "\"text\"", "[[", "{\"id\":7}"]
        {
            for (key, record) in &records {
                store.insert(key, other(record, body));
            }
            let vidra = client();
            let answer = vidra.lookup(&lookup).await.unwrap();
            assert_eq!(answer.outcome, CacheOutcome::Miss, "{lookup:?}: {body}");
            assert_eq!(answer.body, right, "{lookup:?}: {body}");
            vidra.settled().await;
            assert_eq!(stored(&store, &right).len(), records.len(), "{lookup:?}: replaced");
        }
        for (key, record) in &records {
            store.insert(key, Record { is_refusal: true, ..other(record, "{}") });
        }
        assert_eq!(client().lookup(&lookup).await.unwrap().body, right, "a wrong refusal");
    }
}

/// The records with this body, and their keys. A channel has several. That of a video has its details after a line
/// break.
fn stored(store: &Memory, body: &Bytes) -> Vec<(String, Record)> {
    let mut keys = vec![];
    store.each(|key, _| keys.push(key.to_owned()));
    let records = keys.into_iter().filter_map(|key| Some((store.peek(&key)?, key)));
    let details = [body, &b"\n"[..]].concat();
    let right =
        records.filter(|(record, _)| record.body == *body || record.body.starts_with(&details));
    right.map(|(record, key)| (key, record)).collect()
}

/// A search reads a bounded number of pages, and a list without an end costs a bounded number of units.
#[tokio::test(start_paused = true)]
async fn lists_of_records_are_bounded() {
    let (vidra, calls) =
        Platform::client(|call| page(call, &[json!({ "id": format!("Ug{call}") })]));
    let search = CommentQuery::default().with_search("nothing".to_owned());
    let mut cursor: Option<String> = None;
    for round in 1..=3 {
        let found = vidra.comment_threads_page(video(), &search, cursor.as_deref(), 500).await;
        let found = found.unwrap().body;
        assert_eq!((found.items.len(), calls.load(Ordering::Relaxed)), (0, 20 * round));
        assert!(found.next_cursor.is_some() && found.next_cursor != cursor);
        cursor = found.next_cursor;
    }
    // Short pages: as many as a read of so many items may cost.
    let (vidra, calls) =
        Platform::client(|call| page(call, &[json!({ "id": format!("Ug{call}") })]));
    let short = vidra.comment_threads_page(video(), &CommentQuery::default(), None, 500).await;
    assert_eq!((short.unwrap().body.items.len(), calls.load(Ordering::Relaxed)), (40, 40));

    // Empty pages with a token.
    let (vidra, calls) = Platform::client(|call| page(call, &[]));
    let channel = ChannelRef::parse("UCquirkNoUploads00000000").unwrap();
    let error = vidra.channel_playlists_page(&channel, None, 50).await.unwrap_err();
    assert_eq!((error.reason(), calls.load(Ordering::Relaxed)), (Reason::UpstreamFailed, 20));

    // Pages without end.
    let (vidra, calls) =
        Platform::client(|call| page(call, &[json!({ "id": format!("PL{call}") })]));
    let all = vidra.channel_playlists(&channel).try_collect::<Vec<_>>().await;
    assert_eq!(all.unwrap_err().reason(), Reason::UpstreamFailed);
    assert_eq!(calls.load(Ordering::Relaxed), 1_001);
}

/// Every thread has replies that are not on its page, and none has the words.
#[derive(Clone, Default)]
struct Chatter(Arc<AtomicUsize>);

impl Transport for Chatter {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let call = self.0.fetch_add(1, Ordering::Relaxed);
        let thread = |number: usize| {
            let id = format!("Ug{call}x{number}");
            json!({ "id": id, "snippet": { "totalReplyCount": 3 } })
        };
        let body = match request.uri().path().ends_with("/comments") {
            true => json!({ "items": [{ "id": format!("Ug{call}.reply") }] }),
            false => page(call, &(0..100).map(thread).collect::<Vec<_>>()),
        };
        let body = body.to_string().into();
        let answer = Answer { status: http::StatusCode::OK, headers: HeaderMap::new(), body };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// A search through all replies ends after those of about a hundred threads, and continues with the next one.
#[tokio::test(start_paused = true)]
async fn a_search_of_all_replies_is_bounded() {
    let chatter = Chatter::default();
    let transport = chatter.clone();
    let vidra = sim::builder(&Simulator::new()).transport(transport).build().unwrap();
    let query = CommentQuery::default().with_search("nothing".to_owned()).with_all_replies(true);
    let (mut cursor, mut before): (Option<String>, usize) = (None, 0);
    for _ in 0..3 {
        let found = vidra.comment_threads_page(video(), &query, cursor.as_deref(), 50).await;
        let found = found.unwrap().body;
        let calls = chatter.0.load(Ordering::Relaxed);
        assert!((101..=110).contains(&(calls - before)), "{} calls", calls - before);
        assert!(found.items.is_empty() && found.next_cursor.is_some());
        assert_ne!(found.next_cursor, cursor);
        (cursor, before) = (found.next_cursor, calls);
    }
}

#[test]
fn an_error_names_a_hundred_faults() {
    let faults = |count: usize| (0..count).map(|number| format!("{number}: wrong")).collect();
    let error = vidra::Error::invalid("The request is not valid", faults(100));
    assert_eq!(error.details().len(), 100);
    let error = vidra::Error::invalid("The request is not valid", faults(350_000));
    assert_eq!(error.details().len(), 101);
    assert_eq!(error.details()[100], "and 349900 more");
}
