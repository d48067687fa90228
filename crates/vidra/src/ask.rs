//! Everything that can be asked for and is worth keeping: its key, and how it is fetched.

#[cfg(test)]
mod canonical;

use bytes::Bytes;
use percent_encoding::utf8_percent_encode;
use serde::Serialize;

use crate::cache::Key;
use crate::cache::freshness::Resource;
use crate::comment::{CommentOrder, CommentQuery};
use crate::error::{Error, Result};
use crate::fetch::{channel, comment, playlist, region, transcript, video};
use crate::ident::{ChannelId, ChannelRef, CommentId, PlaylistId, VideoId};
use crate::language::LanguageCode;
use crate::region::CategoryQuery;
use crate::transcript::TranscriptQuery;
use crate::upstream::Scope;
use crate::upstream::call::ESCAPED;
use crate::upstream::web::{Errand, Place};

/// A question whose answer is kept. However it was put, it is the same question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// A [`Video`](crate::Video).
    Video(VideoId),
    /// A [`Channel`](crate::Channel).
    Channel(ChannelRef),
    /// The newest uploads of a channel, up to fifty: a list of [`ChannelVideo`](crate::ChannelVideo).
    Uploads(ChannelRef),
    /// A [`Playlist`](crate::Playlist).
    Playlist(PlaylistId),
    /// A [`PlaylistInfo`](crate::PlaylistInfo).
    PlaylistInfo(PlaylistId),
    /// The entries of a playlist, with their titles.
    PlaylistEntries(PlaylistId),
    /// A list of [`CommentThread`](crate::CommentThread)s.
    Comments(VideoId, CommentQuery),
    /// A list of [`Comment`](crate::Comment)s.
    Replies(CommentId),
    /// A list of [`Region`](crate::Region)s, named in a language.
    Regions(Option<String>),
    /// A list of [`Language`](crate::Language)s, named in a language.
    Languages(Option<String>),
    /// A list of [`VideoCategory`](crate::VideoCategory)s, named in a language.
    Categories(CategoryQuery, Option<String>),
    /// A list of [`CaptionTrack`](crate::CaptionTrack)s.
    Tracks(VideoId),
    /// A [`Transcript`](crate::Transcript).
    Transcript(VideoId, TranscriptQuery),
}

/// The number of the shapes in which answers are kept. To be raised with any change of a model that
/// is kept: what an older release has left in a store is then not found.
const SHAPE: u32 = 1;

/// What it takes to ask.
pub(crate) struct Means {
    pub(crate) scope: Scope,
    pub(crate) search: bool,
}

impl Ask {
    /// Its kind.
    pub fn resource(&self) -> Resource {
        match self {
            Self::Video(_) => Resource::Video,
            Self::Channel(_) => Resource::Channel,
            Self::Uploads(_) => Resource::Uploads,
            Self::Playlist(_) | Self::PlaylistInfo(_) | Self::PlaylistEntries(_) => {
                Resource::Playlist
            }
            Self::Comments(..) | Self::Replies(_) => Resource::Comments,
            Self::Regions(_) | Self::Languages(_) | Self::Categories(..) => Resource::Regions,
            Self::Tracks(_) => Resource::Tracks,
            Self::Transcript(..) => Resource::Transcript,
        }
    }

    /// The kind of what is kept under a key.
    pub(crate) fn resource_of(key: &str) -> Option<Resource> {
        match key.split('/').nth(1)? {
            "video" => Some(Resource::Video),
            "channel" => Some(Resource::Channel),
            "uploads" => Some(Resource::Uploads),
            "playlist" | "playlist-info" | "playlist-entries" => Some(Resource::Playlist),
            "comments" | "replies" => Some(Resource::Comments),
            "regions" | "languages" | "categories" => Some(Resource::Regions),
            "tracks" => Some(Resource::Tracks),
            "transcript" => Some(Resource::Transcript),
            _ => None,
        }
    }

    pub(crate) fn key(&self) -> Key {
        Key { resource: self.resource(), text: self.text() }
    }

    /// The canonical form. Parts are set apart by slashes; text that may hold one is escaped.
    fn text(&self) -> String {
        format!("{SHAPE}/{}", self.question())
    }

    fn question(&self) -> String {
        let hl =
            |hl: &Option<String>| escaped(&hl.as_deref().unwrap_or_default().to_ascii_lowercase());
        match self {
            Self::Video(id) => format!("video/{id}"),
            Self::Channel(channel) => format!("channel/{}", name(channel)),
            Self::Uploads(channel) => format!("uploads/{}", name(channel)),
            Self::Playlist(id) => format!("playlist/{id}"),
            Self::PlaylistInfo(id) => format!("playlist-info/{id}"),
            Self::PlaylistEntries(id) => format!("playlist-entries/{id}"),
            Self::Comments(video, query) => {
                let order = match query.order {
                    CommentOrder::Time => "time",
                    CommentOrder::Relevance => "relevance",
                };
                let replies = if query.all_replies { "all" } else { "preview" };
                let search = escaped(query.search.as_deref().unwrap_or_default());
                format!("comments/{video}/{order}/{}/{replies}/{search}", query.limit)
            }
            Self::Replies(id) => format!("replies/{}", id.thread()),
            Self::Regions(language) => format!("regions/{}", hl(language)),
            Self::Languages(language) => format!("languages/{}", hl(language)),
            Self::Categories(CategoryQuery::Region(code), language) => {
                format!("categories/of/{}/{}", escaped(code), hl(language))
            }
            Self::Categories(CategoryQuery::Ids(ids), language) => {
                format!("categories/by/{}/{}", escaped(&ids.join(",")), hl(language))
            }
            Self::Tracks(id) => format!("tracks/{id}"),
            Self::Transcript(id, query) => {
                let languages = query.languages.to_string().to_ascii_lowercase();
                let translate = query.translate.as_ref().map(LanguageCode::as_str);
                let translate = translate.unwrap_or_default().to_ascii_lowercase();
                format!("transcript/{id}/{languages}/{translate}")
            }
        }
    }

    /// Asks the platform: the answer as JSON.
    pub(crate) async fn fetch(self, Means { scope, search }: Means) -> Result<Bytes> {
        let scope = &scope;
        let place = Place::default();
        let errand = |id| Errand {
            web: &scope.web,
            id,
            deadline: scope.deadline,
            place: &place,
            audience: &scope.audience,
        };
        match &self {
            Self::Video(id) => json(&video::one(scope, *id).await?),
            Self::Channel(channel) => json(&channel::one(scope, channel, search).await?),
            Self::Uploads(channel) => json(&channel::uploads(scope, channel, search).await?),
            Self::Playlist(id) => json(&playlist::complete(scope, id).await?),
            Self::PlaylistInfo(id) => json(&playlist::info(scope, id).await?),
            Self::PlaylistEntries(id) => json(&playlist::all_entries(scope, id).await?),
            Self::Comments(video, query) => json(&comment::threads(scope, *video, query).await?),
            Self::Replies(id) => json(&comment::replies(scope, id).await?),
            Self::Regions(hl) => json(&region::regions(scope, hl.as_deref()).await?),
            Self::Languages(hl) => json(&region::languages(scope, hl.as_deref()).await?),
            Self::Categories(query, hl) => {
                json(&region::categories(scope, query, hl.as_deref()).await?)
            }
            Self::Tracks(id) => json(&transcript::tracks(&errand(*id)).await?),
            Self::Transcript(id, query) => json(&transcript::one(&errand(*id), query).await?),
        }
    }
}

/// Handles and names are the same in any case; ids are not.
fn name(channel: &ChannelRef) -> String {
    match channel {
        ChannelRef::Id(id) => by_id(id),
        ChannelRef::Handle(handle) => by_handle(handle.as_str()),
        ChannelRef::Username(name) => format!("user/{}", escaped(&name.to_lowercase())),
        ChannelRef::Name(name) => format!("name/{}", escaped(&name.to_lowercase())),
    }
}

fn by_id(id: &ChannelId) -> String {
    format!("id/{id}")
}

fn by_handle(handle: &str) -> String {
    format!("handle/{}", escaped(&handle.to_lowercase()))
}

/// The other keys under which a channel is found, once it is known.
pub(crate) fn channel_keys(id: &str, handle: Option<&str>) -> Vec<Key> {
    let id = ChannelId::bare(id).map(|id| by_id(&id));
    let handle = handle.map(by_handle);
    let text = |name| format!("{SHAPE}/channel/{name}");
    let key = |name| Key { resource: Resource::Channel, text: text(name) };
    id.into_iter().chain(handle).map(key).collect()
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

pub(crate) fn json(value: &impl Serialize) -> Result<Bytes> {
    // Boxed, because a grown vector has room to spare, which would be kept with it.
    let exact = |body: Vec<u8>| Bytes::from(body.into_boxed_slice());
    serde_json::to_vec(value).map(exact).map_err(Error::bug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_told_by_the_key() {
        let video = VideoId::parse("dQw4w9WgXcQ").unwrap();
        let playlist = PlaylistId::parse("PLa").unwrap();
        let channel = ChannelRef::parse("@a").unwrap();
        let comment = CommentId::parse("Ugab").unwrap();
        let all = [
            Ask::Video(video),
            Ask::Channel(channel.clone()),
            Ask::Uploads(channel),
            Ask::Playlist(playlist.clone()),
            Ask::PlaylistInfo(playlist.clone()),
            Ask::PlaylistEntries(playlist),
            Ask::Comments(video, CommentQuery::default()),
            Ask::Replies(comment),
            Ask::Regions(None),
            Ask::Languages(None),
            Ask::Categories(CategoryQuery::Region("US".to_owned()), None),
            Ask::Tracks(video),
            Ask::Transcript(video, TranscriptQuery::default()),
        ];
        for ask in all {
            let Key { resource, text } = ask.key();
            assert_eq!(Ask::resource_of(&text), Some(resource), "{text}");
        }
    }
}
