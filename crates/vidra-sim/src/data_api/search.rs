//! `search.list`: channels and videos whose titles contain the requested words.

use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::Parts;
use super::{Answer, thumbnails};
use crate::query::Query;
use crate::token::Pager;
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::clock;
use crate::world::video::Video;
use serde_json::{Value, json};

/// How many videos of each channel a search considers.
const RECENT: u32 = 40;
/// The most results of a search.
const MOST: usize = 500;

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, &["snippet"])?;
    let size = query.number("maxResults", 5, 0..=50)?;
    let words = query.get("q").unwrap_or_default().to_lowercase();
    let kinds = query.list("type");
    let wants = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
    let mut hits = Vec::new();
    if wants("channel") && query.get("channelId").is_none() {
        hits.extend(channels(world, &parts, &words));
    }
    if wants("video") {
        hits.extend(videos(world, &parts, &words, query.get("channelId")));
    }
    hits.truncate(MOST);
    let name = format!("search {words} {kinds:?} {:?}", query.get("channelId"));
    let page = Page::read(query, Pager::short(&name), size, hits.len() as u32)?;
    let range = page.range();
    let total = hits.len() as u32;
    let items = hits.drain(range.start as usize..range.end as usize).collect();
    let mut body = counted("search", items, total, size);
    body["regionCode"] = query.get("regionCode").unwrap_or("US").into();
    page.link(&mut body);
    Ok(Answer::new(body))
}

fn matches(title: &str, words: &str) -> bool {
    let title = title.to_lowercase();
    let joined = title.replace(' ', "");
    words.split_whitespace().all(|word| title.contains(word) || joined.contains(word))
}

fn channels(world: &World, parts: &Parts<'_>, words: &str) -> Vec<Value> {
    let found = world.channels().filter(|channel| matches(&channel.title, words));
    found.map(|channel| channel_item(world, parts, &channel)).collect()
}

fn videos(world: &World, parts: &Parts<'_>, words: &str, only: Option<&str>) -> Vec<Value> {
    let channels = world.channels().filter(|channel| only.is_none_or(|id| channel.id == id));
    let videos = channels.flat_map(|channel| {
        (0..channel.videos.min(RECENT)).filter_map(move |i| world.video((channel.no, i)))
    });
    videos
        .filter(|video| matches(&video.title, words))
        .map(|video| video_item(world, parts, &video))
        .collect()
}

/// A search result has a composite id, so it is not an item like the others.
fn result(world: &World, id: &Value, key: &str, snippet: Option<Value>) -> Value {
    let mut item = json!({"kind": "youtube#searchResult", "etag": world.etag(&format!("search/{key}")), "id": id});
    if let Some(snippet) = snippet {
        item["snippet"] = snippet;
    }
    item
}

fn channel_item(world: &World, parts: &Parts<'_>, channel: &Channel) -> Value {
    let snippet = parts.has("snippet").then(|| {
        json!({
            "publishedAt": clock::iso(channel.created),
            "channelId": channel.id,
            "title": channel.title,
            "description": first_line(&channel.about),
            "thumbnails": thumbnails::channel(world, &channel.id),
            "channelTitle": channel.title,
            "liveBroadcastContent": "none",
        })
    });
    result(
        world,
        &json!({"kind": "youtube#channel", "channelId": channel.id}),
        &channel.id,
        snippet,
    )
}

fn video_item(world: &World, parts: &Parts<'_>, video: &Video) -> Value {
    let snippet = parts.has("snippet").then(|| {
        json!({
            "publishedAt": clock::iso(video.published),
            "channelId": video.channel.id,
            "title": video.title,
            "description": first_line(&video.description),
            "thumbnails": thumbnails::video(&video.id, 3, false),
            "channelTitle": video.channel.title,
            "liveBroadcastContent": "none",
        })
    });
    result(world, &json!({"kind": "youtube#video", "videoId": video.id}), &video.id, snippet)
}

/// The first line: search results contain shortened descriptions.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
