//! What a folder of transcripts belongs to.

use serde::{Deserialize, Serialize};

use super::Language;
use super::source::Source;
use crate::commands::part::{PartArgs, precise_clock};

/// The playlist, the languages and the part of the videos of a folder. All runs that fill it have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents {
    /// Empty for a list of videos, which may change between two runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    playlist_id: String,
    /// Empty if the folder does not have the results of a job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    job_id: String,
    /// The requested languages; empty for the spoken one.
    lang: String,
    /// The language of the translation; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    translate: String,
    /// The requested kind of captions; empty for both.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    captions: String,
    /// The start of the part; empty for the start of the video.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    start: String,
    /// The end of the part; empty for the end of the video.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    end: String,
}

impl Contents {
    pub(super) fn new(source: &Source, language: Language<'_>, part: &PartArgs) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Self {
            playlist_id: match source {
                Source::Playlist { id, .. } => id.to_string(),
                Source::Videos { .. } | Source::Job { .. } => String::new(),
            },
            job_id: match source {
                Source::Job { id } => id.clone(),
                Source::Videos { .. } | Source::Playlist { .. } => String::new(),
            },
            lang: text(language.lang),
            translate: text(language.translate),
            captions: text(part.captions.as_deref()),
            start: part.start.map(precise_clock).unwrap_or_default(),
            end: part.end.map(precise_clock).unwrap_or_default(),
        }
    }

    /// Whether the folder belongs to a list of videos.
    pub(super) fn is_list(&self) -> bool {
        self.playlist_id.is_empty() && self.job_id.is_empty()
    }

    /// The source and the flags that lead to these contents.
    pub(super) fn described(&self) -> String {
        let Self { playlist_id, job_id, lang, translate, captions, start, end } = self;
        if !job_id.is_empty() {
            return format!("job {job_id}");
        }
        let source = if playlist_id.is_empty() { "a list of videos" } else { playlist_id };
        let flags = [
            ("--lang", lang),
            ("--translate", translate),
            ("--captions", captions),
            ("--start", start),
            ("--end", end),
        ];
        let given = flags.iter().filter(|(flag, value)| *flag == "--lang" || !value.is_empty());
        let given = given.map(|(flag, value)| match value.as_str() {
            "" => format!("no {flag}"),
            value => format!("{flag} {value}"),
        });
        format!("{source} with {}", given.collect::<Vec<_>>().join(" and "))
    }
}
