//! The JSON of a result.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BatchTranscript, VideoTranscript};
use crate::error::{Error, Reason};
use crate::ident::{VideoId, or_empty, shown};
use crate::transcript::{Chunk, TranscriptLine};

/// The result of one entry.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VideoTranscript))]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    /// The video's id. Empty if YouTube does not reveal it.
    #[serde(serialize_with = "or_empty::serialize", deserialize_with = "id_or_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    video_id: Option<VideoId>,
    /// The title. Empty if the video is private or deleted, and on a failed result of a list of videos.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    title: Cow<'a, str>,
    /// The position in the whole playlist or list, counted from 1.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, example = 1))]
    position: u64,
    /// Whether the entry has a transcript.
    status: BatchStatus,
    /// The lines. Absent on a failed result, and if the batch has chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<TranscriptLine>, nullable = false, required = false))]
    lines: Option<Cow<'a, [TranscriptLine]>>,
    /// The chunks. Absent unless they are requested, and on a failed result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Chunk>, nullable = false, required = false))]
    chunks: Option<Cow<'a, [Chunk]>>,
    /// Why the entry failed, as a sentence. Absent on a successful result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, example = "Video has no captions: dQw4w9WgXcQ")
    )]
    error: Option<String>,
    /// Why the entry failed, as a code. Absent on a successful result.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "reason_or_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "captions_disabled"))]
    reason: Option<Reason>,
    /// The seconds until a retry can help. Absent if that is unknown, and on a successful result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 900))]
    retry_after: Option<u64>,
}

/// Whether an entry has a transcript.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum BatchStatus {
    /// The entry has a transcript.
    Success,
    /// The entry has no transcript.
    Failed,
}

impl Serialize for VideoTranscript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { video_id, title, position, transcript } = self;
        let (lines, chunks, error) = match transcript {
            Ok(BatchTranscript::Lines(lines)) => (Some(Cow::Borrowed(&**lines)), None, None),
            Ok(BatchTranscript::Chunks(chunks)) => (None, Some(Cow::Borrowed(&**chunks)), None),
            Err(error) => (None, None, Some(error)),
        };
        let json = Json {
            video_id: *video_id,
            title: Cow::Borrowed(title),
            position: *position,
            status: if error.is_none() { BatchStatus::Success } else { BatchStatus::Failed },
            lines,
            chunks,
            error: error.map(sentence),
            reason: error.map(Error::reason),
            retry_after: error.and_then(Error::retry_after_seconds),
        };
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for VideoTranscript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let transcript = match (json.lines, json.chunks, json.error) {
            (Some(lines), _, _) => Ok(BatchTranscript::Lines(lines.into_owned())),
            (None, Some(chunks), _) => Ok(BatchTranscript::Chunks(chunks.into_owned())),
            (None, None, Some(message)) => {
                let error = Error::new(json.reason.unwrap_or(Reason::UpstreamFailed), message);
                Err(error.with_retry_after(json.retry_after.map(Duration::from_secs)))
            }
            (None, None, None) => {
                return Err(D::Error::custom("neither lines nor chunks nor an error"));
            }
        };
        let (video_id, title, position) = (json.video_id, json.title.into_owned(), json.position);
        Ok(Self { video_id, title, position, transcript })
    }
}

/// The message of an error, followed by its details.
pub(super) fn sentence(error: &Error) -> String {
    let all = std::iter::once(error.message()).chain(error.details().iter().map(String::as_str));
    all.collect::<Vec<_>>().join("; ")
}

/// Stricter than [`or_empty`]: readers put the id into the names of files, and the sender may be untrusted.
fn id_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<VideoId>, D::Error> {
    let text = Cow::<'_, str>::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || D::Error::custom(format!("not a video id: {}", shown(&text)));
    VideoId::bare(&text).map(Some).ok_or_else(wrong)
}

/// Maps a code of a newer release to `None`.
fn reason_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Reason>, D::Error> {
    let code: Option<String> = Deserialize::deserialize(deserializer)?;
    Ok(code.as_deref().and_then(Reason::from_code))
}

#[cfg(feature = "openapi")]
mod openapi {
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    use super::{Json, VideoTranscript};

    impl PartialSchema for VideoTranscript {
        fn schema() -> RefOr<Schema> {
            Json::schema()
        }
    }

    impl ToSchema for VideoTranscript {
        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            Json::schemas(schemas);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn l1_the_json_of_a_result_is_read_back() {
        let lines = json!([{"text": "Hi", "duration": 1.5, "offset": 0.24, "lang": "en"}]);
        let results = [
            json!({"videoId": "dQw4w9WgXcQ", "title": "T", "position": 1, "status": "success", "lines": lines}),
            json!({"videoId": "dQw4w9WgXcQ", "title": "T", "position": 1, "status": "success", "chunks": [
                {"index": 0, "text": "Hi", "start": 0, "end": 1.5, "url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=0s"}]}),
            json!({"videoId": "", "title": "", "position": 2, "status": "failed", "error": "Not found; more",
                "reason": "video_not_found"}),
            json!({"videoId": "", "title": "", "position": 3, "status": "failed", "error": "Wait",
                "reason": "blocked", "retryAfter": 900}),
        ];
        for json in results {
            let read: VideoTranscript = from_value(json.clone()).unwrap();
            assert_eq!(to_value(read).unwrap(), json);
        }
    }

    #[test]
    fn l1_the_reason_of_a_newer_release_is_a_failure_that_may_pass() {
        let result = json!({"videoId": "", "title": "", "position": 1, "status": "failed", "error": "No", "reason": "odd"});
        let read: VideoTranscript = from_value(result).unwrap();
        let error = read.transcript.unwrap_err();
        assert_eq!((error.reason(), error.message()), (Reason::UpstreamFailed, "No"));
        let neither = json!({"videoId": "", "title": "", "position": 1, "status": "failed"});
        assert!(from_value::<VideoTranscript>(neither).is_err());
    }

    #[test]
    fn l1_an_invalid_video_id_is_refused() {
        let result = json!({"videoId": "../../etc/x", "title": "", "position": 1, "status": "failed", "error": "No"});
        let error = from_value::<VideoTranscript>(result).unwrap_err();
        assert_eq!(error.to_string(), "not a video id: ../../etc/x");
    }
}
