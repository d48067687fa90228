//! `search.list`: every recorded result, read by `Vidra::search` for each kind of result.

use futures_util::TryStreamExt;
use serde_json::{Value, json};
use vidra::{Page, SearchItem, SearchKind, SearchQuery, Thumbnails};

use super::{Recorded, bytes_of, count, id, items_of, json_of, millis, second_fixtures_of, text};

/// The file, and its numbers of videos, channels and playlists.
type SearchRow = (&'static str, [usize; 3]);

const SEARCHES: [SearchRow; 18] = [
    ("channel-50-2022.json", [50, 0, 0]),
    ("empty-but-total-23.json", [0, 0, 0]),
    ("empty-unknown-channel-2022.json", [0, 0, 0]),
    ("event-live-25.json", [25, 0, 0]),
    ("event-upcoming-1.json", [1, 0, 0]),
    ("fields-video-playlist-items-only.json", [10, 0, 5]),
    ("id-only-15.json", [15, 0, 0]),
    ("mixed-video-playlist.json", [3, 0, 2]),
    ("no-query-50-2020.json", [50, 0, 0]),
    ("related-snippet-absent.json", [20, 0, 0]),
    ("related-tracklists-1.json", [20, 0, 0]),
    ("related-tracklists-2.json", [20, 0, 0]),
    ("related-tracklists-3.json", [20, 0, 0]),
    ("type-channel-2024.json", [0, 5, 0]),
    ("type-channel-live-and-upcoming.json", [0, 5, 0]),
    ("type-video-returned-a-channel.json", [0, 1, 0]),
    ("video-page-1.json", [25, 0, 0]),
    ("video-page-2.json", [25, 0, 0]),
];

const KINDS: [(SearchKind, &str); 3] = [
    (SearchKind::Video, "/id/videoId"),
    (SearchKind::Channel, "/id/channelId"),
    (SearchKind::Playlist, "/id/playlistId"),
];

pub(super) fn files() -> impl Iterator<Item = &'static str> {
    SEARCHES.into_iter().map(|(file, _)| file)
}

fn query(kind: SearchKind) -> SearchQuery {
    SearchQuery::parse("anything").unwrap().with_kind(kind)
}

/// The recorded pages, one after the other. All their videos exist but `deleted`.
fn platform(files: &[&str], deleted: &[&str]) -> Option<Recorded> {
    let folder = second_fixtures_of("data-api")?;
    let page = |recorded: Recorded, file: &&str| {
        recorded.page("search", bytes_of(&folder, &format!("search/{file}")))
    };
    Some(files.iter().fold(Recorded::default().details_without(deleted), page))
}

/// The results of a recording that have an id of this kind.
fn results(file: &str, pointer: &str) -> Vec<Value> {
    let folder = second_fixtures_of("data-api").expect("it was there");
    let items = items_of(&folder, &format!("search/{file}")).into_iter();
    items.filter(|item| item.pointer(pointer).is_some()).collect()
}

fn ids(page: &Page<SearchItem>) -> Vec<&str> {
    page.items.iter().map(SearchItem::id).collect()
}

/// The text without the entities that YouTube writes in the titles of results.
fn unescaped(title: &str) -> String {
    let entities = [("&#39;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    entities.into_iter().fold(title.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

#[tokio::test]
async fn every_recorded_search_is_read_completely() {
    for (file, counts) in SEARCHES {
        for ((kind, pointer), expected) in KINDS.into_iter().zip(counts) {
            let Some(recorded) = platform(&[file], &[]) else { return };
            let page = recorded.client().search(&query(kind), None, 50).await.unwrap().body;
            let raw = results(file, pointer);
            assert_eq!((page.items.len(), raw.len()), (expected, expected), "{file} {kind:?}");
            for (item, raw) in page.items.iter().zip(&raw) {
                assert_eq!(item.id(), text(raw, pointer), "{file}");
                assert_same(item, raw, file);
            }
            let whole =
                json_of(&second_fixtures_of("data-api").unwrap(), &format!("search/{file}"));
            assert_eq!(page.total_estimate, count(&whole, "/pageInfo/totalResults"), "{file}");
            let has_next = whole.get("nextPageToken").is_some();
            assert_eq!(page.next_cursor.is_some(), has_next, "{file}");
            // One call for the videos, if there are any.
            let calls: &[&str] = match kind {
                SearchKind::Video if expected > 0 => &["search", "videos"],
                _ => &["search"],
            };
            assert_eq!(recorded.requested(), calls, "{file} {kind:?}");
        }
    }
}

/// Asserts that a channel or playlist has all recorded data. That of a video comes from `videos.list`.
fn assert_same(item: &SearchItem, raw: &Value, file: &str) {
    let thumbnails = |seen: &Thumbnails| {
        let recorded = raw.pointer("/snippet/thumbnails").and_then(Value::as_object).unwrap();
        // Old recordings have no sizes.
        for (name, thumbnail) in recorded {
            let seen = serde_json::to_value(seen).unwrap();
            assert_eq!(seen[name]["url"], thumbnail["url"], "{file} {name}");
        }
    };
    let title = unescaped(text(raw, "/snippet/title"));
    let description = text(raw, "/snippet/description");
    let published = millis(text(raw, "/snippet/publishedAt"));
    match item {
        SearchItem::Channel(channel) => {
            assert_eq!((&channel.name, &*channel.description), (&title, description), "{file}");
            assert_eq!(channel.published_at.to_string(), published, "{file}");
            thumbnails(&channel.thumbnails);
        }
        SearchItem::Playlist(playlist) => {
            assert_eq!((&playlist.title, &*playlist.description), (&title, description), "{file}");
            assert_eq!(playlist.published_at.to_string(), published, "{file}");
            assert_eq!(playlist.channel, text(raw, "/snippet/channelTitle"), "{file}");
            assert_eq!(id(&playlist.channel_id), text(raw, "/snippet/channelId"), "{file}");
            thumbnails(&playlist.thumbnails);
        }
        SearchItem::Video(video) => assert_eq!(video.duration, 60, "{file}"),
        other => panic!("{file}: {other:?}"),
    }
}

#[tokio::test]
async fn recorded_pages_are_followed() {
    let files = ["video-page-1.json", "video-page-2.json"];
    let Some(recorded) = platform(&files, &[]) else { return };
    let mut expected: Vec<String> = files
        .iter()
        .flat_map(|file| results(file, "/id/videoId"))
        .map(|item| text(&item, "/id/videoId").to_owned())
        .collect();
    let client = recorded.client();
    let query = query(SearchKind::Video);
    let first = client.search(&query, None, 20).await.unwrap().body;
    assert_eq!(ids(&first), expected[..20]);
    let rest = client.search(&query, first.next_cursor.as_deref(), 50).await.unwrap().body;
    assert_eq!(ids(&rest), expected[20..25], "the rest of the first upstream page");
    let second = client.search(&query, rest.next_cursor.as_deref(), 50).await.unwrap().body;
    assert_eq!(ids(&second), expected[25..]);
    // The second page announces a third, which was not recorded.
    let whole = recorded.page("search", json!({"items": []}).to_string());
    let all: Vec<SearchItem> = whole.client().search_all(&query, None).try_collect().await.unwrap();
    assert_eq!(expected[24], expected[25], "the last result of a page is the first of the next");
    expected.remove(25);
    assert_eq!(
        all.iter().map(SearchItem::id).collect::<Vec<_>>(),
        expected,
        "a stream has it once"
    );
}

#[tokio::test]
async fn recorded_videos_that_were_deleted_are_left_out() {
    let file = "event-live-25.json";
    if second_fixtures_of("data-api").is_none() {
        return;
    }
    let raw = results(file, "/id/videoId");
    let deleted = [text(&raw[0], "/id/videoId"), text(&raw[24], "/id/videoId")];
    let recorded = platform(&[file], &deleted).expect("it was there");
    let page = recorded.client().search(&query(SearchKind::Video), None, 50).await.unwrap().body;
    let expected: Vec<&str> = raw[1..24].iter().map(|item| text(item, "/id/videoId")).collect();
    assert_eq!(ids(&page), expected);
}
