//! `videos.list`: every member of every recorded video, and the totals of every file.

use serde_json::{Value, json};
use vidra::{ErrorKind, HiddenCount, Video, VideoId};

use super::{Recorded, bytes_of, count, fixtures, id, items_of, millis, text};

pub(super) const FILES: &[&str] = &[
    "all-parts-2019.json",
    "chart-paged-1.json",
    "chart-paged-2.json",
    "content-details-50.json",
    "duration-whole-minutes.json",
    "duration-with-hours.json",
    "full-parts-page-50.json",
    "live-past-details.json",
    "live-scheduled-details.json",
    "no-parts-in-item.json",
    "not-found-empty-items.json",
    "one-of-two-ids-invalid.json",
    "region-allowed-only.json",
    "region-blocked.json",
    "snippet-contentdetails-statistics-2023.json",
    "snippet-no-tags-empty-description.json",
    "statistics-only.json",
    "stats-missing-combos.json",
    "upcoming-live-P0D.json",
];

/// Videos, seconds and views in all, in the order of `FILES`; counted by hand.
const TOTALS: [(usize, u64, u64); 19] = [
    (1, 1_267, 7_920),
    (5, 0, 0),
    (3, 0, 0),
    (50, 33_935, 0),
    (1, 2_040, 0),
    (1, 3_677, 0),
    (50, 12_765, 13_964_788),
    (1, 0, 0),
    (1, 0, 0),
    (1, 0, 0),
    (0, 0, 0),
    (1, 0, 0),
    (5, 4_704, 6_884_596),
    (1, 5_121, 0),
    (2, 1_353, 25_932_295),
    (13, 0, 0),
    (1, 0, 113_620),
    (50, 0, 42_722_113),
    (1, 0, 0),
];

/// All videos of a file, requested by the ids that it contains and one that it does not.
async fn read(file: &str) -> Option<(Vec<Value>, Vec<Video>)> {
    let folder = fixtures()?;
    let name = format!("videos/{file}");
    let raw = items_of(&folder, &name);
    let mut ids: Vec<VideoId> =
        raw.iter().map(|item| VideoId::parse(text(item, "/id")).unwrap()).collect();
    if ids.len() < 50 {
        ids.push(VideoId::parse("never-there").unwrap());
    }
    let recorded = Recorded::default().page("videos", bytes_of(&folder, &name));
    let videos =
        recorded.client().videos(&ids).await.unwrap_or_else(|error| panic!("{file}: {error:?}"));
    Some((raw, videos))
}

async fn only(file: &str) -> Option<Video> {
    read(file).await.map(|(_, mut videos)| videos.remove(0))
}

#[tokio::test]
async fn every_recorded_video_is_read_completely() {
    for (file, (many, seconds, views)) in FILES.iter().zip(TOTALS) {
        let Some((raw, videos)) = read(file).await else { return };
        assert_eq!(videos.len(), many, "{file}");
        assert_eq!(videos.iter().map(|video| video.duration).sum::<u64>(), seconds, "{file}");
        assert_eq!(videos.iter().map(|video| video.views).sum::<u64>(), views, "{file}");
        for (raw, video) in raw.iter().zip(&videos) {
            assert_same(raw, video, file);
        }
    }
}

fn assert_same(raw: &Value, video: &Video, file: &str) {
    let counts = [
        (video.views, "/statistics/viewCount", HiddenCount::Views),
        (video.likes, "/statistics/likeCount", HiddenCount::Likes),
        (video.comments, "/statistics/commentCount", HiddenCount::Comments),
    ];
    for (seen, pointer, _) in counts {
        assert_eq!(seen, count(raw, pointer).unwrap_or(0), "{file} {pointer}");
    }
    let withheld = counts.iter().filter(|(_, pointer, _)| count(raw, pointer).is_none());
    assert_eq!(video.hidden, withheld.map(|(_, _, name)| *name).collect::<Vec<_>>(), "{file}");
    let texts = [
        (video.id.as_str(), "/id"),
        (&video.title, "/snippet/title"),
        (&video.description, "/snippet/description"),
        (&video.channel, "/snippet/channelTitle"),
        (id(&video.channel_id), "/snippet/channelId"),
    ];
    for (seen, pointer) in texts {
        assert_eq!(seen, text(raw, pointer), "{file} {pointer}");
    }
    assert_eq!(video.published_at.to_string(), millis(text(raw, "/snippet/publishedAt")), "{file}");
    let thumbnails = raw.pointer("/snippet/thumbnails").cloned().unwrap_or(json!({}));
    assert_eq!(serde_json::to_value(&video.thumbnails).unwrap(), thumbnails, "{file}");
}

#[tokio::test]
async fn a_full_video_with_formatted_values() {
    let Some(video) = only("snippet-contentdetails-statistics-2023.json").await else { return };
    assert_eq!(video.id.as_str(), "Ks-_Mh1QhMc");
    assert_eq!(video.title, "Your body language may shape who you are | Amy Cuddy");
    assert_eq!(video.channel, "TED");
    assert_eq!((video.views, video.views_fmt.as_str()), (23_278_951, "23M"));
    assert_eq!((video.likes, video.likes_fmt.as_str()), (391_633, "392K"));
    assert_eq!((video.comments, video.comments_fmt.as_str()), (9_518, "9.5K"));
    assert_eq!((video.duration, video.duration_fmt.as_str()), (1_263, "21:03"));
    assert_eq!(video.published, "October 1, 2012");
    assert_eq!(video.published_at.to_string(), "2012-10-01T15:27:35.000Z");
    assert!(video.thumbnails.maxres.is_some());
    assert_eq!(video.hidden, []);
}

#[tokio::test]
async fn an_upcoming_broadcast_has_no_duration_and_no_hidden_counts() {
    let Some(video) = only("upcoming-live-P0D.json").await else { return };
    assert!(video.title.starts_with("🎙 Pressetalk mit Leon Goretzka"), "{}", video.title);
    assert!(video.title.ends_with("Vertragsverlängerung"), "{}", video.title);
    assert_eq!((video.duration, video.duration_fmt.as_str()), (0, "0:00"));
    assert_eq!((video.views, video.likes, video.comments), (0, 49, 0));
    assert_eq!(video.published, "September 16, 2021");
    assert!(video.thumbnails.best_url().ends_with("_live.jpg"));
    assert_eq!(video.hidden, []);
}

#[tokio::test]
async fn titles_keep_every_script() {
    let Some(video) = only("one-of-two-ids-invalid.json").await else { return };
    assert_eq!(video.title, "PSY - GANGNAM STYLE(강남스타일) M/V");
    let Some((_, chart)) = read("chart-paged-2.json").await else { return };
    assert_eq!(chart[2].title, "Customizing 8 Apple Watches⌚️💦Then Giving Them Away!!");
    let Some((_, page)) = read("full-parts-page-50.json").await else { return };
    let with_returns = page.iter().filter(|video| video.description.contains('\r')).count();
    assert_eq!(with_returns, 1, "line breaks stay as they were written");
}

#[tokio::test]
async fn an_item_with_nothing_but_its_id_is_still_a_video() {
    for file in ["no-parts-in-item.json", "live-past-details.json", "live-scheduled-details.json"] {
        let Some(video) = only(file).await else { return };
        assert_eq!((video.title.as_str(), video.published.as_str()), ("", ""));
        assert_eq!(video.published_at.to_string(), "");
        assert_eq!(video.views_fmt, "0");
        assert_eq!(video.duration_fmt, "0:00");
        assert_eq!(video.thumbnails.best_url(), "");
        assert_eq!(video.hidden, [HiddenCount::Views, HiddenCount::Likes, HiddenCount::Comments]);
    }
}

#[tokio::test]
async fn recorded_durations_are_formatted() {
    let table = [
        ("duration-whole-minutes.json", "34:00"),
        ("duration-with-hours.json", "1:01:17"),
        ("region-blocked.json", "1:25:21"),
        ("content-details-50.json", "0:12"),
        ("all-parts-2019.json", "21:07"),
    ];
    for (file, clock) in table {
        let Some(video) = only(file).await else { return };
        assert_eq!(video.duration_fmt, clock, "{file}");
    }
}

#[tokio::test]
async fn withheld_counts_are_listed_in_every_combination() {
    use HiddenCount::{Comments, Likes, Views};
    let Some((_, videos)) = read("stats-missing-combos.json").await else { return };
    let table: [(&[HiddenCount], usize); 5] = [
        (&[], 5),
        (&[Comments], 37),
        (&[Likes, Comments], 3),
        (&[Views, Comments], 1),
        (&[Views, Likes, Comments], 4),
    ];
    for (hidden, many) in table {
        let found = videos.iter().filter(|video| video.hidden == hidden).count();
        assert_eq!(found, many, "{hidden:?}");
    }
    let only_likes = videos.iter().find(|video| video.id.as_str() == "iiMpdwr5-Qo").unwrap();
    assert_eq!((only_likes.views, only_likes.likes), (0, 33_315));
}

#[tokio::test]
async fn an_unknown_video_is_not_found() {
    let Some(folder) = fixtures() else { return };
    let body = bytes_of(&folder, "videos/not-found-empty-items.json");
    let client = Recorded::default().page("videos", body).client();
    let error = client.video(VideoId::parse("dQw4w9WgXcQ").unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.message(), "Video not found: dQw4w9WgXcQ");
}
