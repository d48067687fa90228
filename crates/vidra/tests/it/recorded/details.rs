//! The details and chapters of every recorded video, read by `Vidra::videos`.

use serde_json::{Value, json};
use vidra::{Include, Video, VideoId};

use super::{Recorded, fixtures, json_of, second_fixtures_of, text, videos};

/// The videos of the second set.
pub(super) const SECOND: &[&str] = &[
    "fragment-recordingdetails.json",
    "live-scheduled-with-chat.json",
    "player-only-2022.json",
    "resource-with-topicdetails.json",
    "snippet-50-2022-timestamp-ranges.json",
    "snippet-player-two-2019.json",
    "status-2022.json",
    "status-not-embeddable.json",
];

/// The recorded items of a file. One of them is a single video, and one the value of a member of a video.
fn items(file: &str) -> Option<Vec<Value>> {
    let (first, second) = (fixtures()?, second_fixtures_of("data-api")?);
    let is_second = SECOND.contains(&file);
    let json = json_of(if is_second { &second } else { &first }, &format!("videos/{file}"));
    match json.get("items") {
        Some(items) => Some(items.as_array().expect("a list").clone()),
        None if json.get("id").is_some() => Some(vec![json]),
        None => Some(vec![json!({"id": "dQw4w9WgXcQ", "recordingDetails": json})]),
    }
}

async fn read(file: &str) -> Option<(Vec<Value>, Vec<Video>)> {
    let raw = items(file)?;
    let ids = raw.iter().map(|item| VideoId::parse(text(item, "/id")).unwrap());
    let ids: Vec<VideoId> = ids.collect();
    let recorded = Recorded::default().page("videos", json!({ "items": raw }).to_string());
    let client = recorded.client().including(Include::DETAILS.and(Include::CHAPTERS));
    let videos = client.videos(&ids).await.unwrap_or_else(|error| panic!("{file}: {error:?}"));
    let asked = usize::from(!ids.is_empty());
    assert_eq!(recorded.requested(), vec!["videos"; asked], "{file}: no call for details");
    Some((raw, videos))
}

#[tokio::test]
async fn the_details_of_every_recorded_video_are_read() {
    let mut count = 0;
    for file in videos::FILES.iter().chain(SECOND) {
        let Some((raw, videos)) = read(file).await else { return };
        assert_eq!(videos.len(), raw.len(), "{file}");
        count += videos.len();
        for (video, raw) in videos.iter().zip(&raw) {
            let read = serde_json::to_value(video).unwrap();
            let same = [
                ("/details/tags", "/snippet/tags"),
                ("/details/category/id", "/snippet/categoryId"),
                ("/details/language", "/snippet/defaultLanguage"),
                ("/details/audioLanguage", "/snippet/defaultAudioLanguage"),
                ("/details/definition", "/contentDetails/definition"),
                ("/details/dimension", "/contentDetails/dimension"),
                ("/details/regionRestriction", "/contentDetails/regionRestriction"),
                ("/details/license", "/status/license"),
                ("/details/embeddable", "/status/embeddable"),
                ("/details/madeForKids", "/status/madeForKids"),
            ];
            for (ours, theirs) in same {
                assert_eq!(read.pointer(ours), raw.pointer(theirs), "{file} {ours}");
            }
            assert!(video.chapters.is_some(), "{file}: empty if there are none");
            // The length of many recorded videos is unknown. Their chapters would be beyond the end.
            assert!(video.duration > 0 || video.chapters.as_deref() == Some(&[]), "{file}");
        }
    }
    assert_eq!(count, 246);
}

#[tokio::test]
async fn details_are_absent_unless_they_are_requested() {
    let Some(raw) = items("region-blocked.json") else { return };
    let id = VideoId::parse(text(&raw[0], "/id")).unwrap();
    let page = json!({ "items": raw }).to_string();
    let client = Recorded::default().page("videos", page).client();
    let plain = client.video(id).await.unwrap();
    assert_eq!((plain.details, plain.chapters), (None, None));
    let detailed = client.including(Include::DETAILS).video(id).await.unwrap();
    let blocked = detailed.details.unwrap().region_restriction.unwrap().blocked;
    assert_eq!(blocked.unwrap(), ["BY", "RU"]);
}
