//! Recorded answers of the platform: the details of every video, and the chapters of every
//! description.
//!
//! These tests call private parsers. `tests/it/recorded.rs` reads the same recordings through the public operations.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{DETAILED_PARTS, PLAYER_SIZE};
use crate::chapter::Chapter;
use crate::data_api::wire;
use crate::feed;
use crate::format;
use crate::video::{Video, VideoDetails};

const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");

/// The parent of the folders `fixtures` and `fixtures-2`, or `None` if they are missing and not
/// required.
fn recordings() -> Option<PathBuf> {
    let beside = Path::new(MANIFEST).join("../../../shared/fixtures");
    let folder = std::env::var_os("VIDRA_FIXTURES").map_or(beside, PathBuf::from);
    let parent = folder.parent().map(Path::to_owned).filter(|it| it.join("fixtures-2").is_dir());
    if parent.is_none() {
        let missing = "no recordings: set VIDRA_FIXTURES to their folder";
        assert!(std::env::var_os("VIDRA_REQUIRE_FIXTURES").is_none(), "{missing}");
        println!("skipped, {missing}");
    }
    parent
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let nested = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(nested).collect()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"))
}

/// Every recorded video in YouTube's format, with its file.
fn videos() -> Option<Vec<(String, Value)>> {
    let parent = recordings()?;
    let folders = ["fixtures/data-api/videos", "fixtures-2/data-api/videos"];
    let files = folders.iter().flat_map(|folder| files(&parent.join(folder)));
    let items = files.flat_map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let json = json_of(&file);
        let items = match json.get("items") {
            Some(items) => items.as_array().cloned().expect("a list"),
            // A single video, or the value of one of its members.
            None => vec![json],
        };
        items.into_iter().map(move |item| (name.clone(), item))
    });
    Some(items.collect())
}

fn details(item: &Value) -> VideoDetails {
    let video: wire::Video = serde_json::from_value(item.clone()).expect("a video");
    VideoDetails::from_wire(&video)
}

/// The details in JSON of one video of a file.
fn details_of(file: &str, index: usize) -> Option<Value> {
    let videos = videos()?;
    let (_, item) = videos.iter().filter(|(name, _)| name == file).nth(index).expect(file);
    Some(serde_json::to_value(details(item)).unwrap())
}

#[test]
fn the_details_of_every_recorded_video_are_read_completely() {
    let Some(videos) = videos() else { return };
    let files: BTreeSet<&str> = videos.iter().map(|(file, _)| file.as_str()).collect();
    // One of the 27 files has no items.
    assert_eq!((files.len(), videos.len()), (26, 246));
    for (file, item) in &videos {
        let read = serde_json::to_value(details(item)).unwrap();
        let same = [
            ("/tags", "/snippet/tags"),
            ("/category/id", "/snippet/categoryId"),
            ("/language", "/snippet/defaultLanguage"),
            ("/audioLanguage", "/snippet/defaultAudioLanguage"),
            ("/definition", "/contentDetails/definition"),
            ("/dimension", "/contentDetails/dimension"),
            ("/regionRestriction", "/contentDetails/regionRestriction"),
            ("/license", "/status/license"),
            ("/embeddable", "/status/embeddable"),
            ("/madeForKids", "/status/madeForKids"),
        ];
        for (ours, theirs) in same {
            assert_eq!(read.pointer(ours), item.pointer(theirs), "{file} {ours}");
        }
        let caption = item.pointer("/contentDetails/caption").map(|it| it == "true");
        assert_eq!(read.get("hasCaptions").and_then(Value::as_bool), caption, "{file}");
        let category = read.get("category").map(|category| &category["title"]);
        assert!(category.is_none_or(Value::is_string), "{file}: {category:?}");
        assert_eq!(read.get("isShort").is_some(), read.get("isShortBasis").is_some(), "{file}");
        assert_eq!(read.get("paidPromotion"), None, "no recording has that part");
        // The cache reads what it wrote.
        assert_eq!(serde_json::from_value::<VideoDetails>(read).unwrap(), details(item), "{file}");
    }
}

#[test]
fn details_of_some_recorded_videos() {
    let table = [
        ("no-parts-in-item.json", json!({})),
        ("fragment-recordingdetails.json", json!({})),
        ("statistics-only.json", json!({})),
        ("player-only-2022.json", json!({})),
        (
            "status-2022.json",
            json!({"license": "youtube", "embeddable": true, "madeForKids": false}),
        ),
        (
            "status-not-embeddable.json",
            json!({"license": "youtube", "embeddable": false, "madeForKids": false}),
        ),
        (
            "live-past-details.json",
            json!({"live": "ended", "broadcast": {
                "scheduledStart": "2014-08-01T17:51:00.000Z",
                "scheduledEnd": "2014-08-01T17:52:00.000Z",
                "actualStart": "2014-08-01T17:51:47.000Z",
                "actualEnd": "2014-08-01T17:51:57.000Z",
            }}),
        ),
        (
            "live-scheduled-with-chat.json",
            json!({"live": "upcoming", "broadcast": {"scheduledStart": "2018-02-06T08:00:00.000Z"}}),
        ),
        (
            "region-blocked.json",
            json!({
                "isShort": false, "isShortBasis": "length",
                "definition": "hd", "dimension": "2d", "hasCaptions": false,
                "regionRestriction": {"blocked": ["BY", "RU"]},
            }),
        ),
    ];
    for (file, expected) in table {
        let Some(read) = details_of(file, 0) else { return };
        assert_eq!(read, expected, "{file}");
    }
}

#[test]
fn single_members_of_recorded_videos() {
    let table = [
        ("upcoming-live-P0D.json", 0, "/live", json!("upcoming")),
        ("upcoming-live-P0D.json", 0, "/isShort", Value::Null),
        ("region-allowed-only.json", 2, "/regionRestriction", json!({"allowed": ["US"]})),
        ("region-allowed-only.json", 2, "/category", json!({"id": "17", "title": "Sports"})),
        ("region-allowed-only.json", 3, "/category/title", json!("Entertainment")),
        ("resource-with-topicdetails.json", 0, "/topics", json!(["Entertainment"])),
        ("snippet-no-tags-empty-description.json", 0, "/tags", Value::Null),
        ("snippet-no-tags-empty-description.json", 0, "/live", json!("none")),
    ];
    for (file, index, pointer, expected) in table {
        let Some(read) = details_of(file, index) else { return };
        let member = read.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(member, expected, "{file} {pointer}");
    }
}

#[test]
fn shorts_of_recorded_videos() {
    let Some(videos) = videos() else { return };
    let mut counts = BTreeMap::<String, usize>::new();
    for (_, item) in &videos {
        let read = serde_json::to_value(details(item)).unwrap();
        let row = format!("{} {}", read["isShort"], read["isShortBasis"]);
        *counts.entry(row).or_default() += 1;
    }
    // No recording has the size of the player, and none of the videos of known length has a hashtag.
    let expected = [("false \"length\"", 49), ("null null", 197)];
    assert_eq!(counts, expected.map(|(row, count)| (row.to_owned(), count)).into());
}

#[test]
fn every_recorded_category_is_known() {
    let Some(parent) = recordings() else { return };
    let list = json_of(&parent.join("fixtures/data-api/categories/by-region-us.json"));
    for item in list["items"].as_array().unwrap() {
        let category = crate::video::Category::from_id(item["id"].as_str().unwrap());
        assert_eq!(category.title.as_deref(), item["snippet"]["title"].as_str());
    }
}

#[test]
fn a_call_with_details_has_every_part() {
    assert!(DETAILED_PARTS.starts_with("snippet,contentDetails,statistics,"));
    assert_eq!(DETAILED_PARTS.split(',').filter(|part| part.contains(' ')).count(), 0);
    assert_eq!(DETAILED_PARTS.split(',').count(), 8);
    assert_eq!(PLAYER_SIZE.0, "maxHeight");
}

/// Whether the text contains two digits after a colon, or after a mistyped one.
fn has_time(text: &str) -> bool {
    let bytes = text.replace('：', ":").into_bytes();
    bytes.windows(4).any(|four| {
        let [hour, colon, ten, one] = four else { return false };
        let is_colon = *colon == b':' || *colon == b';';
        hour.is_ascii_digit() && is_colon && ten.is_ascii_digit() && one.is_ascii_digit()
    })
}

/// Adds the descriptions of all items at any depth: the item, its description and its length.
fn collect(file: &str, value: &Value, found: &mut Vec<(String, String, u64)>) {
    if let Some(description) = value.pointer("/snippet/description").and_then(Value::as_str) {
        let ids = ["/snippet/resourceId/videoId", "/id/videoId", "/id/playlistId", "/id"];
        let id = ids.iter().find_map(|id| value.pointer(id)?.as_str()).unwrap_or_default();
        let duration = value.pointer("/contentDetails/duration").and_then(Value::as_str);
        let duration = duration.map_or(0, format::parse_duration);
        found.push((format!("{file} {id}"), description.to_owned(), duration));
    }
    match value {
        Value::Object(members) => members.values().for_each(|value| collect(file, value, found)),
        Value::Array(values) => values.iter().for_each(|value| collect(file, value, found)),
        _ => {}
    }
}

/// Every recorded description.
fn descriptions() -> Option<Vec<(String, String, u64)>> {
    let parent = recordings()?;
    let mut found = vec![];
    for folder in ["fixtures/data-api", "fixtures-2/data-api", "fixtures-2/feeds"] {
        for path in files(&parent.join(folder)) {
            let file = path.strip_prefix(&parent).unwrap().to_str().unwrap();
            if file.ends_with(".json") {
                collect(file, &json_of(&path), &mut found);
            } else if let Ok(feed) = feed::parse(&fs::read(&path).unwrap()) {
                let items = feed.items.into_iter();
                found.extend(items.map(|it| (format!("{file} {}", it.id), it.description, 0)));
            }
        }
    }
    Some(found)
}

/// The expected chapters of each item: start and title.
fn expected() -> BTreeMap<String, Vec<(u64, String)>> {
    let list = fs::read_to_string(Path::new(MANIFEST).join("tests/data/chapters.txt")).unwrap();
    let mut expected = BTreeMap::<String, Vec<(u64, String)>>::new();
    let mut item = String::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("= ") {
            name.clone_into(&mut item);
            assert!(expected.insert(item.clone(), vec![]).is_none(), "{item} is listed twice");
        } else {
            let (start, title) = line.split_once('\t').expect("a chapter");
            let chapter = (start.parse().expect("seconds"), title.to_owned());
            expected.get_mut(&item).expect("an item").push(chapter);
        }
    }
    expected
}

#[test]
fn the_chapters_of_every_recorded_description() {
    let Some(descriptions) = descriptions() else { return };
    let mut expected = expected();
    let (mut with_chapters, mut without) = (0, 0);
    for (item, description, duration) in descriptions {
        if !has_time(&description) {
            assert_eq!(Chapter::parse_all(&description, 1_000_000), [], "{item}");
            continue;
        }
        let list = expected.remove(&item).unwrap_or_else(|| panic!("{item} has a time"));
        // Search results, playlist entries and feeds have no length.
        let last = list.last().map_or(100_000, |(start, _)| start + 60);
        let duration = if duration == 0 { last } else { duration };
        let read = Chapter::parse_all(&description, duration);
        let rows: Vec<(u64, String)> =
            read.iter().map(|it| (it.start.as_millis() / 1_000, it.title.clone())).collect();
        assert_eq!(rows, list, "{item}");
        let ends = read.iter().map(|it| it.end.as_millis() / 1_000);
        let next = list.iter().skip(1).map(|(start, _)| *start).chain([duration]);
        assert_eq!(ends.collect::<Vec<_>>(), next.take(list.len()).collect::<Vec<_>>(), "{item}");
        *if list.is_empty() { &mut without } else { &mut with_chapters } += 1;
    }
    assert_eq!(expected.into_keys().collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!((with_chapters, without), (27, 32));
}

#[test]
fn details_can_be_read_before_the_video() {
    let item = json!({"id": "dQw4w9WgXcQ", "snippet": {"title": "A", "categoryId": "10"}});
    let wire: wire::Video = serde_json::from_value(item).unwrap();
    let details = VideoDetails::from_wire(&wire);
    let video = Video::from_wire(wire).unwrap();
    assert_eq!((&*video.title, details.category.unwrap().id.as_str()), ("A", "10"));
}
