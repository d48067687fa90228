//! Compares recorded responses of the Data API with those of the simulator.

use crate::discovery::{Discovery, fixtures, more_fixtures};
use crate::fetch::{fetch, pages};
use serde_json::Value;
use std::collections::BTreeSet;
use vidra_sim::{Kind, QUIRKS, Simulator};

/// The folders of recordings and the schemas of their files.
const FOLDERS: [(&str, &str); 7] = [
    ("videos", "VideoListResponse"),
    ("channels", "ChannelListResponse"),
    ("playlists", "PlaylistListResponse"),
    ("playlist-items", "PlaylistItemListResponse"),
    ("comment-threads", "CommentThreadListResponse"),
    ("comments", "CommentListResponse"),
    ("search", "SearchListResponse"),
];
/// Recordings of a part of an answer, and of an answer to the owner of a video.
const EXCLUDED: [&str; 3] = [
    "fragment-recordingdetails.json",
    "resource-with-topicdetails.json",
    "status-not-embeddable.json",
];

/// The recordings in a folder of either set; none, with a message, if the fixtures are missing.
fn recordings(folder: &str) -> Vec<(String, Value)> {
    let read = |file: std::fs::DirEntry| {
        let text = std::fs::read(file.path()).expect("a readable file");
        (
            file.file_name().to_string_lossy().into_owned(),
            serde_json::from_slice(&text).expect("JSON"),
        )
    };
    let roots: Vec<_> = fixtures().into_iter().chain(more_fixtures()).collect();
    let folders = roots.iter().map(|root| root.join("data-api").join(folder));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut all: Vec<_> = files.map(|file| read(file.expect("a readable folder"))).collect();
    all.retain(|(name, _)| !EXCLUDED.contains(&name.as_str()));
    assert!(roots.len() < 2 || !all.is_empty(), "no recordings in {folder}");
    all
}

/// The paths in a value and the type at each path.
pub(crate) fn shape(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            into.insert(format!("{at} object"));
            members.iter().for_each(|(name, member)| shape(member, &format!("{at}.{name}"), into));
        }
        Value::Array(entries) => {
            entries.iter().for_each(|entry| shape(entry, &format!("{at}[]"), into));
        }
        Value::String(_) => _ = into.insert(format!("{at} string")),
        Value::Number(_) => _ = into.insert(format!("{at} number")),
        Value::Bool(_) => _ = into.insert(format!("{at} boolean")),
        Value::Null => _ = into.insert(format!("{at} null")),
    }
}

/// The shapes of the simulator's answers for the resource of a folder.
async fn simulated(platform: &Simulator, folder: &str) -> BTreeSet<String> {
    let mut calls = vec![match folder {
        "videos" => "videos?part=snippet&chart=mostPopular&maxResults=50".to_owned(),
        "playlists" => {
            format!("playlists?part=snippet&maxResults=50&channelId={}", fermata(platform).await)
        }
        "search" => "search?part=snippet&type=playlist&maxResults=50&q=season".to_owned(),
        _ => "playlistItems?part=id&playlistId=PLsize1".to_owned(),
    }];
    calls.extend(QUIRKS.iter().filter_map(|quirk| {
        let id = quirk.id;
        Some(match (folder, quirk.kind()) {
            ("videos", Kind::Video) => format!("videos?part=snippet,contentDetails,statistics,status,player,liveStreamingDetails,recordingDetails,topicDetails&id={id}"),
            ("channels", Kind::Channel) => format!("channels?part=snippet,contentDetails,statistics,status,topicDetails,brandingSettings&id={id}"),
            ("playlists", Kind::Playlist) => format!("playlists?part=snippet,contentDetails,status&id={id}"),
            ("playlist-items", Kind::Playlist) if !id.ends_with("TokenLoop") => format!("playlistItems?part=snippet,contentDetails,status&maxResults=50&playlistId={id}"),
            ("comment-threads", Kind::Video) if !id.ends_with("CmLoop") => format!("commentThreads?part=snippet,replies&videoId={id}"),
            ("comment-threads", Kind::Comment) => format!("commentThreads?part=snippet,replies&id={id}"),
            ("search", Kind::Search) if !id.ends_with("loop") => format!("search?part=snippet&maxResults=50&q={}", id.replace(' ', "+")),
            ("comments", Kind::Comment) => format!("comments?part=snippet&parentId={id}"),
            _ => return None,
        })
    }));
    // The longest playlists add no new shapes.
    calls.retain(|call| !call.ends_with("PLsize5000") && !call.ends_with("PLsize20000"));
    let mut shapes = BTreeSet::new();
    for call in calls {
        for page in pages(platform, &call).await {
            shape(&page.body, "", &mut shapes);
        }
    }
    shapes
}

async fn fermata(platform: &Simulator) -> String {
    fetch(platform, "channels?part=id&forHandle=fermata").await.each("/id").remove(0)
}

#[test]
fn validator_accepts_recorded_responses() {
    let Some(discovery) = Discovery::load() else { return };
    for (folder, schema) in FOLDERS {
        for (name, body) in recordings(folder) {
            let faults = discovery.check(schema, &body);
            assert!(faults.is_empty(), "{folder}/{name}: {faults:#?}");
        }
    }
}

#[tokio::test]
async fn simulator_covers_recorded_data_api_shapes() {
    let platform = Simulator::builder().limits(u64::MAX, u64::MAX).build();
    for (folder, _) in FOLDERS {
        let mut recorded = BTreeSet::new();
        recordings(folder).iter().for_each(|(_, body)| shape(body, "", &mut recorded));
        if recorded.is_empty() {
            continue;
        }
        let simulated = simulated(&platform, folder).await;
        let missing: Vec<_> = recorded.difference(&simulated).collect();
        assert!(missing.is_empty(), "{folder}: {missing:#?}");
    }
}

/// A recorded error, and a call to the simulator that returns the same error.
const ERRORS: [(&str, &str); 12] = [
    ("400-api-key-invalid-with-details.json", "videos?part=id&id=errKey__400"),
    ("400-missing-filter.json", "commentThreads?part=id"),
    ("400-unknown-part.json", "videos?part=nonsense&id=x"),
    ("401-unauthenticated.json", "videos?part=id&id=errAuth_401"),
    ("403-access-not-configured.json", "videos?part=id&id=errNoApi403"),
    ("403-comments-disabled.json", "commentThreads?part=id&videoId=quirkNoComm"),
    ("403-playlist-items-not-accessible.json", "playlistItems?part=id&playlistId=PLquirkPrivate"),
    ("403-quota-exceeded.json", "videos?part=id&id=errQuota403"),
    ("403-service-unavailable-core.json", "videos?part=id&id=errCore_403"),
    ("403-subscription-forbidden.json", "videos?part=id&id=errSubsc403"),
    ("404-playlist-not-found.json", "playlistItems?part=id&playlistId=PLquirkUnknown"),
    ("error-is-a-string.json", "videos?part=id&id=errTextOnly"),
];

#[tokio::test]
async fn simulated_errors_match_recorded_errors() {
    let platform = Simulator::new();
    for (name, recorded) in recordings("errors") {
        let Some((_, call)) = ERRORS.iter().find(|(file, _)| *file == name) else { continue };
        let answer = fetch(&platform, call).await;
        let (mut theirs, mut ours) = (BTreeSet::new(), BTreeSet::new());
        shape(&recorded, "", &mut theirs);
        shape(&answer.body, "", &mut ours);
        assert_eq!(theirs, ours, "{name}");
        let first = "/error/errors/0";
        for pointer in [
            "/error/code",
            "/error/status",
            &format!("{first}/domain"),
            &format!("{first}/reason"),
            &format!("{first}/location"),
            &format!("{first}/locationType"),
            "/error/details/0/reason",
            "/error/details/1/reason",
        ] {
            assert_eq!(recorded.pointer(pointer), answer.body.pointer(pointer), "{name} {pointer}");
        }
    }
}
