//! `get_transcript`, `transcribe_video`, `get_caption_tracks`; the tools for several videos are in [`batch`].

mod batch;
mod segment;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::format::clock;
use vidra::transcript::{FullTranscript, TranscriptInfo};
use vidra::{CaptionKind, ChunkBy, ChunkQuery, TimeRange, TranscriptQuery};

use super::video::{day, moment_links};
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{Page, one_line};
use crate::params::{
    ChunkSize, Cursor, LanguageArg, LanguagesArg, MaxChars, StartedVideo, TimeArg, VideoArg, Whole,
};
use crate::reply::ToolOutput;

pub(super) use batch::{BatchTranscribe, TranscribePlaylist};
use segment::{Segment, segments};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetCaptionTracks {
    /// Id or URL
    video: VideoArg,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tracks {
    video_id: String,
    tracks: Vec<Track>,
}

/// Captions in one language.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Track {
    /// The value for lang of the tools that transcribe.
    language_code: String,
    language_name: String,
    /// Whether speech recognition made the captions.
    is_auto_generated: bool,
    /// Whether YouTube can translate it.
    is_translatable: bool,
}

impl ToolInput for GetCaptionTracks {
    const NAME: &'static str = "get_caption_tracks";
    const TITLE: &'static str = "Get caption tracks";
    const DESCRIPTION: &'static str = "The languages in which a YouTube video has captions, which are made by \
        people and which by machine, and which can be translated.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Tracks;

    async fn run(self, call: &Call<'_>) -> ToolResult<Tracks> {
        let id = self.video.0;
        let tracks = call.vidra.tracks(id).await?.into_iter().map(|track| Track {
            language_code: track.language_code,
            language_name: track.language_name,
            is_auto_generated: track.is_auto_generated,
            is_translatable: track.is_translatable,
        });
        let tracks: Vec<Track> = tracks.collect();
        let line = |track: &Track| {
            let made = if track.is_auto_generated { "by machine" } else { "by people" };
            let translatable = if track.is_translatable { ", translatable" } else { "" };
            let name = one_line(&track.language_name);
            format!("- {}: {name}, made {made}{translatable}", track.language_code)
        };
        let head = format!("{} caption tracks of {id}.", tracks.len());
        let lines: Vec<String> = tracks.iter().map(line).collect();
        let found = Tracks { video_id: id.to_string(), tracks };
        Ok(ToolOutput::complete(head, lines.join("\n"), found))
    }
}

/// How captions were made: by people, or by speech recognition.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CaptionsArg {
    Manual,
    Auto,
}

impl From<CaptionsArg> for CaptionKind {
    fn from(captions: CaptionsArg) -> Self {
        match captions {
            CaptionsArg::Manual => Self::Manual,
            CaptionsArg::Auto => Self::Auto,
        }
    }
}

/// The unit of the size of chunks.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChunksArg {
    Tokens,
    Words,
    Seconds,
    Sentences,
    Chapters,
}

impl From<ChunksArg> for ChunkBy {
    fn from(unit: ChunksArg) -> Self {
        match unit {
            ChunksArg::Tokens => Self::Tokens,
            ChunksArg::Words => Self::Words,
            ChunksArg::Seconds => Self::Seconds,
            ChunksArg::Sentences => Self::Sentences,
            ChunksArg::Chapters => Self::Chapters,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TranscriptRequest {
    /// Id or URL; t= in a URL is the start
    video: StartedVideo,
    /// Codes by preference (de,en); the spoken language if not given
    lang: Option<LanguagesArg>,
    /// Only those by people (manual) or by machine (auto)
    captions: Option<CaptionsArg>,
    /// Language to translate to
    translate: Option<LanguageArg>,
    /// Seconds or 1:02:03
    start: Option<TimeArg>,
    end: Option<TimeArg>,
    /// Divide into chunks of this unit, not half minutes
    chunks: Option<ChunksArg>,
    chunk_size: Option<ChunkSize>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

/// The transcript of a video.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VideoTranscript {
    video_id: String,
    title: String,
    channel: String,
    /// When the video was published, ISO 8601. Absent if YouTube does not say it with the captions.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<String>,
    /// The language of the captions.
    language: String,
    /// Whether speech recognition made the captions.
    is_auto_generated: bool,
    /// The language that YouTube translated. Absent if there is no translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    translated_from: Option<String>,
    /// The transcript, in order.
    segments: Vec<Segment>,
}

impl TranscriptRequest {
    /// How the transcript is divided into chunks. `None` for half minutes.
    fn chunk_query(&self) -> Result<Option<ChunkQuery>, CallError> {
        let size = self.chunk_size.map(Whole::get);
        let Some(unit) = self.chunks else {
            return match size {
                Some(_) => Err(CallError::bad("chunk_size: is only for chunks")),
                None => Ok(None),
            };
        };
        let query = ChunkQuery::new(unit.into(), size, Some(0)).map_err(|error| {
            let faults = error.details().iter();
            CallError::BadArguments(faults.map(|it| it.replace("size:", "chunk_size:")).collect())
        });
        query.map(Some)
    }

    /// The segments of a transcript. A chunk that is longer than half an answer is divided.
    fn segments(&self, found: FullTranscript, query: Option<ChunkQuery>) -> Vec<Segment> {
        let Some(query) = query else { return segments(&found.lines()) };
        let most = self.max_chars.count() / 2;
        let chunks = found.chunked(&query).chunks.into_iter().map(Segment::from);
        chunks.flat_map(|chunk| chunk.divided(most)).collect()
    }

    async fn run(self, call: &Call<'_>) -> ToolResult<VideoTranscript> {
        let StartedVideo { id, start } = self.video;
        let start = self.start.map(|TimeArg(it)| it).or(start);
        let range = TimeRange::new(start, self.end.map(|TimeArg(it)| it));
        let range = range.map_err(|error| CallError::bad(error.details().join("; ")))?;
        let query = TranscriptQuery::default()
            .with_languages(self.lang.clone().map(|LanguagesArg(it)| it).unwrap_or_default())
            .with_captions(self.captions.map(CaptionKind::from))
            .with_translation(self.translate.clone().map(|LanguageArg(it)| it));
        let chunks = self.chunk_query()?;
        let found = call.vidra.full_transcript(id, &query).await?.body.cut(range);
        let info = found.info.clone();
        let is_part = info.start.is_some() || info.end.is_some();
        let all = self.segments(found, chunks);
        let all = all.into_iter().map(Segment::with_line);
        let count = all.len();
        let about = about(&info);
        let page = Page::of_list(all, self.cursor, self.max_chars, about.chars().count())?;
        let before = self.cursor.map_or(0, |cursor| cursor.item);
        let which = match page.items.len() as u64 {
            0 if is_part => "which has nothing at this time".to_owned(),
            0 => "which is empty".to_owned(),
            shown => format!("parts {} to {} of {count}", before + 1, before + shown),
        };
        Ok(ToolOutput {
            head: format!(
                "{} of {id}, {which}. {}",
                if is_part { "A part of the transcript" } else { "Transcript" },
                moment_links(id.as_str())
            ),
            body: format!("{about}\n{}", page.body()),
            next: page.next,
            found: VideoTranscript {
                video_id: id.to_string(),
                title: info.title,
                channel: info.channel,
                published_at: info.published_at.map(|at| at.to_string()),
                language: info.track.language_code,
                is_auto_generated: info.track.is_auto_generated,
                translated_from: info.track.translated_from,
                segments: page.items,
            },
        })
    }
}

/// The video and the track of a transcript, as one line.
fn about(info: &TranscriptInfo) -> String {
    let made = if info.track.is_auto_generated { "by machine" } else { "by people" };
    let translated = info.track.translated_from.as_ref();
    let date = info.published_at.as_ref().map(ToString::to_string);
    let facts = [
        Some(one_line(&info.title)).filter(|title| !title.is_empty()),
        Some(one_line(&info.channel)).filter(|channel| !channel.is_empty()),
        date.as_deref().map(|at| day(at).to_owned()),
        Some(info.duration).filter(|length| *length > 0).map(clock),
        Some(format!("captions {}, made {made}", info.track.language_code)),
        translated.map(|from| format!("translated from {from}")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct GetTranscript(TranscriptRequest);

impl ToolInput for GetTranscript {
    const NAME: &'static str = "get_transcript";
    const TITLE: &'static str = "Get a transcript";
    const DESCRIPTION: &'static str = "What is said in a YouTube video, or in a part of it, with times to cite. To find \
        something in videos use search_transcripts.";
    const OFFER: Offer = Offer::Always;
    type Output = VideoTranscript;

    async fn run(self, call: &Call<'_>) -> ToolResult<VideoTranscript> {
        self.0.run(call).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct TranscribeVideo(TranscriptRequest);

impl ToolInput for TranscribeVideo {
    const NAME: &'static str = "transcribe_video";
    const TITLE: &'static str = "Transcribe a video";
    const DESCRIPTION: &'static str =
        "The transcript of a YouTube video or of a part of it, like get_transcript.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = VideoTranscript;

    async fn run(self, call: &Call<'_>) -> ToolResult<VideoTranscript> {
        self.0.run(call).await
    }
}
