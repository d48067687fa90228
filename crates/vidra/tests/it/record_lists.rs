//! Playlists of a channel, comment threads and charts: what a page costs, where it ends, and who shares it.

use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt, pin_mut};
use vidra::{
    CacheOutcome, ChannelRef, ChartQuery, CommentOrder, CommentQuery, CommentThread, Page,
    PlaylistInfo, QuotaLimits, Reason, Video, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client};

/// The id of `@fermata`, which has 57 playlists.
const FERMATA: &str = "UCB-2_pXPtFYDifLXZF-S8PA";
/// 120 playlists reported, 65 returned: pages of 45, 0 and 20.
const SHORT_PAGES: &str = "UCquirkListPages00000000";

fn channel(id: &str) -> ChannelRef {
    ChannelRef::parse(id).unwrap()
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn cached(sim: &Simulator) -> Vidra {
    builder(sim).cache_bytes(64 << 20).build().unwrap()
}

fn units(sim: &Simulator) -> u64 {
    sim.record().units.default
}

async fn playlists(
    vidra: &Vidra,
    id: &str,
    cursor: Option<&str>,
    limit: usize,
) -> Page<PlaylistInfo> {
    vidra.channel_playlists_page(&channel(id), cursor, limit).await.unwrap().body
}

async fn threads(
    vidra: &Vidra,
    id: &str,
    query: &CommentQuery,
    cursor: Option<&str>,
    limit: usize,
) -> Page<CommentThread> {
    vidra.comment_threads_page(video(id), query, cursor, limit).await.unwrap().body
}

async fn chart(
    vidra: &Vidra,
    query: &ChartQuery,
    cursor: Option<&str>,
    limit: usize,
) -> Page<Video> {
    vidra.popular_videos_page(query, cursor, limit).await.unwrap().body
}

#[tokio::test(start_paused = true)]
async fn a_page_of_playlists_costs_only_itself() {
    // The limit, the playlists, the units, and whether there are more.
    let table = [(1, 1, 1, true), (50, 50, 1, true), (51, 51, 2, true), (500, 57, 2, false)];
    for (limit, count, cost, has_more) in table {
        let sim = Simulator::new();
        let page = playlists(&client(&sim), FERMATA, None, limit).await;
        assert_eq!((page.items.len(), units(&sim)), (count, cost), "limit {limit}");
        assert_eq!(page.next_cursor.is_some(), has_more, "limit {limit}");
        let request = &sim.record().requests[0];
        assert_eq!(
            (request.endpoint, request.parameter("channelId")),
            (Endpoint::Playlists, Some(FERMATA))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_any_size_give_all_playlists_once() {
    let sim = Simulator::new();
    let vidra = cached(&sim);
    let table = [
        (FERMATA, 57),
        (SHORT_PAGES, 65),
        ("UCquirkNoLists0000000000", 0),
        ("UCquirkManyLists00000000", 338),
    ];
    for (id, count) in table {
        let all: Vec<PlaylistInfo> =
            vidra.channel_playlists(&channel(id)).try_collect().await.unwrap();
        assert_eq!(all.len(), count, "{id}");
        let before = units(&sim);
        for limit in [1, 7, 45, 50, 500] {
            let (mut paged, mut cursor) = (vec![], None);
            loop {
                let page = playlists(&vidra, id, cursor.as_deref(), limit).await;
                assert!(page.items.len() <= limit);
                paged.extend(page.items);
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(paged, all, "{id} by {limit}");
        }
        assert_eq!(units(&sim), before, "the pages are records that all readers share");
    }
    // A single playlist has the same data.
    let first = playlists(&vidra, FERMATA, None, 1).await.items.remove(0);
    assert_eq!(vidra.playlist_info(&first.id).await.unwrap(), first);
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_looked_up_once_and_shares_the_pages_of_its_id() {
    let sim = Simulator::new();
    let vidra = cached(&sim);
    let first = playlists(&vidra, "@fermata", None, 10).await;
    assert_eq!(units(&sim), 2, "the handle and the page");
    let cursor = first.next_cursor.as_deref();
    // Any spelling of the handle continues the list.
    let second = playlists(&vidra, "https://www.youtube.com/@FERMATA", cursor, 10).await;
    let by_id = playlists(&vidra, FERMATA, None, 20).await;
    assert_eq!([first.items, second.items].concat(), by_id.items);
    assert_eq!(units(&sim), 2);
    let again = vidra.channel_playlists_page(&channel("@fermata"), None, 10).await.unwrap();
    assert_eq!(again.outcome, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_repeats_a_page_ends() {
    let sim = Simulator::new();
    let looping = channel("UCquirkListLoop000000000");
    let all = client(&sim).channel_playlists(&looping);
    let all: Vec<PlaylistInfo> = all.try_collect().await.unwrap();
    assert!(units(&sim) <= 3, "{} units", units(&sim));
    let mut ids: Vec<_> = all.iter().map(|playlist| playlist.id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), all.len());

    let sim = Simulator::new();
    let query = CommentQuery::default();
    let all: Vec<_> =
        client(&sim).comment_threads(video("quirkCmLoop"), &query).try_collect().await.unwrap();
    assert_eq!((all.len() % 100, units(&sim) <= 3), (0, true));
}

#[tokio::test(start_paused = true)]
async fn missing_lists_are_named() {
    let vidra = client(&Simulator::new());
    let table = [
        ("UCaaaaaaaaaaaaaaaaaaaaaa", Reason::ChannelNotFound),
        ("@nobodyHasThis", Reason::ChannelNotFound),
        ("UCquirkClosedLists000000", Reason::NotAccessible),
    ];
    for (id, reason) in table {
        let error = vidra.channel_playlists_page(&channel(id), None, 50).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{id}");
    }
    let query = CommentQuery::default();
    let table = [
        ("quirkNoComm", Reason::CommentsDisabled),
        ("quirkPrivat", Reason::NotAccessible),
        ("quirkAbsent", Reason::VideoNotFound),
    ];
    for (id, reason) in table {
        let error = vidra.comment_threads_page(video(id), &query, None, 50).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{id}");
    }
    let region = |code: &str| ChartQuery::default().with_region(code.to_owned());
    let category = |id: &str| ChartQuery::default().with_category(id.to_owned());
    let table = [
        (region("XX"), Reason::UpstreamRejected, "invalidRegionCode"),
        (category("19"), Reason::ChartNotFound, ""),
        (category("999"), Reason::ChartNotFound, ""),
    ];
    for (query, reason, detail) in table {
        let error = vidra.popular_videos_page(&query, None, 50).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{query}: {error}");
        assert!(error.details().concat().contains(detail), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cursors_are_for_their_own_list() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let query = CommentQuery::default();
    let of_playlists = playlists(&vidra, FERMATA, None, 5).await.next_cursor.unwrap();
    let of_threads = threads(&vidra, "quirkHtmlCm", &query, None, 2).await.next_cursor.unwrap();
    let of_chart = chart(&vidra, &ChartQuery::default(), None, 5).await.next_cursor.unwrap();
    sim.reset_record();
    let german = ChartQuery::default().with_region("DE".to_owned());
    let others = [
        CommentQuery::default().with_order(CommentOrder::Relevance),
        CommentQuery::default().with_search("a".to_owned()),
        CommentQuery::default().with_all_replies(true),
    ];
    let mut refused = vec![
        vidra.channel_playlists_page(&channel(SHORT_PAGES), Some(&of_playlists), 5).await.err(),
        vidra.channel_playlists_page(&channel(FERMATA), Some(&of_chart), 5).await.err(),
        vidra.channel_playlists_page(&channel(FERMATA), Some("x"), 5).await.err(),
        vidra.comment_threads_page(video("quirkShortC"), &query, Some(&of_threads), 5).await.err(),
        vidra.popular_videos_page(&german, Some(&of_chart), 5).await.err(),
    ];
    for other in &others {
        let page = vidra.comment_threads_page(video("quirkHtmlCm"), other, Some(&of_threads), 5);
        refused.push(page.await.err());
    }
    for error in refused {
        assert_eq!(error.unwrap().reason(), Reason::InvalidCursor);
    }
    assert_eq!(sim.record().calls, 0);
    // A token that YouTube rejects.
    let second = playlists(&vidra, FERMATA, None, 50).await.next_cursor.unwrap();
    sim.inject(Fault::on(Endpoint::Playlists, Action::error("invalidPageToken")));
    let rejected = vidra.channel_playlists_page(&channel(FERMATA), Some(&second), 5).await;
    assert_eq!(rejected.unwrap_err().reason(), Reason::InvalidCursor);
}

#[tokio::test(start_paused = true)]
async fn users_6_a_list_that_breaks_off_keeps_what_came() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let query = ChartQuery::default();
    sim.inject(Fault::on(Endpoint::Videos, Action::error("backendError")).from_call(3));
    let part = vidra.popular_videos_page(&query, None, 500).await.unwrap();
    assert_eq!((part.body.items.len(), part.fresh_for().is_zero()), (100, true));
    let cursor = part.body.next_cursor.as_deref();
    let next = vidra.popular_videos_page(&query, cursor, 500).await;
    assert_eq!(next.unwrap_err().reason(), Reason::UpstreamFailed);
    sim.clear_faults();
    let rest = chart(&vidra, &query, cursor, 500).await;
    assert_eq!((rest.items.len(), rest.next_cursor), (100, None));

    // A stream yields what came, and the error.
    sim.inject(Fault::on(Endpoint::Playlists, Action::error("backendError")).from_call(2));
    let items: Vec<_> = vidra.channel_playlists(&channel(FERMATA)).collect().await;
    assert_eq!(items.len(), 51);
    assert_eq!(items[50].as_ref().unwrap_err().reason(), Reason::UpstreamFailed);

    // Without an item it is the error.
    let vidra = builder(&sim).quota(QuotaLimits::default().with_default(0)).build().unwrap();
    let none = vidra.popular_videos_page(&query, None, 500).await;
    assert_eq!(none.unwrap_err().reason(), Reason::QuotaExhausted);
}

#[tokio::test(start_paused = true)]
async fn concurrent_readers_share_one_fetch() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 200 }));
    sim.inject(Fault::on(Endpoint::CommentThreads, Action::Delay { millis: 200 }));
    sim.inject(Fault::on(Endpoint::Playlists, Action::Delay { millis: 200 }));
    let vidra = cached(&sim);
    let query = &ChartQuery::default();
    let charts = join_all((1..=8).map(|limit| chart(&vidra, query, None, limit))).await;
    assert_eq!((charts[7].items.len(), units(&sim)), (8, 1));
    join_all((0..8).map(|_| playlists(&vidra, FERMATA, None, 50))).await;
    assert_eq!(units(&sim), 2);
    let query = &CommentQuery::default();
    join_all((0..8).map(|_| threads(&vidra, "quirkHtmlCm", query, None, 5))).await;
    assert_eq!(units(&sim), 3);
}

#[tokio::test(start_paused = true)]
async fn threads_have_no_upper_bound() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    for (id, order) in [
        ("quirkShortC", CommentOrder::Time),
        ("quirkShortC", CommentOrder::Relevance),
        ("quirkHtmlCm", CommentOrder::Time),
    ] {
        let query = CommentQuery::default().with_order(order).with_limit(2000);
        sim.reset_record();
        let whole = vidra.comments(video(id), &query).await.unwrap();
        let cost = units(&sim);
        sim.reset_record();
        // The limit of the query does not apply.
        let query = query.with_limit(1);
        let all: Vec<CommentThread> =
            vidra.comment_threads(video(id), &query).try_collect().await.unwrap();
        assert_eq!((all, units(&sim)), (whole, cost), "{id} {order:?}");
    }
    let none = threads(&vidra, "quirkCmZero", &CommentQuery::default(), None, 50).await;
    assert_eq!((none.items, none.next_cursor), (vec![], None));
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_threads_fetches_no_page_that_is_not_read() {
    let sim = Simulator::new();
    let threads = client(&sim).comment_threads(video("quirkShortC"), &CommentQuery::default());
    pin_mut!(threads);
    assert_eq!(units(&sim), 0);
    threads.next().await.unwrap().unwrap();
    assert_eq!(units(&sim), 1);
}

#[tokio::test(start_paused = true)]
async fn all_replies_cost_only_those_of_the_listed_threads() {
    let sim = Simulator::new();
    let all = CommentQuery::default().with_all_replies(true);
    let expected = cached(&sim).comments(video("quirkManyRp"), &all).await.unwrap();
    let vidra = cached(&sim);
    sim.reset_record();
    let first = threads(&vidra, "quirkManyRp", &all, None, 1).await;
    let many = first.items[0].replies.len() == 250;
    assert_eq!(first.items, expected[..1]);
    assert_eq!(units(&sim), if many { 4 } else { 1 }, "the page, and 250 replies by the hundred");
    let rest = threads(&vidra, "quirkManyRp", &all, first.next_cursor.as_deref(), 50).await;
    assert_eq!(rest.items, expected[1..]);
    let cost = units(&sim);
    // The same replies, and the same page for another question.
    let again = threads(&vidra, "quirkManyRp", &all, None, 50).await;
    assert_eq!(again.items, expected);
    let preview = threads(&vidra, "quirkManyRp", &CommentQuery::default(), None, 50).await;
    assert!(preview.items.iter().all(|thread| thread.replies.len() <= 5));
    assert_eq!(units(&sim), cost);
    // A search of all comments reads the same records.
    let search = all.with_search("no comment has this".to_owned());
    assert_eq!(vidra.comments(video("quirkManyRp"), &search).await.unwrap(), []);
    assert_eq!(units(&sim), cost);
}

#[tokio::test(start_paused = true)]
async fn a_failure_among_replies_keeps_the_threads_before_it() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let all = CommentQuery::default().with_all_replies(true);
    let id = "quirkShortC";
    let complete: Vec<CommentThread> =
        vidra.comment_threads(video(id), &all).try_collect().await.unwrap();
    sim.inject(Fault::on(Endpoint::Comments, Action::error("backendError")).from_call(3));
    let part = threads(&vidra, id, &all, None, 500).await;
    let count = part.items.len();
    assert!((1..complete.len()).contains(&count), "{count}");
    assert_eq!(part.items, complete[..count]);
    sim.clear_faults();
    let rest = threads(&vidra, id, &all, part.next_cursor.as_deref(), 500).await;
    assert_eq!(rest.items, complete[count..]);
}

#[tokio::test(start_paused = true)]
async fn a_search_matches_comments_and_replies() {
    let sim = Simulator::new();
    let vidra = cached(&sim);
    let everything = CommentQuery::default();
    for (id, all_replies) in [("fda4eREcaTQ", false), ("quirkShortC", true)] {
        let everything = everything.clone().with_all_replies(all_replies);
        let all: Vec<CommentThread> =
            vidra.comment_threads(video(id), &everything).try_collect().await.unwrap();
        let contains = |thread: &&CommentThread| {
            let mut comments = [&thread.top_level_comment].into_iter().chain(&thread.replies);
            comments.any(|it| ["the", "a"].iter().all(|word| it.text.to_lowercase().contains(word)))
        };
        let expected: Vec<CommentThread> = all.iter().filter(contains).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{id}: {}", expected.len());
        let search = everything.with_search("  THE a ".to_owned());
        let (mut found, mut cursor) = (vec![], None);
        loop {
            let page = threads(&vidra, id, &search, cursor.as_deref(), 2).await;
            assert!(page.items.len() <= 2);
            found.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{id}");
        let stream = vidra.comment_threads(video(id), &search);
        assert_eq!(stream.try_collect::<Vec<_>>().await.unwrap(), expected, "{id}");
        let none = search.with_search("no such words".to_owned());
        let none = threads(&vidra, id, &none, None, 50).await;
        assert_eq!((none.items, none.next_cursor), (vec![], None), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chart_costs_one_unit_per_page_and_caches_its_videos() {
    // The limit, the videos and the units.
    for (limit, count, cost) in [(1, 1, 1), (50, 50, 1), (51, 51, 2), (500, 200, 4)] {
        let sim = Simulator::new();
        let page = chart(&client(&sim), &ChartQuery::default(), None, limit).await;
        assert_eq!((page.items.len(), units(&sim)), (count, cost), "limit {limit}");
        assert_eq!(page.next_cursor.is_none(), count == 200, "limit {limit}");
    }
    let sim = Simulator::new();
    let vidra = cached(&sim);
    let music = ChartQuery::default().with_region("de".to_owned()).with_category("10".to_owned());
    let top: Vec<Video> = vidra.popular_videos(&music).try_collect().await.unwrap();
    let cost = units(&sim);
    assert_eq!(cost, top.len().div_ceil(50) as u64);
    let ids: Vec<VideoId> = top.iter().map(|video| video.id).collect();
    assert_eq!(vidra.videos(&ids).await.unwrap(), top);
    assert_eq!(units(&sim), cost, "the videos came with the chart");
    let upper = ChartQuery::default().with_region("DE".to_owned()).with_category("10".to_owned());
    chart(&vidra, &upper, None, 50).await;
    assert_eq!(units(&sim), cost, "the case of the region does not count");
}
