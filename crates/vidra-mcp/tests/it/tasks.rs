//! Questions that people ask an agent, as the calls of a model that knows the tools. They are counted in calls and in
//! tokens of answers.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base;

use crate::World;

/// Plays the calls of a task, and returns the tokens of their texts.
async fn tokens(world: &World, calls: &[(&str, Value)]) -> (usize, Vec<String>) {
    let tokenizer = o200k_base().unwrap();
    let mut texts = vec![];
    for (name, arguments) in calls {
        texts.push(world.reply(name, arguments.clone()).await.text);
    }
    let count = texts.iter().map(|text| tokenizer.encode_with_special_tokens(text).len()).sum();
    (count, texts)
}

fn report(task: &str, calls: usize, tokens: usize) {
    println!("| {task} | {calls} | {tokens} |");
}

#[tokio::test]
async fn what_is_said_in_a_playlist_of_50_and_when() {
    let world = World::new();
    let calls = [("search_transcripts", json!({"query": "patient", "playlist": "PLsize50"}))];
    let (count, texts) = tokens(&world, &calls).await;
    report("what is said about X in a playlist of 50, and when", calls.len(), count);
    assert!(count <= 3_000, "{count}");
    let head = texts[0].lines().next().unwrap();
    assert!(head.contains("; 50 videos were searched. ") && head.contains("?t=12m34s"), "{head}");
    assert!(texts[0].matches("\n[").count() >= 10, "{}", texts[0]);
    // Fifty entries are one page.
    assert_eq!(world.sim.record().units.default, 1);
}

#[tokio::test]
async fn which_videos_of_a_playlist_deal_with_something() {
    let world = World::new();
    let calls = [(
        "search_transcripts",
        json!({"query": "patient", "playlist": "PLsize50", "group": "video", "context": 3, "limit": 50, "max_chars": 20_000}),
    )];
    let (count, texts) = tokens(&world, &calls).await;
    report("which videos of a playlist deal with X", calls.len(), count);
    assert!(count <= 6_000, "{count}");
    let page = world.reply(calls[0].0, calls[0].1.clone()).await.structured;
    let total = page["totalVideos"].as_u64().unwrap();
    assert_eq!(page["videos"].as_array().unwrap().len() as u64, total.min(50), "{}", texts[0]);
}

#[tokio::test]
async fn the_moment_of_a_phrase_in_a_video() {
    let world = World::new();
    let said = world.reply("get_transcript", json!({"video": "txOneHour__"})).await.structured;
    let segment = &said["segments"][30];
    let words: Vec<&str> = segment["text"].as_str().unwrap().split(' ').skip(3).take(4).collect();
    let phrase = format!("\"{}\"", words.join(" "));
    let calls = [("search_transcripts", json!({"query": phrase, "videos": "txOneHour__"}))];
    let (count, _) = tokens(&world, &calls).await;
    report("find the moment of a phrase in one video", calls.len(), count);
    let page = world.reply(calls[0].0, calls[0].1.clone()).await.structured;
    let (start, end) =
        (segment["start"].as_u64().unwrap(), said["segments"][31]["start"].as_u64().unwrap());
    let moments = page["videos"][0]["moments"].as_array().unwrap();
    let is_there = |it: &Value| (start..=end).contains(&it["start"].as_u64().unwrap());
    assert!(moments.iter().any(is_there), "{start} {end}: {moments:?}");
}

#[tokio::test]
async fn two_channels_compared() {
    let world = World::new();
    let channel = |name: &str| ("get_channel", json!({"channel": name, "uploads": 20}));
    let calls = [channel("@fermata"), channel("@nighttrains")];
    let (count, texts) = tokens(&world, &calls).await;
    report("compare two channels' last uploads", calls.len(), count);
    assert!(count <= 4_000, "{count}");
    assert!(texts.iter().all(|it| it.contains("20 of the first 20 uploads")), "{texts:?}");
}

#[tokio::test]
async fn the_mood_of_the_comments() {
    let world = World::new();
    let arguments = json!({"video": "fda4eREcaTQ", "limit": 230, "order": "relevance"});
    let calls = [("get_comments", arguments)];
    let (count, texts) = tokens(&world, &calls).await;
    report("mood of the comments of a video", calls.len(), count);
    assert!(
        texts[0].contains("of 123 threads") && !texts[0].contains("There is more"),
        "{}",
        &texts[0][..200]
    );
}

/// Equal calls share the job that fetches, and the first that ends deletes it.
#[tokio::test]
async fn equal_calls_at_once_all_find_the_same() {
    let world = World::new();
    let arguments = json!({"query": "patient", "playlist": "PLsize50"});
    let calls = (0..20).map(|_| world.call("search_transcripts", arguments.clone()));
    let found: Vec<Value> = futures_util::future::join_all(calls)
        .await
        .into_iter()
        .map(|reply| reply.unwrap_or_else(|error| panic!("{}", error.for_model())).structured)
        .collect();
    assert!(found.iter().all(|it| *it == found[0]), "{found:?}");
    assert_eq!(found[0]["searchedVideos"], 50);
    // Their jobs are deleted behind the answers.
    loop {
        let jobs = world.reply("get_job", json!({})).await.structured;
        if jobs["jobs"] == json!([]) {
            break;
        }
        tokio::task::yield_now().await;
    }
}
