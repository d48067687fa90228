//! Lists that are read page by page pay only for the pages that are read.

use futures_util::{StreamExt, TryStreamExt, pin_mut};
use vidra::{
    ChannelRef, DateRange, ListedVideo, Page, PlaylistId, QuotaLimits, Reason, Video, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client};

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn channel(id: &str) -> ChannelRef {
    ChannelRef::parse(id).unwrap()
}

async fn page(vidra: &Vidra, id: &str, cursor: Option<&str>, limit: usize) -> Page<ListedVideo> {
    vidra.playlist_videos_page(&playlist(id), cursor, limit).await.unwrap().body
}

/// All pages of a playlist with this limit, and their number.
async fn pages(vidra: &Vidra, id: &str, limit: usize) -> (Vec<ListedVideo>, usize) {
    let (mut all, mut cursor, mut count) = (vec![], None, 0);
    loop {
        let page = page(vidra, id, cursor.as_deref(), limit).await;
        assert!(page.items.len() <= limit);
        all.extend(page.items);
        count += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            return (all, count);
        }
    }
}

fn calls(sim: &Simulator) -> (u64, u64) {
    let record = sim.record();
    (record.calls_to(Endpoint::PlaylistItems), record.calls_to(Endpoint::Videos))
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_only_itself() {
    // The limit, and the calls for pages and for videos.
    for (limit, pages, videos) in [(1, 1, 1), (50, 1, 1), (51, 2, 2), (120, 3, 3), (500, 10, 10)] {
        let sim = Simulator::new();
        let page = page(&client(&sim), "PLsize20000", None, limit).await;
        assert_eq!(page.items.len(), limit);
        assert!(page.next_cursor.is_some());
        assert_eq!(calls(&sim), (pages, videos), "limit {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_any_size_give_the_whole_list_once() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    for id in ["PLsize1", "PLsize49", "PLsize50", "PLsize51", "PLsize120", "PLquirkUnavailable"] {
        let whole = vidra.playlist(&playlist(id)).await.unwrap();
        for limit in [1, 7, 50, 51, 500] {
            let (listed, _) = pages(&vidra, id, limit).await;
            let videos: Vec<_> = listed.iter().map(|item| item.video.clone()).collect();
            assert_eq!(videos, whole.videos, "{id} by {limit}");
            assert!(listed.is_sorted_by_key(|item| item.position));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn positions_count_entries_that_are_not_listed() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let ids = vidra.playlist_ids(&playlist("PLquirkUnavailable")).await.unwrap().video_ids;
    let (listed, _) = pages(&vidra, "PLquirkUnavailable", 2).await;
    assert!(listed.len() < ids.len(), "some are private or deleted");
    for item in listed {
        assert_eq!(ids[item.position - 1], item.video.id);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fetched_twice() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let first = page(&vidra, "PLsize120", None, 10).await;
    page(&vidra, "PLsize120", first.next_cursor.as_deref(), 40).await;
    assert_eq!(calls(&sim), (1, 1), "both are on the first upstream page");
    pages(&vidra, "PLsize120", 50).await;
    assert_eq!(calls(&sim), (3, 3));

    // A complete list is used too.
    vidra.playlist(&playlist("PLsize500")).await.unwrap();
    let before = calls(&sim);
    let (listed, _) = pages(&vidra, "PLsize500", 100).await;
    assert_eq!((listed.len(), calls(&sim)), (500, before));
}

#[tokio::test(start_paused = true)]
async fn a_stream_fetches_no_page_that_is_not_read() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let videos = vidra.playlist_videos(&playlist("PLsize20000"));
    pin_mut!(videos);
    assert_eq!(calls(&sim), (0, 0));
    for number in 1..=50 {
        assert_eq!(videos.next().await.unwrap().unwrap().position, number);
    }
    assert_eq!(calls(&sim), (1, 1));
    assert_eq!(videos.next().await.unwrap().unwrap().position, 51);
    assert_eq!(calls(&sim), (2, 2));
    let all: Vec<_> = vidra.playlist_videos(&playlist("PLsize500")).try_collect().await.unwrap();
    assert_eq!(all.len(), 500);
}

#[tokio::test(start_paused = true)]
async fn cursors_of_other_lists_are_refused() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let cursor = page(&vidra, "PLsize120", None, 50).await.next_cursor.unwrap();
    sim.reset_record();
    let range = DateRange::default();
    let since = DateRange { since: Some(DateRange::parse_since("2020-01-01").unwrap()), ..range };
    let uploads = vidra.uploads_page(&channel("@fermata"), range, None, 5).await.unwrap().body;
    let of_uploads = uploads.next_cursor.unwrap();
    let refused = [
        vidra.playlist_videos_page(&playlist("PLsize500"), Some(&cursor), 5).await.unwrap_err(),
        vidra.playlist_videos_page(&playlist("PLsize120"), Some("x"), 5).await.unwrap_err(),
        vidra.playlist_videos_page(&playlist("PLsize120"), Some(&of_uploads), 5).await.unwrap_err(),
        vidra.uploads_page(&channel("@fermata"), since, Some(&of_uploads), 5).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.reason(), Reason::InvalidCursor, "{error}");
    }
    let stream = vidra.playlist_videos_from(&playlist("PLsize500"), Some(&cursor));
    let items: Vec<_> = stream.collect().await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].as_ref().unwrap_err().reason(), Reason::InvalidCursor);
    assert_eq!(calls(&sim).0, 1, "only the page of the uploads");
}

#[tokio::test(start_paused = true)]
async fn users_6_a_page_that_breaks_off_keeps_what_came() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let failing = Fault::on(Endpoint::PlaylistItems, Action::error("backendError"));
    sim.inject(failing.from_call(3));
    let part = page(&vidra, "PLsize500", None, 500).await;
    assert_eq!(part.items.len(), 100, "two pages came");
    let next =
        vidra.playlist_videos_page(&playlist("PLsize500"), part.next_cursor.as_deref(), 500).await;
    assert_eq!(next.unwrap_err().reason(), Reason::UpstreamFailed);
    sim.clear_faults();
    let rest = page(&vidra, "PLsize500", part.next_cursor.as_deref(), 500).await;
    assert_eq!((rest.items.len(), rest.items[0].position), (400, 101));
    assert!(rest.next_cursor.is_none());

    // The videos of the first pages are paid for before more pages.
    let sim = Simulator::new();
    let limits = QuotaLimits::default().with_default(6);
    let vidra = builder(&sim).quota(limits).build().unwrap();
    let first = page(&vidra, "PLsize500", None, 500).await;
    assert_eq!((first.items.len(), calls(&sim)), (100, (4, 2)));
    assert!(first.next_cursor.is_some());

    // Without an item it is the error.
    let limits = QuotaLimits::default().with_default(1);
    let vidra = builder(&sim).quota(limits).build().unwrap();
    let none = vidra.playlist_videos_page(&playlist("PLsize500"), None, 500).await;
    assert_eq!(none.unwrap_err().reason(), Reason::QuotaExhausted);
}

#[tokio::test(start_paused = true)]
async fn users_6_a_page_keeps_the_videos_before_a_failed_call() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    // The first hundred videos are cached, and no further ones can be had.
    page(&vidra, "PLsize500", None, 100).await;
    sim.inject(Fault::on(Endpoint::Videos, Action::error("backendError")));
    let part = page(&vidra, "PLsize500", None, 500).await;
    assert_eq!(part.items.len(), 100);
    let cursor = part.next_cursor.as_deref();
    let next = vidra.playlist_videos_page(&playlist("PLsize500"), cursor, 500).await;
    assert_eq!(next.unwrap_err().reason(), Reason::UpstreamFailed);
    sim.clear_faults();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let rest = page(&vidra, "PLsize500", cursor, 500).await;
    assert_eq!((rest.items.len(), rest.items[0].position), (400, 101));
}

#[tokio::test(start_paused = true)]
async fn a_stream_fetches_every_page_once_however_short() {
    let sim = Simulator::new();
    client(&sim).playlist_ids(&playlist("PLquirkShortPages")).await.unwrap();
    let (pages, _) = calls(&sim);
    sim.reset_record();
    // A refresh gets nothing from the cache.
    let videos = client(&sim).refreshing().playlist_videos(&playlist("PLquirkShortPages"));
    let all: Vec<_> = videos.try_collect().await.unwrap();
    assert!(pages > 1 && all.len() < 50 * pages as usize);
    assert_eq!(calls(&sim).0, pages);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_token_is_an_invalid_cursor() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let cursor = page(&vidra, "PLsize120", None, 50).await.next_cursor.unwrap();
    sim.inject(Fault::on(Endpoint::PlaylistItems, Action::error("invalidPageToken")));
    let refused = vidra.playlist_videos_page(&playlist("PLsize120"), Some(&cursor), 50).await;
    assert_eq!(refused.unwrap_err().reason(), Reason::InvalidCursor);
}

#[tokio::test(start_paused = true)]
async fn missing_lists_are_named() {
    let vidra = client(&Simulator::new());
    let missing = vidra.playlist_videos_page(&playlist("PLquirkUnknown"), None, 50).await;
    assert_eq!(missing.unwrap_err().reason(), Reason::PlaylistNotFound);
    for id in ["UCaaaaaaaaaaaaaaaaaaaaaa", "@nobodyHasThis"] {
        let missing = vidra.uploads_page(&channel(id), DateRange::default(), None, 50).await;
        assert_eq!(missing.unwrap_err().reason(), Reason::ChannelNotFound, "{id}");
    }
}

/// A channel with 20,000 uploads.
const MANY: &str = "UCquirkManyUploads000000";

/// The first uploads of a channel in a range.
async fn uploads(vidra: &Vidra, range: DateRange, count: usize) -> Vec<Video> {
    vidra.uploads(&channel(MANY), range).take(count).try_collect().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn uploads_are_newest_first_without_an_upper_bound() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let all = uploads(&vidra, DateRange::default(), 300).await;
    assert_eq!((all.len(), calls(&sim)), (300, (6, 6)));
    assert!(all.is_sorted_by_key(|video| std::cmp::Reverse(video.published_at)));
    let newest = vidra.channel_videos(&channel(MANY), 50).await.unwrap();
    let ids = |count: usize| all.iter().take(count).map(|video| video.id).collect::<Vec<_>>();
    assert_eq!(ids(50), newest.iter().map(|video| video.id).collect::<Vec<_>>());
    // Pages of another size are the same list.
    let (mut paged, mut cursor) = (vec![], None);
    while paged.len() < all.len() {
        let (id, range) = (channel(MANY), DateRange::default());
        let page = vidra.uploads_page(&id, range, cursor.as_deref(), 30).await.unwrap().body;
        paged.extend(page.items);
        cursor = page.next_cursor;
    }
    assert_eq!(paged, all);

    let short = vidra.uploads(&channel("@fermata"), DateRange::default());
    let short: Vec<Video> = short.try_collect().await.unwrap();
    let count = vidra.channel(&channel("@fermata")).await.unwrap().video_count;
    assert_eq!(short.len() as u64, count);
    let none = vidra.uploads(&channel("UCquirkNoUploads00000000"), DateRange::default());
    assert_eq!(none.count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn uploads_since_a_date_stop_after_one_older_page() {
    let sim = Simulator::new();
    let cached = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let all = uploads(&cached, DateRange::default(), 150).await;
    let at = |index: usize| all[index].published_at.timestamp();
    // The range, its videos, and the pages that it costs.
    let table = [
        (DateRange { since: at(9), until: None }, 0..10, 2),
        (DateRange { since: at(49), until: None }, 0..50, 2),
        (DateRange { since: at(50), until: None }, 0..51, 3),
        (DateRange { since: at(20), until: at(10) }, 10..21, 2),
        (DateRange { since: at(70), until: at(60) }, 60..71, 3),
    ];
    for (range, expected, pages) in table {
        sim.reset_record();
        let found = uploads(&client(&sim), range, usize::MAX).await;
        assert_eq!(found, all[expected.clone()], "{expected:?}");
        assert_eq!(calls(&sim).0, pages, "{expected:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_range_without_videos_is_read_in_bounded_steps() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let long_ago =
        DateRange { since: None, until: Some(DateRange::parse_until("2001-01-01").unwrap()) };
    let mut cursor: Option<String> = None;
    for _ in 0..3 {
        sim.reset_record();
        let page = vidra.uploads_page(&channel(MANY), long_ago, cursor.as_deref(), 500).await;
        let page = page.unwrap().body;
        assert_eq!((page.items.len(), calls(&sim).0), (0, 20));
        assert!(page.next_cursor.is_some() && page.next_cursor != cursor);
        cursor = page.next_cursor;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_pays_once_for_the_videos_before_a_failed_call() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    sim.inject(Fault::on(Endpoint::Videos, Action::error("backendError")).from_call(2));
    let part = page(&vidra.refreshing(), "PLsize100", None, 100).await;
    assert_eq!(part.items.len(), 50, "those of the first call");
}
