//! `playlists.list` and `playlistItems.list`: heads, walks through pages, entries that are gone.

use serde_json::json;
use vidra::{ErrorKind, PlaylistId, PlaylistIds, PlaylistInfo};

use super::{Recorded, bytes_of, fixtures, items_of, text};

pub(super) const LISTS: &[&str] = &[
    "album-thumbs-no-default.json",
    "all-parts-2019.json",
    "contentdetails-only.json",
    "not-found-empty-items.json",
    "paged-1-of-7.json",
    "paged-7-of-7.json",
    "snippet-paged-1-2019.json",
    "tags-present.json",
    "thumbs-medium-standard-only.json",
];

/// How many playlists each of `LISTS` holds.
const MANY: [usize; 9] = [1, 5, 1, 0, 50, 38, 10, 4, 50];

pub(super) const ITEMS: &[&str] = &[
    "empty.json",
    "paged-1-2019.json",
    "paged-1-of-2.json",
    "paged-2-2019.json",
    "paged-2-of-2.json",
    "private-videos-excerpt.json",
    "short-pages-1.json",
    "short-pages-2.json",
    "short-pages-3.json",
    "short-pages-4.json",
    "snippet-contentdetails-2023.json",
    "snippet-status-last-page.json",
    "videopublishedat-absent-2015.json",
];

async fn info(file: &str, id: &str) -> Option<vidra::Result<PlaylistInfo>> {
    let body = bytes_of(&fixtures()?, &format!("playlists/{file}"));
    let client = Recorded::default().page("playlists", body).client();
    Some(client.playlist_info(&PlaylistId::parse(id).unwrap()).await)
}

#[tokio::test]
async fn every_recorded_playlist_is_read_completely() {
    let Some(folder) = fixtures() else { return };
    for (file, many) in LISTS.iter().zip(MANY) {
        let items = items_of(&folder, &format!("playlists/{file}"));
        assert_eq!(items.len(), many, "{file}");
        for item in items {
            let id = text(&item, "/id");
            let info = info(file, id).await.expect("the folder is there").unwrap();
            assert_eq!(info.id.as_str(), id);
            assert_eq!(info.title, text(&item, "/snippet/title"), "{file}");
            assert_eq!(info.description, text(&item, "/snippet/description"), "{file}");
            let thumbnails = item.pointer("/snippet/thumbnails").cloned().unwrap_or(json!({}));
            assert_eq!(serde_json::to_value(&info.thumbnails).unwrap(), thumbnails, "{file}");
        }
    }
}

#[tokio::test]
async fn an_album_has_square_thumbnails_and_no_small_one() {
    let album = "OLAK5uy_mt1gUnCahoe2g5rYOCCxLU_pMxBxcSbPw";
    let Some(info) = info("album-thumbs-no-default.json", album).await else { return };
    let info = info.unwrap();
    assert_eq!(info.title, "Classical Music Playlist");
    assert!(info.thumbnails.default.is_none() && info.thumbnails.high.is_none());
    let largest = info.thumbnails.maxres.as_ref().unwrap();
    assert_eq!(largest.width, largest.height);
    assert_eq!(info.thumbnails.best_url(), largest.url);
}

#[tokio::test]
async fn a_playlist_without_a_snippet_has_an_empty_title_and_an_unknown_one_is_not_found() {
    let id = "PLpjK416fmKwQlQ0KvTWFmXZZa3d4IO2ro";
    let Some(bare) = info("contentdetails-only.json", id).await else { return };
    assert_eq!(bare.unwrap().title, "");
    let Some(unknown) = info("not-found-empty-items.json", id).await else { return };
    let error = unknown.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.message(), format!("Playlist not found: {id}"));
}

/// Walks through recorded pages; if the last one announces another, an empty page ends the walk.
async fn walk(files: &[&str]) -> Option<(Recorded, PlaylistIds)> {
    let folder = fixtures()?;
    let page = |recorded: Recorded, file: &&str| {
        recorded.page("playlistItems", bytes_of(&folder, &format!("playlist-items/{file}")))
    };
    let recorded = files.iter().fold(Recorded::default(), page).page("playlistItems", "{}");
    let id = PlaylistId::parse("PLany").unwrap();
    let ids =
        recorded.client().playlist_ids(&id).await.unwrap_or_else(|e| panic!("{files:?}: {e:?}"));
    Some((recorded, ids))
}

#[tokio::test]
async fn every_recorded_walk_gives_all_entries_in_order() {
    let table: [(&[&str], usize, usize); 8] = [
        (&["empty.json"], 0, 1),
        (&["paged-1-of-2.json", "paged-2-of-2.json"], 79, 2),
        (&["paged-1-2019.json", "paged-2-2019.json"], 13, 2),
        (&["private-videos-excerpt.json"], 9, 1),
        (&["snippet-contentdetails-2023.json"], 5, 1),
        (&["snippet-status-last-page.json"], 15, 1),
        (&["videopublishedat-absent-2015.json"], 50, 2),
        (
            &[
                "short-pages-1.json",
                "short-pages-2.json",
                "short-pages-3.json",
                "short-pages-4.json",
            ],
            141,
            4,
        ),
    ];
    for (files, entries, calls) in table {
        let Some((recorded, ids)) = walk(files).await else { return };
        let folder = fixtures().unwrap();
        let raw =
            files.iter().flat_map(|file| items_of(&folder, &format!("playlist-items/{file}")));
        let expected: Vec<String> = raw
            .map(|item| {
                let parts = ["/contentDetails/videoId", "/snippet/resourceId/videoId"];
                let ids = parts.map(|part| text(&item, part).to_owned());
                ids.into_iter().find(|id| !id.is_empty()).unwrap()
            })
            .collect();
        let seen: Vec<&str> = ids.video_ids.iter().map(|id| id.as_str()).collect();
        assert_eq!(seen, expected, "{files:?}");
        assert_eq!((ids.count, recorded.requested().len()), (entries, calls), "{files:?}");
    }
}

#[tokio::test]
async fn short_pages_are_followed_and_details_are_fetched_once_each() {
    let Some((recorded, _)) = walk(&[
        "short-pages-1.json",
        "short-pages-2.json",
        "short-pages-3.json",
        "short-pages-4.json",
    ])
    .await
    else {
        return;
    };
    let head = json!({"items": [{"id": "PLany", "snippet": {"title": "Lofi ☕"}}]}).to_string();
    let recorded = Recorded {
        requested: <_>::default(),
        ..recorded.page("playlists", head).details_without(&[])
    };
    let playlist = recorded.client().playlist(&PlaylistId::parse("PLany").unwrap()).await.unwrap();
    assert_eq!(playlist.title, "Lofi ☕");
    // 156 were announced. Two of the 141 are duplicates: listed twice, fetched once.
    assert_eq!((playlist.video_count, playlist.videos.len()), (141, 141));
    assert_eq!(playlist.unavailable_count, 0);
    assert_eq!((playlist.total_duration, playlist.total_duration_fmt.as_str()), (8_460, "2h 21m"));
    assert_eq!(playlist.videos[0].id.as_str(), "vmwW7oRvQ1k");
    assert_eq!(playlist.videos[49].id.as_str(), "gEgOFesYpw0");
    assert_eq!(playlist.videos[140].id.as_str(), "K2Voanva1QA");
    let requested = recorded.requested();
    let calls = |endpoint| requested.iter().filter(|name| *name == endpoint).count();
    assert_eq!((calls("playlistItems"), calls("videos"), calls("playlists")), (4, 3, 1));
}

#[tokio::test]
async fn private_entries_are_counted_and_not_listed() {
    let Some((recorded, _)) = walk(&["private-videos-excerpt.json"]).await else { return };
    let private = ["fIc_VEQ7Vo0", "07718Vcwcyc", "gK7lUK0711E"];
    let head = json!({"items": [{"id": "PLany"}]}).to_string();
    let recorded = recorded.page("playlists", head).details_without(&private);
    let playlist = recorded.client().playlist(&PlaylistId::parse("PLany").unwrap()).await.unwrap();
    assert_eq!((playlist.video_count, playlist.unavailable_count), (6, 3));
    assert_eq!(playlist.total_duration_fmt, "6m");
    let ids: Vec<&str> = playlist.videos.iter().map(|video| video.id.as_str()).collect();
    let public =
        ["GvgqDSnpRQM", "V4DDt30Aat4", "XDgC4FMftpg", "OE63BYWdqC4", "18TknKGC7tY", "CyRQJBBVI7g"];
    assert_eq!(ids, public);
}
