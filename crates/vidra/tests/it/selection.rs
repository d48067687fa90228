//! Filter, sort and slice.

use serde_json::{Value, json};
use vidra::{PlaylistId, Selection};
use vidra_sim::Simulator;

use crate::sim::client;

fn read(body: &Value) -> Selection {
    Selection::from_json(body).unwrap()
}

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
        (
            json!({"sort": {"field": "title"}}),
            vec!["sort.field: must be \"duration\", \"views\" or \"likes\""],
        ),
        (json!({"sort": {}}), vec!["sort.field: must be \"duration\", \"views\" or \"likes\""]),
        (
            json!({"sort": {"field": "views", "order": "down"}}),
            vec!["sort.order: must be \"asc\" or \"desc\""],
        ),
        (json!({"filter": {"size": {}}}), vec!["filter.size: unknown field"]),
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
                "sort.field: must be \"duration\", \"views\" or \"likes\"",
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
        "filter": {"duration": {"min": 60}, "views": {"max": 9}, "likes": {"min": 0, "max": 0}},
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
