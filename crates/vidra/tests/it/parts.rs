//! A request for a part of a playlist pays for that part only.

use std::time::Duration;

use futures_util::TryStreamExt;
use serde_json::json;
use vidra::{
    ApiKey, BatchEvent, BatchQuery, BatchSummary, Lifetimes, PlaylistId, Reason, Resource,
    Selected, Selection, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client};

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

async fn summary(vidra: &Vidra, id: &str, body: serde_json::Value) -> BatchSummary {
    let query = BatchQuery::from_json(&body).unwrap();
    let events: Vec<BatchEvent> =
        vidra.playlist_transcripts(&playlist(id), &query).try_collect().await.unwrap();
    match events.into_iter().last() {
        Some(BatchEvent::Done(summary)) => summary,
        other => panic!("{other:?}"),
    }
}

async fn select(vidra: &Vidra, id: &str, body: serde_json::Value) -> Selected {
    let selection = Selection::from_json(&body).unwrap();
    vidra.query_playlist(&playlist(id), &selection).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn users_1_a_batch_lists_only_the_pages_up_to_its_end() {
    // The body of the request, and the pages that it needs.
    let table = [
        (json!({"from": 1, "to": 2}), 1, 2),
        (json!({"to": 50}), 1, 50),
        (json!({"from": 49, "to": 51}), 2, 3),
        (json!({"from": 120, "to": 121}), 3, 2),
    ];
    for (body, pages, results) in table {
        let sim = Simulator::new();
        let summary = summary(&client(&sim), "PLsize20000", body.clone()).await;
        assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), pages, "{body}");
        assert_eq!((summary.total_videos, summary.succeeded), (20_000, results), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_totals_are_exact_when_the_list_was_read_to_its_end() {
    let sim = Simulator::new();
    for (to, pages) in [(51, 2), (9_999, 2)] {
        sim.reset_record();
        let found = summary(&client(&sim), "PLsize51", json!({"from": 51, "to": to})).await;
        assert_eq!((found.total_videos, found.succeeded), (51, 1));
        assert_eq!(found.requested_range, [51, to]);
        assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), pages);
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_a_query_for_a_range_stops_after_its_last_video() {
    let sim = Simulator::new();
    let found = select(&client(&sim), "PLsize5000", json!({"range": {"end": 5}})).await;
    assert_eq!((found.playlist.video_count, found.original_count), (5, 5_000));
    assert_eq!(found.playlist.unavailable_count, 0);
    assert_eq!(sim.record().calls, 3, "the playlist, one page and its videos");
    let whole = client(&sim).playlist(&playlist("PLsize500")).await.unwrap();
    for (start, end) in [(1, 5), (48, 52), (50, 50), (120, 130), (499, 9_999), (501, 600)] {
        let body = json!({"range": {"start": start, "end": end}});
        let part = select(&client(&sim), "PLsize500", body).await;
        let end = end.min(500);
        let expected = whole.videos.get(start - 1..end).unwrap_or_default();
        assert_eq!(part.playlist.videos, expected, "{start} to {end}");
        assert_eq!((&part.playlist.title, part.original_count), (&whole.title, 500));
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_a_range_counts_available_videos() {
    // 30 entries, of which 20 are available.
    let sim = Simulator::new();
    let whole = client(&sim).playlist(&playlist("PLquirkUnavailable")).await.unwrap();
    assert_eq!((whole.video_count, whole.unavailable_count), (20, 10));
    let body = json!({"range": {"start": 11, "end": 20}});
    let part = select(&client(&sim), "PLquirkUnavailable", body).await;
    assert_eq!(part.playlist.videos, whole.videos[10..]);
    assert_eq!((part.original_count, part.playlist.unavailable_count), (30, 0));
    // With a filter, a sort or an open end the whole playlist is needed, and counted as before.
    for body in [
        json!({"range": {"start": 1}}),
        json!({"range": {"end": 20}, "sort": {"field": "views"}}),
        json!({"range": {"end": 20}, "filter": {"views": {"min": 0}}}),
    ] {
        let all = select(&client(&sim), "PLquirkUnavailable", body).await;
        assert_eq!((all.original_count, all.playlist.unavailable_count), (20, 10));
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_a_part_of_a_missing_playlist_costs_one_unit() {
    let sim = Simulator::new();
    let metered = client(&sim).metered();
    let selection = Selection::from_json(&json!({"range": {"end": 2}})).unwrap();
    let missing = metered.query_playlist(&playlist("PLnothing"), &selection).await.unwrap_err();
    assert_eq!(missing.reason(), Reason::PlaylistNotFound);
    assert_eq!(metered.cost().units(), 1);
}

/// A client with a cache in which playlists are fresh for a minute.
fn caching(sim: &Simulator) -> Vidra {
    let minute = Duration::from_secs(60);
    let lifetimes = Lifetimes::default().with_ttl(Resource::Playlist, minute);
    let builder = builder(sim).cache_bytes(64 << 20).key(ApiKey::new("demo-key"));
    builder.lifetimes(lifetimes).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn users_1_a_part_uses_a_fresh_list_and_renews_no_stale_one() {
    let sim = Simulator::new();
    let vidra = caching(&sim);
    vidra.playlist_ids(&playlist("PLsize500")).await.unwrap();
    let pages = || sim.record().calls_to(Endpoint::PlaylistItems);
    assert_eq!(pages(), 10);
    let part = async || summary(&vidra, "PLsize500", json!({"to": 2})).await.total_videos;
    assert_eq!((part().await, pages()), (500, 10), "the list is fresh");
    tokio::time::advance(Duration::from_secs(120)).await;
    assert_eq!((part().await, pages()), (500, 11), "one page, not all ten");
    sim.inject(Fault::on(Endpoint::PlaylistItems, Action::error("backendError")));
    assert_eq!(part().await, 500, "during an outage, the stale list");
}

#[tokio::test(start_paused = true)]
async fn users_1_a_part_is_cached_and_not_paid_for_again() {
    let sim = Simulator::new();
    let vidra = caching(&sim);
    let pages = || sim.record().calls_to(Endpoint::PlaylistItems);
    let part = async |to: u64| summary(&vidra, "PLsize5000", json!({"to": to})).await.total_videos;
    assert_eq!((part(2).await, pages()), (5_000, 1));
    assert_eq!((part(50).await, pages()), (5_000, 1), "on the same page");
    assert_eq!((part(60).await, pages()), (5_000, 3), "two pages, from the first one on");
    assert_eq!((part(51).await, pages()), (5_000, 3));
    let found = select(&vidra, "PLsize5000", json!({"range": {"end": 70}})).await;
    assert_eq!((found.original_count, found.playlist.video_count, pages()), (5_000, 70, 3));
    // A batch of the whole list does not take the start for the whole.
    let rest = summary(&vidra, "PLsize5000", json!({"from": 4_999})).await;
    assert_eq!((rest.total_videos, rest.succeeded, pages()), (5_000, 2, 103));
    tokio::time::advance(Duration::from_secs(120)).await;
    assert_eq!((part(2).await, pages()), (5_000, 104), "stale");
}

#[tokio::test(start_paused = true)]
async fn users_1_a_cached_start_with_too_few_available_videos_is_not_the_end() {
    let sim = Simulator::new();
    let whole = client(&sim).playlist(&playlist("PLsize200")).await.unwrap();
    let vidra = caching(&sim);
    summary(&vidra, "PLsize200", json!({"to": 1})).await;
    // All videos of the first page are private or deleted.
    let nothing = Action::Status { status: 200, body: "{\"items\":[]}".into(), retry_after: None };
    sim.inject(Fault::on(Endpoint::Videos, nothing).once());
    let part = select(&vidra, "PLsize200", json!({"range": {"end": 10}})).await;
    assert_eq!(part.playlist.videos[..10], whole.videos[50..60]);
    assert_eq!((part.playlist.video_count, part.original_count), (10, 200));
}

/// A batch with a slow reader must not undo the work of a caller that walks further meanwhile.
#[tokio::test(start_paused = true)]
async fn users_1_a_shorter_start_does_not_replace_a_longer_one() {
    let sim = Simulator::new();
    let vidra = caching(&sim);
    let pages = || sim.record().calls_to(Endpoint::PlaylistItems);
    let query = BatchQuery { to: Some(150), ..BatchQuery::default() };
    let mut batch = std::pin::pin!(vidra.playlist_transcripts(&playlist("PLsize5000"), &query));
    batch.try_next().await.unwrap();
    // A refresh walks on its own.
    select(&vidra.refreshing(), "PLsize5000", json!({"range": {"end": 200}})).await;
    while batch.try_next().await.unwrap().is_some() {}
    assert_eq!(pages(), 4 + 3);
    select(&vidra, "PLsize5000", json!({"range": {"end": 200}})).await;
    assert_eq!(pages(), 4 + 3, "the longer start is cached");
    // A refresh replaces what it bypasses.
    select(&vidra.refreshing(), "PLsize5000", json!({"range": {"end": 5}})).await;
    select(&vidra, "PLsize5000", json!({"range": {"end": 200}})).await;
    assert_eq!(pages(), 4 + 3 + 1 + 4);
}
