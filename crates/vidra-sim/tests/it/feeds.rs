//! The feeds of channels and playlists.

use crate::discovery::more_fixtures;
use crate::fetch::fetch;
use crate::keyless_client::{Reply, get};
use crate::recorded_keyless::xml_shape;
use std::collections::BTreeSet;
use vidra_sim::{Action, Endpoint, Fault, Junk, QUIRKS, Simulator};

async fn feed(platform: &Simulator, query: &str) -> Reply {
    get(platform, &format!("/feeds/videos.xml?{query}"), "").await.expect("an answer")
}

/// The texts of all elements of a name.
fn texts<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&open).skip(1).filter_map(|rest| rest.split(&close).next()).collect()
}

async fn channel(platform: &Simulator, handle: &str) -> String {
    fetch(platform, &format!("channels?part=id&forHandle={handle}")).await.each("/id").remove(0)
}

#[tokio::test]
async fn a_feed_has_the_newest_15_videos_and_costs_nothing() {
    let platform = Simulator::new();
    let id = channel(&platform, "fermata").await;
    platform.reset_record();
    let reply = feed(&platform, &format!("channel_id={id}")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/xml; charset=UTF-8"));
    let record = platform.record();
    assert_eq!((record.calls_to(Endpoint::Feed), record.units.default), (1, 0));
    assert_eq!(record.violations, Vec::<String>::new());
    let uploads =
        format!("playlistItems?part=contentDetails&maxResults=15&playlistId=UU{}", &id[2..]);
    let uploads = fetch(&platform, &uploads).await.each("/contentDetails/videoId");
    assert_eq!(texts(&reply.body, "yt:videoId"), uploads);
    let owners = texts(&reply.body, "yt:channelId");
    assert_eq!(owners[0], &id[2..], "the feed's own id has no prefix");
    assert!(owners.len() == 16 && owners[1..].iter().all(|owner| *owner == id));
    assert!(reply.body.contains(&format!("<id>yt:channel:{}</id>", &id[2..])));
    assert!(texts(&reply.body, "published")[1..].is_sorted_by(|one, other| one > other));
}

#[tokio::test]
async fn feeds_are_found_by_channel_playlist_and_user() {
    let platform = Simulator::new();
    assert!(feed(&platform, "user=NightTrainDiaries").await.body.contains("Night Train Diaries"));
    let list = feed(&platform, "playlist_id=PLquirkDuplicates").await.body;
    let call = "playlistItems?part=contentDetails&maxResults=15&playlistId=PLquirkDuplicates";
    assert_eq!(
        texts(&list, "yt:videoId"),
        fetch(&platform, call).await.each("/contentDetails/videoId")
    );
    assert_eq!(texts(&list, "yt:playlistId"), ["PLquirkDuplicates"]);
    let gone = feed(&platform, "playlist_id=PLquirkAllGone").await;
    assert_eq!((gone.status, texts(&gone.body, "yt:videoId").len()), (200, 0));
    for unknown in [
        "channel_id=UCaaaaaaaaaaaaaaaaaaaaaa",
        "channel_id=UCquirkItemsAbsent000000",
        "playlist_id=PLquirkUnknown",
        "playlist_id=PLquirkPrivate",
        "user=nobody",
    ] {
        let reply = feed(&platform, unknown).await;
        assert_eq!((reply.status, reply.header("content-type")), (404, "text/html; charset=utf-8"));
        assert!(reply.body.contains(&format!("<code>/feeds/videos.xml?{unknown}</code>")));
    }
    for wrong in ["", "channel_id=", "channel_id=UCa&user=b"] {
        assert_eq!(feed(&platform, wrong).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn entries_show_shorts_broadcasts_and_escaped_text() {
    let platform = Simulator::new();
    let shorts = channel(&platform, "pocketworkshop").await;
    let shorts = feed(&platform, &format!("channel_id={shorts}")).await.body;
    assert!(shorts.contains("https://www.youtube.com/shorts/"));
    assert!(shorts.contains("https://www.youtube.com/watch?v=") && shorts.contains(" #shorts<"));
    let live = channel(&platform, "harbourwebcam").await;
    let live = feed(&platform, &format!("channel_id={live}")).await.body;
    assert_eq!(live.matches("<media:statistics views=\"0\"/>").count(), 2);
    let details = feed(&platform, "playlist_id=PLquirkChapters").await.body;
    assert!(details.contains("\n[0:45] What we found\n"));
    let odd = feed(&platform, "channel_id=UCquirkOldEra00000000000").await;
    assert_eq!(odd.status, 200);
    let bench = channel(&platform, "benchandchisel").await;
    let bench = feed(&platform, &format!("channel_id={bench}")).await.body;
    assert_eq!(texts(&bench, "name")[0], "Bench &amp; Chisel");
}

#[tokio::test]
async fn odd_feeds_match_their_rows() {
    let platform = Simulator::new();
    let of = async |id: &str| {
        let name = if id.starts_with("UC") { "channel_id" } else { "playlist_id" };
        feed(&platform, &format!("{name}={id}")).await
    };
    for (id, statuses) in [
        ("UCquirkFeedMissing000000", [404, 404, 404]),
        ("UCquirkFeedBackSoon00000", [404, 404, 200]),
        ("UCquirkFeedBroken0000000", [500, 500, 500]),
        ("UCquirkFeedBrokenOnce000", [500, 200, 200]),
        ("PLquirkFeedMissing", [404, 404, 404]),
        ("PLquirkFeedBroken", [500, 500, 500]),
    ] {
        for status in statuses {
            assert_eq!(of(id).await.status, status, "{id}");
        }
    }
    let empty = of("UCquirkFeedEmpty00000000").await.body;
    assert!(!empty.contains("<entry>") && empty.ends_with("</feed>\n"));
    let truncated = of("UCquirkFeedTruncated0000").await.body;
    assert!(truncated.contains("</entry>") && !truncated.contains("</feed>"));
    let html = of("UCquirkFeedHtml000000000").await;
    assert!(html.status == 200 && html.body.starts_with("<!DOCTYPE html>"));
    assert!(of("UCquirkFeedNewline000000").await.body.starts_with("\n<?xml"));
    assert!(of("UCquirkFeedNoId000000000").await.body.contains("<yt:channelId></yt:channelId>"));
    let old = of("UCquirkFeedOldId00000000").await.body;
    assert!(old.contains("<id>yt:channel:UCquirkFeedOldId00000000</id>"));
    assert!(of("UCquirkFeedDoctype000000").await.body.contains("<!DOCTYPE feed ["));
    let stale = of("UCquirkFeedStale00000000").await.body;
    let uploads = "playlistItems?part=contentDetails&playlistId=UUquirkFeedStale00000000";
    let uploads = fetch(&platform, uploads).await.each("/contentDetails/videoId");
    assert_eq!(texts(&stale, "yt:videoId")[..2], uploads[3..]);
    for quirk in QUIRKS.iter().filter(|quirk| quirk.id.starts_with("UCquirkFeed")) {
        let found = fetch(&platform, &format!("channels?part=id&id={}", quirk.id)).await;
        assert_eq!(found.items().len(), 1, "{}", quirk.id);
    }
}

#[tokio::test]
async fn faults_apply_to_feeds() {
    let platform = Simulator::new();
    let fault = Fault::on(Endpoint::Feed, Action::status(503)).when("user", "NightTrainDiaries");
    platform.inject(fault.once());
    assert_eq!(feed(&platform, "user=NightTrainDiaries").await.status, 503);
    platform.inject(Fault::on(Endpoint::Feed, Action::Junk { kind: Junk::Truncated }).once());
    assert!(!feed(&platform, "user=NightTrainDiaries").await.body.contains("</feed>"));
    assert_eq!(feed(&platform, "user=NightTrainDiaries").await.status, 200);
    platform.block_after(0);
    assert_eq!(feed(&platform, "user=NightTrainDiaries").await.status, 200, "blocks do not apply");
}

#[tokio::test]
async fn simulator_covers_recorded_feed_shapes() {
    let Some(folder) = more_fixtures() else { return };
    let (mut recorded, mut simulated) = (BTreeSet::new(), BTreeSet::new());
    for file in std::fs::read_dir(folder.join("feeds")).expect("a folder of feeds") {
        let path = file.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Notifications of the hub have other elements.
        if name.ends_with(".xml") && !name.starts_with("websub") {
            xml_shape(&std::fs::read_to_string(&path).expect("a readable file"), &mut recorded);
        }
    }
    let platform = Simulator::new();
    for query in ["user=NightTrainDiaries", "playlist_id=PLsize50"] {
        xml_shape(&feed(&platform, query).await.body, &mut simulated);
    }
    assert_eq!(recorded, simulated);
}
