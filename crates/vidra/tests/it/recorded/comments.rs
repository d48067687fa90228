//! `commentThreads.list` and `comments.list`: plain text, replies, and what old threads lack.

use serde_json::Value;
use vidra::{Comment, CommentId, CommentQuery, CommentThread, VideoId};

use super::{Recorded, bytes_of, count, fixtures, id, items_of, millis, text};

pub(super) const THREADS: &[&str] = &[
    "channel-24.json",
    "paged-1.json",
    "paged-2.json",
    "search-terms.json",
    "single-by-id.json",
    "single-channel-thread.json",
    "video-100.json",
    "with-replies.json",
];

/// How many threads each of `THREADS` holds.
const MANY: [usize; 8] = [24, 5, 5, 1, 1, 1, 100, 5];

pub(super) const REPLIES: &[&str] =
    &["by-parent-paged-1.json", "by-parent-paged-2.json", "reply.json", "top-level.json"];

async fn threads(file: &str, limit: usize) -> Option<Vec<CommentThread>> {
    let body = bytes_of(&fixtures()?, &format!("comment-threads/{file}"));
    let client = Recorded::default().page("commentThreads", body).client();
    let query = CommentQuery::default().with_limit(limit);
    let video = VideoId::parse("MsplPPW7tFo").unwrap();
    Some(client.comments(video, &query).await.unwrap_or_else(|error| panic!("{file}: {error:?}")))
}

async fn replies(files: &[&str]) -> Option<Vec<Comment>> {
    let folder = fixtures()?;
    let page = |recorded: Recorded, file: &&str| {
        recorded.page("comments", bytes_of(&folder, &format!("comments/{file}")))
    };
    let client = files.iter().fold(Recorded::default(), page).client();
    let id = CommentId::parse("Ugw5zYU6n9pmIgAZWvN4AaABAg").unwrap();
    Some(client.comment_replies(&id).await.unwrap())
}

fn assert_same(raw: &Value, comment: &Comment, file: &str) {
    let texts = [
        (comment.id.as_str(), "/id"),
        (&comment.author_name, "/snippet/authorDisplayName"),
        (&comment.author_profile_image, "/snippet/authorProfileImageUrl"),
        (&comment.author_channel_url, "/snippet/authorChannelUrl"),
        (id(&comment.author_channel_id), "/snippet/authorChannelId/value"),
        (&comment.text, "/snippet/textOriginal"),
        (comment.parent_id.as_deref().unwrap_or_default(), "/snippet/parentId"),
    ];
    for (seen, pointer) in texts {
        assert_eq!(seen, text(raw, pointer), "{file} {pointer}");
    }
    assert_eq!(Some(comment.like_count), count(raw, "/snippet/likeCount"), "{file}");
    assert_eq!(
        comment.published_at.to_string(),
        millis(text(raw, "/snippet/publishedAt")),
        "{file}"
    );
    assert_eq!(comment.updated_at.to_string(), millis(text(raw, "/snippet/updatedAt")), "{file}");
}

#[tokio::test]
async fn every_recorded_thread_is_read_completely() {
    for (file, many) in THREADS.iter().zip(MANY) {
        let Some(threads) = threads(file, many).await else { return };
        assert_eq!(threads.len(), many, "{file}");
        let raw = items_of(&fixtures().unwrap(), &format!("comment-threads/{file}"));
        for (raw, thread) in raw.iter().zip(&threads) {
            assert_eq!(thread.id, text(raw, "/id"), "{file}");
            assert_eq!(id(&thread.video_id), text(raw, "/snippet/videoId"), "{file}");
            assert_eq!(id(&thread.channel_id), text(raw, "/snippet/channelId"), "{file}");
            assert_eq!(Some(thread.total_reply_count), count(raw, "/snippet/totalReplyCount"));
            assert_eq!(Some(thread.can_reply), raw["snippet"]["canReply"].as_bool(), "{file}");
            assert_eq!(Some(thread.is_public), raw["snippet"]["isPublic"].as_bool(), "{file}");
            assert_same(&raw["snippet"]["topLevelComment"], &thread.top_level_comment, file);
            let raw_replies = raw.pointer("/replies/comments").and_then(Value::as_array);
            assert_eq!(thread.replies.len(), raw_replies.map_or(0, Vec::len), "{file}");
            for (raw, reply) in raw_replies.into_iter().flatten().zip(&thread.replies) {
                assert_same(raw, reply, file);
            }
        }
    }
}

#[tokio::test]
async fn comments_have_no_markup_and_keep_every_script() {
    let Some(threads) = threads("video-100.json", 100).await else { return };
    let text_of = |id: &str| {
        let thread = threads.iter().find(|thread| thread.id == id).unwrap();
        thread.top_level_comment.text.as_str()
    };
    assert_eq!(text_of("UgzxS6C4nPOko-2bN4t4AaABAg"), "00:13");
    assert_eq!(text_of("UgxuksTGkVZ6qdgXlCR4AaABAg"), "Azerbaycan ve turk butonu\n\n +1like");
    assert_eq!(text_of("Ugx5Vvw47S9HH5GqXol4AaABAg"), "Lmao felix's acting");
    assert_eq!(text_of("Ugwj8gAejni2w6Egkt14AaABAg"), "Лайк если ты русский 😭");
    assert!(text_of("Ugw4wOJ21YOLL37zujt4AaABAg").ends_with("2020\n\n👇🏻"));
    for thread in &threads {
        let text = &thread.top_level_comment.text;
        assert!(
            !["<br", "</a>", "&#39;", "&quot;", "&amp;"].iter().any(|tag| text.contains(tag)),
            "{text}"
        );
        // Replies were not requested in this recording, though three threads have some.
        assert!(thread.replies.is_empty());
        assert_eq!(thread.top_level_comment.parent_id, None);
    }
    let first = |thread: &CommentThread| thread.top_level_comment.clone();
    let edited = threads.iter().map(first).filter(|it| it.updated_at != it.published_at).count();
    assert_eq!(edited, 3);
    assert_eq!(threads.iter().filter(|thread| thread.total_reply_count > 0).count(), 3);
    assert_eq!(threads.iter().map(first).map(|comment| comment.like_count).sum::<u64>(), 20);
}

/// The platform's HTML gives the text that the author wrote, except for `*bold*`.
#[tokio::test]
async fn html_gives_the_original_text() {
    let Some(folder) = fixtures() else { return };
    let mut differing = 0;
    for file in ["video-100.json", "paged-1.json", "with-replies.json"] {
        let mut page = super::json_of(&folder, &format!("comment-threads/{file}"));
        let mut written = vec![];
        for thread in page["items"].as_array_mut().unwrap() {
            let snippet = &mut thread["snippet"]["topLevelComment"]["snippet"];
            let original = snippet.as_object_mut().unwrap().remove("textOriginal").unwrap();
            differing += u32::from(original != snippet["textDisplay"]);
            written.push(original.as_str().unwrap().replace('*', ""));
        }
        let client = Recorded::default().page("commentThreads", page.to_string()).client();
        let video = VideoId::parse("MsplPPW7tFo").unwrap();
        let query = CommentQuery::top(written.len());
        for (thread, written) in client.comments(video, &query).await.unwrap().iter().zip(written) {
            assert_eq!(thread.top_level_comment.text.replace('*', ""), written, "{file}");
        }
    }
    assert!(differing >= 17, "{differing} recorded comments hold markup");
}

#[tokio::test]
async fn embedded_replies_name_their_parent() {
    let Some(threads) = threads("with-replies.json", 5).await else { return };
    let thread = &threads[0];
    assert_eq!(id(&thread.video_id), "D-lhorsDlUQ");
    assert_eq!((thread.total_reply_count, thread.replies.len()), (1, 1));
    assert_eq!(thread.replies[0].parent_id.as_deref(), Some("UgydxWWoeA7F1OdqypJ4AaABAg"));
    assert!(threads[1..].iter().all(|thread| thread.replies.is_empty()));
}

#[tokio::test]
async fn comments_on_a_channel_have_no_video() {
    for (file, many) in
        [("channel-24.json", 24), ("search-terms.json", 1), ("single-channel-thread.json", 1)]
    {
        let Some(threads) = threads(file, 100).await else { return };
        assert_eq!(
            threads.iter().filter(|thread| thread.video_id.is_none()).count(),
            many,
            "{file}"
        );
    }
    let Some(oldest) = threads("single-channel-thread.json", 1).await else { return };
    assert_eq!(
        (id(&oldest[0].channel_id), oldest[0].top_level_comment.text.as_str()),
        ("", "Tailen")
    );
}

#[tokio::test]
async fn pages_are_fetched_only_up_to_the_limit() {
    let Some(folder) = fixtures() else { return };
    let page = |file: &str| bytes_of(&folder, &format!("comment-threads/{file}"));
    let video = VideoId::parse("F1UP7wRCPH8").unwrap();
    for (limit, calls, found) in [(3, 1, 3), (5, 1, 5), (6, 2, 6), (100, 2, 10)] {
        let recorded = Recorded::default()
            .page("commentThreads", page("paged-1.json"))
            .page("commentThreads", page("paged-2.json"));
        let query = CommentQuery::default().with_limit(limit);
        let threads = recorded.client().comments(video, &query).await.unwrap();
        assert_eq!((threads.len(), recorded.requested().len()), (found, calls), "limit {limit}");
    }
}

#[tokio::test]
async fn replies_by_parent_over_two_pages() {
    let files = &REPLIES[..2];
    let Some(replies) = replies(files).await else { return };
    let texts: Vec<&str> = replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(
        texts,
        ["this is the third reply!", "this is the second reply!", "hey, this is the replay"]
    );
    let folder = fixtures().unwrap();
    let raw = files.iter().flat_map(|file| items_of(&folder, &format!("comments/{file}")));
    for (raw, reply) in raw.zip(&replies) {
        assert_same(&raw, reply, "by-parent");
        assert_eq!(reply.parent_id.as_deref(), Some("Ugw5zYU6n9pmIgAZWvN4AaABAg"));
    }
}

#[tokio::test]
async fn comments_may_have_another_id_than_requested() {
    let Some(reply) = replies(&["reply.json"]).await else { return };
    assert_eq!(reply[0].id, "Ugi3N3wihqfAYHgCoAEC.8BjfZ2XUf-G8BjkOcU2uxO");
    assert_eq!(reply[0].parent_id.as_deref(), Some("Ugi3N3wihqfAYHgCoAEC"));
    assert_eq!(reply[0].text, "+Zekzgo ツ I can see that 0-0 iek");
    assert_eq!(id(&reply[0].author_channel_id), "UC7UWbTIsBs7riVyNir-Qfbw");
    assert_eq!(
        reply[0].author_channel_url,
        "http://www.youtube.com/channel/UC7UWbTIsBs7riVyNir-Qfbw"
    );
    assert_eq!(reply[0].published_at.to_string(), "2016-03-22T20:53:11.000Z");
    let Some(top) = replies(&["top-level.json"]).await else { return };
    assert_eq!((top[0].id.as_str(), top[0].parent_id.as_deref()), ("Ugi3N3wihqfAYHgCoAEC", None));
}
