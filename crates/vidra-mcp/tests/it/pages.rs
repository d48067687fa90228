//! Replies fit their limit, and a cursor continues the list.

use serde_json::{Value, json};
use vidra::{Lookup, PlaylistId};
use vidra_sim::Endpoint;

use crate::World;
use crate::answers::each;

/// Follows cursors to the end and returns the data of all pages.
async fn all_pages(world: &World, name: &str, arguments: &Value, max_chars: usize) -> Vec<Value> {
    let mut pages = vec![];
    let mut cursor = None;
    loop {
        let mut arguments = arguments.clone();
        arguments["max_chars"] = json!(max_chars);
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let reply = world.reply(name, arguments).await;
        assert!(reply.text.chars().count() <= max_chars, "{name}: {}", reply.text.len());
        let next = reply.structured.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(next.is_some(), reply.text.contains("There is more: call again"), "{name}");
        pages.push(reply.structured);
        assert!(pages.len() < 500, "{name} returns too many pages");
        assert!(next.is_none() || next != cursor, "{name} repeats its cursor");
        cursor = next;
        if cursor.is_none() {
            return pages;
        }
    }
}

fn joined(pages: &[Value], list: &str) -> Vec<Value> {
    pages.iter().flat_map(|page| page[list].as_array().cloned().unwrap_or_default()).collect()
}

#[tokio::test]
async fn concatenated_pages_equal_the_whole_list() {
    let world = World::new();
    let listed = world.reply("get_playlist", json!({"playlist": "PLsize50"})).await.structured;
    let ids = listed["videos"].as_array().unwrap().iter().map(|video| video["id"].clone());
    let table = [
        ("get_videos", json!({"videos": ids.collect::<Vec<_>>()}), "videos"),
        ("get_playlist", json!({"playlist": "PLsize500"}), "videos"),
        ("get_playlist_videos", json!({"playlist": "PLsize200", "from": 5}), "videos"),
        ("query_playlist", json!({"playlist": "PLsize200", "sort_by": "likes"}), "videos"),
        ("search_youtube", json!({"query": "in", "limit": 60}), "videos"),
        ("get_popular_videos", json!({"limit": 60, "include": ["details", "chapters"]}), "videos"),
        ("get_channel_playlists", json!({"channel": "@fermata"}), "playlists"),
        ("get_comments", json!({"video": "fda4eREcaTQ", "limit": 10_000}), "comments"),
        ("get_comments", json!({"video": "quirkManyRp", "replies": "all"}), "comments"),
        ("get_transcript", json!({"video": "txOneHour__"}), "segments"),
        ("get_channel", json!({"channel": "@fermata", "uploads": 200}), "uploads"),
    ];
    for (name, arguments, list) in table {
        let small = all_pages(&world, name, &arguments, 4_000).await;
        let large = all_pages(&world, name, &arguments, 200_000).await;
        let ids = |pages: &[Value]| -> Vec<Value> {
            let items = joined(pages, list);
            items.iter().map(|it| json!([it["id"], it["start"], it["title"], it["text"]])).collect()
        };
        assert!(small.len() > large.len(), "{name} {arguments}: {}", small.len());
        assert_eq!(ids(&small), ids(&large), "{name}");
        assert!(!ids(&large).is_empty(), "{name}");
    }
}

/// The texts of all results, per video.
fn texts_by_video(pages: &[Value]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![];
    for result in joined(pages, "results") {
        let key = format!("{} {}", result["position"], result["videoId"]);
        let texts = result["segments"].as_array().into_iter().flatten();
        let texts: String = texts.map(|segment| segment["text"].to_string()).collect();
        match all.last_mut() {
            Some((last, text)) if *last == key => *text += &texts,
            _ => all.push((key, texts)),
        }
    }
    all
}

#[tokio::test]
async fn batch_pages_resume_within_a_video() {
    let world = World::new();
    let table = [
        ("batch_transcribe", json!({"videos": ["txManualAsr", "fda4eREcaTQ", "quirkNoComm"]})),
        ("transcribe_playlist", json!({"playlist": "PLquirkMixed"})),
        ("transcribe_playlist", json!({"playlist": "PLsize200", "from": 190, "to": 196})),
        ("transcribe_playlist", json!({"playlist": "PLsize1", "from": 7})),
    ];
    for (name, arguments) in table {
        let small = all_pages(&world, name, &arguments, 4_000).await;
        let large = all_pages(&world, name, &arguments, 200_000).await;
        assert_eq!(texts_by_video(&small), texts_by_video(&large), "{name} {arguments}");
        let is_empty = texts_by_video(&large).is_empty();
        assert!(is_empty || small.len() > large.len(), "{name} {arguments}: {}", small.len());
        let most = joined(&large[..1], "results").len();
        assert!(most <= 50, "{name}: {most}");
    }
    let all = json!({"playlist": "PLsize200"});
    let all = all_pages(&world, "transcribe_playlist", &all, 200_000).await;
    assert_eq!(texts_by_video(&all).len(), 200);
}

#[tokio::test]
async fn every_reply_fits_its_limit() {
    let world = World::new();
    for (name, arguments) in each() {
        if name == "start_job" || name == "get_job" {
            continue;
        }
        let takes_room = vidra_mcp::tool(name).unwrap().input_schema["properties"].get("max_chars");
        if takes_room.is_some() {
            all_pages(&world, name, &arguments, 4_000).await;
        } else {
            let reply = world.reply(name, arguments).await;
            assert!(reply.text.len() < 20_000, "{name}: {}", reply.text.len());
        }
    }
}

/// Transcripts beyond the page are not fetched.
#[tokio::test]
async fn full_page_stops_fetching() {
    let world = World::new();
    let reply = world
        .reply("transcribe_playlist", json!({"playlist": "PLsize200", "max_chars": 4_000}))
        .await;
    assert!(reply.structured["nextCursor"].is_string());
    let calls = world.sim.record().calls_to(Endpoint::Player);
    assert!(calls <= 8, "{calls}");
}

/// A tool shows one page, but reads the whole list.
#[tokio::test]
async fn review_s4_the_list_behind_a_page_counts_as_a_large_answer() {
    // Enough to decode this list of 4 MB, but not beside another.
    let world = World::with(|builder| builder.max_answer_memory(16 << 20));
    let list = "PLsize5000";
    let large = Lookup::Playlist(PlaylistId::parse(list).unwrap());
    let other = world.vidra.lookup_body(&large).await.unwrap();
    let table = [
        ("get_playlist", json!({"playlist": list, "sort_by": "likes"})),
        ("query_playlist", json!({"playlist": list, "sort_by": "views"})),
    ];
    for (name, arguments) in &table {
        let Err(error) = world.call(name, arguments.clone()).await else {
            panic!("{name} {arguments} does not count");
        };
        assert!(error.for_model().contains("too large to be built now"), "{}", error.for_model());
    }
    drop(other);
    let [(name, arguments), ..] = table;
    world.reply(name, arguments).await;
    assert_eq!(world.vidra.answer_bytes(), (0, 0));
}

/// A page of a long playlist needs only a part of it.
#[tokio::test]
async fn a_page_of_a_long_playlist_costs_its_part() {
    let world = World::new();
    let reply = world.reply("get_playlist", json!({"playlist": "PLsize5000"})).await;
    let units = world.sim.record().units.default;
    assert!(units <= 16, "{units}");
    assert_eq!(reply.structured["videoCount"], 5_000);
    let cursor = reply.structured["nextCursor"].clone();
    let next =
        world.reply("get_playlist", json!({"playlist": "PLsize5000", "cursor": cursor})).await;
    let position = |text: &str| {
        text.lines()
            .find(|it| it.starts_with(char::is_numeric) && it.contains(". "))
            .map(str::to_owned)
    };
    let first = reply.structured["videos"].as_array().unwrap().len();
    let line = next.text.split_once("youtube-data").and_then(|(_, body)| position(body)).unwrap();
    assert!(line.starts_with(&format!("{}. ", first + 1)), "{line}");
}
