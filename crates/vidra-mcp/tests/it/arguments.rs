//! Malformed arguments are rejected before any quota is spent.

use serde_json::json;
use vidra_mcp::CallError;

use crate::World;

#[tokio::test]
async fn invalid_arguments_are_named_and_cost_nothing() {
    let world = World::new();
    let many: Vec<String> = (0..51).map(|number| format!("abcdefgh{number:03}")).collect();
    let table = [
        (
            "get_videos",
            json!({}),
            "videos: is missing; expected a list of texts (1 to 50 ids or URLs), for example [\"dQw4w9WgXcQ\"]",
        ),
        ("get_videos", json!([]), "arguments: []; expected an object"),
        (
            "get_videos",
            json!({"videos": "nope"}),
            "videos[0]: \"nope\" is not valid: Not a valid video identifier: nope",
        ),
        ("get_videos", json!({"videos": [true]}), "videos[0]: true is not valid: invalid type"),
        (
            "get_videos",
            json!({"videos": "https://evil.example/watch?v=fda4eREcaTQ"}),
            "videos[0]: ",
        ),
        (
            "get_videos",
            json!({"video": "fda4eREcaTQ"}),
            "video: there is no such argument; did you mean videos? Expected any of: ",
        ),
        ("get_videos", json!({"videos": []}), "from 1 to 50 videos"),
        ("get_videos", json!({"videos": many}), "from 1 to 50 videos"),
        ("get_videos", json!({"videos": ["fda4eREcaTQ", "x"]}), "videos[1]: \"x\""),
        (
            "get_channel",
            json!({"channel": "@fermata", "uploads": 501}),
            "expected a whole number from 0 to 500",
        ),
        (
            "get_channel",
            json!({"channel": "@fermata", "uploads": 2.5}),
            "uploads: 2.5 is not valid",
        ),
        (
            "get_channel",
            json!({"channel": "@fermata", "uploads": "many"}),
            "uploads: \"many\" is not valid",
        ),
        (
            "get_comments",
            json!({"video": "fda4eREcaTQ", "order": "best"}),
            "expected one of time, relevance",
        ),
        ("get_comments", json!({"video": "fda4eREcaTQ", "search": "  "}), "search: \"\""),
        ("search_youtube", json!({"query": " "}), "query: \"\" is not valid"),
        ("search_youtube", json!({"query": "a", "type": "movie"}), "video, channel, playlist"),
        ("search_youtube", json!({"query": "a", "limit": 201}), "from 1 to 200"),
        ("search_youtube", json!({"query": "a", "since": "yesterday"}), "must be a date"),
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
        ("get_videos", json!({"videos": "fda4eREcaTQ", "include": ["all"]}), "include[0]: \"all\""),
        ("get_popular_videos", json!({"region": "Germany"}), "region: \"Germany\""),
        ("get_popular_videos", json!({"category": "music"}), "expected the number of a category"),
        ("get_feed", json!({}), "channel, playlist: expected one of them"),
        (
            "get_feed",
            json!({"channel": "@fermata", "playlist": "PLsize50"}),
            "channel, playlist: expected one of them",
        ),
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "until": "2026-01-01", "since": "2026-01-02"}),
            "since: is later than until",
        ),
        ("get_playlist", json!({"playlist": "PLsize1", "is_short": "yes"}), "expected a boolean"),
        (
            "get_comments",
            json!({"video": "fda4eREcaTQ", "search": "a".repeat(201)}),
            "expected at most 200 characters",
        ),
        (
            "get_transcript",
            json!({"video": format!("https://youtu.be/fda4eREcaTQ?si={}", "a".repeat(2048))}),
            "expected at most 2048 characters",
        ),
        (
            "get_transcript",
            json!({"video": "fda4eREcaTQ", "lang": "en,".repeat(67) + "en"}),
            "expected at most 200 characters",
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
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "max_chars": 10}),
            "max_chars: 10 is not valid",
        ),
        ("get_playlist", json!({"playlist": "PLsize1", "cursor": "x"}), "expected the nextC"),
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "from": 3, "to": 2}),
            "from: is greater than to",
        ),
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "views": {"min": 5, "max": 2}}),
            "views: min is greater than max",
        ),
        (
            "get_playlist",
            json!({"playlist": "PLsize1", "views": {"min": -1}}),
            "views.min: -1 is not valid",
        ),
        (
            "get_transcript",
            json!({"video": "fda4eREcaTQ", "lang": "!"}),
            "lang: \"!\" is not valid",
        ),
        (
            "get_transcript",
            json!({"video": "fda4eREcaTQ", "chunk_size": 5}),
            "chunk_size: is only for chunks",
        ),
        ("batch_transcribe", json!({"videos": ["fda4eREcaTQ"], "concurrency": 6}), "from 1 to 5"),
        ("transcribe_playlist", json!({"playlist": "PLsize1", "from": 2, "to": 1}), "from: is"),
        ("get_transcript", json!({"video": "txManualAsr", "start": 9, "end": "0:09"}), "end: must"),
        ("get_transcript", json!({"video": "txManualAsr", "start": "soon"}), "must be a time"),
        (
            "search_transcripts",
            json!({"query": "a"}),
            "videos, playlist, channel: expected one of them",
        ),
        (
            "search_transcripts",
            json!({"query": "\"open", "videos": "txManualAsr"}),
            "position 1: the quotation mark is not closed",
        ),
        (
            "search_library",
            json!({"query": "a", "in": "song"}),
            "expected one of speech, title, description",
        ),
        ("get_trends", json!({"query": "a", "by": "day"}), "month, week, year"),
        ("start_job", json!({"sources": []}), "1 to 500"),
        ("get_job", json!({"job": "7"}), "job: \"7\" is not valid"),
    ];
    for (name, arguments, expected) in table {
        match world.call(name, arguments.clone()).await {
            Err(CallError::BadArguments(faults)) => {
                let message = faults.join("; ");
                assert!(message.contains(expected), "{name} {arguments}: {message}");
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
        ("get_transcript", json!({"video": "txManualAsr"}), "999999"),
        ("search_library", json!({"query": "the"}), "999"),
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

/// All faults come at once, so that one more call is enough.
#[tokio::test]
async fn all_faults_are_reported_together() {
    let world = World::new();
    let arguments =
        json!({"query": "a", "limt": 3, "type": "movie", "duration": "brief", "limit": 0});
    let Err(CallError::BadArguments(faults)) = world.call("search_youtube", arguments).await else {
        panic!("the arguments are valid");
    };
    let names: Vec<&str> = faults.iter().map(|it| it.split(':').next().unwrap()).collect();
    assert_eq!(names.len(), 4, "{faults:?}");
    assert!(
        ["limt", "type", "duration", "limit"].iter().all(|it| names.contains(it)),
        "{faults:?}"
    );
    let text = CallError::BadArguments(faults).for_model();
    assert!(
        text.starts_with("The arguments are not valid, and nothing was fetched:\n- "),
        "{text}"
    );
}

/// Some callers fill in every property of a schema, some have no integers, and many write numbers and lists as text.
#[tokio::test]
async fn usual_slips_are_accepted() {
    let world = World::new();
    let arguments = json!({"playlist": " PLsize200\n", "from": null, "to": 3.0, "views": {"min": null},
        "sort_by": null, "max_chars": "20000", "cursor": null, "is_short": "false"});
    let reply = world.reply("query_playlist", arguments).await;
    assert_eq!(reply.structured["videos"].as_array().unwrap().len(), 3);
    let one =
        world.reply("get_videos", json!({"videos": "https://youtu.be/fda4eREcaTQ?t=5"})).await;
    let list = json!({"videos": "[\"fda4eREcaTQ\"]", "include": "chapters"});
    let other = world.reply("get_videos", list).await;
    let id = |reply: &vidra_mcp::Reply| reply.structured["videos"][0]["id"].clone();
    assert_eq!((id(&one), id(&other)), (json!("fda4eREcaTQ"), json!("fda4eREcaTQ")));
}
