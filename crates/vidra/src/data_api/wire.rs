//! YouTube's data formats, parsed leniently. Any member can be missing, null or of another type.
//! Counts can be strings or numbers, and an error can be a bare string.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::ident::VideoId;
use crate::lenient::{Member, Object, elements, member, shapes};
use crate::thumbnail::Thumbnails;

/// A list response. Some endpoints omit `items` if they find nothing.
#[derive(Debug)]
pub(crate) struct List<T> {
    pub(crate) items: Option<Vec<T>>,
    pub(crate) next_page_token: Option<String>,
    /// YouTube's own count of all items, which is not always exact.
    pub(crate) total: Option<u64>,
}

/// A list itself is parsed strictly. A response that is not a list must not pass for an empty list,
/// which means "not found".
impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", bound = "T: DeserializeOwned")]
        struct Page<T> {
            // Spelled out, because `default` alone would require `T: Default`.
            #[serde(default = "Option::default")]
            items: Option<Items<T>>,
            #[serde(default, deserialize_with = "member")]
            next_page_token: Option<String>,
            #[serde(default, deserialize_with = "member")]
            page_info: Option<PageInfo>,
            error: Option<IgnoredAny>,
        }

        struct AnObject<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for AnObject<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list answer")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let page: Page<T> = Page::deserialize(MapAccessDeserializer::new(map))?;
                if page.error.is_some() {
                    return Err(A::Error::custom("an error in place of a list"));
                }
                let items = page.items.map(|Items(items)| items);
                let total = page.page_info.and_then(|info| info.total_results);
                Ok(List { items, next_page_token: page.next_page_token, total })
            }
        }

        deserializer.deserialize_map(AnObject(PhantomData))
    }
}

/// The items of a page: an array, and of a bounded length.
struct Items<T>(Vec<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnArray<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for AnArray<T> {
            type Value = Items<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                let items = elements(seq)?.into_iter();
                Ok(Items(items.map(|Object(item)| item).collect()))
            }
        }

        deserializer.deserialize_seq(AnArray(PhantomData))
    }
}

shapes! {
    PageInfo {
        total_results: u64,
    }

    Video {
        id: String,
        snippet: VideoSnippet,
        content_details: VideoContent,
        statistics: VideoStatistics,
        status: VideoStatus,
        player: VideoPlayer,
        live_streaming_details: LiveStreaming,
        topic_details: TopicDetails,
        paid_product_placement_details: PaidProductPlacement,
    }

    VideoSnippet {
        published_at: String,
        channel_id: String,
        channel_title: String,
        title: String,
        description: String,
        thumbnails: Thumbnails,
        tags: Vec<String>,
        category_id: String,
        live_broadcast_content: String,
        default_language: String,
        default_audio_language: String,
    }

    VideoContent {
        duration: String,
        definition: String,
        dimension: String,
        caption: bool,
        region_restriction: Regions,
    }

    Regions {
        allowed: Vec<String>,
        blocked: Vec<String>,
    }

    VideoStatus {
        license: String,
        embeddable: bool,
        made_for_kids: bool,
    }

    /// The size is only sent if the call has `maxHeight` or `maxWidth`.
    VideoPlayer {
        embed_width: u64,
        embed_height: u64,
    }

    LiveStreaming {
        scheduled_start_time: String,
        scheduled_end_time: String,
        actual_start_time: String,
        actual_end_time: String,
    }

    TopicDetails {
        topic_categories: Vec<String>,
    }

    PaidProductPlacement {
        has_paid_product_placement: bool,
    }

    VideoStatistics {
        view_count: u64,
        like_count: u64,
        comment_count: u64,
    }

    Channel {
        id: String,
        snippet: ChannelSnippet,
        statistics: ChannelStatistics,
        content_details: ChannelContent,
    }

    ChannelSnippet {
        title: String,
        custom_url: String,
        country: String,
        thumbnails: Thumbnails,
    }

    ChannelStatistics {
        view_count: u64,
        subscriber_count: u64,
        video_count: u64,
        hidden_subscriber_count: bool,
    }

    ChannelContent {
        related_playlists: RelatedPlaylists,
    }

    RelatedPlaylists {
        uploads: String,
    }

    Playlist {
        id: String,
        snippet: PlaylistSnippet,
        content_details: PlaylistContent,
    }

    PlaylistContent {
        item_count: u64,
    }

    PlaylistSnippet {
        published_at: String,
        channel_id: String,
        channel_title: String,
        title: String,
        description: String,
        thumbnails: Thumbnails,
    }

    /// An entry of a playlist, with any of its parts.
    PlaylistItem {
        snippet: PlaylistItemSnippet,
        content_details: VideoReference,
    }

    PlaylistItemSnippet {
        title: String,
        video_owner_channel_id: String,
        resource_id: VideoReference,
    }

    VideoReference {
        video_id: String,
        video_published_at: String,
    }

    CommentThread {
        id: String,
        snippet: ThreadSnippet,
        replies: Replies,
    }

    ThreadSnippet {
        video_id: String,
        channel_id: String,
        top_level_comment: Comment,
        total_reply_count: u64,
        can_reply: bool,
        is_public: bool,
    }

    Replies {
        comments: Vec<Comment>,
    }

    Comment {
        id: String,
        snippet: CommentSnippet,
    }

    CommentSnippet {
        author_display_name: String,
        author_profile_image_url: String,
        author_channel_url: String,
        author_channel_id: AuthorChannel,
        text_display: String,
        text_original: String,
        like_count: u64,
        published_at: String,
        updated_at: String,
        parent_id: String,
    }

    AuthorChannel {
        value: String,
    }

    /// A region, a language or a category: an id and a snippet.
    Named {
        id: String,
        snippet: NamedSnippet,
    }

    NamedSnippet {
        gl: String,
        hl: String,
        name: String,
        title: String,
        assignable: bool,
        channel_id: String,
    }

    SearchResult {
        id: FoundId,
        snippet: FoundSnippet,
    }

    /// The id of a result, under the name of its kind.
    FoundId {
        video_id: String,
        channel_id: String,
        playlist_id: String,
    }

    FoundSnippet {
        published_at: String,
        channel_id: String,
        channel_title: String,
        title: String,
        description: String,
        thumbnails: Thumbnails,
    }

    /// An error response.
    Refusal {
        error: Said,
    }

    Structured {
        message: String,
        errors: Vec<Reason>,
        details: Vec<Reason>,
    }

    Reason {
        reason: String,
    }
}

/// The content of an error: an object, or a bare message.
#[derive(Debug, Clone)]
pub(crate) struct Said(Structured);

impl Member for Said {
    fn from_text(text: &str) -> Option<Self> {
        Some(Self(Structured { message: Some(text.to_owned()), ..Structured::default() }))
    }

    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        Structured::from_map(map).map(|said| said.map(Self))
    }
}

impl Refusal {
    /// `errors[0].reason`.
    pub(crate) fn reason(&self) -> &str {
        let errors = self.said().and_then(|said| said.errors.as_deref()).unwrap_or_default();
        errors.first().map_or("", Reason::as_str)
    }

    /// Every `details[].reason`.
    pub(crate) fn detail_reasons(&self) -> impl Iterator<Item = &str> {
        let details = self.said().and_then(|said| said.details.as_deref()).unwrap_or_default();
        details.iter().map(Reason::as_str)
    }

    /// YouTube's message, for the log only. It can contain HTML.
    pub(crate) fn message(&self) -> &str {
        self.said().and_then(|said| said.message.as_deref()).unwrap_or_default()
    }

    fn said(&self) -> Option<&Structured> {
        self.error.as_ref().map(|Said(said)| said)
    }
}

impl Reason {
    fn as_str(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }
}

impl PlaylistItem {
    /// The video id, from any part that contains it.
    pub(crate) fn video_id(self) -> Option<VideoId> {
        let content = self.content_details.and_then(|reference| reference.video_id);
        let snippet = self.snippet.and_then(|snippet| snippet.resource_id?.video_id);
        [content, snippet].into_iter().flatten().find_map(|id| VideoId::bare(&id))
    }
}
