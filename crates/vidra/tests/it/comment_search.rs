//! Searches of comments: they find replies, and read only the pages that they need.

use vidra::{Comment, CommentQuery, VideoId};
use vidra_sim::Simulator;

use crate::sim::client;

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

/// A word that only a reply contains.
#[tokio::test]
async fn users_11_a_search_of_comments_finds_replies() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = video("fda4eREcaTQ");
    let all = vidra.comments(id, &CommentQuery { limit: 2000, ..CommentQuery::default() }).await;
    let all = all.unwrap();
    let contains = |text: &str, word: &str| text.to_lowercase().contains(word);
    let is_in_replies_only =
        |word: &str| !all.iter().any(|thread| contains(&thread.top_level_comment.text, word));
    let replies = all.iter().flat_map(|thread| thread.replies.iter().map(move |it| (thread, it)));
    let mut words = replies.flat_map(|(thread, reply)| {
        reply.text.split_whitespace().map(move |word| (thread, word.to_lowercase()))
    });
    let (thread, word) =
        words.find(|(_, word)| is_in_replies_only(word)).expect("a word of replies only");
    let before = sim.record().calls;
    let search = CommentQuery { search: Some(word.to_uppercase()), ..CommentQuery::default() };
    let found = vidra.comments(id, &search).await.unwrap();
    assert!(found.iter().any(|it| it.id == thread.id), "{word}");
    let matches = |comment: &Comment| contains(&comment.text, &word);
    assert!(found.iter().all(|it| it.replies.iter().any(matches)), "{word}");
    assert!(sim.record().calls - before <= 20, "one unit per page");
    let none = CommentQuery { search: Some("no such words".into()), ..CommentQuery::default() };
    assert_eq!(vidra.comments(id, &none).await.unwrap(), []);
}

/// It stops at the page with the last match that it needs.
#[tokio::test]
async fn users_11_a_search_of_comments_reads_only_the_pages_it_needs() {
    let sim = Simulator::new();
    let id = video("quirkShortC");
    let query = CommentQuery { search: Some("e".into()), limit: 5, ..CommentQuery::default() };
    let found = client(&sim).comments(id, &query).await.unwrap();
    assert_eq!((found.len(), sim.record().calls), (5, 1));
}
