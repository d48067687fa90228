//! The request of a job.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use vidra::{ChannelRef, DateRange, Link, PlaylistId, Result, TranscriptQuery, VideoId};

/// The options of a job. Their JSON is the body of `POST /api/jobs` without `sources`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRequest {
    /// A name for people.
    pub name: Option<String>,
    /// The publication dates of the videos in playlists and channels.
    pub dates: DateRange,
    /// The maximum number of items.
    pub limit: Option<u64>,
    /// The languages and the kind of captions.
    pub transcript: TranscriptQuery,
    /// How many items run at once.
    pub concurrency: usize,
    /// How many quota units the job may cost.
    pub unit_budget: Option<u64>,
    /// Whether transcripts that the library has are fetched again.
    pub refresh: bool,
    /// The name of the webhook that gets the changes of the job.
    pub webhook: Option<String>,
}

impl Default for JobRequest {
    fn default() -> Self {
        Self {
            name: None,
            dates: DateRange::default(),
            limit: None,
            transcript: TranscriptQuery::default(),
            concurrency: 4,
            unit_budget: None,
            refresh: false,
            webhook: None,
        }
    }
}

/// The canonical form of a transcript request: equal requests choose the same track of a video.
pub(crate) fn transcript_key(query: &TranscriptQuery) -> String {
    let TranscriptQuery { languages, translate, captions, .. } = query;
    let translate = translate.as_ref().map_or("", |code| code.as_str());
    let captions = captions.map_or("", |kind| kind.word());
    format!("{languages}/{captions}/{translate}")
}

impl Serialize for JobRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, dates, limit, transcript, concurrency, unit_budget, refresh, webhook } =
            self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "transcripts")?;
        if let Some(name) = name {
            map.serialize_entry("name", name)?;
        }
        for (key, date) in [("since", dates.since), ("until", dates.until)] {
            if let Some(date) = date {
                map.serialize_entry(key, &date.to_string())?;
            }
        }
        if let Some(limit) = limit {
            map.serialize_entry("limit", limit)?;
        }
        serialize_captions(transcript, &mut map)?;
        map.serialize_entry("concurrency", concurrency)?;
        if let Some(budget) = unit_budget {
            map.serialize_entry("unitBudget", budget)?;
        }
        if *refresh {
            map.serialize_entry("refresh", refresh)?;
        }
        if let Some(webhook) = webhook {
            map.serialize_entry("webhook", webhook)?;
        }
        map.end()
    }
}

/// Writes the members that choose captions.
pub(crate) fn serialize_captions<M: SerializeMap>(
    transcript: &TranscriptQuery,
    map: &mut M,
) -> Result<(), M::Error> {
    let languages = transcript.languages.to_string();
    if !languages.is_empty() {
        map.serialize_entry("lang", &languages)?;
    }
    if let Some(code) = &transcript.translate {
        map.serialize_entry("translate", code.as_str())?;
    }
    if let Some(kind) = transcript.captions {
        map.serialize_entry("captions", kind.word())?;
    }
    Ok(())
}

/// The JSON of a request, for the schema alone.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(as = JobOptions, rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `Serialize` writes it")]
struct Schema {
    /// Always `transcripts`.
    #[schema(example = "transcripts")]
    r#type: String,
    /// A name for people.
    #[schema(nullable = false)]
    name: Option<String>,
    /// The earliest publication time.
    #[schema(nullable = false)]
    since: Option<String>,
    /// The latest publication time.
    #[schema(nullable = false)]
    until: Option<String>,
    /// The maximum number of items.
    #[schema(nullable = false)]
    limit: Option<u64>,
    /// The accepted languages.
    #[schema(nullable = false)]
    lang: Option<String>,
    /// The target language of a translation.
    #[schema(nullable = false)]
    translate: Option<String>,
    /// The accepted kind of captions.
    #[schema(nullable = false)]
    captions: Option<vidra::CaptionKind>,
    /// How many items run at once.
    concurrency: u64,
    /// How many quota units the job may cost.
    #[schema(nullable = false)]
    unit_budget: Option<u64>,
    /// Whether transcripts that the library has are fetched again.
    #[schema(nullable = false)]
    refresh: Option<bool>,
    /// The name of the webhook that gets the changes of the job.
    #[schema(nullable = false)]
    webhook: Option<String>,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for JobRequest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Schema::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for JobRequest {
    fn name() -> std::borrow::Cow<'static, str> {
        "JobOptions".into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        Schema::schemas(schemas);
    }
}

/// A source of videos.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobSource {
    /// A single video.
    Video(VideoId),
    /// The videos of a playlist.
    Playlist(PlaylistId),
    /// The uploads of a channel, newest first.
    Channel(ChannelRef),
}

impl JobSource {
    /// Parses any link or id of a video, a playlist or a channel. A link to a video in a playlist means the playlist.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |_| {
            let fault = "expected a link or an id of a video, a playlist or a channel";
            vidra::Error::new(vidra::Reason::InvalidInput, fault)
        };
        // The id of a playlist may have an unknown prefix. It is not a link then.
        let Ok(link) = Link::parse(text) else {
            return PlaylistId::parse(text).map(Self::Playlist).map_err(invalid);
        };
        match link {
            Link { playlist: Some(id), .. } => Ok(Self::Playlist(id)),
            Link { video: Some(id), .. } => Ok(Self::Video(id)),
            Link { channel: Some(channel), .. } => Ok(Self::Channel(channel)),
            _ => PlaylistId::parse(text).map(Self::Playlist).map_err(invalid),
        }
    }

    /// Reads a stored source. Its kind is known: the id of a playlist can look like that of a video.
    pub(crate) fn from_stored(kind: &str, id: &str) -> Result<Self> {
        match kind {
            "playlist" => PlaylistId::parse(id).map(Self::Playlist),
            "channel" => ChannelRef::parse(id).map(Self::Channel),
            _ => VideoId::parse(id).map(Self::Video),
        }
    }

    /// The word of its kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Video(_) => "video",
            Self::Playlist(_) => "playlist",
            Self::Channel(_) => "channel",
        }
    }
}

impl fmt::Display for JobSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Video(id) => id.fmt(f),
            Self::Playlist(id) => id.fmt(f),
            // As serialised, which is a link for names without a form of their own.
            Self::Channel(channel) => channel.serialize(f),
        }
    }
}
