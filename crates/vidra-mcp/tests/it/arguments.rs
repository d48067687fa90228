//! Malformed arguments are rejected before any quota is spent.

use serde_json::json;
use vidra_mcp::CallError;

use crate::World;

#[tokio::test]
async fn invalid_arguments_are_named_and_cost_nothing() {
    let world = World::new();
    let many: Vec<String> = (0..51).map(|number| format!("abcdefgh{number:03}")).collect();
    let table = [
        ("get_video", json!({}), "missing field `video`"),
        ("get_video", json!([]), "invalid length"),
        ("get_video", json!({"video": "nope"}), "video: Not a valid video identifier: nope"),
        ("get_video", json!({"video": 5}), "video: invalid type"),
        ("get_video", json!({"video": "https://evil.example/watch?v=fda4eREcaTQ"}), "video: "),
        ("get_video", json!({"video": "fda4eREcaTQ", "id": 1}), "unknown field `id`"),
        ("get_videos", json!({"videos": []}), "from 1 to 50 videos"),
        ("get_videos", json!({"videos": many}), "from 1 to 50 videos"),
        ("get_videos", json!({"videos": ["fda4eREcaTQ", "x"]}), "videos[1]: "),
        ("get_channel_videos", json!({"channel": "@fermata", "limit": 51}), "limit: invalid value"),
        ("get_channel_videos", json!({"channel": "@fermata", "limit": 2.5}), "from 1 to 50"),
        (
            "get_comments",
            json!({"video": "fda4eREcaTQ", "order": "best"}),
            "order: unknown variant",
        ),
        ("search_comments", json!({"video": "fda4eREcaTQ", "query": "  "}), "query: "),
        ("search_youtube", json!({"query": " "}), "query: must be plain text"),
        ("search_youtube", json!({"query": "a", "type": "movie"}), "video, channel, playlist"),
        ("search_youtube", json!({"query": "a", "limit": 201}), "from 1 to 200"),
        ("search_youtube", json!({"query": "a", "since": "yesterday"}), "since: must be a date"),
        (
            "search_youtube",
            json!({"query": "a", "type": "channel", "live": "ended"}),
            "live: can only be used with type video",
        ),
        (
            "search_youtube",
            json!({"query": "a", "since": "2026-02-01", "until": "2026-01-01"}),
            "since: is later than until",
        ),
        ("get_video", json!({"video": "fda4eREcaTQ", "include": ["all"]}), "include[0]: expected"),
        ("get_popular_videos", json!({"region": "Germany"}), "region: expected"),
        ("get_popular_videos", json!({"category": "music"}), "category: expected the number"),
        ("get_feed", json!({}), "channel, playlist: expected one of them"),
        (
            "get_feed",
            json!({"channel": "@fermata", "playlist": "PLsize50"}),
            "channel, playlist: expected one of them",
        ),
        (
            "query_playlist",
            json!({"playlist": "PLsize1", "until": "2026-01-01", "since": "2026-01-02"}),
            "since: is later than until",
        ),
        ("query_playlist", json!({"playlist": "PLsize1", "is_short": "yes"}), "is_short: invalid"),
        (
            "search_comments",
            json!({"video": "fda4eREcaTQ", "query": "a".repeat(201)}),
            "query: expected at most 200 characters",
        ),
        (
            "get_video",
            json!({"video": format!("https://youtu.be/fda4eREcaTQ?si={}", "a".repeat(2048))}),
            "video: expected at most 2048 characters",
        ),
        (
            "transcribe_video",
            json!({"video": "fda4eREcaTQ", "lang": "en,".repeat(67) + "en"}),
            "lang: expected at most 200 characters",
        ),
        (
            "batch_transcribe",
            json!({"videos": ["fda4eREcaTQ"], "cursor": "1"}),
            "cursor: is beyond the end",
        ),
        (
            "transcribe_playlist",
            json!({"playlist": "PLsize50", "from": 5, "cursor": "4"}),
            "cursor: is before from",
        ),
        (
            "transcribe_playlist",
            json!({"playlist": "PLsize50", "to": 5, "cursor": "6"}),
            "cursor: is beyond the end",
        ),
        ("get_playlist", json!({"playlist": "PLsize1", "max_chars": 10}), "max_chars: "),
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "cursor": "x"}),
            "cursor: expected the nextC",
        ),
        (
            "get_playlist_videos",
            json!({"playlist": "PLsize1", "from": 3, "to": 2}),
            "from: is greater than to",
        ),
        (
            "query_playlist",
            json!({"playlist": "PLsize1", "views": {"min": 5, "max": 2}}),
            "views: min is greater than max",
        ),
        (
            "query_playlist",
            json!({"playlist": "PLsize1", "views": {"min": -1}}),
            "views.min: invalid value",
        ),
        ("transcribe_video", json!({"video": "fda4eREcaTQ", "lang": "!"}), "lang: must be"),
        ("batch_transcribe", json!({"videos": ["fda4eREcaTQ"], "concurrency": 6}), "from 1 to 5"),
        ("transcribe_playlist", json!({"playlist": "PLsize1", "from": 2, "to": 1}), "from: is"),
        (
            "transcribe_video",
            json!({"video": "txManualAsr", "start": 9, "end": "0:09"}),
            "end: must",
        ),
        ("transcribe_video", json!({"video": "txManualAsr", "start": "soon"}), "must be a time"),
    ];
    for (name, arguments, expected) in table {
        match world.call(name, arguments.clone()).await {
            Err(CallError::BadArguments(faults)) => {
                let message = faults.join("; ");
                assert!(message.contains(expected), "{name} {arguments}: {message}");
                assert!(!message.contains("filter"), "no argument has that name: {message}");
            }
            other => panic!("{name} {arguments}: {other:?}"),
        }
    }
    assert_eq!(world.vidra.cost().units(), 0);
    assert!(matches!(
        world.call("download_video", json!({})).await,
        Err(CallError::UnknownTool(name)) if name == "download_video"
    ));
}

/// An empty page would look like the end of the list, so a cursor beyond the end is an error.
#[tokio::test]
async fn cursor_beyond_the_end_is_rejected() {
    let world = World::new();
    let table = [
        ("get_videos", json!({"videos": ["fda4eREcaTQ"]}), "1"),
        ("get_playlist", json!({"playlist": "PLsize50"}), "50"),
        ("get_playlist_videos", json!({"playlist": "PLsize50", "from": 41}), "10"),
        ("query_playlist", json!({"playlist": "PLsize50", "to": 3}), "3"),
        ("get_comments", json!({"video": "fda4eREcaTQ"}), "999999"),
        ("search_youtube", json!({"query": "session", "limit": 5}), "5"),
        ("get_popular_videos", json!({"limit": 5}), "5"),
        ("get_channel_playlists", json!({"channel": "@fermata", "limit": 5}), "5"),
        ("get_top_comments", json!({"video": "fda4eREcaTQ"}), "999999"),
        ("search_comments", json!({"video": "fda4eREcaTQ", "query": "a"}), "999999"),
        ("transcribe_video", json!({"video": "txManualAsr"}), "999999"),
        ("batch_transcribe", json!({"videos": ["txManualAsr"]}), "0.999999"),
        ("transcribe_playlist", json!({"playlist": "PLsize50"}), "51"),
        ("transcribe_playlist", json!({"playlist": "PLsize50"}), "50.999999"),
    ];
    for (name, mut arguments, cursor) in table {
        world.reply(name, arguments.clone()).await;
        arguments["cursor"] = json!(cursor);
        match world.call(name, arguments).await {
            Err(CallError::BadArguments(faults)) => {
                assert_eq!(faults, ["cursor: is beyond the end"], "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Some callers fill in every property of a schema, and some have no integers.
#[tokio::test]
async fn null_is_ignored_and_3_0_is_an_integer() {
    let world = World::new();
    let arguments = json!({"playlist": "PLsize200", "from": null, "to": 3.0, "views": {"min": null},
        "sort_by": null, "max_chars": null, "cursor": null});
    let reply = world.reply("query_playlist", arguments).await;
    assert_eq!(reply.structured["videos"].as_array().unwrap().len(), 3);
}
