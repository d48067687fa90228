//! `commentThreads.list`

use super::comments::{Format, item as comment_item, reply_item};
use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::Parts;
use super::{Answer, videos};
use crate::query::Query;
use crate::quirk::{self, Case, CommentQuirk, VideoQuirk as Q};
use crate::token::Pager;
use crate::world::World;
use crate::world::comment::{About, Thread};
use crate::world::playlist::State;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// The most replies that are sent with a thread.
const INLINE_REPLIES: u32 = 5;

/// The options of a request.
struct Options<'a> {
    world: &'a World,
    parts: Parts<'a>,
    format: Format,
    size: u32,
}

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    query.one_of("order", &["time", "relevance", "orderUnspecified"])?;
    let options = Options {
        world,
        parts: Parts::read(query, &["replies", "snippet"])?,
        format: Format::read(query)?,
        size: query.number("maxResults", 20, 1..=100)?,
    };
    let ids = query.list("id");
    let channel = query.get("allThreadsRelatedToChannelId").or_else(|| query.get("channelId"));
    match (ids.is_empty(), query.get("videoId"), channel) {
        (false, None, None) => by_id(&options, &ids),
        (true, Some(video), None) => under(&options, query, &video_of(world, video)?),
        (true, None, Some(id)) => {
            let channel =
                world.channel_by_id(id).ok_or_else(|| ApiError::by_reason("channelNotFound"))?;
            under(&options, query, &About::Channel(Box::new(channel)))
        }
        (true, None, None) => Err(ApiError::missing_filter(
            "id, idParam, channelId, videoId, allThreadsRelatedToChannelId",
        )),
        _ => Err(ApiError::incompatible("id, videoId, channelId")),
    }
}

fn video_of(world: &World, id: &str) -> Result<About, ApiError> {
    videos::refuse(&[id])?;
    let is_private = world.video_key(id).is_some_and(|key| world.state(key) == State::Private);
    if is_private || quirk::find(id).is_some_and(|(_, q)| q.case == Case::Video(Q::Private)) {
        return Err(ApiError::by_reason("forbidden"));
    }
    let video = world.video_by_id(id).ok_or_else(|| ApiError::by_reason("videoNotFound"))?;
    match video.quirk {
        Some(Q::NoComments) => Err(ApiError::by_reason("commentsDisabled")),
        _ => Ok(About::Video(Box::new(video))),
    }
}

fn by_id(options: &Options<'_>, ids: &[&str]) -> Result<Answer, ApiError> {
    let mut items = Vec::new();
    for id in ids {
        let found = options.world.thread_by_id(id);
        let (about, thread) = found.ok_or_else(|| ApiError::by_reason("commentThreadNotFound"))?;
        let mut item = item(options, &thread, &about);
        if quirk::find(id)
            .is_some_and(|(_, q)| q.case == Case::Comment(CommentQuirk::NowhereThread))
        {
            forget_channel(&mut item["snippet"]);
        }
        items.push(item);
    }
    let count = items.len() as u32;
    Ok(Answer::new(counted("commentThread", items, count, options.size)))
}

fn forget_channel(snippet: &mut Value) {
    let Some(members) = snippet.as_object_mut() else { return };
    members.remove("channelId");
    if let Some(top) = members.get_mut("topLevelComment").and_then(|c| c["snippet"].as_object_mut())
    {
        top.remove("channelId");
    }
}

/// The threads of a video or a channel. `totalResults` counts the threads of the page only.
fn under(options: &Options<'_>, query: &Query, about: &About) -> Result<Answer, ApiError> {
    let quirk = match about {
        About::Video(video) => video.quirk,
        About::Channel(_) => None,
    };
    let by_time = query.get("order") != Some("relevance");
    // The platform may send about twenty threads for a request of a hundred.
    let size = match quirk {
        Some(Q::ShortCommentPages) if by_time => options.size.min(20),
        _ => options.size,
    };
    let order = order(options.world, about, by_time, query.get("searchTerms"));
    let page =
        Page::read(query, Pager::long(&list_name(query)), size, order.len() as u32)?.forward_only();
    let threads = page.range().map(|index| options.world.thread(about, order[index as usize]));
    let items: Vec<_> = threads.map(|thread| item(options, &thread, about)).collect();
    let count = items.len() as u32;
    let mut body = counted("commentThread", items, count, options.size);
    page.link(&mut body);
    if quirk == Some(Q::CommentLoop) && page.start > 0 {
        body["nextPageToken"] = page.token_of_itself();
    }
    Ok(Answer::new(body))
}

/// A token is valid for the same threads in the same order.
fn list_name(query: &Query) -> String {
    ["videoId", "channelId", "allThreadsRelatedToChannelId", "order", "searchTerms"]
        .map(|name| query.get(name).unwrap_or_default())
        .join("|")
}

fn order(world: &World, about: &About, by_time: bool, terms: Option<&str>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..world.thread_count(about)).collect();
    if let Some(terms) = terms.map(str::to_lowercase) {
        order.retain(|i| world.thread(about, *i).top.text.to_lowercase().contains(&terms));
    }
    if !by_time {
        order.sort_by_key(|i| Reverse(world.thread_likes(about, *i)));
    }
    order
}

fn item(options: &Options<'_>, thread: &Thread, about: &About) -> Value {
    // The comments of a thread are complete, whatever parts of the thread are requested.
    let whole = Query::parse("part=snippet");
    let whole = Parts::read(&whole, &["snippet"]).expect("a part that exists");
    let world = options.world;
    options.parts.item(world, "commentThread", &thread.top.id, |part| match part {
        "snippet" => {
            let mut snippet = json!({
                "topLevelComment": comment_item(world, &whole, &thread.top, about, options.format),
                "canReply": true,
                "totalReplyCount": thread.replies,
                "isPublic": true,
            });
            match about {
                About::Video(video) => {
                    snippet["videoId"] = video.id.as_str().into();
                    snippet["channelId"] = video.channel.id.as_str().into();
                }
                About::Channel(channel) => snippet["channelId"] = channel.id.as_str().into(),
            }
            Some(snippet)
        }
        "replies" if thread.replies > 0 => {
            let inline = (0..thread.replies.min(INLINE_REPLIES)).map(|i| world.reply(thread, i));
            let inline: Vec<_> = inline
                .map(|reply| {
                    reply_item(world, &whole, &reply, &thread.top.id, about, options.format)
                })
                .collect();
            Some(json!({"comments": inline}))
        }
        _ => None,
    })
}
