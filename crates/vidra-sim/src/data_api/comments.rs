//! `comments.list`, and the JSON of a comment.

use super::error::ApiError;
use super::page::{Page, envelope};
use super::parts::Parts;
use super::{Answer, thumbnails};
use crate::query::Query;
use crate::token::Pager;
use crate::world::World;
use crate::world::clock;
use crate::world::comment::{About, Comment};
use serde_json::{Value, json};

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, &["snippet"])?;
    let format = Format::read(query)?;
    let ids = query.list("id");
    match (ids.is_empty(), query.get("parentId")) {
        (false, None) => by_id(world, &parts, &ids, format),
        (true, Some(parent)) => by_parent(world, query, &parts, parent, format),
        (true, None) => Err(ApiError::missing_filter("id, idParam, parentId")),
        (false, Some(_)) => Err(ApiError::incompatible("id, parentId")),
    }
}

/// Comments by id. The answer has no `pageInfo`.
fn by_id(
    world: &World,
    parts: &Parts<'_>,
    ids: &[&str],
    format: Format,
) -> Result<Answer, ApiError> {
    let mut items = Vec::new();
    for id in ids {
        let (parent, tail) =
            id.split_once('.').map_or((*id, None), |(parent, tail)| (parent, Some(tail)));
        let missing = || ApiError::by_reason("commentNotFound");
        let (about, thread) = world.thread_by_id(parent).ok_or_else(missing)?;
        let item = match tail {
            None => item(world, parts, &thread.top, &about, format),
            Some(tail) => {
                let index = world.mint.read_reply_tail(&thread.top.id, tail);
                let index = index.filter(|index| *index < thread.replies).ok_or_else(missing)?;
                reply_item(
                    world,
                    parts,
                    &world.reply(&thread, index),
                    &thread.top.id,
                    &about,
                    format,
                )
            }
        };
        items.push(without_video(item));
    }
    Ok(Answer::new(envelope("comment", items)))
}

/// The replies of a comment. `pageInfo` has no `totalResults`.
fn by_parent(
    world: &World,
    query: &Query,
    parts: &Parts<'_>,
    parent: &str,
    format: Format,
) -> Result<Answer, ApiError> {
    let size = query.number("maxResults", 20, 1..=100)?;
    let (about, thread) =
        world.thread_by_id(parent).ok_or_else(|| ApiError::by_reason("commentNotFound"))?;
    let page = Page::read(query, Pager::long(parent), size, thread.replies)?.forward_only();
    let replies = page.range().map(|i| world.reply(&thread, i));
    let items = replies
        .map(|reply| reply_item(world, parts, &reply, &thread.top.id, &about, format))
        .map(without_video)
        .collect();
    let mut body = envelope("comment", items);
    body["pageInfo"] = json!({"resultsPerPage": size});
    page.link(&mut body);
    Ok(Answer::new(body))
}

/// Removes `videoId`, which a comment outside of a thread does not have.
fn without_video(mut item: Value) -> Value {
    if let Some(snippet) = item.get_mut("snippet").and_then(Value::as_object_mut) {
        snippet.remove("videoId");
    }
    item
}

/// The format of `textDisplay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Plain,
}

impl Format {
    pub(super) fn read(query: &Query) -> Result<Self, ApiError> {
        query.one_of("textFormat", &["html", "plainText", "textFormatUnspecified"])?;
        let plain = query.get("textFormat") == Some("plainText");
        Ok(if plain { Self::Plain } else { Self::Html })
    }
}

/// A top-level comment.
pub(super) fn item(
    world: &World,
    parts: &Parts<'_>,
    comment: &Comment,
    about: &About,
    format: Format,
) -> Value {
    parts.item(world, "comment", &comment.id, |_| Some(snippet(world, comment, about, format)))
}

/// A reply: a comment with its `parentId`.
pub(super) fn reply_item(
    world: &World,
    parts: &Parts<'_>,
    reply: &Comment,
    parent: &str,
    about: &About,
    format: Format,
) -> Value {
    let mut item = item(world, parts, reply, about, format);
    if let Some(snippet) = item.get_mut("snippet") {
        snippet["parentId"] = parent.into();
    }
    item
}

fn snippet(world: &World, comment: &Comment, about: &About, format: Format) -> Value {
    let author = &comment.author;
    let video = match about {
        About::Video(video) => Some(video.id.as_str()),
        About::Channel(_) => None,
    };
    let display = match format {
        Format::Html => html(comment.text, video.unwrap_or_default()),
        Format::Plain => comment.text.to_owned(),
    };
    let mut snippet = json!({
        "authorDisplayName": format!("@{}", author.handle.as_deref().unwrap_or(&author.title)),
        "authorProfileImageUrl": thumbnails::avatar(world, &author.id),
        "authorChannelUrl": if comment.anonymous { String::new() } else { format!("http://www.youtube.com/channel/{}", author.id) },
        "textDisplay": display,
        "textOriginal": comment.text,
        "canRate": true,
        "viewerRating": if comment.liked_by_viewer { "like" } else { "none" },
        "likeCount": comment.likes,
        "publishedAt": clock::iso(comment.published),
        "updatedAt": clock::iso(comment.updated),
    });
    if !comment.anonymous {
        snippet["authorChannelId"] = json!({"value": author.id});
    }
    match about {
        About::Video(video) => {
            snippet["videoId"] = video.id.as_str().into();
            snippet["channelId"] = video.channel.id.as_str().into();
        }
        About::Channel(channel) => snippet["channelId"] = channel.id.as_str().into(),
    }
    snippet
}

/// Converts plain text into the platform's HTML: entities, line breaks, links, timestamps.
fn html(text: &str, video: &str) -> String {
    let lines = text.split('\n').map(|line| {
        line.split(' ').map(|word| html_word(word, video)).collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("<br>")
}

fn html_word(word: &str, video: &str) -> String {
    let escaped = word
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;");
    if word.starts_with("https://") {
        return format!("<a href=\"{escaped}\">{escaped}</a>");
    }
    match word.split_once(':') {
        Some((minutes, seconds)) if is_clock(minutes, seconds) => {
            format!(
                "<a href=\"https://www.youtube.com/watch?v={video}&amp;t={minutes}m{seconds}s\">{escaped}</a>"
            )
        }
        _ => escaped,
    }
}

fn is_clock(minutes: &str, seconds: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(minutes) && digits(seconds) && seconds.len() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_text_is_rendered_as_platform_html() {
        assert_eq!(
            html("it's \"<b>\" & 2\nmore", "x"),
            "it&#39;s &quot;&lt;b&gt;&quot; &amp; 2<br>more"
        );
        assert_eq!(
            html("at 4:40 now", "x"),
            "at <a href=\"https://www.youtube.com/watch?v=x&amp;t=4m40s\">4:40</a> now"
        );
        assert_eq!(
            html("https://a.example/?b=1&c=2", "x"),
            "<a href=\"https://a.example/?b=1&amp;c=2\">https://a.example/?b=1&amp;c=2</a>"
        );
    }
}
