//! Which part of the library a search reads, and the form of its result.

use vidra::{ChannelId, DateRange, LanguageCode, VideoId};

use super::TextQuery;
use crate::collection::CollectionName;
use crate::job::JobId;

/// A part of the library. Everything by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryFilter {
    /// Only videos of the jobs and collections of this caller.
    pub owner: Option<String>,
    /// Only videos of this collection of this owner.
    pub collection: Option<(String, CollectionName)>,
    /// Only videos of this job. Without a language, the tracks that the job has fetched, and the original tracks of
    /// pending videos.
    pub job: Option<JobId>,
    /// Only videos of this channel.
    pub channel: Option<ChannelId>,
    /// Only these videos, if there are any.
    pub videos: Vec<VideoId>,
    /// Only transcripts in this language, also translations. Without it, the original track of each video.
    pub lang: Option<LanguageCode>,
    /// Only videos that were published in this time.
    pub range: DateRange,
}

/// The texts that a search reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchFields {
    /// Captions.
    pub speech: bool,
    /// Titles of videos.
    pub title: bool,
    /// Descriptions of videos.
    pub description: bool,
}

impl SearchFields {
    /// All texts, with their words in requests.
    pub const ALL: [(&'static str, Self); 3] = [
        ("speech", Self { speech: true, title: false, description: false }),
        ("title", Self { speech: false, title: true, description: false }),
        ("description", Self { speech: false, title: false, description: true }),
    ];

    /// These texts and others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            speech: self.speech || other.speech,
            title: self.title || other.title,
            description: self.description || other.description,
        }
    }
}

impl Default for SearchFields {
    fn default() -> Self {
        Self::ALL[0].1
    }
}

/// The order of hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchSort {
    /// The best first.
    #[default]
    Relevance,
    /// The newest video first; videos without a date last.
    Newest,
    /// The oldest video first; videos without a date last.
    Oldest,
}

impl SearchSort {
    /// All orders, with their words in requests.
    pub const ALL: [(&'static str, Self); 3] =
        [("relevance", Self::Relevance), ("newest", Self::Newest), ("oldest", Self::Oldest)];
}

/// What an item of a result is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchGroup {
    /// A moment of a video.
    #[default]
    Moment,
    /// A video with its best moments.
    Video,
}

impl SearchGroup {
    /// All groups, with their words in requests.
    pub const ALL: [(&'static str, Self); 2] = [("moment", Self::Moment), ("video", Self::Video)];
}

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSearch {
    /// The query.
    pub query: TextQuery,
    /// The part of the library.
    pub filter: LibraryFilter,
    /// The texts.
    pub fields: SearchFields,
    /// The order.
    pub sort: SearchSort,
    /// What an item is.
    pub group: SearchGroup,
    /// The seconds of text around a moment.
    pub context: u64,
}

impl TextSearch {
    /// A search in all captions.
    pub fn new(query: TextQuery) -> Self {
        Self {
            query,
            filter: LibraryFilter::default(),
            fields: SearchFields::default(),
            sort: SearchSort::default(),
            group: SearchGroup::default(),
            context: 30,
        }
    }
}
