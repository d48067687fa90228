//! Filter, sort and slice.

use serde_json::{Value, json};
use vidra::{PlaylistId, Selection};
use vidra_sim::Simulator;

use crate::sim::client;

fn read(body: &Value) -> Selection {
    Selection::from_json(body).unwrap()
}

const SORT_FIELDS: &str = "sort.field: must be \"duration\", \"views\", \"likes\", \"published\", \"title\", \
    \"comments\" or \"position\"";

#[test]
fn a_whole_number_may_be_written_as_a_float() {
    let floats = json!({"filter": {"views": {"max": 487.0}}, "range": {"start": 2.0}});
    let plain = json!({"filter": {"views": {"max": 487}}, "range": {"start": 2}});
    assert_eq!(read(&floats), read(&plain));
}

#[test]
fn every_invalid_field_is_listed() {
    let table = [
        (
            json!({"filter": {"views": {"min": 5, "max": 4}}}),
            vec!["filter.views: min is greater than max"],
        ),
        (json!({"range": {"start": 0}}), vec!["range.start: must be a whole number, 1 or more"]),
        (
            json!({"range": {"end": 9_223_372_036_854_775_808_u64}}),
            vec!["range.end: must be a whole number, 1 or more"],
        ),
        (json!({"range": {"start": 3, "end": 2}}), vec!["range: start is greater than end"]),
        (
            json!({"filter": {"duration": {"min": -1}}}),
            vec!["filter.duration.min: must be a whole number, 0 or more"],
        ),
        (
            json!({"filter": {"likes": {"max": 1.5}}}),
            vec!["filter.likes.max: must be a whole number, 0 or more"],
        ),
        (
            json!({"filter": {"likes": {"max": "7"}}}),
            vec!["filter.likes.max: must be a whole number, 0 or more"],
        ),
        (json!({"sort": {"field": "channel"}}), vec![SORT_FIELDS]),
        (json!({"sort": {}}), vec![SORT_FIELDS]),
        (
            json!({"sort": {"field": "views", "order": "down"}}),
            vec!["sort.order: must be \"asc\" or \"desc\""],
        ),
        (json!({"filter": {"size": {}}}), vec!["filter.size: unknown field"]),
        (
            json!({"filter": {
                "published": {"since": "last week", "until": 5, "at": ""}, "title": " ",
                "live": "now", "isShort": "yes",
            }}),
            vec![
                "filter.published.at: unknown field",
                "filter.published.since: must be a date (2026-01-31) or a time (2026-01-31T18:30:00Z)",
                "filter.published.until: must be a date (2026-01-31) or a time (2026-01-31T18:30:00Z)",
                "filter.title: must be text of 1 to 200 characters",
                "filter.live: must be \"none\", \"upcoming\", \"live\" or \"ended\"",
                "filter.isShort: must be true or false",
            ],
        ),
        (
            json!({"filter": {"published": {"since": "2026-01-02", "until": "2026-01-01"}}}),
            vec!["filter.published: since is later than until"],
        ),
        (json!([]), vec!["body: must be an object"]),
        (
            json!({"filter": 5, "range": [1, 2]}),
            vec!["filter: must be an object", "range: must be an object"],
        ),
        (
            json!({"limit": 3, "sort": {"field": 1, "order": 2, "by": 3}}),
            vec![
                "limit: unknown field",
                "sort.by: unknown field",
                SORT_FIELDS,
                "sort.order: must be \"asc\" or \"desc\"",
            ],
        ),
    ];
    for (body, faults) in table {
        assert_eq!(Selection::from_json(&body).unwrap_err().details(), faults, "{body}");
    }
}

#[test]
fn a_selection_is_serialized_as_it_is_parsed() {
    let body = json!({
        "filter": {
            "duration": {"min": 60}, "views": {"max": 9}, "likes": {"min": 0, "max": 0},
            "published": {"since": "2020-01-31T00:00:00Z"}, "title": "été", "live": "ended",
            "isShort": false,
        },
        "sort": {"field": "likes", "order": "desc"},
        "range": {"start": 2, "end": 4},
    });
    assert_eq!(serde_json::to_value(read(&body)).unwrap(), body);
    assert_eq!(read(&json!({})), Selection::default());
}

#[tokio::test]
async fn filter_then_sort_then_slice() {
    let id = PlaylistId::parse("PLsize500").unwrap();
    let playlist = client(&Simulator::new()).playlist(&id).await.unwrap();
    let select = |body: Value| read(&body).apply(playlist.clone());

    let everything = select(json!({}));
    assert_eq!((everything.original_count, &everything.playlist), (500, &playlist));

    let (min, max) = (300, 900);
    let within = select(json!({"filter": {"duration": {"min": min, "max": max}}})).playlist;
    let expected: Vec<_> =
        playlist.videos.iter().filter(|v| (min..=max).contains(&v.duration)).cloned().collect();
    assert!(!expected.is_empty() && expected.len() < 500);
    assert_eq!(within.videos, expected);
    assert_eq!(within.video_count, expected.len());
    assert_eq!(within.total_duration, expected.iter().map(|v| v.duration).sum::<u64>());

    let sorted = select(json!({"sort": {"field": "views", "order": "desc"}})).playlist.videos;
    assert!(sorted.is_sorted_by_key(|video| std::cmp::Reverse(video.views)));
    let ascending = select(json!({"sort": {"field": "likes"}})).playlist.videos;
    assert!(ascending.is_sorted_by_key(|video| video.likes));
    let oldest = select(json!({"sort": {"field": "published"}})).playlist.videos;
    assert!(oldest.is_sorted_by_key(|video| video.published_at));
    let titles = select(json!({"sort": {"field": "title"}})).playlist.videos;
    assert_eq!(titles.len(), 500);
    // These titles have no accents.
    assert!(titles.is_sorted_by_key(|video| video.title.to_lowercase()));
    let middle = oldest[250].published_at.to_string();
    let later = select(json!({"filter": {"published": {"since": middle}}})).playlist.videos;
    assert!((200..=250).contains(&later.len()), "{}", later.len());
    let word = playlist.videos[0].title.split(' ').next().unwrap().to_uppercase();
    let titled = select(json!({"filter": {"title": word}})).playlist.videos;
    assert!(titled.contains(&playlist.videos[0]) && titled.len() < 500);

    let slice = select(
        json!({"sort": {"field": "views", "order": "desc"}, "range": {"start": 3, "end": 5}}),
    );
    assert_eq!(slice.playlist.videos, sorted[2..5]);
    assert_eq!((slice.playlist.video_count, slice.original_count), (3, 500));

    assert_eq!(select(json!({"range": {"start": 501}})).playlist.videos, []);
    assert_eq!(select(json!({"range": {"start": 499, "end": 9_999_999}})).playlist.video_count, 2);
    assert_eq!(select(json!({"range": {"end": i64::MAX}})).playlist.video_count, 500);
}

#[tokio::test]
async fn titles_are_sorted_without_regard_to_case_and_accents() {
    let id = PlaylistId::parse("PLsize50").unwrap();
    let mut playlist = client(&Simulator::new()).playlist(&id).await.unwrap();
    let sorted = [
        "10 things",
        "9 things",
        "Ähre",
        "ahre",
        "ÄHRE",
        "Aht",
        "eclair",
        "école",
        "Ecu",
        "E\u{301}den",
        "Zebra",
        "ελλάδα",
        "Ёлка",
        "ель",
        "한국어",
    ];
    // Another order, in which equal titles stay in their order.
    let given = [14, 9, 13, 8, 2, 12, 7, 3, 11, 6, 4, 10, 5, 1, 0];
    playlist.videos.truncate(sorted.len());
    for (video, index) in playlist.videos.iter_mut().zip(given) {
        sorted[index].clone_into(&mut video.title);
    }
    let titles = |order: &str| -> Vec<String> {
        let selection = read(&json!({"sort": {"field": "title", "order": order}}));
        let selected = selection.apply(playlist.clone()).playlist.videos;
        selected.into_iter().map(|video| video.title).collect()
    };
    assert_eq!(titles("asc"), sorted);
    // Equal titles are not reversed.
    let mut reversed = sorted;
    reversed.reverse();
    reversed[10..13].reverse();
    assert_eq!(titles("desc"), reversed);
}

#[tokio::test]
async fn equal_videos_stay_in_playlist_order_either_way() {
    let id = PlaylistId::parse("PLquirkDuplicates").unwrap();
    let mut playlist = client(&Simulator::new()).playlist(&id).await.unwrap();
    for (position, video) in playlist.videos.iter_mut().enumerate() {
        video.views = 7;
        video.title = position.to_string();
    }
    for order in ["asc", "desc"] {
        let sorted =
            read(&json!({"sort": {"field": "views", "order": order}})).apply(playlist.clone());
        assert_eq!(sorted.playlist.videos, playlist.videos, "{order}");
    }
}
