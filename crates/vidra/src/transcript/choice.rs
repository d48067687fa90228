//! Which track to read: pure.

use std::fmt;

use super::player::{Player, Track};
use crate::language::LanguageCode;

/// The languages that a caller wants, most wanted first; none for the language that is spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Languages(Vec<LanguageCode>);

impl fmt::Display for Languages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<&str> = self.0.iter().map(LanguageCode::as_str).collect();
        f.write_str(&codes.join(","))
    }
}

impl Languages {
    /// Reads `de` or `de,en`. `Err` says what is wrong with it.
    ///
    /// ```
    /// use vidra::Languages;
    /// assert_eq!(Languages::parse("PT_br, en").unwrap().to_string(), "pt-BR,en");
    /// assert!(Languages::parse("en;de").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let codes = text.split(',').map(str::trim).filter(|code| !code.is_empty());
        let codes: Vec<LanguageCode> = codes.map(str::parse).collect::<Result<_, _>>()?;
        match codes.len() {
            0 => Err("must name a language"),
            1..=10 => Ok(Self(codes)),
            _ => Err("must not name more than 10 languages"),
        }
    }
}

impl Player {
    /// Every track that will do, best first. Where the body of one is empty, the next is worth a try.
    pub fn candidates(&self, wanted: &Languages) -> Vec<&Track> {
        let mut chosen: Vec<&Track> = vec![];
        if wanted.0.is_empty() {
            let spoken = spoken_language(self);
            chosen.extend(spoken.iter().flat_map(|code| in_language(&self.tracks, code)));
            chosen.extend(self.default_track.and_then(|index| self.tracks.get(index)));
            if chosen.is_empty() {
                chosen.extend(self.tracks.first());
            }
        } else {
            let named = wanted.0.iter().map(LanguageCode::as_str);
            chosen.extend(named.flat_map(|code| in_language(&self.tracks, code)));
        }
        let mut distinct: Vec<&Track> = Vec::with_capacity(chosen.len());
        for track in chosen {
            // Two tracks of one language are two tracks, so identity is what counts.
            if !distinct.iter().any(|known| std::ptr::eq(*known, track)) {
                distinct.push(track);
            }
        }
        distinct
    }
}

/// What is spoken: the language that was recognised, or that of the default audio track. A dubbed
/// video has several recognised ones; the default audio track says which is the original.
fn spoken_language(player: &Player) -> Option<String> {
    let recognised = || player.tracks.iter().filter(|track| track.is_auto_generated);
    let audio = player.audio_language.as_deref();
    let original =
        audio.and_then(|code| recognised().find(|track| base(&track.language_code) == base(code)));
    original
        .or_else(|| recognised().next())
        .map(|track| track.language_code.clone())
        .or_else(|| audio.map(str::to_owned))
}

/// The tracks for one code: exact before related, made by people before recognised by machine, and
/// forced ones, which hold only what is not understood without them, last.
fn in_language<'a>(tracks: &'a [Track], code: &str) -> Vec<&'a Track> {
    let mut found: Vec<_> = tracks
        .iter()
        .filter_map(|track| Some((distance(&track.language_code, code)?, track)))
        .collect();
    found.sort_by_key(|(distance, track)| (track.is_forced, *distance, track.is_auto_generated));
    found.into_iter().map(|(_, track)| track).collect()
}

/// 0 for the very code, 1 for a related one, `None` for another language. `pt-BR` is content with
/// `pt`, and `en` with `en-GB`; but `zh-Hans` is not `zh-Hant`.
fn distance(code: &str, wanted: &str) -> Option<u8> {
    if code.eq_ignore_ascii_case(wanted) {
        return Some(0);
    }
    let related = base(code).eq_ignore_ascii_case(base(wanted));
    let one_is_general = !code.contains('-') || !wanted.contains('-');
    (related && one_is_general).then_some(1)
}

fn base(code: &str) -> &str {
    code.split('-').next().unwrap_or(code)
}
