//! The platform's own shapes, as lenient as the data is: any part and any member may be missing or
//! null, counts are strings here and numbers there, and an error may be a bare string.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, Visitor};

use crate::thumbnail::Thumbnails;

/// Any list answer. `items` is absent where some endpoints find nothing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List<T> {
    // By hand, because the derived default would ask for `T: Default`.
    #[serde(default = "none")]
    pub(crate) items: Option<Vec<T>>,
    #[serde(default)]
    pub(crate) next_page_token: Option<String>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Video {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<VideoSnippet>,
    pub(crate) content_details: Option<VideoContent>,
    pub(crate) statistics: Option<VideoStatistics>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct VideoSnippet {
    pub(crate) published_at: Option<String>,
    pub(crate) channel_id: Option<String>,
    pub(crate) channel_title: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) thumbnails: Option<Thumbnails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VideoContent {
    pub(crate) duration: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct VideoStatistics {
    #[serde(deserialize_with = "count")]
    pub(crate) view_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) like_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) comment_count: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Channel {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<ChannelSnippet>,
    pub(crate) statistics: Option<ChannelStatistics>,
    pub(crate) content_details: Option<ChannelContent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ChannelSnippet {
    pub(crate) title: Option<String>,
    pub(crate) custom_url: Option<String>,
    pub(crate) country: Option<String>,
    pub(crate) thumbnails: Option<Thumbnails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ChannelStatistics {
    #[serde(deserialize_with = "count")]
    pub(crate) view_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) subscriber_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) video_count: Option<u64>,
    pub(crate) hidden_subscriber_count: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ChannelContent {
    pub(crate) related_playlists: Option<RelatedPlaylists>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RelatedPlaylists {
    pub(crate) uploads: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Playlist {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<PlaylistSnippet>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PlaylistSnippet {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) thumbnails: Option<Thumbnails>,
}

/// An entry of a playlist, from whichever of its parts were asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PlaylistItem {
    pub(crate) snippet: Option<PlaylistItemSnippet>,
    pub(crate) content_details: Option<VideoReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PlaylistItemSnippet {
    pub(crate) resource_id: Option<VideoReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct VideoReference {
    pub(crate) video_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommentThread {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<ThreadSnippet>,
    pub(crate) replies: Option<Replies>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ThreadSnippet {
    pub(crate) video_id: Option<String>,
    pub(crate) channel_id: Option<String>,
    pub(crate) top_level_comment: Option<Comment>,
    #[serde(deserialize_with = "count")]
    pub(crate) total_reply_count: Option<u64>,
    pub(crate) can_reply: Option<bool>,
    pub(crate) is_public: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Replies {
    pub(crate) comments: Option<Vec<Comment>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Comment {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<CommentSnippet>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CommentSnippet {
    pub(crate) author_display_name: Option<String>,
    pub(crate) author_profile_image_url: Option<String>,
    pub(crate) author_channel_url: Option<String>,
    pub(crate) author_channel_id: Option<AuthorChannel>,
    pub(crate) text_display: Option<String>,
    pub(crate) text_original: Option<String>,
    #[serde(deserialize_with = "count")]
    pub(crate) like_count: Option<u64>,
    pub(crate) published_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) parent_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthorChannel {
    pub(crate) value: Option<String>,
}

/// A region, a language or a category: an id, and a snippet with a few words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub(crate) id: Option<String>,
    pub(crate) snippet: Option<NamedSnippet>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct NamedSnippet {
    pub(crate) gl: Option<String>,
    pub(crate) hl: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) assignable: Option<bool>,
    pub(crate) channel_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchResult {
    pub(crate) id: Option<FoundChannel>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FoundChannel {
    pub(crate) channel_id: Option<String>,
}

/// A count as a string, as a number, or absent; what is none of these counts as absent.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Count;
    impl<'de> Visitor<'de> for Count {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a count")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(text.trim().parse().ok())
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(number.try_into().ok())
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
            Ok((number >= 0.0).then_some(number as u64))
        }
        fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    }
    deserializer.deserialize_any(Count)
}

/// An error body. Whatever is missing or of another shape reads as nothing said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    error: RefusalError,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RefusalError {
    Structured {
        #[serde(default)]
        message: String,
        #[serde(default)]
        errors: Vec<Reason>,
        #[serde(default)]
        details: Vec<Reason>,
    },
    Text(String),
    Other(IgnoredAny),
}

impl Default for RefusalError {
    fn default() -> Self {
        Self::Other(IgnoredAny)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reason {
    reason: Option<String>,
}

impl Reason {
    fn as_str(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }
}

impl Refusal {
    /// `errors[0].reason`.
    pub(crate) fn reason(&self) -> &str {
        match &self.error {
            RefusalError::Structured { errors, .. } => errors.first().map_or("", Reason::as_str),
            _ => "",
        }
    }

    /// Every `details[].reason`.
    pub(crate) fn detail_reasons(&self) -> impl Iterator<Item = &str> {
        let details: &[Reason] = match &self.error {
            RefusalError::Structured { details, .. } => details,
            _ => &[],
        };
        details.iter().map(Reason::as_str)
    }

    /// The platform's own words, which may hold HTML: for the log.
    pub(crate) fn message(&self) -> &str {
        match &self.error {
            RefusalError::Structured { message, .. } => message,
            RefusalError::Text(text) => text,
            RefusalError::Other(_) => "",
        }
    }
}

impl PlaylistItem {
    /// The video, from whichever part tells it.
    pub(crate) fn video_id(self) -> Option<crate::ident::VideoId> {
        let content = self.content_details.and_then(|reference| reference.video_id);
        let snippet = || self.snippet?.resource_id?.video_id;
        content.or_else(snippet).and_then(|id| crate::ident::VideoId::bare(&id))
    }
}
