//! `videos.list?chart=mostPopular`

use crate::fetch::{fetch, pages};
use std::collections::HashSet;
use vidra_sim::Simulator;

#[tokio::test]
async fn charts_have_200_videos_in_pages() {
    let platform = Simulator::new();
    let all = pages(&platform, "videos?part=snippet&chart=mostPopular&maxResults=50").await;
    let ids: HashSet<_> = all.iter().flat_map(|page| page.each("/id")).collect();
    assert_eq!((all.len(), ids.len(), platform.record().units.default), (4, 200, 4));
    assert!(all.iter().all(|page| page.body["pageInfo"]["totalResults"] == 200));
}

#[tokio::test]
async fn charts_differ_by_region_and_category() {
    let platform = Simulator::new();
    let ids = async |more: &str| {
        fetch(&platform, &format!("videos?part=snippet&chart=mostPopular{more}")).await.each("/id")
    };
    assert_eq!(ids("").await, ids("&regionCode=us&videoCategoryId=0").await);
    assert_ne!(ids("").await, ids("&regionCode=DE").await);
    let music = "videos?part=snippet&chart=mostPopular&maxResults=20&videoCategoryId=10";
    for page in pages(&platform, music).await {
        assert!(page.each("/snippet/categoryId").iter().all(|category| category == "10"));
    }
    let token = fetch(&platform, music).await.body["nextPageToken"].clone();
    let token = token.as_str().expect("a second page");
    let foreign = format!("videos?part=id&chart=mostPopular&pageToken={token}");
    assert_eq!(fetch(&platform, &foreign).await.reason(), "invalidPageToken");
}

#[tokio::test]
async fn charts_that_do_not_exist_are_errors() {
    let platform = Simulator::new();
    for (more, status, reason) in [
        ("&regionCode=XX", 400, "invalidRegionCode"),
        ("&videoCategoryId=19", 404, "videoChartNotFound"),
        ("&videoCategoryId=27", 404, "videoChartNotFound"),
        ("&videoCategoryId=9999", 404, "videoChartNotFound"),
        ("&maxResults=0", 400, "invalidParameter"),
        ("&maxResults=51", 400, "invalidParameter"),
        ("&id=quirkNoLike", 400, "incompatibleParameters"),
    ] {
        let answer = fetch(&platform, &format!("videos?part=id&chart=mostPopular{more}")).await;
        assert_eq!((answer.status, answer.reason()), (status, reason), "{more}");
    }
    let missing = fetch(&platform, "videos?part=id&chart=mostPopular&videoCategoryId=27").await;
    assert_eq!(missing.body["error"]["errors"][0]["domain"], "youtube.video");
    assert_eq!(fetch(&platform, "videos?part=id&chart=newest").await.reason(), "badRequest");
}
