//! Pages, tokens and counts.

use crate::fetch::{fetch, pages};
use std::collections::HashSet;
use vidra_sim::{Endpoint, Simulator};

#[tokio::test]
async fn playlists_of_all_sizes_can_be_paged_to_the_end() {
    let platform = Simulator::new();
    for size in [0usize, 1, 49, 50, 51, 100, 500, 5000] {
        platform.reset_record();
        let call =
            format!("playlistItems?part=contentDetails&maxResults=50&playlistId=PLsize{size}");
        let pages = pages(&platform, &call).await;
        let videos: HashSet<_> =
            pages.iter().flat_map(|page| page.each("/contentDetails/videoId")).collect();
        assert_eq!(videos.len(), size, "of {size}");
        assert_eq!(
            platform.record().calls_to(Endpoint::PlaylistItems),
            size.div_ceil(50).max(1) as u64
        );
        for (n, page) in pages.iter().enumerate() {
            assert_eq!(page.body["pageInfo"]["totalResults"], size);
            assert_eq!(page.body.get("prevPageToken").is_some(), n > 0);
        }
    }
}

#[tokio::test]
async fn last_page_of_the_longest_playlist_is_reachable() {
    let platform = Simulator::new();
    let uploads = "playlistItems?part=snippet&maxResults=50&playlistId=UUquirkManyUploads000000";
    let ids = "playlistItems?part=id&maxResults=50&playlistId=UUquirkManyUploads000000";
    let walk = pages(&platform, ids).await;
    assert_eq!(walk.iter().map(|page| page.items().len()).sum::<usize>(), 20_000);
    let back = walk[399].body["prevPageToken"].as_str().expect("the last page has one");
    let page = fetch(&platform, &format!("{uploads}&pageToken={back}")).await;
    assert_eq!(page.items()[0]["snippet"]["position"], 19_900);
}

#[tokio::test]
async fn pages_have_the_requested_size() {
    let platform = Simulator::new();
    for (requested, size) in
        [("", 5), ("&maxResults=0", 0), ("&maxResults=7", 7), ("&maxResults=50", 50)]
    {
        let page =
            fetch(&platform, &format!("playlistItems?part=id&playlistId=PLsize500{requested}"))
                .await;
        assert_eq!(page.items().len(), size);
        assert_eq!(page.body["pageInfo"]["resultsPerPage"], size);
    }
    for bad in ["51", "-1", "many"] {
        let page = fetch(
            &platform,
            &format!("playlistItems?part=id&playlistId=PLsize500&maxResults={bad}"),
        )
        .await;
        assert_eq!((page.status, page.reason()), (400, "invalidParameter"));
    }
}

#[tokio::test]
async fn short_pages_are_followed_by_more() {
    let platform = Simulator::new();
    let pages_of = async |id: &str| -> Vec<usize> {
        let call = format!("playlistItems?part=contentDetails&maxResults=50&playlistId={id}");
        pages(&platform, &call).await.iter().map(|page| page.items().len()).collect()
    };
    assert_eq!(pages_of("PLquirkShortPages").await, [49, 41, 45, 6]);
    assert_eq!(pages_of("PLquirkEmptyPage").await, [50, 0, 20]);
    let first =
        fetch(&platform, "playlistItems?part=id&maxResults=50&playlistId=PLquirkShortPages").await;
    assert_eq!(first.body["pageInfo"]["totalResults"], 156);
}

#[tokio::test]
async fn token_loop_quirks_repeat_their_token() {
    let platform = Simulator::new();
    for call in [
        "playlistItems?part=id&maxResults=50&playlistId=PLquirkTokenLoop",
        "commentThreads?part=id&maxResults=100&videoId=quirkCmLoop",
    ] {
        let first = fetch(&platform, call).await;
        let token = first.body["nextPageToken"].as_str().expect("more than a page");
        let second = fetch(&platform, &format!("{call}&pageToken={token}")).await;
        assert_eq!(second.body["nextPageToken"], token);
    }
}

#[tokio::test]
async fn tokens_are_opaque_and_bound_to_their_list() {
    let platform = Simulator::new();
    let token = |answer: &crate::fetch::Answer| {
        answer.body["nextPageToken"].as_str().map(str::to_owned).expect("more pages")
    };
    let items = token(&fetch(&platform, "playlistItems?part=id&playlistId=PLsize500").await);
    let chart = token(&fetch(&platform, "videos?part=id&chart=mostPopular").await);
    let threads = token(&fetch(&platform, "commentThreads?part=id&videoId=quirkShortC").await);
    assert!([&items, &chart, &threads].iter().all(|t| (6..=224).contains(&t.len())));
    assert!(threads.ends_with('='));
    for (list, foreign) in
        [("PLsize100", items.as_str()), ("PLsize500", chart.as_str()), ("PLsize500", "CDIQAA")]
    {
        let page = fetch(
            &platform,
            &format!("playlistItems?part=id&playlistId={list}&pageToken={foreign}"),
        )
        .await;
        assert_eq!((page.status, page.reason()), (400, "invalidPageToken"));
    }
}

#[tokio::test]
async fn comment_pages_go_forward_only_and_count_their_items() {
    let platform = Simulator::new();
    let threads =
        pages(&platform, "commentThreads?part=id&maxResults=100&videoId=quirkShortC").await;
    let sizes: Vec<_> = threads.iter().map(|page| page.items().len()).collect();
    assert_eq!(sizes, [20, 20, 20, 20, 20, 20, 17]);
    assert!(threads.iter().all(|page| page.body.get("prevPageToken").is_none()));
    assert!(threads.iter().all(|page| page.body["pageInfo"]["totalResults"] == page.items().len()));
    let relevant = fetch(
        &platform,
        "commentThreads?part=id&maxResults=100&order=relevance&videoId=quirkShortC",
    )
    .await;
    assert_eq!(relevant.items().len(), 100);

    let replies = pages(
        &platform,
        "comments?part=snippet&maxResults=100&parentId=UgquirkManyReplies04AaABAg",
    )
    .await;
    let ids: HashSet<_> = replies.iter().flat_map(|page| page.each("/id")).collect();
    assert_eq!(ids.len(), 250);
    assert!(replies.iter().all(|page| page.body["pageInfo"].get("totalResults").is_none()));
}
