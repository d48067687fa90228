//! The types of arguments. Each has its parser and its schema side by side. Invalid arguments end here,
//! before the call costs anything.

mod cursor;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vidra::{
    ChannelRef, DateRange, Error, Include, LanguageCode, Languages, PlaylistId, Reason, SearchKind,
    SearchLength, SearchLive, SearchOrder, SearchQuery, Seconds, VideoId,
};
use vidra_library::{
    CollectionName, JobId, JobSource, Period, SearchFields, SearchGroup, SearchSort, TextQuery,
};

use crate::call_error::{CallError, described};

pub(crate) use cursor::Cursor;

/// The longest text that may hold an identifier, in characters.
const LONGEST_ID: usize = 2048;

/// A whole number within bounds, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(with = "u64", extend("minimum" = MIN, "maximum" = MAX))]
pub(crate) struct Whole<const MIN: u64, const MAX: u64, const DEFAULT: u64>(u64);

/// The limit of an answer, in characters.
pub(crate) type MaxChars = Whole<4_000, 200_000, 20_000>;

/// The limit of an answer of a search, in characters.
pub(crate) type SearchChars = Whole<4_000, 200_000, 10_000>;

/// Seconds of text around a moment.
pub(crate) type ContextSeconds = Whole<0, 300, 10>;

/// The size of a chunk of a transcript. Each unit has bounds of its own.
pub(crate) type ChunkSize = Whole<1, 10_000, 512>;

/// A position in a playlist, counted from 1.
pub(crate) type Position = Whole<1, 1_000_000, 1>;

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Whole<MIN, MAX, DEFAULT> {
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Default for Whole<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> TryFrom<Value>
    for Whole<MIN, MAX, DEFAULT>
{
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        // Some clients send every number as `5.0`.
        let float = || value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        let number = value.as_u64().or_else(|| float().map(|number| number as u64));
        number
            .filter(|number| (MIN..=MAX).contains(number))
            .map(Self)
            .ok_or_else(|| format!("expected a whole number from {MIN} to {MAX}"))
    }
}

/// Declares arguments that are parsed from text, with their limits of length and examples.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($inner:ty) by $parse:expr,
        $least:literal to $most:expr, like $examples:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String")]
        #[schemars(extend("minLength" = $least, "maxLength" = $most, "examples" = $examples))]
        pub(crate) struct $name(pub(crate) $inner);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                // The parser rejects what is too short.
                if text.chars().count() > $most {
                    return Err(format!("expected at most {} characters", $most));
                }
                $parse(text.trim()).map(Self).map_err(|error| described(&error))
            }
        }
    )+};
}

texts! {
    /// A video, by id or URL.
    VideoArg(VideoId) by VideoId::parse,
        1 to LONGEST_ID, like ["dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ"];
    /// A playlist, by id or URL.
    PlaylistArg(PlaylistId) by PlaylistId::parse, 1 to LONGEST_ID,
        like ["https://www.youtube.com/playlist?list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"];
    /// A channel, by id, handle or URL.
    ChannelArg(ChannelRef) by ChannelRef::parse,
        1 to LONGEST_ID, like ["@GoogleDevelopers", "UC_x5XG1OV2P6uZZ5FSM9Ttw"];
    /// Languages by preference.
    LanguagesArg(Languages) by Languages::parse, 2 to 200, like ["en", "de,en"];
    /// One language.
    LanguageArg(LanguageCode) by str::parse, 2 to 20, like ["de"];
    /// The words to search for.
    SearchWords(String) by words, 1 to 200, like ["best version"];
    /// A search of YouTube.
    QueryArg(SearchQuery) by SearchQuery::parse, 1 to 200, like ["street food berlin"];
    /// The beginning of a range of dates.
    SinceArg(DateRange) by since, 10 to 40, like ["2026-01-31", "2026-01-31T18:30:00Z"];
    /// The end of a range of dates.
    UntilArg(DateRange) by until, 10 to 40, like ["2026-01-31", "2026-01-31T18:30:00Z"];
    /// A region.
    RegionArg(String) by region, 2 to 2, like ["DE"];
    /// A category of videos.
    CategoryArg(String) by category, 1 to 9, like ["10"];
    /// A search in transcripts.
    TextQueryArg(TextQuery) by text_query, 1 to 500, like ["\"machine learning\" -music"];
    /// A collection.
    CollectionArg(CollectionName) by CollectionName::parse, 1 to 64, like ["news"];
    /// A job.
    JobArg(JobId) by JobId::parse, 1 to 64, like ["0f8fad5bd9cb469fa16570867728950e"];
    /// The name of a job.
    JobName(String) by words, 1 to 100, like ["Lectures"];
    /// A video, a playlist or a channel.
    SourceArg(JobSource) by JobSource::parse, 1 to LONGEST_ID, like ["@GoogleDevelopers"];
}

fn words(text: &str) -> vidra::Result<String> {
    checked(text, !text.is_empty(), "expected some words")
}

fn text_query(text: &str) -> vidra::Result<TextQuery> {
    // The detail names a parameter of the REST interface.
    TextQuery::parse(text).map_err(|error| Error::new(Reason::InvalidInput, error.message()))
}

fn since(text: &str) -> vidra::Result<DateRange> {
    Ok(DateRange { since: Some(DateRange::parse_since(text)?), until: None })
}

fn until(text: &str) -> vidra::Result<DateRange> {
    Ok(DateRange { since: None, until: Some(DateRange::parse_until(text)?) })
}

fn region(text: &str) -> vidra::Result<String> {
    let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    checked(&text.to_ascii_uppercase(), is_code, "expected a two-letter code")
}

fn category(text: &str) -> vidra::Result<String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    checked(text, is_number, "expected the number of a category")
}

fn checked(text: &str, is_valid: bool, expected: &str) -> vidra::Result<String> {
    match is_valid {
        true => Ok(text.to_owned()),
        false => Err(Error::new(Reason::InvalidInput, expected)),
    }
}

/// A range of dates. Fails if it ends before it begins.
pub(crate) fn date_range(
    since: Option<SinceArg>,
    until: Option<UntilArg>,
) -> Result<DateRange, CallError> {
    let since = since.and_then(|SinceArg(range)| range.since);
    let until = until.and_then(|UntilArg(range)| range.until);
    DateRange::new(since, until).map_err(|error| CallError::bad(error.details().join("; ")))
}

/// Declares arguments that are one word of the library.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String", extend("enum" = names(<$inner>::ALL.as_ref())))]
        pub(crate) struct $name(pub(crate) $inner);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                let known = <$inner>::ALL.iter().find(|(word, _)| *word == text);
                known.map(|(_, value)| Self(*value)).ok_or_else(|| {
                    format!("expected one of: {}", names(<$inner>::ALL.as_ref()).join(", "))
                })
            }
        }
    )+};
}

choices! {
    /// The type of search results.
    KindArg(SearchKind);
    /// The order of search results.
    SearchOrderArg(SearchOrder);
    /// The length of videos in search results.
    LengthArg(SearchLength);
    /// The state of broadcasts in search results.
    LiveArg(SearchLive);
    /// A member of videos that is absent unless it is requested.
    IncludeArg(Include);
    /// The order of hits.
    SortArg(SearchSort);
    /// What an item of a result is.
    GroupArg(SearchGroup);
    /// The length of a period.
    PeriodArg(Period);
    /// A text that a search reads.
    FieldArg(SearchFields);
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(word, _)| *word).collect()
}

/// The members of videos that are absent unless they are requested.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(from = "Vec<IncludeArg>")]
#[schemars(with = "Vec<IncludeArg>", extend("maxItems" = Include::ALL.len()))]
pub(crate) struct IncludeArgs(Include);

impl From<Vec<IncludeArg>> for IncludeArgs {
    fn from(all: Vec<IncludeArg>) -> Self {
        Self(all.into_iter().fold(Include::default(), |some, IncludeArg(more)| some.and(more)))
    }
}

impl IncludeArgs {
    /// The requested members; none if the argument is not given.
    pub(crate) fn members(given: Option<Self>) -> Include {
        given.map_or_else(Include::default, |Self(members)| members)
    }
}

/// The texts that a search reads.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<FieldArg>")]
#[schemars(with = "Vec<FieldArg>", extend("maxItems" = SearchFields::ALL.len()))]
pub(crate) struct FieldArgs(pub(crate) SearchFields);

impl TryFrom<Vec<FieldArg>> for FieldArgs {
    type Error = String;

    fn try_from(all: Vec<FieldArg>) -> Result<Self, String> {
        let fields = all.into_iter().map(|FieldArg(field)| field);
        fields.reduce(SearchFields::and).map(Self).ok_or_else(|| "the list is empty".to_owned())
    }
}

/// From 1 to [`MOST_SOURCES`] sources of a job.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<SourceArg>")]
#[schemars(with = "Vec<SourceArg>", extend("minItems" = 1, "maxItems" = MOST_SOURCES))]
pub(crate) struct SourceArgs(pub(crate) Vec<JobSource>);

/// The most sources of a job.
const MOST_SOURCES: usize = 500;

impl TryFrom<Vec<SourceArg>> for SourceArgs {
    type Error = String;

    fn try_from(sources: Vec<SourceArg>) -> Result<Self, String> {
        match sources.len() {
            1..=MOST_SOURCES => Ok(Self(sources.into_iter().map(|SourceArg(it)| it).collect())),
            count => Err(format!("{count} sources, and 1 to {MOST_SOURCES} are possible")),
        }
    }
}

/// A video by id or URL, and the time at which its URL begins (`t=`).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "VideoArg")]
pub(crate) struct StartedVideo {
    pub(crate) id: VideoId,
    pub(crate) start: Option<Seconds>,
}

impl TryFrom<String> for StartedVideo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let VideoArg(id) = VideoArg::try_from(text.clone())?;
        let start = VideoId::parse_with_start(&text).ok().and_then(|(_, start)| start);
        Ok(Self { id, start })
    }
}

/// A time in a video: a number of seconds, or text such as `1:02:03`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(with = "String", extend("maxLength" = 20, "examples" = ["90", "1:02:03"]))]
pub(crate) struct TimeArg(pub(crate) Seconds);

impl TryFrom<Value> for TimeArg {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        text.trim().parse().map(Self).map_err(|error| described(&error))
    }
}

/// From 1 to [`MOST_VIDEOS`] videos.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<VideoArg>")]
#[schemars(with = "Vec<VideoArg>", extend("minItems" = 1, "maxItems" = MOST_VIDEOS))]
pub(crate) struct VideoArgs(pub(crate) Vec<VideoId>);

/// The most videos of one call.
pub(crate) const MOST_VIDEOS: usize = 50;

/// The descriptions of tools name this number: change them with it.
const _: () = assert!(MOST_VIDEOS == 50);

impl TryFrom<Vec<VideoArg>> for VideoArgs {
    type Error = String;

    fn try_from(videos: Vec<VideoArg>) -> Result<Self, String> {
        match videos.len() {
            1..=MOST_VIDEOS => Ok(Self(videos.into_iter().map(|VideoArg(id)| id).collect())),
            count => {
                Err(format!("invalid length {count}, expected from 1 to {MOST_VIDEOS} videos"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_outside_their_bounds_are_rejected() {
        let read = |text: &str| serde_json::from_str::<Whole<1, 50, 5>>(text).map(Whole::get);
        for (text, number) in [("1", 1), ("50", 50), ("7.0", 7)] {
            assert_eq!(read(text).ok(), Some(number), "{text}");
        }
        for text in ["0", "51", "-1", "1.5", "\"5\"", "1e99", "true", "[1]"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("a whole number from 1 to 50"), "{text}: {error}");
        }
    }
}
