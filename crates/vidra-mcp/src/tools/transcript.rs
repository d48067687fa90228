//! `get_caption_tracks`, `transcribe_video`; the tools for several videos are in [`batch`].

mod batch;
mod segment;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{CaptionKind, TimeRange, TranscriptQuery};

use super::video::video_url;
use super::{Call, ToolInput, ToolResult};
use crate::call_error::CallError;
use crate::page::{Page, one_line};
use crate::params::{Cursor, LanguageArg, LanguagesArg, MaxChars, StartedVideo, TimeArg, VideoArg};
use crate::reply::ToolOutput;

pub(super) use batch::{BatchTranscribe, TranscribePlaylist};
use segment::{Segment, segments};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetCaptionTracks {
    /// The video: its 11-character id or any YouTube URL that holds it.
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
        people and which by machine, and which can be translated. Needs no API key and no quota.";
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
        let head = format!("{} caption tracks of {}.", tracks.len(), video_url(id));
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TranscribeVideo {
    /// The video: its 11-character id or any YouTube URL that holds it. A time in the URL (t=) is the start.
    video: StartedVideo,
    /// One language code, or several by preference (de,en); the spoken language if not given.
    lang: Option<LanguagesArg>,
    /// Only captions by people (manual) or by speech recognition (auto); both if not given.
    captions: Option<CaptionsArg>,
    /// Let YouTube translate the transcript to this language.
    translate: Option<LanguageArg>,
    /// Begin at this time: seconds or 1:02:03.
    start: Option<TimeArg>,
    /// End at this time: seconds or 1:02:03.
    end: Option<TimeArg>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VideoTranscript {
    video_id: String,
    url: String,
    title: String,
    channel: String,
    /// The language of the captions.
    language: String,
    /// The transcript, in order.
    segments: Vec<Segment>,
}

impl ToolInput for TranscribeVideo {
    const NAME: &'static str = "transcribe_video";
    const TITLE: &'static str = "Transcribe a video";
    const DESCRIPTION: &'static str = "The transcript of a YouTube video or of a part of it, from its captions, \
        with the time and a link to the moment every half minute. Cite moments by their links. A long video \
        comes in parts: call again with nextCursor as cursor. Needs no API key and no quota.";
    type Output = VideoTranscript;

    async fn run(self, call: &Call<'_>) -> ToolResult<VideoTranscript> {
        let StartedVideo { id, start } = self.video;
        let start = self.start.map(|TimeArg(it)| it).or(start);
        let range = TimeRange::new(start, self.end.map(|TimeArg(it)| it));
        let range = range.map_err(|error| CallError::bad(error.details().join("; ")))?;
        let query = TranscriptQuery::default()
            .with_languages(self.lang.map(|LanguagesArg(it)| it).unwrap_or_default())
            .with_captions(self.captions.map(CaptionKind::from))
            .with_translation(self.translate.map(|LanguageArg(it)| it));
        let found = call.vidra.full_transcript(id, &query).await?.body.cut(range);
        let info = &found.info;
        let all = segments(id.as_str(), &found.lines()).into_iter().map(Segment::with_line);
        let count = all.len();
        let page = Page::of_list(all, self.cursor, self.max_chars, 0)?;
        let before = self.cursor.map_or(0, |cursor| cursor.item);
        let which = match page.items.len() as u64 {
            0 => "which is empty".to_owned(),
            shown => format!("parts {} to {} of {count}", before + 1, before + shown),
        };
        Ok(ToolOutput {
            head: format!("Transcript of {}, {which}.", video_url(id)),
            body: page.body(),
            next: page.next,
            found: VideoTranscript {
                video_id: id.to_string(),
                url: video_url(id),
                title: info.title.clone(),
                channel: info.channel.clone(),
                language: info.track.language_code.clone(),
                segments: page.items,
            },
        })
    }
}
