//! A time that serialises as seconds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time in milliseconds that serialises as seconds: `3.36`, `43`, `0`.
///
/// ```
/// use vidra::{Cue, TranscriptLine};
/// let cue = Cue::new(0, 3_360, "Hello");
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
