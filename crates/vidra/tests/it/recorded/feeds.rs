//! Public feeds and WebSub notifications.

use std::collections::BTreeSet;

use http::StatusCode;
use vidra::feed::{FeedError, FeedId, parse};
use vidra::{ChannelRef, Feed, FeedAnswer, FeedItem, FeedSource, PlaylistId, Video};

use super::{bytes_of, fixtures, id, json_of, second_fixtures_of};

/// The file, its channel or playlist, its title, and its numbers of entries, Shorts, views, likes, and characters of
/// all descriptions.
type FeedRow = (&'static str, &'static str, &'static str, [u64; 5]);

const NUTSHELL: &str = "Kurzgesagt – In a Nutshell";

const FEEDS: [FeedRow; 12] = [
    (
        "channel-aeronews-2025-chapters.xml",
        "UCipwt-3-cptv9K6uhfZ61GA",
        "AeroNewsGermany",
        [15, 0, 1_828_817, 98_054, 12_467],
    ),
    (
        "channel-digital-foundry-2025-one-line-descriptions.xml",
        "UC9PBzalIcEQCsiIkq36PyUA",
        "Digital Foundry",
        [15, 0, 1_942_833, 74_115, 18_098],
    ),
    (
        "channel-google-2015-leading-newline.xml",
        "UCK8sQmJBp8GCxrOtXWBpyEA",
        "Google",
        [15, 0, 40_789_637, 176_447, 4_723],
    ),
    (
        "channel-nasa-2026.xml",
        "UCLA_DiR1FfKNvjuUpBHmylQ",
        "NASA",
        [15, 3, 5_424_815, 116_012, 8_746],
    ),
    (
        "playlist-2015.xml",
        "PLAD454F0807B6CB80",
        "Tests du grenier",
        [15, 0, 63_825_663, 560_932, 4_522],
    ),
    ("playlist-no-entry.xml", "PLAD454F0807B6CB80", "Tests du grenier", [0, 0, 0, 0, 0]),
    (
        "playlist-one-entry.xml",
        "PLAD454F0807B6CB80",
        "Tests du grenier",
        [1, 0, 5_070_656, 67_880, 245],
    ),
    (
        "user-kurzgesagt-2021-07.xml",
        "UCsXVk37bltHxD1rDPwtNM8Q",
        NUTSHELL,
        [15, 0, 103_625_139, 5_730_315, 53_252],
    ),
    (
        "user-kurzgesagt-2022-11-channel-id-empty.xml",
        "UCsXVk37bltHxD1rDPwtNM8Q",
        NUTSHELL,
        [15, 0, 115_386_929, 5_614_796, 55_669],
    ),
    (
        "user-kurzgesagt-2025-07-shorts.xml",
        "UCsXVk37bltHxD1rDPwtNM8Q",
        NUTSHELL,
        [15, 10, 37_655_038, 1_548_268, 36_423],
    ),
    ("websub-deleted-entry-2020.xml", "", "", [0, 0, 0, 0, 0]),
    (
        "websub-new-video-2020.xml",
        "UC7fk0CB07ly8oSl0aqKkqFg",
        "YouTube video feed",
        [1, 0, 0, 0, 0],
    ),
];

const NOT_FEEDS: &[&str] = &["not-found-404.html"];

fn read(file: &str) -> Option<Feed> {
    let body = bytes_of(&second_fixtures_of("feeds")?, file);
    Some(parse(&body).unwrap_or_else(|error| panic!("{file}: {error}")))
}

fn source(feed: &Feed) -> &str {
    match &feed.id {
        Some(FeedId::Channel(id)) => id.as_str(),
        Some(FeedId::Playlist(id)) => id.as_str(),
        _ => "",
    }
}

#[test]
fn every_recorded_feed_is_tested() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    let files = std::fs::read_dir(folder).expect("the folder can be listed");
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let tested = FEEDS.iter().map(|(file, ..)| file).chain(NOT_FEEDS);
    assert_eq!(files, tested.map(|file| (*file).to_owned()).collect());
}

#[test]
fn every_recorded_feed_is_read_completely() {
    for (file, expected, title, numbers) in FEEDS {
        let Some(feed) = read(file) else { return };
        assert_eq!((source(&feed), feed.title.as_str()), (expected, title), "{file}");
        let sum = |number: fn(&FeedItem) -> u64| feed.items.iter().map(number).sum::<u64>();
        let read = [
            sum(|_| 1),
            sum(|item| u64::from(item.is_short == Some(true))),
            sum(|item| item.views.unwrap_or(0)),
            sum(|item| item.likes.unwrap_or(0)),
            sum(|item| item.description.chars().count() as u64),
        ];
        assert_eq!(read, numbers, "{file}");
        for item in &feed.items {
            let is_notification = file.starts_with("websub");
            assert_eq!(item.views.is_none(), is_notification, "{file}");
            assert_eq!(item.thumbnail.is_none(), is_notification, "{file}");
            assert!(item.channel_id.is_some() && item.updated_at.is_some(), "{file}");
            assert!(!item.title.is_empty() && item.published_at.timestamp().is_some(), "{file}");
            let json = serde_json::to_value(item).unwrap();
            assert_eq!(serde_json::from_value::<FeedItem>(json).unwrap().id, item.id, "{file}");
        }
    }
}

#[test]
fn single_entries_of_recorded_feeds() {
    let Some(nasa) = read("channel-nasa-2026.xml") else { return };
    let first = serde_json::to_value(&nasa.items[0]).unwrap();
    let description = first["description"].as_str().unwrap();
    assert!(description.starts_with("We are holding a news conference"), "{description}");
    assert!(description.ends_with("\n- Members of Congress\n\nCredit: NASA"), "{description}");
    let expected = serde_json::json!({
        "id": "I_GUQdY01b0",
        "title": "Special Event Announcement (Aug. 14, 2026)",
        "channel": "NASA",
        "channelId": "UCLA_DiR1FfKNvjuUpBHmylQ",
        "publishedAt": "2026-08-14T19:14:36.000Z",
        "updatedAt": "2026-08-14T19:30:55.000Z",
        "description": description,
        "thumbnail": "https://i2.ytimg.com/vi/I_GUQdY01b0/hqdefault.jpg",
        "views": 66195,
        "likes": 2541,
    });
    assert_eq!(first, expected);
    let upcoming = nasa.items.iter().filter(|item| item.views == Some(0)).count();
    assert_eq!(upcoming, 1, "a broadcast that has not started has no views yet");

    let Some(shorts) = read("user-kurzgesagt-2025-07-shorts.xml") else { return };
    let last = &shorts.items[14];
    assert_eq!((last.id.as_str(), last.is_short), ("eGU9Bvl7VvQ", Some(true)));
    assert_eq!(last.title, "Your Spacesuit Fails – What Now?");
    assert_eq!((last.views, last.likes), (Some(2_330_651), Some(86_457)));

    let Some(google) = read("channel-google-2015-leading-newline.xml") else { return };
    assert_eq!(google.items[0].title, "The Google app: Questions Title");
    assert_eq!(google.items[0].channel, "Google");
    assert_eq!(google.items[14].updated_at.unwrap().to_string(), "2015-05-12T16:22:28.000Z");

    let Some(playlist) = read("playlist-2015.xml") else { return };
    assert!(matches!(playlist.id, Some(FeedId::Playlist(_))));
    assert_eq!(playlist.items[14].id.as_str(), "-0eQ1piBt48");
    assert_eq!(id(&playlist.items[14].channel_id), "UC_yP2DpIgs5Y1uWC0T03Chw");

    let Some(entities) = read("user-kurzgesagt-2022-11-channel-id-empty.xml") else { return };
    assert_eq!(entities.items[0].title, "Why Don't We Shoot Nuclear Waste Into Space?");
}

#[test]
fn a_notification_reports_a_new_video() {
    let Some(feed) = read("websub-new-video-2020.xml") else { return };
    let [item] = feed.items.try_into().expect("one entry");
    assert_eq!(item.id.as_str(), "hAo6NGQlkOA");
    assert_eq!(item.title, "【 歌枠 】久しぶりに歌ってやるんだ～～～～～～！！！」");
    assert_eq!(item.channel, "Nakiri Ayame Ch. 百鬼あやめ");
    assert_eq!(item.published_at.to_string(), "2020-09-15T14:01:59.050Z");
    assert_eq!(item.updated_at.unwrap().to_string(), "2020-09-15T16:00:00.018Z");
    assert_eq!((item.description.as_str(), item.is_short), ("", None));
    assert!(feed.deleted.is_empty());
}

#[test]
fn a_notification_reports_a_deleted_video() {
    let Some(feed) = read("websub-deleted-entry-2020.xml") else { return };
    assert_eq!((feed.id, feed.items.len()), (None, 0));
    let [deleted] = feed.deleted.try_into().expect("one deletion");
    assert_eq!(deleted.id.as_str(), "HJiD8KcZKfs");
    assert_eq!(deleted.channel, "Noel Ch. 白銀ノエル");
    assert_eq!(id(&deleted.channel_id), "UCdyqAaZDKHXg4Ahi7VENThQ");
    assert_eq!(deleted.deleted_at.to_string(), "2020-10-23T15:34:56.217Z");
}

#[test]
fn the_page_of_an_unknown_channel_is_not_a_feed() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    for file in NOT_FEEDS {
        assert_eq!(parse(&bytes_of(&folder, file)), Err(FeedError::NotAFeed), "{file}");
    }
}

#[test]
fn a_truncated_feed_is_an_error() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    for (file, ..) in FEEDS {
        let body = bytes_of(&folder, file);
        let body = body.trim_ascii_end();
        let step = (body.len() / 200).max(1);
        for length in (0..body.len()).step_by(step) {
            assert!(parse(&body[..length]).is_err(), "{file}: {length} bytes");
        }
    }
}

#[tokio::test]
async fn an_item_can_be_made_of_a_recorded_video() {
    let Some(folder) = fixtures() else { return };
    let file = "videos/snippet-contentdetails-statistics-2023.json";
    let raw = json_of(&folder, file);
    let ids = [vidra::VideoId::parse("Ks-_Mh1QhMc").unwrap()];
    let client = super::Recorded::default().page("videos", bytes_of(&folder, file)).client();
    let video: Video = client.videos(&ids).await.unwrap().remove(0);
    let item = FeedItem::from(video);
    assert_eq!(item.title, "Your body language may shape who you are | Amy Cuddy");
    assert_eq!((item.views, item.likes), (Some(23_278_951), Some(391_633)));
    assert_eq!((item.updated_at, item.is_short), (None, None));
    let thumbnail = raw["items"][0]["snippet"]["thumbnails"]["high"]["url"].as_str();
    assert_eq!(item.thumbnail.as_deref(), thumbnail);
}

/// Recorded feeds that the operations read: YouTube sends notifications to subscribers only.
fn served() -> impl Iterator<Item = &'static FeedRow> {
    FEEDS.iter().filter(|(file, ..)| !file.starts_with("websub"))
}

async fn feed_of(recorded: &super::Recorded, source: &str) -> vidra::Result<FeedAnswer> {
    let client = recorded.client();
    if source.starts_with("UC") {
        return client.channel_feed(&ChannelRef::parse(source).unwrap()).await;
    }
    client.playlist_feed(&PlaylistId::parse(source).unwrap()).await
}

#[tokio::test]
async fn every_recorded_feed_is_read_by_the_operations() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    for (file, source, _, [entries, ..]) in served() {
        let no_entries = r#"{"items": []}"#;
        let recorded = super::Recorded::default()
            .page("videos.xml", bytes_of(&folder, file))
            .page("playlistItems", no_entries);
        let answer = feed_of(&recorded, source).await.unwrap();
        if *entries == 0 {
            // An empty feed proves nothing, so that the Data API is called.
            assert_eq!(recorded.requested(), ["videos.xml", "playlistItems"], "{file}");
            assert_eq!((answer.source, answer.items.len()), (FeedSource::DataApi, 0), "{file}");
            continue;
        }
        assert_eq!(recorded.requested(), ["videos.xml"], "{file}");
        assert_eq!(answer.source, FeedSource::Feed, "{file}");
        assert_eq!(answer.items, read(file).unwrap().items, "{file}");
    }
}

#[tokio::test]
async fn a_feed_of_another_channel_is_replaced() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    let entry = r#"{"items": [{"contentDetails": {"videoId": "dQw4w9WgXcQ"}}]}"#;
    let recorded = super::Recorded::default()
        .page("videos.xml", bytes_of(&folder, "channel-nasa-2026.xml"))
        .page("playlistItems", entry)
        .details_without(&[]);
    let answer = feed_of(&recorded, "UCK8sQmJBp8GCxrOtXWBpyEA").await.unwrap();
    assert_eq!(answer.source, FeedSource::DataApi);
    assert_eq!(
        answer.items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(),
        ["dQw4w9WgXcQ"]
    );
}

#[tokio::test]
async fn the_recorded_page_of_an_unknown_channel_is_replaced() {
    let Some(folder) = second_fixtures_of("feeds") else { return };
    for file in NOT_FEEDS {
        let recorded = super::Recorded::default()
            .answer("videos.xml", StatusCode::NOT_FOUND, bytes_of(&folder, file))
            .page("playlistItems", r#"{"items": []}"#);
        let answer = feed_of(&recorded, "PLany").await.unwrap();
        assert_eq!((answer.source, answer.items.len()), (FeedSource::DataApi, 0), "{file}");
    }
}
