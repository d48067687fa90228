//! What a folder of transcripts belongs to.

use serde::{Deserialize, Serialize};

use super::Language;
use super::source::Source;

/// The playlist and the languages of a folder. All runs that fill it have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents {
    /// Empty for a list of videos, which may change between two runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    playlist_id: String,
    /// The requested languages; empty for the spoken one.
    lang: String,
    /// The language of the translation; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    translate: String,
}

impl Contents {
    pub(super) fn new(source: &Source, language: Language<'_>) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Self {
            playlist_id: match source {
                Source::Playlist(id) => id.to_string(),
                Source::Videos { .. } => String::new(),
            },
            lang: text(language.lang),
            translate: text(language.translate),
        }
    }

    /// Whether the folder belongs to a list of videos.
    pub(super) fn is_list(&self) -> bool {
        self.playlist_id.is_empty()
    }

    /// The source and the flags that lead to these contents.
    pub(super) fn described(&self) -> String {
        let Self { playlist_id, lang, translate } = self;
        let source = if playlist_id.is_empty() { "a list of videos" } else { playlist_id };
        let lang = if lang.is_empty() { "no --lang".to_owned() } else { format!("--lang {lang}") };
        let translate = match translate.as_str() {
            "" => String::new(),
            translate => format!(" and --translate {translate}"),
        };
        format!("{source} with {lang}{translate}")
    }
}
