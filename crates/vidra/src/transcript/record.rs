//! The record of a transcript: the JSON of its lines, a line break, and the JSON of everything else. JSON has no line
//! breaks of its own, so that an answer with the lines alone is a part of the record and is never copied.

use serde::{Deserialize, Serialize};

use super::{Cue, FullTranscript, Transcript, TranscriptInfo, TranscriptLine, WordTime};
use crate::chapter::Chapter;
use crate::error::{Error, Reason, Result};

/// The data of a transcript besides its lines.
#[derive(Serialize, Deserialize)]
struct Rest {
    info: TranscriptInfo,
    chapters: Vec<Chapter>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    /// Where captions have line breaks: the index of the line, and the byte in its text.
    breaks: Vec<(usize, usize)>,
    /// The word times of each line. Empty if no line has any.
    words: Vec<Vec<WordTime>>,
}

impl FullTranscript {
    /// The transcript as bytes that [`FullTranscript::from_record`] reads. They are text in UTF-8, and begin with the
    /// JSON of the lines.
    ///
    /// ```
    /// use vidra::FullTranscript;
    /// # use vidra::transcript::{Player, parse};
    /// # use vidra::VideoId;
    /// # let id = VideoId::parse("dQw4w9WgXcQ")?;
    /// # let body = br#"{"playabilityStatus": {"status": "OK"},
    /// #     "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [
    /// #         {"baseUrl": "/api/timedtext?v=dQw4w9WgXcQ", "languageCode": "en"}]}}}"#;
    /// # let player = Player::parse(body, id)?;
    /// # let cues = parse(br#"<transcript><text start="1" dur="2">Never gonna</text></transcript>"#).unwrap();
    /// # let transcript = FullTranscript::new(id, &player, &player.tracks()[0], None, cues);
    /// let record = transcript.to_record();
    /// assert_eq!(FullTranscript::from_record(&record)?, transcript);
    /// let lines: serde_json::Value = serde_json::from_slice(FullTranscript::lines_of_record(&record)).unwrap();
    /// assert_eq!(lines[0]["text"], "Never gonna");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn to_record(&self) -> Vec<u8> {
        let cues = &self.cues;
        let breaks_of = |(line, cue): (usize, &Cue)| {
            cue.text.match_indices('\n').map(|(byte, _)| (line, byte)).collect::<Vec<_>>()
        };
        let has_words = cues.iter().any(|cue| !cue.word_times.is_empty());
        let words = cues.iter().filter(|_| has_words).map(|cue| cue.word_times.clone());
        let rest = Rest {
            info: self.info.clone(),
            chapters: self.chapters.clone(),
            description: self.description.clone(),
            breaks: cues.iter().enumerate().flat_map(breaks_of).collect(),
            words: words.collect(),
        };
        let written = "a vector takes all bytes, and all keys are text";
        let mut record = serde_json::to_vec(&self.lines()).expect(written);
        record.push(b'\n');
        serde_json::to_writer(&mut record, &rest).expect(written);
        record
    }

    /// Reads a transcript that [`FullTranscript::to_record`] wrote.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`] if the record is damaged.
    pub fn from_record(record: &[u8]) -> Result<Self> {
        let (lines, rest) = record.split_at(border(record));
        let rest: Rest = serde_json::from_slice(rest).map_err(damaged)?;
        let words = rest.words;
        let mut whole =
            Self::without_words(lines, rest.info, rest.chapters, rest.description, rest.breaks)?;
        for (cue, words) in whole.cues.iter_mut().zip(words) {
            cue.word_times = words;
        }
        Ok(whole)
    }

    /// Reads everything but the times of words, which are the largest part of recognised speech.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`] if the record is damaged.
    pub fn from_record_without_words(record: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Part {
            info: TranscriptInfo,
            chapters: Vec<Chapter>,
            #[serde(default)]
            description: String,
            breaks: Vec<(usize, usize)>,
        }
        let (lines, rest) = record.split_at(border(record));
        let Part { info, chapters, description, breaks } =
            serde_json::from_slice(rest).map_err(damaged)?;
        Self::without_words(lines, info, chapters, description, breaks)
    }

    fn without_words(
        lines: &[u8],
        info: TranscriptInfo,
        chapters: Vec<Chapter>,
        description: String,
        breaks: Vec<(usize, usize)>,
    ) -> Result<Self> {
        let lines: Transcript = serde_json::from_slice(lines).map_err(damaged)?;
        let mut cues: Vec<Cue> = lines.into_iter().map(cue).collect();
        for (line, byte) in breaks {
            let text = cues.get_mut(line).map(|cue| &mut cue.text);
            let text = text.filter(|text| text.as_bytes().get(byte) == Some(&b' '));
            let text = text.ok_or_else(|| damaged("a line break outside a line"))?;
            text.replace_range(byte..=byte, "\n");
        }
        Ok(Self { info, chapters, description, cues })
    }

    /// Reads the video and the track of a record, and nothing else. It is several times faster than reading everything.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`] if this part of the record is damaged.
    pub fn info_of_record(record: &[u8]) -> Result<TranscriptInfo> {
        #[derive(Deserialize)]
        struct Head {
            info: TranscriptInfo,
        }
        let head: Head = serde_json::from_slice(&record[border(record)..]).map_err(damaged)?;
        Ok(head.info)
    }

    /// The JSON of the lines, which is the beginning of a record. It reads nothing, so that a damaged record gives
    /// damaged lines.
    pub fn lines_of_record(record: &[u8]) -> &[u8] {
        &record[..border(record)]
    }
}

fn damaged(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(Reason::Internal, "The record of a transcript is damaged").with_source(cause)
}

fn cue(line: TranscriptLine) -> Cue {
    Cue::new(line.offset.as_millis(), line.duration.as_millis(), line.text)
}

/// Where the JSON of the lines ends.
fn border(record: &[u8]) -> usize {
    record.iter().position(|byte| *byte == b'\n').unwrap_or(record.len())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn transcript() -> FullTranscript {
        let info = json!({
            "videoId": "dQw4w9WgXcQ", "title": "T", "channel": "C", "channelId": "", "duration": 9,
            "track": {"languageCode": "en", "languageName": "English", "isAutoGenerated": true},
        });
        let mut timed = Cue::new(240, 1_500, "It didn't");
        timed.word_times = vec![(3, 0).into(), (6, 320).into()];
        FullTranscript {
            info: serde_json::from_value(info).unwrap(),
            chapters: Chapter::parse_all("0:00 A\n0:10 B\n0:20 C", 30),
            description: "0:00 A\n0:10 B\n0:20 C".to_owned(),
            cues: vec![timed, Cue::new(2_000, 0, "ein Zeilen-\numbruch –\nzwei")],
        }
    }

    fn is_valid(record: &[u8]) -> bool {
        let is_valid = FullTranscript::from_record(record).is_ok();
        assert_eq!(FullTranscript::from_record_without_words(record).is_ok(), is_valid);
        is_valid
    }

    #[test]
    fn a_record_is_read_back() {
        let record = transcript().to_record();
        assert_eq!(FullTranscript::from_record(&record).unwrap(), transcript());
        assert_eq!(FullTranscript::info_of_record(&record).unwrap(), transcript().info);
        let mut without_words = transcript();
        without_words.cues[0].word_times = vec![];
        assert_eq!(FullTranscript::from_record_without_words(&record).unwrap(), without_words);
        let lines = FullTranscript::lines_of_record(&record);
        let lines: Value = serde_json::from_slice(lines).unwrap();
        assert_eq!(lines[1]["text"], "ein Zeilen- umbruch – zwei");
        assert_eq!(lines[0].as_object().unwrap().len(), 4);
    }

    #[test]
    fn a_damaged_record_is_not_valid() {
        let record = transcript().to_record();
        assert!(is_valid(&record));
        assert!(!is_valid(FullTranscript::lines_of_record(&record)), "lines alone");
        let text = String::from_utf8(record).unwrap();
        for (from, to) in [("[1,11]", "[7,11]"), ("[1,11]", "[1,4]"), ("[1,11]", "[1,999]")] {
            assert!(text.contains(from), "{text}");
            assert!(!is_valid(text.replace(from, to).as_bytes()), "{to}");
        }
    }
}
