//! Lists that are read page by page: playlists of a channel, charts and comment threads.

use futures_util::TryStreamExt;
use serde_json::Value;
use vidra::{
    ChannelRef, ChartQuery, CommentQuery, CommentThread, Include, PlaylistInfo, Video, VideoId,
};

use super::{
    Recorded, bytes_of, count, fixtures, id, items_of, json_of, millis, second_fixtures_of, text,
};

/// Playlists of the second set, and how many each file holds.
const PLAYLISTS: [(&str, usize); 5] = [
    ("channel-fields-only.json", 3),
    ("content-details-50-2022.json", 50),
    ("paged-5-of-7.json", 50),
    ("paged-6-of-7.json", 50),
    ("uploads-id-with-empty-element.json", 1),
];

pub(super) fn playlist_files() -> impl Iterator<Item = &'static str> {
    PLAYLISTS.into_iter().map(|(file, _)| file)
}

fn channel() -> ChannelRef {
    ChannelRef::parse("UCBR8-60-B28hp2BmDPdntcQ").unwrap()
}

/// The playlists of a channel, and the recorded items of their pages.
async fn playlists(files: &[&str]) -> Option<(Vec<PlaylistInfo>, Vec<Value>)> {
    let sets = [fixtures()?, second_fixtures_of("data-api")?];
    let mut recorded = Recorded::default();
    let mut raw = vec![];
    for file in files {
        let name = format!("playlists/{file}");
        let folder = sets.iter().find(|folder| folder.join(&name).exists()).expect(file);
        recorded = recorded.page("playlists", bytes_of(folder, &name));
        raw.extend(items_of(folder, &name));
    }
    let read: Vec<PlaylistInfo> =
        recorded.client().channel_playlists(&channel()).try_collect().await.unwrap();
    assert_eq!(recorded.requested(), vec!["playlists"; files.len()]);
    Some((read, raw))
}

fn assert_playlist(playlist: &PlaylistInfo, raw: &Value) {
    let texts = [
        (playlist.id.as_str(), "/id"),
        (&playlist.title, "/snippet/title"),
        (&playlist.description, "/snippet/description"),
        (&playlist.channel, "/snippet/channelTitle"),
        (id(&playlist.channel_id), "/snippet/channelId"),
    ];
    for (seen, pointer) in texts {
        assert_eq!(seen, text(raw, pointer), "{pointer}");
    }
    assert_eq!(playlist.item_count, count(raw, "/contentDetails/itemCount"));
    let published = millis(text(raw, "/snippet/publishedAt"));
    assert_eq!(playlist.published_at.to_string(), published);
}

#[tokio::test]
async fn every_recorded_list_of_playlists_is_read_completely() {
    // Four of seven recorded pages. Each names the next one.
    let long = ["paged-1-of-7.json", "paged-5-of-7.json", "paged-6-of-7.json", "paged-7-of-7.json"];
    let singles = PLAYLISTS.iter().filter(|(file, _)| !long.contains(file));
    let lists = singles.map(|(file, many)| (vec![*file], *many)).chain([(long.to_vec(), 188)]);
    for (files, many) in lists {
        let Some((read, raw)) = playlists(&files).await else { return };
        assert_eq!((read.len(), raw.len()), (many, many), "{files:?}");
        for (playlist, raw) in read.iter().zip(&raw) {
            assert_playlist(playlist, raw);
        }
    }
}

#[tokio::test]
async fn a_recorded_chart_is_read_page_by_page() {
    let Some(folder) = fixtures() else { return };
    let files = ["videos/chart-paged-1.json", "videos/chart-paged-2.json"];
    let page = |recorded: Recorded, file: &&str| recorded.page("videos", bytes_of(&folder, file));
    let recorded = files.iter().fold(Recorded::default(), page);
    let raw: Vec<Value> = files.iter().flat_map(|file| items_of(&folder, file)).collect();
    let client = recorded.client().including(Include::DETAILS);
    let query = ChartQuery::default();
    let chart: Vec<Video> = client.popular_videos(&query).try_collect().await.unwrap();
    assert_eq!((chart.len(), recorded.requested().len()), (8, 2));
    for (video, raw) in chart.iter().zip(&raw) {
        assert_eq!(
            (video.id.as_str(), &*video.title),
            (text(raw, "/id"), text(raw, "/snippet/title"))
        );
        assert_eq!(video.channel, text(raw, "/snippet/channelTitle"));
        let category = video.details.as_ref().unwrap().category.as_ref().unwrap();
        assert_eq!(category.id, text(raw, "/snippet/categoryId"));
    }
    let first = client.popular_videos_page(&query, None, 3).await.unwrap().body;
    assert_eq!(first.items, chart[..3]);
    let cursor = first.next_cursor.as_deref();
    let next = client.popular_videos_page(&query, cursor, 5).await.unwrap().body;
    assert_eq!((next.items.as_slice(), next.next_cursor), (&chart[3..], None));
}

#[tokio::test]
async fn recorded_threads_are_read_page_by_page() {
    let Some(folder) = fixtures() else { return };
    let files = ["comment-threads/paged-1.json", "comment-threads/paged-2.json"];
    let page =
        |recorded: Recorded, file: &&str| recorded.page("commentThreads", bytes_of(&folder, file));
    let mut recorded = files.iter().fold(Recorded::default(), page);
    if json_of(&folder, files[1]).get("nextPageToken").is_some() {
        recorded = recorded.page("commentThreads", "{}");
    }
    let raw: Vec<Value> = files.iter().flat_map(|file| items_of(&folder, file)).collect();
    let video = VideoId::parse("MsplPPW7tFo").unwrap();
    let query = CommentQuery::default();
    let threads: Vec<CommentThread> =
        recorded.client().comment_threads(video, &query).try_collect().await.unwrap();
    let comment = "/snippet/topLevelComment/snippet/textOriginal";
    let expected: Vec<(&str, &str)> =
        raw.iter().map(|raw| (text(raw, "/id"), text(raw, comment))).collect();
    let read = threads.iter().map(|it| (it.id.as_str(), it.top_level_comment.text.as_str()));
    assert_eq!(read.collect::<Vec<_>>(), expected);
    assert_eq!(expected.len(), 10);
}
