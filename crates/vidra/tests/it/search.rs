//! Searches: few calls, odd answers of the platform, and honest refusals.

use futures_util::TryStreamExt;
use vidra::{
    ChannelRef, DateRange, Include, Page, QuotaLimits, Reason, SearchBilling, SearchItem,
    SearchKind, SearchLength, SearchOrder, SearchQuery, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::builder;

/// A client with a cache.
fn client(sim: &Simulator) -> Vidra {
    builder(sim).cache_bytes(64 << 20).build().unwrap()
}

fn query(text: &str) -> SearchQuery {
    SearchQuery::parse(text).unwrap()
}

async fn page(vidra: &Vidra, query: &SearchQuery, limit: usize) -> Page<SearchItem> {
    vidra.search(query, None, limit).await.unwrap().body
}

/// The calls for searches and for videos.
fn calls(sim: &Simulator) -> (u64, u64) {
    let record = sim.record();
    (record.calls_to(Endpoint::Search), record.calls_to(Endpoint::Videos))
}

#[tokio::test(start_paused = true)]
async fn pages_of_any_size_cost_one_search_and_one_call_for_fifty_videos() {
    let mut lists = vec![];
    for limit in [1, 7, 50] {
        let sim = Simulator::new();
        let vidra = client(&sim);
        let (mut cursor, mut found) = (None, vec![]);
        while calls(&sim).0 <= 1 {
            let page = vidra.search(&query("quirk million"), cursor.as_deref(), limit).await;
            let page = page.unwrap().body;
            assert!(page.items.len() <= limit);
            assert_eq!(page.total_estimate, Some(1_000_000));
            assert_eq!(calls(&sim).0, calls(&sim).1, "limit {limit}");
            if calls(&sim).0 == 1 {
                found.extend(page.items.iter().map(|item| item.id().to_owned()));
            }
            cursor = Some(page.next_cursor.unwrap());
        }
        lists.push(found);
    }
    assert!(lists[0].len() > 40);
    assert!(lists.iter().all(|list| *list == lists[0]));
}

#[tokio::test(start_paused = true)]
async fn results_are_cached_for_six_hours_and_shared() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let query = query("session");
    let (first, second) =
        tokio::join!(vidra.search(&query, None, 5), vidra.search(&query, None, 5));
    assert_eq!(first.unwrap().body, second.unwrap().body);
    assert_eq!(calls(&sim), (1, 1), "shared");
    // The case of letters and spaces do not count.
    page(&vidra, &SearchQuery::parse(" SESSION ").unwrap(), 50).await;
    assert_eq!(calls(&sim), (1, 1));
    tokio::time::advance(std::time::Duration::from_secs(5 * 3600)).await;
    page(&vidra, &query, 5).await;
    assert_eq!(calls(&sim), (1, 2), "the videos are older than their limit, the search is not");
    tokio::time::advance(std::time::Duration::from_secs(20 * 3600)).await;
    page(&vidra, &query, 5).await;
    assert_eq!(calls(&sim).0, 2);
}

#[tokio::test(start_paused = true)]
async fn the_parameters_reach_the_platform() {
    let sim = Simulator::new();
    let range = DateRange {
        since: DateRange::parse_since("2015-01-31").ok(),
        until: DateRange::parse_until("2025-01-31").ok(),
    };
    let query = query("a")
        .with_channel(ChannelRef::parse("@fermata").unwrap())
        .with_order(SearchOrder::Date)
        .with_range(range)
        .with_length(SearchLength::Medium)
        .with_region("DE".to_owned())
        .with_language(vidra::LanguageCode::parse("de").unwrap());
    page(&client(&sim), &query, 5).await;
    let record = sim.record();
    let sent = record.requests_to(Endpoint::Search).next().unwrap();
    let expected = [
        ("type", "video"),
        ("maxResults", "50"),
        ("q", "a"),
        ("order", "date"),
        ("safeSearch", "moderate"),
        ("publishedAfter", "2015-01-31T00:00:00Z"),
        ("publishedBefore", "2025-01-31T23:59:59Z"),
        ("videoDuration", "medium"),
        ("regionCode", "DE"),
        ("relevanceLanguage", "de"),
    ];
    for (name, value) in expected {
        assert_eq!(sent.parameter(name), Some(value), "{name}");
    }
    assert!(sent.parameter("channelId").unwrap().starts_with("UC"), "by id");
}

#[tokio::test(start_paused = true)]
async fn channels_and_playlists_are_found() {
    let vidra = client(&Simulator::new());
    let channels = page(&vidra, &query("fermata").with_kind(SearchKind::Channel), 50).await;
    assert!(
        matches!(&channels.items[..], [SearchItem::Channel(channel), ..] if channel.name == "Fermata Sessions")
    );
    let playlists = page(&vidra, &query("season").with_kind(SearchKind::Playlist), 50).await;
    let is_titled = |item: &SearchItem| matches!(item, SearchItem::Playlist(playlist) if playlist.title.to_lowercase().contains("season"));
    assert!(!playlists.items.is_empty() && playlists.items.iter().all(is_titled));
}

#[tokio::test(start_paused = true)]
async fn odd_answers_are_read() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let titles = |page: &Page<SearchItem>| page.items.len();
    for (words, least, most) in [
        ("quirk deleted", 10, 40),
        ("quirk channel among videos", 1, 49),
        ("quirk empty but total", 0, 0),
        ("quirk nothing", 0, 0),
        ("quirk no snippet", 1, 50),
        ("quirk million", 1, 50),
    ] {
        let page = page(&vidra, &query(words), 50).await;
        let count = titles(&page);
        assert!((least..=most).contains(&count), "{words}: {count}");
        assert!(page.items.iter().all(|item| matches!(item, SearchItem::Video(_))), "{words}");
    }
    // Titles of search results are escaped, those of videos are not.
    let escaped = query("quirk entities").with_kind(SearchKind::Playlist);
    let page = page(&vidra, &escaped, 50).await;
    let has_entity =
        |item: &SearchItem| matches!(item, SearchItem::Playlist(it) if it.title.contains("&amp;"));
    assert!(!page.items.iter().any(has_entity));
    // A stream lists each result once, and ends although tokens repeat.
    for words in ["quirk again", "quirk token loop", "quirk short page", "quirk empty page"] {
        let all: Vec<SearchItem> =
            vidra.search_all(&query(words), None).try_collect().await.unwrap();
        let mut ids: Vec<&str> = all.iter().map(SearchItem::id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{words}");
        assert!(count > 0, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejected_token_is_an_invalid_cursor() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let words = query("quirk million");
    let cursor = page(&vidra, &words, 50).await.next_cursor.unwrap();
    sim.inject(Fault::on(Endpoint::Search, Action::error("invalidPageToken")));
    let refused = vidra.search(&words, Some(&cursor), 50).await;
    assert_eq!(refused.unwrap_err().reason(), Reason::InvalidCursor);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_belongs_to_its_search() {
    let vidra = client(&Simulator::new());
    let cursor = page(&vidra, &query("a"), 1).await.next_cursor.unwrap();
    for (other, cursor) in [("b", &*cursor), ("a", "nonsense"), ("a", &cursor[1..])] {
        let error = vidra.search(&query(other), Some(cursor), 1).await.unwrap_err();
        assert_eq!(error.reason(), Reason::InvalidCursor, "{other} {cursor}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_searches_the_refusal_is_clean_and_the_rest_works() {
    let sim = Simulator::new();
    let limits = QuotaLimits::default().with_search(SearchBilling::OwnBucket(1));
    let vidra = builder(&sim).cache_bytes(64 << 20).quota(limits).build().unwrap();
    page(&vidra, &query("session"), 5).await;
    let error = vidra.search(&query("quartet"), None, 5).await.unwrap_err();
    assert_eq!(error.reason(), Reason::SearchQuotaExhausted);
    assert!(error.retry_after().is_some());
    page(&vidra, &query("session"), 5).await;
    assert_eq!(calls(&sim).0, 1, "cached results are still served");
    // The platform's own refusals: the searches of the day are used up, or too many came at once.
    for (refusal, reason) in [
        ("searchQuota", Reason::SearchQuotaExhausted),
        ("rateLimitExceeded", Reason::UpstreamRateLimited),
    ] {
        let sim = Simulator::new();
        let vidra = client(&sim);
        sim.inject(Fault::on(Endpoint::Search, Action::error(refusal)));
        let error = vidra.search(&query("duo"), None, 5).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{refusal}");
        let id = vidra::VideoId::parse("quirkNoLike").unwrap();
        vidra.video(id).await.unwrap_or_else(|error| panic!("{refusal}: {error:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_for_videos_does_not_cost_a_second_search() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    sim.inject(Fault::on(Endpoint::Videos, Action::error("quotaExceeded")));
    assert!(vidra.search(&query("session"), None, 5).await.is_err());
    sim.clear_faults();
    assert_eq!(calls(&sim).0, 1);
    let vidra = vidra.including(Include::DETAILS);
    let _ = vidra.search(&query("session"), None, 5).await;
    assert_eq!(calls(&sim).0, 1);
}
