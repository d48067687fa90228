//! The entries of a playlist: what each says of its video, and the walk through all of them.

use std::fmt;

use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::ask::{self, Ask};
use crate::cache::{Key, Known};
use crate::error::Result;
use crate::ident::{PlaylistId, VideoId};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, wire};

/// An entry as it is listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// `None` where the platform does not tell which video it is.
    pub(crate) video: Option<VideoId>,
    /// Empty where the video is private or deleted.
    pub(crate) title: String,
    pub(crate) standing: Standing,
}

/// Whether there is a video behind an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Standing {
    Public,
    Private,
    Deleted,
}

impl Entry {
    /// Private and deleted videos are listed under a title of the platform's, without an owner and
    /// without a date. In old answers no entry has those, so all three have to agree.
    fn from_wire(item: wire::PlaylistItem) -> Self {
        let dated = item
            .content_details
            .as_ref()
            .is_some_and(|content| content.video_published_at.is_some());
        let snippet = item.snippet.as_ref();
        let owned = snippet.is_some_and(|snippet| snippet.video_owner_channel_id.is_some());
        let title = snippet.and_then(|snippet| snippet.title.clone()).unwrap_or_default();
        let (title, standing) = match title.as_str() {
            "Private video" if !dated && !owned => (String::new(), Standing::Private),
            "Deleted video" if !dated && !owned => (String::new(), Standing::Deleted),
            _ => (title, Standing::Public),
        };
        Self { video: item.video_id(), title, standing }
    }
}

/// All entries, without details.
pub(crate) async fn all_entries(scope: &Scope, id: &PlaylistId) -> Result<Vec<Entry>> {
    pages(scope, id, "Playlist", id).try_concat().await
}

/// The entries of a playlist, page by page: those that are known, or else asked for and kept once
/// the last has come.
pub(crate) fn entries(
    scope: &Scope,
    id: &PlaylistId,
) -> impl Stream<Item = Result<Vec<Entry>>> + use<> {
    let (scope, id) = (scope.clone(), id.clone());
    let known = async move {
        let key = Ask::PlaylistEntries(id.clone()).key();
        match scope.known_one(&key).await {
            Some(Known::Body(entries)) => stream::iter([entries.decode()]).left_stream(),
            Some(Known::Nothing(error)) => stream::iter([Err(error)]).left_stream(),
            None => asked_and_kept(scope, &id, key).right_stream(),
        }
    };
    known.flatten_stream()
}

fn asked_and_kept(
    scope: Scope,
    id: &PlaylistId,
    key: Key,
) -> impl Stream<Item = Result<Vec<Entry>>> + use<> {
    let pages = Box::pin(pages(&scope, id, "Playlist", id));
    stream::try_unfold((pages, vec![]), move |(mut pages, mut all)| {
        let (scope, key) = (scope.clone(), key.clone());
        async move {
            // Kept or not: this is for others.
            let keep = |outcome| drop(scope.cache.keep(&key, outcome));
            let page = match pages.try_next().await {
                Ok(Some(page)) => page,
                Ok(None) => {
                    keep(ask::json(&all));
                    return Ok(None);
                }
                Err(error) => {
                    if all.is_empty() {
                        keep(Err(error.clone()));
                    }
                    return Err(error);
                }
            };
            all.extend(page.iter().cloned());
            Ok(Some((page, (pages, all))))
        }
    })
}

/// The entries of a playlist as the platform sends them. `what` and `subject` name it in errors: a
/// channel's uploads are a playlist that the caller never heard of.
pub(crate) fn pages<S: fmt::Display>(
    scope: &Scope,
    id: &PlaylistId,
    what: &'static str,
    subject: &S,
) -> impl Stream<Item = Result<Vec<Entry>>> + use<S> {
    let call = Call::new(Endpoint::PlaylistItems, what, subject)
        // All parts that we ever serve: they do not change the cost.
        .with("part", "snippet,contentDetails")
        .with("playlistId", id.as_str())
        .with("maxResults", "50");
    scope
        .pages(call)
        .map_ok(|page: Vec<wire::PlaylistItem>| page.into_iter().map(Entry::from_wire).collect())
}
