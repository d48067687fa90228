//! Names of transcript files: readable and safe, with the id of the video.

use clap::ValueEnum;
use vidra::VideoId;
pub(super) use vidra_library::file_stem;

use super::super::transcript::Format;

/// The language in a file name.
pub(super) fn language_of(name: &str) -> Option<&str> {
    let (_, rest) = name.rsplit_once("].")?;
    rest.rsplit_once('.').map(|(lang, _)| lang)
}

/// Whether a text is exactly the id of a video.
pub(super) fn is_id(text: &str) -> bool {
    VideoId::parse(text).is_ok_and(|id| id.as_str() == text)
}

/// The id of the video in a file name.
pub(super) fn video_of(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ours = |format: &Format| format.extension() == ending;
    let (_, rest) = stem.rsplit_once('[')?;
    let (id, _) = rest.split_once(']')?;
    (is_id(id) && Format::value_variants().iter().any(is_ours)).then_some(id)
}
