//! A caption with its times, as parsed and as a line of a transcript.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One caption. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// The start time.
    pub start: u64,
    /// The time on screen. An automatic caption stays while the next one is spoken, so this often
    /// exceeds the time to the next cue. 0 if YouTube gives no duration and no cue follows.
    pub duration: u64,
    /// The text without markup, entities and blank lines. It can contain line breaks.
    pub text: String,
}

/// One line of a transcript. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TranscriptLine {
    /// The text without markup and entities. It can contain line breaks.
    #[cfg_attr(feature = "openapi", schema(example = "Never gonna give you up"))]
    pub text: String,
    /// The time on screen in seconds. Automatic captions overlap.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 3.36))]
    pub duration: Seconds,
    /// The start time in seconds from the beginning of the video.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 43))]
    pub offset: Seconds,
    /// The language code of the track.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "en"))]
    pub lang: Arc<str>,
}

impl TranscriptLine {
    /// Converts a cue to a line. All lines of a track share one `lang`.
    pub fn new(cue: Cue, lang: &Arc<str>) -> Self {
        Self {
            text: cue.text,
            duration: Seconds::from_millis(cue.duration),
            offset: Seconds::from_millis(cue.start),
            lang: Arc::clone(lang),
        }
    }
}

/// A time in milliseconds that serialises as seconds: `3.36`, `43`, `0`.
///
/// ```
/// use vidra::{Cue, TranscriptLine};
/// let cue = Cue { start: 0, duration: 3_360, text: "Hello".to_owned() };
/// let line = TranscriptLine::new(cue, &"en".into());
/// let json = serde_json::to_string(&line)?;
/// assert_eq!(json, r#"{"text":"Hello","duration":3.36,"offset":0,"lang":"en"}"#);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(u64);

impl Seconds {
    /// Converts from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Converts to milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, millis) = (self.0 / 1_000, self.0 % 1_000);
        match millis {
            0 => write!(f, "{whole}"),
            _ => f.write_str(format!("{whole}.{millis:03}").trim_end_matches('0')),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % 1_000 {
            // An integer, so that zero is `0` and not `0.0`.
            0 => serializer.serialize_u64(self.0 / 1_000),
            // The nearest double prints as the same three digits for the first 30,000 years.
            _ => serializer.serialize_f64(self.0 as f64 / 1_000.0),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Saturates at both ends.
        f64::deserialize(deserializer).map(|seconds| Self((seconds * 1_000.0).round() as u64))
    }
}
