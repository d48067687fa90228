//! Searches: what to look for, and what YouTube found.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};
use crate::format::Moment;
use crate::ident::{ChannelId, ChannelRef, PlaylistId, or_empty};
use crate::language::LanguageCode;
use crate::list::DateRange;
use crate::thumbnail::Thumbnails;
use crate::video::Video;

/// The longest search text, in characters.
const MAX_CHARS: usize = 200;

/// What to search for. Only `text` is required.
///
/// ```
/// use vidra::{SearchOrder, SearchQuery};
/// let query = SearchQuery::parse("  street   food ")?.with_order(SearchOrder::Views);
/// assert_eq!(query.text, "street food");
/// # Ok::<_, vidra::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// The words. YouTube reads `|` as "or" and `-` as "not".
    pub text: String,
    /// The kind of results.
    pub kind: SearchKind,
    /// Only results of this channel.
    pub channel: Option<ChannelRef>,
    /// The order of results.
    pub order: SearchOrder,
    /// Only results that were published in this range.
    pub range: DateRange,
    /// Only videos of this length.
    pub length: Option<SearchLength>,
    /// Only broadcasts in this state.
    pub live: Option<SearchLive>,
    /// Only videos that can be played in this region, by its two-letter code.
    pub region: Option<String>,
    /// The preferred language of results. YouTube may return others.
    pub language: Option<LanguageCode>,
    /// Whether YouTube leaves out results that are not safe for children.
    pub safe: SafeSearch,
}

/// Declares an enum of words. The first is the default.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal => $upstream:literal,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All values and their words.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];

            /// The word in requests.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The word that YouTube uses.
            #[cfg(feature = "client")]
            pub(crate) fn upstream(self) -> &'static str {
                match self { $(Self::$variant => $upstream,)+ }
            }
        }
    )+};
}

words! {
    /// The kind of search results.
    SearchKind {
        /// Videos.
        Video = "video" => "video",
        /// Channels.
        Channel = "channel" => "channel",
        /// Playlists.
        Playlist = "playlist" => "playlist",
    }

    /// The order of search results.
    SearchOrder {
        /// In YouTube's ranking.
        Relevance = "relevance" => "relevance",
        /// Newest first.
        Date = "date" => "date",
        /// Most views first.
        Views = "viewCount" => "viewCount",
        /// Best rating first.
        Rating = "rating" => "rating",
        /// By title.
        Title = "title" => "title",
    }

    /// The length of videos.
    SearchLength {
        /// Less than 4 minutes.
        Short = "short" => "short",
        /// From 4 to 20 minutes.
        Medium = "medium" => "medium",
        /// More than 20 minutes.
        Long = "long" => "long",
    }

    /// The state of broadcasts.
    SearchLive {
        /// It has not started.
        Upcoming = "upcoming" => "upcoming",
        /// It is on air.
        Live = "live" => "live",
        /// It is over.
        Ended = "ended" => "completed",
    }

    /// How strictly YouTube filters search results.
    SafeSearch {
        /// YouTube's default.
        Moderate = "moderate" => "moderate",
        /// No filter.
        None = "none" => "none",
        /// Only results that are safe for children.
        Strict = "strict" => "strict",
    }
}

impl SearchQuery {
    /// A search for videos that match `text`. White space around and between words does not count.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the text is empty, longer than 200 characters, or has control characters.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_plain = !text.contains(char::is_control);
        if text.is_empty() || text.chars().count() > MAX_CHARS || !is_plain {
            let what = format!("must be plain text of 1 to {MAX_CHARS} characters");
            return Err(Error::new(Reason::InvalidInput, what));
        }
        Ok(Self {
            text,
            kind: SearchKind::Video,
            channel: None,
            order: SearchOrder::Relevance,
            range: DateRange::default(),
            length: None,
            live: None,
            region: None,
            language: None,
            safe: SafeSearch::Moderate,
        })
    }

    /// Sets the kind of results.
    pub fn with_kind(self, kind: SearchKind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the channel whose results are wanted.
    pub fn with_channel(self, channel: impl Into<Option<ChannelRef>>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// Sets the order of results.
    pub fn with_order(self, order: SearchOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets the range of publication times.
    pub fn with_range(self, range: DateRange) -> Self {
        Self { range, ..self }
    }

    /// Sets the length of videos.
    pub fn with_length(self, length: impl Into<Option<SearchLength>>) -> Self {
        Self { length: length.into(), ..self }
    }

    /// Sets the state of broadcasts.
    pub fn with_live(self, live: impl Into<Option<SearchLive>>) -> Self {
        Self { live: live.into(), ..self }
    }

    /// Sets the region in which videos can be played.
    pub fn with_region(self, region: impl Into<Option<String>>) -> Self {
        Self { region: region.into(), ..self }
    }

    /// Sets the preferred language.
    pub fn with_language(self, language: impl Into<Option<LanguageCode>>) -> Self {
        Self { language: language.into(), ..self }
    }

    /// Sets the filter.
    pub fn with_safe(self, safe: SafeSearch) -> Self {
        Self { safe, ..self }
    }

    /// The faults of parameters that do not go together, each with the name of the parameter.
    pub fn faults(&self) -> Vec<(&'static str, &'static str)> {
        let is_video = self.kind == SearchKind::Video;
        let only_videos = "can only be used with type video";
        let length = (self.length.is_some() && !is_video).then_some(("duration", only_videos));
        let live = (self.live.is_some() && !is_video).then_some(("live", only_videos));
        let DateRange { since, until } = self.range;
        let is_reversed = DateRange::new(since, until).is_err();
        let dates = is_reversed.then_some(("since", "is later than until"));
        [length, live, dates].into_iter().flatten().collect()
    }
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum SearchItem {
    /// A video with all its public data.
    Video(Box<Video>),
    /// A channel.
    Channel(FoundChannel),
    /// A playlist.
    Playlist(FoundPlaylist),
}

impl SearchItem {
    /// The id of the result.
    pub fn id(&self) -> &str {
        match self {
            Self::Video(video) => video.id.as_str(),
            Self::Channel(channel) => channel.id.as_str(),
            Self::Playlist(playlist) => playlist.id.as_str(),
        }
    }
}

/// A channel in search results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoundChannel {
    /// The channel's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UCuAXFkgsw1L7xaCfnd5JJOw"))]
    pub id: ChannelId,
    /// The name.
    pub name: String,
    /// The beginning of the description.
    pub description: String,
    /// The creation time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
}

/// A playlist in search results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoundPlaylist {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The beginning of the description.
    pub description: String,
    /// The title of the channel that owns the playlist.
    pub channel: String,
    /// The id of that channel. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UCuAXFkgsw1L7xaCfnd5JJOw"))]
    pub channel_id: Option<ChannelId>,
    /// The creation time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_trimmed_and_bounded() {
        let long = "é".repeat(200);
        for (text, expected) in [(" a  b ", "a b"), ("a\tb\nc", "a b c"), (&long, &*long)] {
            assert_eq!(SearchQuery::parse(text).unwrap().text, expected);
        }
        for text in ["", "  ", "a\0b", &"é".repeat(201)] {
            assert_eq!(SearchQuery::parse(text).unwrap_err().reason(), Reason::InvalidInput);
        }
    }

    #[test]
    fn parameters_that_do_not_go_together_are_named() {
        let query = SearchQuery::parse("a").unwrap();
        assert!(query.faults().is_empty());
        let since = DateRange::parse_since("2026-02-01").ok();
        let until = DateRange::parse_until("2026-01-01").ok();
        let query = query
            .with_kind(SearchKind::Channel)
            .with_length(SearchLength::Long)
            .with_live(SearchLive::Ended)
            .with_range(DateRange { since, until });
        let names: Vec<&str> = query.faults().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["duration", "live", "since"]);
    }
}
