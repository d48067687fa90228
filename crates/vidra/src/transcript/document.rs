//! A transcript with the data of its video and its track: whole, as a document, and in chunks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Transcript;
use super::chunk::{Chunk, ChunkQuery, chunks};
use super::cue::{Cue, TranscriptLine};
use super::player::{PlayedVideo, Player, Track};
use super::query::TimeRange;
use super::word::Word;
use crate::chapter::Chapter;
use crate::format::Moment;
use crate::ident::{ChannelId, VideoId, or_empty};
use crate::seconds::Seconds;

/// The video and the track of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TranscriptInfo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub video_id: VideoId,
    /// The title of the video. Empty if YouTube does not send it.
    pub title: String,
    /// The title of the channel. Empty if YouTube does not send it.
    pub channel: String,
    /// The id of the channel. Empty in JSON if YouTube does not send it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub channel_id: Option<ChannelId>,
    /// The publication time. Absent if YouTube does not send it with the captions, which is the usual case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, nullable = false, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Option<Moment>,
    /// The length of the video in whole seconds. 0 if YouTube does not send it.
    #[cfg_attr(feature = "openapi", schema(example = 214))]
    pub duration: u64,
    /// The start of the requested part in seconds. Absent if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = f64, required = false, nullable = false, example = 90))]
    pub start: Option<Seconds>,
    /// The end of the requested part in seconds. Absent if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = f64, required = false, nullable = false, example = 120))]
    pub end: Option<Seconds>,
    /// The track of the captions.
    pub track: TranscriptTrack,
}

/// The track of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TranscriptTrack {
    /// The BCP 47 code of the language. For a translation it is the target language.
    #[cfg_attr(feature = "openapi", schema(example = "en"))]
    pub language_code: String,
    /// The English name of the language, as YouTube shows it.
    #[cfg_attr(feature = "openapi", schema(example = "English"))]
    pub language_name: String,
    /// Whether the captions come from speech recognition. For a translation, whether its source does.
    pub is_auto_generated: bool,
    /// The language code of the track that YouTube translated. Absent if there is no translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false, nullable = false, example = "de"))]
    pub translated_from: Option<String>,
}

impl TranscriptTrack {
    /// The track as it is.
    fn new(track: &Track) -> Self {
        Self {
            language_code: track.language_code.clone(),
            language_name: track.language_name.clone(),
            is_auto_generated: track.is_auto_generated,
            translated_from: None,
        }
    }

    /// YouTube's translation of the track.
    fn translated(self, language_code: &str, language_name: &str) -> Self {
        Self {
            language_code: language_code.to_owned(),
            language_name: language_name.to_owned(),
            translated_from: Some(self.language_code),
            ..self
        }
    }
}

/// A line of a [`TranscriptDocument`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DocumentLine {
    /// The line.
    #[serde(flatten)]
    pub line: TranscriptLine,
    /// The words with their times. Absent unless they are requested, and where YouTube has none: it times the
    /// words of recognised speech only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub words: Vec<Word>,
}

/// A transcript with the data of its video and its track.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TranscriptDocument {
    /// The video and the track.
    #[serde(flatten)]
    pub info: TranscriptInfo,
    /// The lines.
    pub lines: Vec<DocumentLine>,
}

/// A transcript in chunks, with the data of its video and its track.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ChunkedTranscript {
    /// The video and the track.
    #[serde(flatten)]
    pub info: TranscriptInfo,
    /// The chunks.
    pub chunks: Vec<Chunk>,
}

/// All data of a transcript, of which every form of it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FullTranscript {
    /// The video and the track.
    pub info: TranscriptInfo,
    /// The chapters of the video. Empty if it has none.
    pub chapters: Vec<Chapter>,
    /// The description of the video. Empty if YouTube does not send it.
    pub description: String,
    /// The captions, with their line breaks and word times.
    pub cues: Vec<Cue>,
}

impl FullTranscript {
    /// Combines the captions of a track with the data of the video in the player's response. `translated_to` is the
    /// language code of YouTube's translation, if these captions are one.
    ///
    /// ```
    /// use vidra::transcript::{FullTranscript, Player, parse};
    /// use vidra::VideoId;
    ///
    /// let id = VideoId::parse("dQw4w9WgXcQ")?;
    /// let body = br#"{"playabilityStatus": {"status": "OK"},
    ///     "videoDetails": {"videoId": "dQw4w9WgXcQ", "title": "Never Gonna Give You Up", "author": "Rick Astley"},
    ///     "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [
    ///         {"baseUrl": "/api/timedtext?v=dQw4w9WgXcQ", "languageCode": "en"}]}}}"#;
    /// let player = Player::parse(body, id)?;
    /// let captions = br#"<transcript><text start="43" dur="3.4">Never gonna give you up</text></transcript>"#;
    /// let cues = parse(captions).unwrap();
    /// let transcript = FullTranscript::new(id, &player, &player.tracks()[0], None, cues);
    /// assert_eq!(transcript.document(false).info.channel, "Rick Astley");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn new(
        video_id: VideoId,
        player: &Player,
        track: &Track,
        translated_to: Option<&str>,
        cues: Vec<Cue>,
    ) -> Self {
        let mut shown = TranscriptTrack::new(track);
        if let Some(code) = translated_to {
            shown = shown.translated(code, player.translation_name(code).unwrap_or(code));
        }
        let video = PlayedVideo::clone(&player.video);
        let info = TranscriptInfo {
            video_id,
            title: video.title,
            channel: video.channel,
            channel_id: video.channel_id,
            published_at: video.published_at,
            duration: video.duration,
            start: None,
            end: None,
            track: shown,
        };
        Self { info, chapters: video.chapters, description: video.description, cues }
    }

    /// Keeps only the captions of a part of the video.
    pub fn cut(mut self, range: TimeRange) -> Self {
        range.cut(&mut self.cues);
        (self.info.start, self.info.end) = (range.start, range.end);
        self
    }

    /// The lines. A space replaces each line break inside a caption.
    pub fn lines(&self) -> Transcript {
        let lang = self.lang();
        self.cues.iter().map(|cue| joined(cue, &lang)).collect()
    }

    /// The lines with the line breaks inside the captions, for subtitles.
    pub fn lines_with_breaks(&self) -> Transcript {
        let lang = self.lang();
        self.cues.iter().map(|cue| TranscriptLine::new(cue.clone(), &lang)).collect()
    }

    /// The document, with or without the times of words.
    pub fn document(self, with_words: bool) -> TranscriptDocument {
        let lang = self.lang();
        let words = |cue: &Cue| if with_words { cue.words().collect() } else { vec![] };
        let line = |cue: &Cue| DocumentLine { line: joined(cue, &lang), words: words(cue) };
        TranscriptDocument { lines: self.cues.iter().map(line).collect(), info: self.info }
    }

    /// The transcript in chunks.
    pub fn chunked(self, query: &ChunkQuery) -> ChunkedTranscript {
        let chunks = chunks(self.info.video_id, &self.lines(), query, &self.chapters);
        ChunkedTranscript { info: self.info, chunks }
    }

    fn lang(&self) -> Arc<str> {
        self.info.track.language_code.as_str().into()
    }
}

fn joined(cue: &Cue, lang: &Arc<str>) -> TranscriptLine {
    let Cue { start, duration, .. } = *cue;
    TranscriptLine::new(Cue::new(start, duration, cue.text.replace('\n', " ")), lang)
}
