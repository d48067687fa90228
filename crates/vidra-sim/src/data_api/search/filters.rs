//! The parameters of `search.list`.

use crate::data_api::error::ApiError;
use crate::data_api::names::{LANGUAGES, REGIONS};
use crate::query::Query;
use crate::world::clock::Seconds;

/// Parameters that require `type=video`.
const FOR_VIDEOS: &[&str] = &[
    "eventType",
    "videoCaption",
    "videoCategoryId",
    "videoDefinition",
    "videoDimension",
    "videoDuration",
    "videoEmbeddable",
    "videoLicense",
    "videoPaidProductPlacement",
    "videoSyndicated",
    "videoType",
    "location",
    "locationRadius",
    "forContentOwner",
    "forDeveloper",
    "forMine",
];

const TYPES: &[&str] = &["video", "channel", "playlist"];

/// Parameters with a fixed set of values.
const VALUES: &[(&str, &[&str])] = &[
    ("order", &["relevance", "date", "viewCount", "rating", "title", "videoCount"]),
    ("safeSearch", &["moderate", "none", "strict"]),
    ("eventType", &["live", "upcoming", "completed", "none"]),
    ("videoDuration", &["any", "short", "medium", "long"]),
    ("videoCaption", &["any", "closedCaption", "none"]),
    ("videoDefinition", &["any", "high", "standard"]),
    ("videoDimension", &["any", "2d", "3d"]),
    ("videoEmbeddable", &["any", "true"]),
    ("videoLicense", &["any", "creativeCommon", "youtube"]),
    ("videoPaidProductPlacement", &["any", "true"]),
    ("videoSyndicated", &["any", "true"]),
    ("videoType", &["any", "episode", "movie"]),
    ("channelType", &["any", "show"]),
];

/// The conditions of a search.
#[derive(Debug)]
pub(super) struct Filters<'a> {
    /// In lower case.
    pub(super) words: String,
    kinds: Vec<&'a str>,
    pub(super) channel: Option<&'a str>,
    pub(super) order: &'a str,
    after: Option<Seconds>,
    before: Option<Seconds>,
    pub(super) duration: Option<&'a str>,
    pub(super) event: Option<&'a str>,
    pub(super) region: String,
    /// Without its region or script.
    pub(super) language: Option<&'a str>,
    pub(super) strict: bool,
}

impl<'a> Filters<'a> {
    pub(super) fn read(query: &'a Query) -> Result<Self, ApiError> {
        for (name, values) in VALUES {
            query.one_of(name, values)?;
        }
        let kinds = query.list("type");
        if let Some(unknown) = kinds.iter().find(|kind| !TYPES.contains(kind)) {
            return Err(ApiError::invalid_value("type", unknown));
        }
        let only_videos = kinds.iter().all(|kind| *kind == "video") && !kinds.is_empty();
        if !only_videos && FOR_VIDEOS.iter().any(|name| query.get(name).is_some()) {
            return Err(ApiError::invalid_argument());
        }
        let region = query.get("regionCode").unwrap_or("US").to_uppercase();
        if !REGIONS.iter().any(|(code, _, _)| *code == region) {
            return Err(ApiError::by_reason("invalidRegionCode"));
        }
        Ok(Self {
            words: query.get("q").unwrap_or_default().to_lowercase(),
            kinds,
            channel: query.get("channelId"),
            order: query.get("order").unwrap_or("relevance"),
            after: time(query, "publishedAfter", "published_after")?,
            before: time(query, "publishedBefore", "published_before")?,
            duration: query.get("videoDuration").filter(|duration| *duration != "any"),
            event: query.get("eventType").filter(|event| *event != "none"),
            region,
            language: language(query)?,
            strict: query.get("safeSearch") == Some("strict"),
        })
    }

    /// Whether results of this type are requested.
    pub(super) fn wants(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether a time of publication is within the limits.
    pub(super) fn covers(&self, published: Seconds) -> bool {
        self.after.is_none_or(|after| published >= after)
            && self.before.is_none_or(|before| published < before)
    }

    /// Whether a title contains all words. `-word` excludes a word, `one|two` is either of them.
    pub(super) fn matches(&self, title: &str) -> bool {
        let title = title.to_lowercase();
        let joined = title.replace(' ', "");
        let contains = |word: &str| title.contains(word) || joined.contains(word);
        self.words.split_whitespace().all(|word| match word.strip_prefix('-') {
            Some(excluded) if !excluded.is_empty() => !contains(excluded),
            _ => word.split('|').any(contains),
        })
    }
}

/// A time in RFC 3339. The error contains the platform's inner name of the parameter.
fn time(query: &Query, name: &str, inner: &str) -> Result<Option<Seconds>, ApiError> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let time = text.parse::<jiff::Timestamp>().map(|time| Some(time.as_second()));
    time.map_err(|_| ApiError::invalid_value(inner, text))
}

/// A language code, or Chinese with its script.
fn language(query: &Query) -> Result<Option<&str>, ApiError> {
    let Some(code) = query.get("relevanceLanguage") else { return Ok(None) };
    let is_known = ["zh-Hans", "zh-Hant", "zh", "he"].contains(&code)
        || LANGUAGES.iter().any(|(known, _, _)| *known == code);
    match is_known {
        true => Ok(code.split('-').next()),
        false => Err(ApiError::by_reason("invalidRelevanceLanguage")),
    }
}
