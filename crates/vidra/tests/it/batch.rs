//! Transcripts of a whole playlist.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use serde_json::json;
use tokio::time::Instant;
use vidra::{
    BatchEvent, BatchQuery, BatchSummary, Pace, Pacing, PlaylistId, Reason, RetryPolicy,
    VideoTranscript, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client, total};

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

async fn run(vidra: &Vidra, id: &str, query: &BatchQuery) -> (Vec<VideoTranscript>, BatchSummary) {
    let events: Vec<BatchEvent> =
        vidra.playlist_transcripts(&playlist(id), query).try_collect().await.unwrap();
    let mut results: Vec<VideoTranscript> = vec![];
    let mut summary = None;
    for event in events {
        match event {
            BatchEvent::Result(result) => results.push(result),
            BatchEvent::Done(done) => assert!(summary.replace(done).is_none(), "one summary"),
            _ => {}
        }
    }
    results.sort_by_key(|result| result.position);
    (results, summary.expect("a summary at the end"))
}

/// The message of a failed result.
fn failure(result: &VideoTranscript) -> &str {
    result.transcript.as_ref().unwrap_err().message()
}

#[tokio::test]
async fn one_failed_entry_does_not_fail_the_others() {
    let (results, summary) =
        run(&client(&Simulator::new()), "PLquirkMixed", &BatchQuery::default()).await;
    assert_eq!((summary.total_videos, summary.requested_range), (12, [1, 12]));
    assert_eq!((summary.succeeded, summary.failed), (6, 6));
    assert!(results.iter().map(|result| result.position).eq(1..=12));
    for result in results {
        let fails = result.position % 2 == 0;
        assert_eq!(result.transcript.is_err(), fails, "{result:?}");
    }
}

#[tokio::test]
async fn ranges_are_positions_in_the_whole_playlist() {
    let vidra = client(&Simulator::new());
    let table = [
        (json!({"from": 3, "to": 5}), vec![3, 4, 5], [3, 5]),
        (json!({"from": 11}), vec![11, 12], [11, 12]),
        (json!({"to": 2}), vec![1, 2], [1, 2]),
        (json!({"from": 12, "to": 99}), vec![12], [12, 99]),
        (json!({"from": 13}), vec![], [13, 12]),
    ];
    for (body, positions, range) in table {
        let (results, summary) =
            run(&vidra, "PLquirkMixed", &BatchQuery::from_json(&body).unwrap()).await;
        assert!(
            results.iter().map(|result| result.position).eq(positions.iter().copied()),
            "{body}"
        );
        assert_eq!((summary.requested_range, summary.total_videos), (range, 12), "{body}");
    }
}

#[tokio::test]
async fn private_and_deleted_entries_fail_without_a_request() {
    let sim = Simulator::new();
    let (results, summary) = run(&client(&sim), "PLquirkUnavailable", &BatchQuery::default()).await;
    let gone: Vec<_> = results.iter().filter(|result| result.title.is_empty()).collect();
    assert!(!gone.is_empty() && gone.iter().all(|result| result.transcript.is_err()));
    assert_eq!(sim.record().calls_to(Endpoint::Player), summary.total_videos - gone.len() as u64);
    for result in gone {
        // Every fifth is private and every seventh deleted.
        let expected = match result.position {
            position if position % 5 == 0 => {
                (format!("Video is private: {}", result.video_id.unwrap()), Reason::VideoPrivate)
            }
            _ => (format!("Video not found: {}", result.video_id.unwrap()), Reason::VideoNotFound),
        };
        let error = result.transcript.as_ref().unwrap_err();
        assert_eq!((error.message().to_owned(), error.reason()), expected, "{}", result.position);
    }
}

#[tokio::test]
async fn an_entry_has_the_error_of_a_single_request() {
    let sim = Simulator::new();
    let french = BatchQuery::from_json(&json!({"lang": "fr", "to": 1})).unwrap();
    let (results, _) = run(&client(&sim), "PLquirkMixed", &french).await;
    let id = results[0].video_id.unwrap();
    let error = results[0].transcript.as_ref().unwrap_err();
    assert_eq!(error.message(), format!("Video has no captions in that language: {id}"));
    assert!(error.details()[0].starts_with("available: "), "{error:?}");
    assert_eq!(error.reason(), Reason::LanguageUnavailable);
    let json = serde_json::to_value(&results[0]).unwrap();
    let sentence = format!("{error}; {}", error.details()[0]);
    assert_eq!(
        (&json["error"], &json["reason"]),
        (&json!(sentence), &json!("language_unavailable"))
    );

    sim.block_after(0);
    let (results, _) = run(&client(&sim), "PLsize1", &BatchQuery::default()).await;
    let error = "YouTube blocks requests from the address of this service";
    assert_eq!(failure(&results[0]), error);

    let (results, _) = run(&client(&sim), "PLquirkBareItems", &BatchQuery::default()).await;
    let error = "Video not found: entry 1";
    assert_eq!((results[0].video_id, failure(&results[0])), (None, error));
    assert_eq!(serde_json::to_value(&results[0]).unwrap()["videoId"], "");
}

#[tokio::test(start_paused = true)]
async fn as_many_entries_are_in_flight_as_requested() {
    let latency = Duration::from_millis(100);
    for concurrency in [1, 3, 16] {
        let sim = Simulator::builder().latency(latency).build();
        let query = BatchQuery::default().with_concurrency(concurrency).with_to(48);
        let started = Instant::now();
        let (results, summary) = run(&client(&sim), "PLsize200", &query).await;
        assert_eq!((results.len(), summary.succeeded, summary.total_videos), (48, 48, 200));
        let peak = sim.record().peak_keyless;
        assert_eq!(peak as usize, concurrency, "transcripts in flight at once");
        let rounds = 48_u32.div_ceil(concurrency as u32) * 2;
        let pages = if concurrency == 16 { rounds.max(4) } else { rounds };
        assert_eq!(
            started.elapsed(),
            latency * (1 + pages),
            "the first page, then two exchanges each"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn entries_start_while_later_pages_are_fetched() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let query = BatchQuery::default().with_concurrency(16);
    let started = Instant::now();
    let mut events =
        std::pin::pin!(client(&sim).playlist_transcripts(&playlist("PLsize500"), &query));
    let first = events.next().await.unwrap().unwrap();
    let expected = (Some(500), Duration::from_millis(100));
    assert_eq!((total(&first), started.elapsed()), expected);
    let second = events.next().await.unwrap().unwrap();
    assert!(matches!(second, BatchEvent::Result(_)));
    assert_eq!(started.elapsed(), Duration::from_millis(300), "a page, a player, the captions");
}

#[tokio::test(start_paused = true)]
async fn entries_start_after_the_first_page_also_on_a_refresh() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    vidra.playlist_ids(&playlist("PLsize500")).await.unwrap();
    let started = Instant::now();
    let query = BatchQuery::default().with_concurrency(1);
    let mut events =
        std::pin::pin!(vidra.refreshing().playlist_transcripts(&playlist("PLsize500"), &query));
    events.next().await.unwrap().unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_retried_entry_keeps_its_slot() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    // The player fails once for the first entry. During its backoff the entry may hold more than its
    // slot, and no other entry must wait for that.
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)).once());
    let query = BatchQuery::default().with_concurrency(1).with_to(10);
    let started = Instant::now();
    let (results, _) = run(&client(&sim), "PLsize50", &query).await;
    assert!(results.iter().all(|result| result.transcript.is_ok()));
    assert_eq!(sim.record().peak_keyless, 1);
    let exchanges = Duration::from_millis(100 * (1 + 10 * 2 + 1));
    let backoff = RetryPolicy::default().delay;
    assert!((exchanges..=exchanges + backoff).contains(&started.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn after_a_block_only_requests_in_flight_follow() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    sim.block_after(40);
    let query = BatchQuery::default().with_concurrency(8);
    let vidra = builder(&sim)
        .block_pause(Duration::from_secs(900))
        .pacing(Pacing::At(Pace { burst: 45, per_hour: 3600 }))
        .build()
        .unwrap();
    let started = Instant::now();
    let (results, summary) = run(&vidra, "PLsize200", &query).await;
    assert_eq!((results.len(), summary.total_videos), (200, 200));
    assert!(summary.succeeded >= 32 && summary.failed >= 160, "{summary:?}");
    assert!(sim.record().blocked <= 8, "{} calls met the block", sim.record().blocked);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let last = failure(results.last().unwrap());
    let same = results
        .iter()
        .filter(|result| result.transcript.is_err() && failure(result) == last)
        .count();
    assert!(same >= 150, "all others report the first failure: {last}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_reset_is_no_block() {
    let sim = Simulator::new();
    let ids = client(&sim).playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    sim.inject(Fault::on(Endpoint::Player, Action::Reset).when("videoId", ids[9].as_str()));
    let (results, summary) = run(&client(&sim), "PLsize50", &BatchQuery::default()).await;
    assert_eq!((summary.succeeded, summary.failed), (49, 1));
    assert!(results[9].transcript.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_paced_batch_leaves_turns_for_others() {
    let sim = Simulator::new();
    let vidra =
        builder(&sim).pacing(Pacing::At(Pace { burst: 3, per_hour: 1000 })).build().unwrap();
    let mut events =
        Box::pin(vidra.playlist_transcripts(&playlist("PLsize200"), &BatchQuery::default()));
    for _ in 0..7 {
        events.next().await.unwrap().unwrap();
    }
    let id = vidra::VideoId::parse("txOneCue___").unwrap();
    let single = vidra.transcript(id, &vidra::TranscriptQuery::default()).await;
    assert!(single.is_ok(), "{single:?}");
}

#[tokio::test]
async fn skipped_videos_are_not_fetched() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let first = BatchQuery::default().with_to(3);
    let (known, _) = run(&vidra, "PLsize50", &first).await;
    let ids: Vec<&str> =
        known.iter().map(|result| result.video_id.as_ref().unwrap().as_str()).collect();
    let calls = sim.record().calls;
    let body = json!({"from": 2, "to": 4, "skip": ids});
    let (results, summary) =
        run(&client(&sim), "PLsize50", &BatchQuery::from_json(&body).unwrap()).await;
    let positions: Vec<_> = results.iter().map(|result| result.position).collect();
    assert_eq!(positions, [4]);
    assert_eq!((summary.total_videos, summary.succeeded, summary.failed), (50, 1, 0));
    assert_eq!(summary.requested_range, [2, 4]);
    // The page of the playlist, the player and the captions.
    assert_eq!(sim.record().calls - calls, 3);
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_clamped_to_1_and_20() {
    // The requested concurrency, and the number of entries in flight at once.
    for (concurrency, peak) in [(0, 1), (20, 20), (21, 20), (usize::MAX, 20)] {
        let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
        let query = BatchQuery::default().with_concurrency(concurrency);
        let (results, summary) = run(&client(&sim), "PLsize200", &query).await;
        assert!(results.iter().map(|result| result.position).eq(1..=200), "{concurrency}");
        assert_eq!((summary.succeeded, summary.failed), (200, 0), "{concurrency}");
        assert_eq!(sim.record().peak_keyless, peak, "{concurrency} requested");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_ends_the_batch() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = client(&sim);
    let query = BatchQuery::default().with_concurrency(4);
    let mut events = Box::pin(vidra.playlist_transcripts(&playlist("PLsize500"), &query));
    for _ in 0..2 {
        events.next().await.unwrap().unwrap();
    }
    drop(events);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let calls = sim.record().calls;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((sim.record().calls, sim.record().in_flight), (calls, 0));
}

#[tokio::test(start_paused = true)]
async fn entries_past_the_batch_deadline_fail() {
    let sim = Simulator::new();
    let vidra = builder(&sim)
        .pacing(Pacing::At(Pace { burst: 5, per_hour: 3600 }))
        .batch_deadline(Duration::from_secs(10))
        .build()
        .unwrap();
    let events: Vec<_> = vidra
        .playlist_transcripts(&playlist("PLsize50"), &BatchQuery::default())
        .try_collect()
        .await
        .unwrap();
    let waiting = events.iter().filter(|event| matches!(event, BatchEvent::Waiting(_))).count();
    let Some(BatchEvent::Done(summary)) = events.last() else { panic!("no summary") };
    assert!(waiting > 0, "the wait is reported");
    assert!(
        (14..=16).contains(&summary.succeeded) && summary.failed == 50 - summary.succeeded,
        "{summary:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_is_reported_at_once_and_then_every_15_seconds() {
    let pace = Pacing::At(Pace { burst: 1, per_hour: 1800 });
    let vidra = builder(&Simulator::new()).pacing(pace).build().unwrap();
    let query = BatchQuery::default().with_concurrency(8);
    let started = Instant::now();
    let mut reports = vec![];
    let mut events = std::pin::pin!(vidra.playlist_transcripts(&playlist("PLsize50"), &query));
    while let Some(event) = events.next().await {
        if let BatchEvent::Waiting(_) = event.unwrap() {
            reports.push(started.elapsed().as_secs());
        }
    }
    assert_eq!(started.elapsed().as_secs(), 98, "one every two seconds");
    // An entry reports when it starts to wait, and one starts every two seconds.
    assert_eq!(reports, [0, 16, 32, 48, 64, 80]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_page_of_the_playlist_ends_the_results_with_an_error() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    sim.inject(Fault::on(Endpoint::PlaylistItems, Action::error("backendError")).from_call(4));
    let query = BatchQuery::default().with_concurrency(16);
    let vidra = client(&sim);
    let mut events: Vec<_> =
        vidra.playlist_transcripts(&playlist("PLsize500"), &query).collect().await;
    let last = events.pop().unwrap().unwrap_err();
    assert_eq!(last.kind(), vidra::ErrorKind::Upstream, "{last}");
    assert!(matches!(events.remove(0), Ok(BatchEvent::Started { total_videos: Some(500), .. })));
    assert_eq!(events.len(), 150, "the entries of three pages come before it");
    assert!(events.iter().all(|event| matches!(event, Ok(BatchEvent::Result(_)))));
    assert_eq!(sim.record().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_playlist_is_listed_at_most_one_page_ahead() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let query = BatchQuery::default().with_concurrency(1);
    let vidra = client(&sim);
    let mut events = std::pin::pin!(vidra.playlist_transcripts(&playlist("PLsize5000"), &query));
    for _ in 0..200 {
        events.next().await.unwrap().unwrap();
    }
    let pages = sim.record().calls_to(Endpoint::PlaylistItems);
    assert!(pages <= 6, "{pages} pages for 200 results");
}

#[tokio::test]
async fn a_playlist_that_cannot_be_read_is_an_error() {
    for (id, kind) in [
        ("PLquirkUnknown", vidra::ErrorKind::NotFound),
        ("PLquirkPrivate", vidra::ErrorKind::Forbidden),
    ] {
        let vidra = client(&Simulator::new());
        let events: Vec<_> =
            vidra.playlist_transcripts(&playlist(id), &BatchQuery::default()).collect().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].as_ref().unwrap_err().kind(), kind);
    }
}

#[test]
fn bodies_are_parsed_and_every_invalid_field_is_listed() {
    let good = BatchQuery::from_json(
        &json!({"concurrency": "20", "from": 2.0, "to": "9", "lang": "de,en"}),
    )
    .unwrap();
    assert_eq!((good.concurrency, good.from, good.to), (20, Some(2), Some(9)));
    assert_eq!(BatchQuery::from_json(&json!({})).unwrap(), BatchQuery::default());
    let table = [
        (json!({"concurrency": 0}), vec!["concurrency: must be a whole number from 1 to 20"]),
        (json!({"concurrency": 21}), vec!["concurrency: must be a whole number from 1 to 20"]),
        (json!({"concurrency": 2.5}), vec!["concurrency: must be a whole number from 1 to 20"]),
        (json!({"concurrency": "many"}), vec!["concurrency: must be a whole number from 1 to 20"]),
        (json!({"from": 0}), vec!["from: must be a whole number, 1 or more"]),
        (
            json!({"to": 9_223_372_036_854_775_808_u64}),
            vec!["to: must be a whole number, 1 or more"],
        ),
        (json!({"from": 5, "to": 4}), vec!["from: is greater than to"]),
        (json!({"lang": 5}), vec!["lang: must be a language code, or several separated by commas"]),
        (
            json!({"speed": 9, "to": null}),
            vec!["speed: unknown field", "to: must be a whole number, 1 or more"],
        ),
        (json!({"skip": "dQw4w9WgXcQ"}), vec!["skip: must be a list of at most 4000 video ids"]),
        (json!({"skip": ["short"]}), vec!["skip: must be a list of at most 4000 video ids"]),
        (json!([]), vec!["body: must be an object"]),
    ];
    for (body, faults) in table {
        assert_eq!(BatchQuery::from_json(&body).unwrap_err().details(), faults, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_video_is_fetched_once() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).cache_bytes(1 << 20).build().unwrap();
    let query = BatchQuery::default().with_concurrency(20);
    let batch = || run(&vidra, "PLquirkDuplicates", &query);
    // Two batches at once, so that each video is requested while its fetch is in flight.
    for (results, summary) in <[_; 2]>::from(tokio::join!(batch(), batch())) {
        assert_eq!((results.len(), summary.succeeded), (60, 60));
    }
    let record = sim.record();
    let calls = [Endpoint::Player, Endpoint::TimedText].map(|endpoint| record.calls_to(endpoint));
    assert_eq!(calls, [20, 20], "20 different videos");
}

#[tokio::test(start_paused = true)]
async fn entries_that_wait_for_the_same_video_do_not_block_its_retry() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    for concurrency in [1, 3] {
        // The first request of a video fails, and another entry of that video takes the slot meanwhile.
        sim.inject(Fault::on(Endpoint::Player, Action::status(503)).times(concurrency as u64));
        // The backoff is so long that the other entries of the video start.
        let retry = RetryPolicy { retries: 2, delay: Duration::from_secs(600) };
        let vidra = builder(&sim).cache_bytes(1 << 20).retry(retry).build().unwrap();
        let query = BatchQuery::default().with_concurrency(concurrency);
        let batch = run(&vidra, "PLquirkDuplicates", &query);
        let (results, _) = tokio::time::timeout(Duration::from_secs(1200), batch).await.unwrap();
        assert_eq!(results.len(), 60);
    }
}
