//! Comments: threads, replies, and their plain text.

pub(crate) mod threads;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use crate::comment::{Comment, CommentOrder, CommentQuery, CommentThread};
use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::pages::Pages;
use crate::data_api::wire;
use crate::error::{Error, Result};
use crate::format::Moment;
use crate::html;
use crate::ident::{ChannelId, CommentId, VideoId};
use crate::resource::Services;
use crate::resource::lookup::{Lookup, order_word};
use crate::resource::paged::RecordPage;

impl CommentThread {
    pub(crate) fn from_wire(thread: wire::CommentThread) -> Self {
        let snippet = thread.snippet.unwrap_or_default();
        let replies = thread.replies.unwrap_or_default().comments.unwrap_or_default();
        let first = snippet.top_level_comment.unwrap_or_default();
        Self {
            id: thread.id.unwrap_or_default(),
            video_id: snippet.video_id.as_deref().and_then(VideoId::bare),
            channel_id: snippet.channel_id.as_deref().and_then(ChannelId::bare),
            top_level_comment: Comment::from_wire(first),
            total_reply_count: snippet.total_reply_count.unwrap_or(0),
            can_reply: snippet.can_reply.unwrap_or(false),
            is_public: snippet.is_public.unwrap_or(false),
            replies: replies.into_iter().map(Comment::from_wire).collect(),
        }
    }

    /// Whether the comment or one of the replies contains all words, which are in lower case.
    pub(crate) fn contains(&self, words: &[String]) -> bool {
        let mut comments = [&self.top_level_comment].into_iter().chain(&self.replies);
        comments.any(|comment| {
            let text = comment.text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
    }

    /// Whether YouTube sent all replies with the thread.
    pub(crate) fn has_all_replies(&self) -> bool {
        self.replies.len() as u64 >= self.total_reply_count
    }
}

impl Comment {
    pub(crate) fn from_wire(comment: wire::Comment) -> Self {
        let snippet = comment.snippet.unwrap_or_default();
        let text = match snippet.text_original.filter(|text| !text.is_empty()) {
            Some(original) => original,
            None => to_text(&snippet.text_display.unwrap_or_default()),
        };
        let author = snippet.author_channel_id.unwrap_or_default();
        Self {
            id: comment.id.unwrap_or_default(),
            author_name: snippet.author_display_name.unwrap_or_default(),
            author_profile_image: snippet.author_profile_image_url.unwrap_or_default(),
            author_channel_url: snippet.author_channel_url.unwrap_or_default(),
            author_channel_id: author.value.as_deref().and_then(ChannelId::bare),
            text,
            like_count: snippet.like_count.unwrap_or(0),
            published_at: Moment::parse(snippet.published_at.as_deref()),
            updated_at: Moment::parse(snippet.updated_at.as_deref()),
            parent_id: snippet.parent_id.filter(|id| !id.is_empty()),
        }
    }
}

/// The maximum number of comments on one page.
const PAGE: usize = 100;

/// The number of threads that fetch their replies concurrently.
const THREADS_AT_ONCE: usize = 5;

/// The number of pages that a search reads itself, which is the most that it costs there.
const SEARCHED_PAGES: usize = 20;

/// Fetches the threads of a video, and returns them with the age of the oldest record among their parts.
pub(crate) async fn threads(
    services: &Arc<Services>,
    ctx: &Context,
    video: VideoId,
    query: &CommentQuery,
) -> Result<(Vec<CommentThread>, Duration)> {
    let ctx = &ctx.for_parts();
    if let Some(words) = &query.search {
        return matching(services, ctx, video, query, words).await;
    }
    let call = threads_call(video, query.order, query.limit);
    let found: Vec<wire::CommentThread> = up_to(services, ctx, query.limit, call).await?;
    let found = found.into_iter().map(CommentThread::from_wire).collect();
    completed(services, ctx, query, found).await
}

/// The call for the threads of a video, of at most `limit` on a page.
fn threads_call(video: VideoId, order: CommentOrder, limit: usize) -> Call {
    Call::new(Endpoint::CommentThreads, What::Video, &video)
        .with("part", "snippet,replies")
        .with("videoId", video.as_str())
        .with("order", order_word(order))
        .with("textFormat", "plainText")
        .with("maxResults", limit.min(PAGE).to_string())
}

/// Finds the threads that contain `words`. YouTube's own search ignores replies, so the first threads are read here.
/// YouTube searches the rest, which comes after them in either order.
async fn matching(
    services: &Arc<Services>,
    ctx: &Context,
    video: VideoId,
    query: &CommentQuery,
    words: &str,
) -> Result<(Vec<CommentThread>, Duration)> {
    let words = words_of(words);
    let mut read: HashSet<String> = HashSet::new();
    let (mut found, mut oldest, mut token) = (vec![], Duration::ZERO, String::new());
    for _ in 0..SEARCHED_PAGES {
        let record = Lookup::ThreadPage(video, query.order, token);
        let record = services.read_record(ctx, &record).await?;
        let page: RecordPage<CommentThread> = record.decode()?;
        let (threads, age) = completed(services, ctx, query, page.items).await?;
        oldest = oldest.max(record.age).max(age);
        let is_new = |it: &CommentThread| it.id.is_empty() || read.insert(it.id.clone());
        let new: Vec<CommentThread> = threads.into_iter().filter(is_new).collect();
        found.extend(new.into_iter().filter(|thread| thread.contains(&words)));
        if found.len() >= query.limit {
            found.truncate(query.limit);
            return Ok((found, oldest));
        }
        match page.next {
            Some(next) => token = next,
            None => return Ok((found, oldest)),
        }
    }
    let call =
        threads_call(video, query.order, PAGE).with_some("searchTerms", query.search.as_deref());
    let rest: Vec<wire::CommentThread> = up_to(services, ctx, query.limit, call).await?;
    let rest = rest.into_iter().map(CommentThread::from_wire);
    let rest = rest.filter(|thread| !read.contains(&thread.id));
    let rest = rest.take(query.limit - found.len()).collect();
    let (rest, age) = completed(services, ctx, query, rest).await?;
    found.extend(rest);
    Ok((found, oldest.max(age)))
}

/// The words of a search, in lower case.
pub(crate) fn words_of(search: &str) -> Vec<String> {
    search.split_whitespace().map(str::to_lowercase).collect()
}

/// Adds the replies that the query requests, and returns the threads with the age of the oldest replies.
async fn completed(
    services: &Arc<Services>,
    ctx: &Context,
    query: &CommentQuery,
    threads: Vec<CommentThread>,
) -> Result<(Vec<CommentThread>, Duration)> {
    if !query.all_replies {
        return Ok((threads, Duration::ZERO));
    }
    let with_replies = stream::iter(threads).enumerate().map(|(index, mut thread)| async move {
        let record = threads::add_replies(services, ctx, &mut thread).await?;
        Ok::<_, Error>((index, (thread, record.map_or(Duration::ZERO, |record| record.age))))
    });
    // Unordered, so that the first failure ends the fetch at once.
    let all = with_replies.buffer_unordered(THREADS_AT_ONCE).try_collect::<BTreeMap<_, _>>();
    let (threads, ages): (Vec<_>, Vec<Duration>) = all.await?.into_values().unzip();
    Ok((threads, ages.into_iter().max().unwrap_or_default()))
}

/// Fetches all replies to a comment. The id of a reply selects its thread.
pub(crate) async fn replies(
    services: &Arc<Services>,
    ctx: &Context,
    id: &CommentId,
) -> Result<Vec<Comment>> {
    let call = Call::new(Endpoint::Comments, What::Comment, id)
        .with("part", "snippet")
        .with("parentId", id.thread())
        .with("textFormat", "plainText")
        .with("maxResults", PAGE.to_string());
    let found: Vec<wire::Comment> = up_to(services, ctx, usize::MAX, call).await?;
    Ok(found.into_iter().map(Comment::from_wire).collect())
}

/// Fetches pages until there are enough items, and none beyond.
async fn up_to<T: DeserializeOwned>(
    services: &Arc<Services>,
    ctx: &Context,
    limit: usize,
    call: Call,
) -> Result<Vec<T>> {
    let mut pages = Pages::new(call);
    let mut found: Vec<T> = vec![];
    while found.len() < limit {
        let Some(page) = pages.next(&services.data_api, ctx).await? else { break };
        found.extend(page);
    }
    found.truncate(limit);
    Ok(found)
}

/// Converts YouTube's display text to plain text. It keeps line breaks, removes YouTube's few tags
/// and decodes entities. A `<` that starts none of those tags is part of the comment.
fn to_text(html: &str) -> String {
    htmlize::unescape(html::without_tags(html, is_platform_tag)).into_owned()
}

/// Tags in YouTube's spelling: links with their address, the others bare.
fn is_platform_tag(inside: &str) -> bool {
    const BARE: [&str; 13] =
        ["br", "br/", "br /", "b", "/b", "i", "/i", "s", "/s", "code", "/code", "/a", "/span"];
    const BEGINNINGS: [&str; 3] = ["a href=\"", "a class=\"", "span class=\""];
    BARE.contains(&inside) || BEGINNINGS.iter().any(|beginning| inside.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::to_text;

    #[test]
    fn markup_is_removed_and_text_stays() {
        let table = [
            ("plain", "plain"),
            ("one<br>two<br />three", "one\ntwo\nthree"),
            (
                r#"<a href="https://x.example/?a=1&amp;t=00m13s">0:13</a> so &quot;good&quot;"#,
                "0:13 so \"good\"",
            ),
            ("it&#39;s <b>bold</b> &amp; <i>nice</i>", "it's bold & nice"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("I <3 you", "I <3 you"),
            ("a <wbr> b", "a <wbr> b"),
            ("unclosed <a href=", "unclosed <a href="),
            ("so <i think you are> right", "so <i think you are> right"),
            ("<<b>twice</b <b>>", "<twice</b >"),
            ("", ""),
        ];
        for (html, text) in table {
            assert_eq!(to_text(html), text, "{html}");
        }
    }
}
