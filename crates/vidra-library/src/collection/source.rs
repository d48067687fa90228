//! The sources of a collection.

use std::fmt;

use vidra::{Error, Reason, Result, SearchOrder, SearchQuery};

use crate::job::JobSource;

/// The beginning of a search in a list of sources.
const SEARCH: &str = "search:";

/// A source of a collection: a source of a job, or a search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectionSource {
    /// A video, a playlist or a channel.
    List(JobSource),
    /// The newest videos that YouTube finds for these words.
    Search(String),
}

impl CollectionSource {
    /// Parses any link or id of a video, a playlist or a channel, or `search:` and words.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] for any other text.
    ///
    /// ```
    /// use vidra_library::CollectionSource;
    /// let search = CollectionSource::parse("search: street  food")?;
    /// assert_eq!(search, CollectionSource::Search("street food".to_owned()));
    /// assert_eq!(search.to_string(), "search:street food");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(words) = text.trim_start().strip_prefix(SEARCH) {
            return Ok(Self::Search(SearchQuery::parse(words)?.text));
        }
        let invalid = |_| {
            let fault = "expected a link or an id of a video, a playlist or a channel, or search: and words";
            Error::new(Reason::InvalidInput, fault)
        };
        JobSource::parse(text).map(Self::List).map_err(invalid)
    }

    /// Reads a stored source.
    pub(crate) fn from_stored(kind: &str, id: &str) -> Result<Self> {
        match kind {
            "search" => Ok(Self::Search(id.to_owned())),
            _ => JobSource::from_stored(kind, id).map(Self::List),
        }
    }

    /// The word of its kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::List(source) => source.kind(),
            Self::Search(_) => "search",
        }
    }

    /// Its id as it is stored, without its kind.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::List(source) => source.to_string(),
            Self::Search(words) => words.clone(),
        }
    }
}

/// The search of these words that finds the newest videos.
///
/// # Errors
///
/// [`Reason::InvalidInput`] if the words are not a search.
pub(crate) fn search_query(words: &str) -> Result<SearchQuery> {
    Ok(SearchQuery::parse(words)?.with_order(SearchOrder::Date))
}

impl fmt::Display for CollectionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(source) => source.fmt(f),
            Self::Search(words) => write!(f, "{SEARCH}{words}"),
        }
    }
}
