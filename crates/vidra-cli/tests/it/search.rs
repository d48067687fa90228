//! `vidra grep`, `vidra search` and `vidra trends` as processes, over the simulator.

use std::time::Duration;

use crate::jobs::World;

#[test]
fn grep_fetches_what_is_missing_and_search_finds_it_again() {
    let world = World::new(Duration::ZERO);
    for command in ["search", "trends"] {
        let (code, out, notice) = world.run(&[command, "the"]);
        assert_eq!((code, &*out), (Some(1), ""), "{notice}");
        assert!(notice.contains("there is no library at"), "{notice}");
    }

    let grep = ["grep", "the", "txManualAsr", "PLsize50", "--videos", "5", "--limit", "2"];
    let (code, out, notice) = world.run(&grep);
    assert_eq!(code, Some(0), "{notice}");
    assert!(out.contains("https://www.youtube.com/watch?v=") && out.contains("s\n"), "{out}");
    assert!(notice.contains("searched 5 videos"), "{notice}");
    assert!(notice.contains("cost: 1 unit"), "{notice}");
    let (_, jobs, _) = world.run(&["job", "list"]);
    assert!(!jobs.contains("grep"), "its job is deleted: {jobs}");
    let (_, _, again) = world.run(&grep);
    assert!(!again.contains("failed"), "{again}");

    let page = world.json(&["search", "the", "--limit", "3", "--json"]);
    assert_eq!(page["items"].as_array().unwrap().len(), 3, "{page}");
    assert_eq!(page["coverage"]["videos"], 5, "{page}");
    assert!(page["total"]["moments"].as_u64().unwrap() >= 3, "{page}");
    let all = world.json(&["search", "the", "--all", "--json"]);
    assert_eq!(all["total"]["moments"], all["items"].as_array().unwrap().len());
    let csv =
        world.run(&["search", "the", "--video", "txManualAsr", "--csv", "--fields", "videoId"]);
    assert!(csv.1.starts_with("videoId\r\ntxManualAsr\r\n"), "{}", csv.1);
    let videos = world.run(&["search", "the", "--group", "video"]).1;
    assert!(videos.contains("and ") && videos.contains(" more\n"), "{videos}");

    let (code, chart, _) = world.run(&["trends", "the", "--by", "year"]);
    assert_eq!(code, Some(0));
    assert!(chart.contains("period") && chart.contains('█'), "{chart}");
    let trends = world.json(&["trends", "the", "--json"]);
    assert!(trends["coverage"]["hours"].is_number(), "{trends}");

    let indexed = world.run(&["library", "reindex"]);
    assert_eq!((indexed.0, &*indexed.1), (Some(0), "indexed 5 transcripts\n"), "{}", indexed.2);
    assert_eq!(world.json(&["search", "the", "--all", "--json"]), all);
}

#[test]
fn faults_of_a_query_have_their_position() {
    let world = World::new(Duration::ZERO);
    world.run(&["grep", "the", "txManualAsr"]);
    for (query, fault) in [
        ("say \"hello", "position 5: the quotation mark is not closed"),
        ("OR x", "position 1: OR needs a word on both sides"),
    ] {
        let (code, _, error) = world.run(&["search", query]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(fault), "{error}");
    }
    let (code, _, error) = world.run(&["search", "x", "--collection", "none"]);
    assert_eq!(code, Some(1), "{error}");
    for (phrase, source, fault) in [
        ("!", "txManualAsr", "'!' is no phrase: the phrase has no word"),
        ("the", "ferry map", "'ferry map' is no video, playlist or channel"),
    ] {
        let (code, _, error) = world.run(&["grep", phrase, source]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(fault), "{error}");
    }
}

#[test]
fn grep_names_the_videos_that_it_could_not_search() {
    let world = World::new(Duration::ZERO);
    let (code, out, notice) = world.run(&["grep", "the", "txNoCaption", "txManualAsr"]);
    assert_eq!(code, Some(1), "{notice}");
    assert!(notice.contains("txNoCaption has no transcript: captions_disabled"), "{notice}");
    assert!(out.contains("watch?v=txManualAsr"), "{out}");
    // One source fails, and the other one is searched.
    let sources = ["grep", "the", "@nobody-has-this-handle", "txManualAsr", "-q"];
    let (code, out, notice) = world.run(&sources);
    assert_eq!(code, Some(1), "{notice}");
    assert!(notice.contains("; the other sources are searched"), "{notice}");
    assert!(out.contains("watch?v=txManualAsr"), "{out}");
    let (_, jobs, _) = world.run(&["job", "list"]);
    assert!(!jobs.contains("grep"), "its job is deleted: {jobs}");
}

#[test]
fn trends_say_what_was_searched() {
    let world = World::new(Duration::ZERO);
    world.run(&["grep", "the", "txManualAsr"]);
    let (code, _, notice) = world.run(&["trends", "absent"]);
    assert_eq!(code, Some(0));
    assert!(notice.contains("No match in the one video that was searched"), "{notice}");
    let (_, _, notice) = world.run(&["trends", "the"]);
    assert!(notice.contains("times in 1 video; searched 1 video, "), "{notice}");
    let (_, lines, _) = world.run(&["trends", "the", "--ndjson"]);
    let counted: u64 = lines
        .lines()
        .map(|it| {
            serde_json::from_str::<serde_json::Value>(it).unwrap()["videos"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(counted, 1, "{lines}");
}
