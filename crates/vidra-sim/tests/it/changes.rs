//! Videos that change with the simulator's clock. Every interface reports the same.

use crate::fetch::{Answer, fetch, pages};
use crate::keyless_client::{ANDROID, base_url, get, player, text, tracks};
use serde_json::Value;
use std::time::Duration;
use vidra_sim::{Change, Simulator};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

async fn video(platform: &Simulator, id: &str) -> Option<Value> {
    let call = format!("videos?part=snippet,contentDetails,liveStreamingDetails,status&id={id}");
    fetch(platform, &call).await.items().first().cloned()
}

async fn caption_count(platform: &Simulator, id: &str) -> usize {
    tracks(&player(platform, id, ANDROID).await).len()
}

async fn status(platform: &Simulator, id: &str) -> String {
    let body = player(platform, id, ANDROID).await;
    body["playabilityStatus"]["status"].as_str().unwrap_or_default().to_owned()
}

async fn items(platform: &Simulator, playlist: &str) -> Answer {
    let parts = "playlistItems?part=snippet,contentDetails,status&maxResults=50";
    fetch(platform, &format!("{parts}&playlistId={playlist}")).await
}

async fn feed_ids(platform: &Simulator, query: &str) -> Vec<String> {
    let feed = get(platform, &format!("/feeds/videos.xml?{query}"), "").await.expect("an answer");
    let ids = feed.body.split("<yt:videoId>").skip(1);
    ids.filter_map(|rest| rest.split('<').next()).map(str::to_owned).collect()
}

/// The channel of `@compiletime` and its uploads.
async fn channel(platform: &Simulator) -> (String, String) {
    let found = fetch(platform, "channels?part=statistics&forHandle=compiletime").await;
    let id = found.each("/id").pop().expect("a channel");
    let uploads = format!("UU{}", &id[2..]);
    (id, uploads)
}

#[tokio::test(start_paused = true)]
async fn documented_captions_appear_later() {
    let platform = Simulator::new();
    let details = video(&platform, "laterCapt5h").await.expect("public");
    assert_eq!(details["snippet"]["publishedAt"], "2026-05-31T23:00:00Z");
    let seen = async || {
        let ids = ["laterCapt5h", "laterCapt2d", "laterNever_"];
        let mut has_captions = Vec::new();
        for id in ids {
            assert_eq!(status(&platform, id).await, "OK");
            has_captions.push(caption_count(&platform, id).await > 0);
        }
        has_captions
    };
    assert_eq!(seen().await, [false, false, false]);
    platform.advance(HOUR * 4 - MINUTE);
    assert_eq!(seen().await, [false, false, false]);
    platform.advance(MINUTE);
    assert_eq!(seen().await, [true, false, false]);
    assert!(text(&platform, "laterCapt5h", 0, "").await.body.contains("<text"));
    platform.advance(HOUR * 43);
    assert_eq!(seen().await, [true, true, false]);
    platform.advance(HOUR * 24 * 365 * 100);
    assert_eq!(seen().await, [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn documented_times_count_from_the_start_of_the_simulator() {
    let start = "2027-01-15T12:00:00Z".parse().expect("a time");
    let platform = Simulator::builder().start_at(start).build();
    let details = video(&platform, "laterCapt5h").await.expect("public");
    assert_eq!(details["snippet"]["publishedAt"], "2027-01-15T11:00:00Z");
    assert_eq!(caption_count(&platform, "laterCapt5h").await, 0);
    platform.set_time(start + HOUR * 4);
    assert!(caption_count(&platform, "laterCapt5h").await > 0);
}

#[tokio::test(start_paused = true)]
async fn documented_broadcasts_end() {
    let platform = Simulator::new();
    let content = async |id| video(&platform, id).await.expect("public");
    for id in ["liveEnds40m", "liveEndCapt"] {
        let live = content(id).await;
        assert_eq!(live["snippet"]["liveBroadcastContent"], "live", "{id}");
        assert_eq!(live["contentDetails"]["duration"], "P0D", "{id}");
        assert_eq!(live["liveStreamingDetails"]["actualStartTime"], "2026-05-31T23:40:00Z");
        assert!(live["liveStreamingDetails"].get("actualEndTime").is_none());
        let answer = player(&platform, id, ANDROID).await;
        assert_eq!(answer["videoDetails"]["isLive"], true, "{id}");
        assert!(answer.get("captions").is_none(), "{id}");
    }
    platform.advance(MINUTE * 40);
    for id in ["liveEnds40m", "liveEndCapt"] {
        let ended = content(id).await;
        assert_eq!(ended["snippet"]["liveBroadcastContent"], "none", "{id}");
        assert_eq!(ended["contentDetails"]["duration"], "PT1H", "{id}");
        assert_eq!(ended["liveStreamingDetails"]["actualEndTime"], "2026-06-01T00:40:00Z");
        let answer = player(&platform, id, ANDROID).await;
        assert_eq!(answer["videoDetails"]["lengthSeconds"], "3600", "{id}");
    }
    assert!(caption_count(&platform, "liveEnds40m").await > 0);
    assert_eq!(caption_count(&platform, "liveEndCapt").await, 0);
    platform.advance(HOUR * 3);
    assert!(caption_count(&platform, "liveEndCapt").await > 0);
}

#[tokio::test(start_paused = true)]
async fn documented_videos_disappear_everywhere() {
    let platform = Simulator::new();
    let before = items(&platform, "PLquirkChanging").await;
    assert_eq!((before.items().len(), &before.body["pageInfo"]["totalResults"]), (7, &7.into()));
    assert_eq!(before.items()[0]["snippet"]["publishedAt"], "2026-05-31T23:00:00Z");
    assert_eq!(feed_ids(&platform, "playlist_id=PLquirkChanging").await.len(), 7);
    let url = base_url(&tracks(&player(&platform, "soonDeleted", ANDROID).await)[0]);
    platform.advance(HOUR * 24 - MINUTE);
    assert_eq!(status(&platform, "soonDeleted").await, "OK");
    platform.advance(MINUTE);
    for (id, expected, reason) in
        [("soonDeleted", "ERROR", "videoNotFound"), ("soonPrivate", "LOGIN_REQUIRED", "forbidden")]
    {
        assert_eq!(video(&platform, id).await, None, "{id}");
        assert_eq!(status(&platform, id).await, expected, "{id}");
        let call = format!("commentThreads?part=snippet&videoId={id}");
        assert_eq!(fetch(&platform, &call).await.reason(), reason, "{id}");
    }
    assert_eq!(get(&platform, &url, "").await.expect("an answer").body, "");
    let after = items(&platform, "PLquirkChanging").await;
    assert_eq!(after.items().len(), 7);
    let [deleted, private] = &after.items()[5..] else { panic!("two entries") };
    assert_eq!(deleted["snippet"]["title"], "Deleted video");
    assert_eq!(deleted["snippet"]["description"], "This video is unavailable.");
    assert_eq!(private["snippet"]["title"], "Private video");
    assert_eq!(private["status"]["privacyStatus"], "private");
    for entry in [deleted, private] {
        assert_eq!(entry["snippet"]["thumbnails"], serde_json::json!({}));
        assert!(entry["contentDetails"].get("videoPublishedAt").is_none());
        assert!(entry["snippet"].get("videoOwnerChannelId").is_none());
    }
    assert_eq!(feed_ids(&platform, "playlist_id=PLquirkChanging").await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn uploads_feeds_counts_and_search_leave_out_hidden_videos() {
    let platform = Simulator::new();
    let (id, uploads) = channel(&platform).await;
    let all = async || -> Vec<String> {
        let call = format!("playlistItems?part=contentDetails&maxResults=50&playlistId={uploads}");
        let pages = pages(&platform, &call).await;
        let ids: Vec<_> =
            pages.iter().flat_map(|page| page.each("/contentDetails/videoId")).collect();
        assert_eq!(pages[0].body["pageInfo"]["totalResults"], ids.len(), "{uploads}");
        let count = fetch(&platform, &format!("channels?part=statistics&id={id}")).await;
        let count = count.each("/statistics/videoCount").pop();
        assert_eq!(count, Some(ids.len().to_string()));
        ids
    };
    let search = async || {
        let call = format!("search?part=snippet&type=video&maxResults=50&channelId={id}");
        let pages = pages(&platform, &call).await;
        pages.iter().flat_map(|page| page.each("/id/videoId")).collect::<Vec<_>>()
    };
    let before = all().await;
    assert!(before.len() > 20 && search().await.contains(&before[3]));
    let at = platform.time() + HOUR;
    platform.schedule(&before[0], Change::Private, at).expect("a video");
    platform.schedule(&before[3], Change::Deleted, at).expect("a video");
    platform.schedule(&before[4], Change::Deleted, at).expect("a video");
    assert_eq!(all().await, before);
    platform.advance(HOUR);
    let left: Vec<_> = [1, 2].into_iter().chain(5..before.len()).map(|n| &before[n]).collect();
    assert_eq!(all().await.iter().collect::<Vec<_>>(), left);
    let feed = feed_ids(&platform, &format!("channel_id={id}")).await;
    assert_eq!(feed.iter().collect::<Vec<_>>(), left[..15]);
    let found = search().await;
    assert!([0, 3, 4].iter().all(|n| !found.contains(&before[*n])));
    let ids = before[..6].join(",");
    let known = fetch(&platform, &format!("videos?part=id&id={ids}")).await;
    assert_eq!(known.items().len(), 3);
    platform.clear_schedule();
    assert_eq!(all().await, before);
}

#[tokio::test(start_paused = true)]
async fn videos_are_published_later() {
    let platform = Simulator::new();
    let (id, uploads) = channel(&platform).await;
    let feed = format!("channel_id={id}");
    let before = feed_ids(&platform, &feed).await;
    let at = platform.time() + HOUR;
    platform.schedule(&before[1], Change::Published, at).expect("a video");
    platform.schedule(&before[0], Change::Published, at + HOUR).expect("a video");
    assert_eq!(feed_ids(&platform, &feed).await[..3], before[2..5]);
    assert_eq!((video(&platform, &before[0]).await, status(&platform, &before[0]).await), {
        (None, "ERROR".to_owned())
    });
    platform.advance(HOUR);
    assert_eq!(feed_ids(&platform, &feed).await[..3], before[1..4]);
    platform.advance(HOUR);
    assert_eq!(feed_ids(&platform, &feed).await, before);
    let newest = items(&platform, &uploads).await.items()[0].clone();
    assert_eq!(newest["contentDetails"]["videoId"], before[0].as_str());
    assert_eq!(newest["contentDetails"]["videoPublishedAt"], "2026-06-01T02:00:00Z");
    assert_eq!(newest["snippet"]["publishedAt"], "2026-06-01T02:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn any_video_can_change() {
    let platform = Simulator::new();
    let at = platform.time() + HOUR;
    let ordinary = items(&platform, "PLsize50").await.each("/contentDetails/videoId").remove(7);
    for id in ["txManualAsr", ordinary.as_str(), "quirkLiveOn"] {
        platform.schedule(id, Change::Ended, at).expect("a video");
        let live = video(&platform, id).await.expect("public");
        assert_eq!(live["snippet"]["liveBroadcastContent"], "live", "{id}");
        assert_eq!(live["contentDetails"]["caption"], "false", "{id}");
        assert_eq!(caption_count(&platform, id).await, 0, "{id}");
    }
    platform.schedule("txManualAsr", Change::Captions, at + HOUR).expect("a video");
    platform.advance(HOUR);
    assert_eq!(caption_count(&platform, "txManualAsr").await, 0);
    assert!(caption_count(&platform, &ordinary).await > 0);
    platform.advance(HOUR);
    assert_eq!(caption_count(&platform, "txManualAsr").await, 2);
    let unknown = platform.schedule("quirkAbsent", Change::Deleted, at);
    assert_eq!(unknown.map_err(|e| e.to_string()), {
        Err("no video has the id \"quirkAbsent\"".to_owned())
    });
    assert!(platform.schedule("not-a-video", Change::Deleted, at).is_err());
}

#[tokio::test(start_paused = true)]
async fn etags_change_with_the_answers() {
    let platform = Simulator::new();
    let etag = async || items(&platform, "PLsize50").await.body["etag"].clone();
    let id = items(&platform, "PLsize50").await.each("/contentDetails/videoId").remove(0);
    let first = etag().await;
    platform.schedule(&id, Change::Deleted, platform.time() + HOUR).expect("a video");
    platform.advance(HOUR - MINUTE);
    let waiting = etag().await;
    platform.advance(MINUTE);
    assert_ne!(etag().await, waiting);
    platform.clear_schedule();
    platform.set_time("2026-06-01T00:00:00Z".parse().expect("a time"));
    assert_eq!(etag().await, first);
}
